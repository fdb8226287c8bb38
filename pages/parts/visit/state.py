"""What one visitor's session holds. Nothing here is ever shared between sessions.

Private data (the opened table) lives in ``st.session_state`` only, never in a cache. The ledger is the
one thing that all sessions share, through its database.
"""

from __future__ import annotations

import streamlit as st

from dpengine import Ledger, Plan
from dpengine.release import Release

__all__ = ["enter", "ledger", "plan", "release", "require_entry", "set_plan", "set_release"]


def enter() -> None:
    """Note that this visitor came in through ``app.py``, where all that concerns every page is settled."""
    st.session_state["entered"] = True


def require_entry() -> None:
    """Send a visitor who came to a page directly to the entry first.

    Until some session has met ``app.py``, a server serves the files of ``pages`` by themselves.
    """
    if "entered" not in st.session_state:
        st.switch_page("app.py")


def ledger() -> Ledger:
    """The ledger of this installation: where PRIVATE_RELEASE_LEDGER says, else in the person's data folder."""
    if "ledger" not in st.session_state:
        st.session_state["ledger"] = Ledger()
    book: Ledger = st.session_state["ledger"]
    return book


def plan() -> Plan | None:
    """The visitor's plan, where what they have entered so far makes a whole one."""
    return st.session_state.get("plan")


def set_plan(whole: Plan | None) -> None:
    st.session_state["plan"] = whole


def release() -> Release | None:
    """The release that this visitor has just published or reopened."""
    return st.session_state.get("release")


def set_release(finished: Release | None) -> None:
    st.session_state["release"] = finished
