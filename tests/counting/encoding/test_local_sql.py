"""The cell of one value, for every kind of column and every type of value."""

import datetime as dt
import math
from decimal import Decimal

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as pq
import pytest

from dpengine.counting.count import count, digest
from dpengine.sources.open import open_table
from dpengine.spec.domain import MISSING, OTHER
from dpengine.spec.plan import Plan

CANARY = "ZZ_CANARY_7f3a"


def plan_of(column):
    return Plan(dataset="d", epsilon="1", columns=[{"name": "x", **column}], tables=[["x"]])


def counted(values, plan):
    with open_table(pa.table({"x": values})) as table:
        return count(table, plan, plan.marginals, truncation_key=b"")[0]


def cell_of(column, value, type=None):
    """Return the label of the one cell that a table of this single value fills."""
    plan = plan_of(column)
    array = counted(pa.array([value], type), plan)
    assert array.sum() == 1
    return plan.column("x").labels[int(np.flatnonzero(array)[0])]


AGE = {"kind": "number", "edges": [0, 18, 65]}
YOUNG, OLD = "[0, 18)", "[18, 65]"


@pytest.mark.by_day(14)
@pytest.mark.parametrize(
    ("value", "cell"),
    [
        ("0", YOUNG), ("-0", YOUNG), ("-0.0", YOUNG), ("17.999", YOUNG), ("18", OLD), ("65", OLD), ("65.0", OLD),
        ("1.8e1", OLD), ("+18", OLD), ("018", OLD), (" 18\t", OLD), ("\u00a018\u3000", OLD), (".5", YOUNG),
        ("5.", YOUNG),
        ("1e-400", YOUNG), ("5e-324", YOUNG), ("-1e-320", OTHER), ("65.0000000001", OTHER), ("-1", OTHER),
        ("1e400", OTHER), ("-1e400", OTHER), ("inf", OTHER), ("-Infinity", OTHER), ("1,234", OTHER), ("1_0", OTHER),
        ("+-0", OTHER),
        ("0x10", OTHER), ("1 8", OTHER), ("18y", OTHER), ("NA", OTHER), ("null", OTHER), ("None", OTHER),
        ("１８", OTHER),
        ("true", OTHER), ("e5", OTHER), (".", OTHER), ("18\n19", OTHER), (CANARY * 1000, OTHER),
        ("", MISSING), (" ", MISSING), ("\u2003\n", MISSING), (None, MISSING), ("nan", MISSING), ("NaN", MISSING),
    ],
)  # fmt: skip
def test_a_text_in_a_number_column(value, cell):
    assert cell_of(AGE, value, pa.string()) == cell


@pytest.mark.parametrize(
    ("value", "type", "cell"),
    [
        (18, pa.int8(), OLD), (2**64 - 1, pa.uint64(), OTHER), (17, pa.uint16(), YOUNG), (None, pa.int64(), MISSING),
        (-0.0, pa.float64(), YOUNG), (0.0, pa.float32(), YOUNG), (65.0, pa.float64(), OLD), (18.0, pa.float16(), OLD),
        (math.nan, pa.float64(), MISSING), (math.nan, pa.float32(), MISSING), (None, pa.float64(), MISSING),
        (math.inf, pa.float64(), OTHER), (-math.inf, pa.float32(), OTHER), (5e-324, pa.float64(), YOUNG),
        (Decimal("17.99"), pa.decimal128(9, 2), YOUNG), (Decimal("18.00"), pa.decimal128(38, 2), OLD),
        (True, pa.bool_(), YOUNG), (None, pa.bool_(), MISSING), (None, pa.null(), MISSING),
    ],
)  # fmt: skip
def test_a_typed_value_in_a_number_column(value, type, cell):
    assert cell_of(AGE, value, type) == cell


