"""A plan that survives a reload of its tab: what the owner typed and the names of columns, as text in the browser.

The table does not come back. A file is asked for again, and the entries go on with it if it has the same columns.
So nothing that a browser or an address holds leads to private rows.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from typing import Literal

import streamlit as st
from pydantic import BaseModel, Field, TypeAdapter, ValidationError

from dpengine import LedgerError, PlanError
from dpengine.accounting.entry import Kind
from dpengine.release import reopen
from dpengine.sources.table import Table
from pages.parts.shared.wording import plain
from pages.parts.visit.plan_form import LAYOUTS, Draft, from_plan, to_plan
from pages.parts.visit.state import STEPS, visit

__all__ = [
    "current", "forget", "from_text", "has_another_subject", "offer_earlier", "restore", "resume", "show_what_waits",
    "to_text",
]  # fmt: skip

OTHER_SUBJECTS = ("release", "publishing", "answer")  # in the address: something that is finished, or nearly
MAX_LETTERS = 2_000_000  # that a browser keeps for a page without complaint


class _Entry(BaseModel):
    """What must hold of a column's entry for the page to be able to show it."""

    name: str
    kind: Literal["number", "category", "yesno", "date"]
    source: Literal["typed", "codebook", "standard", "confirmed"] = "typed"
    other: bool = True
    missing: bool = True
    missing_as: list[str] = []
    edges: list[str] = []
    values: list[str] = []
    first: str = Field("", alias="from")
    last: str = Field("", alias="to")
    by: Literal["day", "week", "month", "quarter", "year"] = "month"
    format: str | None = None
    suggested: bool = False
    written: str = ""


_drafts, _columns = TypeAdapter(Draft), TypeAdapter(dict[str, _Entry])


def current() -> Draft | None:
    """Return what would be lost with this session: the plan at hand, or one that still waits for its table."""
    here = visit()
    if here.table is None or not here.entries.chosen:
        return here.waiting
    return Draft(here.table_name, here.sample, tuple(sorted(here.settled)), here.entries, here.account.owner)


def to_text(draft: Draft) -> str | None:
    """Return the draft as JSON, or None if it is too long for a browser to keep."""
    text = _drafts.dump_json(draft).decode()
    return text if len(text) <= MAX_LETTERS else None


def from_text(text: str, owner: str = "") -> Draft | None:
    """Read a draft back; None if it is another owner's, or no draft: text from a browser may be anything."""
    try:
        draft = _drafts.validate_json(text)
        columns = _columns.validate_python(draft.entries.declared)
    except ValidationError:
        return None
    entries = draft.entries
    whole = all(name in columns and columns[name].name == name for name in entries.chosen)
    whole &= draft.owner == owner
    return draft if whole and entries.chosen and entries.layout in LAYOUTS and entries.rows > 0 else None


def forget() -> None:
    """Give up the plan that waits for its table."""
    visit().waiting = None


def has_another_subject() -> bool:
    """Whether the address names something that has nothing to do with a plan."""
    return any(name in st.query_params for name in OTHER_SUBJECTS)


def resume(table: Table) -> bool:
    """Go on with the plan that waits if `table`, just brought, has its columns; return whether it has."""
    if not restore(table):
        return False
    forget()
    return True


def restore(table: Table) -> bool:
    """Do what `resume` does but let the plan wait on, so that it can be done again after an interruption."""
    here = visit()
    draft = here.waiting
    if draft is None or _lacking(draft, (field.name for field in table.columns)):
        return False
    here.refresh(draft.entries)
    here.settle(*draft.settled)
    with suppress(PlanError):  # half-filled
        here.plan = to_plan(draft.entries)
    return True


def show_what_waits() -> None:
    """Show which plan waits, why, and a button to give it up."""
    draft, table = visit().waiting, visit().table
    if draft is None:
        return
    if table is None:
        text = (
            f"**Your plan for {plain(draft.table)} is back.** Tables are not kept when the page is reloaded: bring "
            "the table again and go on where you were. The plan stays in this tab of your browser until you close it."
        )
    else:
        lacking = ", ".join(map(plain, _lacking(draft, (field.name for field in table.columns))))
        text = f"Your plan for {plain(draft.table)} still waits for its table" + (
            f"; this one has no {lacking}." if lacking else "."
        )
    st.info(text, icon=":material/history:")
    st.button("Forget that plan", key="forget-plan", on_click=forget, type="tertiary", icon=":material/close:")


def offer_earlier() -> None:
    """Offer the plan of the table before this one, and that of the dataset's last release, if they fit this table."""
    here = visit()
    if here.table is None or here.entries.chosen:
        return
    offers = {"earlier-plan": here.earlier, "last-plan": _last_published()}
    for key, draft in offers.items():
        if draft is None or _lacking(draft, (field.name for field in here.table.columns)):
            continue
        st.button(
            f"Take over the plan for {plain(draft.table)}",
            key=here.key(key),
            icon=":material/content_copy:",
            on_click=_take_over,
            args=(draft,),
            help="Its budget too: the same people in a later table share the dataset's budget.",
        )


def _last_published() -> Draft | None:
    """Return the plan of the last release of the dataset at hand, as its name has it; None if there is none."""
    here, dataset = visit(), visit().entries.dataset

    def look() -> tuple[Draft | None]:
        with suppress(LedgerError):  # it is reported where a budget is spent
            releases = [entry for entry in here.ledger.history(dataset) if entry.kind is Kind.RELEASE]
            payload = here.ledger.payload(releases[-1].release_id) if releases else None
            if payload is not None:
                last, plan = releases[-1], reopen(payload).plan
                name = f"{last.dataset}, published on {last.created[:10]}"
                return (Draft(name, "", STEPS, from_plan(plan), here.account.owner),)
        return (None,)

    return here.once("last-published", dataset, look)[0]


def _take_over(draft: Draft) -> None:
    visit().refresh(draft.entries)
    visit().settle(*draft.settled)


def _lacking(draft: Draft, names: Iterable[str]) -> list[str]:
    """Return the columns that the draft needs and that are not among `names`."""
    entries, there = draft.entries, set(names)
    needed = [*entries.chosen, *([entries.id_column] if entries.several_rows and entries.id_column else [])]
    return [name for name in needed if name not in there]
