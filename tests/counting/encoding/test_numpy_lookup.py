"""NumPy gives the same codes as SQL, and a lookup the same as a binary search."""

import datetime as dt
import math

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpengine import Plan, open_table
from dpengine.counting.count import count
from dpengine.counting.encoding.numpy_lookup import lookup

pytestmark = pytest.mark.nightly

NUMBERS = [
    {"kind": "number", "edges": [-1, 0, 0.1, 18, 100.5], "missing_as": ["17", "-9", "inf", "NA"]},
    {"kind": "number", "edges": list(range(0, 2001))},
    {"kind": "yesno"},
    {"kind": "category", "values": ["1", "0.1", "2024-01-01", "true", "e"]},
]
DATES = [
    {"kind": "date", "from": "2023-12-15", "to": "2024-03-10", "by": "month", "missing_as": ["2024-01-01"]},
    {"kind": "date", "from": "2023-12-15", "to": "2024-03-10", "by": "week"},
    {"kind": "date", "from": "0001-01-01", "to": "9999-12-31", "by": "year"},
]
PICKY = [
    {"kind": "number", "edges": [-1, 0, 0.1, 18, 100.5], "other": False},
    {"kind": "date", "from": "2023-12-15", "to": "2024-03-10", "by": "quarter", "other": False},
]
NUMERALS = st.text(alphabet="0123456789.+-eE_ \t\u00a0", max_size=9)
ODD = st.sampled_from(
    [
        "1_000",
        "1e3",
        "1e00003",
        "1E+2",
        "inf",
        "-inf",
        "nan",
        "NaN",
        "NA",
        " 17 ",
        "17.0",
        "1e400",
        "0x11",
        "٣",
        ".5",
        "5.",
        "+5",
    ]
)
DAYS = st.dates(dt.date(2023, 12, 1), dt.date(2024, 4, 1))
ODD_DAYS = st.sampled_from(
    ["2024-1-5", "2024/01/05", " 2024-01-05", "2024-01-05 ", "2024-01-05T10:00", "2024-01-05 10:00:00+05", "2024-02-30",
     "infinity", "0044-03-15 (BC)", "2024-01-01", "2023-12-14", "2024-03-11"]
)  # fmt: skip
TEXTS = NUMERALS | ODD | DAYS.map(str) | ODD_DAYS | st.sampled_from(["", " ", "true", "No", "e"])
quick = settings(max_examples=10, deadline=None, derandomize=True)


def counted(values, columns, unit):
    named = [{"name": f"x{k}"} | column for k, column in enumerate(columns)]
    names = [column["name"] for column in named]
    table = pa.table(dict.fromkeys(names, values) | {"id": pa.array(range(len(values)), pa.int64())})
    plan = Plan(dataset="d", epsilon="1", columns=named, tables=[[name] for name in names], unit=unit)
    with open_table(table) as opened:
        return [counts.tolist() for counts in count(opened, plan, plan.marginals, truncation_key=b"key")]


def same_both_ways(values, columns):
    assert counted(values, columns, {"rows": 1}) == counted(values, columns, {"id": "id", "rows": 1})


@quick
@given(st.lists(TEXTS | st.none(), min_size=40, max_size=200))
def test_texts_have_the_codes_of_sql(texts):
    values = pa.array(texts, pa.string())
    same_both_ways(values, NUMBERS + DATES)
    for column in PICKY:
        same_both_ways(values, [column])


@pytest.mark.parametrize("kind", [pa.float64(), pa.float32(), pa.int64(), pa.uint8(), pa.decimal128(9, 2), pa.bool_()])
@quick
@given(data=st.data())
def test_typed_values_have_the_codes_of_sql(kind, data):
    if pa.types.is_boolean(kind):
        values = st.booleans()
    elif pa.types.is_floating(kind):
        values = st.floats(width=kind.bit_width) | st.sampled_from([0.0, -0.0, 17.0, -9.0, 0.5, 100.5, math.inf])
    else:
        values = st.integers(0, 120) if pa.types.is_unsigned_integer(kind) else st.integers(-20, 2100)
    drawn = data.draw(st.lists(values | st.none(), min_size=20, max_size=100))
    same_both_ways(pa.array(drawn, kind), NUMBERS)


