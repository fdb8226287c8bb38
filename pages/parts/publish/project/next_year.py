"""Copy a plan to next year: title, period and dataset are asked for again, all else is kept."""

from __future__ import annotations

import re
from dataclasses import replace

import streamlit as st

from dpengine import LedgerError
from dpengine.accounting.entry import same_name
from dpengine.exact import exactly
from dpengine.translation.catalogue import _
from pages.parts.shared.wording import plain
from pages.parts.visit.fault_text import all_faults
from pages.parts.visit.plan.entries import Draft
from pages.parts.visit.state import visit

__all__ = ["ask"]

YEAR = re.compile(r"(?<![0-9])(?:19|20)[0-9]{2}(?![0-9])")
TWO_YEARS = re.compile(r"(?<![0-9])((?:19|20)[0-9]{2})([/–-])([0-9]{2})(?![0-9]|[/–-][0-9])")


def ask(draft: Draft) -> Draft | None:
    """Ask what differs from the copied plan; return the copy once the button is pressed."""
    entries = draft.entries
    with st.expander(_("Copy to next year"), icon=":material/event_repeat:"):
        title = st.text_input(_("Title"), a_year_later(entries.title), key=visit().key(f"copy-title-{draft.table}"))
        period = st.text_input(
            _("Period"), a_year_later(entries.about.get("period", "")), key=visit().key(f"copy-period-{draft.table}")
        )
        dataset = st.text_input(
            _("Dataset whose budget is spent"), entries.dataset, key=visit().key(f"copy-dataset-{draft.table}")
        ).strip()
        try:
            st.caption(_about_the_budget(entries.dataset, dataset))
        except LedgerError as error:
            st.caption(f":material/report: {all_faults(error)}")
        if not st.button(_("Copy it"), key="copy-plan", icon=":material/content_copy:", disabled=not dataset):
            return None
    about = {key: text for key, text in entries.about.items() if key != "period"}
    about |= {"period": period.strip()} if period.strip() else {}
    copied = entries.with_(title=title.strip(), dataset=dataset, about=about)
    return replace(draft, table=title.strip() or dataset, sample="", entries=copied)


def a_year_later(text: str) -> str:
    """Return a text with its latest year increased by one in all places; an unclear text stays as it is.

    >>> a_year_later("Visits 2025"), a_year_later("2020-2025"), a_year_later("Visits")
    ('Visits 2026', '2020-2026', 'Visits')
    >>> a_year_later("1 Jan 2025 to 31 Dec 2025"), a_year_later("2024/25"), a_year_later("2024/12")
    ('1 Jan 2026 to 31 Dec 2026', '2025/26', '2024/12')
    """
    if pairs := list(TWO_YEARS.finditer(text)):
        first, mark, second = pairs[-1].groups()
        if (int(first) + 1) % 100 != int(second):
            return text
        return text.replace(pairs[-1].group(), f"{int(first) + 1}{mark}{(int(second) + 1) % 100:02}")
    years = YEAR.findall(text)
    return re.sub(rf"(?<![0-9]){years[-1]}(?![0-9])", str(int(years[-1]) + 1), text) if years else text


def _about_the_budget(before: str, dataset: str) -> str:
    """Say whether the copy shares the budget of the copied plan."""
    ledger, name = visit().ledger, plain(dataset)
    if not dataset:
        return _("Name the dataset.")
    spent, left = ledger.spent(dataset), ledger.left(dataset)
    places = {"dataset": name, "spent": exactly(spent)}
    if same_name(before) == same_name(dataset):
        if left is None:
            return _(
                "It **shares the budget** of {dataset}: ε = {spent} spent, no cap. Right if many people are in both "
                "years.",
                **places,
            )
        return _(
            "It **shares the budget** of {dataset}: ε = {spent} spent, {left} left. Right if many people are in both "
            "years.",
            **places,
            left=exactly(left),
        )
    if same_name(dataset) in map(same_name, ledger.datasets()):
        if left is None:
            return _("It spends the budget of {dataset}: ε = {spent} spent, no cap.", **places)
        return _("It spends the budget of {dataset}: ε = {spent} spent, {left} left.", **places, left=exactly(left))
    return _(
        "{dataset} is a new name, with a **budget of its own**. Right only if the people are others. You are asked if "
        "the table looks like an earlier one.",
        dataset=name,
    )
