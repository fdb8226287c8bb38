"""Rows of text tables: those that the csv module reads, wherever blocks of the file begin; none is left out."""

import csv
import io
from functools import cache

import duckdb
import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from dpengine import open_table, owner
from dpengine.counting.count import digest
from dpengine.counting.pieces.text_file import _check_lines
from dpengine.errors import TableError
from dpengine.sources.files import isolated, text, text_rows
from dpengine.sources.table import TextFile

CELLS = st.text('ab",\n é', max_size=24)
PLAIN_CELLS = st.text("ab; é", max_size=24)
ROWS = st.one_of(st.lists(st.tuples(cells, cells), min_size=1, max_size=8) for cells in (CELLS, PLAIN_CELLS))
PARTS_OF_LINES = ["a,b\n", 'a,"b"\n', 'a"', "é", ",", "\n", '"', '""', "\n\n"]
PARTS = st.sampled_from(PARTS_OF_LINES)
BLOCK = 4 << 20
LONGEST_LINES = st.sampled_from([100, 128, 200])  # blocks are twice as long


@given(ROWS, st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL]), LONGEST_LINES)
def test_rows_are_those_of_the_csv_module_wherever_blocks_begin(tmp_path_factory, rows, quoting, longest):
    path, rows = tmp_path_factory.mktemp("rows") / "rows.csv", rows * 20
    content = io.StringIO(newline="")
    csv.writer(content, lineterminator="\n", quoting=quoting).writerows([("a", "b"), *rows])
    path.write_text(content.getvalue(), encoding="utf-8", newline="")
    text_rows.check_quotes(path, ",")
    assert read(path, longest) == sorted(rows)


@given(
    st.lists(st.sampled_from(["a,b\n", 'a,"b"\n', 'a"', "é", ",", "\n", '"', '""', "\n\n"]), max_size=40), LONGEST_LINES
)
@example([*'a,"b\n', *["a", ",", "b", "\n"] * 5], 100)
def test_a_quote_left_open_is_refused_and_leaves_no_row_out(tmp_path_factory, parts, longest):
    (path := tmp_path_factory.mktemp("rows") / "rows.csv").write_text("a,b\n" + "".join(parts), encoding="utf-8")
    try:
        in_one_block = read(path, 1 << 20, by_one_thread=False)  # then DuckDB refuses by itself what is not closed
    except duckdb.Error:
        in_one_block = None
    try:
        text_rows.check_quotes(path, ",")
        assert read(path, longest) == in_one_block
    except (TableError, duckdb.Error):
        assert in_one_block is None


