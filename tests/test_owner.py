"""Exact facts for the owner's eyes."""

from __future__ import annotations

import pandas as pd
import pytest

import dpengine as dpe
from dpengine import owner
from dpengine.spec.domain import Amount, Category, Number

AGE = Number(name="age", edges=["0", "18", "65"])
REGION = Category(name="region", values=["North", "South"])
PEOPLE = pd.DataFrame({"age": [3, 18, 65, 70, None], "region": ["North", "South", "South", "West", ""]})


def test_every_row_counts_once_in_each_column() -> None:
    with dpe.open_table(PEOPLE) as table:
        counts = owner.rows_by_cell(table, [AGE, REGION])
    assert counts["age"].tolist() == [1, 2, 1, 1]  # two bins, (other), (missing)
    assert counts["region"].tolist() == [1, 2, 1, 1]


def test_a_column_that_is_not_there_is_named() -> None:
    with dpe.open_table(PEOPLE) as table, pytest.raises(dpe.TableError, match="postcode"):
        owner.rows_by_cell(table, [REGION.model_copy(update={"name": "postcode"})])


def test_rows_below_and_above_the_bounds_of_an_amount_are_counted_apart() -> None:
    pay = Amount(name="pay", low=0, high=100, step=1, missing_as=["?"])
    with dpe.open_table(
        pd.DataFrame({"pay": ["-1", "-0.5", "49", "50", "100.4", "101", "1e9", "x", "?", ""]})
    ) as table:
        beyond = owner.beyond_bounds(table, [pay])["pay"]
    assert beyond == owner.BeyondBounds(rows=7, below=1, above=2, upper=4, unread=1), "-0.5 and 100.4 are rounded"


def test_values_that_cannot_be_found_are_counted_apart_from_missing_ones() -> None:
    codes = Category(name="code", values="found", among={"pattern": "@##"}, missing_as=["Z99"])
    small = Category(name="n", values="found", among={"first": 1, "last": 9})
    rows = pd.DataFrame({"code": ["A10", "A10", "b20", "long text", "Z99", None], "n": [1, 9, 10, 0, 5, 5]})
    with dpe.open_table(rows) as table:
        assert owner.rows_not_findable(table, [codes, small]) == {"code": (2, 4), "n": (2, 6)}
        assert owner.rows_not_findable(table, []) == {}