@quick
@given(st.lists(DAYS | st.dates() | st.none(), min_size=20, max_size=100), st.integers(0, 86399))
def test_dates_and_timestamps_have_the_codes_of_sql(days, second):
    same_both_ways(pa.array(days, pa.date32()), DATES)
    moments = [day and dt.datetime.combine(day, dt.time()) + dt.timedelta(seconds=second) for day in days]
    for kind in (pa.timestamp("us"), pa.timestamp("us", "UTC")):
        same_both_ways(pa.array(moments, kind), DATES)


@quick
@given(st.lists(TEXTS | st.none(), min_size=20, max_size=100), st.lists(TEXTS | st.none(), min_size=20, max_size=100))
def test_a_dictionary_encoded_column_counts_as_its_texts(first, second):
    texts = [pa.array(part, pa.string()) for part in (first, second)]
    entries = pa.chunked_array([part.dictionary_encode().slice(3) for part in texts])
    plain = pa.chunked_array([part.slice(3) for part in texts])
    for columns in (NUMBERS + DATES, [PICKY[0]]):
        assert counted(entries, columns, {"rows": 1}) == counted(plain, columns, {"rows": 1})


def test_very_many_entries_keep_their_codes():
    numbers = np.arange(500_000)
    entries = pa.array(numbers.astype(str)).dictionary_encode()
    column = {"kind": "number", "edges": [0, 1000, 250_000, 499_999]}
    assert counted(entries, [column], {"rows": 1}) == [[1000, 249_000, 250_000, 0, 0]]
    twice = pa.DictionaryArray.from_arrays(pa.array(np.repeat(7, 10)), entries.dictionary)
    assert counted(twice, [column], {"rows": 1}) == [[10, 0, 0, 0, 0]]
    last = pa.DictionaryArray.from_arrays(pa.array(np.repeat(300_000, 10)), entries.dictionary)
    assert counted(last, [column], {"rows": 1}) == [[0, 0, 10, 0, 0]]


def test_an_entry_may_be_null_or_unused():
    values = pa.DictionaryArray.from_arrays(pa.array([0, 1, None, 2, 0]), pa.array(["1", None, "e", "not used"]))
    [cells] = counted(values, [{"kind": "category", "values": ["1", "e"]}], {"rows": 1})
    assert cells == [2, 1, 0, 2]


@pytest.mark.parametrize(
    ("chunks", "cells"),
    [
        ([pa.array([], pa.int64()), pa.array([1, 2, None])], [1, 1, 0, 1]),
        ([pa.array([1, 2, 3, 4, None]).slice(2), pa.array([1, 2]).slice(2)], [0, 2, 0, 1]),
        ([pa.array([True, None, False]).slice(1)], [1, 0, 0, 1]),
        ([pa.array([None, None], pa.float64())], [0, 0, 0, 2]),
        ([pa.array([], pa.bool_())], [0, 0, 0, 0]),
        ([pa.array([], pa.string()).dictionary_encode()], [0, 0, 0, 0]),
        ([pa.array([1, 7], pa.uint64())], [1, 0, 1, 0]),
    ],
)
def test_chunks_in_memory_that_are_empty_cut_or_all_null(chunks, cells):
    assert counted(pa.chunked_array(chunks), [{"kind": "number", "edges": [0, 2, 5]}], {"rows": 1}) == [cells]


def test_a_category_of_pandas_counts_as_its_texts():
    frame = pd.DataFrame({"x": pd.Categorical(["b", None, "a", "b"], categories=["a", "b", "c"])})
    column = {"name": "x", "kind": "category", "values": ["a", "b"]}
    plan = Plan(dataset="d", epsilon="1", columns=[column], tables=[["x"]])
    with open_table(frame) as opened:
        [counts] = count(opened, plan, [("x",)], truncation_key=b"")
    assert counts.tolist() == [1, 2, 0, 1]


