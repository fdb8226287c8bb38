"""Step 1: bring a table, or pick a sample. Only the names and types of its columns are shown, never values."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import streamlit as st
from streamlit.runtime.uploaded_file_manager import UploadedFile

from dpengine import open_table, owner
from dpengine.sources.connections import Connection, list_tables, open_connection
from dpengine.sources.open import sheet_names
from dpengine.sources.read_options import EXCEL
from dpengine.sources.table import Table
from dpengine.translation.catalogue import _, language, mark, plural
from pages.parts.publish import reading_options, renamed_columns, table_questions
from pages.parts.publish.reading_options import PLAINLY
from pages.parts.server import connections, lifespan, session_resources, uploads
from pages.parts.server.jobs import Progress, Stopped
from pages.parts.shared.demo import is_demo
from pages.parts.shared.wording import plain
from pages.parts.visit import background_read, saved_draft
from pages.parts.visit.fault_text import names_repeat, title_may_stand_above
from pages.parts.visit.plan import plan_form
from pages.parts.visit.plan.entries import Entries
from pages.parts.visit.samples import show_samples
from pages.parts.visit.state import visit

__all__ = ["choose_table", "summary"]


def choose_table() -> None:
    """Show the drop zone, the options for reading a file, the operator's databases and the two samples."""
    saved_draft.show_what_waits()
    renamed_columns.ask()
    if is_demo():
        st.caption(_("This demonstration takes no files: choose one of its public samples."))
        show_samples("sample")
        return
    arrived: uploads.Place | None
    label, note = _("Drop a table here"), _("It stays on this server and is deleted when you leave.")
    if lifespan.is_served():
        from pages.parts.server.drop_zone import drop_zone  # its component needs a running server

        arrived = drop_zone(label, note, visit().place, key=visit().key("drop-zone"))
    else:
        arrived = _place_of_upload(st.file_uploader(label, type=uploads.KINDS, key=visit().key("upload"), help=note))
    how = reading_options.ask()
    if databases := connections.databases(visit().account.connections):
        with st.expander(_("A table of a database"), icon=":material/database:"):
            choose_from_database(databases)
    if arrived is not None and arrived.path is not None:
        _receive(arrived, arrived.path, **how)
    elif (source := visit().source) is not None and source.path is not None:
        _read_again(source, source.path, **how)
    if (table := visit().table) is not None and table.reading:
        text = _("Read as {how}. If that is not so, state it in the reading options.", how=plain(table.reading))
        st.caption(text)
    if table is not None and st.button(
        _("Keep this table and go back"), key="keep-table", icon=":material/arrow_back:"
    ):
        visit().settle("table")
        st.rerun()
    st.caption(_("or try a sample"))
    show_samples("sample")


def choose_from_database(databases: dict[str, Connection]) -> None:
    """Ask for one of the operator's databases, and for a table or view of it by name."""
    name = st.selectbox(
        _("Database"), list(databases), index=None, placeholder=_("Choose one"), key=visit().key("database")
    )
    if name is None:
        st.caption(_("These are the databases that this server may read. Nothing in them is changed."))
        return
    entry = databases[name]
    offered = background_read.read(
        "tables", lambda _progress: list_tables(name, entry), None, question=name, doing=mark("Asking for its tables")
    )
    if offered is None:
        return
    if not offered:
        st.info(_("This database has no table or view that this server may read."), icon=":material/search_off:")
        st.button(_("Look again"), key=visit().key("look-again"), on_click=background_read.drop, args=("tables",))
        return
    chosen = st.selectbox(
        _("Table or view"), offered, index=None, placeholder=_("Choose one"), key=visit().key(f"table-of-{name}")
    )
    clicked = st.button(_("Open it"), key=visit().key("open-table"), disabled=chosen is None)
    if chosen is None or not (clicked or background_read.job_for("view", (name, chosen))):
        return
    table = _opened("view", lambda: open_connection(name, entry, chosen), question=(name, chosen), again=True)
    if table is None:
        return
    visit().begin(_first_entries(chosen))
    visit().keep_table(table, f"{name}: {chosen}")
    visit().read_as = {"database": name, "table": chosen, "schema": entry.get("schema", "")}
    _go_on(table)


def _place_of_upload(uploaded: UploadedFile | None) -> uploads.Place | None:
    """Return the place of a file that came by Streamlit's own uploader, for when the drop zone cannot be used."""
    if uploaded is None:
        return None
    if visit().uploaded_id != uploaded.file_id:
        with visit().place.receiving(uploaded.name) as file:
            file.write(uploaded.getbuffer())
        visit().uploaded_id = uploaded.file_id
    return visit().place


