"""The Publish page's part of a visitor's session: the table, the entries, and which step is open."""

from __future__ import annotations

from typing import Any

import streamlit as st

from dpengine.sources.table import Table
from pages.parts.server import jobs, session_resources, uploads
from pages.parts.visit import background_read
from pages.parts.visit.plan_form import Entries

__all__ = [
    "begin", "begin_with", "change", "entries", "hold", "key", "open_step", "opened", "place", "refresh", "sample",
    "settle", "settled", "source", "table", "table_name", "turn", "turned",
]  # fmt: skip

STEPS = ("table", "columns", "domain", "unit")


def key(name: str) -> str:
    """A widget's key, fresh for each table, so that nothing typed for one shows up in another."""
    return f"{name}-{st.session_state.get('generation', 0)}"


def turned(name: str) -> str:
    """A widget's key that `turn` makes fresh: a box takes its new content, a popover closes."""
    return key(f"{name}-{st.session_state.setdefault('turns', {}).get(name, 0)}")


def turn(name: str) -> None:
    turns: dict[str, int] = st.session_state.setdefault("turns", {})
    turns[name] = turns.get(name, 0) + 1


def entries() -> Entries:
    found: Entries = st.session_state.setdefault("entries", Entries())
    return found


def change(**changes: Any) -> None:
    """Take new values into the entries."""
    st.session_state.pop("unpublished", None)
    st.session_state["entries"] = entries().with_(**changes)


def begin(fresh: Entries) -> None:
    """Start over with a new table: forget the one before, its file, and all that was typed for it."""
    background_read.drop_all()
    if (before := table()) is not None:
        jobs.close(before)
    for old in (source(), st.session_state.get("place")):
        if old is not None:
            old.close()
    for name in (
        "place",
        "table",
        "table_name",
        "sample",
        "source",
        "release",
        "preview",
        "unpublished",
    ):
        st.session_state.pop(name, None)
    st.query_params.clear()
    st.session_state["generation"] = st.session_state.get("generation", 0) + 1
    st.session_state["entries"] = fresh
    st.session_state["settled"] = set()


def refresh(fresh: Entries) -> None:
    """Take other entries for the table at hand; every widget shows them."""
    st.session_state["generation"] = st.session_state.get("generation", 0) + 1
    st.session_state["entries"] = fresh


def begin_with(opened_table: Table, came_as: uploads.Place, fresh: Entries) -> None:
    """Start over with a table that was read from ``came_as``, whose file stays for as long as the table does."""
    came_as.seal()
    for name in ("place", "source"):
        if st.session_state.get(name) is came_as:
            del st.session_state[name]
    begin(fresh)
    hold(opened_table, came_as.name)
    st.session_state["source"] = came_as


def hold(opened_table: Table, name: str, *, sample: str = "") -> None:
    """Keep the opened table for as long as the session lives; ``sample`` is the key of one that anyone may load."""
    session_resources.keep(opened_table)
    st.session_state["sample"] = sample
    st.session_state["table"] = opened_table
    st.session_state["table_name"] = name
    settle("table")


def place() -> uploads.Place:
    """The one open place of this session for a file to come."""
    found: uploads.Place | None = st.session_state.get("place")
    if found is None or found.closed:
        found = uploads.Place(session_resources.here())
        session_resources.keep(found)
        st.session_state["place"] = found
    return found


def source() -> uploads.Place | None:
    """Where the file of the table is, if it came as a file."""
    return st.session_state.get("source")


def table() -> Table | None:
    return st.session_state.get("table")


def table_name() -> str:
    return str(st.session_state.get("table_name", ""))


def sample() -> str:
    """The key of the sample at hand; "" where the table is another."""
    return str(st.session_state.get("sample", ""))


def settle(*steps: str, all_steps: bool = False) -> None:
    """Fold steps (or all of them) and open the next one that is not settled."""
    done = settled()
    done |= set(STEPS) if all_steps else set(steps)
    st.session_state["step"] = next((name for name in STEPS if name not in done), "")


def settled() -> set[str]:
    """The steps that are filled in."""
    done: set[str] = st.session_state.setdefault("settled", set())
    return done


def open_step(step: str) -> None:
    st.session_state["step"] = step


def opened() -> str:
    """The step that is open; "" when all are settled."""
    if table() is None:
        return "table"
    return str(st.session_state.get("step", "table"))
