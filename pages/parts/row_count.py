"""How many rows the owner's table has: asked beside the page, for an engine elsewhere may take long to say."""

from __future__ import annotations

import streamlit as st

from dpengine import TableError, counting
from pages.parts import jobs, session
from pages.parts.jobs import Job
from pages.parts.words import plural

__all__ = ["row_count", "rows_in_words"]

QUICK = 1.0  # seconds that a small table is waited for


def row_count() -> int | None:
    """The exact number, for the owner's eyes only; None as long as it is not known, or where it cannot be."""
    if "row_count" not in st.session_state:
        table = session.table()
        assert table is not None
        job: Job[int] | None = st.session_state.get("counting_rows")
        if job is None:
            job = st.session_state["counting_rows"] = jobs.start(lambda _: counting.row_count(table), table)
            job.wait(QUICK)
        if not job.done:
            return None
        try:
            st.session_state["row_count"] = job.result()
        except (TableError, jobs.Stopped):
            st.session_state["row_count"] = None
    known: int | None = st.session_state["row_count"]
    return known


def rows_in_words() -> str:
    """The number with its noun, or why there is none yet; the page then comes back to it by itself."""
    rows = row_count()
    if rows is not None:
        return f"{plural(rows, 'row')} (only you see this number)"
    if "row_count" in st.session_state:
        return "its rows cannot be counted just now"
    _await(st.session_state["counting_rows"])
    return "its rows are being counted"


@st.fragment(run_every=1.0)
def _await(job: Job[int]) -> None:
    if job.done:
        st.rerun()
