"""Compare the release that was verified with an earlier one: what changed, beyond the noise of both."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd
import streamlit as st

from dpengine.array_types import Columns
from dpengine.bundle.quotation import citation
from dpengine.comparable import named
from dpengine.compare import (
    NotCompared,
    beyond_in_words,
    compare,
    decimals_of_changes,
    largest_first,
    not_compared,
    number_headings,
    shared_tables,
)  # fmt: skip
from dpengine.errors import ReleaseError
from dpengine.export import Published, of_verified
from dpengine.spec.plan import Plan
from dpengine.spec.wording import heading_of, name_of, shown_labels
from dpengine.translation.catalogue import _, day, number
from pages.parts.shared.data_twin import interval_columns
from pages.parts.shared.demo import file_box
from pages.parts.shared.figures import is_dark
from pages.parts.shared.number_table import MAX_SHOWN, show_numbers
from pages.parts.shared.picture_buttons import picture_buttons
from pages.parts.shared.wording import plain
from pages.parts.verify.verified_file import verified

__all__ = ["offer_comparison"]

MAX_LISTED = 10  # lines that are shown without scrolling


def offer_comparison(later: Published, headings: Mapping[str, str]) -> None:
    """Ask for an earlier release file, and show how the numbers of one of its tables have changed."""
    with st.expander(_("Compare with an earlier release"), icon=":material/difference:"):
        st.markdown(
            _("See what changed since an earlier release of the same tables, and which changes are beyond the noise.")
        )
        file = file_box(_("Earlier release file"), type="zip", key="verify_earlier_file")
        if file is None:
            return
        outcome = verified(file, "verify_earlier_outcome")
        if isinstance(outcome, ReleaseError):
            st.warning(_("{name} is not a complete release.", name=plain(file.name)), icon=":material/rule:")
            return
        earlier = of_verified(outcome.manifest, file.getvalue())
        tables = [each for each in shared_tables(earlier, later) if later.plan.cells(each) <= MAX_SHOWN]
        left_out = not_compared(earlier, later)
        table = st.selectbox(_("Table"), tables, format_func=lambda each: headings[name_of(each)], key="verify_changes")
        if table is None:
            st.info(_("The two releases have no table in common."), icon=":material/search_off:")
            _list_not_compared(left_out, earlier.plan, later.plan)
            return
        try:
            frame = compare(earlier, later, [table])[table]
        except ReleaseError as refused:
            st.warning(plain(str(refused)), icon=":material/search_off:")
            return
        _say_which(earlier, later)
        _show_changes(frame, later, table)
        _offer_change(earlier, later, table)
        _list_not_compared(left_out, earlier.plan, later.plan)


def _offer_change(earlier: Published, later: Published, table: Columns) -> None:
    """Offer the change of a number of several cells, as a text to copy."""
    from pages.parts.release.quote import ask_quotation  # with the charts, which take a while

    st.markdown(_("**Quote a change**"))
    sources = "\n".join(_("Source: {source}", source=citation(each.plan, each.manifest)) for each in (later, earlier))
    key = f"verify-change-{'-'.join(table)}"
    ask_quotation(later, table, sources, key=key, since=earlier)


def _say_which(earlier: Published, later: Published) -> None:
    """Name both releases, so that nobody takes one for the other."""
    days = [each.manifest["created"] for each in (earlier, later)]
    st.markdown(
        _(
            "From **{before}**, published on {first}, to **{after}**, published on {second}.",
            before=plain(earlier.plan.title or earlier.plan.dataset), first=day(days[0][:10]),
            after=plain(later.plan.title or later.plan.dataset), second=day(days[1][:10]),
        )
    )  # fmt: skip
    if days[0] > days[1]:
        st.caption(_("The release that you compare with was published later than the other one."))


def _list_not_compared(left_out: Sequence[NotCompared], earlier: Plan, later: Plan) -> None:
    """List what is not compared, and why."""
    if not left_out:
        return
    st.markdown(_("**What is not compared**"))
    lines = [f"- **{plain(_in_words(each, earlier, later))}**: {plain(each.reason)}" for each in left_out]
    with st.container(height=320 if len(lines) > MAX_LISTED else "content", border=False):
        st.markdown("\n".join(lines))


def _in_words(each: NotCompared, earlier: Plan, later: Plan) -> str:
    """Name what is not compared as the later release names it for readers, or the earlier one if only that has it."""
    if each.table is None:
        words: dict[str, str] = {}
        for plan in (earlier, later):
            column = plan.column(each.column)
            words |= zip(column.labels, shown_labels(column), strict=True)
        labels = named(tuple(words.get(label, label) for label in each.labels))
        return f"{heading_of(later, (each.column,))}: {labels}"
    table = heading_of(later if frozenset(each.table) in later.by_columns else earlier, each.table)
    if not each.number:
        return table
    words = number_headings(earlier, each.table) | number_headings(later, each.table)
    return _("{number} in {table}", number=words[each.number], table=table)


def _show_changes(frame: pd.DataFrame, later: Published, table: Columns) -> None:
    """Show the changes of one number of a table, which is asked for if there are several."""
    words = number_headings(later.plan, table)
    numbers = [*dict.fromkeys(frame["number"])]
    chosen = "count"
    if len(numbers) > 1:
        key = f"verify_changes_of_{name_of(table)}"
        chosen = st.selectbox(_("Number"), numbers, format_func=lambda each: words[each], key=key)
    frame = largest_first(frame[frame["number"] == chosen].drop(columns="number"))
    by_chance = _(
        "If nothing had changed, about {chance} of {all} would be, by chance. What chance did in a survey's sample "
        "comes on top. The largest beside the noise come first.",
        all=number(len(frame)), chance=number(round(len(frame) / 20)),
    )  # fmt: skip
    st.markdown(f"**{beyond_in_words(frame)}** {by_chance}")
    from dpengine.charts.changes import changes_drawing  # charts take a while to load
    from pages.parts.release.chart import in_readers_words, show_chart

    digits = 0 if chosen == "count" else decimals_of_changes(frame)
    if table:
        drawing, alt = changes_drawing(later.plan, table, frame, words[chosen], digits=digits, dark=is_dark())
        show_chart(drawing, alt, "verify-changes-chart", "verify-changes")
        picture_buttons("verify-changes-chart", _("Changes of {table}", table=heading_of(later.plan, table)))
    shown = in_readers_words(frame.round(digits), later.plan, table)
    show_numbers(shown, _columns(digits), alt=_("Changes from the earlier release to the later one"))


def _columns(digits: int) -> dict[str, Any]:
    form, headings = f"%,.{digits}f", {"before": _("before"), "after": _("after"), "change": _("change")}
    numbers = {name: st.column_config.NumberColumn(heading, format=form) for name, heading in headings.items()}
    return numbers | interval_columns(form) | {"beyond_noise": st.column_config.CheckboxColumn(_("beyond noise"))}
