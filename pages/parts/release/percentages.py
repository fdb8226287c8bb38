"""The percentages of a published table, with their intervals."""

from __future__ import annotations

from itertools import chain, combinations

import streamlit as st

from dpengine.array_types import Columns
from dpengine.percentages import decimals, percentages_of
from dpengine.results.views.published import PublishedTables
from dpengine.spec.plan import Plan
from dpengine.spec.wording import counted_noun, heading_of
from dpengine.translation.catalogue import _
from pages.parts.release.chart import in_readers_words
from pages.parts.shared.number_table import show_numbers

__all__ = ["offer_percentages"]


def offer_percentages(release: PublishedTables, table: Columns, *, key: str) -> None:
    """Offer the percentages of a table, of everybody or within groups, if its cells are parts of a whole."""
    plan = release.plan
    if not table or (plan.tallies[plan.tally_of(table)].cells or 1) > 1:
        return
    box = st.expander(_("Percentages"), icon=":material/percent:", key=f"{key}-percentages", on_change="rerun")
    if not box.open:  # drawn only when open, like the numbers themselves
        return
    with box:
        groups = [*chain.from_iterable(combinations(table, size) for size in range(len(table)))]
        within = st.selectbox(
            _("Of whom"), groups, format_func=lambda each: _group_in_words(plan, each),
            key=f"{key}-percent-of-{'-'.join(table)}",
        )  # fmt: skip
        missing = not (
            any(plan.column(name).missing for name in table if name not in within)
            and st.checkbox(_("Leave out cells without a value"), key=f"{key}-percent-known-{'-'.join(table)}")
        )
        frame = percentages_of(release, table, within=within, missing=missing)
        percent = f"%,.{decimals(frame)}f %%"
        columns = {
            "count": st.column_config.NumberColumn(_("count"), format="%,d"),
            "percent": st.column_config.NumberColumn(_("percent"), format=percent),
            "low": st.column_config.NumberColumn(_("low"), format=percent, help=_("95 % interval, lower end.")),
            "high": st.column_config.NumberColumn(_("high"), format=percent, help=_("95 % interval, upper end.")),
        }
        show_numbers(
            in_readers_words(frame, plan, table),
            columns,
            alt=_("Percentages of {table}", table=heading_of(plan, table)),
        )
        st.caption(
            _(
                "Each interval is meant to hold the true percentage 95 times in 100. From 0 to 100 means that the "
                "noise hides the whole group. What chance did in a survey's sample comes on top."
            )
        )


def _group_in_words(plan: Plan, group: Columns) -> str:
    if not group:
        return _("all {unit}", unit=counted_noun(plan))
    return _("each group of {columns}", columns=heading_of(plan, group))
