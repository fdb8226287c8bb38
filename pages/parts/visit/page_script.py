"""The script of every page: it moves the keyboard focus, and mends what Streamlit's page lacks for some visitors."""

from __future__ import annotations

from pathlib import Path

import streamlit as st

from dpengine.translation.catalogue import _
from pages.parts.server.front_end import CHART_SCRIPTS
from pages.parts.visit.state import visit

__all__ = ["run"]

_script = st.components.v2.component("page_script", js=Path(__file__).with_suffix(".js").read_text(encoding="utf-8"))


def run(page: str) -> None:
    """Run the script; to be called once a run, after `page` was drawn.

    It moves the focus to the heading that the page named, if that is a new one: the button that opened a step is gone
    from the page, and the focus with it. It closes the menu on a phone once a page is chosen, says what to do if the
    server cannot be reached, and loads the script for charts before one is shown. It asks for another run when the
    visitor's system turns dark or light, since charts have the colours of the run that drew them, and when a file could
    not be made: that run says why.
    """
    (at, scroll), visit().focus = visit().focus, ("", False)
    away = _(
        "The page cannot reach its server, which may have been stopped or restarted. Your plan is kept in this tab: "
        "reload the page once the server answers again, and bring your table again."
    )
    data = {
        "page": page,
        "at": at,
        "scroll": scroll,
        "away": away,
        "awayTitle": _("Connection error"),
        "unmade": _("The file could not be made."),
        "help": _("Help for {words}"),
        "boxes": {
            "all": _("Select all"),
            "matches": _("Select {text} matches"),
            "add": _("Add: {text}"),
            "none": _("No results"),
            "apply": _("Press {text} to apply"),
            "upload": _("Upload"),
            "upTo": _("Up to {text}"),
        },
        "later": CHART_SCRIPTS,
        "ground": st.context.theme.type,
    }
    with st.container(key="page-script"):
        _script(key="page-script-component", data=data, on_turned_change=lambda: None)
