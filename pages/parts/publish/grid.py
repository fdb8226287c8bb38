"""All columns in one grid, a row each, that works like a spreadsheet: arrow keys, paste, fill down.

The browser holds all that was typed since the grid was last reset, and each new cell is taken into the entries once. A
cell that cannot be read stays as it was typed, beside its fault, so nothing is lost. A change of the entries elsewhere
(in the card of a column, or by a codebook) resets the grid.
"""

from __future__ import annotations

from collections.abc import Mapping, Set
from dataclasses import dataclass
from typing import Any

import pandas as pd
import streamlit as st

from dpengine.spec import notation
from dpengine.translation.catalogue import _, mark, number, plural
from pages.parts.publish.column_card import FOUND, KIND_NAMES, SEEN, SOURCE_HELP, SOURCE_NAMES, of_kind, source_of
from pages.parts.visit.plan import plan_form
from pages.parts.visit.plan.column_checks import ColumnCheck, check_columns
from pages.parts.visit.plan.column_entry import (
    HOW_WRITTEN,
    TO_CONFIRM,
    coarser,
    confirmed,
    finds_cells,
    notation_of_page,
)
from pages.parts.visit.plan.entries import Entries
from pages.parts.visit.plan.tables import used
from pages.parts.visit.state import visit

__all__ = ["GRID", "show_grid", "take_typed"]

GRID = "grid"
NAME, KIND, CELLS, STATE, CONFIRMED, OTHER, MISSING, SOURCE, PUBLISH = (
    mark("Column"), mark("Kind"), mark("Values or bins"), mark("Gives"), mark("Confirmed"), mark("(other)"),
    mark("(missing)"), mark("How you know"), mark("Publish"),
)  # fmt: skip
# The grid is 620 wide on a screen of 1280, and 718 on one of 1440: its edge is to cut no heading in two.
WIDTHS = {
    NAME: 105,
    KIND: 90,
    CELLS: 160,
    STATE: 165,
    CONFIRMED: 100,
    OTHER: 98,
    MISSING: 110,
    SOURCE: 140,
    PUBLISH: 80,
}
MIN_CELLS_WIDTH = 125  # what long names of columns leave of it
MAX_NAME_WIDTH = 220
MAX_LETTERS = 3_000  # letters of a cell; a longer list is shown by its beginning, and changed in its column's card
MAX_ROWS = 14  # rows in sight; the others are reached by scrolling
SOURCES = SOURCE_NAMES | SEEN
_KINDS, _SOURCES = ({name: key for key, name in names.items()} for names in (KIND_NAMES, SOURCES))

ABOUT = {
    PUBLISH: mark("Untick a column to leave it out of every table."),
    CELLS: mark("Public knowledge, never taken from the rows."),
    STATE: mark("The cells that readers will see, (other) and (missing) among them."),
    CONFIRMED: mark("Tick a suggestion to confirm it. What you type yourself needs no tick."),
    OTHER: mark(
        "A cell for values that you did not list. Without it, people with such a value are not counted at all."
    ),
    MISSING: mark("A cell for empty values."),
    SOURCE: SOURCE_HELP,
}

UNWRITTEN = mark("how are dates written?")  # as a cell has room for; what to do is written below the grid
NOTHING = ColumnCheck((), None)

Edits = Mapping[int, Mapping[str, Any]]  # for each row of the grid, its new cells by name


@dataclass(frozen=True)
class _Drawn:
    """The entries when the grid was last reset, those after its edits, and which edits were taken already."""

    before: Entries
    after: Entries
    taken: Edits
    of_a_kind: frozenset[str] = frozenset()  # columns whose kind a person has chosen in the grid


def take_typed() -> None:
    """Take what was typed into the grid into the entries; to be called before the entries are used."""
    here = visit()
    drawn: _Drawn | None = here.recall(GRID, ())
    if drawn is None or _is_outdated(drawn, here.entries):
        here.renew(GRID)
        drawn = _Drawn(here.entries, here.entries, {})
    edits: Edits = st.session_state.get(here.fresh_key(GRID), {}).get("edited_rows", {})
    names = used(drawn.before)
    fresh = _fresh(edits, drawn.taken)
    of_a_kind = drawn.of_a_kind | {names[row] for row, cells in fresh.items() if KIND in cells}
    declared, chosen = typed_into(here.entries.declared, names, fresh, of_a_kind), set(here.entries.chosen)
    for row, cells in fresh.items():
        if PUBLISH in cells:
            (chosen.add if cells[PUBLISH] else chosen.discard)(names[row])
    columns = tuple(name for name in drawn.before.chosen if name in chosen)
    for name in names:
        if declared[name] is not here.entries.declared[name]:
            here.renew(f"card-{name}")
    if (columns, declared) != (here.entries.chosen, here.entries.declared):
        here.change(chosen=columns, declared=declared)
    if any(SOURCE in cells and cells[SOURCE] != _source(declared[names[row]]) for row, cells in fresh.items()):
        here.renew(GRID)  # neither to find cells nor the source of found cells can be chosen here
        drawn, edits, of_a_kind = _Drawn(here.entries, here.entries, {}), {}, frozenset()
    here.keep(GRID, (), _Drawn(drawn.before, here.entries, edits, of_a_kind))


