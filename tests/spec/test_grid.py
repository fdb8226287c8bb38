"""A grid rounds every number like exact decimals, and handles other values as declared."""

from __future__ import annotations

from decimal import ROUND_FLOOR, Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpengine import PlanError, arrow
from dpengine.spec.numeric.grid import Grid


def placed(grid: Grid, *values: float) -> list[int]:
    return arrow.to_numpy(grid.places(arrow.from_numpy(np.array(values, dtype=float)))).tolist()


def by_hand(grid: Grid, text: str) -> int:
    """Round half up in exact decimals, having been cut off at the bounds."""
    value = min(max(Decimal(text), grid.low), grid.high)
    return int(((value - grid.low) / grid.step + Decimal("0.5")).to_integral_value(ROUND_FLOOR))


@given(
    st.integers(-1000, 1000),
    st.integers(1, 2000),
    st.sampled_from(["1", "0.01", "0.5", "25", "0.003", "2.5"]),
    st.decimals(-3000, 3000, places=5),
)
def test_numbers_are_rounded_as_in_exact_decimals(low: int, steps: int, step: str, value: Decimal) -> None:
    width = Decimal(step)
    grid = Grid(name="x", low=low * width, high=(low + steps) * width, step=step)
    halfway = (low + steps // 2) * width + width / 2
    for text in (str(value), str(halfway)):
        assert placed(grid, float(text)) == [by_hand(grid, text)]
    place = placed(grid, float(value))[0]
    assert Fraction(grid.value(grid.units(grid.low) + place)) == (low + place) * Fraction(width)


def test_what_is_no_number_is_left_out_or_counted_as_stated() -> None:
    odd = (np.nan, np.inf, -np.inf)
    assert placed(Grid(name="x", low=-2, high=5), *odd, -99, 99) == [-1, -1, -1, 0, 7]
    assert placed(Grid(name="x", low=-2, high=5, absent=0), *odd) == [2, 2, 2]


def test_the_largest_grids_are_still_exact() -> None:
    grid = Grid(name="x", low=0, high=10**12, step="0.001")
    assert placed(grid, 999_999_999_999.999, 0.0005, 0.0004999) == [999_999_999_999_999, 1, 0]


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"low": 5, "high": 5}, "must be below"),
        ({"low": 5, "high": 1}, "must be below"),
        ({"low": 0, "high": "inf"}, "finite number"),
        ({"low": "nan", "high": 1}, "finite number"),
        ({"low": 0, "high": 1, "step": 0}, "above 0"),
        ({"low": 0, "high": 1, "step": "-1"}, "above 0"),
        ({"low": 0, "high": 1, "step": "0.3"}, "multiple of the step"),
        ({"low": "0.5", "high": "1.5"}, "multiple of the step"),
        ({"low": 0, "high": 9, "absent": 10}, "between the bounds"),
        ({"low": 0, "high": 10**9, "step": "1e-9"}, "larger step"),
        ({"low": 0, "high": 1, "step": True}, "finite number"),
    ],
)
def test_an_unusable_grid_is_refused_in_words(fields: dict[str, object], said: str) -> None:
    with pytest.raises(PlanError, match=said):
        Grid(name="x", **fields)
