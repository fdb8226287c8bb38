"""A plan that survives a reload of its tab: the owner's entries and the names of columns, as text in the browser.

The table does not survive. The page asks for the file again, and uses the entries for it if it has the same columns. So
nothing that a browser or an address holds leads to private rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import replace

import streamlit as st
from pydantic import TypeAdapter, ValidationError

from dpengine import LedgerError, PlanError
from dpengine.sources.table import Table
from dpengine.translation.catalogue import _, some_of
from pages.parts.shared.wording import plain
from pages.parts.visit.plan.column_entry import texts_from_file, waits_for_a_list
from pages.parts.visit.plan.entries import LAYOUTS, Draft, Entries, shareable
from pages.parts.visit.plan.plan_form import to_plan
from pages.parts.visit.plan.times_entry import table_column
from pages.parts.visit.project import recent
from pages.parts.visit.project.file import ColumnEntry, faults_of
from pages.parts.visit.state import visit

__all__ = [
    "carry_over", "current", "fits", "forget", "from_text", "has_another_subject", "lacking", "needed", "offer_earlier",
    "restore", "resume", "show_what_waits", "take_over", "to_text", "without",
]  # fmt: skip

OTHER_SUBJECTS = ("release", "publishing", "answer")  # parameters of the address that name a release or a job
MAX_LETTERS = 2_000_000  # letters that any browser keeps for a page


_drafts, _columns = TypeAdapter(Draft), TypeAdapter(dict[str, ColumnEntry])


def current() -> Draft | None:
    """Return the plan that would be lost with this session: the current one, or one that waits for its table."""
    here = visit()
    return here.waiting if here.table is None or not here.entries.chosen else here.draft()


def to_text(draft: Draft) -> str | None:
    """Return the draft as JSON; None if it is too long for a browser to keep."""
    text = _drafts.dump_json(replace(draft, entries=shareable(draft.entries))).decode()
    return text if len(text) <= MAX_LETTERS else None


def from_text(text: str, owner: str = "") -> Draft | None:
    """Read a draft; None if it is another owner's or no draft, as text from a browser may be anything."""
    try:
        draft = _drafts.validate_json(text)
        columns = _columns.validate_python(draft.entries.declared)
    except ValidationError:
        return None
    entries = draft.entries
    whole = all(name in columns and columns[name].name == name for name in entries.chosen)
    whole &= draft.owner == owner and not faults_of(entries)
    return draft if whole and entries.chosen and entries.layout in LAYOUTS else None


def forget() -> None:
    """Drop the plan that waits for its table."""
    visit().waiting = None


def has_another_subject() -> bool:
    """Whether the address names something other than a plan."""
    return any(name in st.query_params for name in OTHER_SUBJECTS)


def resume(table: Table) -> bool:
    """Continue with the waiting plan if the new `table` has its columns; return whether it has."""
    if not restore(table):
        return False
    forget()
    return True


def restore(table: Table) -> bool:
    """Do what `resume` does, but keep the plan waiting, so that this can be repeated after an interruption."""
    here = visit()
    draft = here.waiting
    if draft is None or _lacking(draft, (field.name for field in table.columns)):
        return False
    here.refresh(_with_lists_of(table, draft.entries))
    here.settle(*draft.settled)
    with suppress(PlanError):  # the entries are not complete yet
        here.plan = to_plan(here.entries)
    return True


def show_what_waits() -> None:
    """Show which plan waits, why, and a button to drop it."""
    draft, table = visit().waiting, visit().table
    if draft is None:
        return
    missed = [] if table is None else lacking(draft)
    name = plain(draft.table or draft.entries.title)
    if visit().waits_for_first_time and not missed:
        text = _(
            "**The plan for {table} is open.** Bring its table and go on from there; any table with its columns will "
            "do.",
            table=name,
        )
    elif table is None:
        text = _(
            "**Your plan for {table} is back.** Tables are not kept when the page is reloaded: bring the table again "
            "and go on where you were. The plan stays in this tab of your browser until you close it.",
            table=plain(draft.table),
        )
    elif missed:
        text = _(
            "Your plan for {table} still waits for its table; this one has no {columns}.",
            table=name,
            columns=some_of(map(plain, missed)),
        )
    else:
        text = _("Your plan for {table} still waits for its table.", table=name)
    st.info(text, icon=":material/history:")
    st.button(_("Forget that plan"), key="forget-plan", on_click=forget, type="tertiary", icon=":material/close:")


