"""Texts that a spreadsheet would run are marked, and every text and number reads back."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpengine import safe_csv
from dpengine.bundle import write
from dpengine.bundle.promises import table_files
from dpengine.bundle.verify import verify
from dpengine.results.preview import preview
from dpengine.spec.plan import Plan
from tests.bundles import members_of, rows_of

ODD = ["=1+1", "+cmd", "-x", "@SUM(A1)", "\tx", "\rx", "\nx", "＝1", "＋1", "－1", "＠x", "'=x", "''=x"]
PLAIN = [
    "-5",
    "+1.5e3",
    "-.5",
    "North",
    "Paris, TX",
    'Rare "X"',
    " trailing ",
    "'",
    "'n",
    "a\r\nb",
    "\ufeffx",
    "🙂",
    "False",
]


@pytest.mark.parametrize("text", ODD)
def test_a_text_that_a_spreadsheet_would_run_gets_a_mark(text: str) -> None:
    assert safe_csv.guard(text) == "'" + text


@pytest.mark.parametrize("text", PLAIN)
def test_other_texts_and_plain_numbers_stay_as_they_are(text: str) -> None:
    assert safe_csv.guard(text) == text


LATER = {
    "x;=1+1": "x;'=1+1",
    "x;@SUM(A1);-2+3|cmd": "x;'@SUM(A1);'-2+3|cmd",
    'x;"=1+1;"': 'x;"\'=1+1;"',
    "x\n=1+1": "x\n'=1+1",
    "x\t＝1": "x\t'＝1",
    "x;'=1": "x;''=1",
    "=1;=2": "'=1;'=2",
}


@pytest.mark.parametrize("text", LATER)
def test_a_text_in_which_a_reader_of_semicolons_would_find_a_formula_gets_a_mark_there(text: str) -> None:
    assert safe_csv.guard(text) == LATER[text]
    assert safe_csv.unguard(LATER[text]) == text


@pytest.mark.parametrize("text", ["a;b", "[-10;-5)", "10;-5;+0.5", "a; =b"])
def test_numbers_and_words_after_a_semicolon_stay_as_they_are(text: str) -> None:
    assert safe_csv.guard(text) == safe_csv.unguard(text) == text


SIGNS = st.sampled_from("=+-@;\t\r\n'\"15.)]x＝")


@given(st.text(st.characters(codec="utf-8") | SIGNS))
def test_any_text_survives_the_mark(text: str) -> None:
    assert safe_csv.unguard(safe_csv.guard(text)) == text


def test_hostile_labels_and_headers_are_harmless_and_survive() -> None:
    columns = [
        {"name": "=cmd|' /C calc'!A0", "kind": "category", "values": ODD},
        {"name": "count", "kind": "category", "values": PLAIN},
    ]
    result = preview(Plan(dataset="d", epsilon=10, columns=columns, tables=[["=cmd|' /C calc'!A0", "count"]]))
    bundle = write.pack(result)
    verify(bundle)
    members = members_of(bundle)
    for name in (*table_files(result.plan).values(), "synthetic.csv"):
        header, *rows = rows_of(members[name])
        texts = header + [cell for row in rows for cell in row[: len(header) - (4 if name != "synthetic.csv" else 0)]]
        for text in texts:
            assert not text.startswith(("=", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠"))
            assert not text.startswith(("+", "-")) or float(text) is not None
    labels = result.plan.column("count").labels
    table = rows_of(members["tables/01-cmd-c-calc-a0-x-count.csv"])
    assert table[0] == ["'=cmd|' /C calc'!A0", "count_", "count", "estimate", "low", "high"]
    assert [safe_csv.unguard(row[1]) for row in table[1 : 1 + len(labels)]] == list(result.plan.column("count").labels)


def test_numbers_have_six_decimals_at_most_and_no_needless_ones() -> None:
    values = np.array([0.0, -3.0, 1 / 3, -1e-7, 12345678.9, 100.0, -0.5])
    texts = safe_csv.number_column(values).to_pylist()
    assert texts == ["0", "-3", "0.333333", "0", "12345678.9", "100", "-0.5"]
    assert safe_csv.number_column(np.array([10.0, -200.0])).to_pylist() == ["10", "-200"]
