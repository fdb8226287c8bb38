"""The dry run refuses what could not be stored or written, before noise is drawn, and depends on the plan alone."""

from __future__ import annotations

import io
import itertools
import sys
import threading
from importlib import import_module
from typing import Any

import pandas as pd
import pytest

import dpengine as dpe
from dpengine.bundle import dry_run
from dpengine.bundle.dry_run import check_makeable
from dpengine.measure.strategy import decide, resolved
from dpengine.measure.strategy_base import Strategy
from dpengine.spec.plan import Plan
from tests.plans import CLINIC, letters_plan

RANGED = letters_plan([4, 30], [{"columns": ["a", "b"], "ranges": True}], strategy="adaptive")
PLANS = {
    "direct": Plan.loads(CLINIC),
    "optimised": letters_plan([3, 4, 5], {"each": 2}, strategy="optimised"),
    "adaptive": letters_plan([3, 4, 5], {"each": 2}, strategy="adaptive"),
    "adaptive, single columns": letters_plan([3, 4, 5], {"each": 1}, strategy="adaptive"),
    "adaptive, a single column": letters_plan([3], {"each": 1}, strategy="adaptive"),
    "adaptive, one table": letters_plan([3, 4, 5], {"each": 3}, strategy="adaptive"),
    "ranges": RANGED,
    "ranges beside": letters_plan([40, 3], [{"columns": ["a"], "ranges": True}, ["b"]], strategy="adaptive"),
}


@pytest.fixture(autouse=True)
def unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    """No plan has been tried yet."""
    monkeypatch.setattr(dry_run, "_known", type(dry_run._known)())


@pytest.mark.by_day(3)
@pytest.mark.parametrize("name", PLANS)
def test_zeros_have_the_form_of_what_is_measured(name: str) -> None:
    strategy = decide(PLANS[name])
    drawn, blank = dpe.preview(strategy.plan).measured, strategy.blank()
    assert {one.allocation.columns for one in blank.marginals} <= {one.allocation.columns for one in drawn.marginals}
    assert [one.values.any() for one in blank.marginals] == [False] * len(blank.marginals)
    assert (blank.audit is None, blank.boxes is None) == (drawn.audit is None, drawn.boxes is None)
    check_makeable(strategy.plan)


def test_a_plan_whose_file_says_another_one_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Readers, and whoever repeats the release, have the file alone."""
    other = Plan.loads(CLINIC.replace("rows: 1", "rows: 2, id: who")).dumps()
    monkeypatch.setattr(Plan, "dumps", lambda plan: other)
    with pytest.raises(dpe.PlanError, match="as another one; nothing was spent"):
        check_makeable(resolved(PLANS["direct"]).plan)


def test_adaptive_plans_of_single_columns_can_be_published_at_their_price() -> None:
    ledger, rows = dpe.Ledger.in_memory(), pd.DataFrame({"a": ["a0", "a2"] * 20, "b": ["b1"] * 40})
    plan = letters_plan([3, 4], {"each": 1}, strategy="adaptive")
    release = dpe.release(rows, plan, ledger)
    dpe.verify(io.BytesIO(release.bundle))
    assert dpe.release(rows, plan, ledger).bundle == release.bundle
    assert ledger.spent("letters") == 1


@pytest.mark.parametrize("place", ["dpengine.bundle.report.render", "dpengine.bundle.registry.draft_entry"])
def test_a_bundle_that_cannot_be_made_is_refused_before_noise_is_drawn(
    place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing(*_: object) -> None:
        raise KeyError("planted")

    ledger = dpe.Ledger.in_memory()
    monkeypatch.setattr(place, failing)
    monkeypatch.setattr(Strategy, "measure", lambda *_: pytest.fail("noise was drawn"))
    with pytest.raises(dpe.PlanError, match=r"KeyError.*Nothing was spent"):
        dpe.release(pd.DataFrame({"a": ["a0"], "b": ["b0"]}), letters_plan([2, 2], {"each": 1}), ledger)
    assert ledger.history() == []


def test_the_trial_takes_no_table_and_is_made_once_for_a_plan(monkeypatch: pytest.MonkeyPatch) -> None:
    tried: list[Plan] = []
    conclude = dry_run.conclude

    def counted(plan: Plan, measured: Any) -> Any:
        tried.append(plan)
        return conclude(plan, measured)

    monkeypatch.setattr(dry_run, "conclude", counted)
    for epsilon in ("1", "1", "2", "1"):
        check_makeable(letters_plan([2, 2], {"each": 1}, epsilon=epsilon))
    assert [plan.epsilon for plan in tried] == [1, 2]


def test_the_rows_of_an_open_table_are_read_while_its_plan_is_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    release, begun = import_module("dpengine.release"), threading.Event()
    monkeypatch.setattr(release, "check_makeable", lambda _: begun.set())
    recognise = release.count.digest_and_count

    def wait_for_trial(*given: Any) -> Any:
        assert begun.wait(timeout=30)
        return recognise(*given)

    monkeypatch.setattr(release.count, "digest_and_count", wait_for_trial)
    with dpe.open_table(pd.DataFrame({"a": ["a0"], "b": ["b0"]})) as table:
        dpe.release(table, letters_plan([2, 2], {"each": 1}))


def test_a_few_of_many_tables_are_tried() -> None:
    names = [f"c{k}" for k in range(30)]
    columns = [{"name": name, "kind": "yesno"} for name in names]
    pairs = [list(pair) for pair in itertools.combinations(names, 2)]
    plan = Plan(dataset="d", epsilon=1, columns=columns, tables=[*pairs, names[:3]], strategy="adaptive")
    tried = dry_run._with_fewer_tables(plan)
    assert set(tried.used) == set(names)
    assert len(tried.marginals) < 45
    assert tuple(names[:3]) in tried.marginals
    assert type(resolved(tried)) is type(resolved(plan))
    assert sys.getsizeof(dry_run._known) < 10_000


def test_small_ones_of_many_tables_are_tried() -> None:
    """A column of many values is tried beside small ones, not in a table with another such column."""
    plan = letters_plan([90, 80, 70, 3, 3, 2, 2, 2], {"each": 3})
    cells = [plan.cells(table) for table in dry_run._with_fewer_tables(plan).marginals]
    assert max(cells) == 90 * 2 * 2
