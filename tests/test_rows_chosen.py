"""Which rows of a person count is decided by a key that nobody knows, of the ledger, the data and what is asked.

ε is so large that counts are exact: noise other than 0 has a probability below e^−990. Each of 40 persons has two rows
in cells of their own, so two independent choices are the same with a probability of 2^−40. There are 66 pairs of these:
a false alarm has a probability of 6·10⁻¹¹.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import dpengine as dpe
from dpengine import mechanism as mechanisms
from dpengine.array_types import Ints
from dpengine.counting import scan, universe_keys
from dpengine.counting.contribution_bounding import RowLimit, bounded_rows
from dpengine.mechanism import Noise, run_mechanism

PERSONS = 40
ROWS = pd.DataFrame({"who": np.repeat(np.arange(PERSONS), 2), "place": np.arange(2 * PERSONS)})
PLACE = {"name": "place", "kind": "number", "edges": [*range(2 * PERSONS + 1)], "other": False, "missing": False}


def plan_of(epsilon: int = 1000, rows: int = 1) -> dpe.Plan:
    unit = {"id": "who", "rows": rows}
    return dpe.Plan(dataset="d", epsilon=epsilon, unit=unit, columns=[PLACE], tables=[["place"]], strategy="direct")


class Counts:
    """A mechanism that publishes the counts of all tables with noise."""

    def __init__(self, name: str = "counts", *, exactly: bool = True) -> None:
        self.name, self.exactly = name, exactly

    def charge(self, plan: dpe.Plan) -> Fraction:
        return plan.epsilon

    def draw(self, counts: Mapping[Any, Ints], noise: Noise) -> list[int]:
        (cells,) = counts.values()
        epsilon = noise.epsilon if self.exactly else float(noise.epsilon)
        drawn: list[int] = noise.laplace(cells, epsilon).tolist()  # type: ignore[arg-type]
        return drawn


def released(ledger: dpe.Ledger, epsilon: int) -> list[int]:
    counts: list[int] = dpe.release(ROWS, plan_of(epsilon), ledger).tables["place",]["count"].tolist()
    return counts


def of_mechanism(ledger: dpe.Ledger, name: str) -> list[int]:
    value: list[int] = run_mechanism(Counts(name), ROWS, plan_of(), ledger).value
    return value


def answered(ledger: dpe.Ledger, epsilon: int) -> list[int]:
    """Ask for the number of rows in each place."""
    question = dpe.Question(
        dataset="d", epsilon=epsilon, unit={"id": "who", "rows": 1}, statistic={"kind": "count"}, by=[PLACE]
    )
    return [int(group.value) for group in dpe.ask(ROWS, question, ledger).groups]


def test_each_ledger_plan_question_and_mechanism_chooses_rows_anew() -> None:
    ledgers = [dpe.Ledger.in_memory() for _ in range(2)]
    chosen = [released(ledger, epsilon) for ledger in ledgers for epsilon in (1000, 999)]
    chosen += [answered(ledger, epsilon) for ledger in ledgers for epsilon in (1000, 999)]
    chosen += [of_mechanism(ledger, name) for ledger in ledgers for name in ("one", "two")]
    for counts in chosen:
        assert np.array(counts).reshape(PERSONS, 2).sum(axis=1).tolist() == [1] * PERSONS, "one row of each person"
    assert len({tuple(counts) for counts in chosen}) == len(chosen)


FOUND = [
    {"name": "place", "kind": "number", "from": 0, "to": 2 * PERSONS, "step": 1, "bins": 4},
    {"name": "place", "kind": "category", "values": "found", "among": {"from": 0, "to": 2 * PERSONS}},
]


@pytest.mark.parametrize("column", FOUND, ids=["bins", "values"])
def test_rows_are_chosen_by_the_same_secret_where_cells_are_found_and_in_these_cells(
    column: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise somebody who knows the key of one of the two counts could tell which rows of a person it holds."""
    keys: list[bytes] = []

    def bounded(coded: str, columns: int, kept: RowLimit, key: bytes, *more: Any) -> str:
        keys.append(key)
        return bounded_rows(coded, columns, kept, key, *more)

    monkeypatch.setattr(scan, "bounded_rows", bounded)
    monkeypatch.setattr(universe_keys, "bounded_rows", bounded)
    used: list[set[bytes]] = []
    for _ in range(2):
        plan = dpe.Plan(dataset="d", epsilon=9, unit={"id": "who"}, columns=[column], tables=[["place"]])
        dpe.release(ROWS, plan, dpe.Ledger.in_memory())
        used.append({*keys})
        assert len(keys) >= 2, "rows are counted to find cells, and in these"
        keys.clear()
    assert [len(each) for each in used] == [1, 1]
    assert used[0] != used[1]


@pytest.mark.parametrize("rows", [1, 3])
def test_the_noise_of_a_mechanism_covers_all_rows_of_a_person(rows: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is told what a unit is by the program, and cannot forget it."""
    scales: list[Fraction] = []
    monkeypatch.setattr(mechanisms, "perturb", lambda values, scale: scales.append(scale) or values)
    run_mechanism(Counts(), ROWS, plan_of(2, rows))
    assert scales == [Fraction(rows, 2)]


def test_a_mechanism_that_spends_a_float_shows_nothing() -> None:
    ledger = dpe.Ledger.in_memory()
    with pytest.raises(dpe.LedgerError, match="failed after noise had been drawn"):
        run_mechanism(Counts(exactly=False), ROWS, plan_of(), ledger)
    assert ledger.history() == []


def test_a_file_that_changes_after_it_was_opened_gives_a_mechanism_nothing(tmp_path: Path) -> None:
    """The choice of rows follows from the rows that were recognised, and so does what is charged once."""
    path, ledger = tmp_path / "rows.parquet", dpe.Ledger.in_memory()
    ROWS.to_parquet(path)

    class Changing(Counts):
        def charge(self, plan: dpe.Plan) -> Fraction:
            ROWS.iloc[::2].to_parquet(path)
            return plan.epsilon

        def draw(self, counts: Mapping[Any, Ints], noise: Noise) -> list[int]:
            raise AssertionError("nothing is drawn")

    with dpe.open_table(path) as table, pytest.raises(dpe.TableError, match="changed since it was opened"):
        run_mechanism(Changing(), table, plan_of(), ledger)
    assert ledger.history() == []