@pytest.mark.by_day(20)
@pytest.mark.parametrize("type", [pa.float32(), pa.float64(), pa.string(), pa.decimal128(9, 1)])
@pytest.mark.parametrize("tenths", range(10))
def test_an_edge_belongs_to_the_bin_above_in_every_type(tenths, type):
    value = {"float": tenths / 10, "double": tenths / 10, "string": f"0.{tenths}"}.get(str(type), Decimal(tenths) / 10)
    column = {"kind": "number", "edges": [f"0.{k}" for k in range(10)] + ["1"]}
    assert cell_of(column, value, type) == plan_of(column).column("x").labels[tenths]


@pytest.mark.parametrize(
    ("low", "high", "bins", "value", "expected"),
    [(1950, 2025, 10, 1957.5, 1), (0, 1, 4, 0.75, 3), (-1, 1, 10, 0.0, 5), (1000, 1100, 10, 1099, 9),
     (0, 100_000, 100_000, 54321.5, 54321)],
)  # fmt: skip
def test_there_are_as_many_bins_as_requested(low, high, bins, value, expected):
    plan = plan_of({"kind": "number", "edges": {"from": low, "to": high, "bins": bins}})
    array = counted([float(value)], plan)
    assert len(array) == bins + 2
    assert np.flatnonzero(array).tolist() == [expected]


def test_a_number_that_is_a_missing_marker():
    column = {**AGE, "missing_as": ["-99", "?", "17"]}
    for text in ("-99", "-99.0", " ? "):
        assert cell_of(column, text, pa.string()) == MISSING
    for value, type in ((-99, pa.int64()), (17.0, pa.float32()), (Decimal("17.0"), pa.decimal128(9, 1))):
        assert cell_of(column, value, type) == MISSING
    assert cell_of(column, "-98", pa.string()) == OTHER


@pytest.mark.parametrize("value", [0, 0.0, "0"])
def test_a_missing_marker_beyond_all_numbers_counts_as_text_only(value):
    column = {**AGE, "missing_as": ["1e400", "-1e999"]}
    assert cell_of(column, value) == YOUNG
    assert cell_of(column, "1e400", pa.string()) == MISSING
    assert cell_of(column, math.inf, pa.float64()) == OTHER


def test_missing_markers_that_are_no_numerals_equal_no_number():
    column = {**AGE, "missing_as": ["nan", "inf", "-Infinity", "none"]}
    for text in ("inf", " inf ", "-Infinity", "none", "nan", "NaN"):
        assert cell_of(column, text, pa.string()) == MISSING
    assert [cell_of(column, text, pa.string()) for text in ("Infinity", "-inf", "17")] == [OTHER, OTHER, YOUNG]
    values = (math.inf, -math.inf, math.nan, 17.0)
    assert [cell_of(column, value, pa.float64()) for value in values] == [MISSING, OTHER, MISSING, YOUNG]


PLACE = {"kind": "category", "values": [
    "Paris, TX", "False", 'Rare "X"', " trailing", "01", "1", "2.5", "é", "日本", "NA", "null", "=cmd", "a\nb",
    "y ", "y", "2024-01-05", "O'Hara", "\\'); --",
]}  # fmt: skip


@pytest.mark.parametrize("value", PLACE["values"])
def test_a_declared_text_falls_in_its_own_cell(value):
    assert cell_of(PLACE, value, pa.string()) == value


@pytest.mark.by_day(9)
@pytest.mark.parametrize(
    ("value", "cell"),
    [
        ("False ", "False"), ("\u3000False", "False"), ("false", OTHER), ("trailing", " trailing"), ("e\u0301", "é"),
        (" e\u0301", "é"), ("paris, tx", OTHER), ("Paris", OTHER), ("TX", OTHER), (" y", OTHER), ("001", OTHER),
        ("1.0", "1"), (" 1.0", "1"), ("1.00", OTHER), ("01.0", OTHER), ("2.50", OTHER),
        ("nan", OTHER), ("None", OTHER), (CANARY, OTHER), (OTHER, OTHER), (MISSING, OTHER),
        ("Fal\u200bse", OTHER), ("\u202eFalse", OTHER), ("", MISSING), ("  ", MISSING), ("\u00a0", MISSING),
        (None, MISSING),
    ],
)  # fmt: skip
def test_other_texts_fall_in_the_one_declared_value_that_they_can_mean_or_in_other(value, cell):
    assert cell_of(PLACE, value, pa.string()) == cell


