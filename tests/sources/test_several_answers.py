"""Each possible answer of a question with several of them in a cell becomes a column of yes and no."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dpengine as dpe
from dpengine.sources.open import open_table
from dpengine.sources.several_answers import read_answers, write_answers
from tests.conftest import examples

CELLS: dict[str | None, tuple[bool | None, bool | None, bool | None]] = {
    "German": (True, False, False),
    "German; Turkish": (True, False, False),
    "Turkish": (False, False, False),
    " Turkish ,German ": (True, False, False),
    "Turkish\nGerman": (True, False, False),
    "Turkish|German|Arabic": (True, False, False),
    "Germanic": (False, False, False),
    "Swiss German": (False, False, False),
    "german": (False, False, False),
    "Yes, often; German": (True, True, False),
    "often": (False, False, False),
    "C++;C": (False, False, True),
    "C": (False, False, False),
    "Other: German?": (False, False, False),
    "": (None, None, None),
    "  ": (None, None, None),
    "\u00a0": (None, None, None),
    None: (None, None, None),
}
ANSWERS = ["German", "Yes, often", " C++ "]


def rows(source: Any, **options: Any) -> list[tuple[Any, ...]]:
    with open_table(source, **options) as table, table.connection() as connection:
        return [row[1:] for row in connection.execute("SELECT * FROM rows ORDER BY c0").fetchall()]


def test_an_answer_is_given_if_it_stands_alone_or_between_others() -> None:
    frame = pd.DataFrame({"row": range(len(CELLS)), "tongues": list(CELLS)})
    given = [cells[1:] for cells in rows(frame, answers={"tongues": ANSWERS})]
    assert dict(zip(CELLS, given, strict=True)) == CELLS


@settings(max_examples=examples(10, 30))
@given(st.lists(st.sets(st.sampled_from(["a", "b.c", "(d)", "é", "no answer"])), min_size=1, max_size=6),
       st.sampled_from([";", " , ", "|", ";\n"]))  # fmt: skip
def test_the_columns_say_what_was_ticked(ticked: list[set[str]], between: str) -> None:
    listed = ["a", "b.c", "(d)", "e\u0301", "no answer"]  # composed or not, it is the same letter
    frame = pd.DataFrame({"row": range(len(ticked)), "q": [between.join(sorted(each)) for each in ticked]})
    for each, row in zip(ticked, rows(frame, answers={"q": listed}), strict=True):
        assert row[1:] == (
            tuple(answer in each for answer in ["a", "b.c", "(d)", "é", "no answer"]) if each else (None,) * 5
        )


def test_they_are_columns_like_any_other(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("q,n\na;b,2\nb,3\n,4\n")
    with open_table(tmp_path / "t.csv", answers={"q": ["a", "b"]}, frequency="n") as table:
        assert [(field.name, field.kind_hint) for field in table.columns] == [
            ("q", "category"), ("q: a", "yesno"), ("q: b", "yesno"),
        ]  # fmt: skip
        columns = [dpe.YesNo(name=name, other=False) for name in ("q: a", "q: b")]
        plan = dpe.Plan(dataset="t", epsilon=900, columns=columns, tables=[["q: a", "q: b"]])
        release = dpe.release(table, plan, ledger=dpe.Ledger.in_memory())
    assert release.counts(("q: a", "q: b")).tolist() == [[2, 0, 0], [3, 0, 0], [0, 0, 4]]


@pytest.mark.parametrize(("answers", "fault"), [
    ({"other": ["a"]}, "no column 'other'"),
    ({"q": []}, "list the possible answers"),
    ({"q": "ab"}, "list the possible answers"),
    ({"q": None}, "list the possible answers"),
    (["q"], "write the possible answers like this"),
    ({"q": ["a", " "]}, "list the possible answers"),
    ({"q": ["a", 1]}, "list the possible answers"),
    ({"q": ["a", "a "]}, "2 columns are named 'q: a'"),
])  # fmt: skip
def test_what_cannot_be_meant_is_refused(answers: Any, fault: str) -> None:
    with pytest.raises(dpe.TableError, match=fault):
        open_table(pd.DataFrame({"q": ["a"], "n": [1]}), answers=answers)


def test_lines_name_a_column_and_its_answers() -> None:
    assert read_answers(["q 1 = a; b=c", "q 1=d"]) == {"q 1": ["a", "b=c", "d"]}
    assert read_answers(["a=b = c", 'q = "d; e"; "f"']) == {"a=b": ["c"], "q": ["d; e", "f"]}
    for line in ("q", "q =", "= a", "q = ;"):
        with pytest.raises(dpe.TableError, match="languages = German; Turkish"):
            read_answers([line])


@pytest.mark.parametrize("column", ["q", "a=b", "Which?\n(tick all)"])
def test_a_line_that_is_written_is_read_as_it_was_meant(column: str) -> None:
    listed = ["yes", "yes; often", '"maybe"', "a = b", "c,d"]
    answers = read_answers([write_answers(column, listed)])
    assert list(answers.values()) == [listed]
    frame = pd.DataFrame({"row": [1], column: ["a = b"]})
    assert rows(frame, answers=answers) == [("a = b", False, False, False, True, False)]
