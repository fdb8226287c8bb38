"""Discrete Laplace noise that is the same in every run, for tests of what is made of noisy numbers.

Where a test asserts how near estimates are to the truth, fresh noise would fail it by chance. The noise itself is
tested in `tests/noise`, with noise of the operating system.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from numbers import Rational

import numpy as np

from dpengine.array_types import Ints
from dpengine.marginals.measurement import Allocation, Measurement

__all__ = ["laplace", "noisy_measurement"]


def laplace(scale: Rational | float, shape: int | Sequence[int], random: np.random.Generator) -> Ints:
    """Return discrete Laplace noise of a `scale` from numpy's generator: the difference of two geometric variables."""
    size = (shape,) if isinstance(shape, int) else tuple(shape)
    one = random.geometric(1 - math.exp(-1 / float(scale)), (2, *size))
    noise: Ints = one[0] - one[1]
    return noise


def noisy_measurement(allocation: Allocation, exact: Ints, random: np.random.Generator) -> Measurement:
    """Return a measurement of `exact` counts with this noise, at the scale of the `allocation`."""
    return Measurement(allocation, exact + laplace(allocation.scale_in_units, exact.shape, random))