@given(st.lists(PARTS, max_size=40), st.sampled_from([4, 16, 1 << 20]))
@example(['"a"', ",", '"b"', "\n"] * 4, 16)
@example(['"a', "\n", '"', '"b"', "\n"], 4)
def test_the_quick_check_of_quotes_agrees_with_the_full_one(tmp_path_factory, parts, at_once):
    def verdict():
        try:
            simple.append(text_rows.check_quotes(path, ","))
        except TableError as error:
            return str(error)

    simple = []
    (path := tmp_path_factory.mktemp("rows") / "rows.csv").write_text("a,b\n" + "".join(parts), encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(text_rows, "_CHUNK", at_once)
        quick = verdict()
        patch.setattr(text_rows, "_around_whole_cells", lambda *_: (0, False))
        assert quick == verdict()
    if parts and simple and simple[0]:
        _check_lines("".join(parts).encode(), TextFile(path, ",", '"', plain_lines=False, whole_cells=True))


@given(st.lists(PARTS, max_size=80))
@example([",", "\n"] * 31 + ['"', "\n", '"', "\n"])  # the quotes are in two words of 64 bits
@example([*"\n,\n" * 21, '"', ",", '"', "\n"])
@example(["é,"] * 21 + ['"a",b\n'])
@example(["é,"] * 20 + ['a,"a",b\n'])
@example(["a,"] * 30 + ["aaa", "\n", "\n"])
def test_quotes_around_cells_and_rows_are_seen_by_bits_as_one_by_one(parts):
    letters = ("".join(parts) + "\n").encode()
    quotes = [k for k, letter in enumerate(letters) if letter == ord('"')]
    opening, closing = quotes[::2], quotes[1::2]
    whole = (
        len(opening) == len(closing)
        and all(letters[k - 1] in b",\n" for k in opening if k)
        and all(letters[k + 1] in b",\n" for k in closing)
    )
    lines = [line.count(b'"') % 2 == 0 and line for line in letters[:-1].split(b"\n")]
    measured = text_rows.whole_cells_and_rows(np.frombuffer(letters, np.uint8), ord(","), ord('"'))
    assert measured == (whole, all(lines))


@given(
    st.sampled_from(["a,b", '"a","b"', '"a""b",c', "a"]),
    st.lists(st.sampled_from([*PARTS_OF_LINES, "a,b\n"]), max_size=40),
    st.sampled_from([4, 16, 1 << 20]),
)
@example("a,b", ["a,b\n", '"a,b"', "\n"], 16)  # as many delimiters as a row of two cells
@example("a,b", ["a,b\n", '"a,b"', ",", '"\n"'], 16)
@example("a,b", ["a,b\n", ",", "\n", "a,b,"], 4)  # DuckDB leaves out a blank cell at the end
@example("a,b", ["a,b\n", "a,b"], 4)
@example("a,b", ["a", ",", ",", "\n", "a", "\n"], 1 << 20)  # as many cells as two rows have
@example("a", ["a", "\n", '"a,b"', "\n"], 4)
def test_rows_that_are_counted_without_the_engine_are_those_that_it_reads(tmp_path_factory, header, parts, at_once):
    (path := tmp_path_factory.mktemp("rows") / "rows.csv").write_text(f"{header}\n{''.join(parts)}", encoding="utf-8")
    names, delimiter, quote = text.header(path, None)
    plain = text_rows.has_plain_lines(path)
    try:
        simple = plain or text_rows.check_quotes(path, delimiter, quote)
    except TableError:
        return
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(text_rows, "_CHUNK", at_once)
        rows = text_rows.rows_of_simple_lines(path, len(names), delimiter, quote) if simple else None
    table = text_rows.relation(path, len(names), delimiter, quote, plain_lines=plain)
    if rows is not None:
        assert connection().execute(f"SELECT count(*) FROM {table}").fetchall() == [(rows,)]


@pytest.mark.parametrize(
    ("header", "rows", "number"),
    [
        ("a,b", "1,2\n3,4\n", 2), ("a,b", "1,2\n3,4", 2), ("a,b", "", 0), ("a", "1\n", 1), ("a;b", "1;2,3\n", 1),
        ('"a","b"', '1,"2,3"\n"",4\n', 2), ("a|b", "1|2|\n", None), ("a,b", "1\n2,3,4\n", None),
        ("a,b", "1,2\n3\n", None), ("a,b", '1,2\n"3,4"\n', None), (' "a,b"', "1,2\n", None), ("a^b", "1^2\n", None),
    ],
)  # fmt: skip
def test_rows_are_counted_without_the_engine_where_lines_are_simple(tmp_path, header, rows, number):
    (path := tmp_path / "rows.csv").write_text(f"{header}\n{rows}", encoding="utf-8")
    delimiter = next((each for each in ",;|^" if each in header), ",")
    columns = header.count(delimiter) + 1
    assert text_rows.rows_of_simple_lines(path, columns, delimiter, '"') == number


def test_a_simple_file_is_tried_by_the_engine_before_that_opens_it(tmp_path, monkeypatch):
    (path := tmp_path / "rows.csv").write_text('a,b\n1,"x"\n2,"y"\n')
    read, requests = isolated.read, []

    def watched(function, *given, **arguments):
        requests.append(function)
        return read(function, *given, **arguments)

    def refused(*given, **arguments):
        raise TableError("damaged")

    monkeypatch.setattr(isolated, "read", watched)
    with open_table(path) as table:
        assert digest(table)
        assert (table.rows, requests) == (2, ["text_table"])
        monkeypatch.setattr(isolated, "read", refused)
        for _ in range(2):
            with pytest.raises(TableError, match="damaged"), table.connection():
                pass
        monkeypatch.setattr(isolated, "read", watched)
        assert owner.row_count(table) == 2
    assert requests == ["text_table", "rows_by_engine"]


def read(path, longest, *, by_one_thread=None):
    plain = text_rows.has_plain_lines(path) if by_one_thread is None else not by_one_thread
    table = text_rows.relation(path, 2, ",", plain_lines=plain, max_line=longest)
    return sorted(connection().execute(f"SELECT coalesce(c0, ''), coalesce(c1, '') FROM {table}").fetchall())


@cache
def connection():
    return duckdb.connect(config={"threads": 4})


def test_a_quoted_line_end_may_lie_on_the_end_of_a_block(tmp_path):
    path = tmp_path / "long.csv"
    line, quoted = b"12345,plain\n", b'1,"one\ntwo, three\nfour,\nfive"\n' * 100
    with path.open("wb") as file:
        file.write(b"a,b\n")
        for end in range(BLOCK, 5 * BLOCK, BLOCK):
            file.write(line * ((end - file.tell() - 6) // len(line)) + quoted)
        size = file.tell()
    with open_table(path) as table:
        assert owner.row_count(table) == (size - 4 - 4 * len(quoted)) // len(line) + 400


@pytest.mark.by_day(39)
@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|", " ", "^", "\\", "]", "§"])
@pytest.mark.parametrize(
    ("cells", "closed"),
    [
        ('"x"', True), ('""', True), ('"x""y"', True), ('"x\ny"', True), ('x"y', True), ('x"', True), ('"x', False),
        ('"x"y', False), ('"x""', False), ('"', False), ('"x"D"y', False), ('"xD"Dy"', True), ('"D"D"D"', True),
    ],
)  # fmt: skip
def test_quotes_are_checked_whatever_the_delimiter(tmp_path, delimiter, cells, closed):
    cells = cells.replace("D", delimiter)
    (path := tmp_path / "rows.csv").write_text(f"a{delimiter}b\n1{delimiter}{cells}", encoding="utf-8")
    if closed:
        text_rows.check_quotes(path, delimiter)
    else:
        with pytest.raises(TableError, match=r"^line 2 of the file opens a quote"):
            text_rows.check_quotes(path, delimiter)


@pytest.mark.parametrize(
    ("rows", "plain"),
    [
        (b"1,2\n3,4\n", True), (b"1,2\n3,4", True), (b"", True), (b'1,"2"\n', False), (b"1,2\n\n3,4\n", False),
        (b"\n1,2\n", False), (b"1,2\n\n", False),
    ],
)  # fmt: skip
def test_lines_without_quotes_and_blanks_are_recognised_in_any_pieces(tmp_path, monkeypatch, rows, plain):
    (path := tmp_path / "rows.csv").write_bytes(b'"a","b"\n' + rows)
    for chunk in range(1, 9):
        monkeypatch.setattr(text_rows, "_CHUNK", chunk)
        assert text_rows.has_plain_lines(path) == plain
