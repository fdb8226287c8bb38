"""Entries of the ledger as a table on the page, and as files to download."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any

import pandas as pd
import streamlit as st

from dpengine import safe_csv
from dpengine.accounting.entry import Kind
from dpengine.charts.style import join_names
from dpengine.translation.catalogue import _, plural
from pages.parts.shared.made_on_click import offer_file

__all__ = ["content", "kinds_in_words", "offer_files", "show_entries"]


def kinds_in_words(kinds: Iterable[Kind]) -> str:
    """Return how many entries of each kind there are.

    >>> kinds_in_words([Kind.ANSWER, Kind.RELEASE, Kind.ANSWER]), kinds_in_words([])
    ('1 release and 2 answers', '0 releases')
    """
    counts = Counter(kinds)
    return join_names([_counted(kind, counts[kind]) for kind in Kind if counts[kind]] or [_counted(Kind.RELEASE, 0)])


def _counted(kind: Kind, entries: int) -> str:
    match kind:
        case Kind.RELEASE:
            return plural("{n} release", "{n} releases", entries)
        case Kind.ANSWER:
            return plural("{n} answer", "{n} answers", entries)
        case Kind.CHOICE:
            return plural("{n} choice", "{n} choices", entries)
        case Kind.MECHANISM:
            return plural("{n} mechanism", "{n} mechanisms", entries)


def show_entries(frame: pd.DataFrame, alt: str, columns: Mapping[str, Any]) -> None:
    """Show the rows in reverse order, the latest entry first; the column `when` holds their times (ISO 8601)."""
    latest = frame.iloc[::-1].assign(when=pd.to_datetime(frame["when"], utc=True, format="ISO8601"))
    when = st.column_config.DatetimeColumn(_("when"), format=_("YYYY-MM-DD") + " HH:mm")
    st.dataframe(latest, hide_index=True, alt=alt, column_config={"when": when, **columns})


def offer_files(
    what: str, stem: str, rows: Sequence[Mapping[str, Any]], *, details: Sequence[Any] | None = None
) -> None:
    """Show buttons to download `rows` as `stem`.csv and `stem`.json, with their `details` in the latter.

    `what` names them on the buttons, as a text marked for translation.
    """
    mimes = {"csv": "text/csv", "json": "application/json"}
    with st.container(horizontal=True):
        for kind, mime in mimes.items():
            offer_file(
                _("Download {what} ({kind})", what=_(what), kind=kind.upper()),
                partial(content, kind, rows, details),
                f"{stem}.{kind}",
                mime,
                icon=":material/download:",
                key=f"{what}-{kind}",
            )


def content(kind: str, rows: Sequence[Mapping[str, Any]], details: Sequence[Any] | None = None) -> bytes:
    """Return `rows` as csv or as json; in JSON, each row also has its `details`."""
    if kind == "csv":
        return safe_csv.from_frame(pd.DataFrame(rows))
    whole = rows if details is None else [{**row, "details": more} for row, more in zip(rows, details, strict=True)]
    return json.dumps(whole, ensure_ascii=False, indent=1).encode()