@pytest.mark.parametrize(
    ("values", "cells"),
    [
        (["2", "3"], {"2": "2", "2.0": "2", "3.0": "3", "-9": MISSING, "-9.0": MISSING, "-2.0": OTHER}),
        (["2.0", "3"], {"2": "2.0", "2.0": "2.0", "3.0": "3"}),
        (["2", "2.0"], {"2": "2", "2.0": "2.0", " 2.0 ": "2.0"}),
        (["2", " 2", "3"], {"2.0": OTHER, "3.0": "3"}),
        (["-9.0"], {"-9": MISSING, "-9.0": "-9.0"}),
    ],
)
def test_a_whole_number_with_a_point_is_the_one_without_unless_both_are_declared(values, cells):
    column = {"kind": "category", "values": values, "missing_as": ["-9"]}
    assert {text: cell_of(column, text, pa.string()) for text in cells} == cells


@pytest.mark.parametrize(
    ("value", "type", "cell"),
    [
        (False, pa.bool_(), "False"), (True, pa.bool_(), OTHER), (None, pa.bool_(), MISSING),
        (1, pa.int64(), "1"), (1.0, pa.float64(), "1"), (2.5, pa.float32(), "2.5"), (math.nan, pa.float64(), MISSING),
        (math.inf, pa.float64(), OTHER), (1e300, pa.float64(), OTHER), (Decimal("2.5"), pa.decimal128(9, 1), "2.5"),
        (Decimal("1.00"), pa.decimal128(9, 2), "1"), (dt.date(2024, 1, 5), pa.date32(), "2024-01-05"),
        (dt.datetime(2024, 1, 5), pa.timestamp("ns"), "2024-01-05"), (dt.datetime(2024, 1, 5, 1), pa.timestamp("s"),
        OTHER),
    ],
)  # fmt: skip
def test_a_typed_value_in_a_category_column(value, type, cell):
    assert cell_of(PLACE, value, type) == cell


@pytest.mark.parametrize("values", [["True", "False"], ["true", "false"], ["TRUE", "FALSE"]])
def test_booleans_match_any_usual_spelling(values):
    column = {"kind": "category", "values": values}
    assert [cell_of(column, value, pa.bool_()) for value in (True, False)] == values


def test_a_missing_marker_goes_before_a_declared_value():
    column = {"kind": "category", "values": ["a", "?"], "missing_as": ["?", "N/A"]}
    assert [cell_of(column, text) for text in ("a", "?", " ?", "N/A", "n/a")] == ["a", MISSING, MISSING, MISSING, OTHER]


@pytest.mark.nightly
def test_a_hundred_thousand_categories():
    column = {"kind": "category", "values": [f"v{i}" for i in range(100_000)]}
    assert cell_of(column, "v77777") == "v77777"


@pytest.mark.by_day(14)
@pytest.mark.parametrize(
    ("value", "type", "cell"),
    [(text, pa.string(), "yes") for text in ("yes", "Y", "TRUE", " t ", "1", "1.0")]
    + [(text, pa.string(), "no") for text in ("No", "n", "false", "F", "0", "0.0")]
    + [(text, pa.string(), OTHER) for text in ("2", "oui", "yess", "-1", "nan")]
    + [(True, pa.bool_(), "yes"), (False, pa.bool_(), "no"), (1, pa.int8(), "yes"), (0.0, pa.float64(), "no")]
    + [(2, pa.int8(), OTHER), (0.5, pa.float64(), OTHER), (Decimal("1.0"), pa.decimal128(3, 1), "yes")]
    + [("", pa.string(), MISSING), (None, pa.bool_(), MISSING), (math.nan, pa.float64(), MISSING)],
)
def test_yes_and_no(value, type, cell):
    assert cell_of({"kind": "yesno"}, value, type) == cell


