"""The drop zone of large files: looks like Streamlit's, and sends to `pages.parts.server.upload_route`."""

from __future__ import annotations

from pathlib import Path

import streamlit as st

from pages.parts.server import upload_route, uploads
from pages.parts.visit import session

__all__ = ["drop_zone"]

PARTS = Path(__file__).parent

_zone = st.components.v2.component(
    "drop_zone",
    **{part: (PARTS / f"drop_zone.{part}").read_text(encoding="utf-8") for part in ("html", "css", "js")},
)


def drop_zone(label: str, note: str) -> uploads.Place:
    """Draw it; the place where its file is, once one has arrived whole."""
    found = session.place()
    _zone(
        key=session.key("drop-zone"),
        data={
            "label": label,
            "note": note,
            "address": upload_route.address(),
            "token": found.token,
            "limit": uploads.limit(),
            "kinds": uploads.KINDS,
            "arrivals": found.arrivals,  # a change lets it draw itself anew
            "kinds_said": "CSV, TSV, Parquet, Excel or Arrow",
        },
        on_received_change=lambda: None,
    )
    return found
