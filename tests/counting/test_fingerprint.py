"""The digest of a table: equal for equal content in every format, and another after any change."""

import datetime as dt
import hashlib
import json
import struct
from collections import Counter

import duckdb
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from dpengine.counting.count import digest, digest_of_texts
from dpengine.counting.fingerprint import RowSums, hashed_columns
from dpengine.sources.open import open_table


def digest_of(source):
    with open_table(source) as table:
        return digest(table)


def digest_elsewhere(source):
    with open_table(source) as table:
        return digest_of_texts(table)


def test_the_digest_is_the_same_in_every_format(tmp_path):
    frame = pd.DataFrame({"i": [1, 2, 2], "s": ["x", 'a "b", c', "日本"], "f": [1.5, 0.25, -3.125]})
    frame.to_csv(tmp_path / "t.csv", index=False)
    frame.to_csv(tmp_path / "t.txt", index=False, sep=";", lineterminator="\r\n", encoding="utf-16")
    frame.to_parquet(tmp_path / "t.parquet")
    frame.to_feather(tmp_path / "t.feather")
    frame.to_excel(tmp_path / "t.xlsx", index=False)
    sources = [frame, frame[["f", "s", "i"]], frame.astype(object), pa.Table.from_pandas(frame, preserve_index=False)]
    files = [tmp_path / name for name in ("t.csv", "t.txt", "t.parquet", "t.feather", "t.xlsx")]
    assert {digest_of(source).hex() for source in (*sources, *files)} == {digest_of(frame).hex()}


def test_the_digest_is_fixed_for_all_time():
    days, truths = [dt.date(2024, 2, 29), None, dt.date(1, 1, 1)], [True, False, None]
    table = pa.table({
        "b": [1, None, -20], "a": ["x", "", "a text of more than sixteen bytes"], "f": [0.5, float("nan"), 1e300],
        "t": ["0.5", "1.50", "x" * 200], "d": days, "y": truths, "n": pa.array([0.1, None, 3.0], pa.float32()),
    })  # fmt: skip
    rows = [
        {"a": "x", "b": "1", "d": "2024-02-29", "f": 0.5, "n": 0.1, "t": 0.5, "y": "true"},
        {"a": "", "b": "", "d": "", "f": "nan", "n": "", "t": "1.50", "y": "false"},
        {"a": "a text of more than sixteen bytes", "b": "-20", "d": "0001-01-01", "f": 1e300, "n": 3.0,
         "t": hashlib.md5(b"x" * 200).hexdigest(), "y": ""},
    ]  # fmt: skip
    assert digest_of(table) == reference_digest(sorted(table.column_names), rows)


def test_a_text_of_any_length_has_the_same_digest():
    texts = ["y" * size for size in (127, 128, 129, 1023, 1024, 1025, 100_000)] + ["ü" * 512, "ü" * 513]
    rows = [{"t": text if len(text.encode()) <= 128 else hashlib.md5(text.encode()).hexdigest()} for text in texts]
    assert digest_of(pa.table({"t": texts})) == reference_digest(["t"], rows)


def reference_digest(names, rows):
    hashed = [reference_hash([row[name] for name in names]) for row in rows]
    sums = [sum(hashed) % 2**64, sum(mixed(word ^ 0x8CB92BA72F3D8DD7) for word in hashed) % 2**64]
    return hashlib.sha256(json.dumps([names, len(rows), *sums]).encode()).digest()


def reference_hash(cells):
    state = 0
    for cell in cells:
        state = mixed(state ^ (word_of_number(cell) if isinstance(cell, float) else word_of_text(cell.encode())))
    return state


def word_of_number(number):
    return (int.from_bytes(struct.pack("<d", number), "little") + 0xD1B54A32D192ED03) % 2**64


def word_of_text(text):
    first, *others = [int.from_bytes(text[k : k + 8], "little") for k in range(0, max(1, len(text)), 8)]
    word = (first + len(text) * 0x9E3779B97F4A7C15) % 2**64
    for other in others:
        word = mixed(word) ^ other
    return word


def mixed(x):
    for shift, odd in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        x = (x ^ (x >> shift)) * odd % 2**64
    return x ^ (x >> 31)


@given(st.lists(st.text("0123456789.eE+-_ fdx\n", max_size=16), min_size=1, max_size=6))
@example(["1.5", "1.50", "1_0.5", "10.5", " 1.5", "1.5 ", "+1.5", "01.5", "1.5e0", "1.5E1", "15.0", "1e400", "0.1"])
@example(["123456789012345.6", "1234567890123456.7", "0.00001", "1e-05", "0.0001", "1e-4", ".5", "5.", "-.5", "0.0"])
@example(["-0.0", "-0.00", "00.5", "0.50", "-0.5", "-00.5", "--0.5", "- 0.5", "0.5-", "-", ".", "1.0.0", "1.0", "1.00"])
@example(["1e+20", "1e20", "100000000000000000000.0", "1e-10", "1.0e-10", "0.0000000001", "1" * 25 + ".5"])
@pytest.mark.nightly
def test_two_texts_never_stand_for_the_same_number(texts):
    different = list(dict.fromkeys(texts))
    digests = {digest_of(pa.table({"t": pa.array([text], pa.string())})) for text in different}
    assert len(digests) == len(different)


