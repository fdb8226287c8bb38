"""A published number, or one of several cells together, ready to be quoted: its value, its interval and its source."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import streamlit as st

from dpengine import Published, Release, ReleaseError
from dpengine.array_types import Columns
from dpengine.bundle.quotation import citation, quotation, quotation_of_several, release_in_words
from dpengine.charts.drawable import TablesOfFile
from dpengine.charts.forms import makes_spans
from dpengine.charts.percentages import group_in_words
from dpengine.combine import combine
from dpengine.results.published_columns import Measure, measures
from dpengine.spec.domain import Column
from dpengine.spec.plan import Plan
from dpengine.spec.time_column import Time
from dpengine.spec.wording import capitalised, shown_labels
from dpengine.translation.catalogue import _
from pages.parts.release.percentages import groups_of
from pages.parts.shared.wording import plain
from pages.parts.visit.fault_text import all_faults

__all__ = ["ask_quotation", "offer_quotation"]

COUNT, PERCENT = "count", "percent"


def offer_quotation(release: Published | Release, table: Columns, manifest: Mapping[str, Any], *, key: str) -> None:
    """Offer to choose cells of a table, and show their number as a text to copy, with the source of the release."""
    box = st.expander(_("Quote a number"), icon=":material/format_quote:", key=f"{key}-quote", on_change="rerun")
    if not box.open:
        return
    with box:
        source = _("Source: {source}", source=citation(release.plan, manifest))
        ask_quotation(release, table, source, key=f"{key}-quote-{'-'.join(table)}")


@st.fragment
def ask_quotation(
    release: Published | Release, table: Columns, source: str, *, key: str, since: Published | None = None
) -> None:
    """Ask for the cells and for the number, or for its change since an earlier release, and show it."""
    plan = release.plan
    where = _cells(plan, table, key)
    number = _number(plan, table, key)
    more: dict[str, Any] = {} if since is None else {"since": since}
    if number == PERCENT:
        group = st.selectbox(
            _("Out of"), groups_of(table), format_func=lambda each: group_in_words(plan, table, each), key=f"{key}-of"
        )
        more["of"] = {name: where[name] for name in group if name in where}
    if since is None and table and st.checkbox(_("Difference from other cells"), key=f"{key}-differs"):
        more |= {"minus": others} if (others := _cells(plan, table, f"{key}-minus")) else {}
    if "since" in more or "minus" in more:
        more["relative"] = st.toggle(_("Difference in percent"), key=f"{key}-relative")
    try:
        text = _in_words(release, table, where, number, more)
    except ReleaseError as error:
        st.warning(all_faults(error), icon=":material/info:")
        return
    st.code(f"{text}\n{source}", None, wrap_lines=True)
    st.caption(
        _(
            "Random noise was added to every number, so quote the interval too: it contains the true number 95 "
            "times in 100. Two numbers whose intervals overlap may be equal."
        )
    )


def _cells(plan: Plan, table: Columns, key: str) -> dict[str, list[str]]:
    """Ask for values of each column, one by one or as a span; of a column without any, all count."""
    chosen = {}
    places = st.columns(min(3, len(table))) if table else []
    for k, name in enumerate(table):
        column = plan.column(name)
        labels = shown_labels(column)
        with places[k % len(places)]:
            codes = st.multiselect(
                plain(column.heading),
                range(len(labels)),
                format_func=labels.__getitem__,
                placeholder=_("further values") if _has_span(f"{key}-{name}") else _("all"),
                key=f"{key}-{name}",
            )
            spanned = _span(column, labels, f"{key}-{name}") if makes_spans(column) else []
        if 0 < len({*codes, *spanned}) < len(labels):
            chosen[name] = [column.labels[code] for code in sorted({*codes, *spanned})]
    return chosen


def _has_span(key: str) -> bool:
    return any(st.session_state.get(f"{key}-{end}") is not None for end in ("from", "to"))


def _span(column: Column, labels: Sequence[str], key: str) -> Sequence[int]:
    """Ask for the first and the last cell of a span, which is open if only one is chosen.

    Hours and weekdays go on after the last one: from 22:00 to 05:00 is a night.
    """
    size = column.declared_size
    heading = plain(column.heading)
    ends = [
        (_("{column}, from", column=heading), _("from"), "from"),
        (_("{column}, to", column=heading), _("to"), "to"),
    ]
    with st.container(horizontal=True, gap="small", key=f"{key}-ends"):
        first, last = (
            st.selectbox(
                label,
                range(size),
                index=None,
                format_func=labels.__getitem__,
                placeholder=blank,
                label_visibility="collapsed",
                key=f"{key}-{end}",
            )
            for label, blank, end in ends
        )
    return span_of(size, first, last, in_circle=isinstance(column, Time))


def span_of(size: int, first: int | None, last: int | None, *, in_circle: bool) -> Sequence[int]:
    """Return the cells from the first to the last one, in either order unless they go round in a circle.

    >>> [*span_of(24, 22, 1, in_circle=True)], [*span_of(9, 4, 2, in_circle=False)]
    ([22, 23, 0, 1], [2, 3, 4])
    >>> [*span_of(5, 3, None, in_circle=False)]
    [3, 4]
    """
    if first is None and last is None:
        return []
    first, last = first or 0, size - 1 if last is None else last
    if first > last and in_circle:
        return [*range(first, size), *range(last + 1)]
    return range(min(first, last), max(first, last) + 1)


def _number(plan: Plan, table: Columns, key: str) -> str | tuple[Measure, int]:
    """Ask which number of the cells to quote: how many people, which percentage, or a statistic of an amount."""
    numbers: dict[str | tuple[Measure, int], str] = {COUNT: _("Count")}
    if table:
        numbers[PERCENT] = _("Percentage")
    for measure in measures(plan, table):
        for place, heading in enumerate(measure.headings(plan)):
            numbers[measure, place] = capitalised(heading)
    chosen = (
        COUNT
        if len(numbers) == 1
        else st.selectbox(_("Number"), [*numbers], format_func=numbers.__getitem__, key=f"{key}-number")
    )
    return chosen


def _in_words(
    release: Published | Release, table: Columns, where: dict[str, list[str]], number: str | tuple[Measure, int],
    more: dict[str, Any],
) -> str:  # fmt: skip
    """Return the number with its interval; raise `ReleaseError` if it cannot be had of several cells."""
    plan, since = release.plan, more.get("since")
    tally = plan.tally_of(table).plan  # which names what its tables count
    single = all(len(where.get(name, ())) == 1 for name in table) and not more
    measure, place = (None, 0) if isinstance(number, str) else number
    if single:
        cell = tuple(plan.column(name).labels.index(where[name][0]) for name in table)
        return quotation(TablesOfFile(release), table, cell, measure, place)
    if measure is not None and measure.kind not in ("mean", "sum"):
        if since is not None:
            raise ReleaseError(_("changes of this number are known of single cells only: the table has them"))
        raise ReleaseError(_("this number is known of single cells only: choose one value of each column"))
    if measure is not None:
        more = more | {measure.kind: measure.amount}
    made = combine(release, where, table=table if plan.has_distinct else None, **more)
    if since is not None:
        more = more | {"since": release_in_words(since.plan, since.manifest)}
    return quotation_of_several(tally, (made.value, made.low, made.high), where, **more)
