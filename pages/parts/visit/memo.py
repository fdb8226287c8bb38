"""Results kept in the session, so that looking at a page again draws and computes nothing again."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import TypeVar

import streamlit as st

__all__ = ["kept"]

T = TypeVar("T")


def kept(name: str, key: Hashable, compute: Callable[[], T], *, most: int = 1) -> T:
    """Return the result that is kept under `name` for this `key`; compute and keep it if there is none.

    Of one name the last `most` results are kept. The key must name everything that the result depends on.
    """
    results: dict[Hashable, T] = st.session_state.setdefault(f"kept-{name}", {})
    if key not in results:
        while len(results) >= most:
            results.pop(next(iter(results)))
        results[key] = compute()
    return results[key]
