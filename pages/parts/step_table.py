"""Step 1: a table is brought, or a sample picked. Reading it shows names and kinds, never values."""

from __future__ import annotations

import re
import shutil
import tempfile
import weakref
from pathlib import Path

import streamlit as st
from streamlit.runtime.uploaded_file_manager import UploadedFile

from dpengine import Plan, TableError, counting, open_table
from dpengine.sources import EXCEL, Table
from dpengine.workbook import sheet_names
from pages.parts import entries as draft
from pages.parts import session
from pages.parts.words import plain, plural

__all__ = ["KINDS", "choose_table", "summary"]

DATA = Path(__file__).parent.parent.parent / "data"
KINDS = ["csv", "tsv", "tab", "txt", "gz", "parquet", "pq", "xlsx", "xls", "ods", "arrow", "feather", "ipc"]
SAMPLES = {
    "census": ("Census income 1994–95", "199,523 people: age, education, origin, income", "census.parquet"),
    "rand": ("RAND health insurance", "5,912 people over years: cost sharing, doctor visits", "rand.csv.gz"),
}


def choose_table() -> None:
    """Drop zone, reading options, and the two samples."""
    uploaded = st.file_uploader(
        "Drop a table here",
        type=KINDS,
        key=session.key("upload"),
        help="CSV, TSV, Parquet, Excel or Arrow. It stays on this computer and is deleted when you leave.",
    )
    with st.expander("How to read it, if it is unusual", icon=":material/tune:"):
        a, b, c = st.columns(3)
        encoding = a.text_input("Encoding", placeholder="UTF-8", key=session.key("encoding")) or None
        delimiter = b.text_input("Delimiter", placeholder="found by itself", key=session.key("delimiter")) or None
        sheet = c.text_input("Sheet", placeholder="the first", key=session.key("sheet")) or None
    if uploaded is not None:
        _receive(uploaded, encoding=encoding, delimiter=delimiter, sheet=sheet)
    elif "source" in st.session_state:
        _read_again(st.session_state["source"], encoding=encoding, delimiter=delimiter)
    st.caption("or try a sample")
    for place, (key, (title, about, _)) in zip(st.columns(2), SAMPLES.items(), strict=True):
        with place.container(border=True, height="stretch"):
            st.markdown(f"**{title}**")
            st.caption(about)
            st.button("Use this sample", key=f"sample_{key}", on_click=load_sample, args=(key,), width="stretch")


def load_sample(key: str) -> None:
    """A sample with its ready plan: every step settled, so that ε is the first thing to try."""
    title, _, file = SAMPLES[key]
    session.begin(draft.from_plan(Plan.load(DATA / f"{key}.plan.yaml")))
    session.hold(open_table(DATA / file), title)
    session.settle(all_steps=True)


def _receive(uploaded: UploadedFile, **reading: str | None) -> None:
    """Copy an upload to a private folder that goes when its table goes, and open it; or say what is wrong with it."""
    folder = Path(tempfile.mkdtemp(prefix="private-release-"))
    path = folder / ("table" + "".join(Path(uploaded.name).suffixes[-2:]))
    path.write_bytes(uploaded.getbuffer())
    try:
        sheets = _sheets(path)
        if len(sheets) > 1 and reading["sheet"] is None:
            reading["sheet"] = st.selectbox(
                "Which sheet of the workbook?", sheets, index=None, key=session.key("which-sheet")
            )
            if reading["sheet"] is None:
                shutil.rmtree(folder, ignore_errors=True)
                return
        table = open_table(path, name=uploaded.name, **reading)
    except TableError as error:
        shutil.rmtree(folder, ignore_errors=True)
        _unreadable(error)
        return
    _take(table, path, uploaded.name)


def _read_again(source: tuple[Path, str], **reading: str | None) -> None:
    """The file at hand once more, in another encoding, with another delimiter or from another sheet."""
    path, name = source
    sheets = _sheets(path)
    if len(sheets) > 1:
        reading["sheet"] = st.selectbox("Sheet to read instead", sheets, index=None, key=session.key("other-sheet"))
    if not any(reading.values()):
        return
    st.caption("Reading it in another way starts the plan afresh.")
    if not st.button("Read the file again", key=session.key("read-again"), icon=":material/refresh:"):
        return
    folder = Path(tempfile.mkdtemp(prefix="private-release-"))  # the old one goes with the table that it belongs to
    copy = folder / path.name
    shutil.copyfile(path, copy)
    try:
        table = open_table(copy, name=name, **reading)
    except TableError as error:
        shutil.rmtree(folder, ignore_errors=True)
        _unreadable(error)
        return
    _take(table, copy, name)


def _take(table: Table, path: Path, name: str) -> None:
    weakref.finalize(table, shutil.rmtree, path.parent, ignore_errors=True)
    stem = re.sub(r"[^\w-]+", "-", name.split(".")[0]).strip("-").lower() or "my-table"
    session.begin(draft.Entries(dataset=stem, title=name.split(".")[0]))
    session.hold(table, name)
    st.session_state["source"] = (path, name)
    session.open_step("columns")
    st.rerun()


def _sheets(path: Path) -> list[str]:
    return sheet_names(path) if path.suffix.lower() in EXCEL else []


def _unreadable(error: TableError) -> None:
    st.warning("\n\n".join(plain(fault) for fault in error.faults), icon=":material/report:")
    st.caption("Nothing was spent, and nothing of the file was kept.")


def summary() -> str:
    """One line for the folded step; the number of rows is for the owner's eyes."""
    table = session.table()
    if table is None:
        return "no table yet"
    if "row_count" not in st.session_state:
        st.session_state["row_count"] = counting.row_count(table)
    rows = st.session_state["row_count"]
    size = f"{plural(len(table.columns), 'column')} · {plural(rows, 'row')}"
    return f"**{plain(session.table_name())}** · {size} (only you see this number)"