VISIT = {"kind": "date", "from": "2024-01-15", "to": "2024-03-10", "by": "month"}


@pytest.mark.by_day(12)
@pytest.mark.parametrize(
    ("value", "cell"),
    [
        ("2024-01-15", "2024-01"), ("2024-02-29", "2024-02"), (" 2024-03-10 ", "2024-03"), ("2024-01-14", OTHER),
        ("2024-03-11", OTHER), ("2024-02-30", OTHER), ("2024-2-3", OTHER), ("2024/02/03", OTHER), ("20240203", OTHER),
        ("0000-00-00", OTHER), ("infinity", OTHER), ("epoch", OTHER), ("today", OTHER), ("2024-02-03 BC", OTHER),
        ("2024-02-03T23:59:59.123456789", "2024-02"), ("2024-02-03 10:00", "2024-02"), ("2024-02-03T25:00", OTHER),
        ("2024-02-03T10", OTHER), ("2024-02-03T10:00:00Z", "2024-02"), ("2024-02-01T01:00:00+02:00", "2024-01"),
        ("2024-01-31 23:30:00-0100", "2024-02"), ("2024-03-11 00:30+01", "2024-03"), ("", MISSING), (None, MISSING),
    ],
)  # fmt: skip
def test_a_text_in_a_date_column(value, cell):
    assert cell_of(VISIT, value, pa.string()) == cell


@pytest.mark.parametrize(
    ("value", "type", "cell"),
    [
        (dt.date(2024, 2, 29), pa.date32(), "2024-02"), (dt.date(2024, 2, 29), pa.date64(), "2024-02"),
        (dt.datetime(2024, 2, 29, 23, 59), pa.timestamp("ns"), "2024-02"), (None, pa.timestamp("us"), MISSING),
        (dt.datetime(2024, 3, 10, 23, 59, 59), pa.timestamp("ms"), "2024-03"), (dt.date(1, 1, 1), pa.date32(), OTHER),
        (dt.datetime(2024, 1, 31, 23, 30, tzinfo=dt.timezone(-dt.timedelta(hours=1))), pa.timestamp("us", "UTC"),
        "2024-02"),
        (dt.datetime(2024, 1, 31, 23, 30, tzinfo=dt.UTC), pa.timestamp("us", "Europe/Paris"), "2024-01"),
        (dt.datetime(2024, 1, 31, 23, 30, tzinfo=dt.UTC), pa.timestamp("ns", "Europe/Paris"), "2024-01"),
    ],
)  # fmt: skip
def test_a_typed_value_in_a_date_column(value, type, cell):
    assert cell_of(VISIT, value, type) == cell


@pytest.mark.parametrize("beside", [[], ["text"]])
def test_a_time_with_a_zone_is_on_its_day_in_utc_among_objects_too(beside):
    west = dt.datetime(2024, 1, 31, 23, 30, tzinfo=dt.timezone(-dt.timedelta(hours=1)))
    frame = pd.DataFrame({"x": pd.Series([west, *beside], dtype=object)})
    plan = plan_of(VISIT)
    with open_table(frame) as opened:
        counts = count(opened, plan, plan.marginals, truncation_key=b"")[0]
    assert plan.column("x").labels[int(counts.argmax())] == "2024-02"


@pytest.mark.by_day(4)
@pytest.mark.parametrize("zone", [None, "UTC", "Asia/Tokyo"])
@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
@pytest.mark.parametrize("form", ["arrow", "dictionary", "feather", "parquet"])
def test_a_time_beyond_all_calendars_is_other_and_stops_nothing(form, unit, zone, tmp_path):
    if (form, unit) == ("parquet", "s"):
        return  # which is written as ms
    ticks = [0, None, 2**62, -(2**62), 2**63 - 1, -(2**63)]
    table = pa.table({"x": pa.array(ticks, pa.timestamp(unit, zone))})
    path = tmp_path / f"t.{form}"
    match form:
        case "dictionary":
            table = pa.table({"x": table.column("x").dictionary_encode()})
        case "feather":
            feather.write_feather(table, path)
        case "parquet":
            pq.write_table(table, path)
    plan = plan_of({"kind": "date", "from": "1970-01-01", "to": "1970-01-01", "by": "day"})
    with open_table(path if path.exists() else table) as opened:
        assert list(count(opened, plan, plan.marginals, truncation_key=b"")[0]) == [1, 4, 1]
        assert len(digest(opened)) == 32


