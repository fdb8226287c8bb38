"""Show what a release file contains: its tables with their errors, numbers and measurements, and its files."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import pandas as pd
import streamlit as st

from dpengine.array_types import Columns
from dpengine.bundle.promises import purpose_in_words
from dpengine.bundle.workbook import number_headings, tables_that_fit, workbook
from dpengine.charts.drawable import TablesOfFile
from dpengine.export import Published, of_verified
from dpengine.results.interval_estimates import decimals_of
from dpengine.results.published_columns import NUMBERS, measures, published_name
from dpengine.results.result import EXACT
from dpengine.spec.counted_wording import counted_noun, counting_in_words
from dpengine.spec.plan import Plan
from dpengine.spec.wording import capitalised, name_of, people
from dpengine.translation.catalogue import _, localised, mark
from pages.parts.shared.glossary.help import term
from pages.parts.shared.made_on_click import OCTETS, offer_file
from pages.parts.shared.number_table import MAX_SHOWN, show_numbers
from pages.parts.shared.wording import bullets
from pages.parts.verify.comparison import offer_comparison

__all__ = ["show_contents"]

MEASURED = {  # headings of the list of measurements, by their names in a manifest
    "table": mark("table"),
    "epsilon": mark("epsilon"),
    "mechanism": mark("mechanism"),
    "sensitivity": mark("sensitivity"),
    "scale": mark("scale"),
    "cells": mark("cells"),
    "purpose": mark("purpose"),
    "cells_per_person": mark("cells per person"),
}


def show_contents(
    manifest: dict[str, Any], headings: Mapping[str, str], promised: Mapping[str, Any], content: bytes
) -> None:
    """Show what the release file contains, and how it was measured; tables are called by their `headings`."""
    st.header(_("What it contains"), help=term("bundle"))
    release = of_verified(manifest, content)
    tables = [
        {
            "table": headings[name_of(tuple(each["columns"]))],
            **_counted(release.plan, tuple(each["columns"])),
            "cells": each["cells"],
            "within": people(each["half_width_95"]),
        }
        for each in manifest["tables"]
    ]
    text = st.column_config.TextColumn
    columns = {
        "table": text(_("table")),
        "counted": text(_("counted")),
        "cells": st.column_config.NumberColumn(_("cells"), format="%,d"),
        "within": text(_("95 in 100 within ±"), alignment="right"),
    }
    show_numbers(pd.DataFrame(tables), columns, alt=_("Published tables and their error"))
    _show_numbers_of_one(manifest, headings, content)
    _offer_workbook(release)
    offer_comparison(release, headings)
    with st.expander(_("What was measured, at what price"), icon=":material/straighten:"):
        measured = [_measured(each, headings) for each in manifest["measurements"]]
        named = {key: text(_(name)) for key, name in MEASURED.items()}
        alt = _("Measurements with their noise and their part of ε")
        st.dataframe(measured, hide_index=True, column_config=named, alt=alt)
        st.markdown(bullets(promised["post_processing"]))
    with st.expander(_("Files and their SHA-256"), icon=":material/folder_zip:"):
        listed = [{"file": name, "SHA-256": facts["sha256"]} for name, facts in sorted(manifest["files"].items())]
        st.dataframe(listed, hide_index=True, column_config={"file": text(_("file"))})


def _counted(plan: Plan, table: Columns) -> dict[str, str]:
    """Return what a table counts, if some of them count rows and others people; else nothing."""
    return {"counted": counting_in_words(plan, table) or counted_noun(plan)} if plan.has_distinct else {}


def _show_numbers_of_one(manifest: dict[str, Any], headings: Mapping[str, str], content: bytes) -> None:
    """Show the numbers of one table, once it is chosen."""
    tables = [(*each["columns"],) for each in manifest["tables"] if each["cells"] <= MAX_SHOWN]
    table = st.selectbox(
        _("Look at a table"),
        tables,
        index=None,
        format_func=lambda each: headings[name_of(each)],
        placeholder=_("choose a table to see its numbers"),
        key=f"verify_table_{manifest['release_id']}",
        help=_("Larger tables are in the file, for a spreadsheet or a program."),
    )
    if table is None:
        return
    from pages.parts.release.chart import in_readers_words, number_columns, show_figure  # these take a while to load
    from pages.parts.release.percentages import offer_percentages
    from pages.parts.release.quote import offer_quotation

    release = of_verified(manifest, content)
    if table:
        show_figure(TablesOfFile(release), table, key=f"verify-chart-{tables.index(table)}")
    frame, measured = release.tables[table].round({"estimate": 1}), _columns_of_amounts(release, table)
    name = published_name("mostly noise", [*map(str, frame)])
    noisy = (frame["low"] == 0) & (release.half_width(table) >= EXACT)
    frame.insert([*frame].index("high") + 1, name, noisy)
    first = [*[*frame][: len(table)], *measured]  # means come first, with their intervals in sight
    frame = in_readers_words(frame[[*first, *(each for each in frame if each not in first)]], release.plan, table)
    columns = number_columns() | measured
    columns[name] = columns["mostly noise"]
    show_numbers(frame, columns, alt=_("The numbers of {table}", table=headings[name_of(table)]))
    offer_quotation(release, table, manifest, key="verify")
    offer_percentages(release, table, manifest["release_id"], key="verify")


def _columns_of_amounts(release: Published, table: Columns) -> dict[str, Any]:
    """Return how to show means, sums and quantiles: by their headings, with as many decimals as their error leaves."""
    frame, digits = release.tables[table], dict[str, int]()
    for name in (name for measure in measures(release.plan, table) for name in measure.names):
        width = float((frame[f"{name}_high"] - frame[f"{name}_low"]).median()) / 2
        digits |= dict.fromkeys((name, f"{name}_low", f"{name}_high"), decimals_of(width))
    headings = number_headings(release.plan, table)
    return {
        name: st.column_config.NumberColumn(capitalised(headings[name]), format=f"%,.{digits.get(name, 0)}f")
        for name in [*digits, *(each for each in headings if each not in digits)]
        if name in {*frame} - {*NUMBERS}
    }


def _offer_workbook(release: Published) -> None:
    """Offer all tables as a workbook, in the reader's language."""
    if tables_that_fit(release.plan) == [()]:
        return
    release_id = release.manifest["release_id"]
    name = f"tables-{release_id[:8]}.xlsx"
    offer_file(
        _("All tables for a spreadsheet"), lambda: workbook(release, release_id), name, OCTETS,
        icon=":material/table_view:", key="verify_workbook",
    )  # fmt: skip


def _measured(entry: Mapping[str, Any], headings: Mapping[str, str]) -> dict[str, Any]:
    """Return a measurement for readers: its table by its heading, its fractions with their decimal value."""
    exact = {key: localised(f"{float(Fraction(entry[key])):.4g} ({entry[key]})" if "/" in entry[key] else entry[key])
             for key in ("epsilon", "scale")}  # fmt: skip
    words = {key: write(entry[key]) for key, write in (("mechanism", _), ("purpose", purpose_in_words)) if key in entry}
    table = headings[name_of(tuple(entry["columns"]))]
    return {"table": table} | {key: value for key, value in entry.items() if key != "columns"} | words | exact
