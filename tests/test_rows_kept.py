"""What a bound on the rows of a person leaves out: exact for the owner, and privately for a price."""

from __future__ import annotations

import json
from fractions import Fraction
from itertools import permutations
from pathlib import Path

import pandas as pd
import pytest
from click.testing import CliRunner

import dpengine as dpe
from dpengine import owner
from dpengine.ask import _exact, ask_rows_kept, rising, rows_kept_questions
from dpengine.cli import main
from dpengine.counting.count import count
from dpengine.counting.single_query import Selection
from dpengine.results.answer import conclude

VISITS = pd.DataFrame({"who": ["a"] * 7 + ["b"] * 2 + ["c", None, "", " "], "age": range(13)})
BOUNDS = (1, 2, 5, 10)


def test_a_bound_of_k_keeps_at_most_k_rows_of_each_person() -> None:
    with dpe.open_table(VISITS) as table:
        numbers = owner.rows_kept(table, "who", BOUNDS)
        assert (numbers.rows, numbers.kept, numbers.people) == (10, (3, 5, 8, 10), (1, 2, 2, 3))
        with pytest.raises(dpe.TableError, match="whom"):
            owner.rows_kept(table, "whom")


def test_the_private_estimate_is_of_the_same_numbers_and_one_person_moves_each_by_its_bound() -> None:
    questions = rows_kept_questions("visits", "who", BOUNDS, "0.7")
    assert sum(each.epsilon for each in questions) == Fraction(7, 10)
    without = VISITS[VISITS["who"] != "a"]
    for question, rows in zip(questions, (3, 5, 8, 10), strict=True):
        selection = Selection((), question.unit, b"key")
        with dpe.open_table(VISITS) as table, dpe.open_table(without) as neighbour:
            exact, less = _exact(table, question, selection)[0], _exact(neighbour, question, selection)[0]
        assert exact == rows
        assert exact - less == min(7, question.unit.rows) <= question.sensitivity == question.unit.rows
        assert question.scale == question.unit.rows / question.epsilon


def test_no_other_division_of_epsilon_has_less_noise_in_all_answers_together() -> None:
    parts = [each.epsilon for each in rows_kept_questions("visits", "who", BOUNDS, "0.7")]

    def noise(parts: list[Fraction]) -> float:
        return float(sum(bound / part for bound, part in zip(BOUNDS, parts, strict=True)))

    for one, other in permutations(range(len(BOUNDS)), 2):
        moved = [part + Fraction((k == one) - (k == other), 200) for k, part in enumerate(parts)]
        assert noise(moved) > noise(parts)


def test_estimates_are_charged_once_and_all_or_none() -> None:
    ledger = dpe.Ledger.in_memory()
    ledger.set_cap("visits", "1")
    with dpe.open_table(VISITS) as table:
        with pytest.raises(dpe.BudgetError, match="cost 2"):
            ask_rows_kept(table, rows_kept_questions("visits", "who", BOUNDS, "2"), ledger)
        assert ledger.spent("visits") == 0, "none of them was drawn"
        questions = rows_kept_questions("visits", "who", BOUNDS, "0.7")
        first = ask_rows_kept(table, questions, ledger)
        assert list(first) == list(BOUNDS)
        shown = list(rising(first).values())
        assert shown == sorted(shown)
        assert shown[0] >= 0
        assert ledger.spent("visits") == Fraction(7, 10)
        again = ask_rows_kept(table, questions, ledger)
        assert [each.drawn for each in again.values()] == [each.drawn for each in first.values()]
        assert ledger.spent("visits") == Fraction(7, 10), "asked again, they cost nothing"


def test_estimates_that_fall_are_averaged_by_the_precision_of_their_noise() -> None:
    """Weights 1/σ² minimise the variance of an average; with k/ε_k for σ, one row has 4 times the weight of 4."""
    one, four = rows_kept_questions("visits", "who", [1, 4], "0.3")
    assert four.scale == 2 * one.scale
    shown = rising({1: conclude(one, [100]), 4: conclude(four, [50])})
    assert shown == {1: 90, 4: 90}
    assert rising({1: conclude(one, [40]), 4: conclude(four, [50])}) == {1: 40, 4: 50}, "those that rise stay"


def test_the_command_line_shows_exact_numbers_on_request_only(tmp_path: Path) -> None:
    file, ledger = tmp_path / "visits.csv", f"sqlite:///{tmp_path / 'ledger.db'}"
    VISITS.to_csv(file, index=False)
    run = CliRunner().invoke
    assert run(main, ["rows-kept", str(file), "--id", "who"]).exit_code == 2
    exact = run(main, ["rows-kept", str(file), "--id", "who", "--bound", "2", "--exact"])
    assert "at most 2 of each person: 5 rows kept of 10 (50.0%)" in exact.output
    assert "only you see them" in exact.output
    named = tmp_path / "semicolons.csv"
    named.write_text("Visits of 2026\n" + VISITS.to_csv(index=False, sep=";") + "Total;10\n", encoding="utf-16")
    options = ["--encoding", "utf-16", "--delimiter", ";", "--skip-rows", "1", "--skip-last", "1"]
    same = run(main, ["rows-kept", str(named), "--id", "who", "--bound", "2", "--exact", *options])
    assert same.output == exact.output
    twice = run(main, ["rows-kept", str(file), "--id", "who", "--bound", "2", "--bound", "2", "--exact", "--json"])
    assert "only you see them" in twice.stderr
    assert [each["rows_per_person"] for each in json.loads(twice.stdout)["kept"]] == [2]
    price = ["--epsilon", "100", "--dataset", "visits", "--ledger", ledger, "--json"]
    private = run(main, ["rows-kept", str(file), "--id", "who", "--bound", "2", *price])
    assert '"exact": false, "rows": null' in private.output
    assert dpe.Ledger(ledger).spent("visits") == 100


@pytest.mark.parametrize("cells", [1, 2])
def test_the_owner_sees_exactly_how_many_cells_a_bound_leaves_out(cells: int) -> None:
    rows = pd.DataFrame({"who": [*"aaaabbc", None], "ward": [*"xyzxxyx", "x"]})
    ward = {"name": "ward", "kind": "category", "values": ["x", "y", "z"]}
    persons = {"columns": ["ward"], "distinct": True, "cells_per_person": cells}
    plan = dpe.Plan(dataset="d", epsilon=1, unit={"id": "who", "rows": 4}, columns=[ward], tables=[persons])
    with dpe.open_table(rows) as table:
        numbers = owner.cells_kept(table, plan.columns, "who", (1, 2, 3))
        (counts,) = count(table, plan, [("ward",)], truncation_key=b"key")
        with pytest.raises(dpe.TableError, match="whom"):
            owner.cells_kept(table, plan.columns, "whom")
    assert (numbers.cells, numbers.kept, numbers.people) == (6, (3, 5, 6), (1, 2, 3))
    assert counts.sum() == numbers.kept[cells - 1], "as the release counts, where all rows of a person are kept"
