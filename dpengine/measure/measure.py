"""Add noise to exact counts: the step that turns private counts into public measurements."""

from __future__ import annotations

from dpengine.array_types import Ints
from dpengine.marginals.measurement import Allocation, Measurement
from dpengine.noise.laplace import perturb

__all__ = ["add_noise"]


def add_noise(exact: Ints, allocation: Allocation, merged: tuple[Ints, ...] = ()) -> Measurement:
    """Add independent discrete Laplace noise of the allocation's scale to each cell of a marginal.

    `exact` is in the allocation's units, `grain` of them to a row. With L1 sensitivity Δ and scale Δ/ε_S the
    measurement is ε_S-differentially private (Ghosh, Roughgarden & Sundararajan 2009; Dwork & Roth 2014, Theorem 3.6).
    `merged` says, for each axis, which cells were merged.
    """
    return Measurement(allocation, perturb(exact, allocation.scale_in_units), merged)