def test_dates_by_a_format():
    column = {**VISIT, "format": "%d/%m/%Y", "missing_as": ["00/00/0000"]}
    texts = ["03/02/2024", " 3/2/2024", "2024-02-03", "31/02/2024", "00/00/0000"]
    assert [cell_of(column, text) for text in texts] == ["2024-02", "2024-02", OTHER, OTHER, MISSING]
    assert cell_of({**VISIT, "format": "%Y%m%d"}, 20240203, pa.int64()) == "2024-02"


@pytest.mark.parametrize("by", ["day", "week", "month", "quarter", "year"])
def test_every_day_falls_in_the_period_that_holds_it(by):
    plan = plan_of({"kind": "date", "from": "2019-12-30", "to": "2021-01-03", "by": by})
    column = plan.column("x")
    days = [dt.date(2019, 12, 28) + dt.timedelta(days=k) for k in range(375)]
    expected = [0] * column.size
    for day in days:
        inside = column.first <= day <= column.last
        expected[column.ordinal(day) - column.ordinal(column.first) if inside else column.other_code] += 1
    for values in (days, [day.isoformat() for day in days]):
        assert counted(values, plan).tolist() == expected


@pytest.mark.by_day(1)
@pytest.mark.parametrize(
    ("form", "read"),
    [
        ("1234.5", {"1234.5": 1, "0.5": 0, "1,234.5": None, "0,5": None, "1.234": 0}),
        ("1,234.5", {"1,234.5": 1, "1,234": 1, "1234.5": 1, "1 234.5": 1, "1'234": 1, "0.5": 0, "0,5": None,
                     "12,34": None,
                     "1,234,567": 1, "1,23,456": None, ",234": None, "1.234,5": None, "-1,000": None}),
        ("1.234,5", {"1.234,5": 1, "1.234": 1, "1234,5": 1, "1\u00a0234,5": 1, "1\u202f234": 1, "0,5": 0, " 0,5 ": 0,
                     ",5": 0,
                     "5,": 0, "1,5e3": 1, "0.5": None, "1234.5": None, "1.2345": None, "1,234.5": None, "1_0": None}),
    ],
)  # fmt: skip
def test_numbers_are_read_in_the_format_in_which_they_are_written(form, read):
    column = {"kind": "number", "edges": [0, 1000, 10**9], "format": form, "missing_as": ["-9"]}
    labels = {0: "[0, 1000)", 1: "[1000, 1000000000]", None: OTHER}
    for text, place in read.items():
        assert (text, cell_of(column, text, pa.string())) == (text, labels[place])
    assert [cell_of(column, text, pa.string()) for text in ("-9", "nan", "")] == [MISSING] * 3
    assert cell_of(column, 1234.5, pa.float64()) == labels[1], "typed numbers have no format"


@pytest.mark.parametrize(
    ("seconds", "cell"),
    [(-62_135_596_801 - 10**9, OTHER), (-62_135_596_801, OTHER), (-62_135_596_800, "1"),
     (253_402_300_799, "9999"), (253_402_300_800, OTHER), (253_402_300_800 + 10**9, OTHER)],
)  # fmt: skip
def test_a_moment_outside_the_years_of_the_calendar_is_in_none_of_them(seconds, cell):
    column = {"kind": "date", "from": "0001-01-01", "to": "9999-12-31", "by": "year"}
    assert cell_of(column, seconds, pa.timestamp("s")) == cell
