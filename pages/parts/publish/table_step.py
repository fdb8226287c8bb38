"""Step 1: bring a table, or pick a sample. Only the names and types of its columns are shown, never values."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import streamlit as st
from streamlit.runtime.uploaded_file_manager import UploadedFile

from dpengine import open_table, owner
from dpengine.sources.connections import Connection, list_tables, open_connection
from dpengine.sources.open import EXCEL, TEXT, sheet_names
from dpengine.sources.plan_template import header_doubt
from dpengine.sources.table import Table
from dpengine.translation.catalogue import _, language, mark, plural
from pages.parts.server import connections, lifespan, session_resources, uploads
from pages.parts.server.jobs import Progress, Stopped
from pages.parts.shared.demo import is_demo
from pages.parts.shared.wording import plain
from pages.parts.visit import background_read, saved_draft
from pages.parts.visit.fault_text import lies_in_header
from pages.parts.visit.plan import plan_form
from pages.parts.visit.samples import show_samples
from pages.parts.visit.state import visit

__all__ = ["choose_table", "offer_to_skip_a_row", "summary"]

PLAINLY = {
    "encoding": None, "delimiter": None, "sheet": None, "skip_rows": 0, "skip_last": 0, "names_given": True,
    "frequency": None,
}  # fmt: skip


def choose_table() -> None:
    """Show the drop zone, the options for reading a file, the operator's databases and the two samples."""
    saved_draft.show_what_waits()
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
        arrived = _small(st.file_uploader(label, type=uploads.KINDS, key=visit().key("upload"), help=note))
    with st.expander(_("Reading options, for unusual files"), icon=":material/tune:"):
        a, b, c = st.columns(3)
        encoding = a.text_input(_("Encoding"), placeholder="UTF-8", key=visit().key("encoding")) or None
        delimiter = b.text_input(_("Delimiter"), placeholder=_("detected"), key=visit().key("delimiter")) or None
        sheet = c.text_input(_("Sheet"), placeholder=_("the first"), key=visit().key("sheet")) or None
        d, e, f = st.columns([1, 1, 1], vertical_alignment="bottom")
        skip_rows = d.number_input(_("Rows above the names"), 0, 1000, 0, key=visit().key("skip-rows"))
        skip_last = e.number_input(_("Rows below the table"), 0, 1000, 0, key=visit().key("skip-last"))
        frequency = f.text_input(
            _("Column of counts"), placeholder=_("none"), key=visit().key("frequency"),
            help=_("If the table is summed up already: the column that says how many people each row stands for."),
        )  # fmt: skip
        no_row = _("No row holds names: the first one is a row of the table")
        no_names = st.checkbox(no_row, key=visit().key("no-names"))
        rows = {
            "skip_rows": int(skip_rows), "skip_last": int(skip_last), "names_given": not no_names,
            "frequency": frequency.strip() or None,
        }  # fmt: skip
    if databases := connections.known(visit().account.connections):
        with st.expander(_("A table of a database"), icon=":material/database:"):
            choose_from_database(databases)
    if arrived is not None and arrived.path is not None:
        _receive(arrived, arrived.path, encoding=encoding, delimiter=delimiter, sheet=sheet, **rows)
    elif (source := visit().source) is not None and source.path is not None:
        _read_again(source, source.path, encoding=encoding, delimiter=delimiter, **rows)
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
    name = st.selectbox(_("Database"), list(databases), index=None, key=visit().key("database"))
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
    chosen = st.selectbox(_("Table or view"), offered, index=None, key=visit().key(f"table-of-{name}"))
    clicked = st.button(_("Open it"), key=visit().key("open-table"), disabled=chosen is None)
    if chosen is None or not (clicked or background_read.job_for("view", (name, chosen))):
        return
    table = _opened("view", lambda: open_connection(name, entry, chosen), question=(name, chosen), again=True)
    if table is None:
        return
    visit().begin(_first_entries(chosen))
    visit().hold(table, f"{name}: {chosen}")
    visit().read_as = {"database": name, "table": chosen, "schema": entry.get("schema", "")}
    _go_on(table)