def test_a_table_far_larger_than_a_batch():
    column = {"name": "x", "kind": "number", "edges": list(range(0, 9001))}
    other = {"name": "y", "kind": "number", "edges": list(range(0, 101))}
    plan = Plan(dataset="d", epsilon="1", columns=[column, other], tables=[["x", "y"]])
    x, y = np.arange(5000) % 9000, np.arange(5000) % 100
    with open_table(pa.table({"x": x, "y": y})) as opened:
        [counts] = count(opened, plan, [("x", "y")], truncation_key=b"")
    expected = np.zeros(counts.shape, dtype=np.int64)
    np.add.at(expected, (x, y), 1)
    assert np.array_equal(counts, expected)


# The lookup of values.

MISSING = 99
thorough = settings(max_examples=300, deadline=None, derandomize=True)
FLOATS = st.floats(allow_nan=False) | st.sampled_from([0.0, -0.0, 0.1, 1e-310, 5e-324, 1e308, -1e308, 1e16])
INTEGERS = st.integers(-(2**63), 2**63 - 1) | st.integers(-1000, 1000)


def codes_for(bounds):
    return np.arange(len(bounds) + 1, dtype=np.int32) * 7 % 11


@thorough
@given(st.lists(FLOATS, max_size=40), st.lists(FLOATS | st.just(math.nan), max_size=20))
def test_a_lookup_of_floats_is_a_search(bounds, values):
    bounds = np.unique(np.array(bounds, dtype=np.float64))
    near = [math.nextafter(bound, side) for bound in bounds for side in (-math.inf, math.inf)]
    values = np.array([*values, *bounds, *near], dtype=np.float64)
    expected = codes_for(bounds)[np.searchsorted(bounds, values, side="right")]
    expected[np.isnan(values)] = MISSING
    assert np.array_equal(lookup(bounds, codes_for(bounds), MISSING)(values), expected)


@thorough
@given(st.lists(INTEGERS, max_size=40), st.lists(INTEGERS, max_size=20))
def test_a_lookup_of_integers_is_a_search(bounds, values):
    bounds = np.unique(np.array(bounds, dtype=np.int64))
    near = [int(bound) + side for bound in bounds for side in (-1, 1) if -(2**63) <= int(bound) + side < 2**63]
    values = np.array([*values, *bounds.tolist(), *near], dtype=np.int64)
    expected = codes_for(bounds)[np.searchsorted(bounds, values, side="right")]
    assert np.array_equal(lookup(bounds, codes_for(bounds), MISSING)(values), expected)


@pytest.mark.parametrize("kind", [np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32])
def test_integers_of_few_bits_are_looked_up_as_they_are(kind):
    values = np.array([np.iinfo(kind).min, 0, 1, 17, 100, np.iinfo(kind).max], dtype=kind)
    bounds = np.array([1, 17, 101])
    expected = np.searchsorted(bounds, values.astype(np.int64), side="right")
    assert np.array_equal(lookup(bounds, np.arange(4, dtype=np.int32), MISSING)(values), expected)


@pytest.mark.parametrize(
    "bounds",
    [
        np.arange(0, 1e5),
        np.geomspace(1e-9, 1e9, 5000),
        np.array([0.0, 1e-300, 1.0]),
        np.array([-math.inf, 0.0, math.inf]),
    ],
)
def test_many_crowded_and_infinite_bounds(bounds):
    values = np.concatenate(
        [bounds, np.nextafter(bounds, -1), np.nextafter(bounds, 1), [-math.inf, math.inf, -1.0, 0.0]]
    )
    expected = np.searchsorted(bounds, values, side="right").astype(np.int32)
    assert np.array_equal(lookup(bounds, np.arange(len(bounds) + 1, dtype=np.int32), MISSING)(values), expected)


def test_more_values_than_one_piece():
    values = np.linspace(-1, 11, 100_001)
    bounds = np.array([0.0, 2.5, 10.0])
    expected = np.searchsorted(bounds, values, side="right")
    assert np.array_equal(lookup(bounds, np.arange(4, dtype=np.int32), MISSING)(values), expected)
