"""A finished release, or a preview of one: chart, table twin, downloads, and the owner's private view."""

from __future__ import annotations

import io
import zipfile

import streamlit as st

from dpengine import PrivateReleaseError, charts
from dpengine.accuracy import posterior
from dpengine.plan import epsilon_text
from dpengine.release import Release, true_counts
from dpengine.result import Result
from pages.parts import session, state
from pages.parts.words import name_of, percent, plain

__all__ = ["figure_with_choice", "show_release"]

NUMBERS = {
    "count": st.column_config.NumberColumn(
        "count", format="localized", help="Whole, never negative, adds up everywhere."
    ),
    "estimate": st.column_config.NumberColumn("estimate", format="%.1f", help="Unbiased; may be negative."),
    "low": st.column_config.NumberColumn("low", format="localized", help="95 % interval, lower end."),
    "high": st.column_config.NumberColumn("high", format="localized", help="95 % interval, upper end."),
    "mostly noise": st.column_config.CheckboxColumn("mostly noise"),
}


def figure_with_choice(result: Result, *, key: str) -> tuple[str, ...]:
    """The chosen table as a chart, with a table twin; the choice is offered where there are several."""
    tables = list(result.plan.marginals)
    table = tables[0]
    if len(tables) > 1:
        table = st.selectbox("Table", tables, format_func=name_of, key=f"{key}-table", label_visibility="collapsed")
    fixed = {}
    needed = charts.needs_fixing(result.plan, table)
    for place, name in zip(st.columns(max(len(needed), 1)), needed, strict=False):
        fixed[name] = place.selectbox(name, result.plan.column(name).labels, key=f"{key}-{name}")
    dark = st.context.theme.type == "dark"
    figure = charts.release_figure(result, table, fixed=fixed, dark=dark)
    st.plotly_chart(figure, key=f"{key}-figure", theme=None, alt=charts.alt_text(result, table), config=charts.CONFIG)
    with st.expander("The same as a table", icon=":material/table:"):
        frame = result.tables[table].assign(**{"mostly noise": result.mostly_noise(table).ravel()})
        st.dataframe(frame, hide_index=True, column_config=NUMBERS)
    return table


def show_release(release: Release) -> None:
    """The page after publishing."""
    plan = release.plan
    st.success(
        f"Published on {release.created[:16].replace('T', ' at ')} UTC. ε = {epsilon_text(plan.epsilon)} of the budget "
        f"of {plain(plan.dataset)} is spent; looking and downloading cost nothing.",
        icon=":material/task_alt:",
    )
    head, side = st.columns([6, 4], gap="large")
    with head:
        st.header(plain(plan.title) or "Release", anchor=False)
        with st.container(border=True):
            figure_with_choice(release, key="release")
    with side:
        _downloads(release)
        _promise(release)
        _for_the_owner(release)
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
            name = st.selectbox("Or a single file", bundle.namelist(), key="single-file")
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
    sure = percent(posterior(0.5, release.plan.epsilon))
    with st.container(border=True):
        st.markdown(
            f"**What it says.** {int(total['count']):,} people in all (95 %: {int(total['low']):,} to "
            f"{int(total['high']):,}). Someone who is 50 % sure that a person is in the table can become at most "
            f"{sure} sure."
        )
        st.caption(
            "Use *count* for tables that add up, *estimate* for adding up cells yourself, and always read the "
            "interval: the true count lies in it 95 times in 100. Cells marked *mostly noise* cannot be told from "
            "nobody."
        )


def _for_the_owner(release: Release) -> None:
    """True counts beside the published ones; only with the table at hand, never written anywhere."""
    table = session.table()
    if table is None:
        return
    with st.container(border=True):
        st.markdown("**For your eyes only**")
        if not st.toggle("Compare with the true counts. Never share, screenshot or copy this.", key="compare"):
            st.caption(
                "The true counts are private. They enter no file, and showing them to others undoes the protection."
            )
            return
        try:
            exact = true_counts(table, release.plan, state.ledger())
        except PrivateReleaseError as error:
            st.warning("\n\n".join(plain(fault) for fault in error.faults), icon=":material/report:")
            return
        shown = st.session_state.get("release-table", release.plan.marginals[0])
        figure = charts.comparison_figure(release, shown, exact[shown], dark=st.context.theme.type == "dark")
        st.plotly_chart(figure, key="compare-figure", theme=None, config={**charts.CONFIG, "displayModeBar": False})
        frame = release.tables[shown].drop(columns=["low", "high"])
        frame["true (private)"] = exact[shown].ravel()
        st.dataframe(frame, hide_index=True)


def _leave() -> None:
    state.set_release(None)
    st.query_params.clear()
