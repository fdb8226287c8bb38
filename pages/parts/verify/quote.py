"""One number of a release file, ready to be quoted: its value, its interval and its source."""

from __future__ import annotations

import streamlit as st

from dpengine.array_types import Columns
from dpengine.bundle.quotation import citation, quotation
from dpengine.charts.drawable import TablesOfFile
from dpengine.export import Published
from dpengine.results.published_columns import measures
from dpengine.spec.wording import shown_labels
from dpengine.translation.catalogue import _
from pages.parts.shared.wording import plain

__all__ = ["offer_quotation"]


def offer_quotation(release: Published, table: Columns, *, key: str) -> None:
    """Ask for one cell of a table, and show its number as a text to copy, with the source of the release."""
    box = st.expander(_("Quote a number"), icon=":material/format_quote:", key=f"{key}-quote", on_change="rerun")
    if not box.open:
        return
    plan = release.plan
    with box:
        cell = []
        for name in table:
            column = plan.column(name)
            labels = shown_labels(column)
            cell.append(
                st.selectbox(
                    plain(column.heading), range(len(labels)), format_func=labels.__getitem__, key=f"{key}-quote-{name}"
                )
            )
        numbers = [(None, 0, _("Count"))] + [
            (measure, place, heading[:1].upper() + heading[1:])
            for measure in measures(plan, table)
            for place, heading in enumerate(measure.headings(plan))
        ]
        chosen = 0
        if len(numbers) > 1:
            chosen = st.selectbox(
                _("Number"), range(len(numbers)), format_func=lambda k: numbers[k][2], key=f"{key}-quote-number"
            )
        measure, place, _heading = numbers[chosen]
        text = quotation(TablesOfFile(release), table, tuple(cell), measure, place)
        source = _("Source: {source}", source=citation(plan, release.manifest))
        st.code(f"{text}\n{source}", None, wrap_lines=True)
        st.caption(
            _(
                "Random noise was added to every number, so quote the interval too: it contains the true number 95 "
                "times in 100. Two numbers whose intervals overlap may be equal."
            )
        )