@given(st.lists(st.floats(allow_nan=False) | st.just(float("nan")), min_size=1, max_size=50))
@example([0.1, 1e16, 1e15, 123456789012345.6, 5e-324, -0.0, 0.0, float("inf"), 1e-5, 0.0001, 1 / 3])
@example([1e20, -1e-10, 1.5e300, 2.5e-20, 1e22, 1e17, 100.0, 9007199254740993.0, 123456789012345680.0])
@example([-1.2345678901234567e-300, 0.00012345678901234567])
def test_a_number_and_its_text_are_the_same(numbers):
    typed = pa.table({"x": pa.array(numbers, pa.float64())})
    texts = [text for (text,) in duckdb.sql("SELECT x::VARCHAR FROM typed").fetchall()]
    assert digest_of(typed) == digest_of(pa.table({"x": pa.array(texts, pa.string())}))


NAMES = ["c0", "c1", "c2"]
NUMERALS = st.text("0123456789.e+-", max_size=8) | st.floats().map(str) | st.text(max_size=4)


@given(st.lists(st.none() | NUMERALS, min_size=1, max_size=20))
@example(["1.5", "1.50", "10.5", "-0.5", "-.5", "01.5", "1.", "1.5e0", "1e+20", "1e20", "1e-05", "1.5e-300", "1e400"])
@example(["1" * 25 + ".5", "0.1234567890123456789", "123456789012345678.5", "0.00001", "1.5e+15", "1e+16", "2.5\n"])
def test_numbers_among_texts_are_the_same_in_a_table_of_many_columns(texts):
    given_rows = pa.table([pa.array(column, pa.string()) for column in (texts, texts[::-1], ["x"] * len(texts))], NAMES)
    columns = [(i, "VARCHAR") for i in range(3)]
    digests = set()
    for hashed in (hashed_columns(columns), hashed_columns(columns, many=2)):
        sums = RowSums(hashed)
        cells = ", ".join(f"{sql} AS {alias}" for column in hashed for alias, sql in column.cells.items())
        outputs = ", ".join(output for column in hashed for output in column.outputs)
        shown = duckdb.sql(f"SELECT {outputs} FROM (SELECT {cells} FROM given_rows) AS cells").to_arrow_table()
        sums.add([pa.concat_arrays(column.chunks) for column in shown.columns], given_rows.num_rows)
        digests.add(sums.digest(NAMES))
    assert len(digests) == 1


@given(st.lists(st.integers(-(2**63), 2**63 - 1) | st.integers(-100, 100), min_size=1, max_size=30), st.data())
@pytest.mark.nightly
def test_a_whole_number_or_a_day_and_its_text_are_the_same(numbers, data):
    texts = pa.table({"x": [str(number) for number in numbers]})
    assert digest_of(pa.table({"x": numbers})) == digest_of(texts)
    days = data.draw(st.lists(st.none() | st.dates(), min_size=1))
    written = pa.array([None if day is None else day.isoformat() for day in days], pa.string())
    assert digest_of(pa.table({"x": pa.array(days, pa.date32())})) == digest_of(pa.table({"x": written}))


def test_any_change_of_content_changes_the_digest():
    tables = [
        {"a": ["x", "y"], "b": ["1", "2"]}, {"a": ["x", "y"], "b": ["2", "1"]}, {"a": ["x"], "b": ["1"]},
        {"a": ["x", "y", "y"], "b": ["1", "2", "2"]}, {"a": ["x", "x", "y"], "b": ["1", "1", "2"]},
        {"b": ["x", "y"], "a": ["1", "2"]}, {"a": ["x", "y"], "c": ["1", "2"]}, {"a": ["x1", "y"], "b": ["", "2"]},
        {"a": ["x1:1", "y"], "b": [None, "2"]}, {"a": ["X", "y"], "b": ["1", "2"]}, {"a": [], "b": []}, {"a": []},
        {"a": ["x", "y"]},
    ]  # fmt: skip
    of_texts = [pa.table({k: pa.array(v, pa.string()) for k, v in t.items()}) for t in tables]
    for digest_by in (digest_of, digest_elsewhere):  # of rows here, and as another engine computes it
        digests = Counter(map(digest_by, of_texts))
        assert max(digests.values()) == 1
        assert all(len(value) == 32 for value in digests)


def test_the_unit_that_times_are_counted_in_is_no_content():
    moments = [dt.datetime(2024, 1, 5, 10, 30, tzinfo=dt.UTC), None]
    for zone in (None, "UTC", "Asia/Tokyo"):
        tables = [pa.table({"at": pa.array(moments, pa.timestamp(unit, zone))}) for unit in ("s", "ms", "us", "ns")]
        assert len({digest_of(table) for table in tables}) == 1
