"""The strategy of the plan on the screen, decided once for all parts of a page that ask for it."""

from __future__ import annotations

import streamlit as st

from dpengine.measure.strategy import Strategy, decide
from dpengine.spec.plan import Plan

__all__ = ["decided"]


@st.cache_resource(
    scope="session", max_entries=32, show_spinner=False, hash_funcs={Plan: lambda plan: plan.model_dump_json()}
)
def decided(plan: Plan) -> Strategy:
    """Return the strategy of `plan`; the session keeps the last ones, with what they have computed."""
    return decide(plan)
