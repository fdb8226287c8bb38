"""The drop zone for large files: looks like Streamlit's own, and sends to `upload_route`."""

from __future__ import annotations

from pathlib import Path

import streamlit as st

from dpengine.translation.catalogue import _, language
from pages.parts.server import upload_route, uploads

__all__ = ["drop_zone"]

HERE = Path(__file__).parent

_html, _css, _js = ((HERE / f"drop_zone.{part}").read_text(encoding="utf-8") for part in ("html", "css", "js"))
_zone = st.components.v2.component("drop_zone", html=_html, css=_css, js=_js)


def drop_zone(label: str, note: str, place: uploads.Place, *, key: str) -> uploads.Place:
    """Draw the drop zone, and return `place`, which has its file once that has arrived whole."""
    _zone(
        key=key,
        data={
            "label": label,
            "note": note,
            "address": upload_route.address(),
            "token": place.token,
            "limit": uploads.limit(),
            "kinds": uploads.KINDS,
            "arrivals": place.arrivals,  # a change of this makes it draw itself again
            "language": language(),
            "words": _words(),
        },
        on_received_change=lambda: None,
    )
    return place


def _words() -> dict[str, str]:
    """Return the texts of the drop zone, with placeholders for what only the browser knows."""
    return {
        "kinds": _("CSV, Parquet, Excel, SPSS, Stata, SAS and others"),
        "note": _("Up to {size} • {kinds}. {note}"),
        "upload": _("Upload"),
        "cancel": _("Cancel"),
        "unknown": _("Files of this kind are not known here. Known are {kinds}."),
        "too_large": _("{size} is more than this server takes."),
        "sent": _("{sent} of {size}"),
        "reading": _("Reading"),
        "refused": _("The upload was refused."),
        "broken": _("The upload broke off. Nothing was kept; try again."),
    }
