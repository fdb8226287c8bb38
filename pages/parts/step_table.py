"""Step 1: a table is brought, or a sample picked. Reading it shows names and kinds, never values."""

from __future__ import annotations

import re
from pathlib import Path

import streamlit as st
from streamlit.runtime.uploaded_file_manager import UploadedFile

from dpengine import Plan, TableError, open_table
from dpengine.sources import EXCEL
from dpengine.table import Table
from dpengine.workbook import sheet_names
from pages.parts import connections, serving, session, uploads
from pages.parts import entries as draft
from pages.parts.row_count import rows_in_words
from pages.parts.words import plain, plural

__all__ = ["choose_table", "summary"]

DATA = Path(__file__).parent.parent.parent / "data"
SAMPLES = {
    "census": ("Census income 1994–95", "199,523 people: age, education, origin, income", "census.parquet"),
    "rand": ("RAND health insurance", "5,912 people over years: cost sharing, doctor visits", "rand.csv.gz"),
}


def choose_table() -> None:
    """Drop zone, reading options, and the two samples."""
    label, note = "Drop a table here", "It stays on this computer and is deleted when you leave."
    if serving.is_served():
        from pages.parts.drop_zone import drop_zone  # its component can be made only once a server is there

        arrived = drop_zone(label, note)
    else:
        arrived = _small(st.file_uploader(label, type=uploads.KINDS, key=session.key("upload"), help=note))
    with st.expander("How to read it, if it is unusual", icon=":material/tune:"):
        a, b, c = st.columns(3)
        encoding = a.text_input("Encoding", placeholder="UTF-8", key=session.key("encoding")) or None
        delimiter = b.text_input("Delimiter", placeholder="found by itself", key=session.key("delimiter")) or None
        sheet = c.text_input("Sheet", placeholder="the first", key=session.key("sheet")) or None
    if connections.names():
        with st.expander("A table of a database", icon=":material/database:"):
            choose_from_database()
    if arrived is not None and arrived.path is not None:
        _receive(arrived, arrived.path, encoding=encoding, delimiter=delimiter, sheet=sheet)
    elif (source := session.source()) is not None and source.path is not None:
        _read_again(source, source.path, encoding=encoding, delimiter=delimiter)
    st.caption("or try a sample")
    for place, (key, (title, about, _)) in zip(st.columns(2), SAMPLES.items(), strict=True):
        with place.container(border=True, height="stretch"):
            st.markdown(f"**{title}**")
            st.caption(about)
            st.button("Use this sample", key=f"sample_{key}", on_click=load_sample, args=(key,), width="stretch")


def choose_from_database() -> None:
    """One of the operator's databases, and a table or view of it by name."""
    offered: dict[str, list[str]] = st.session_state.setdefault("offered", {})  # asked for once, not at each rerun
    name = st.selectbox("Database", connections.names(), index=None, key=session.key("database"))
    if name is None:
        return
    try:
        if name not in offered:
            with st.spinner("Asking for its tables"):
                offered[name] = connections.tables(name)
        chosen = st.selectbox("Table or view", offered[name], index=None, key=session.key(f"table-of-{name}"))
        if not st.button("Open it", key=session.key("open-table"), disabled=chosen is None) or chosen is None:
            return
        with st.spinner("Opening the table"):
            table = connections.opened(name, chosen)
    except TableError as error:
        offered.pop(name, None)
        _unreadable(error, kept=False)
        return
    session.begin(draft.Entries(dataset=_stem(chosen), title=chosen))
    session.hold(table, f"{name}: {chosen}")
    session.open_step("columns")
    st.rerun()


def load_sample(key: str) -> None:
    """A sample with its ready plan: every step settled, so that ε is the first thing to try."""
    title, _, file = SAMPLES[key]
    session.begin(draft.from_plan(Plan.load(DATA / f"{key}.plan.yaml")))
    session.hold(open_table(DATA / file), title)
    session.settle(all_steps=True)


def _small(uploaded: UploadedFile | None) -> uploads.Place | None:
    """What came by Streamlit's own uploader, where the way for large files is not there, put where those lie."""
    if uploaded is None:
        return None
    with session.place().receiving(uploaded.name) as file:
        file.write(uploaded.getbuffer())
    return session.place()


def _receive(arrived: uploads.Place, path: Path, **reading: str | None) -> None:
    """Open what has arrived, whose file then goes when its table goes; or say what is wrong with it."""
    attempt = (arrived.token, arrived.arrivals, *reading.values())
    tried, fault = st.session_state.get("unreadable", (None, None))
    if tried == attempt:  # reading a large file takes a while, and would end the same way
        _unreadable(fault)
        return
    try:
        sheets = _sheets(path)
        if len(sheets) > 1 and reading["sheet"] is None:
            reading["sheet"] = st.selectbox(
                "Which sheet of the workbook?", sheets, index=None, key=session.key("which-sheet")
            )
            if reading["sheet"] is None:
                return
        with st.spinner("Reading the table"):
            table = open_table(path, name=arrived.name, **reading)
    except TableError as error:
        st.session_state["unreadable"] = (attempt, error)
        _unreadable(error)
        return
    _take(table, arrived)


def _read_again(source: uploads.Place, path: Path, **reading: str | None) -> None:
    """The file at hand once more, in another encoding, with another delimiter or from another sheet."""
    sheets = _sheets(path)
    if len(sheets) > 1:
        reading["sheet"] = st.selectbox("Sheet to read instead", sheets, index=None, key=session.key("other-sheet"))
    if not any(reading.values()):
        return
    st.caption("Reading it in another way starts the plan afresh.")
    if not st.button("Read the file again", key=session.key("read-again"), icon=":material/refresh:"):
        return
    try:
        with st.spinner("Reading the table"):
            table = open_table(path, name=source.name, **reading)
    except TableError as error:
        _unreadable(error)
        return
    _take(table, source)


def _take(table: Table, source: uploads.Place) -> None:
    title = source.name.split(".")[0]
    session.begin_with(table, source, draft.Entries(dataset=_stem(title), title=title))
    session.open_step("columns")
    st.rerun()


def _stem(title: str) -> str:
    return re.sub(r"[^\w-]+", "-", title).strip("-").lower() or "my-table"


def _sheets(path: Path) -> list[str]:
    return sheet_names(path) if path.suffix.lower() in EXCEL else []


def _unreadable(error: TableError, *, kept: bool = True) -> None:
    st.warning("\n\n".join(plain(fault) for fault in error.faults), icon=":material/report:")
    mend = " Say how to read it, or bring another file; this one is deleted when you leave." if kept else ""
    st.caption(f"Nothing was spent.{mend}")


def summary() -> str:
    """One line for the folded step; the number of rows is for the owner's eyes."""
    table = session.table()
    if table is None:
        return "no table yet"
    return f"{plain(session.table_name())} · {plural(len(table.columns), 'column')} · {rows_in_words()}"
