"""A codebook for the columns at hand: one to take away and fill in with others, and one to bring."""

from __future__ import annotations

import streamlit as st
from streamlit.runtime.uploaded_file_manager import UploadedFile

from dpengine import PlanError
from dpengine.spec import codebook, codebook_sheet, strict_yaml
from dpengine.spec.codebook import Codebook
from pages.parts.shared.made_on_click import made_on_click
from pages.parts.shared.wording import plain, plural
from pages.parts.visit import plan_form
from pages.parts.visit.fault_text import all_faults
from pages.parts.visit.state import visit

__all__ = ["show"]


def show() -> None:
    """Offer the columns as a sheet to fill in, and take a codebook that declares some of them."""
    with st.popover("Codebook", icon=":material/menu_book:", key=visit().key("codebook-box"), on_change="rerun"):
        entries = visit().entries
        columns = [entries.declared[name] for name in plan_form.used(entries)]
        st.download_button(
            "Download these columns as a sheet",
            made_on_click(lambda: codebook_sheet.csv_bytes(columns), "codebook.csv", "text/csv"),
            file_name="codebook.csv",
            mime="text/csv",
            icon=":material/download:",
            key=visit().key("codebook-sheet"),
            on_click="ignore",
            help="A CSV file for Excel or another spreadsheet, to fill in with a colleague. It has names of columns "
            "and what is entered here, and nothing of the rows.",
        )
        file = st.file_uploader(
            "Bring a codebook: that sheet, or a YAML file with columns as in a plan",
            type=["csv", "yaml", "yml"],
            key=visit().key("codebook"),
        )
        if file is not None:
            _take(file)


def _take(file: UploadedFile) -> None:
    """Fill in the rows of the grid that the codebook declares."""
    try:
        book = _read(file)
    except PlanError as error:
        st.warning(all_faults(error), icon=":material/report:")
        return
    declared = visit().entries.declared
    found = {c.name: plan_form.entry(c) for c in book.columns if c.name in declared}
    if not found:
        names = ", ".join(plain(column.name) for column in book.columns[:5]) or "no column"
        st.warning(f"This codebook declares {names}: none of your columns.", icon=":material/report:")
        return
    told = visit().entries.told
    said = {name: told.get(name, {}) | {"description": book.about[name]} for name in found if book.about.get(name)}
    visit().refresh(visit().entries.with_(declared=declared | found, told=told | said))
    st.toast(f"The codebook filled in {plural(len(found), 'column')}.", icon=":material/menu_book:")
    st.rerun()


def _read(file: UploadedFile) -> Codebook:
    if file.size > strict_yaml.MAX_BYTES:
        raise PlanError(f"this is too long for a codebook: at most {strict_yaml.MAX_BYTES // 10**6} MB are read")
    text = file.getvalue().decode("utf-8-sig", "replace")
    return codebook_sheet.from_csv(text) if file.name.lower().endswith(".csv") else codebook.loads(text)
