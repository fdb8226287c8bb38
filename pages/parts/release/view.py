"""A finished release, or a preview of one: chart, table twin, downloads, and the owner's private view."""

from __future__ import annotations

import io
import zipfile

import numpy as np
import pandas as pd
import streamlit as st

from dpengine.accounting.composition import posterior
from dpengine.bundle.guide import model_errors
from dpengine.charts import figures
from dpengine.exact import exact_text
from dpengine.release import Release, true_counts
from dpengine.results.result import Result
from pages.parts.release.synthetic_rows import show_rows
from pages.parts.shared.wording import name_of, noun, people, plain, sure
from pages.parts.visit import background_read
from pages.parts.visit.state import visit

__all__ = ["figure_with_choice", "show_release"]

NUMBERS = {
    "count": st.column_config.NumberColumn(
        "count", format="localized", help="Whole, never negative, adds up everywhere."
    ),
    "estimate": st.column_config.NumberColumn("estimate", format="%.1f", help="Unbiased; may be negative."),
    "low": st.column_config.NumberColumn("low", format="localized", help="95 % interval, lower end."),
    "high": st.column_config.NumberColumn("high", format="localized", help="95 % interval, upper end."),
    "mostly noise": st.column_config.CheckboxColumn("mostly noise"),
    "true (private)": st.column_config.NumberColumn("true (private)", format="localized"),
    "off by": st.column_config.NumberColumn("off by", format="%+d", help="Published count less true count."),
}
LAYOUTS = ("One at a time", "Side by side")


def figure_with_choice(result: Result, *, key: str) -> tuple[str, ...]:
    """The chosen table as a chart, with a table twin; the choice is offered where there are several."""
    tables = list(result.plan.marginals)
    table = tables[0]
    if len(tables) > 1:
        table = st.selectbox("Table", tables, format_func=name_of, key=f"{key}-table", label_visibility="collapsed")
    fixed = _fixed(result, table, key)
    dark = st.context.theme.type == "dark"
    figure = figures.release_figure(result, table, fixed=fixed, dark=dark)
    side_by_side = len(table) - len(fixed) > 2
    with st.container(key=f"{key}-{'facets' if side_by_side else 'chart'}"):
        st.plotly_chart(
            figure, key=f"{key}-figure", theme=None, alt=figures.alt_text(result, table), config=figures.CONFIG
        )
    twin = st.expander("The same as a table", icon=":material/table:", key=f"{key}-twin", on_change="rerun")
    if twin.open:  # a browser draws a table anew at each change, seen or not
        frame = result.tables[table].assign(**{"mostly noise": result.mostly_noise(table).ravel()})
        twin.dataframe(frame, hide_index=True, column_config=NUMBERS)
    return table


def _fixed(result: Result, table: tuple[str, ...], key: str) -> dict[str, str]:
    """One label for each column past the second, or past the third where people want small charts side by side."""
    plan, looked_into = result.plan, table[2:]
    crowded = figures.needs_fixing(plan, table)
    if len(crowded) < len(looked_into):
        layout = st.segmented_control(
            f"Values of {table[2]}", LAYOUTS, default=LAYOUTS[0], required=True, key=f"{key}-layout"
        )
        looked_into = crowded if layout == LAYOUTS[1] else looked_into
    places = st.columns(min(3, len(looked_into))) if looked_into else []
    return {
        name: places[k % len(places)].selectbox(plain(name), plan.column(name).labels, key=f"{key}-{name}")
        for k, name in enumerate(looked_into)
    }


def show_release(release: Release) -> None:
    """The page after publishing."""
    plan = release.plan
    st.success(
        f"Published on {release.created[:16].replace('T', ' at ')} UTC. ε = {exact_text(plan.epsilon)} of the budget "
        f"of {plain(plan.dataset)} is spent; looking and downloading cost nothing.",
        icon=":material/task_alt:",
    )
    head, side = st.columns([6, 4], gap="large")
    with head:
        st.header(plain(plan.title) or "Release", anchor=False)
        with st.container(border=True):
            shown = figure_with_choice(release, key="release")
    with side:
        _downloads(release)
        _promise(release)
    show_rows(release)
    _for_the_owner(release, shown)
    st.button("Start another release", icon=":material/add:", on_click=_leave)


