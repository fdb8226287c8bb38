"""Noisy boxes of small tables, and a Hypothesis strategy for such tables."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from hypothesis import strategies as st

from dpengine.array_types import Ints
from dpengine.marginals.measurement import Boxes
from dpengine.measure.box_measurement import measure_boxes

__all__ = ["count_tables", "measured_boxes"]


def measured_boxes(counts: Ints, epsilon: str = "1", sensitivity: int = 1) -> Boxes:
    """Measure a table over columns a, b, c in boxes, without strata."""
    axes = [(0, size) for size in counts.shape]
    return measure_boxes(tuple("abc"[: counts.ndim]), axes, counts, Fraction(epsilon), sensitivity)


@st.composite
def count_tables(draw: st.DrawFn) -> Ints:
    """Tables of up to three axes, mostly even, with up to four heavy cells."""
    shape = draw(st.sampled_from([(1,), (2,), (9,), (40,), (300,), (3, 4), (20, 1), (17, 30), (4, 5, 6)]))
    size = math.prod(shape)
    heavy = draw(st.lists(st.integers(0, size - 1), max_size=4))
    counts = np.full(size, draw(st.sampled_from([0, 1, 30, 4000])), dtype=np.int64)
    counts[heavy] += draw(st.sampled_from([10, 10**4, 10**8]))
    return counts.reshape(shape)
