"""Opening tables: the texts and types that are read, the messages of refusals, and no files left behind."""

import codecs
import datetime as dt
import gc
import gzip
import os
import tempfile
from decimal import Decimal
from pathlib import Path

import duckdb
import pandas as pd
import pyarrow as pa
import pyarrow.csv as csv
import pyarrow.dataset as ds
import pyarrow.feather as feather
import pyarrow.parquet as pq
import pytest

from dpengine.counting.count import check, distinct_texts
from dpengine.errors import TableError
from dpengine.sources.files import isolated
from dpengine.sources.open import open_table
from dpengine.sources.table import Table, hint_of_name
from dpengine.spec.plan import Plan

CANARY = "ZZ_CANARY_7f3a"


def rows(table: Table) -> list[tuple[object, ...]]:
    with table.connection() as connection:
        return sorted(connection.execute("SELECT * FROM rows").fetchall(), key=str)


def names(table: Table) -> list[str]:
    return [column.name for column in table.columns]


@pytest.fixture
def scratch(tmp_path, monkeypatch):
    """The folder in which opened tables put their temporary files."""
    folder = tmp_path / "scratch"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


TWO = [("1", "2"), ("3", "4")]
READ = {
    "plain": (b"a,b\n1,2\n3,4\n", {}, TWO),
    "no last line end": (b"a,b\n1,2\n3,4", {}, TWO),
    "CRLF": (b"a,b\r\n1,2\r\n3,4\r\n", {}, TWO),
    "CR": (b"a,b\r1,2\r3,4\r", {}, TWO),
    "mixed line ends": (b"a,b\r\n1,2\n3,4\r5,6\r\n", {}, [*TWO, ("5", "6")]),
    "header only": (b"a,b\n", {}, []),
    "header only, no line end": (b"a,b", {}, []),
    "blank lines": (b"a,b\n1,2\n\n3,4\n\n", {}, TWO),
    "UTF-8 with BOM": (b"\xef\xbb\xbfa,b\n1,2\n3,4\n", {}, TWO),
    "UTF-16 LE with BOM": ("\ufeffa,b\n1,ü\n".encode("utf-16-le"), {}, [("1", "ü")]),
    "UTF-16 BE with BOM": ("\ufeffa,b\r\n1,ü\r\n".encode("utf-16-be"), {}, [("1", "ü")]),
    "UTF-16 named": ("a,b\n1,ü\n".encode("utf-16-le"), {"encoding": "utf-16-le"}, [("1", "ü")]),
    "Shift JIS named": ("a,b\n1,日本\n".encode("shift_jis"), {"encoding": "shift_jis"}, [("1", "日本")]),
    "odd lines alone as Windows-1252": (
        b"a,b\nM\xfcnchen,\x80\nM\xc3\xbcnchen,2\n",
        {},
        [("München", "2"), ("München", "€")],
    ),
    "semicolon": (b"a;b\n1,5;2\n", {}, [("1,5", "2")]),
    "tab": (b"a\tb\n1,5\t2\n", {}, [("1,5", "2")]),
    "pipe": (b"a|b\n1|2\n", {}, [("1", "2")]),
    "delimiter given": (b"a~b\n1~2\n", {"delimiter": "~"}, [("1", "2")]),
    "delimiters within a quoted name": (b'"a;;;",b\n1,2\n', {}, [("1", "2")]),
    "one column with a missing cell": (b"a\n1\n\n2\n", {}, [("1",), ("2",), (None,)]),
    "quotes": (b'a,b\n"x\ny","p""q,"\n5" pipe,\n', {}, [('5" pipe', None), ("x\ny", 'p"q,')]),
    "line end within a cell": (b'a,b\r\n"x\r\ny",2\r\n', {}, [("x\ny", "2")]),
    "texts stay texts": (b"a,b\nNA,01234\nnull,1e400\n", {}, [("NA", "01234"), ("null", "1e400")]),
    "backslash and hash": (b'a,b\n"x\\",2\n#c,4\n', {}, [("#c", "4"), ("x\\", "2")]),
    "bidi, zero width, emoji": ("a,b\n\u202ex,\u200b🙂\n".encode(), {}, [("\u202ex", "\u200b🙂")]),
    "a cell of 1 MB": (b"a,b\n" + b"x" * 2**20 + b",2\n", {}, [("x" * 2**20, "2")]),
}


