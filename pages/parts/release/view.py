"""A finished release: chart, numbers as a table, downloads, and the owner's private view."""

from __future__ import annotations

import io
import zipfile

import numpy as np
import pandas as pd
import streamlit as st

from dpengine.accounting.composition import posterior
from dpengine.accounting.ledger import Ledger
from dpengine.array_types import Columns, Ints
from dpengine.bundle import write
from dpengine.bundle.guide import model_errors
from dpengine.charts import figures, style
from dpengine.exact import exact_text
from dpengine.release import Release, true_counts
from dpengine.results.sample_share import sample_share
from dpengine.sources.table import Table
from dpengine.spec.wording import portion
from pages.parts.release import chart
from pages.parts.release.synthetic_rows import show_rows
from pages.parts.shared.figures import is_dark
from pages.parts.shared.made_on_click import OCTETS, made_on_click
from pages.parts.shared.wording import counted_noun, name_of, people, plain, rows_counted, sure
from pages.parts.visit import background_read
from pages.parts.visit.state import visit

__all__ = ["show_release"]

NUMBERS = chart.NUMBERS | {
    "true (private)": st.column_config.NumberColumn("true (private)", format="%,d"),
    "off by": st.column_config.NumberColumn("off by", format="%+d", help="Published count less true count."),
}
TRUTH = {
    "cells": st.column_config.NumberColumn("cells", format="%,d"),
    "off on average": st.column_config.NumberColumn("off on average", format="%,.1f"),
    "off at most": st.column_config.NumberColumn("off at most", format="%,d"),
    "like a sample of": st.column_config.NumberColumn(
        "like a sample of", format="percent", help="The share of the rows in a random sample that is as far off."
    ),
}


def show_release(release: Release) -> None:
    """Show the page of a finished release."""
    plan = release.plan
    st.success(
        f"Published on {release.created[:16].replace('T', ' at ')} UTC. ε = {exact_text(plan.epsilon)} of the budget "
        f"of {plain(plan.dataset)} is spent; looking and downloading cost nothing.",
        icon=":material/task_alt:",
    )
    head, side = st.columns([6, 4], gap="large")
    with head:
        with st.container(key="release-title"):
            st.title(plain(plan.title) or "Release", anchor=False)
        with st.container(border=True):
            shown = chart.figure_with_choice(release, key="release")
    with side:
        _downloads(release)
        _promise(release)
    show_rows(release)
    _for_the_owner(release, shown)
    st.button("Start another release", icon=":material/add:", on_click=_leave)
    st.caption("For next year's table, *Project* on Publish copies this plan, with a new title and period.")


def _single_file(release: Release, name: str) -> bytes:
    with zipfile.ZipFile(io.BytesIO(release.bundle)) as bundle:
        return bundle.read(name)


def _downloads(release: Release) -> None:
    with st.container(border=True):
        stem = "".join(c if c.isalnum() else "-" for c in release.plan.dataset).strip("-").lower() or "release"
        zip_name = f"{stem}-{release.release_id[:8]}.zip"
        st.download_button(
            "Download everything",
            made_on_click(lambda: release.bundle, zip_name, "application/zip"),  # it may be large
            zip_name,
            "application/zip",
            type="primary",
            icon=":material/download:",
            on_click="ignore",
            width="stretch",
            help="One file with the tables, synthetic rows, a report that opens offline, and the guarantee.",
        )
        if release.signed_by is not None:
            st.caption(
                f":material/verified: Signed with key `{release.signed_by}`",
                help="The key of this ledger. Give its fingerprint to readers on another way, such as your own site: "
                "then they see that the file is yours, and unchanged.",
            )
        names = write.file_names(release.plan)
        name = st.selectbox("Or a single file", names, index=names.index("report.html"), key="single-file")
        file_name = name.split("/")[-1]
        st.download_button(
            f"Download {file_name}",
            made_on_click(lambda: _single_file(release, name), file_name, OCTETS),
            file_name,
            OCTETS,
            on_click="ignore",
            icon=":material/description:",
            width="stretch",
        )


