"""The strategy of the plan on the screen, decided once for all parts of a page."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import streamlit as st

from dpengine import Plan, Strategy, decide

__all__ = ["BY_CONTENT", "strategy_of"]

BY_CONTENT: dict[str | type[Any], Callable[[Any], Any]] = {Plan: Plan.model_dump_json}  # how caches tell plans apart


@st.cache_resource(scope="session", max_entries=32, show_spinner=False, hash_funcs=BY_CONTENT)
def strategy_of(plan: Plan) -> Strategy:
    """Return the strategy of `plan`; the session keeps the last few, with their allocations."""
    return decide(plan)