def _receive(arrived: uploads.Place, path: Path, **how: Any) -> None:
    """Open the file that has arrived, or show what is wrong with it; the file is removed when its table is closed."""
    sheets = _sheets(path, arrived)
    if sheets is None:
        return
    if how["sheet"] not in (None, *sheets) and "sheet" in reading_options.kept(how):
        how["sheet"] = None
    if len(sheets) > 1 and how["sheet"] is None:
        how["sheet"] = st.selectbox(
            _("Which sheet of {name}?", name=plain(arrived.name)),
            sheets,
            index=None,
            placeholder=_("Choose a sheet"),
            key=visit().key("which-sheet"),
        )
        if how["sheet"] is None:
            return
    question = (arrived.token, arrived.arrivals, *how.values())
    table = _opened("file", lambda: open_table(path, name=arrived.name, in_full=True, **how), question=question)
    if table is not None:
        if reading_options.kept(how) and not _is_like_the_open_one(table):
            table.close()
            reading_options.read_plainly()
        _begin_with(table, arrived, how)
    elif (job := background_read.job_for("file", question)) is not None and job.done:
        if reading_options.kept(how):  # they may be the reason: a Parquet file has no columns of the same name
            reading_options.read_plainly()
        _offer_other_names(job.failure)
        st.caption(
            _(
                "Nothing was spent. Set the reading options above, or bring another file; this one is deleted when you "
                "leave."
            )
        )


def _is_like_the_open_one(table: Table) -> bool:
    """Whether a file that came in place of the open table has the same columns."""
    before = visit().table
    return before is not None and {field.name for field in before.columns} == {field.name for field in table.columns}


def _read_again(source: uploads.Place, path: Path, **how: Any) -> None:
    """Offer to read the open file again with another encoding, delimiter or sheet."""
    sheets = _sheets(path, source)
    if sheets is None:
        return
    if len(sheets) > 1:
        other = st.selectbox(
            _("Sheet to read instead"),
            sheets,
            index=None,
            placeholder=_("Choose a sheet"),
            key=visit().key("other-sheet"),
        )
        how["sheet"] = other or how["sheet"]
    if not reading_options.differ(how):
        return
    question = (source.token, *how.values())
    st.caption(_("If it then has other columns, a new plan begins."))
    clicked = st.button(_("Read the file again"), key=visit().key("read-again"), icon=":material/refresh:")
    clicked |= bool(visit().recall("read-at-once", visit().key("file")))
    if not clicked and background_read.job_for("file", question) is None:
        return
    table = _opened("file", lambda: open_table(path, name=source.name, in_full=True, **how), question=question)
    if table is not None:
        _begin_with(table, source, how)
    elif (job := background_read.job_for("file", question)) is not None:
        _offer_other_names(job.failure)


def _offer_other_names(failure: BaseException | None) -> None:
    """Offer remedies if the names of columns are refused."""
    if title_may_stand_above(failure):
        table_questions.offer_to_skip_a_row()
    elif names_repeat(failure):
        table_questions.offer_to_number_names()


def _opened(name: str, opens: Callable[[], Table], *, question: object, again: bool = False) -> Table | None:
    """Return the table once it is open; it is closed with this session, even if nobody waits for it then."""
    session = session_resources.running_session()

    def work(progress: Progress) -> Table:
        table = opens()
        session_resources.keep(table, session)
        try:
            progress("opened")
        except Stopped:
            table.close()
            raise
        return table

    return background_read.read(name, work, None, question=question, doing=mark("Reading the table"), again=again)


def _begin_with(table: Table, source: uploads.Place, how: dict[str, Any]) -> None:
    """Continue with an open table once its owner has answered all questions about odd rows and cells."""
    if not table_questions.are_answered(table, source, how):
        return
    as_before = reading_options.kept(how)
    visit().begin_with(table, source, _first_entries(source.name.split(".")[0]))
    visit().keep("as-before", visit().key("file"), as_before)
    visit().read_as = {name: value for name, value in how.items() if value != PLAINLY.get(name)}
    _go_on(table)


def _first_entries(title: str) -> Entries:
    """Return the entries of a new plan; its report is in the language of the page until its owner chooses another."""
    return Entries(dataset=plan_form.stem(title), title=title, language=language())


def _go_on(table: Table) -> None:
    """Go on to the next step with a new table, and with the plan that waits for it, if there is one."""
    if not saved_draft.resume(table) and not saved_draft.carry_over(table):
        visit().open_step("columns")
    st.rerun()


def _sheets(path: Path, place: uploads.Place) -> list[str] | None:
    """Return the names of a workbook's sheets, none for other files; None while they are being read."""
    if path.suffix.lower() not in EXCEL:
        return []
    question = (place.token, place.arrivals)
    return background_read.read(
        "sheets",
        lambda _progress: sheet_names(path),
        None,
        question=question,
        doing=mark("Looking for sheets"),
        again=False,
    )


def summary() -> str:
    """Return what a folded step shows, in one line; only the owner sees its number of rows."""
    table = visit().table
    if table is None:
        return _("no table yet")
    head = f"{plain(visit().table_name)} · " + plural("{n} column", "{n} columns", len(table.columns))
    if as_before := visit().recall("as-before", visit().key("file")):
        head += " · " + _("read like the table before: {how}", how=plain(reading_options.in_words(as_before)))
    rows = background_read.glance("rows", lambda _progress: owner.row_count(table), table)
    if rows is not None:
        counted = plural("{n} row (only you see this number)", "{n} rows (only you see this number)", rows)
        return f"{head} · {counted}"
    awaited = (job := background_read.job_for("rows")) is not None and not job.done
    why = _("its rows are being counted") if awaited else _("its rows cannot be counted just now")
    return f"{head} · {why}"