def _promise(release: Release) -> None:
    total = release.tables[()].iloc[0]
    can_become = sure(posterior(0.5, release.plan.epsilon))
    with st.container(border=True):
        st.markdown(
            f"**What it says.** {int(total['count']):,} {counted_noun(release.plan)} in all (95 %: "
            f"{int(total['low']):,} to {int(total['high']):,}). {plain(rows_counted(release.plan))} "
            f"Someone who is 50 % sure that a person is in the table can become {can_become}."
        )
        if modelled := model_errors(release):
            st.caption(
                "Counts are those of the synthetic rows, so all tables add up; *estimate* is what the model behind "
                f"them expects. Its error was measured privately: {modelled}. The intervals follow from that; they "
                "are meant to contain the true count 95 times in 100."
            )
        elif release.measured.boxes is not None:
            st.caption(
                "Measured for ranges: add up *count* over neighbouring cells. If a cell was measured only together "
                "with its neighbours, its true count may be anything from 0 to the sum of them all; its interval says "
                "so."
            )
        else:
            st.caption(
                "Use *count* for tables that add up, and *estimate* if you add up cells yourself. Always read the "
                "interval: it contains the true count 95 times in 100. Cells marked *mostly noise* cannot be "
                "distinguished from empty ones."
            )


def _for_the_owner(release: Release, shown: tuple[str, ...]) -> None:
    """Show the true counts beside the published ones; only if the table is open, and written nowhere."""
    table = visit().table
    if table is None:
        return
    with st.container(border=True, key="private"):
        st.markdown("**:material/lock: Only you see this; never share it**")
        if not st.toggle("Compare with the true counts", key="compare"):
            st.caption(
                "The true counts are private. They enter no file. Showing them to others would undo the protection."
            )
            return
        ledger, plan = visit().ledger, release.plan
        found = background_read.read(
            "truth", lambda _: _truth(release, table, ledger), table, question=(release.release_id, plan.key)
        )
        if found is None:
            return
        counted, tables = found
        exact = counted[shown]
        frame = release.tables[shown].copy()
        frame["true (private)"] = exact.ravel()
        frame["off by"] = frame["count"] - frame["true (private)"]
        facts = _compared(frame)
        _show_sample_share(tables, name_of(shown))
        numbers, picture = st.columns([4, 3], gap="medium")
        labels = [name for name in frame.columns if name not in NUMBERS]
        order = [*labels, "true (private)", "count", "off by", "low", "high"]
        numbers.dataframe(frame, hide_index=True, column_order=order, column_config=NUMBERS, height=420)
        figure = figures.comparison_figure(release, shown, exact, dark=is_dark())
        picture.plotly_chart(
            figure.update_layout(height=420),
            key="compare-figure",
            theme=None,
            alt=f"Published against true counts of {len(frame):,} cells. {facts}",
            config={**style.CONFIG, "displayModeBar": False},
        )


def _truth(release: Release, table: Table, ledger: Ledger) -> tuple[dict[Columns, Ints], pd.DataFrame]:
    """Return the true counts, and how far off each published table is, the worst first."""
    counted = true_counts(table, release.plan, ledger)
    rows = []
    for columns, exact in counted.items():
        off = np.abs(release.counts(columns) - exact)
        share = sample_share(exact.ravel(), float(off.mean()))
        share = np.nan if share is None else share
        rows.append((name_of(columns), off.size, float(off.mean()), int(off.max()), share))
    frame = pd.DataFrame(rows, columns=["table", "cells", "off on average", "off at most", "like a sample of"])
    return counted, frame.sort_values("like a sample of", na_position="first", ignore_index=True)


def _show_sample_share(tables: pd.DataFrame, shown: str) -> None:
    """Say which random sample would be as far off as the table shown, and list all tables, the worst first."""
    share = tables.set_index("table")["like a sample of"][shown]
    if np.isnan(share):
        st.markdown("This table is farther off than counts from any random sample of your rows would be.")
    elif share < 1:
        st.markdown(
            f"This table is **as far off as counts from a random {portion(share)} sample** of your rows would be."
        )
    else:
        st.markdown("This table is **exact**.")
    st.dataframe(tables, hide_index=True, column_config=TRUTH)


def _compared(frame: pd.DataFrame) -> str:
    """Show the comparison in three numbers, and return them as a sentence."""
    off, true = frame["off by"].abs().to_numpy(), frame["true (private)"]
    inside = int(np.count_nonzero((frame["low"] <= true) & (true <= frame["high"])))
    facts = {
        "Off by, on average": people(off.mean()),
        "Off by, at most": people(off.max()),
        "Within their interval": f"{inside:,} of {off.size:,}",
    }
    with st.grid(3, min_column_width=100):
        for label, value in facts.items():
            st.metric(label, value)
    return "; ".join(f"{label.lower()}: {value}" for label, value in facts.items()).capitalize() + "."


def _leave() -> None:
    visit().release = None
    st.query_params.clear()
