"""Plans of this owner to continue with: the one put aside in this visit, and those of published releases.

Plans of other owners are never among them: a visit belongs to one person, and sees only its owner's part of the ledger.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

from dpengine import Ledger, LedgerError, Plan, PlanError
from dpengine.accounting.entry import Entry, Kind, same_name
from dpengine.release import is_held, plan_of
from dpengine.spec.domain import cells_payload
from dpengine.spec.query import Count, Question
from dpengine.translation.catalogue import _, day
from pages.parts.visit.plan.entries import Draft
from pages.parts.visit.plan.plan_form import from_plan
from pages.parts.visit.plan.times_entry import table_column
from pages.parts.visit.state import STEPS, visit

__all__ = [
    "Recent", "draft_of", "last_published", "listed", "with_all_tables_of", "with_answer_to",
    "with_columns_of_the_table",
]  # fmt: skip

MAX_LISTED = 12
MIN_COLUMNS = 2  # one column of the same name may be a coincidence
MAX_DATASETS = 2  # datasets that are named


@dataclass(frozen=True, slots=True)
class Recent:
    """A plan to continue with: its name, and where it is, in a release or in this visit."""

    name: str
    release_id: str = ""


def listed() -> list[Recent]:
    """Return the plan put aside, then the last published plan of each dataset, the latest first."""
    entries: dict[str, Entry] = {}
    with suppress(LedgerError):  # reported where a budget is spent
        for entry in reversed(visit().ledger.history()):
            if entry.kind is Kind.RELEASE:
                entries.setdefault(same_name(entry.dataset), entry)
    draft = visit().earlier
    here = [] if draft is None else [Recent(_("{table}, put aside in this visit", table=draft.table))]
    return [*here, *(Recent(_name(entry), entry.release_id) for entry in entries.values())][:MAX_LISTED]


def draft_of(recent: Recent) -> Draft | None:
    """Return the plan of a listed item; None if it is gone."""
    if not recent.release_id:
        return visit().earlier
    with suppress(LedgerError):
        entry = visit().ledger.entry(recent.release_id)
        return None if entry is None else _published(entry)
    return None


def with_columns_of_the_table(dataset: str, ledger: Ledger) -> list[str]:
    """Return other datasets whose last plan has only columns of the open table: they may be about the same people.

    `ledger` is the visitor's.
    """
    here = visit()
    entries = 0
    with suppress(LedgerError):
        entries = len(ledger.history())
    names = frozenset(field.name for field in here.table.columns) if here.table is not None else frozenset()

    def look() -> list[str]:
        matching = []
        for one in listed():
            draft = draft_of(one) if one.release_id else None
            if draft is None or same_name(draft.entries.dataset) == same_name(dataset):
                continue
            if len(draft.entries.chosen) >= MIN_COLUMNS and names >= {
                table_column(draft.entries.declared, name) for name in draft.entries.chosen
            }:
                matching.append(draft.entries.dataset)
        return matching[:MAX_DATASETS]

    return here.once("same-columns", (dataset, names, entries), look)


def last_published(dataset: str) -> Draft | None:
    """Return the plan of the last release of a dataset; None if there is none."""
    here = visit()
    releases: list[Entry] = []
    with suppress(LedgerError):
        releases = [entry for entry in here.ledger.history(dataset) if entry.kind is Kind.RELEASE]

    def look() -> Draft | None:
        with suppress(LedgerError):
            return _published(releases[-1]) if releases else None
        return None

    return here.once("last-published", (dataset, len(releases)), look, most=MAX_DATASETS + 1)


def with_all_tables_of(plan: Plan, data: bytes, ledger: Ledger) -> Entry | None:
    """Return the latest release of the open table that already holds all tables of `plan`, in the same cells.

    `data` is the table's fingerprint in `ledger`, the visitor's. Only tables of counts are looked for.
    """
    wanted = _tables_of_counts(plan)
    if not wanted:
        return None
    return _latest(plan.dataset, data, ledger, plan.at(1).key, lambda before: wanted <= _tables_of_counts(before))


def with_answer_to(question: Question, data: bytes, ledger: Ledger) -> Entry | None:
    """Return the latest release of the open table that already holds the counts for which `question` asks.

    These are a count of all rows, or one by groups. `data` is the table's fingerprint in `ledger`, the visitor's.
    """
    if question.where or not isinstance(question.statistic, Count):
        return None
    unit, names = question.unit, [column.name for column in question.by]
    if names:
        same = Plan(dataset=question.dataset, epsilon=1, unit=unit, columns=question.by, tables=[names])
        return with_all_tables_of(same, data, ledger)
    return _latest(
        question.dataset, data, ledger, ("total", unit), lambda before: before.unit == unit and not before.has_distinct
    )


def _latest(dataset: str, data: bytes, ledger: Ledger, wanted: object, holds: Callable[[Plan], bool]) -> Entry | None:
    """Return the latest release of a table whose plan `holds` what is wanted; once for each state of the dataset."""
    entries = [entry for entry in ledger.history(dataset) if entry.kind is Kind.RELEASE]

    def look() -> Entry | None:
        for entry in reversed(entries):
            with suppress(LedgerError, PlanError):
                before = plan_of(ledger.payload(entry.release_id) or b"")
                if is_held(before, data, ledger) and holds(before):
                    return entry
        return None

    return visit().once("tables-held", (wanted, dataset, data, len(entries)), look)


def _tables_of_counts(plan: Plan) -> set[tuple[str, ...]]:
    """Return each table as the cells of its columns, with the unit; none if there is more in the plan than counts.

    >>> columns = [{"name": "sex", "kind": "yesno"}, {"name": "age", "kind": "number", "edges": [0, 18, 99]}]
    >>> plan = Plan(dataset="x", epsilon=1, columns=columns, tables=[["sex", "age"], ["sex"]])
    >>> less = Plan(dataset="x", epsilon=2, columns=columns, tables=[["sex"]])
    >>> other = Plan(dataset="x", epsilon=2, columns=[columns[0] | {"missing": False}], tables=[["sex"]])
    >>> [_tables_of_counts(each) <= _tables_of_counts(plan) for each in (less, other)]
    [True, False]
    """
    if plan.amounts(()) or plan.has_distinct or plan.found_columns:
        return set()
    cells = {name: json.dumps(cells_payload(plan.column(name))) for table in plan.marginals for name in table}
    return {(repr(plan.unit), *sorted(cells[name] for name in table)) for table in plan.marginals}


def _published(entry: Entry) -> Draft | None:
    payload = visit().ledger.payload(entry.release_id)
    if payload is None:
        return None
    with suppress(PlanError):  # only the command line can publish such a plan
        return Draft(_name(entry), "", STEPS, from_plan(plan_of(payload)), visit().account.owner)
    return None


def _name(entry: Entry) -> str:
    return _("{dataset}, published on {day}", dataset=entry.dataset, day=day(entry.created[:10]))
