"""Numbers of a model stay as they were first stated, even if a later version derives others."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import dpengine as dpe
from dpengine.estimate.estimates import Estimates, derive_estimates
from dpengine.marginals.measurement import Boxes, Measurements
from dpengine.release import reopen
from dpengine.results import result, stated
from dpengine.results.stated import Stated
from tests.bundles import members_of
from tests.plans import letters_plan

DRAWN = np.random.default_rng(1).integers(0, 3, (600, 3))
ROWS = pd.DataFrame({name: [f"{name}{k}" for k in DRAWN[:, at]] for at, name in enumerate("abc")})
PROSE = ("README.txt", "report.html")  # words for readers, with rounded numbers of this version
PLANS = {
    "a model": letters_plan([3, 3, 3], {"each": 2}, strategy="adaptive", rows_about=600),
    "boxes": letters_plan([40, 3], [{"columns": ["b", "a"], "ranges": True}]),
    "boxes beside a model": letters_plan(
        [3, 3, 3], [{"columns": ["a"], "ranges": True}, ["b", "a"], ["b", "c"], ["c", "a"]],
        strategy="adaptive", rows_about=600,
    ),
}  # fmt: skip


def of_other_rules(plan: dpe.Plan, measured: Measurements) -> Estimates:
    """Derive estimates as a later version may: here, every measured count is taken for 5 more."""
    shifted = tuple(replace(one, values=one.values + 5) for one in measured.marginals)

    def boxes(each: Boxes) -> Boxes:
        return replace(each, values=each.values + 5)

    more = tuple(map(boxes, measured.more_boxes))
    first = None if measured.boxes is None else boxes(measured.boxes)
    return derive_estimates(plan, replace(measured, marginals=shifted, boxes=first, more_boxes=more, fit=None))


def numbers(bundle: bytes) -> dict[str, bytes]:
    return {name: member for name, member in members_of(bundle).items() if name not in (*PROSE, "manifest.json")}


@pytest.mark.by_day(1)
@pytest.mark.parametrize("name", PLANS)
def test_a_later_version_returns_the_numbers_that_were_published(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    plan, ledger = PLANS[name], dpe.Ledger.in_memory()
    first = dpe.release(ROWS, plan, ledger)
    assert first.stated.tables.keys() == {tuple(sorted(table)) for table in (*plan.marginals, ())}
    monkeypatch.setattr(result, "derive_estimates", of_other_rules)
    again = dpe.release(ROWS, plan, ledger)
    assert numbers(again.bundle) == numbers(first.bundle)
    for part in ("tables", "model_error"):
        assert again.manifest.get(part) == first.manifest.get(part)
    for table in (*plan.marginals, ()):
        assert (again.mostly_noise(table) == first.mostly_noise(table)).all()
        assert (again.estimate(table) == first.estimate(table)).all()
    underived = replace(again, stated=Stated())
    assert numbers(underived.bundle) != numbers(first.bundle), "the other rules give other numbers"


def test_a_table_that_was_not_published_then_is_derived() -> None:
    ledger = dpe.Ledger.in_memory()
    plan = PLANS["boxes"]
    first = dpe.release(ROWS, plan, ledger)
    assert first.stated.of(("a",)) is None
    assert np.array_equal(first.estimate(("a",)), first.estimates.estimate(("a",)))


def test_the_order_of_columns_is_that_of_the_table() -> None:
    made = dpe.release(ROWS, PLANS["boxes"])
    stated = made.stated.of(("b", "a"))
    assert stated is not None
    for values in (stated.estimate, stated.low, stated.high, stated.mostly_noise):
        assert values.shape == (3, 40)
    other = made.stated.of(("a", "b"))
    assert other is not None
    assert np.array_equal(stated.estimate, other.estimate.T)
    assert np.array_equal(stated.low, made.derive_numbers(("b", "a")).low)


def test_numbers_of_measured_tables_and_of_very_many_cells_are_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    assert dpe.release(ROWS, letters_plan([3, 3, 3], {"each": 2}, strategy="direct")).stated == Stated()
    monkeypatch.setattr(stated, "MAX_STATED", 3 * 3 * 3)  # and the total is one more
    made = dpe.release(ROWS, PLANS["a model"])
    assert made.stated == Stated()
    assert reopen(made.to_bytes()).stated == Stated()


def test_numbers_that_are_not_stated_are_derived_once_for_each_of_a_few_tables(monkeypatch: pytest.MonkeyPatch) -> None:
    """A report asks for the same numbers several times; of very many tables, only the latest are kept."""
    made = dpe.release(ROWS, letters_plan([3, 3, 3], [["a", "b"], ["c"]], strategy="direct"))
    derive, derived = result.Result.derive_numbers, list[tuple[str, ...]]()

    def counted(self: result.Result, table: tuple[str, ...]) -> stated.TableNumbers:
        derived.append(table)
        return derive(self, table)

    monkeypatch.setattr(result.Result, "derive_numbers", counted)
    monkeypatch.setattr(result, "MAX_RECENT", 2)
    made.numbers(("a", "b"))
    noisy = made.mostly_noise(("a", "b"))
    assert derived == [("a", "b")]
    assert noisy.shape == (3, 3)
    for table in (("c",), ("a",), ("a", "b")):
        made.numbers(table)
    assert derived == [("a", "b"), ("c",), ("a",), ("a", "b")]
