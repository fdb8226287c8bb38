"""The private view of the table's owner: true counts, means and regressions beside the published ones."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from dpengine.accounting.ledger import Ledger
from dpengine.array_types import Columns, Floats, Ints
from dpengine.charts import figures
from dpengine.release import Release, true_counts
from dpengine.results import conclusions
from dpengine.results.published_columns import Measure
from dpengine.results.sample_share import sample_share
from dpengine.sources.table import Table
from dpengine.spec.plan import Plan
from dpengine.spec.wording import heading_of, people, portion, shown_labels
from dpengine.translation.catalogue import _, number
from pages.parts.release import chart
from pages.parts.shared.figures import buttons, is_dark
from pages.parts.shared.number_table import show_numbers
from pages.parts.shared.wording import plain
from pages.parts.visit import background_read
from pages.parts.visit.state import visit

__all__ = ["show_truth"]

MAX_CELLS = 200_000
ALMOST_ALL = 0.99  # a larger share would be rounded to 100 %


def _true_columns(form: str, signed: str, note: str) -> dict[str, Any]:
    """Return how to show true numbers, and by how much published ones are off, with a note on this difference."""
    number_column = st.column_config.NumberColumn
    return {
        "true (private)": number_column(_("true (private)"), format=form),
        "off by": number_column(_("off by"), format=signed, help=note),
    }


def _truth_columns() -> dict[str, Any]:
    return {
        "table": _("table"),
        "column": _("column"),
        "cells": st.column_config.NumberColumn(_("cells"), format="%,d"),
        "off on average": st.column_config.NumberColumn(_("off on average"), format="%,.1f"),
        "off at most": st.column_config.NumberColumn(_("off at most"), format="%,d"),
        "like a sample of": st.column_config.NumberColumn(
            _("like a sample of"),
            format="percent",
            help=_("The share of the rows in a random sample that is as far off."),
        ),
    }


def _mean_columns() -> dict[str, Any]:
    few = "%.4g"
    return {
        "rows (private)": st.column_config.NumberColumn(_("rows (private)"), format="%,d"),
        "term": _("term"),
        "published": st.column_config.NumberColumn(_("published"), format=few),
        **_true_columns(few, "%+.3g", _("Published number less true number.")),
    }


def show_truth(release: Release, shown: Columns, measure: Measure | None = None) -> None:
    """Show the true counts, means or sums beside the published ones, if the table is open; they are stored nowhere."""
    table = visit().table
    if table is None:
        return
    with st.container(border=True, key="private"):
        st.markdown(_("**:material/lock: Only you see this; never share it**"))
        if not st.toggle(_("Compare with the true counts"), key="compare"):
            st.caption(
                _("The true counts are private. They enter no file. Showing them to others would undo the protection.")
            )
            return
        ledger, plan = visit().ledger, release.plan
        facts = background_read.read(
            "truth", lambda _progress: _truth(release, table, ledger), table, question=(release.release_id, plan.key)
        )
        if facts is None:
            return
        counted, tables, columns = facts
        _show_sample_share(tables, heading_of(release.plan, shown))
        if len(columns) > 1:
            st.caption(_("All columns, the worst first:"))
            show_numbers(columns.rename(columns={"table": "column"}), _truth_columns())
        if measure is not None and measure.kind not in ("mean", "sum"):
            what = plain(measure.heading(plan))
            st.caption(_("The true numbers of {what} are not worked out here; these are the counts.", what=what))
            measure = None
        exact: Ints | Floats = counted[shown]
        if measure is not None:
            exact = conclusions.exact_measure(plan, measure, counted[(*shown, measure.amount)])
        _show_cells(release, shown, measure, exact)
        _show_conclusions(release, table, ledger)


def _show_cells(release: Release, shown: Columns, measure: Measure | None, exact: Ints | Floats) -> None:
    """Show each published number of a table beside the true one, as numbers and as a figure."""
    frame, columns, (name, low, high) = _published(release, shown, measure)
    labels = [each for each in frame.columns if each not in columns]
    true = frame["true (private)"] = exact.ravel()
    frame["off by"] = frame[name] - true
    inside = (frame[low] <= true) & (true <= frame[high])
    facts = _compared(frame["off by"], inside, columns["off by"] if measure is not None else None)
    numbers, picture = st.columns([4, 3], gap="medium")
    order = [*labels, "true (private)", name, "off by", low, high]
    show_numbers(frame, columns, place=numbers, column_order=order, height=min(420, 38 + 35 * len(frame)))
    figure = figures.comparison_figure(release, shown, exact, measure, dark=is_dark())
    alt = (
        _("Published against true counts of {cells} cells. {facts}", cells=number(len(frame)), facts=facts)
        if measure is None
        else _(
            "Published against true: {what}, {cells} cells. {facts}",
            what=measure.heading(release.plan),
            cells=number(len(frame)),
            facts=facts,
        )
    )
    picture.plotly_chart(
        figure.update_layout(height=420),
        key="compare-figure",
        theme=None,
        alt=alt,
        config=buttons(shown=False),
    )


def _published(
    release: Release, table: Columns, measure: Measure | None
) -> tuple[pd.DataFrame, dict[str, Any], tuple[str, str, str]]:
    """Return the published numbers of a table, how columns are shown, and the names of value, low and high."""
    if measure is None:
        frame = chart.in_readers_words(release.tables[table], release.plan, table)
        off = _true_columns("%,d", "%+d", _("Published count less true count."))
        return frame, chart.number_columns() | off, ("count", "low", "high")
    frame, columns = chart.numbers_of(release, table, measure)
    (name,) = measure.names
    form = columns[name]["type_config"]["format"]
    columns |= _true_columns(form, form.replace("%", "%+"), _("Published number less true number."))
    return frame, columns, (name, f"{name}_low", f"{name}_high")


def _show_conclusions(release: Release, table: Table, ledger: Ledger) -> None:
    """Show a mean by group and a small regression that the owner chooses, from the rows and from the release."""
    plan = release.plan
    outcomes = conclusions.numeric(plan)
    if not outcomes or len(plan.counted) < 2:
        return
    st.markdown(_("**Would a reader conclude the same?**"))
    st.caption(
        _(
            "Means and regressions, from your rows and from the release. In both, a number counts as the middle of its "
            "bin. Like the true counts, they are private."
        )
    )
    columns = _choose_columns(plan, outcomes)
    if plan.cells(columns) > MAX_CELLS:
        st.caption(_("These columns have too many cells together. Choose others."))
        return
    facts = background_read.read(
        "conclusions",
        lambda _progress: (
            true_counts(table, plan, ledger, [columns])[columns],
            conclusions.released_counts(release, columns),
        ),
        table,
        question=(release.release_id, plan.key, columns),
    )
    if facts is None:
        return
    true, published = facts
    _show_means(plan, columns, true, published)
    _show_regression(plan, columns, true, published)


def _choose_columns(plan: Plan, outcomes: list[str]) -> Columns:
    """Ask for the column whose mean is shown, the one by which, and perhaps a further one for the regression."""
    of, by, also = st.columns(3)
    outcome = of.selectbox(_("Mean of"), outcomes, format_func=lambda name: _heading(plan, name), key="compare-of")
    others = sorted(
        (name for name in plan.counted if name != outcome), key=lambda name: not _together(plan, outcome, name)
    )
    group = by.selectbox(_("By"), others, format_func=lambda name: _heading(plan, name), key="compare-by")
    rest = [name for name in others if name != group]
    further = also.selectbox(
        _("In the regression also"), [None, *rest], key="compare-also",
        format_func=lambda name: _heading(plan, name) if name else _("nothing"),
    )  # fmt: skip
    return (outcome, group) if further is None else (outcome, group, further)


def _together(plan: Plan, *names: str) -> bool:
    return any(set(names) <= set(table) for table in plan.marginals)


def _heading(plan: Plan, name: str) -> str:
    return plan.column(name).heading


def _show_means(plan: Plan, columns: Columns, true: Ints, published: Ints) -> None:
    """Show the mean of the first column by the second."""
    pair = columns[1::-1]
    rows, exact = conclusions.group_means(plan, pair, _summed(true))
    _rows, released = conclusions.group_means(plan, pair, _summed(published))
    group = plan.column(columns[1])
    frame = pd.DataFrame({
        _heading(plan, columns[1]): shown_labels(group), "rows (private)": rows,
        "true (private)": exact, "published": released, "off by": released - exact,
    })  # fmt: skip
    errors = np.abs(released - exact)
    known = ~np.isnan(errors) & (rows > 0)
    if known.any():
        typical = float(np.average(errors[known], weights=rows[known]))
        st.markdown(
            _(
                "The mean of {column} by {group} is off by **{typical}** on average over people, and by {most} at "
                "most.",
                column=plain(_heading(plan, columns[0])),
                group=plain(_heading(plan, columns[1])),
                typical=number(typical, ".3g"),
                most=number(float(errors[known].max()), ".3g"),
            )
        )
    show_numbers(frame, _mean_columns())


def _summed(counts: Ints) -> Ints:
    """Return the counts of the first two columns, with their order reversed."""
    summed: Ints = counts.sum(axis=tuple(range(2, counts.ndim))).T
    return summed


def _show_regression(plan: Plan, columns: Columns, true: Ints, published: Ints) -> None:
    """Show the coefficients of a regression of the first column on the others."""
    exact, released = (conclusions.coefficients(plan, columns, counts) for counts in (true, published))
    terms = [term for term in exact if term in released]
    if len(terms) < 2:
        st.caption(_("A regression on these columns has no one solution, or more terms than can be read."))
        return
    turned = sum(exact[term] * released[term] < 0 for term in terms[1:])
    outcome = plain(_heading(plan, columns[0]))
    st.markdown(
        _(
            "Coefficients of the regression of {column}: **none has the opposite sign** of that from your rows.",
            column=outcome,
        )
        if turned == 0
        else _(
            "Coefficients of the regression of {column}: **{turned} of {terms} have the opposite sign** of those from "
            "your rows.",
            column=outcome,
            turned=number(turned),
            terms=number(len(terms) - 1),
        )
    )
    frame = pd.DataFrame({
        "term": terms, "true (private)": [exact[term] for term in terms],
        "published": [released[term] for term in terms], "off by": [released[term] - exact[term] for term in terms],
    })  # fmt: skip
    show_numbers(frame, _mean_columns())


def _truth(release: Release, table: Table, ledger: Ledger) -> tuple[dict[Columns, Ints], pd.DataFrame, pd.DataFrame]:
    """Return the true counts, and the errors of each published table and each column, the largest first."""
    plan = release.plan
    published = [*plan.published]
    singles: list[Columns] = [(name,) for name in plan.counted]
    measured = [(*each, amount) for each in plan.marginals for amount in (*plan.means(each), *plan.sums(each))]
    counted = true_counts(table, plan, ledger, [*published, *singles, *dict.fromkeys(measured)])
    return counted, _worst_first(release, counted, published), _worst_first(release, counted, singles)


def _worst_first(release: Release, counted: dict[Columns, Ints], tables: list[Columns]) -> pd.DataFrame:
    rows = []
    for columns in tables:
        errors = np.abs(conclusions.released_counts(release, columns) - counted[columns])
        share = sample_share(counted[columns].ravel(), float(errors.mean()))
        share = np.nan if share is None else share
        rows.append((heading_of(release.plan, columns), errors.size, float(errors.mean()), int(errors.max()), share))
    frame = pd.DataFrame(rows, columns=["table", "cells", "off on average", "off at most", "like a sample of"])
    return frame.sort_values("like a sample of", na_position="first", ignore_index=True)


def _show_sample_share(tables: pd.DataFrame, shown: str) -> None:
    """Say how large a random sample as far off as the shown table would be, and list all tables, the worst first."""
    share = tables.set_index("table")["like a sample of"][shown]
    if np.isnan(share):
        st.markdown(_("This table is farther off than counts from any random sample of your rows would be."))
    elif ALMOST_ALL < share < 1:
        st.markdown(_("This table is **as exact as counts from a random sample of nearly all your rows** would be."))
    elif share < 1:
        st.markdown(
            _(
                "This table is **as far off as counts from a random sample of {share}** of your rows would be.",
                share=portion(share),
            )
        )
    else:
        st.markdown(_("This table is **exact**."))
    st.caption(_("All tables, the worst first:"))
    show_numbers(tables, _truth_columns())


def _compared(off_by: pd.Series[float], inside: pd.Series[bool], column: Any = None) -> str:
    """Show the comparison in three numbers, and return them as a sentence; means are written as in `column`."""
    errors = off_by.abs().dropna().to_numpy()
    if not errors.size:  # no cell has a true mean, as where no row holds a number
        mean = most = "–"
    elif column is None:
        mean, most = people(errors.mean()), people(errors.max())
    else:
        form = column["type_config"]["format"].removeprefix("%+")[:-1] + "f"
        mean, most = (number(float(each), form) for each in (errors.mean(), errors.max()))
    within = _("{part} of {all}", part=number(int(inside[off_by.notna()].sum())), all=number(errors.size))
    facts = {_("Off by, on average"): mean, _("Off by, at most"): most, _("Within their interval"): within}
    with st.grid(3, min_column_width=100):
        for label, value in facts.items():
            st.metric(label, value)
    return _(
        "Off by, on average: {mean}; off by, at most: {most}; within their interval: {within}.",
        mean=mean,
        most=most,
        within=within,
    )