@pytest.mark.by_day(13)
@pytest.mark.parametrize("case", READ)
def test_text_is_read_as_text(case, tmp_path):
    content, options, expected = READ[case]
    path = tmp_path / "t.csv"
    path.write_bytes(content)
    with open_table(path, **options) as table:
        assert rows(table) == expected
        assert {column.type for column in table.columns} == {"VARCHAR"}


def test_a_later_odd_byte_is_found_however_far_down(tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes(b"a\n" + b"plain\n" * 1_500_000 + b"\xfc\n")
    with open_table(path) as table, table.connection() as connection:
        assert connection.execute("SELECT c0 FROM rows WHERE c0 <> 'plain'").fetchall() == [("ü",)]


@pytest.mark.parametrize("header", ['"a,x",b', "__proto__,../x", "=cmd(),-1", "Age,age", "a, a", "1,2.5"])
def test_any_header_with_distinct_names_is_accepted(header, tmp_path):
    path = tmp_path / "t.csv"
    path.write_text(f"{header}\n1,2\n")
    with open_table(path) as table:
        assert rows(table) == [("1", "2")]
        assert len(set(names(table))) == 2


def test_a_table_may_have_thousands_of_columns(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text(",".join(f"col{i}" for i in range(5000)) + "\n" + ",".join("7" * 5000) + "\n")
    with open_table(path) as table:
        assert len(table.columns) == 5000
        assert rows(table) == [("7",) * 5000]


BAD = {
    "empty": ("t.csv", b"", {}, "empty"),
    "blank": ("t.csv", b" \n", {}, "column 1 has no name"),
    "quote open in the header": ("t.csv", f'region,"age\n{CANARY},2\n3,4\n'.encode(), {}, "opens a quote"),
    "quote open in the header, closed by a row": ("t.csv", f'a,"b\n1,{CANARY}"\n3,4\n'.encode(), {}, "opens a quote"),
    "header of many lines": ("t.csv", f'a,"b\n{CANARY}"\n3,4\n'.encode(), {}, "opens a quote"),
    "text after a quote in the header": ("t.csv", b'"a"x,b\n1,2\n', {}, "opens a quote"),
    "header of megabytes": ("t.csv", b"a" + b",b" * (1 << 20) + b"\n1\n", {}, "longer than 1 MB"),
    "long name": ("t.csv", b"a," + b"b" * (200 << 10) + b"\n1,2\n", {}, "name is longer than 10,000"),
    "too many columns": ("t.csv", b"a" + b",b" * 99_999 + b"\n", {}, "100,000 columns; at most 5,000"),
    "very many blank names": ("t.csv", b"a" + b"," * 4_000 + b"\n", {}, "4,000 columns have no name"),
    "first line blank": ("t.csv", f"\na,b\n{CANARY},2\n".encode(), {}, "first line"),
    "two lines of names": (
        "t.csv",
        b",,about\na,b,c\n1,2,3\n",
        {},
        "2 columns have no name (1, 2): name",
    ),
    "duplicate names": ("t.csv", f"a,b,a\n{CANARY},2,3\n".encode(), {}, "2 columns are named 'a'"),
    "blank name": ("t.csv", f"a,\n{CANARY},2\n".encode(), {}, "column 2 has no name"),
    "short row": ("t.csv", f"a,b\n1,2\n{CANARY}\n".encode(), {}, "line 3 of the file does not have as many"),
    "long row": ("t.csv", f"a,b\n1,2\n3,4,{CANARY}\n".encode(), {}, "line 3 of the file does not have as many"),
    "title above the names": ("t.csv", b"People, 2025\na;b\n1;2\n", {}, "header: line 2 of the file does not"),
    "long first row": ("t.csv", f"a,b\n1,2,{CANARY}\n3,4\n".encode(), {}, "line 2 of the file does not have as many"),
    "open quote": ("t.csv", f'a,b\n"{CANARY},2\n3,4\n'.encode(), {}, "line 2 of the file opens a quote"),
    "text after a quote": ("t.csv", f'a,b\n"x"{CANARY},2\n'.encode(), {}, "line 2 of the file opens a quote"),
    "endless line": ("t.csv", b"a,b\n" + b"x" * (5 << 20) + b",2\n3,4\n", {}, "a line is longer than 4 MB"),
    "endless last line": ("t.csv", b"a,b\n1,2\n" + b"x" * (9 << 20) + b",2\n", {}, "a line is longer than 4 MB"),
    "the same without an end": ("t.csv", b"a,b\n1,2\n" + b"x" * (9 << 20) + b",2", {}, "a line is longer than 4 MB"),
    "the same in UTF-16": (
        "t.csv",
        codecs.BOM_UTF16_LE + ("a,b\n1,2\n" + "x" * (9 << 20)).encode("utf-16-le"),
        {},
        "longer than 4 MB",
    ),
    "endless line, no line end": ("t.csv", b"\xff" * (13 << 20), {}, "a line is longer than 4 MB"),
    "NUL": ("t.csv", f"a,b\n{CANARY}\0,2\n".encode(), {}, "NUL"),
    "UTF-16 without a mark": ("t.csv", f"a,b\n{CANARY},2\n".encode("utf-16-le"), {}, "encoding utf-16-le"),
    "unknown encoding": ("t.csv", f"a,b\n{CANARY},2\n".encode(), {"encoding": "klingon"}, "try utf-8"),
    "no text encoding": ("t.csv", f"a,b\n{CANARY},2\n".encode(), {"encoding": "base64"}, "try utf-8"),
    "long delimiter": ("t.csv", f"a,b\n{CANARY},2\n".encode(), {"delimiter": "::"}, "one character"),
    "workbook named CSV": ("t.csv", b"PK\x03\x04" + CANARY.encode(), {}, "an Excel workbook"),
    "Parquet named CSV": ("t.csv", b"PAR1" + CANARY.encode(), {}, "a Parquet file"),
    "gzip named CSV": ("t.csv", gzip.compress(CANARY.encode()), {}, "a gzip archive"),
    "CSV named gzip": ("t.csv.gz", f"a,b\n{CANARY},2\n".encode(), {}, "cannot be read"),
    "cut off gzip": ("t.csv.gz", gzip.compress(f"a,b\n{CANARY},2\n".encode() * 9)[:-9], {}, "cannot be read"),
    "damaged gzip": ("t.csv.gz", gzip.compress(bytes(range(256)) * 99)[:40] + b"\xff" * 400, {}, "cannot be read"),
    "gzip bomb": ("t.csv.gz", lambda: gzip.compress(b"a\n" + b"1\n" * (60 << 20), 1), {}, "unpacks to far more"),
    "gzipped Parquet": ("t.parquet.gz", gzip.compress(b"PAR1"), {}, "unpack this one first"),
    "CSV named Parquet": ("t.parquet", f"a,b\n{CANARY},2\n".encode(), {}, "not a Parquet file"),
    "empty Parquet": ("t.parquet", b"", {}, "not a Parquet file"),
    "cut off Parquet": ("t.parquet", b"PAR1" + CANARY.encode() * 9, {}, "cut off"),
    "damaged Parquet": ("t.parquet", b"PAR1" + CANARY.encode() * 9 + b"PAR1", {}, "damaged"),
    "CSV named workbook": ("t.xlsx", f"a,b\n{CANARY},2\n".encode(), {}, "not a whole workbook"),
    "protected workbook": ("t.xlsx", b"\xd0\xcf\x11\xe0" + CANARY.encode(), {}, "password"),
    "damaged old workbook": ("t.xls", b"\xd0\xcf\x11\xe0" + CANARY.encode() * 99, {}, "cannot be read"),
    "CSV named Arrow": ("t.arrow", f"a,b\n{CANARY},2\n".encode(), {}, "damaged"),
    "empty Arrow": ("t.arrow", b"", {}, "write it again"),
    "sheet of a text file": ("t.csv", f"a,b\n{CANARY},2\n".encode(), {"sheet": "2"}, "only workbooks have sheets"),
    "table of a text file": ("t.csv", f"a,b\n{CANARY},2\n".encode(), {"table": "t"}, "only databases hold tables"),
    "delimiter of a workbook": ("t.xlsx", CANARY.encode(), {"delimiter": ";"}, "only text files have a delimiter"),
    "encoding of Parquet": ("t.parquet", CANARY.encode(), {"encoding": "utf-8"}, "only text files, and those of SPSS"),
    "rows above the names of Parquet": (
        "t.parquet",
        CANARY.encode(),
        {"skip_rows": 1},
        "only text files and workbooks",
    ),
    "unknown ending": ("t.docx", CANARY.encode(), {}, "use CSV, Parquet"),
    "no ending": ("t", CANARY.encode(), {}, "use CSV, Parquet"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_files_are_refused_in_words_that_help_and_leak_nothing(case, tmp_path, scratch):
    name, content, options, fragment = BAD[case]
    path = tmp_path / name
    path.write_bytes(content() if callable(content) else content)
    with pytest.raises(TableError) as caught:
        open_table(path, **options)
    message = str(caught.value)
    assert fragment in message
    assert CANARY not in message
    assert str(tmp_path) not in message
    assert caught.value.__cause__ is None
    assert list(scratch.iterdir()) == []


@pytest.mark.parametrize("source", ["a frame", "a pattern", "a list"])
def test_how_to_read_a_text_file_is_refused_for_what_is_none(source, tmp_path):
    """It would be ignored, and another table read than the one that was meant."""
    pq.write_table(pa.table({"a": [1]}), tmp_path / "rows-1.parquet")
    sources = {"a frame": pa.table({"a": [1]}), "a pattern": tmp_path / "rows-*.parquet",
               "a list": [tmp_path / "rows-1.parquet"]}  # fmt: skip
    with pytest.raises(TableError, match=r"only workbooks have sheets: leave this out\nonly text files and workbooks"):
        open_table(sources[source], sheet="2", names_given=False)


TYPED = pa.table(
    {
        "n": pa.array([1, None], pa.int64()),
        "x": pa.array([0.5, float("nan")]),
        "money": pa.array([Decimal("1.50"), None], pa.decimal128(9, 2)),
        "ok": pa.array([True, None]),
        "day": pa.array([dt.date(2024, 1, 5), None]),
        "at": pa.array([dt.datetime(2024, 1, 5), None], pa.timestamp("us", "Europe/Paris")),
        "who": pa.array(["NA", None]).dictionary_encode(),
        "many": pa.array([[1, 2], None]),
        "half": pa.array([1.5, None], pa.float16()),
    }
)
HINTS = ["number", "number", "number", "yesno", "date", "date", "category", "category", "number"]


def test_typed_sources_keep_their_types(tmp_path):
    feather.write_feather(TYPED, tmp_path / "t.feather")
    feather.write_feather(TYPED, tmp_path / "plain.arrow", compression="uncompressed")
    with pa.OSFile(str(tmp_path / "stream.arrow"), "wb") as sink, pa.ipc.new_stream(sink, TYPED.schema) as writer:
        writer.write_table(TYPED)
    for source in (TYPED, tmp_path / "t.feather", tmp_path / "plain.arrow", tmp_path / "stream.arrow"):
        with open_table(source) as table:
            assert names(table) == TYPED.column_names
            assert [column.kind_hint for column in table.columns] == HINTS


def test_parquet_keeps_its_types_and_its_nan(tmp_path):
    part = TYPED.drop_columns(["half"])
    pq.write_table(part, tmp_path / "t.parquet")
    with open_table(tmp_path / "t.parquet") as table, table.connection() as connection:
        assert names(table) == part.column_names
        assert [column.kind_hint for column in table.columns] == HINTS[:-1]
        assert connection.execute("SELECT count(*) FROM rows WHERE isnan(c1)").fetchall() == [(1,)]


def test_names_that_differ_in_case_are_two_columns(tmp_path):
    pq.write_table(pa.table({"Age": [1], "age": [2]}), tmp_path / "t.parquet")
    with open_table(tmp_path / "t.parquet") as table:
        assert (names(table), rows(table)) == (["Age", "age"], [(1, 2)])


def test_objects_of_a_frame_are_read_each_by_its_own_type():
    values = [
        None,
        float("nan"),
        pd.NaT,
        pd.NA,
        "a",
        1,
        1.0,
        1.5,
        True,
        dt.date(2024, 1, 5),
        b"b",
        "\ud800",
        Decimal("2.50"),
    ]
    with open_table(pd.DataFrame({"o": pd.Series(values, dtype=object)})) as table:
        assert distinct_texts(table, "o", limit=9) == ["1", "1.5", "2.5", "2024-01-05", "?", "True", "a", "b"]
        members = zip(*(row.values() for (row,) in rows(table)), strict=True)
    present = [sorted((value for value in values if value is not None), key=str) for values in members]
    assert present == [[True], [1], [], [1.0, 1.5, 2.5], [dt.datetime(2024, 1, 5)], ["?", "a", "b"]]


def test_columns_of_a_frame_keep_declared_types_and_lose_the_index():
    frame = pd.DataFrame(
        {
            "i": pd.array([1, None], "Int64"),
            "f": [1.5, float("nan")],
            "b": [True, False],
            "s": ["x", None],
            "c": pd.Categorical(["u", None], categories=["u", "v"]),
            "t": pd.to_datetime(["2024-01-05", None]),
        },
        index=["p", "q"],
    )
    with open_table(frame) as table:
        assert [column.kind_hint for column in table.columns] == [
            "number", "number", "yesno", "category", "category", "date"
        ]  # fmt: skip
        assert rows(table)[1] == (None, None, False, None, None, None)


def streamed_same(held: pa.Table, source: object) -> None:
    with open_table(held) as plain, open_table(source) as table:
        assert table.columns == plain.columns
        assert rows(table) == rows(plain)


def test_what_streams_arrow_data_is_the_same_table_as_its_rows_in_arrow() -> None:
    held = pa.table({"a": ["x", None, "y"], "n": [1, 2, 3]})
    streamed_same(held, duckdb.from_arrow(held))


@pytest.mark.nightly
def test_a_frame_of_polars_is_the_same_table_as_its_rows_in_arrow() -> None:
    import polars as pl

    held = pa.table({"a": ["x", None, "y"], "n": [1, 2, 3]})
    streamed_same(held, pl.from_arrow(held))


@pytest.mark.parametrize(
    "source",
    [
        pd.DataFrame([[CANARY, 2]], columns=["a", "a"]),
        pd.DataFrame([[CANARY, 2]], columns=[1, "1"]),
        pa.table([[CANARY], [2]], ["a", "a"]),
        pd.DataFrame(),
        {"a": [CANARY]},
        "no-such-file.csv",
    ],
    ids=["same names", "same names as text", "arrow", "no columns", "dict", "no file"],
)
def test_unusable_sources_are_refused(source):
    with pytest.raises(TableError) as caught:
        open_table(source)
    assert CANARY not in str(caught.value)


def test_the_name_of_an_upload_stands_for_its_file(tmp_path):
    (tmp_path / "upload.tmp").write_bytes(gzip.compress(b"a;b\n1;2\n"))
    with open_table(tmp_path / "upload.tmp", name="survey.CSV.GZ") as table:
        assert rows(table) == [("1", "2")]


def test_a_path_is_never_a_pattern_nor_a_partition(tmp_path):
    for folder in ("year=2024", "b[1]*"):
        (tmp_path / folder).mkdir()
        for name in ("a[1]*?.parquet", "a[1]*?.csv"):
            path = tmp_path / folder / name
            write = pq.write_table if path.suffix == ".parquet" else None
            if write:
                write(pa.table({"a": ["mine"]}), path)
                write(pa.table({"a": ["not mine"]}), path.with_name("a1x.parquet"))
            else:
                path.write_text("a\nmine\n")
                path.with_name("a1x.csv").write_text("a\nnot mine\n")
            with open_table(path) as table:
                assert (names(table), rows(table)) == (["a"], [("mine",)])


def test_nothing_stays_on_disk_after_closing_or_forgetting(tmp_path, scratch):
    path = tmp_path / "t.csv"
    path.write_bytes(b"a,b\r\n1,2\r\n")
    with open_table(path):
        assert len(list(scratch.rglob("*.csv"))) == 1
    assert list(scratch.iterdir()) == []
    table = open_table(path)
    del table
    gc.collect()
    assert list(scratch.iterdir()) == []
    assert path.exists()


def test_a_closed_table_says_so():
    table = open_table(pa.table({"a": [1]}))
    table.close()
    table.close()
    with pytest.raises(TableError, match="closed"):
        rows(table)


def test_a_file_that_changes_after_opening_gives_a_table_error(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a,b\n1,2\n")
    with open_table(path) as table:
        path.write_text(f"a,b\n1,2\n{CANARY}\n")
        with pytest.raises(TableError) as caught:
            rows(table)
    assert CANARY not in str(caught.value)


@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_a_change_of_the_file_is_noticed_where_rows_are_read_from_it(form, tmp_path):
    path = tmp_path / f"t.{form}"

    def write(value):
        table = pa.table({"a": [value], "b": [value]})
        {"csv": csv.write_csv, "parquet": pq.write_table}[form](table, path)

    write("x")
    with open_table(path) as table:
        table.check_unchanged()
        write("y")
        os.utime(path, ns=(0, 0))
        with pytest.raises(TableError, match="has changed since it was opened"):
            table.check_unchanged()
    with open_table(path) as table:
        path.unlink()
        with pytest.raises(TableError, match="has changed since it was opened"):
            table.check_unchanged()


def test_a_full_disk_is_not_reported_as_a_damaged_file(tmp_path, monkeypatch, scratch):
    monkeypatch.setattr(isolated, "_SPARE", 1 << 60)
    path = tmp_path / "t.csv.gz"
    path.write_bytes(gzip.compress(b"a,b\n1,2\n"))
    with pytest.raises(TableError, match="no room on the disk"):
        open_table(path)
    assert list(scratch.iterdir()) == []


ROWS = pa.table({"a": [CANARY]})


@pytest.mark.parametrize(
    ("given", "way_on"),
    [
        (pd.Series([CANARY], name="a"), r"with \.to_frame\(\)"),
        (pa.chunked_array([[CANARY]]), r"with pyarrow\.table"),
        (ROWS.to_batches(), r"pyarrow\.Table\.from_batches"),
        (iter(ROWS.to_batches()), r"pyarrow\.Table\.from_batches"),
        (ROWS.to_pylist(), r"pandas\.DataFrame\(rows\)"),
        (ROWS.to_pydict(), r"pandas\.DataFrame\(rows\)"),
        (pd.DataFrame({"a": [CANARY]}).to_records(), r"pandas\.DataFrame\(rows\)"),
        (ds.dataset(ROWS), r"\.to_table\(\)"),
        (None, "a table is given as a path or paths, a DataFrame"),
    ],
)
def test_what_is_no_table_is_refused_with_what_to_give_instead(given, way_on):
    with pytest.raises(TableError, match=way_on) as caught:
        open_table(given)
    assert CANARY not in str(caught.value)


def test_a_column_that_is_the_index_of_a_frame_is_found_by_the_message():
    frame = pd.DataFrame({"age": [1, 2], "sex": ["f", "m"]}).set_index("age")
    plan = Plan(dataset="d", epsilon=1, columns=[{"name": "age", "kind": "number", "edges": [0, 9]}], tables=[["age"]])
    with open_table(frame) as table, pytest.raises(TableError, match=r"has 'age': make it columns with \.reset_index"):
        check(table, plan)


@pytest.mark.parametrize("place", [str, Path])
def test_the_address_of_a_database_is_no_path_and_its_password_is_not_repeated(place):
    with pytest.raises(TableError, match=r"as open_table\(ibis\.connect\(address\)\.table\(name\)\)") as caught:
        open_table(place(f"postgresql://reader:{CANARY}*@db.example.org/{CANARY}"))
    assert CANARY not in str(caught.value)


def test_a_blank_path_is_no_folder():
    for source in ("", " ", [""]):
        with pytest.raises(TableError, match="blank"):
            open_table(source)


def test_a_copied_file_may_be_deleted(tmp_path):
    (tmp_path / "t.csv").write_bytes(b"a,b\r\n1,2\r\n")
    with open_table(tmp_path / "t.csv") as table:
        (tmp_path / "t.csv").unlink()
        table.check_unchanged()
        assert rows(table) == [("1", "2")]
    feather.write_feather(pa.table({"a": [1]}), tmp_path / "t.feather")
    with open_table(tmp_path / "t.feather") as table:
        (tmp_path / "t.feather").write_bytes(b"")  # rows that are mapped from a file that is cut end the process
        table.check_unchanged()
        assert rows(table) == [(1,)]
    with open_table(pd.DataFrame({"a": [1]})) as table:
        table.check_unchanged()


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("visit_date", "date"), ("created_at", "date"), ("Day", "date"), ("dob", "date"), ("time_of_visit", "date"),
        ("age", "number"), ("Income", "number"), ("birth_year", "number"), ("n_visits", "number"),
        ("numVisits", "number"),
        ("loan_amount", "number"), ("hours_per_week", "number"), ("weight_kg", "number"), ("year_of_birth", "number"),
        ("Income (USD)", "number"), ("Haushaltseinkommen [€]", "number"), ("Körpergröße cm", "number"),
        ("Gebühr", "number"), ("Bruttolohn", "number"), ("monthly pay", "number"), ("payment", "category"),
        ("Fehltage", "number"), ("Beginn", "date"), ("admitted", "date"),
        ("Endergebnis", "category"),
        ("Aufnahmedatum", "date"), ("Geburtstag", "date"), ("Betriebsgröße", "category"), ("Verwalter", "category"),
        ("(name)", "category"),
        ("is_smoker", "yesno"), ("has_car", "yesno"),
        ("region", "category"), ("language", "category"), ("name", "category"), ("candidate", "category"),
    ],
)  # fmt: skip
def test_a_name_hints_at_the_kind_of_a_text_column(name, hint):
    assert hint_of_name(name) == hint


def test_types_known_without_the_engine_are_the_engines() -> None:
    kinds = [pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64()]
    kinds += [pa.float16(), pa.float32(), pa.float64(), pa.bool_(), pa.date32(), pa.string(), pa.large_string()]
    kinds += [pa.dictionary(pa.int8(), pa.string()), pa.dictionary(pa.int32(), pa.int64())]
    frame = pa.table({f"x{k}": pa.nulls(3, kind) for k, kind in enumerate(kinds)})
    with open_table(frame) as table, table.connection() as connection:
        described = [row[1] for row in connection.execute("DESCRIBE rows").fetchall()]
        assert [column.type for column in table.columns] == described
    odd = frame.append_column("more", pa.nulls(3, pa.timestamp("us")))  # the engine is asked
    with open_table(odd) as table:
        assert [column.type for column in table.columns] == [*described, "TIMESTAMP"]


@pytest.mark.parametrize(
    ("content", "options", "reading"),
    [
        (b"a,b\n1,2\n", {}, "UTF-8 (lines that are not, as Windows-1252), cells separated by commas"),
        (b"a;b\n1,5;\xff\n", {}, "UTF-8 (lines that are not, as Windows-1252), cells separated by semicolons"),
        (codecs.BOM_UTF16_LE + "a\tb\n".encode("utf-16-le"), {}, "UTF-16, cells separated by tabs"),
        (b"a~b\n", {"encoding": "latin-1", "delimiter": "~"}, "ISO8859-1, cells separated by ~"),
    ],
)
def test_how_a_text_file_is_read_is_stated(tmp_path, content, options, reading):
    path = tmp_path / "t.csv"
    path.write_bytes(content)
    with open_table(path, **options) as table:
        assert table.reading == reading
