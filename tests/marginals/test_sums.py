"""Totals and columns as all measured tables tell them: precise ones weigh more, and stated noise is not too small."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from dpengine.array_types import Columns, Ints
from dpengine.marginals.measurement import Allocation, Measurement
from dpengine.marginals.sums import column_as_measured, grand_total

CHANCE = np.random.default_rng(5)
PRECISE, VAGUE = Fraction(100), Fraction(1, 1000)
CELLS = 50_000


def noisy(columns: Columns, others: int, scale: float) -> Measurement:
    """Measure a column in which every cell holds 6,000 people, and perhaps another of so many cells."""
    geometric = CHANCE.geometric(-math.expm1(-1 / scale), (2, CELLS, others))
    counts: Ints = 6_000 // others + geometric[0] - geometric[1]
    allocation = Allocation(columns, 1 / Fraction(scale), 1)
    return Measurement(allocation, counts if len(columns) == 2 else counts[:, 0])


def test_the_total_follows_the_most_precise_table() -> None:
    precise = Measurement(Allocation((), PRECISE, 1), np.array(1000))
    vague = Measurement(Allocation(("a",), VAGUE, 1), np.array([5000, 0, 0]))
    assert grand_total([precise, vague])[0] == pytest.approx(1000, abs=0.1)
    pair = Measurement(Allocation(("a", "b"), PRECISE, 1), np.full((3, 2), 200))
    total, precision = grand_total([vague, pair])
    assert total == pytest.approx(1200, abs=0.1), "a pair is a total too"
    assert precision == pytest.approx(100**2 / 6 + 1 / 1000**2 / 3)


@pytest.mark.parametrize(
    "scales",
    [{1: 1.5, 2: 1.5}, {1: 20.0, 2: 2.0, 3: 2.0, 4: 2.0}, {1: 3.0, 5: 3.0}, {1: 0.5, 2: 0.4}, {1: 0.1, 2: 0.1}],
)
def test_stated_noise_of_a_column_from_several_tables_holds_95_in_100(scales: dict[int, float]) -> None:
    tables = [noisy(("a", "b") if others > 1 else ("a",), others, scale) for others, scale in scales.items()]
    column = column_as_measured("a", CELLS, tables)
    scale = float(column.allocation.scale)
    off = np.abs(column.values - 6_000)
    if scale > 1:
        assert scale < 0.99 * scales[1], "narrower than the column alone"
        assert scale == pytest.approx(np.sqrt((off**2).mean() / 2), rel=0.05)
    half_width = math.ceil(scale * math.log(2 / 0.05 / (1 + math.exp(-1 / scale))) - 1)  # of discrete Laplace noise
    assert (off <= half_width).mean() > 0.95
    assert (off <= half_width - 1).mean() < 0.96, "not far too wide"


def test_a_column_without_a_table_of_all_its_cells_is_an_error() -> None:
    with pytest.raises(KeyError):
        column_as_measured("c", 2, [noisy(("a",), 1, 2.0)])