def _downloads(release: Release) -> None:
    with st.container(border=True):
        stem = "".join(c if c.isalnum() else "-" for c in release.plan.dataset).strip("-").lower() or "release"
        st.download_button(
            "Download everything",
            release.bundle,
            f"{stem}-{release.release_id[:8]}.zip",
            "application/zip",
            type="primary",
            icon=":material/download:",
            on_click="ignore",
            width="stretch",
            help="One file with tables, synthetic rows, a report that opens offline, and what is promised.",
        )
        with zipfile.ZipFile(io.BytesIO(release.bundle)) as bundle:
            names = bundle.namelist()
            name = st.selectbox("Or a single file", names, index=names.index("report.html"), key="single-file")
            st.download_button(
                f"Download {name.split('/')[-1]}",
                bundle.read(name),
                name.split("/")[-1],
                on_click="ignore",
                icon=":material/description:",
                width="stretch",
            )


def _promise(release: Release) -> None:
    total = release.tables[()].iloc[0]
    can_become = sure(posterior(0.5, release.plan.epsilon))
    with st.container(border=True):
        st.markdown(
            f"**What it says.** {int(total['count']):,} {noun(release.plan)} in all (95 %: {int(total['low']):,} to "
            f"{int(total['high']):,}). Someone who is 50 % sure that a person is in the table can become {can_become}."
        )
        if modelled := model_errors(release):
            st.caption(
                "Counts are those of the synthetic rows, so that all tables add up; *estimate* is what the model behind"
                f" them expects. How far off it is was measured privately: {modelled}. Intervals follow from that, "
                "and are meant to hold the true count 95 times in 100."
            )
        elif release.measured.boxes is not None:
            st.caption(
                "Measured for ranges: add up *count* over stretches of neighbouring cells. A cell that was measured "
                "only together with its neighbours may hold anything from none to all of their sum, which its "
                "interval says."
            )
        else:
            st.caption(
                "Use *count* for tables that add up, and *estimate* for adding up cells yourself. Always read the "
                "interval: the true count lies in it 95 times in 100. Cells marked *mostly noise* cannot be told from "
                "empty ones."
            )


def _for_the_owner(release: Release, shown: tuple[str, ...]) -> None:
    """True counts beside the published ones; only with the table at hand, never written anywhere."""
    table = visit().table
    if table is None:
        return
    with st.container(border=True, key="private"):
        st.markdown("**:material/lock: Only you see this; never share it**")
        if not st.toggle("Compare with the true counts", key="compare"):
            st.caption(
                "The true counts are private. They enter no file, and showing them to others undoes the protection."
            )
            return
        book, plan = visit().ledger, release.plan
        counted = background_read.read(
            "truth", lambda _: true_counts(table, plan, book), table, asked=(release.release_id, plan.key)
        )
        if counted is None:
            return
        exact = counted[shown]
        frame = release.tables[shown].copy()
        frame["true (private)"] = exact.ravel()
        frame["off by"] = frame["count"] - frame["true (private)"]
        _compared(frame)
        numbers, picture = st.columns(2, gap="large")
        labels = [name for name in frame.columns if name not in NUMBERS]
        order = [*labels, "true (private)", "count", "off by", "low", "high"]
        numbers.dataframe(frame, hide_index=True, column_order=order, column_config=NUMBERS, height=420)
        figure = figures.comparison_figure(release, shown, exact, dark=st.context.theme.type == "dark")
        picture.plotly_chart(
            figure.update_layout(height=420),
            key="compare-figure",
            theme=None,
            alt="Published against true counts, cell by cell; the table beside it has the numbers.",
            config={**figures.CONFIG, "displayModeBar": False},
        )


def _compared(frame: pd.DataFrame) -> None:
    """The comparison in three numbers."""
    off, true = frame["off by"].abs().to_numpy(), frame["true (private)"]
    inside = int(np.count_nonzero((frame["low"] <= true) & (true <= frame["high"])))
    facts = {
        "Off by, on average": people(off.mean()),
        "Off by, at most": people(off.max()),
        "Within their interval": f"{inside:,} of {off.size:,}",
    }
    for place, (label, value) in zip(st.columns(3), facts.items(), strict=True):
        place.metric(label, value)


def _leave() -> None:
    visit().release = None
    st.query_params.clear()
