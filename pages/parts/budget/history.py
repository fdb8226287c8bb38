"""Every paid entry of the ledger on the Budget page, to open again and to download."""

from __future__ import annotations

import re

import pandas as pd
import streamlit as st

from dpengine.accounting.entry import Entry, Kind
from dpengine.accounting.ledger import Ledger
from dpengine.exact import exact_text, exactly
from dpengine.translation.catalogue import ENGLISH, _, day, localised, mark, plural, speaking
from pages.parts.release.ledger_entry import show_entry
from pages.parts.shared.entries_table import offer_files, show_entries
from pages.parts.visit.same_people import alike_in_words

__all__ = ["show_history"]

PUBLISH = "pages/publish.py"
# What the ledger says of entries, in English.
QUESTIONS = (
    mark("one question: count"),
    mark("one question: proportion"),
    mark("one question: sum"),
    mark("one question: mean"),
    mark("one question: variance"),
    mark("one question: quantile"),
    mark("one question: mode"),
)
CHOICE = re.compile(r"one choice among ([\d,]+) candidates")
TABLES = re.compile(r"(\d+) tables: (.+)", re.DOTALL)


def show_history(ledger: Ledger, entries: list[Entry], dataset: str) -> None:
    """List all that was paid for, let the visitor open an entry again, and offer the list as files."""
    st.header(_("What was paid for"))
    if not entries:
        st.markdown(_("None yet."))
        return
    with speaking(ENGLISH):  # the files are the same in every language
        rows = [
            {
                "created": entry.created,
                "epsilon": exact_text(entry.epsilon),
                "title": entry.title,
                "bought": entry.summary,
                "dataset": entry.dataset,
                "recognised": _looks_like(entry),
                "release_id": entry.release_id,
            }
            for entry in entries
        ]
    _list(pd.DataFrame(rows), entries)
    _offer_to_open(ledger, entries)
    name = "".join(c if c.isalnum() or c in "-_" else "_" for c in dataset)
    offer_files(mark("ledger"), f"{name}-budget", rows)


def _list(rows: pd.DataFrame, entries: list[Entry]) -> None:
    """Show the rows of all entries in the page's language, without columns that would say nothing."""
    shown = rows.rename(columns={"created": "when"}).assign(
        epsilon=rows["epsilon"].map(localised),
        bought=[*map(_contents, entries)],
        recognised=[*map(_looks_like, entries)],
    )
    if shown["dataset"].nunique() == 1:
        shown = shown.drop(columns="dataset")
    if not any(entry.recognised for entry in entries):
        shown = shown.drop(columns="recognised")
    text = st.column_config.TextColumn
    columns = {
        "epsilon": text("ε", alignment="right"),
        "title": text(_("title")),
        "bought": text(_("contents"), width="large"),
        "dataset": text(_("dataset")),
        "recognised": text(_("looks like"), help=_("Earlier tables of the same people, recognised by their rows.")),
        "release_id": text(_("release"), help=_("The identifier in the release's own files.")),
    }
    show_entries(shown, _("All entries, the latest first"), columns)


def _offer_to_open(ledger: Ledger, entries: list[Entry]) -> None:
    """Ask for an entry, and show it; a release of tables is shown on Publish."""
    pick, link = st.columns([3, 1], vertical_alignment="bottom")
    entry = pick.selectbox(
        _("Open one again"),
        entries[::-1],
        format_func=lambda e: f"{day(e.created[:10])} · ε {exactly(e.epsilon)} · {e.title or _contents(e)}",
        key="budget_release",
        help=_("What was paid for can be opened again, byte for byte the same, at no cost."),
    )
    payload = ledger.payload(entry.release_id)
    if payload is not None and entry.kind is not Kind.RELEASE:
        show_entry(entry.kind, payload)
    else:
        link.page_link(
            PUBLISH,
            label=_("Open on Publish"),
            icon=":material/open_in_new:",
            query_params={"release": entry.release_id},
        )


def _contents(entry: Entry) -> str:
    """Say what was paid for; the names of a release's columns are as they are."""
    if entry.summary in QUESTIONS:
        return _(entry.summary)
    if match := CHOICE.fullmatch(entry.summary):
        return _("one choice among {n} candidates", n=localised(match[1]))
    if match := TABLES.fullmatch(entry.summary):
        tables = plural("{n} table", "{n} tables", int(match[1]))
        return f"{tables}: {match[2]}"
    return entry.summary


def _looks_like(entry: Entry) -> str:
    """Name the earlier tables that the entry's table looks like."""
    return "; ".join(
        _("{dataset} ({alike}, other people)", dataset=each.dataset, alike=alike_in_words(each))
        if each.other_people
        else f"{each.dataset} ({alike_in_words(each)})"
        for each in entry.recognised
    )
