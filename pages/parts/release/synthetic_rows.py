"""Synthetic rows of a release: the first of them, and whether all of them give the published tables when counted."""

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
from pages.parts.shared.figures import is_dark
from pages.parts.shared.made_on_click import made_on_click
from pages.parts.shared.wording import headed, plain, plural
from pages.parts.visit.state import visit

__all__ = ["show_rows"]

MAX_ROWS = 1_000_000
MAX_DRAWN = 12
SHOWN = 8
COLUMNS: dict[str, Any] = {
    "table": "table",
    "cells": st.column_config.NumberColumn("cells", format="%,d"),
    "mean_off": st.column_config.NumberColumn("off by, on average", format="%.3g"),
    "most_off": st.column_config.NumberColumn("off by, at most", format="%.3g"),
    "exact": st.column_config.NumberColumn("cells that are exact", format="percent"),
}


@st.fragment
def show_rows(release: Release) -> None:
    """Show the rows, counted on request only, since counting many takes a while."""
    published = int(release.counts(()))
    with st.container(border=True, key="rows"):
        st.markdown("**Synthetic rows**")
        st.caption(
            "Made-up rows that add up to the published tables. Numbers and dates are spread evenly over their bin or "
            "period; their exact value means nothing."
        )
        number, press = st.columns([3, 2], vertical_alignment="bottom")
        asked = number.number_input(
            "How many rows",
            min_value=1,
            max_value=MAX_ROWS,
            value=None,
            step=1000,
            placeholder=f"as published: {published:,}",
            key="rows-asked",
            help="Leave it empty for the rows that give every published count. Any other number scales the tables.",
        )
        wanted = None if asked is None else int(asked)
        key = release.release_id, wanted
        if press.button("Count tables from the rows", icon=":material/compare_arrows:", key="rows-compare"):
            with st.spinner("Counting"):
                visit().once("rows-compared", key, lambda: _compare(release, wanted), afresh=True)
        comparison: _Comparison | None = visit().kept("rows-compared", key)
        if comparison is None:
            return
        if comparison.fault:
            st.warning(plain(comparison.fault), icon=":material/report:")
        else:
            _show(release, comparison, published if wanted is None else wanted, published)


@dataclass(frozen=True, slots=True)
class _Comparison:
    """The first synthetic rows, and how far tables counted from all of them are off; or why there are none."""

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
    """Show whether `rows` synthetic rows give the published counts, which add up to `published`."""
    frame = headed(release.plan, comparison.errors)
    tables = frame[frame["table"] != "total"]
    if (frame["most_off"] == 0).all():
        scaled = "" if rows == published else f", times {rows / published:g}"
        st.markdown(
            f":material/task_alt: Counted again, {plural(rows, 'row')} give **exactly** the published counts{scaled}: "
            f"no cell of {plural(len(tables), 'table')} differs."
        )
    else:
        worst, least = float(tables["most_off"].max()), rows // published
        mean = float((tables["mean_off"] * tables["cells"]).sum() / tables["cells"].sum())
        st.markdown(
            f"{plural(rows, 'row')} give the published counts, scaled by {rows / published:.4g} and rounded: rounding "
            f"puts a cell off by **{mean:.2g}** on average and by **{worst:.3g}** at most."
        )
        st.caption(
            f"Every published row appears {least} or {plural(least + 1, 'time')}. So a count c becomes a count between "
            f"{least} × c and {least + 1} × c, and cells that were empty stay empty."
        )
        st.plotly_chart(
            _figure(tables, rows),
            key="rows-figure",
            theme=None,
            config={**style.CONFIG, "displayModeBar": False},
            alt=f"Cells counted from {plural(rows, 'row')} are off the scaled counts by {mean:.2g} on average and by "
            f"{worst:.3g} at most; the table below has the numbers of each table.",
        )
    with st.expander("Table by table", icon=":material/table:"):
        st.dataframe(frame, hide_index=True, column_config=COLUMNS)
    with st.expander("The first rows", icon=":material/groups:"):
        st.dataframe(comparison.sample, hide_index=True)
    name = f"synthetic-{release.release_id[:8]}-{rows}.csv"
    st.download_button(
        f"Download {plural(rows, 'row')}",
        made_on_click(lambda: write.synthetic_csv(release, comparison.wanted), name, "text/csv"),
        name,
        "text/csv",
        icon=":material/download:",
        on_click="ignore",
        key="rows-download",
    )


def _figure(tables: pd.DataFrame, rows: int) -> go.Figure:
    """Return a figure of the tables with the largest errors: the mean and the largest of each."""
    dark = is_dark()
    drawn = tables.nlargest(MAX_DRAWN, "most_off").iloc[::-1]
    names = shorten(drawn["table"])
    figure = go.Figure()
    for column, name, colour, symbol in (
        ("mean_off", "on average", style.ACCENT[dark], "circle"),
        ("most_off", "at most", style.GREY[dark], "diamond-open"),
    ):
        figure.add_scatter(
            x=drawn[column],
            y=names,
            name=name,
            mode="markers",
            marker={"color": colour, "symbol": symbol, "size": 10, "line": {"width": 2}},
            hovertemplate="%{y}: %{x:.3g}<extra>" + name + "</extra>",
        )
    figure.update_xaxes(title="rows off the scaled count, by cell", rangemode="tozero")
    figure.update_yaxes(type="category")
    title = f"{rows:,} rows: off by rounding" + (f", the {MAX_DRAWN} widest" if len(tables) > MAX_DRAWN else "")
    return apply_style(figure, title, dark).update_layout(height=170 + 24 * len(drawn))
