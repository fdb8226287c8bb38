"""Levels of columns for use in tables, such as states for counties, years for months, or wider bins."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import streamlit as st

from dpengine.spec.date_column import WITHIN
from dpengine.translation.catalogue import _, mark
from pages.parts.publish import codebook_box
from pages.parts.publish.column_forms.boxes import key_for
from pages.parts.shared.wording import plain
from pages.parts.visit.plan.column_entry import coarser, same_cells
from pages.parts.visit.plan.level_entry import bins_text, longer_periods, wider_bins
from pages.parts.visit.plan.table_measures import level_of
from pages.parts.visit.state import visit

__all__ = ["PERIODS", "ask_levels", "show"]

PERIODS = {
    "day": mark("day"),
    "week": mark("week"),
    "month": mark("month"),
    "quarter": mark("quarter"),
    "year": mark("year"),
}


def show(chosen: Sequence[str]) -> None:
    """Ask, in a folded box, for the levels of the chosen columns; those of categories come from a CSV file."""
    declared = visit().entries.declared
    with_periods_or_bins = [name for name in chosen if declared[name]["kind"] in ("number", "date")]
    categories = [name for name in chosen if declared[name]["kind"] == "category"]
    if not with_periods_or_bins and not categories:
        return
    levels = [level_of(name, level) for name in chosen for level in coarser(declared[name])]
    title = _("Levels, such as ages in tens, chapters of codes, or months in years")
    box = st.popover(title, icon=":material/account_tree:", key=visit().key("levels-box"), on_change="rerun")
    if levels:
        st.caption(_("Tables can also count by {levels}.", levels=plain(", ".join(levels))))
    with box:
        if not box.open:
            return
        st.caption(
            _(
                "A column with levels can be published finely in one table and coarsely in another, and both add up. "
                "Declare its levels here; then pick one of them in each table."
            )
        )
        with_levels = {name: _ask_levels(name, declared[name]) for name in with_periods_or_bins}
        if any(not same_cells(declared[name], column) for name, column in with_levels.items()):
            visit().change(declared=declared | with_levels)
            st.rerun()
        if categories:
            codebook_box.bring_levels(categories)


def _ask_levels(name: str, column: dict[str, Any]) -> dict[str, Any]:
    """Return the entry of a number or a date with the chosen levels, and for a date with its period."""
    if column["kind"] == "date":
        by = st.selectbox(
            _("{column}: counted by", column=plain(name)),
            list(PERIODS),
            index=list(PERIODS).index(column.get("by", "month")),
            format_func=lambda period: _(PERIODS[period]),
            key=visit().fresh_key(f"finest-{name}"),
        )
        column = column | {"by": by}
    return column | ask_levels(name, column)


def ask_levels(name: str, column: dict[str, Any]) -> dict[str, Any]:
    """Ask for the longer periods of a date, or for the wider bins of a number; return the entry's levels."""
    key = key_for("levels", name)
    if column["kind"] == "date":
        offered = [period for period in PERIODS if period in WITHIN.get(column.get("by", "month"), ())]
        if not offered:
            return {"levels": []}
        chosen = st.pills(
            _("{column}: also by longer periods", column=plain(name)),
            offered,
            selection_mode="multi",
            default=longer_periods(column),
            format_func=lambda period: _(PERIODS[period]),
            key=f"{key}-{'-'.join(offered)}",
        )
        return {"levels": longer_periods(column | {"levels": chosen})}
    before = column.get("levels") or {}
    typed = st.text_input(
        _("{column}: also in wider bins", column=plain(name)),
        value=bins_text(before),
        placeholder=_("their width, such as 20, or their edges, such as 0, 18, 65, 120"),
        key=key,
        help=_(
            "Wider bins are made of whole bins of the column: 20 fits bins of 5 years, and gives 0 to under 20, and so"
            " on. A semicolon separates several levels, such as 10; 20."
        ),
    )
    try:
        return {"levels": wider_bins(typed, name, before)}
    except ValueError as error:
        st.caption(f":material/report: {plain(str(error))}")
        return {"levels": before}