def show_grid() -> None:
    """Draw the grid: a row for each column that is in a table, or was when the grid was last reset."""
    drawn: _Drawn | None = visit().recall(GRID, ())
    names = used(visit().entries if drawn is None else drawn.before)
    st.data_editor(
        _rows(names),
        key=visit().fresh_key(GRID),
        num_rows="fixed",
        hide_index=True,
        disabled=[NAME, STATE],
        height=38 + 35 * min(len(names), MAX_ROWS),
        column_config=_columns(max(map(len, names), default=0)),
        alt=_("A row for each column: whether it is published, its kind, its values or bins, and how that is known."),
    )


def typed_into(
    declared: Mapping[str, dict[str, Any]], names: list[str], edits: Edits, of_a_kind: Set[str] = frozenset()
) -> dict[str, dict[str, Any]]:
    """Return the entries of all columns with what was typed into some rows; the rows are in the order of `names`.

    A column in `of_a_kind` keeps its kind, whatever its text says.
    """
    entries = dict(declared)
    for row, cells in edits.items():
        name = names[row]
        entries[name] = _edited(name, entries[name], cells, strict=name in of_a_kind)
    return entries


def _fresh(edits: Edits, taken: Edits) -> dict[int, dict[str, Any]]:
    """Return the cells of `edits` that are not in `taken`, or have another value there."""
    fresh = {
        int(row): {cell: new for cell, new in cells.items() if (cell, new) not in taken.get(row, {}).items()}
        for row, cells in edits.items()
    }
    return {row: cells for row, cells in fresh.items() if cells}


def _edited(name: str, column: dict[str, Any], cells: Mapping[str, Any], *, strict: bool) -> dict[str, Any]:
    """Return the entry of a column with what was typed into its row; the same object if that changes nothing."""
    before, kind = column, _KINDS.get(cells.get(KIND) or "", column["kind"])
    if column.get("of"):  # the hour or the weekday of another column, and nothing else
        kind, strict = column["kind"], True
    if kind != column["kind"]:
        column = _of_other_kind(name, kind, column)
    if CELLS in cells:
        column = _written(name, column, str(cells[CELLS] or "").strip(), strict=strict)
    if isinstance(cells.get(OTHER), bool) and column["kind"] != "amount":  # of which a text counts as missing
        column = column | {"other": cells[OTHER]}
    if isinstance(cells.get(MISSING), bool):
        column = column | {"missing": cells[MISSING]}
    if (source := _SOURCES.get(cells.get(SOURCE) or "")) is not None and not finds_cells(column):
        column = confirmed(column) | {"source": source}
    if cells.get(CONFIRMED) is True and "written" not in column:
        column = confirmed(column)
    elif cells.get(CONFIRMED) is False and not plan_form.column_faults(Entries(declared={name: column}), name):
        column = column | {"suggested": True}
    return before if column == before else column


def _written(name: str, column: dict[str, Any], text: str, *, strict: bool) -> dict[str, Any]:
    """Return the entry with the cells that a text declares; a text that cannot be read is kept in the entry."""
    column = confirmed(column)
    if not text:
        blank: dict[str, Any] = {"edges": [], "values": [], "from": "", "to": "", "knots": [], "upper": None}
        return {key: blank.get(key, value) for key, value in column.items()}
    if text == _text(column):
        return column
    try:
        fields = notation.read(text, column["kind"], strict=strict)
    except ValueError:
        return column | {"written": text}
    if fields["kind"] != column["kind"]:
        column = confirmed(_of_other_kind(name, fields["kind"], column))
    standard = fields["kind"] == "category" and notation.is_standard(text)
    return column | fields | {"source": source_of(column, fields, standard=standard)}


