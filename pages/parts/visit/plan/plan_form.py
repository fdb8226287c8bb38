"""The plan that the entries make, and the entries of a plan: plain values, no widgets.

Nothing here ever sees a row.
"""

from __future__ import annotations

import re
from typing import Any

from dpengine.errors import PlanError
from dpengine.exact import exact_text
from dpengine.spec.domain import FOR_READERS
from dpengine.spec.plan import Plan
from dpengine.spec.published_table import PublishedTable
from dpengine.translation.catalogue import _
from pages.parts.visit.fault_text import sentence
from pages.parts.visit.plan.column_entry import (
    BOUNDS,
    all_whole,
    cleaned,
    entry_without_words,
    has_found_bins,
    has_found_upper,
    listed,
    open_questions,
    plan_of_one,
    with_even_knots,
)
from pages.parts.visit.plan.entries import Entries
from pages.parts.visit.plan.level_entry import COUNTS_YEARS
from pages.parts.visit.plan.tables import declared_name, has_ranges, in_layout, published, used

__all__ = ["column_faults", "from_plan", "size_of", "stem", "to_plan"]


def to_plan(entries: Entries) -> Plan:
    """Return the plan as entered. Raises `PlanError` with every fault."""
    tables = list(published(entries))
    if entries.ranges and has_ranges(entries):
        everything = set(used(entries))
        tables = [t.model_copy(update={"ranges": True}) if set(t.columns) == everything else t for t in tables]
    if entries.several_rows is None:
        raise PlanError(_("say whether a person may have several rows"))
    if waiting := [
        f"{name}: " + _(open_) for name in used(entries) for open_ in open_questions(entries.declared[name])
    ]:
        raise PlanError(waiting)
    if entries.several_rows and entries.id_column is None:
        raise PlanError(_("choose the column that identifies the person"))
    parted = {name for table in tables for name in table.quantiles}
    return Plan(
        title=entries.title,
        dataset=entries.dataset,
        epsilon=entries.epsilon,
        unit={"id": entries.id_column, "rows": entries.rows} if entries.several_rows else {"rows": 1},
        rows_about=entries.rows_about,
        columns=[_column(entries, name, parted=name in parted) for name in used(entries)],
        tables=tables,
        strategy=entries.strategy,
        coarser_levels=None if any(t.ranges or t.amounts or t.distinct for t in tables) else entries.coarser_levels,
        notes=entries.notes,
        language=entries.language,
        about=entries.about,
        nouns=entries.nouns if entries.several_rows else {"rows": entries.nouns.get("rows", "")},
    )


def _column(entries: Entries, name: str, *, parted: bool) -> dict[str, Any]:
    """Return a column for a plan; if `parted`, as quantiles need it, knots are added if none are declared."""
    column = cleaned(entries.declared[name])
    if parted and column["kind"] == "amount" and not (column.get("knots") or has_found_upper(column)):
        column = with_even_knots(column)
    return column | _texts(entries, name)


def _texts(entries: Entries, name: str) -> dict[str, Any]:
    """Return the texts for readers about a column, without what no longer fits its declaration."""
    texts, column = entries.texts.get(name, {}), entries.declared[name]
    fields: dict[str, Any] = {key: texts[key] for key in ("label", "description") if texts.get(key)}
    whole = texts.get("whole", bool(COUNTS_YEARS.search(name.lower())))
    ends = [column.get(key, "") for key in ("from", "to", "step")] if has_found_bins(column) else []
    if column["kind"] == "number" and whole and all_whole(column.get("edges") or ends):
        fields["whole"] = True
    if column["kind"] == "category":
        known = {*listed(column)}
        for key in ("words", "shapes"):
            fields[key] = {value: text for value, text in texts.get(key, {}).items() if value in known}
    return fields


def column_faults(entries: Entries, name: str) -> tuple[str, ...]:
    """Return what is still missing or wrong in the entry of one column."""
    open_ = open_questions(entries.declared[name])
    if BOUNDS in open_:
        return open_
    try:
        plan_of_one(cleaned(entries.declared[name]), name)
    except PlanError as error:
        return (*open_, *(sentence(fault) for fault in error.faults))
    return open_


def size_of(entries: Entries, name: str) -> int | None:
    """Return the number of cells of a column, or of one of its levels; None while its entry is incomplete."""
    try:
        return plan_of_one(cleaned(entries.declared[declared_name(entries, name) or name]), name).column(name).size
    except PlanError:
        return None


def stem(title: str) -> str:
    """Return a name for a dataset from the title of its table.

    >>> stem("Visits 2026 (all)"), stem("…")
    ('visits-2026-all', 'my-table')
    """
    return re.sub(r"[^\w-]+", "-", title).strip("-").lower() or "my-table"


def from_plan(plan: Plan) -> Entries:
    """Return the entries that would make `plan`."""
    of_all = len(plan.ranged) == 1 and {*plan.ranged[0]} == {*plan.used}
    entries = Entries(
        title=plan.title,
        dataset=plan.dataset,
        chosen=tuple(column.name for column in plan.columns),
        ranges=of_all,
        declared={column.name: entry_without_words(column) for column in plan.columns},
        notes=plan.notes,
        language=plan.language,
        about={key: text for key, text in plan.about.model_dump().items() if text},
        nouns=_nouns(plan),
        texts={column.name: column.model_dump(include={*FOR_READERS}) for column in plan.columns},
        several_rows=plan.unit.id is not None,
        id_column=plan.unit.id,
        rows=plan.unit.rows,
        rows_about=plan.rows_about,
        epsilon=exact_text(plan.epsilon),
        strategy=plan.strategy,
        coarser_levels=plan.coarser_levels,
    )
    listed = plan.tables if isinstance(plan.tables, tuple) else plan.marginals
    tables = [t if isinstance(t, PublishedTable) else PublishedTable(columns=t) for t in listed]
    if of_all:
        tables = [table.model_copy(update={"ranges": False}) for table in tables]
    return in_layout(entries, tables)


def _nouns(plan: Plan) -> dict[str, str]:
    """Return the nouns of a plan as entered; where a row is a person, the page asks for one of them."""
    rows, people = plan.nouns.rows, plan.nouns.people
    given = {"rows": rows, "people": people} if plan.unit.id is not None else {"rows": rows or people}
    return {key: noun for key, noun in given.items() if noun}
