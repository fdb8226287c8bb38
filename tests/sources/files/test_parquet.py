"""Many Parquet files as one table: the files it is made of, and the columns in the names of their folders."""

import os

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dpengine import Ledger, release
from dpengine.counting.count import count, digest, row_count
from dpengine.errors import TableError
from dpengine.sources.engine import connect
from dpengine.sources.files import isolated, parquet
from dpengine.sources.files.untrusted import MAX_READ_AT_ONCE
from dpengine.sources.open import open_table
from dpengine.spec.plan import Plan


def write(path, **columns):
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table(columns), path)
    return path


def content(source):
    with open_table(source) as table, table.connection() as connection:
        names = [column.name for column in table.columns]
        return names, sorted(connection.execute("SELECT * FROM rows").fetchall(), key=str)


def test_a_file_that_arrow_reads_is_tried_by_the_engine_before_that_opens_it(tmp_path, monkeypatch):
    file, read, requests = write(tmp_path / "t.parquet", n=[1, 2]), isolated.read, []

    def watched(*given, **arguments):
        requests.append(arguments["to_arrow"])
        return read(*given, **arguments)

    def refused(*given, **arguments):
        raise TableError("damaged")

    monkeypatch.setattr(isolated, "read", watched)
    with open_table(file) as table:
        assert digest(table)
        assert requests == [True]
        monkeypatch.setattr(isolated, "read", refused)
        for _ in range(2):
            with pytest.raises(TableError, match="damaged"), table.connection():
                pass
        monkeypatch.setattr(isolated, "read", watched)
        assert row_count(table) == 2
    assert requests == [True, False]


@pytest.fixture
def visits(tmp_path):
    """Two years in folders of their own, beside notes that engines leave."""
    write(tmp_path / "visits" / "year=2024" / "a.parquet", n=[1, 2])
    write(tmp_path / "visits" / "year=2025" / "deep" / "b.pq", n=[3])
    write(tmp_path / "visits" / "_metadata.parquet", n=[99])
    (tmp_path / "visits" / "_SUCCESS").touch()
    return tmp_path / "visits"


BOTH = (["n", "year"], [(1, "2024"), (2, "2024"), (3, "2025")])


def test_a_folder_is_all_its_files_and_its_partitions_are_columns(visits):
    assert content(visits) == content(str(visits)) == BOTH


def test_a_pattern_opens_all_files_that_it_matches_as_one_table(visits):
    assert content(visits / "*" / "*.parquet") == (["n", "year"], [(1, "2024"), (2, "2024")])
    assert content(str(visits / "year=202[45]" / "**" / "*.p*")) == BOTH


def test_a_list_of_files_is_opened_as_one_table(tmp_path):
    files = [write(tmp_path / f"{i}.parquet", n=[i], s=["x"]) for i in range(3)]
    assert content(files) == (["n", "s"], [(0, "x"), (1, "x"), (2, "x")])


def test_a_partition_counts_like_any_column(visits):
    plan = Plan(
        dataset="d", epsilon="1", tables=[["year"], ["n", "year"]],
        columns=[
            {"name": "year", "kind": "category", "values": ["2023", "2024"]},
            {"name": "n", "kind": "number", "edges": [0, 2, 9], "other": False, "missing": False},
        ],
    )  # fmt: skip
    with open_table(visits) as table:
        year, both = count(table, plan, plan.marginals, truncation_key=b"")
    assert year.tolist() == [0, 2, 1, 0]
    assert both.tolist() == [[0, 1, 0, 0], [0, 1, 1, 0]]


def test_names_of_folders_are_texts_as_they_stand_with_nulls_and_signs(tmp_path):
    for folder in ("who=a%20b%3D1", "who=__HIVE_DEFAULT_PARTITION__", "who=007", "who=[x]*", "who=é's"):
        write(tmp_path / folder / "p.parquet", n=[1])
    assert {who for _, who in content(tmp_path)[1]} == {"007", "[x]*", "a b=1", "é's", None}


def test_columns_are_matched_by_name_and_small_numbers_widen(tmp_path):
    write(tmp_path / "a.parquet", n=pa.array([1], pa.int8()), s=["x"])
    write(tmp_path / "b.parquet", s=["y"], n=pa.array([2**40], pa.int64()))
    assert content(tmp_path) == (["n", "s"], [(1, "x"), (2**40, "y")])


def test_nan_is_counted_although_statistics_hide_it(tmp_path):
    for name in "ab":
        write(tmp_path / f"{name}.parquet", x=[1.0, float("nan")] * 1000)
    plan = Plan(dataset="d", epsilon="1", columns=[{"name": "x", "kind": "number", "edges": [0, 2]}], tables=[["x"]])
    with open_table(tmp_path) as table:
        assert count(table, plan, plan.marginals, truncation_key=b"")[0].tolist() == [2000, 0, 2000]


def test_one_file_or_many_are_the_same_data(tmp_path):
    whole = write(tmp_path / "whole.parquet", n=[1, 2, 3], s=["a", "b", None])
    write(tmp_path / "parts" / "1.parquet", n=[3, 1], s=[None, "a"])
    write(tmp_path / "parts" / "2.parquet", n=[2], s=["b"])
    with open_table(whole) as one, open_table(tmp_path / "parts") as many:
        assert digest(one) == digest(many)
        assert row_count(many) == many.rows == 3


