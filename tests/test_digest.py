"""The digest of a table: equal for equal content in every format, and another after any change."""

import datetime as dt
import hashlib
import json
from collections import Counter

import pandas as pd
import pyarrow as pa

from dpengine.counting import digest
from dpengine.sources import open_table


def digest_of(source):
    with open_table(source) as table:
        return digest(table)


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
    table = pa.table({"b": [1, None], "a": ["x", "y"]})
    rows = [b"1:x1:1", b"1:y0:"]
    assert digest_of(table) == reference_digest(["a", "b"], rows)


def reference_digest(names, rows):
    added = sum(int.from_bytes(hashlib.md5(row).digest(), "little") for row in rows) % 2**128
    return hashlib.sha256(json.dumps([names, len(rows), f"{added:032x}"]).encode()).digest()


def test_any_change_of_content_changes_the_digest():
    tables = [
        {"a": ["x", "y"], "b": ["1", "2"]}, {"a": ["x", "y"], "b": ["2", "1"]}, {"a": ["x"], "b": ["1"]},
        {"a": ["x", "y", "y"], "b": ["1", "2", "2"]}, {"a": ["x", "x", "y"], "b": ["1", "1", "2"]},
        {"b": ["x", "y"], "a": ["1", "2"]}, {"a": ["x", "y"], "c": ["1", "2"]}, {"a": ["x1", "y"], "b": ["", "2"]},
        {"a": ["x1:1", "y"], "b": [None, "2"]}, {"a": ["X", "y"], "b": ["1", "2"]}, {"a": [], "b": []}, {"a": []},
        {"a": ["x", "y"]},
    ]  # fmt: skip
    digests = Counter(digest_of(pa.table({k: pa.array(v, pa.string()) for k, v in t.items()})) for t in tables)
    assert max(digests.values()) == 1
    assert all(len(value) == 32 for value in digests)


def test_the_unit_that_times_are_counted_in_is_no_content():
    moments = [dt.datetime(2024, 1, 5, 10, 30, tzinfo=dt.UTC), None]
    for zone in (None, "UTC", "Asia/Tokyo"):
        tables = [pa.table({"at": pa.array(moments, pa.timestamp(unit, zone))}) for unit in ("s", "ms", "us", "ns")]
        assert len({digest_of(table) for table in tables}) == 1
