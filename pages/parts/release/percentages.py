"""The percentages of a published table, with their intervals: as a chart, as numbers, and as files."""

from __future__ import annotations

from itertools import chain, combinations, islice

import pandas as pd
import streamlit as st

from dpengine import safe_csv
from dpengine.array_types import Columns
from dpengine.bundle.percentages_workbook import MEANING, percentages_workbook
from dpengine.bundle.workbook import MAX_CELLS
from dpengine.charts.percentages import MAX_BARS, PercentCells, group_in_words, percentages_drawing
from dpengine.percentages import decimals, percentages_of
from dpengine.results.views.published import PublishedTables
from dpengine.spec.plan import Plan
from dpengine.spec.wording import heading_of
from dpengine.translation.catalogue import _
from pages.parts.release.chart import in_readers_words, show_chart
from pages.parts.shared.data_twin import interval_columns
from pages.parts.shared.figures import is_dark
from pages.parts.shared.made_on_click import OCTETS, offer_file
from pages.parts.shared.number_table import show_numbers
from pages.parts.shared.picture_buttons import picture_buttons

__all__ = ["groups_of", "offer_percentages"]

MAX_GROUPS = 255  # all combinations of up to eight columns


def offer_percentages(release: PublishedTables, table: Columns, release_id: str, *, key: str) -> None:
    """Offer the percentages of a table, of everybody or within groups, if its cells are parts of a whole."""
    plan = release.plan
    if not table or (plan.tally_of(table).cells or 1) > 1:
        return
    box = st.expander(_("Percentages"), icon=":material/percent:", key=f"{key}-percentages", on_change="rerun")
    if not box.open:  # drawn only when open, like the numbers themselves
        return
    with box:
        within = st.selectbox(
            _("Out of"), groups_of(table), format_func=lambda each: group_in_words(plan, table, each),
            key=f"{key}-percent-of-{'-'.join(table)}",
        )  # fmt: skip
        missing = not (
            any(plan.column(name).missing for name in table if name not in within)
            and st.checkbox(_("Leave out cells without a value"), key=f"{key}-percent-known-{'-'.join(table)}")
        )
        frame = percentages_of(release, table, within=within, missing=missing)
        digits = decimals(frame)
        _show_chart(plan, table, within, frame, digits, key)
        percent = f"%,.{digits}f %%"
        columns = {
            "count": st.column_config.NumberColumn(_("count"), format="%,d"),
            "percent": st.column_config.NumberColumn(_("percent"), format=percent),
            **interval_columns(percent),
        }
        show_numbers(
            in_readers_words(frame, plan, table),
            columns,
            alt=_("Percentages of {table}", table=heading_of(plan, table)),
        )
        st.caption(_(MEANING))
        _offer_files(plan, table, within, frame, release_id, digits, key)


def groups_of(table: Columns) -> list[Columns]:
    """Return the columns that may form groups, the fewest first; of many columns, not all of their combinations.

    >>> groups_of(("a", "b", "c"))
    [(), ('a',), ('b',), ('c',), ('a', 'b'), ('a', 'c'), ('b', 'c')]
    """
    combined = chain.from_iterable(combinations(table, size) for size in range(len(table)))
    return [*islice(combined, MAX_GROUPS)]


def _show_chart(plan: Plan, table: Columns, within: Columns, frame: pd.DataFrame, digits: int, key: str) -> None:
    """Show percentages as bars with their intervals, if there is room for them."""
    drawn = None
    if len(frame) <= MAX_BARS:  # laying out 100,000 cells takes about 2 s
        cells = PercentCells(plan, table, within, frame, digits=digits)
        drawn = percentages_drawing(cells, plan, dark=is_dark())
    if drawn is None:
        st.caption(_("These are too many for a chart that can be read: the table below has them all."))
        return
    drawing, alt = drawn
    place = f"{key}-percent-{'chart' if cells.value.ndim == 1 else 'facets'}"
    show_chart(drawing, alt, place, f"{key}-percent")
    picture_buttons(place, _("Percentages of {table}", table=heading_of(plan, table)))


def _offer_files(
    plan: Plan, table: Columns, within: Columns, frame: pd.DataFrame, release_id: str, digits: int, key: str
) -> None:
    """Offer percentages for programs and for spreadsheets."""
    with st.container(horizontal=True):
        offer_file(
            _("Download as CSV"), lambda: safe_csv.from_frame(frame), "percentages.csv", "text/csv",
            key=f"{key}-percent-csv", icon=":material/download:",
        )  # fmt: skip
        if len(frame) <= MAX_CELLS:
            offer_file(
                _("For a spreadsheet"),
                lambda: percentages_workbook(plan, table, within, frame, release_id, digits=digits),
                "percentages.xlsx", OCTETS, key=f"{key}-percent-xlsx", icon=":material/table_view:",
            )  # fmt: skip
