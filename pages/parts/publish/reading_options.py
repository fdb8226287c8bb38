"""The options of `open_table` for reading the file, which its owner states in step 1 or by answering questions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

import streamlit as st

from dpengine import TableError
from dpengine.sources.renaming import RENAMED, read_names, write_name
from dpengine.sources.several_answers import EXAMPLE, read_answers, write_answers
from dpengine.translation.catalogue import _, plural
from pages.parts.visit import background_read
from pages.parts.visit.state import visit

__all__ = [
    "PLAINLY", "add_answers", "ask", "differ", "in_words", "kept", "leave_out", "read_plainly", "rename_columns",
    "set_option",
]  # fmt: skip

T = TypeVar("T")
PLAINLY: dict[str, Any] = {
    "encoding": None, "delimiter": None, "sheet": None, "skip_rows": 0, "skip_last": 0, "names_given": True,
    "number_names": False, "rename": None, "frequency": None, "answers": None,
}  # fmt: skip
# Options that also fit a file that comes in place of one like it.
KEPT = ("sheet", "skip_rows", "skip_last", "number_names", "rename")


def ask() -> dict[str, Any]:
    """Ask for all options and return them; those of `PLAINLY` mean that nothing was stated.

    For a plan that waits for its table, the boxes begin with how its table was read before. For a file that comes in
    place of an open one, sheet and rows to leave out begin as for that one.
    """
    _read_as_before()
    _keep_from_open_table()
    with st.expander(_("Reading options, for unusual files"), icon=":material/tune:"):
        first, second, third = st.columns(3)
        encoding = first.text_input(_("Encoding"), placeholder="UTF-8", key=_key("encoding")) or None
        delimiter = second.text_input(_("Delimiter"), placeholder=_("detected"), key=_key("delimiter")) or None
        sheet = third.text_input(_("Sheet"), placeholder=_("the first"), key=_key("sheet")) or None
        above, below, counts = st.columns(3, vertical_alignment="bottom")
        skip_rows = above.number_input(_("Rows above the names"), 0, 1000, 0, key=_key("skip_rows"))
        skip_last = below.number_input(_("Rows below the table"), 0, 1000, 0, key=_key("skip_last"))
        frequency = counts.text_input(
            _("Column of counts"), placeholder=_("none"), key=_key("frequency"),
            help=_("If the table is summed up already: the column that says how many people each row stands for."),
        )  # fmt: skip
        answers = st.text_area(
            _("Questions with several answers in a cell"), placeholder=_(EXAMPLE),
            height=68, key=_key("answers"),
            help=_("One line for each question: its column, =, and all possible answers. Each answer becomes a column "
                   "of yes and no."),
        )  # fmt: skip
        rename = st.text_area(
            _("Columns that the plan knows under other names"), placeholder=_(RENAMED), height=68, key=_key("rename"),
            help=_("One line for each column: its name in the file, =, and its name in the plan."),
        )  # fmt: skip
        no_row = _("No row holds names: the first one is a row of the table")
        no_names = st.checkbox(no_row, key=_key("no_names"))
        number_names = st.checkbox(_("Number columns of the same name"), key=_key("number_names"))
    return {
        "encoding": encoding, "delimiter": delimiter, "sheet": sheet, "skip_rows": int(skip_rows),
        "skip_last": int(skip_last), "names_given": not no_names, "number_names": number_names,
        "rename": _read(read_names, rename),
        "frequency": frequency.strip() or None,
        "answers": _read(read_answers, answers),
    }  # fmt: skip


def _read_as_before() -> None:
    """Fill in how the table of a plan that waits was read, once, so that its owner may state something else."""
    if (draft := visit().waiting) is None:
        return
    answers = "\n".join(write_answers(column, listed) for column, listed in draft.answers.items())
    question = visit().key("reading"), draft
    for name, text in (("frequency", draft.frequency), ("answers", answers)):
        if text and not (_key(name) in st.session_state and visit().recall("read-as-before", question)):
            st.session_state[_key(name)] = text
    visit().keep("read-as-before", question, True)


def _keep_from_open_table() -> None:
    """Begin the boxes as the open table was read; reset them once its successor turned out to be unlike it."""
    here, question = visit(), visit().key("kept")
    wanted: dict[str, Any] = {name: here.read_as[name] for name in KEPT if name in here.read_as}
    if here.source is None or not wanted:
        return
    match here.recall("kept", question):
        case None:
            for name, value in wanted.items():  # unless the owner has stated another since
                st.session_state.setdefault(_key(name), _in_box(value))
            here.keep("kept", question, "first")
        case "unlike":
            st.session_state.update({_key(name): "" if PLAINLY[name] is None else PLAINLY[name] for name in wanted})
            here.keep("kept", question, "dropped")


def _in_box(value: Any) -> Any:
    """Return an option as its box holds it."""
    return "\n".join(write_name(old, new) for old, new in value.items()) if isinstance(value, dict) else value


def kept(how: dict[str, Any]) -> dict[str, Any]:
    """Return the options by which the open table was read and the next file would be, except plain ones."""
    before = visit().read_as
    return {name: how[name] for name in KEPT if how[name] != PLAINLY[name] and before.get(name) == how[name]}


def differ(how: dict[str, Any]) -> bool:
    """Whether options are stated by which the open file was not read."""
    before = PLAINLY | visit().read_as
    return any(how[name] != before[name] and (how[name] != PLAINLY[name] or name in KEPT) for name in how)


def in_words(options: dict[str, Any]) -> str:
    """Say in words what `kept` returns."""
    words = {
        "sheet": _("sheet {name}", name=options.get("sheet")),
        "skip_rows": plural("{n} row above the names left out", "{n} rows above the names left out",
                            options.get("skip_rows", 0)),
        "skip_last": plural("{n} row below the table left out", "{n} rows below the table left out",
                            options.get("skip_last", 0)),
        "number_names": _("columns of the same name numbered"),
        "rename": _("columns renamed: {names}", names=", ".join(options.get("rename") or ())),
    }  # fmt: skip
    return ", ".join(words[name] for name in options)


def read_plainly() -> None:
    """Begin anew without the options of the table before, since the file that came is not like it."""
    visit().keep("kept", visit().key("kept"), "unlike")
    st.rerun()


def _read(reader: Callable[[Sequence[str]], dict[str, T]], text: str) -> dict[str, T] | None:
    try:
        return reader([line for line in text.splitlines() if line.strip()]) or None
    except TableError as error:
        background_read.show_refusal(error)
        return None


def leave_out(where: str, rows: int) -> None:
    """Leave out more rows above or below the table."""
    set_option(where, st.session_state.get(_key(where), visit().read_as.get(where, 0)) + rows)


def add_answers(column: str, answers: Sequence[str]) -> None:
    """Make a column of yes and no of each possible answer to one more question."""
    before = st.session_state.get(_key("answers"), "")
    set_option("answers", "\n".join(filter(None, [before, write_answers(column, answers)])))


def rename_columns(names: Mapping[str, str]) -> None:
    """Read the open table anew, with new names of some columns, by those that they have now."""
    before = visit().read_as.get("rename") or {}
    now = {old: names.get(new, new) for old, new in before.items()}
    now |= {old: new for old, new in names.items() if old not in before.values()}
    set_option("rename", _in_box(now))
    visit().keep("read-at-once", visit().key("file"), True)


def set_option(name: str, value: int | str | bool) -> None:
    """Set an option for reading the file; a table that is open is then read again in the first step."""
    st.session_state[_key(name)] = value
    visit().open_step("table")


def _key(name: str) -> str:
    return visit().key(name.replace("_", "-"))
