"""The keyboard focus after a click: the button that opened a step is gone from the page, and the focus with it."""

from __future__ import annotations

from pathlib import Path

import streamlit as st

from dpengine.translation.catalogue import _
from pages.parts.server.front_end import LATER
from pages.parts.visit.state import visit

__all__ = ["follow"]

_focus = st.components.v2.component("focus", js=Path(__file__).with_name("focus.js").read_text(encoding="utf-8"))


def follow(page: str) -> None:
    """Move the focus to the heading that the page named, if that is a new one, and close the menu on a phone.

    It also says what to do if the server cannot be reached, and loads the script for charts before one is shown. It
    asks for another run when the visitor's system turns dark or light, since charts have the colours of the run that
    drew them, and when a file could not be made: that run says why.

    To be called once a run, after `page` was drawn.
    """
    (at, scroll), visit().focus = visit().focus, ("", False)
    away = _(
        "The page cannot reach its server, which may have been stopped or restarted. Your plan is kept in this tab: "
        "reload the page once the server answers again, and bring your table again."
    )
    data = {"page": page, "at": at, "scroll": scroll, "away": away,
            "awayTitle": _("Connection error"), "help": _("Help for {words}"), "later": LATER,
            "unmade": _("The file could not be made."), "ground": st.context.theme.type}  # fmt: skip
    with st.container(key="focus"):
        _focus(key="focus-component", data=data, on_turned_change=lambda: None)