def _small(uploaded: UploadedFile | None) -> uploads.Place | None:
    """Return the path of a file that came by Streamlit's own uploader, for when the drop zone cannot be used."""
    if uploaded is None:
        return None
    if visit().arrived != uploaded.file_id:
        with visit().place.receiving(uploaded.name) as file:
            file.write(uploaded.getbuffer())
        visit().arrived = uploaded.file_id
    return visit().place


def _receive(arrived: uploads.Place, path: Path, **how: Any) -> None:
    """Open the file that has arrived, or show what is wrong with it; the file is removed when its table is closed."""
    sheets = _sheets(path, arrived)
    if sheets is None:
        return
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
        _take_or_ask(table, arrived, how)
    elif (job := background_read.job_for("file", question)) is not None and job.done:
        if lies_in_header(job.failure):
            offer_to_skip_a_row()
        st.caption(
            _(
                "Nothing was spent. Set the reading options above, or bring another file; this one is deleted when you "
                "leave."
            )
        )


def _take_or_ask(table: Table, source: uploads.Place, how: dict[str, Any]) -> None:
    """Go on with a table that is open, once its owner has said of odd rows what they are."""
    question = (source.token, source.arrivals, *(value for name, value in how.items() if name != "frequency"))
    named = how["names_given"] and header_doubt(field.name for field in table.columns)
    if named and not visit().recall("names-confirmed", question):
        _ask_for_names(question)
    elif (below := _rows_below(table, source)) and not visit().recall("last-confirmed", question):
        _ask_about_last_rows(below, question)
    elif (
        how["frequency"] is None
        and not visit().recall("rows-confirmed", question)
        and (counts := owner.frequency_column(table))
    ):
        _ask_about_counts(counts, question)
    else:
        _take(table, source, how)


def _rows_below(table: Table, source: uploads.Place) -> int:
    """Return how many last rows look like totals; only files of which rows can be left out are looked at."""
    kinds = {suffix.lower() for suffix in source.path.suffixes} if source.path is not None else set()
    return 0 if kinds.isdisjoint((*TEXT, *EXCEL)) else owner.rows_below(table)


def _ask_about_last_rows(below: int, question: object) -> None:
    """Ask whether the last rows, which look like totals, stand for persons: only their owner can know."""
    text = plural(
        "**The last row looks like a total or a note, not like a person.** As a row of the table it counts as one "
        "more person, and what it sums up as that person's values.",
        "**The last {n} rows look like totals or notes, not like persons.** As rows of the table they count as {n} "
        "more persons, and what they sum up as those persons' values.",
        below,
    )
    st.warning(text, icon=":material/functions:")
    left_out, kept = st.columns(2)
    left_out.button(
        plural("It stands for nobody: leave it out", "They stand for nobody: leave them out", below),
        key=visit().key("last-left-out"), width="stretch", type="primary",
        on_click=_leave_out, args=("skip_last", below),
    )  # fmt: skip
    kept.button(
        plural("It is a row of the table", "They are rows of the table", below),
        key=visit().key("last-is-row"), width="stretch",
        on_click=lambda: visit().keep("last-confirmed", question, True),
    )  # fmt: skip


def _ask_about_counts(name: str, question: object) -> None:
    """Ask whether rows stand for several people each: as it is, the release would protect a row, not a person."""
    st.warning(
        _(
            "**Each row seems to stand for several people: the column {name} says how many.** As it is, each row would "
            "count as one person, and the release would protect a row of your summary, not a person.",
            name=plain(name),
        ),
        icon=":material/groups:",
    )
    summed_up, single = st.columns(2)
    summed_up.button(
        _("Count that many people"),
        key=visit().key("rows-are-counts"), width="stretch", type="primary",
        on_click=_set_option, args=("frequency", name),
    )  # fmt: skip
    single.button(
        _("Each row is one person"), key=visit().key("rows-are-people"), width="stretch",
        on_click=lambda: visit().keep("rows-confirmed", question, True),
    )  # fmt: skip
    st.caption(_("A table that counts people must have no rows that sum up others, such as totals of regions."))


