"""Ask for one of a few choices, which stand side by side."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeVar

import streamlit as st

from dpengine.translation.catalogue import _

__all__ = ["choose_one"]

T = TypeVar("T")


def choose_one(label: str, options: Iterable[T], key: str, **more: Any) -> T:
    """Show options of which one is always chosen, the first one at first, and return it.

    They are English texts, translated where they are shown, unless `more` has a `format_func`; it goes to the widget.
    """
    choices, look = list(options), {"format_func": _, **more}
    chosen: T = st.segmented_control(label, choices, default=choices[0], required=True, key=key, **look)
    return chosen