@pytest.mark.parametrize(
    ("files", "fragment"),
    [
        ({}, "no Parquet file"),
        ({"a.parquet": {"n": [1]}, "b.parquet": {"m": [1]}}, r"file 2 of 2 \('b.parquet'\) has other columns"),
        ({"y=1/a.parquet": {"n": [1]}, "z=1/b.parquet": {"n": [1]}}, "other kinds of folders"),
        ({"a.parquet": {"n": [1], "N": [1]}, "b.parquet": {"n": [1], "N": [1]}}, "capitals"),
    ],
)
def test_files_that_are_no_one_table_are_refused(tmp_path, files, fragment):
    for name, columns in files.items():
        write(tmp_path / name, **columns)
    with pytest.raises(TableError, match=fragment) as caught:
        open_table(tmp_path)
    assert str(tmp_path) not in str(caught.value).replace(repr(tmp_path.name), "")


def test_a_damaged_file_among_many_is_refused(visits):
    (visits / "year=2024" / "c.parquet").write_bytes(b"PAR1 and no more")
    with pytest.raises(TableError, match="cut off"):
        open_table(visits)
    with pytest.raises(TableError, match="list of files"):
        open_table([])
    with pytest.raises(TableError, match="there is no file"):
        open_table(["x.parquet"])


def test_a_change_of_any_file_is_noticed(visits):
    with open_table(visits) as table:
        table.check_unchanged()
        os.utime(visits / "year=2025" / "deep" / "b.pq", ns=(0, 0))
        with pytest.raises(TableError, match="has changed"):
            table.check_unchanged()


def test_damage_in_the_rows_of_one_file_shows_when_all_are_opened(tmp_path):
    for i in range(3):
        path = write(tmp_path / "t" / f"{i}.parquet", n=list(range(1000)), s=["x"] * 1000)
    whole = path.read_bytes()
    path.write_bytes(whole[:4] + bytes(len(whole) // 2) + whole[4 + len(whole) // 2 :])
    with pytest.raises(TableError, match="damaged"):
        open_table(tmp_path / "t")


@pytest.fixture(scope="module")
def damaged_at_the_end(tmp_path_factory):
    """A file of more than is read at once, of which pages near the end are damaged."""
    numbers = np.random.default_rng(1).integers(0, 2**62, MAX_READ_AT_ONCE // 8 + 500_000)
    path = write(tmp_path_factory.mktemp("large") / "t.parquet", n=numbers)
    with path.open("r+b") as file:
        file.seek(path.stat().st_size - 3_000_000)
        file.write(bytes(2_500_000))
    assert path.stat().st_size > MAX_READ_AT_ONCE
    return path


@pytest.mark.nightly
def test_damage_beyond_what_is_read_at_once_spends_nothing(damaged_at_the_end):
    column = {"name": "n", "kind": "number", "edges": [0, 2**61, 2**62]}
    ledger = Ledger.in_memory()
    with open_table(damaged_at_the_end) as table, pytest.raises(TableError, match="damaged"):
        release(table, Plan(dataset="d", epsilon=1, columns=[column], tables=[["n"]]), ledger)
    assert ledger.history() == []


def test_a_file_of_any_size_is_read_in_full_elsewhere_if_that_is_asked_for(damaged_at_the_end):
    with pytest.raises(TableError, match="damaged"):
        open_table(damaged_at_the_end, in_full=True)
    with pytest.raises(TableError, match="damaged"):
        open_table([damaged_at_the_end, damaged_at_the_end], in_full=True)


@pytest.mark.parametrize("how", [{}, {"store_schema": False}, {"version": "1.0"}], ids=["2.6", "bare", "1.0"])
def test_types_that_are_known_without_the_engine_are_the_engines(tmp_path, how):
    kinds = [pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(), pa.uint32(), pa.uint64(), pa.float32(),
             pa.float64(), pa.bool_(), pa.date32(), pa.date64(), pa.string(), pa.large_string(), pa.binary(),
             pa.timestamp("us"), pa.time64("us"), pa.duration("us"), pa.decimal128(9, 2), pa.list_(pa.int32()),
             pa.struct([("a", pa.int32())]), pa.dictionary(pa.int32(), pa.string())]  # fmt: skip
    known = 0
    with connect(tmp_path) as connection:
        for k, kind in enumerate(kinds):
            (folder := tmp_path / str(k)).mkdir()
            pq.write_table(pa.table({"a": pa.array([None], kind)}), path := folder / "t.parquet", **how)
            described = parquet.described(path)
            names, rows = parquet.open_parquet(connection, folder, path)
            types = [row[1] for row in connection.execute("DESCRIBE rows").fetchall()]
            connection.execute("DROP VIEW rows")
            connection.execute("DROP VIEW raw")
            assert described in ((names, types, rows), None), kind
            known += described is not None
    assert known >= 6


def test_a_file_that_describes_its_columns_at_great_length_is_refused_before_that_is_read(tmp_path):
    """Parsing it took 40 s and 1 GB for 120 MB, in the process that serves all visitors too."""
    path = tmp_path / "long.parquet"
    for size, fault in ((33 << 20, "in more than 32 MB; write it again in fewer row groups"), (1 << 20, "is damaged")):
        with path.open("wb") as file:
            file.write(b"PAR1")
            file.truncate(4 + size)
            file.seek(0, 2)
            file.write(size.to_bytes(4, "little") + b"PAR1")
        with pytest.raises(TableError, match=fault):
            open_table(path)
    path.write_bytes(b"PAR1PAR1")
    with pytest.raises(TableError, match="is damaged"):
        open_table(path)
