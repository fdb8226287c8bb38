"""Text files are counted and digested in pieces with the same result as by SQL."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pyarrow as pa
import pytest

from dpengine.counting.count import count, digest, digest_and_count
from dpengine.counting.fingerprint import words_of_texts
from dpengine.counting.pieces import text_file
from dpengine.counting.pieces.numerals import Numerals
from dpengine.errors import TableError
from dpengine.sources.open import open_table
from dpengine.sources.table import LocalTable
from dpengine.spec.plan import Plan

NUMERALS = [
    "1.5", "-1.5", "0.1", "10", "-0", "-0.0", "007", "00.5", "5.", ".5", "3.50", "17.999999999999999999", "0.0001",
    "0.00001", "12345678901234567890.5", "9007199254740993", "2.675", "18", "100", "-9", "-9.0", "", "nan", "NA", "1e3",
    "1E+1", " 2.5", "+3", "1_0", "inf", "9" * 30, "0." + "0" * 30 + "1", "1,5", "é", "18y",
]  # fmt: skip
COLUMNS = [
    {"name": "x", "kind": "number", "edges": ["-10", "0", "0.1", "2.675", "18", "1000"], "missing_as": ["-9", "NA"]},
    {"name": "pay", "kind": "amount", "from": 0, "to": 40, "step": "0.5"},
    {"name": "y", "kind": "category", "values": ["a", "é", "2", "Paris, TX"], "missing_as": ["?"], "other": True},
    {"name": "d", "kind": "date", "from": "2024-01-01", "to": "2024-03-31", "by": "month"},
]
TABLES = [["x", "y"], {"columns": ["y"], "mean": ["pay"]}, ["d"]]
PLAN = Plan(dataset="d", epsilon="1", columns=COLUMNS, tables=TABLES, strategy="direct")


def results_of(path: Path, plan: Plan, *, pieces: bool) -> tuple[object, ...]:
    """Return digest, counts and histograms of a text file, found in pieces or by SQL."""
    with open_table(path) as table, open_table(path) as again:
        assert table.text is not None
        if not pieces:
            table.text = again.text = None
        key, counts = digest_and_count(table, plan, plan.estimated_tables)
        assert digest(again) == key
        single = count(again, plan, plan.estimated_tables, truncation_key=b"")
        assert [each.tolist() for each in single] == [each.tolist() for each in counts]
        return key, [each.tolist() for each in counts], table.histograms.tolist()


def in_pieces(path: Path, monkeypatch: pytest.MonkeyPatch, plan: Plan = PLAN) -> int:
    """Assert that both readers give the same result; return how many pieces were parsed."""
    parsed: list[memoryview] = []
    parse = text_file._parse

    def seen(table: LocalTable, content: memoryview, kinds: Mapping[int, str]) -> pa.Table:
        parsed.append(content)
        return parse(table, content, kinds)

    monkeypatch.setattr(text_file, "_parse", seen)
    first = results_of(path, plan, pieces=True)
    times = len(parsed)
    assert first == results_of(path, plan, pieces=False)
    assert len(parsed) == times
    return times


def lines_of(times: int, quote: str = "") -> str:
    """Return lines with every odd numeral, among many plain ones, in columns that are many numerals or few texts."""
    texts, days = ("a", "é", "2.0", " a", "", "?", "e\u0301", "b"), ("2024-01-05", "2024-02-30", "", "2024-03-31T10:00")
    rows = ["x,pay,y,d,note"]
    for k in range(times):
        odd = NUMERALS[k // 3 % len(NUMERALS)] if k % 3 == 0 else ""
        x, pay = odd or f"{k % 977}.{k % 89}", f"{k * 7 % 4001 / 100}" if k % 3 != 1 else odd
        rows.append(f"{x.replace(',', ';')},{pay.replace(',', ';')},{quote}{texts[k % 8]}{quote},{days[k % 4]},t{k}")
    return "\n".join(rows) + "\n"


@pytest.mark.by_day(1)
@pytest.mark.parametrize(
    ("quote", "end", "simple"),
    [("", "\n", True), ('"', "\n", True), ('"', "", False)],
    ids=["none", "simple", "others"],
)
def test_pieces_are_counted_and_digested_as_by_sql(tmp_path, monkeypatch, quote, end, simple):
    monkeypatch.setattr(text_file, "_BYTES", (4096, 8192))
    path = tmp_path / "t.csv"
    path.write_text(lines_of(1200, quote).removesuffix("\n") + end)
    assert in_pieces(path, monkeypatch) > 10
    with open_table(path) as table:
        assert table.text.whole_cells == simple
        assert text_file._kinds(table)[1] == ["numerals", "numerals", "few", "few", "texts"]


@pytest.mark.parametrize(
    "texts",
    [["1.5", "7"], ["1.5", "x.y", "7"], ["1.5", "2.5", "nan"], ["1.5", None, "0.50"], ["a.b.c", "1.5", "7", "8"]],
    ids=["a whole number", "a point in a word", "a word", "an empty cell", "points in a word"],
)
def test_numerals_are_hashed_as_any_texts(texts):
    hashed = text_file._HashedNumerals()(Numerals(pa.array(texts)))
    assert hashed.tolist() == words_of_texts(pa.array(texts))[0].tolist()


@pytest.mark.parametrize("knots", [[], [0, 10, 40]], ids=["two ends", "knots"])
def test_a_missing_amount_among_few_different_ones_counts_as_missing(tmp_path, monkeypatch, knots):
    path = tmp_path / "t.csv"
    path.write_text("pay,y\n" + "7.5,a\n,a\n12,a\nnone,a\n" * 200)
    pay = {"name": "pay", "kind": "amount", "from": 0, "to": 40, "step": "0.5", "knots": knots}
    mean = [{"columns": ["y"], "mean": ["pay"]}]
    plan = Plan(dataset="d", epsilon="1", columns=[pay, COLUMNS[2]], tables=mean, strategy="direct")
    assert in_pieces(path, monkeypatch, plan) > 1
    _, (counts,), _ = results_of(path, plan, pieces=True)
    assert counts[0][-1] == 400 * plan.column("pay").grain


def test_few_different_texts_are_counted_as_by_sql_however_they_are_written(tmp_path, monkeypatch):
    days = ["2024-01-05", "2024-03-31", "2024-02-30", "2023-01-05", " 2024-01-05", "2024-03-31T10:00", "20240105", ""]
    texts, path = ["a", "é", "2.0", " a", "", "?", "e\u0301", "b", "Paris; TX"], tmp_path / "t.csv"
    numerals = [each.replace(",", ";") for each in [*NUMERALS, "NaN", "NAN", "-nan"]]
    rows = [f"{numerals[k % 38]},{numerals[-k % 38]},{texts[k % 9]},{days[k % 8]}" for k in range(3000)]
    path.write_text("\n".join(["x,pay,y,d", *rows]) + "\n")
    assert in_pieces(path, monkeypatch) > 1
    with open_table(path) as table:
        assert text_file._kinds(table)[1] == ["few"] * 4


def test_a_cell_in_quotes_holds_delimiters(tmp_path, monkeypatch):
    path = tmp_path / "t.csv"
    path.write_text('x,pay,y,d\n1,2,"Paris, TX",2024-01-05\n2,3,"",\n"3","4","a",""')
    assert in_pieces(path, monkeypatch) > 1


LEFT_TO_SQL = {
    "a quote in a cell": 'x,pay,y,d\n1,2,"a""b",\n2,3,a,\n',
    "a quote in the middle": 'x,pay,y,d\n1,2,a"b,\n2,3,a"b,\n',
    "a line end in quotes": 'x,pay,y,d\n1,2,"a\nb",\n2,3,a,\n',
    "a blank before a quote": 'x,pay,y,d\n1,2, "a",\n2,3,a,\n',
    "a blank line": 'x,pay,y,d\n1,2,"a",\n\n2,3,a,\n',
    "a line end in quotes of one cell, a delimiter in those of the next": 'x,pay,y,d\n1,2,"a\n","\n"\n',
}


@pytest.mark.by_day(2)
@pytest.mark.parametrize("content", LEFT_TO_SQL.values(), ids=LEFT_TO_SQL)
def test_other_quotes_are_left_to_sql(tmp_path, monkeypatch, content):
    path = tmp_path / "t.csv"
    path.write_text(content)
    assert in_pieces(path, monkeypatch) == 3  # the first piece shows it, each time


def test_lines_with_other_cells_are_refused_in_the_same_words(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text(lines_of(400) + "1,2,3\n")
    messages = []
    for pieces in (True, False):
        with pytest.raises(TableError) as caught:
            results_of(path, PLAN, pieces=pieces)
        messages.append(str(caught.value))
    assert messages[0] == messages[1]


def test_a_reading_in_pieces_can_be_stopped(tmp_path, monkeypatch):
    monkeypatch.setattr(text_file, "_BYTES", (1024, 1024))
    path = tmp_path / "t.csv"
    path.write_text(lines_of(1200))
    with open_table(path) as table:
        with pytest.raises(TableError, match="was stopped"):
            count(table, PLAN, PLAN.marginals, truncation_key=b"", progress=lambda part: part and table.interrupt())
        counts = count(table, PLAN, PLAN.marginals, truncation_key=b"")
        assert counts[-1].sum() == 1200, "it stops what runs, not what follows"
