"""The strategy of the plan on the screen, decided once for all parts of a page."""

from __future__ import annotations

import streamlit as st

from dpengine import Plan, Strategy, decide

__all__ = ["strategy_of"]


@st.cache_resource(
    scope="session", max_entries=32, show_spinner=False, hash_funcs={Plan: lambda plan: plan.model_dump_json()}
)
def strategy_of(plan: Plan) -> Strategy:
    """Return the strategy of `plan`; the session keeps the last few, with their allocations."""
    return decide(plan)
