"""Synthetic rows of a release: the first rows, and whether counting all of them gives the published tables."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pandas as pd
import plotly.graph_objects as go
import streamlit as st

from dpengine import PrivateReleaseError
from dpengine.bundle import write
from dpengine.charts import style
from dpengine.charts.style import apply_style, shorten
from dpengine.release import Release
from dpengine.results.fidelity import compare
from dpengine.translation.catalogue import _, number, plural
from pages.parts.shared.figures import buttons, is_dark
from pages.parts.shared.glossary.help import term
from pages.parts.shared.made_on_click import offer_file
from pages.parts.shared.number_table import show_numbers
from pages.parts.shared.wording import plain, with_headings
from pages.parts.visit.state import visit

__all__ = ["show_rows"]

MAX_ROWS = 1_000_000
MAX_DRAWN = 12
SHOWN = 8


def _columns() -> dict[str, Any]:
    few = "%.3g"
    return {
        "table": _("table"),
        "cells": st.column_config.NumberColumn(_("cells"), format="%,d"),
        "mean_off": st.column_config.NumberColumn(_("off by, on average"), format=few),
        "most_off": st.column_config.NumberColumn(_("off by, at most"), format=few),
        "exact": st.column_config.NumberColumn(_("cells that are exact"), format="percent"),
    }


@st.fragment
def show_rows(release: Release) -> None:
    """Show the first rows, and on request compare counts of all rows with the tables, which is slow for many rows."""
    published = int(release.counts(()))
    with st.container(border=True, key="rows"):
        with st.container(key="rows-title"):
            st.header(_("Synthetic rows"), anchor=False, help=term("synthetic-rows"))
        st.caption(
            _(
                "Made-up rows that add up to the published tables. Numbers and dates are spread evenly over their bin "
                "or period; their exact value means nothing."
            )
        )
        amount, press = st.columns([3, 2], vertical_alignment="bottom")
        asked = amount.number_input(
            _("How many rows"),
            min_value=1,
            max_value=MAX_ROWS,
            value=None,
            step=1000,
            placeholder=_("as published: {rows}", rows=number(published)),
            key="rows-asked",
            help=_("Leave it empty for the rows that give every published count. Any other number scales the tables."),
        )
        wanted = None if asked is None else int(asked)
        key = release.release_id, wanted
        if press.button(_("Count tables from the rows"), icon=":material/compare_arrows:", key="rows-compare"):
            with st.spinner(_("Counting")):
                visit().once("rows-compared", key, lambda: _compare(release, wanted), afresh=True)
        comparison: _Comparison | None = visit().recall("rows-compared", key)
        if comparison is None:
            return
        if comparison.fault:
            st.warning(plain(comparison.fault), icon=":material/report:")
        else:
            _show(release, comparison, published if wanted is None else wanted, published)


@dataclass(frozen=True, slots=True)
class _Comparison:
    """The first synthetic rows and the errors of tables counted from all of them; or why there are none."""

    wanted: int | None
    sample: pd.DataFrame
    errors: pd.DataFrame
    fault: str = ""


def _compare(release: Release, wanted: int | None) -> _Comparison:
    try:
        return _Comparison(wanted, next(release.synthetic_blocks(wanted)).head(SHOWN), compare(release, wanted))
    except PrivateReleaseError as error:
        return _Comparison(wanted, pd.DataFrame(), pd.DataFrame(), str(error))


def _show(release: Release, comparison: _Comparison, rows: int, published: int) -> None:
    """Show whether `rows` synthetic rows give the published counts, which add up to `published`; then the rows."""
    frame = with_headings(release.plan, comparison.errors)
    tables = frame[frame["table"] != "total"]
    if (frame["most_off"] == 0).all():
        st.markdown(f":material/task_alt: {_no_difference(len(tables), rows, published)}")
    else:
        _show_rounding(tables, rows, published)
    with st.expander(_("Table by table"), icon=":material/table:"):
        show_numbers(frame, _columns())
    with st.expander(_("The first rows"), icon=":material/groups:"):
        st.dataframe(comparison.sample, hide_index=True)
    name = f"synthetic-{release.release_id[:8]}-{rows}.csv"
    offer_file(
        plural("Download {n} row", "Download {n} rows", rows),
        lambda: write.synthetic_csv(release, comparison.wanted),
        name,
        "text/csv",
        icon=":material/download:",
        key="rows-download",
    )


def _no_difference(tables: int, rows: int, published: int) -> str:
    """Say that `rows` rows give every count of the tables, or every count times a whole number."""
    if rows == published:
        return plural(
            "Counted again, {rows} rows give **exactly** the published counts: no cell of {n} table differs.",
            "Counted again, {rows} rows give **exactly** the published counts: no cell of {n} tables differs.",
            tables,
            rows=number(rows),
        )
    return plural(
        "Counted again, {rows} rows give **exactly** the published counts, times {times}: no cell of {n} table "
        "differs.",
        "Counted again, {rows} rows give **exactly** the published counts, times {times}: no cell of {n} "
        "tables differs.",
        tables,
        rows=number(rows),
        times=number(rows / published, "g"),
    )


def _show_rounding(tables: pd.DataFrame, rows: int, published: int) -> None:
    """Show and explain the rounding errors of cells if `rows` is no multiple of `published`."""
    mean = number(float((tables["mean_off"] * tables["cells"]).sum() / tables["cells"].sum()), ".2g")
    worst, least = number(float(tables["most_off"].max()), ".3g"), rows // published
    st.markdown(
        plural(
            "{n} row gives the published counts, scaled by {scale} and rounded: rounding puts a cell off by "
            "**{mean}** on average and by **{worst}** at most.",
            "{n} rows give the published counts, scaled by {scale} and rounded: rounding puts a cell off by "
            "**{mean}** on average and by **{worst}** at most.",
            rows,
            scale=number(rows / published, ".4g"),
            mean=mean,
            worst=worst,
        )
    )
    st.caption(
        plural(
            "Every published row appears {least} or {n} time. So a count c becomes a count between {least} × c and "
            "{n} × c, and cells that were empty stay empty.",
            "Every published row appears {least} or {n} times. So a count c becomes a count between {least} × c "
            "and {n} × c, and cells that were empty stay empty.",
            least + 1,
            least=number(least),
        )
    )
    alt = plural(
        "Cells counted from {n} row are off the scaled counts by {mean} on average and by {worst} at most; the "
        "table below has the numbers of each table.",
        "Cells counted from {n} rows are off the scaled counts by {mean} on average and by {worst} at most; "
        "the table below has the numbers of each table.",
        rows,
        mean=mean,
        worst=worst,
    )
    config = buttons(shown=False)
    st.plotly_chart(_figure(tables, rows), key="rows-figure", theme=None, config=config, alt=alt)


def _figure(tables: pd.DataFrame, rows: int) -> go.Figure:
    """Return a figure of the tables with the largest errors: the mean and the largest of each."""
    dark = is_dark()
    drawn = tables.nlargest(MAX_DRAWN, "most_off").iloc[::-1]
    names = shorten(drawn["table"])
    figure = go.Figure()
    for column, name, colour, symbol in (
        ("mean_off", _("on average"), style.ACCENT[dark], "circle"),
        ("most_off", _("at most"), style.GREY[dark], "diamond-open"),
    ):
        figure.add_scatter(
            x=drawn[column],
            y=names,
            name=name,
            mode="markers",
            marker={"color": colour, "symbol": symbol, "size": 10, "line": {"width": 2}},
            hovertemplate="%{y}: %{x:.3g}<extra>" + name + "</extra>",
        )
    figure.update_xaxes(title=_("rows off the scaled count, by cell"), rangemode="tozero")
    figure.update_yaxes(type="category")
    if len(tables) > MAX_DRAWN:
        title = _("{rows} rows: off by rounding, the {tables} widest", rows=number(rows), tables=number(MAX_DRAWN))
    else:
        title = _("{rows} rows: off by rounding", rows=number(rows))
    return apply_style(figure, title, dark).update_layout(height=170 + 24 * len(drawn))
