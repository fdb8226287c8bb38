"""Words for readers: who publishes, names and notes of columns, and words for codes.

None of it changes a cell, the price or the noise. So it is kept apart from the plan's entries and can be changed at any
time: the same release is then shown in other words, at no cost. Each box takes effect as soon as it is left, so that
nothing typed is missing when the plan is published.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pandas as pd
import streamlit as st

from dpengine import PlanError
from dpengine.spec.codebook_sheet import words_of
from dpengine.spec.domain import Category, Number
from dpengine.spec.plan import Plan
from dpengine.translation.catalogue import _, languages, mark
from pages.parts.visit.fault_text import all_faults
from pages.parts.visit.plan import plan_form
from pages.parts.visit.state import visit

__all__ = ["ask_words"]

ABOUT = {
    "publisher": (mark("Publisher"), mark("Office of Statistics of Example City")),
    "contact": (mark("Contact"), "data@example.org"),
    "source": (mark("Source of the data"), mark("Household survey 2026")),
    "period": (mark("Period"), mark("March 2026")),
    "licence": (mark("Licence"), "CC BY 4.0"),
    "cite_as": (mark("Cite as"), mark("Example City (2026): Households.")),
}
GRID = "columns-words"
FIELDS = {"name for readers": "label", "what it says": "description", "whole numbers": "whole"}

Row = dict[str, Any]


def ask_words(plan: Plan) -> None:
    """Ask, in a folded box, for words for readers; all of them are optional."""
    box = st.expander(_("Words for readers"), icon=":material/translate:", key=visit().key("words"), on_change="rerun")
    if not box.open:
        return
    with box:
        st.caption(_("Said in the report and the charts, and kept in plan.yaml. Changes no number, and costs nothing."))
        _ask_about(plan)
        _ask_columns(plan)
        _ask_codes(plan)


def _ask_about(plan: Plan) -> None:
    places = st.columns(2)
    for k, (field, (label, example)) in enumerate(ABOUT.items()):
        with places[k % 2]:
            key = _filled(f"about-{field}", getattr(plan.about, field))
            st.text_input(
                _(label),
                placeholder=_(example),
                key=key,
                on_change=visit().while_shown(_change_if_valid),
                args=(key, _about, field),
            )
            _show_fault(key)
    codes = list(languages())
    key = _filled("report-language", plan.language)
    st.selectbox(
        _("Language of the report"),
        codes,
        format_func=languages().__getitem__,
        key=key,
        help=_("The report and README.txt are written in it. Your own words and the names of cells stay as they are."),
        on_change=visit().while_shown(_change_if_valid),
        args=(key, _language, ""),
    )
    key = _filled("notes", plan.notes)
    st.text_area(
        _("Notes"), height=80, key=key, on_change=visit().while_shown(_change_if_valid), args=(key, _notes, "")
    )
    _show_fault(key)


def _ask_columns(plan: Plan) -> None:
    st.markdown(_("**What the columns say**"))
    here, now = visit(), [_row(plan, name) for name in plan.used]
    key = here.fresh_key(GRID)
    drawn: list[Row] | None = here.recall(GRID, key)
    if drawn is None or (with_edits(drawn, _typed(key)) != now and not _fault(key)):  # changed outside this table
        here.renew(GRID)
        key, drawn = here.fresh_key(GRID), now
        here.keep(GRID, key, drawn)
    st.data_editor(
        pd.DataFrame(drawn),
        hide_index=True,
        disabled=["column"],
        key=key,
        on_change=visit().while_shown(_change_if_valid),
        args=(key, _names, ""),
        column_config={
            "column": st.column_config.Column(_("column")),
            "name for readers": st.column_config.Column(_("name for readers")),
            "what it says": st.column_config.Column(_("what it says")),
            "whole numbers": st.column_config.CheckboxColumn(
                _("whole numbers"), help=_("Readers see 18–29 instead of 18 to <30.")
            ),
        },
    )
    _show_fault(key)


def _row(plan: Plan, name: str) -> Row:
    column = plan.column(name)
    whole = isinstance(column, Number) and column.whole
    return {
        "column": name,
        "name for readers": column.label,
        "what it says": column.description,
        "whole numbers": whole,
    }


def with_edits(rows: list[Row], edits: dict[int, Row]) -> list[Row]:
    """Return the rows with the cells that were edited; `edits` holds these by row.

    >>> with_edits([{"column": "age", "name for readers": ""}], {0: {"name for readers": " Age "}})
    [{'column': 'age', 'name for readers': 'Age'}]
    """
    typed = [row | edits.get(k, {}) for k, row in enumerate(rows)]
    return [
        {cell: new if isinstance(new, bool) else str(new or "").strip() for cell, new in row.items()} for row in typed
    ]


def _typed(key: str) -> dict[int, Row]:
    edits: dict[int, Row] = st.session_state.get(key, {}).get("edited_rows", {})
    return edits


def _ask_codes(plan: Plan) -> None:
    coded = [name for name in plan.used if isinstance(plan.column(name), Category)]
    if not coded:
        return
    st.markdown(_("**Words for codes**"))
    name = st.selectbox(_("Column with codes"), coded, key=visit().key("coded"))
    column = plan.column(name)
    assert isinstance(column, Category)
    lines = (f"{value} = {column.words.get(value, '')}".rstrip() for value in column.values[:1000])
    key = _filled(f"codes-of-{name}", "\n".join(lines))
    st.text_area(
        _("Value = words, one a line"),
        height=min(240, 90 + 22 * min(len(column.values), 7)),
        key=key,
        help=_("For example 1 = male. A value without words is shown as it is."),
        on_change=visit().while_shown(_change_if_valid),
        args=(key, _codes, name),
    )
    _show_fault(key)


def _filled(name: str, text: str) -> str:
    """Return the key of a box, after filling it with `text` if it is new."""
    key = visit().key(name)
    st.session_state.setdefault(key, text)
    return key


def _about(key: str, field: str) -> Row:
    about = visit().entries.about | {field: st.session_state[key].strip()}
    return {"about": {name: text for name, text in about.items() if text}}


def _language(key: str, _field: str) -> Row:
    return {"language": st.session_state[key]}


def _notes(key: str, _field: str) -> Row:
    return {"notes": st.session_state[key].strip()}


def _names(key: str, _field: str) -> Row:
    edits, texts = _typed(key), visit().entries.texts
    rows = with_edits(visit().recall(GRID, key) or [], edits)
    changed = {
        (row := rows[k])["column"]: texts.get(row["column"], {}) | {FIELDS[cell]: row[cell] for cell in FIELDS}
        for k in edits
    }
    return {"texts": texts | changed}


def _codes(key: str, name: str) -> Row:
    texts = visit().entries.texts
    column = plan_form.to_plan(visit().entries).column(name)
    assert isinstance(column, Category)
    words, unknown = words_of(st.session_state[key], column.values)
    if unknown:
        raise PlanError(_("No such value: {values}.", values=", ".join(unknown[:5])))
    return {"texts": texts | {name: texts.get(name, {}) | {"words": words}}}


def _change_if_valid(key: str, changes: Callable[[str, str], Row], field: str) -> None:
    """Change the entries to what was typed into a box; if they then make no plan, keep the reason to show beside it."""
    fault = ""
    try:
        changed = changes(key, field)
        plan_form.to_plan(visit().entries.with_(**changed))
    except PlanError as error:
        fault = all_faults(error)
    else:
        visit().change(**changed)
    visit().keep(f"fault-{key}", _content(key), fault)


def _content(key: str) -> str:
    return repr(st.session_state.get(key))


def _fault(key: str) -> str:
    """Return why the text of a box was not taken over, or ""."""
    return visit().recall(f"fault-{key}", _content(key)) or ""


def _show_fault(key: str) -> None:
    if fault := _fault(key):
        st.warning(_("Not taken over: {fault}", fault=fault), icon=":material/report:")