def _ask_for_names(question: object) -> None:
    """Ask whether the first line, which looks like data, holds names: a person's values must not become names."""
    st.warning(
        _(
            "**The first line looks like data, not like names.** Names of columns are published. If it is a row of the "
            "table, one person's values would be published."
        ),
        icon=":material/person_alert:",
    )
    row, names = st.columns(2)
    row.button(
        _("It is a row: there are no names"), key=visit().key("first-is-row"), width="stretch", type="primary",
        on_click=lambda: st.session_state.update({visit().key("no-names"): True}),
    )  # fmt: skip
    names.button(
        _("These are the names"), key=visit().key("first-is-names"), width="stretch",
        on_click=lambda: visit().keep("names-confirmed", question, True),
    )  # fmt: skip
    offer_to_skip_a_row()


def offer_to_skip_a_row() -> None:
    """Offer to leave out the first row, or one more, as titles above the names of a sheet ask for."""
    st.button(
        _("A title stands above the names: skip a row"), key=visit().key("skip-a-row"), icon=":material/low_priority:",
        on_click=_leave_out, args=("skip_rows", 1),
    )  # fmt: skip


def _leave_out(where: str, rows: int) -> None:
    """Leave out more rows above or below the table."""
    before = st.session_state.get(visit().key(where.replace("_", "-")), visit().read_as.get(where, 0))
    _set_option(where, before + rows)


def _set_option(name: str, value: int | str) -> None:
    """Set an option for reading the file; a table that is open is then read again in the first step."""
    st.session_state[visit().key(name.replace("_", "-"))] = value
    visit().open_step("table")


def _read_again(source: uploads.Place, path: Path, **how: Any) -> None:
    """Offer to read the open file again with another encoding, delimiter or sheet."""
    sheets = _sheets(path, source)
    if sheets is None:
        return
    if len(sheets) > 1:
        how["sheet"] = st.selectbox(_("Sheet to read instead"), sheets, index=None, key=visit().key("other-sheet"))
    if not any(value for name, value in how.items() if name != "names_given") and how["names_given"]:
        return
    question = (source.token, *how.values())
    st.caption(_("If it then has other columns, a new plan begins."))
    clicked = st.button(_("Read the file again"), key=visit().key("read-again"), icon=":material/refresh:")
    if not clicked and background_read.job_for("file", question) is None:
        return
    table = _opened("file", lambda: open_table(path, name=source.name, in_full=True, **how), question=question)
    if table is not None:
        _take_or_ask(table, source, how)
    elif (job := background_read.job_for("file", question)) is not None and lies_in_header(job.failure):
        offer_to_skip_a_row()


def _opened(name: str, opens: Callable[[], Table], *, question: object, again: bool = False) -> Table | None:
    """Return the table once it is open; it is closed with this session, even if nobody waits for it then."""
    session = session_resources.here()

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


def _take(table: Table, source: uploads.Place, how: dict[str, Any]) -> None:
    visit().begin_with(table, source, _first_entries(source.name.split(".")[0]))
    visit().read_as = {name: value for name, value in how.items() if value != PLAINLY.get(name)}
    _go_on(table)


def _first_entries(title: str) -> plan_form.Entries:
    """Return the entries of a new plan; its report is in the language of the page until its owner chooses another."""
    return plan_form.Entries(dataset=plan_form.stem(title), title=title, language=language())


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
    rows = background_read.glance("rows", lambda _progress: owner.row_count(table), table)
    if rows is not None:
        counted = plural("{n} row (only you see this number)", "{n} rows (only you see this number)", rows)
        return f"{head} · {counted}"
    awaited = (job := background_read.job_for("rows")) is not None and not job.done
    why = _("its rows are being counted") if awaited else _("its rows cannot be counted just now")
    return f"{head} · {why}"