def offer_earlier() -> None:
    """Offer the plan of the table before, and those of the last releases of the dataset and of others like it.

    A file of next year has another name, and so at first another dataset, whose columns have the same names.
    """
    here = visit()
    if here.table is None or here.entries.chosen:
        return
    own = here.entries.dataset
    offers = {"earlier-plan": here.earlier, "last-plan": recent.last_published(own)}
    with suppress(LedgerError):  # reported where a budget is spent
        for place, name in enumerate(recent.with_columns_of_the_table(own, here.ledger)):
            offers[f"last-plan-{place}"] = recent.last_published(name)
    for key, draft in offers.items():
        if draft is None or not fits(draft):
            continue
        st.button(
            _("Take over the plan for {table}", table=plain(draft.table)),
            key=here.key(key),
            icon=":material/content_copy:",
            on_click=take_over,
            args=(draft,),
            help=_("Its budget too: the same people in a later table share the dataset's budget."),
        )


def take_over(draft: Draft, *, for_another_table: bool = False) -> None:
    """Continue with a plan, for the open table if that has its columns; otherwise the plan waits for its table.

    A plan `for_another_table` waits for one, unless nothing was decided yet about the open table.
    """
    here = visit()
    if not fits(draft) or (for_another_table and here.entries.chosen):
        here.waiting, here.waits_for_first_time = draft, True
        here.open_step("table")
        return
    entries = draft.entries if here.table is None else _with_lists_of(here.table, draft.entries)
    here.refresh(entries, lambda: _("open the plan for {table}", table=draft.table))
    here.made_before = True
    here.settled = {"table"}
    here.settle(*draft.settled)


def without(draft: Draft, columns: Sequence[str]) -> Draft:
    """Return the draft without some columns of its table, in no table that it publishes."""
    entries = draft.entries
    rest = tuple(name for name in entries.chosen if table_column(entries.declared, name) not in columns)
    return replace(draft, entries=entries.with_(chosen=rest))


def fits(draft: Draft) -> bool:
    """Whether the open table has all columns that the draft needs."""
    return visit().table is not None and not lacking(draft)


def carry_over(table: Table) -> bool:
    """Continue with the plan of the table before if the new `table` has the same columns; return whether it has."""
    here = visit()
    draft = here.earlier
    if draft is None or here.earlier_columns != {field.name for field in table.columns}:
        return False
    here.refresh(draft.entries)
    here.settle(*draft.settled)
    here.history, here.continued, here.made_before = here.earlier_history, draft.table, True
    return True


def _with_lists_of(table: Table, entries: Entries) -> Entries:
    """Return the entries with suggestions from the table's file, which are not kept until a person confirms them."""
    declared, texts = dict(entries.declared), dict(entries.texts)
    for column in table.columns:
        entry = declared.get(column.name, {})
        if column.words and waits_for_a_list(entry):
            declared[column.name] = entry | {"values": [code for code, _ in column.words]}
            texts[column.name] = texts_from_file(column.label, column.words) | texts.get(column.name, {})
    return entries.with_(declared=declared, texts=texts)


def needed(draft: Draft) -> list[str]:
    """Return the columns of a table that the draft needs."""
    entries = draft.entries
    chosen = [table_column(entries.declared, name) for name in entries.chosen]
    return [*chosen, *([entries.id_column] if entries.several_rows and entries.id_column else [])]


def lacking(draft: Draft) -> list[str]:
    """Return the columns that the draft needs but the open table lacks; all if none is open."""
    table = visit().table
    return _lacking(draft, () if table is None else (field.name for field in table.columns))


def _lacking(draft: Draft, names: Iterable[str]) -> list[str]:
    there = set(names)
    return [name for name in needed(draft) if name not in there]