def _of_other_kind(name: str, kind: str, column: dict[str, Any]) -> dict[str, Any]:
    """Return the entry of a column whose kind changes, which keeps what is set for *(other)* and *(missing)*."""
    kept = {key: column[key] for key in ("other", "missing", "missing_as") if key in column}
    return of_kind(name, kind, column) | kept


def _is_outdated(drawn: _Drawn, entries: Entries) -> bool:
    """Whether the grid, with what was typed into it, no longer shows the entries as they are.

    Only then is it reset, because a reset loses what a browser is about to send.
    """
    tables = [(each.chosen, each.layout, each.own) for each in (drawn.after, entries)]
    if tables[0] != tables[1]:
        return True
    names, declared = used(drawn.before), drawn.after.declared
    changed = [row for row in drawn.taken if entries.declared[names[row]] != declared[names[row]]]
    shown = [
        dict(zip(WIDTHS, _row(entries.declared[names[row]], NOTHING, published=True), strict=True)) for row in changed
    ]
    return any(drawn.taken[row].items() - cells.items() for row, cells in zip(changed, shown, strict=True))


def _rows(names: list[str]) -> pd.DataFrame:
    entries, checks = visit().entries, check_columns(names)
    rows = [_row(entries.declared[name], checks[name], name in entries.chosen) for name in names]
    return pd.DataFrame(rows, columns=list(WIDTHS))


def _row(column: dict[str, Any], check: ColumnCheck, published: bool) -> tuple[Any, ...]:
    text = _text(column)
    return (
        column["name"],
        KIND_NAMES[column["kind"]],
        text,
        (_state(column, check) if text else _("to fill in")) if published else _("left out"),
        not check.faults,
        column["kind"] != "amount" and bool(column.get("other", True)),
        bool(column.get("missing", True)),
        _source(column),
        published,
    )


def _source(column: Mapping[str, Any]) -> str:
    return FOUND if finds_cells(column) else SOURCES[column.get("source", "typed")]


def _text(column: dict[str, Any]) -> str:
    text = column.get("written") or notation_of_page(column)
    return text if len(text) <= MAX_LETTERS else f"{text[: MAX_LETTERS // 10]}, …"


def _state(column: Mapping[str, Any], check: ColumnCheck) -> str:
    size = check.size or 0
    if check.faults == (TO_CONFIRM,) and column["kind"] == "amount":
        return "? " + _("suggested: averages")
    if check.faults == (TO_CONFIRM,):
        return plural("? suggested: {n} cell", "? suggested: {n} cells", size)
    wrong = next((fault for fault in check.faults if fault != TO_CONFIRM), "")
    if wrong:
        return "✗ " + _(UNWRITTEN if wrong == HOW_WRITTEN else wrong)
    if column["kind"] == "amount":
        return "✓ " + _("averages and totals")
    if finds_cells(column):
        return "✓ " + _("up to {n} cells", n=number(size))
    cells, levels = plural("{n} cell", "{n} cells", size), len(coarser(column))
    return f"✓ {cells} · " + plural("{n} coarser level", "{n} coarser levels", levels) if levels else f"✓ {cells}"


def _columns(letters: int) -> dict[str, Any]:
    """Return how each column is shown; `letters` is the length of the longest name.

    What is typed, copied and pasted is the same in every language.
    """
    config = st.column_config
    shown: dict[str, dict[str, Any]] = {
        name: {"label": _(name), "width": max(width, 26 + 7 * len(_(name)))} for name, width in WIDTHS.items()
    }
    longer = max(0, min(MAX_NAME_WIDTH, 26 + 7 * letters) - shown[NAME]["width"])
    shown[NAME]["width"] += longer
    shown[CELLS]["width"] -= min(longer, shown[CELLS]["width"] - MIN_CELLS_WIDTH)
    shown |= {name: {**shown[name], "help": _(text)} for name, text in ABOUT.items()}
    kinds, sources = list(KIND_NAMES.values()), [*SOURCES.values(), FOUND]
    return {
        **{name: config.CheckboxColumn(**shown[name]) for name in (PUBLISH, CONFIRMED, OTHER, MISSING)},
        **{name: config.TextColumn(**shown[name]) for name in (CELLS, STATE)},
        NAME: config.TextColumn(**shown[NAME], pinned=True),
        KIND: config.SelectboxColumn(**shown[KIND], options=kinds, format_func=_label, required=True),
        SOURCE: config.SelectboxColumn(**shown[SOURCE], options=sources, format_func=_label, required=True),
    }


def _label(option: object) -> str:
    return _(str(option))
