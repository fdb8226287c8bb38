"""One column in detail: its kind, its cells, and where that knowledge comes from."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import streamlit as st

from dpengine.sources.mixed import holds_texts, may_have_zone
from dpengine.sources.table import Field
from dpengine.translation.catalogue import _, mark
from pages.parts.publish.column_forms.boxes import ask_texts, change_columns, key_for
from pages.parts.publish.column_forms.dates import ask_date, ask_time
from pages.parts.publish.column_forms.numbers import ask_amount, ask_number
from pages.parts.publish.column_forms.values import ask_values
from pages.parts.shared.wording import plain
from pages.parts.visit.plan.column_entry import confirmed, finds_cells, is_found, listed, same_cells, suggestion
from pages.parts.visit.plan.tables import used
from pages.parts.visit.plan.times_entry import table_column
from pages.parts.visit.state import visit

__all__ = ["FOUND", "KIND_NAMES", "SEEN", "SOURCE_NAMES", "ask_column", "guessed_kind", "of_kind", "source_of"]

KIND_NAMES = {
    "number": mark("number"),
    "category": mark("category"),
    "yesno": mark("yes or no"),
    "date": mark("date"),
    "time": mark("hour or weekday"),
    "amount": mark("amount"),
}
SOURCE_NAMES = {"typed": mark("I typed it"), "codebook": mark("a codebook"), "standard": mark("a standard list")}
FOUND = mark("found for a part of ε")  # by the release
SEEN = {"confirmed": mark("seen in the data, confirmed as public")}

SOURCE_HELP = mark(
    "Readers will see this. *I typed it*: you knew the values without the data. *A codebook*: a document about the "
    "table lists them. *A standard list*: anyone can look it up, such as the states of the USA; or it is a usual "
    "range, such as ages up to 120. *Found for a part of ε*: nobody has to know the values or bins, since the release "
    "finds them privately."
)

HOW_READ = ("format", "affixes", "zone")  # fields that say how cells are written, and not which there are


def ask_column(name: str, column: dict[str, Any]) -> dict[str, Any]:
    """Show all questions about a column, and return its entry; the same object while nothing is changed."""
    before = column
    kind = st.segmented_control(
        _("Kind"),
        list(KIND_NAMES),
        default=column["kind"],
        format_func=lambda key: _(KIND_NAMES[key]),
        required=True,
        disabled=bool(column.get("of")),
        key=key_for("kind", name),
        help=_("An *amount* is averaged or added up in the tables; a *number* is put into bins."),
    )
    if kind != column["kind"]:
        column = of_kind(name, kind, column)
    cells = _ask_cells(name, kind, column)
    settings = _ask_settings(name, kind, column, cells)
    known = {field: value for field, value in cells.items() if field not in HOW_READ}
    if settings["source"] == column.get("source") and not same_cells(column, column | known):
        settings["source"] = source_of(column, cells)
    after = column | cells | settings | _ask_for_markers(name, column)
    if same_cells(column, after):
        return column if kind != before["kind"] else before
    return confirmed(after)


def source_of(before: Mapping[str, Any], cells: Mapping[str, Any], *, standard: bool = False) -> str:
    """Return the provenance of cells that a person has just typed in place of those of an entry.

    Values that were seen in the data, and are still there, were not known without it.

    >>> source_of({"source": "confirmed", "values": ["a"], "kind": "category"}, {"values": ["a", "b"]})
    'confirmed'
    >>> source_of({"source": "standard", "values": ["a"], "kind": "category"}, {"values": ["a", "b"]})
    'typed'
    """
    if before.get("source") in SEEN and {*listed(before)} & {*listed(cells)}:
        return str(before["source"])
    return "standard" if standard else "typed"


def _ask_cells(name: str, kind: str, column: dict[str, Any]) -> dict[str, Any]:
    """Ask for the cells of a column of this kind; return these fields of its entry."""
    as_text, zoned = holds_texts(_stored_as(name)), may_have_zone(_stored_as(name))
    match kind:
        case "number":
            return ask_number(name, column, as_text=as_text)
        case "category":
            return ask_values(name, column)
        case "amount":
            return ask_amount(name, column, as_text=as_text)
        case "date":
            return ask_date(name, column, as_text=as_text, zoned=zoned)
        case "time":
            return ask_time(name, column, as_text=as_text, zoned=zoned)
    st.caption(
        _(
            "Read as yes and no, in capitals or not: yes/no, true/false, y/n, t/f, 1/0. Other words, such as "
            "ja and nein, are a *category* with two values."
        )
    )
    return {}


def _ask_settings(name: str, kind: str, column: dict[str, Any], cells: dict[str, Any]) -> dict[str, Any]:
    """Ask which further cells the column has, and how its owner knows its `cells`."""
    other, missing, source = st.columns([1, 1, 1.4], vertical_alignment="bottom")
    now, by_release = column.get("source", "typed"), finds_cells(cells)
    sources = {now: FOUND} if by_release else SEEN if now in SEEN else SOURCE_NAMES
    return {
        "other": other.checkbox(
            _("cell *(other)*"),
            value=kind != "amount" and column.get("other", True),
            disabled=kind == "amount" or is_found(cells),
            key=key_for("other", name),
            help=_(
                "For values that you did not list. Without this cell, people with such a value are not counted at all."
            ),
        ),
        "missing": missing.checkbox(
            _("cell *(missing)*"), value=column.get("missing", True), key=key_for("missing", name)
        ),
        "source": source.selectbox(
            _("How you know"),
            list(sources),
            index=list(sources).index(now),
            format_func=lambda key: _(sources[key]),
            key=key_for(f"{'found' if by_release else 'source'}-{now}", name),
            help=_(SOURCE_HELP),
            disabled=by_release,
        ),
    }


def _ask_for_markers(name: str, column: dict[str, Any]) -> dict[str, Any]:
    """Ask for the texts that mean missing, and offer them to the other columns; {} if nothing was ever stated."""
    now = list(column.get("missing_as", ()))
    box, others = st.columns([2.4, 1], vertical_alignment="bottom")
    with box:
        markers = ask_texts(
            _("Texts that mean missing"),
            now,
            placeholder="-99, k. A., n/a",
            key=key_for("markers", name),
            help=_(
                "Beside empty cells, such as the codes of a survey for no answer. In quotes, a comma belongs to the "
                "text."
            ),
        )
    if both := [value for value in listed(column) if value in markers]:
        text = _("{value} is in the list of values too. It counts as missing.", value=plain(both[0]))
        st.caption(f":material/info: {text}")
    declared = visit().entries.declared
    behind = [each for each in used(visit().entries) if list(declared[each].get("missing_as", ())) != markers]
    if markers and set(behind) - {name}:
        others.button(
            _("In all columns"),
            key=visit().key(f"markers-for-all-{name}"),
            on_click=change_columns,
            args=(behind, {"missing_as": markers}, "markers"),
            width="stretch",
        )
    return {"missing_as": markers} if markers or now else {}


def of_kind(name: str, kind: str, column: dict[str, Any]) -> dict[str, Any]:
    """Return the entry of a column whose kind changes, with what was typed for that kind before, if anything."""
    visit().keep(visit().key(f"typed-{name}-{column['kind']}"), (), column)
    typed: dict[str, Any] | None = visit().recall(visit().key(f"typed-{name}-{kind}"), ())
    if kind == "yesno":  # to choose this kind is to declare it
        return confirmed(typed or {"name": name, "kind": kind, "source": "typed"})
    codes = [code for code, _word in field.words] if (field := _field(name)) else []
    return typed or suggestion(name, kind, stored_as=_stored_as(name), codes=codes, keep_kind=True)


def guessed_kind(name: str) -> str:
    """Return the kind that the open table suggests for a column, whatever was declared since."""
    return field.kind_hint if (field := _field(name)) else "category"


def _stored_as(name: str) -> str:
    """Return the type in which the open table holds a column."""
    return field.type if (field := _field(name)) else "VARCHAR"


def _field(name: str) -> Field | None:
    table, read = visit().table, table_column(visit().entries.declared, name)
    assert table is not None
    return next((field for field in table.columns if field.name == read), None)
