"""Texts that are declared to stand beside numbers are left out, alike in every engine; all others are not."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpengine.counting.count import count
from dpengine.sources.open import open_table
from dpengine.spec.numeric.affixes import stands_after, stands_before
from dpengine.spec.plan import Plan
from tests import ibis_tables
from tests.conftest import examples

pytestmark = ibis_tables.TOLERATED

AFFIXES = (
    "€", "ca.", "ca", "<", "+", "days", "day", "per day", "m2", "%", ".-", "Tagé", "kg", "^[x]", "a|b", "it's", "\\",
)  # fmt: skip
EDGES = [-5, 0, 1, 5, 6, 12, 13, 85, 86, 1000, 2000]
READ = {  # by format
    "1234.5": {"5 days": 5, "5days": 5, " 5 days ": 5, "5\u00a0day": 5, "5 per day": 5, "€ 1200": 1200, "€1200": 1200,
               "85+": 85, "<5": 5, "< 5": 5, "12 %": 12, "ca. 5": 5, "ca.5": 5, "ca 5": 5, "5 m2": 5, "12.-": 12,
               "€ 12.-": 12, "€ -5": -5, "5 Tage\u0301": 5, "5 Tag\u00e9": 5, "12 \u212ag": None, "^[x]5": 5, "5a|b": 5,
               "5 it's": 5, "5\\": 5, "€5 +": 5, "1.2e1 days": 12, "5": 5, "+5": 5,
               "5 Days": None, "5 weeks": None, "days": None, "€": None, "5 days days": None, "€ € 5": None,
               "m25": None, "5 - days": None, "5 a": None, "5 b": None, "x5": None, "€ 1,200": None, "(5)": None,
               "5-": None, "\u22125": None, "5\ndays": 5, "five days": None, "1e400 days": None, "nan days": None,
               "5 d": None, "days 5": 5},
    "1.234,5": {"€ 1.200": 1200, "1.200 €": 1200, "5,5 kg": 5.5, "5 \u212ag": None, "85+": 85, "1.200,50 €": 1200.5,
                "5.5 kg": None, "12,-": None, "-5": -5, "5": 5},
    "1,234.5": {"€ 1,200": 1200, "€ 1'200": 1200, "5.5 kg": 5.5, "1,200": 1200, "12.34,5 kg": None},
}  # fmt: skip


def column_of(kind: str, form: str, affixes: tuple[str, ...] = AFFIXES) -> dict[str, Any]:
    cells = {"edges": EDGES} if kind == "number" else {"from": -5, "to": 2000, "step": "0.5"}
    return {"name": "x", "kind": kind, "format": form, "affixes": affixes, "missing_as": ["-9", "n/a"], **cells}


def rows_of(texts: Sequence[str | float | None]) -> pa.Table:
    return pa.table({"by": ["a"] * len(texts), "x": pa.array(texts)})


def counts_of(source: object, column: dict[str, Any]) -> list[Any]:
    """Return the counts in the cells of a column; of an amount, the shares of its knots."""
    by = {"name": "by", "kind": "category", "values": ["a"]}
    table = {"columns": ["by"], "mean": ["x"]} if column["kind"] == "amount" else ["by", "x"]
    plan = Plan(dataset="d", epsilon="1", columns=[by, column], tables=[table])
    with open_table(source) as opened:
        (counts,) = count(opened, plan, plan.marginals, truncation_key=b"any key")
    row: list[Any] = counts[0].tolist()
    return row


def each_row(source: object, rows: int, column: dict[str, Any]) -> list[list[Any]]:
    """Return the counts of each row of a table alone, which its number `row` tells apart."""
    row = {"name": "row", "kind": "category", "values": [str(k) for k in range(rows)], "other": False, "missing": False}
    table = {"columns": ["row"], "mean": ["x"]} if column["kind"] == "amount" else ["row", "x"]
    plan = Plan(dataset="d", epsilon="1", columns=[row, column], tables=[table])
    with open_table(source) as opened:
        (counts,) = count(opened, plan, plan.marginals, truncation_key=b"any key")
    of_rows: list[list[Any]] = counts.tolist()
    return of_rows


def numbered(values: Sequence[str | float | None]) -> pa.Table:
    return pa.table({"row": range(len(values)), "x": pa.array(values)})


@pytest.mark.parametrize("kind", ["number", "amount"])
@pytest.mark.parametrize("form", READ)
def test_declared_texts_beside_numbers_are_left_out(form: str, kind: str) -> None:
    left_out = {text: number for text, number in READ[form].items() if number is not None}
    texts = [text for text, number in READ[form].items() if number is None]
    for found, plain in ((list(left_out), list(left_out.values())), (texts, texts)):
        read = each_row(numbered(found), len(found), column_of(kind, form))
        expected = each_row(numbered(plain), len(plain), column_of(kind, "1234.5", ()))
        assert dict(zip(found, read, strict=True)) == dict(zip(found, expected, strict=True))


@pytest.mark.parametrize("text", ["5 days", "85+", "€ 5"])
def test_a_text_that_nobody_declared_does_not_fit(text: str) -> None:
    for affixes in ((), ("kg",)):
        assert counts_of(rows_of([text]), column_of("number", "1234.5", affixes))[-2] == 1, "other"


def test_a_text_that_means_missing_does_so_beside_a_declared_text() -> None:
    for text in ("-9", "-9 days", "n/a", ""):
        assert counts_of(rows_of([text]), column_of("number", "1234.5"))[-1] == 1


def test_files_and_frames_are_read_alike(tmp_path: Any) -> None:
    texts = [text for text in READ["1234.5"] if "\n" not in text]
    frame = pd.DataFrame({"by": "a", "x": texts})
    frame.to_csv(tmp_path / "x.csv", index=False)
    frame.to_parquet(tmp_path / "x.parquet")
    frame.to_excel(tmp_path / "x.xlsx", index=False)
    for kind in ("number", "amount"):
        column = column_of(kind, "1234.5")
        sources = frame, rows_of(texts), *(tmp_path / f"x.{each}" for each in ("csv", "parquet", "xlsx"))
        first, *others = (counts_of(each, column) for each in sources)
        assert all(each == first for each in others)


def test_numbers_among_which_a_few_have_a_text_beside_them_are_all_read(tmp_path: Any) -> None:
    """Such a text file is mostly read as numbers, without SQL."""
    path = tmp_path / "ages.csv"
    path.write_text("by,x\n" + "".join(f"a,{'85+' if k % 10 == 0 else k % 80}\n" for k in range(100_000)))
    column = {"name": "x", "kind": "number", "edges": [0, 80, 85, 120], "affixes": ["+"]}
    assert counts_of(path, column) == [90_000, 0, 10_000, 0, 0]


@pytest.mark.parametrize("form", READ)
def test_numbers_beside_declared_texts_fall_in_the_same_cells(in_engine: Any, form: str) -> None:
    rows = rows_of([*dict.fromkeys(text for texts in READ.values() for text in texts), None, "-9 days", "n/a"])
    for kind in ("number", "amount"):
        column = column_of(kind, form)
        assert counts_of(in_engine(rows), column) == counts_of(rows, column)


PIECES = st.sampled_from(["5", "12.5", "1.200", "-", "+", " ", "\u00a0", ".", ",", "e", "E2", "(", "\u0301", *AFFIXES])


@settings(deadline=None, max_examples=examples(5, 20))
@given(st.lists(st.lists(PIECES, max_size=5).map("".join), min_size=40, max_size=40), st.sampled_from([*READ]))
def test_any_text_falls_in_the_same_cell_in_another_engine(texts: list[str], form: str) -> None:
    rows, column = numbered(texts), column_of("number", form)
    assert each_row(rows, 40, column) == each_row(ibis_tables.in_duckdb(rows), 40, column)


@settings(deadline=None)
@given(
    st.decimals(-1000, 2000, places=1), st.sampled_from(AFFIXES), st.sampled_from(["", " ", "\u00a0"]), st.booleans()
)
def test_a_number_is_the_same_with_a_declared_text_and_without(
    number: Any, affix: str, blank: str, first: bool
) -> None:
    text = f"{affix}{blank}{number}" if first else f"{number}{blank}{affix}"
    if (stands_before if first else stands_after)(affix):
        both = [counts_of(rows_of([each]), column_of("number", "1234.5")) for each in (text, str(number))]
        assert both[0] == both[1]
