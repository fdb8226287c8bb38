"""Cells of pandas frames that can only be read as Python writes them."""

from __future__ import annotations

from datetime import timedelta
from enum import Enum, StrEnum

import pandas as pd
import pytest

from dpengine import Ledger, Plan, TableError, release

MONTHS = {"name": "x", "kind": "date", "from": "2024-01-01", "to": "2024-12-31", "by": "month"}
NUMBERS = {"name": "x", "kind": "number", "edges": [0, 5, 10]}


class Colour(Enum):
    """An enumeration, which Python writes with its name."""

    RED = "red"
    BLUE = "blue"


class Town(StrEnum):
    """An enumeration of texts."""

    BONN = "Bonn"


def category(*values: str) -> dict[str, object]:
    return {"name": "x", "kind": "category", "values": values}


PERIODS = pd.Series(pd.period_range("2024-01", periods=12, freq="M"))
DAYS = pd.Series(pd.period_range("2024-01-01", periods=12, freq="D"))
HOURS = pd.Series(pd.to_timedelta(range(12), unit="h"))
COLOURS = pd.Series([Colour.RED, Colour.BLUE] * 6)


@pytest.mark.parametrize(
    ("cells", "column", "way_on"),
    [
        (PERIODS, MONTHS, "to_timestamp"),
        (PERIODS.astype("category"), MONTHS, "to_timestamp"),
        (HOURS, NUMBERS, "total_seconds"),
        (pd.Series([1 + 2j] * 12), NUMBERS, "complex objects"),
        (pd.cut(pd.Series(range(12)), [0, 5, 12]), NUMBERS, "take the column that was cut"),
        (COLOURS, category("red", "blue"), "each.value"),
        (pd.Series([None, ["a", "b"]] * 6), category("a", "b"), "join them"),
        (pd.Series([{"a": 1}] * 12), NUMBERS, "str.get"),
        (pd.Series([timedelta(hours=1)] * 12, dtype=object), NUMBERS, "total_seconds"),
    ],
)
def test_cells_that_would_all_be_other_are_refused_before_anything_is_spent(
    cells: pd.Series, column: dict[str, object], way_on: str
) -> None:
    ledger = Ledger.in_memory()
    with pytest.raises(TableError, match=way_on):
        release(pd.DataFrame({"x": cells}), Plan(dataset="d", epsilon=1, columns=[column], tables=[["x"]]), ledger)
    assert not ledger.datasets()


@pytest.mark.parametrize(
    ("cells", "column", "counted"),
    [
        (PERIODS, MONTHS | {"format": "%Y-%m"}, 12),
        (PERIODS, category("2024-01"), 1),
        (DAYS, MONTHS, 12),
        (PERIODS.dt.to_timestamp(), MONTHS, 12),
        (HOURS, category("0 days 01:00:00"), 1),
        (COLOURS, category("Colour.RED"), 6),
        (pd.Series([["a"]] * 12), category("['a']"), 12),
        (pd.Series([Town.BONN] * 12), category("Bonn"), 12),
    ],
)
def test_cells_are_counted_where_they_fit(cells: pd.Series, column: dict[str, object], counted: int) -> None:
    made = release(pd.DataFrame({"x": cells}), Plan(dataset="d", epsilon=1000, columns=[column], tables=[["x"]]))
    found = made.tables["x",]
    assert found[~found["x"].isin(["(other)", "(missing)"])]["count"].sum() == counted


def test_other_columns_of_objects_do_not_matter() -> None:
    frame = pd.DataFrame({"x": range(12), "y": HOURS, "z": COLOURS})
    made = release(frame, Plan(dataset="d", epsilon=1000, columns=[NUMBERS], tables=[["x"]]))
    assert made.tables["x",]["count"].tolist() == [5, 6, 1, 0]


def test_columns_that_pandas_has_numbered_are_found_by_their_numbers_as_texts() -> None:
    """A frame has no first line that could look like data, and the message said that it does."""
    frame = pd.DataFrame({0: [1, 2, 3], "sex": ["f", "m", "f"]})
    plan = Plan(dataset="d", epsilon=1, columns=[NUMBERS | {"name": "0"}], tables=[["0"]])
    assert ("0",) in release(frame, plan).tables
    plan = Plan(dataset="d", epsilon=1, columns=[NUMBERS], tables=[["x"]])
    with pytest.raises(TableError, match=r"names that it has look like data: .* or name the columns of a data frame"):
        release(frame, plan)
