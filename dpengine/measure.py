"""Exact counts + noise → measurements: the one place where private numbers meet noise.

Before this line everything about rows is exact and private; after it, everything is noisy and public.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from dpengine.noise import discrete_laplace
from dpengine.strategy import Share

__all__ = ["Choice", "Measurement", "measure"]

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Measurement:
    """A marginal's noisy counts, one axis a column, with the share of ε that they cost.

    Where neighbouring cells were merged before counting, ``merged`` gives for each axis the merged bin of every cell.
    """

    share: Share
    values: Ints
    merged: tuple[Ints, ...] = ()


@dataclass(frozen=True, slots=True)
class Choice:
    """A private choice: ``what`` was asked and what it cost. What was chosen shows in what was measured next."""

    what: str
    mechanism: str
    epsilon: Fraction
    sensitivity: int


def measure(counts: Sequence[Ints], shares: Sequence[Share]) -> tuple[Measurement, ...]:
    """Add to each cell of each marginal independent discrete Laplace noise of the share's scale.

    With L1 sensitivity Δ and scale Δ/ε_S each marginal is ε_S-differentially private (Ghosh, Roughgarden
    & Sundararajan 2009; Dwork & Roth 2014, Theorem 3.6), and together they are Σ ε_S-private.
    """
    return tuple(
        Measurement(share, exact + discrete_laplace(share.scale, exact.shape))
        for exact, share in zip(counts, shares, strict=True)
    )
