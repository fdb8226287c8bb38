"""Questions about odd rows and cells, asked before a table is taken: only its owner can answer them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import streamlit as st

from dpengine import owner
from dpengine.sources.plan_template import header_doubt
from dpengine.sources.read_options import EXCEL, TEXT
from dpengine.sources.relation import one_line
from dpengine.sources.table import Table
from dpengine.translation.catalogue import _, mark, plural
from pages.parts.publish.reading_options import add_answers, leave_out, set_option
from pages.parts.server import uploads
from pages.parts.shared.wording import plain_name
from pages.parts.visit import background_read
from pages.parts.visit.state import visit

__all__ = ["are_answered", "offer_to_number_names", "offer_to_skip_a_row"]

WRITTEN_ON = {"mac_roman": ("Mac OS", "Ÿ"), "cp850": ("DOS", "\N{REPLACEMENT CHARACTER}")}
MADE_FROM_ROWS = ("frequency", "answers")  # options that follow from answers, and raise no question anew


@dataclass(frozen=True, slots=True)
class Look:
    """The oddities that a look at the rows has found.

    `encoding` is the likely one if letters look wrong, `below` the number of rows below the table, `counts` a column of
    frequencies, `several` the columns with several answers in a cell.
    """

    encoding: str | None
    below: int
    counts: str | None
    several: list[str]


def are_answered(table: Table, source: uploads.Place, how: dict[str, Any]) -> bool:
    """Ask about the oddities of an open table; return whether there are none, or its owner has answered all."""
    question = (source.token, source.arrivals, *(each for name, each in how.items() if name not in MADE_FROM_ROWS))
    if how["names_given"] and header_doubt(field.name for field in table.columns) and _is_open("names", question):
        _ask_for_names(question)
        return False
    kinds = {suffix.lower() for suffix in source.path.suffixes} if source.path is not None else set()
    has_end, is_text = not kinds.isdisjoint((*TEXT, *EXCEL)), not kinds.isdisjoint(TEXT)
    seen = background_read.read(
        "look", lambda _job: _look(table, has_end, is_text), table, doing=mark("Looking"), question=how
    )
    if seen is None:
        return False
    ask = next((ask for what, column, ask in _oddities(seen, how, question) if _is_open(what, question, column)), None)
    if ask is not None:
        ask()
    return ask is None


def _oddities(seen: Look, how: dict[str, Any], question: object) -> Iterator[tuple[str, str, Callable[[], None]]]:
    """Yield the oddities in the order of asking: a name, the column if there is one, and the function that asks."""
    if seen.encoding is not None and how["encoding"] is None:
        yield "letters", "", partial(_ask_about_letters, seen.encoding, question)
    if seen.below:
        yield "last", "", partial(_ask_about_last_rows, seen.below, question)
    if seen.counts is not None and how["frequency"] is None:
        yield "rows", "", partial(_ask_about_counts, seen.counts, question)
    listed = set(map(one_line, how["answers"] or ()))
    for name in seen.several:
        if one_line(name) not in listed:
            yield "cells", name, partial(_ask_about_cells, name, question)


def _look(table: Table, has_end: bool, is_text: bool) -> Look:
    below = owner.rows_below(table) if has_end else 0
    return Look(
        owner.encoding_found(table) if is_text else None,
        below,
        owner.frequency_column(table),
        owner.columns_of_several_answers(table),
    )


def _is_open(what: str, question: object, column: str = "") -> bool:
    return not visit().recall(f"{what}-confirmed-{column}", question)


def _offer(
    change: str, act: Callable[[], None] | None, confirm: str, what: str, question: object, column: str = ""
) -> None:
    """Offer to `act` on an oddity, if that is possible yet, or to confirm that it is as it should be."""
    with st.container(horizontal=True):  # below each other where they would be cut off
        st.button(change, key=visit().key(f"change-{what}"), type="primary", disabled=act is None, on_click=act)
        st.button(
            confirm, key=visit().key(f"confirm-{what}"),
            on_click=lambda: visit().keep(f"{what}-confirmed-{column}", question, True),
        )  # fmt: skip


def _ask_about_letters(encoding: str, question: object) -> None:
    """Ask whether the file is in an old encoding: as it was read, no value with an umlaut would match a list."""
    system, letter = WRITTEN_ON[encoding]
    text = _(
        "**Some letters look wrong, as if this file had been written by an old program for {system}**: an ü was read "
        "as {letter}. Only you see this.",
        system=system,
        letter=letter,
    )
    st.warning(text, icon=":material/match_case:")
    change = _("Read it as a file of {system}", system=system)
    _offer(change, partial(set_option, "encoding", encoding), _("The letters are right"), "letters", question)


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
    change = plural("It stands for nobody: leave it out", "They stand for nobody: leave them out", below)
    confirm = plural("It is a row of the table", "They are rows of the table", below)
    _offer(change, partial(leave_out, "skip_last", below), confirm, "last", question)


def _ask_about_counts(name: str, question: object) -> None:
    """Ask whether rows stand for several people each: as it is, the release would protect a row, not a person."""
    st.warning(
        _(
            "**Each row seems to stand for several people: the column {name} says how many.** As it is, each row would "
            "count as one person, and the release would protect a row of your summary, not a person.",
            name=plain_name(name),
        ),
        icon=":material/groups:",
    )
    count = partial(set_option, "frequency", name)
    _offer(_("Count that many people"), count, _("Each row is one person"), "rows", question)
    st.caption(_("A table that counts people must have no rows that sum up others, such as totals of regions."))


def _ask_about_cells(name: str, question: object) -> None:
    """Ask for the possible answers to a question with several of them in a cell; they are public, as values are."""
    st.warning(
        _(
            "**The column {name} seems to hold several answers in one cell.** As it is, each combination would be a "
            "value of its own. List the possible answers, and each becomes a column of yes and no.",
            name=plain_name(name),
        ),
        icon=":material/checklist:",
    )
    listed = st.text_area(
        _("Possible answers, one a line"), key=visit().key(f"answers-to-{name}"),
        help=_("As the questionnaire lists them. They are published, so none may be taken from a person's cell alone."),
    )  # fmt: skip
    answers = [line.strip() for line in listed.splitlines() if line.strip()]
    make = partial(add_answers, name, answers) if answers else None
    _offer(_("Make a column of each answer"), make, _("Leave it as it is"), "cells", question, name)


def _ask_for_names(question: object) -> None:
    """Ask whether the first line, which looks like data, holds names: a person's values must not become names."""
    st.warning(
        _(
            "**The first line looks like data, not like names.** Names of columns are published. If it is a row of the "
            "table, one person's values would be published."
        ),
        icon=":material/person_alert:",
    )
    name_none = partial(set_option, "no_names", True)
    _offer(_("It is a row: there are no names"), name_none, _("These are the names"), "names", question)
    offer_to_skip_a_row()


def offer_to_skip_a_row() -> None:
    """Offer to leave out the first row, or one more, as titles above the names of a sheet ask for."""
    st.button(
        _("A title stands above the names: skip a row"), key=visit().key("skip-a-row"), icon=":material/low_priority:",
        on_click=leave_out, args=("skip_rows", 1),
    )  # fmt: skip


def offer_to_number_names() -> None:
    """Offer to number columns of the same name, in their order."""
    st.button(
        _("Number them in their order: name, name (2), …"), key=visit().key("number-the-names"),
        icon=":material/format_list_numbered:", on_click=set_option, args=("number_names", True),
    )  # fmt: skip
