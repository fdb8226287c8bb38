"""A plan that outlives a reload of its tab: what the owner typed and names of columns, as text for the browser to keep.

The table does not come back. A file is asked for again, and what was entered goes on with it where its columns are
there; so nothing that a browser or an address holds leads to private rows.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from typing import Literal

import streamlit as st
from pydantic import BaseModel, Field, TypeAdapter, ValidationError

from dpengine import PlanError
from dpengine.sources.table import Table
from pages.parts.shared.wording import plain
from pages.parts.visit import plan_form as draft
from pages.parts.visit import session, state
from pages.parts.visit.plan_form import Entries

__all__ = [
    "Draft", "another_matter", "awaited", "current", "forget", "from_text", "goes_on", "resume", "say_what_waits",
    "take_back", "to_text",
]  # fmt: skip

ANOTHER_MATTER = ("release", "publishing", "answer")  # in the address: something that is finished, or nearly
MOST = 2_000_000  # letters that a browser keeps for a page without complaint


class _Said(BaseModel):
    """What must hold of a column's entry, for the page to show it."""

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


@dataclass(frozen=True)
class Draft:
    """What was entered for a table, by the table's name; ``sample`` is the key of one that is here."""

    table: str
    sample: str
    settled: tuple[str, ...]
    entries: Entries


_drafts, _columns = TypeAdapter(Draft), TypeAdapter(dict[str, _Said])


def current() -> Draft | None:
    """What would be lost with this session: the plan at hand, or one that still waits for its table."""
    entries = session.entries()
    if session.table() is None or not entries.chosen:
        return awaited()
    return Draft(session.table_name(), session.sample(), tuple(sorted(session.settled())), entries)


def to_text(kept: Draft) -> str | None:
    """JSON; None where it is too long for a browser to keep."""
    text = _drafts.dump_json(kept).decode()
    return text if len(text) <= MOST else None


def from_text(text: str) -> Draft | None:
    """None where this is no draft: text from a browser may be anything."""
    try:
        found = _drafts.validate_json(text)
        columns = _columns.validate_python(found.entries.declared)
    except ValidationError:
        return None
    said = found.entries
    whole = all(name in columns and columns[name].name == name for name in said.chosen)
    return found if whole and said.chosen and said.layout in draft.LAYOUTS and said.rows > 0 else None


def awaited() -> Draft | None:
    """The plan that is back and waits for its table."""
    return st.session_state.get("awaited")


def take_back(kept: Draft) -> None:
    """Let a plan wait for its table to be brought again."""
    st.session_state["awaited"] = kept


def forget() -> None:
    st.session_state.pop("awaited", None)


def another_matter() -> bool:
    """Whether the address names something that has nothing to do with a plan."""
    return any(name in st.query_params for name in ANOTHER_MATTER)


def resume(table: Table) -> bool:
    """Go on with the plan that waits, where ``table``, which has just been brought, has its columns."""
    if not goes_on(table):
        return False
    forget()
    return True


def goes_on(table: Table) -> bool:
    """As `resume`, and the plan waits on: for what may be broken off and done again."""
    kept = awaited()
    if kept is None or _lacking(kept, (field.name for field in table.columns)):
        return False
    session.refresh(kept.entries)
    session.settle(*kept.settled)
    with suppress(PlanError):  # half-filled
        state.set_plan(draft.to_plan(kept.entries))
    return True


def say_what_waits() -> None:
    """The plan that waits, why it does, and the way to be rid of it."""
    kept, table = awaited(), session.table()
    if kept is None:
        return
    if table is None:
        said = (
            f"**Your plan for {plain(kept.table)} is back.** Tables are not kept over a reload: bring it again, and "
            "go on where you were. The plan stays in this tab of your browser until you close it."
        )
    else:
        lacking = ", ".join(map(plain, _lacking(kept, (field.name for field in table.columns))))
        said = f"Your plan for {plain(kept.table)} still waits for its table" + (
            f"; this one has no {lacking}." if lacking else "."
        )
    st.info(said, icon=":material/history:")
    st.button("Forget that plan", key="forget-plan", on_click=forget, type="tertiary", icon=":material/close:")


def _lacking(kept: Draft, names: Iterable[str]) -> list[str]:
    entries, there = kept.entries, set(names)
    needed = [*entries.chosen, *([entries.id_column] if entries.several_rows and entries.id_column else [])]
    return [name for name in needed if name not in there]
