"""Bins that are found privately: what they cost, what they depend on, and that readers find the same ones."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import dpengine as dpe
from dpengine.estimate.found_cells import resolve
from dpengine.measure.strategy import decide, resolved
from dpengine.release import true_counts
from tests.bundles import manifest_in, members_of, with_search, zipped
from tests.replay import check_only_outputs_decide

PLAN = """
dataset: pay
epsilon: "1"
columns:
  - {name: pay, kind: number, from: 0, to: 400, step: 5, bins: 6}
  - {name: sex, kind: category, values: [f, m]}
tables: [[pay, sex], [sex]]
"""


def people(count: int = 600) -> pd.DataFrame:
    """Many of no pay, and the others with ever fewer the higher it is."""
    pay = np.where(np.arange(count) % 3 == 0, 0, np.round(np.linspace(0, 1, count) ** 4 * 400))
    return pd.DataFrame({"pay": pay, "sex": np.where(np.arange(count) % 2, "f", "m")})


def plan(text: str = PLAN, **changes: str) -> dpe.Plan:
    for old, new in changes.items():
        text = text.replace(old, new)
    return dpe.Plan.loads(text)


def test_a_release_finds_its_bins_and_readers_find_the_same(tmp_path: Path) -> None:
    ledger = dpe.Ledger.in_memory()
    finished = dpe.release(people(), plan(), ledger)
    assert ledger.spent("pay") == finished.measured.cost == 1
    assert [(each.columns, each.cost) for each in finished.measured.searches] == [(("pay",), Fraction(1, 10))]
    labels = finished.plan.column("pay").labels
    assert len(labels) == 8
    finished.save(tmp_path / "found.zip")
    assert dpe.verify(tmp_path / "found.zip")["domain"]["pay"] | {"labels": []} == {
        "kind": "number", "source": "found", "cells": 8, "labels": [], "other": True, "missing": True,
    }  # fmt: skip
    assert dpe.Plan.loads(members_of(finished.bundle)["plan.yaml"].decode()) == plan()
    read = dpe.published(tmp_path / "found.zip")
    assert read.plan.column("pay").labels == labels
    assert list(read.tables["pay", "sex"]["pay"].astype(str)[::4]) == list(labels)


WIDE = "{name: pay, kind: number, from: 0, to: 1000000, step: 1000, bins: 12}"


def test_where_steps_without_people_were_measured_together_readers_find_the_same_bins_too() -> None:
    """6 to 21 boxes were measured so in each of 74 releases: one has none in fewer than 2 of 10, ten below 10⁻⁶."""
    text = PLAN.replace("{name: pay, kind: number, from: 0, to: 400, step: 5, bins: 6}", WIDE)
    many = people(20_000).assign(pay=lambda frame: 1_000 * (frame["pay"] // 10))
    for _ in range(10):
        finished = dpe.release(many, plan(text))
        dpe.verify(finished.bundle)
        parents = finished.measured.searches[0].parents
        if (parents > np.arange(parents.size)).any():
            return
    raise AssertionError("no box was measured after boxes within it")


def test_where_hardly_anybody_was_found_at_all_readers_find_the_same_bins_too() -> None:
    """All steps are measured once more together, so the box that holds them all comes last.

    A large noise split it in 18 of 103 releases, so surely in fewer than 4 of 10: in 30 of 30, below 10⁻¹¹.
    """
    for _ in range(30):
        finished = dpe.release(people(0), plan())
        dpe.verify(finished.bundle)
        assert len(finished.plan.column("pay").labels) == 8
        if finished.measured.searches[0].parents[0] >= 0:
            return
    raise AssertionError("all steps are never measured together")


NO_TREES = {
    "a ring": ([-1, 2, 1], [0, 0, 0], [80, 80, 80]),
    "steps left out at the end": ([-1], [0], [79]),
    "a gap within a box": ([-1, 0, 0], [0, 0, 50], [80, 40, 80]),
    "boxes that overlap": ([-1, 0, 0], [0, 0, 30], [80, 40, 80]),
}


@pytest.mark.parametrize("what", NO_TREES)
def test_boxes_that_do_not_hold_each_step_once_are_refused(what: str) -> None:
    parents, first, last = NO_TREES[what]
    parts = [10**6] if len(parents) == 1 else [5 * 10**5] * 3  # those that hold a step add up to all
    stored = {"parents": parents, "first": first, "last": last, "parts": parts, "values": [600] * len(parents)}
    with pytest.raises(dpe.ReleaseError, match="not a tree of boxes"):
        dpe.verify(with_search(_bundle(), "pay", lambda found: found.update(stored)))


@cache
def _bundle() -> bytes:
    return dpe.release(people(), plan()).bundle


def test_several_columns_and_the_tables_share_epsilon() -> None:
    age = "{name: age, kind: number, from: 0, to: 90, bins: {count: 3, share: 1/5}}"
    asked = plan(PLAN.replace("tables: [[pay, sex], [sex]]", f"  - {age}\ntables: [[pay, sex], [age]]"))
    assert asked.epsilon_for_tables == Fraction(7, 10)
    finished = dpe.release(people().assign(age=np.arange(600) % 90), asked)
    assert [each.cost for each in finished.measured.searches] == [Fraction(1, 10), Fraction(1, 5)]
    assert finished.measured.cost == 1
    dpe.verify(finished.bundle)


def test_a_file_that_changes_after_its_bins_were_found_costs_nothing(tmp_path: Path) -> None:
    path, ledger = tmp_path / "rows.csv", dpe.Ledger.in_memory()
    path.write_text(people().to_csv(index=False))

    def change(now: str) -> None:
        if now == "adding noise":
            path.write_text(people(700).to_csv(index=False))

    with dpe.open_table(path) as table, pytest.raises(dpe.LedgerError, match="nothing was spent"):
        dpe.release(table, plan(), ledger, progress=change)
    assert ledger.history() == []


def test_the_rows_of_each_person_in_found_bins_are_those_that_the_owner_is_shown() -> None:
    """Rows are counted once to find the bins, and again in them: each time, of each person, the same rows count."""
    text = PLAN.replace("tables:", "unit: {rows: 1, id: who}\ntables:").replace('"1"', '"1000"')
    rows, ledger = people(), dpe.Ledger.in_memory()
    twice = pd.concat([rows, rows.assign(pay=400 - rows["pay"], sex=rows["sex"].map({"f": "m", "m": "f"}))])
    twice["who"] = np.tile(np.arange(len(rows)), 2)
    finished = dpe.release(twice, plan(text), ledger)
    true = true_counts(dpe.open_table(twice), finished.plan, ledger)
    assert true[()] == len(rows)
    for table in (("pay", "sex"), ("sex",)):
        assert (finished.estimates.estimate(table).round().astype(int) == true[table]).all()


def test_ranges_are_measured_with_what_finding_leaves() -> None:
    asked = plan(PLAN.replace("tables: [[pay, sex], [sex]]", "tables: [{columns: [pay], ranges: true}]"))
    finished = dpe.release(people(), asked.model_copy(update={"strategy": "adaptive"}))
    assert [each.cost for each in finished.measured.trees] == [asked.epsilon_for_tables]
    assert finished.measured.cost == 1


def test_the_same_plan_again_costs_nothing() -> None:
    ledger = dpe.Ledger.in_memory()
    first = dpe.release(people(), plan(), ledger)
    again = [dpe.release(people(), each, ledger) for each in (plan(), first.plan)]
    assert {each.release_id for each in again} == {first.release_id}
    assert {each.plan.column("pay").labels for each in again} == {first.plan.column("pay").labels}
    assert ledger.spent("pay") == 1
    assert first.plan.key == plan().key
    assert first.plan.as_written == plan()


def test_another_share_or_range_is_another_release() -> None:
    sought = "from: 0, to: 400, step: 5, bins: 6"
    keys = {decide(plan(PLAN.replace(sought, other))).plan_id for other in (
        sought, "from: 0, to: 400, step: 5, bins: {count: 6, share: 1/5}", "from: 0, to: 400, step: 5, bins: 7",
        "from: 0, to: 400, step: 10, bins: 6", "from: 0, to: 405, step: 5, bins: 6",
        "from: -5, to: 400, step: 5, bins: 6",
    )}  # fmt: skip
    assert len(keys) == 6
    stated = PLAN.replace("from: 0, to: 400, step: 5, bins: 6", "edges: [0, 65, 135, 200, 265, 335, 400]")
    assert decide(plan(stated)).plan_id not in keys


STRATEGIES = {
    **{name: {"tables: [[pay, sex], [sex]]": f"tables: [[pay, sex], [sex]]\nstrategy: {name}"}
       for name in ("direct", "optimised", "adaptive")},
    "ranges": {"tables: [[pay, sex], [sex]]": "tables: [{columns: [pay], ranges: true}, [sex]]", "bins: 6": "bins: 30"},
    "persons": {"tables:": "unit: {rows: 2, id: who}\ntables:"},
}  # fmt: skip


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.by_day(2)
def test_only_outputs_that_were_paid_for_decide_whatever_the_rows(strategy: str) -> None:
    """A neighbour with the same noisy outputs has the same release; what they cost is ε at most, exactly."""
    request = plan(**STRATEGIES[strategy])
    rows = people(90).assign(who=np.arange(90) // 2)
    more = pd.DataFrame({"pay": [333], "sex": ["f"], "who": [99]})
    others = rows.assign(pay=np.arange(90) * 4, sex="f")
    check_only_outputs_decide(rows, more, others, request)


def test_predictions_are_those_of_the_tables_share() -> None:
    stated = PLAN.replace("from: 0, to: 400, step: 5, bins: 6", "edges: {from: 0, to: 400, bins: 6}").replace(
        '"1"', '"0.9"'
    )
    expected, searched = (dpe.predict(each)["half_width_95"].tolist() for each in (plan(stated), plan()))
    assert searched == expected


@pytest.fixture(scope="module")
def bundle() -> bytes:
    """So many people that all of them are surely split: the noise in their number has the scale 100."""
    return dpe.release(people(6_000), plan()).bundle


def more_at_the_upper_end(stored: dict[str, list[int]]) -> None:
    """Add 40,000 people to the smallest box of the highest steps, where hardly anybody is, and to all that hold it."""
    place = max(range(len(stored["first"])), key=lambda k: (stored["first"][k], -stored["last"][k]))
    assert stored["first"][place] > 0
    while place >= 0:
        stored["values"][place] += 40_000
        place = stored["parents"][place]


TAMPERED: dict[str, Any] = {
    "a noisy count": more_at_the_upper_end,
    "a part of ε": lambda stored: stored["parts"].__setitem__(0, stored["parts"][0] + 1),
    "a box": lambda stored: stored["last"].__setitem__(1, stored["last"][1] + 1),
    "a parent": lambda stored: stored["parents"].__setitem__(-1, len(stored["parents"])),
    "a number": lambda stored: stored["values"].pop(),
    "a list": lambda stored: stored.pop("values"),
}


@pytest.mark.by_day(2)
@pytest.mark.parametrize("what", [*TAMPERED, "the file"])
def test_a_bundle_whose_search_was_changed_is_refused(what: str, bundle: bytes) -> None:
    where = r"manifest\.json: domain" if what == "a noisy count" else r"found\.json"
    with pytest.raises(dpe.ReleaseError, match=where):
        dpe.verify(with_search(bundle, "pay", TAMPERED.get(what)))


def test_a_bundle_that_claims_another_share_is_refused(bundle: bytes) -> None:
    members = members_of(bundle)
    with manifest_in(members) as manifest:
        table, entry = manifest["measurements"]
        table |= {"epsilon": "0.95", "scale": "20/19"}
        entry |= {"epsilon": "0.05", "scale": "20"}
    with pytest.raises(dpe.ReleaseError, match=r"measurement 2: epsilon is not the share that plan\.yaml gives"):
        dpe.verify(zipped(members))


def test_a_bundle_that_claims_another_number_of_boxes_is_refused(bundle: bytes) -> None:
    members = members_of(bundle)
    with manifest_in(members) as manifest:
        boxes = manifest["measurements"][1]["cells"]
        manifest["measurements"][1]["cells"] = boxes + 1
    with pytest.raises(dpe.ReleaseError, match=rf"measurement 2: found\.json holds {boxes} counts of boxes"):
        dpe.verify(zipped(members))


@pytest.mark.parametrize("columns", [["age"], ["age", "sex"], ["sex"], []])
def test_a_bundle_that_claims_a_search_of_another_column_is_refused(bundle: bytes, columns: list[str]) -> None:
    members = members_of(bundle)
    with manifest_in(members) as manifest:
        manifest["measurements"][1]["columns"] = columns
    with pytest.raises(
        dpe.ReleaseError, match="there must be exactly one search for each column whose cells were found"
    ):
        dpe.verify(zipped(members))


def test_cells_that_are_found_are_not_for_questions_or_mechanisms() -> None:
    column = plan().column("pay")
    for label in ("[0, 65)", "none of its cells"):
        with pytest.raises(dpe.PlanError, match="found by a release only"):
            dpe.Condition(column=column, labels=[label])
    for asked in ({"by": [column], "statistic": dpe.Count()}, {"statistic": dpe.Mode(of=column)}):
        with pytest.raises(dpe.PlanError, match="found by a release only"):
            dpe.Question(dataset="pay", epsilon="1", **asked)


def test_shares_leave_half_of_epsilon_to_the_tables() -> None:
    second = PLAN.replace(
        "columns:", "columns:\n  - {name: debt, kind: number, from: 0, to: 9, bins: {count: 3, share: 0.45}}"
    )
    assert plan(second).found_columns == ("pay",), "a column that no table uses costs nothing"
    with pytest.raises(dpe.PlanError, match=r"would take 0\.55 of ε"):
        plan(second.replace("[sex]]", "[sex], [debt]]"))
    distinct = PLAN.replace(
        "tables: [[pay, sex], [sex]]", "unit: {id: who, rows: 2}\ntables: [{columns: [pay], distinct: true}]"
    )
    with pytest.raises(dpe.PlanError, match="distinct persons cannot stand beside cells that are found"):
        plan(distinct)


@pytest.mark.parametrize(
    ("column", "message"),
    [
        ("from: 0, to: 400, step: 5, bins: 81", "81 bins cannot be found in 80 steps"),
        ("from: 0, to: 400, step: 7, bins: 6", "must be a multiple of the step"),
        ("from: 0, to: 4000000, step: 1, bins: 6", "choose a larger step"),
        ("from: 0, bins: 6", "from, to and step"),
        ("from: 0, to: 400, edges: [0, 400]", "go with bins"),
        ("edges: [0, 400], bins: 6", "neither edges nor levels"),
        ("from: 0, to: 400, bins: {count: 6, share: 1}", "from 1/1000 to 1/2"),
        ("from: 0, to: 400, bins: {count: 6, share: 0}", "from 1/1000 to 1/2"),
        ("from: 0, to: 400, bins: {count: 6, share: -1/10}", "from 1/1000 to 1/2"),
        ("from: 0, to: 40, bins: {count: 2, found: [0, 1, 40]}", "leave 'found' out"),
    ],
)
def test_bins_that_cannot_be_found_are_refused(column: str, message: str) -> None:
    with pytest.raises(dpe.PlanError, match=message):
        plan(PLAN.replace("from: 0, to: 400, step: 5, bins: 6", column))


def test_the_cells_that_follow_are_a_function_of_the_noisy_counts() -> None:
    finished = dpe.release(people(), plan())
    assert resolve(plan(), finished.measured.searches) == finished.plan
    assert resolved(finished.plan).plan.epsilon_for_tables == Fraction(9, 10)
    column = finished.plan.column("pay")
    assert isinstance(column, dpe.Number)
    assert set(column.edges) <= {Decimal(5 * k) for k in range(81)}
