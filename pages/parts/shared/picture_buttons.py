"""Buttons that save a chart as a picture: SVG for print, and PNG at twice the size for slides and texts."""

from __future__ import annotations

import re
from pathlib import Path

import streamlit as st

from dpengine.charts.style import SAVED_WIDTH
from dpengine.translation.catalogue import _

__all__ = ["picture_buttons"]

CSS = """
.row { display: flex; gap: 0.5rem; align-items: center; justify-content: flex-end; font-family: var(--st-font);
  font-size: 0.875rem; color: var(--st-text-color); }
button { min-height: 1.75rem; padding: 0 0.6rem; font: inherit; color: inherit; cursor: pointer;
  background: var(--st-background-color); border: 1px solid var(--st-border-color);
  border-radius: var(--st-button-radius); }
button:hover { border-color: var(--st-primary-color); color: var(--st-primary-color); }
button:focus-visible { outline: 2px solid var(--st-primary-color); outline-offset: 2px; }
"""
JS = Path(__file__).with_suffix(".js").read_text(encoding="utf-8")
_buttons = st.components.v2.component("picture_buttons", html='<div class="row"></div>', css=CSS, js=JS)


def picture_buttons(place: str, name: str) -> None:
    """Offer the chart in the container with the key `place` as a picture; `name` is the file's name."""
    file = re.sub(r"[^\w-]+", "-", name).strip("-").lower() or "chart"
    _buttons(
        key=f"{place}-pictures",
        data={
            "place": place,
            "name": file,
            "words": _("Save chart"),
            "formats": ["svg", "png"],
            "titles": [_("Save this chart as SVG"), _("Save this chart as PNG")],
            "width": SAVED_WIDTH,
            "scale": 2,
        },
    )
