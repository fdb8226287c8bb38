"""A decimal is one number, whatever holds it: a file, an Arrow table, or objects of a data frame."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import feather

from dpengine.counting.count import count
from dpengine.sources.cells import cell_text
from dpengine.sources.open import open_table
from dpengine.spec.plan import Plan

VALUES = [Decimal(text) for text in ("1.50", "2.00", "1.500", "0.10", "1.234", "1E+1", "-0.0")]
PLAN = Plan(
    dataset="d", epsilon="1", tables={"each": 1},
    columns=[
        {"name": "code", "kind": "category", "values": ["1.5", "2", "0.1"]},
        {"name": "written", "kind": "number", "edges": [0, 2, 2000], "format": "1.234,5"},
    ],
)  # fmt: skip
COUNTS = [[2, 1, 1, 3, 1], [5, 2, 0, 1]]


def counts_of(source: Any) -> list[list[int]]:
    with open_table(source) as table:
        return [each.tolist() for each in count(table, PLAN, PLAN.marginals, truncation_key=b"k")]


def columns_of(values: Any) -> dict[str, Any]:
    return {"code": values, "written": values}


@pytest.mark.parametrize("kind", [pa.decimal128(38, 3), pa.decimal256(60, 3)], ids=str)
def test_decimals_of_a_file_and_of_an_arrow_table(tmp_path: Path, kind: pa.DataType) -> None:
    """Decimals of 256 bits, too, are read from every format."""
    array = pa.array([*VALUES, None], kind)
    table = pa.table(columns_of(array))
    pq.write_table(table, tmp_path / "t.parquet")
    feather.write_feather(table, tmp_path / "t.feather")
    in_dictionary = pa.table(columns_of(pa.chunked_array([array.dictionary_encode()])))
    for source in (table, tmp_path / "t.parquet", tmp_path / "t.feather", in_dictionary):
        assert counts_of(source) == COUNTS


def test_decimals_that_are_objects_are_numbers_and_no_texts() -> None:
    """As texts, 1.50 would not be 1.5, and 1.234 would be 1234 where the point marks thousands."""
    objects = pd.Series([*VALUES, None], dtype=object)
    assert counts_of(pd.DataFrame(columns_of(objects))) == COUNTS
    arrow = pa.table(columns_of(pa.array([*VALUES, None], pa.decimal128(38, 3))))
    assert counts_of(arrow.to_pandas(types_mapper=pd.ArrowDtype)) == COUNTS
    in_categories = pd.DataFrame(columns_of(pd.Series(objects, dtype="category")))
    assert counts_of(in_categories)[0] == COUNTS[0]


@pytest.mark.parametrize("value", ["NaN", "-NaN", "sNaN"])
def test_a_decimal_that_is_no_number_is_missing(value: str) -> None:
    objects = pd.Series([Decimal(value), Decimal("1.5")], dtype=object)
    assert counts_of(pd.DataFrame(columns_of(objects))) == [[1, 0, 0, 0, 1], [1, 0, 0, 1]]


def test_a_decimal_beyond_all_types_is_another_value() -> None:
    objects = pd.Series(
        [Decimal("1E+999999999"), Decimal("Infinity"), Decimal(10) ** 38, Decimal("1E-400")], dtype=object
    )
    assert counts_of(pd.DataFrame(columns_of(objects))) == [[0, 0, 0, 4, 0], [1, 0, 3, 0]]


def test_a_decimal_as_text_has_no_exponent_and_no_zeros_at_its_end() -> None:
    written = [cell_text(Decimal(each)) for each in ("1.500", "2.00", "1E+3", "1E-7", "0.0")]
    assert written == ["1.5", "2", "1000", "0.0000001", "0"]
