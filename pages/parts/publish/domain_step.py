"""Step 3: what is publicly known about each column.

It stays blank until a person fills it in. It is never taken from the rows, unless the owner looks at them and confirms
each value as public.
"""

from __future__ import annotations

from typing import Any

import streamlit as st

from dpengine import PlanError
from dpengine.spec.codebook import loads as read_codebook
from pages.parts.publish import fit
from pages.parts.publish.column_forms import ask_date, ask_number, ask_values
from pages.parts.shared.wording import plain, plural
from pages.parts.visit import plan_form
from pages.parts.visit.fault_text import all_faults
from pages.parts.visit.state import visit

__all__ = ["declare_columns", "faulty", "summary"]

KIND_NAMES = {"number": "number", "category": "category", "yesno": "yes or no", "date": "date"}
SOURCE_NAMES = {"typed": "I typed it", "codebook": "a codebook", "standard": "a standard list"}
SEEN = {"confirmed": "seen in the data, confirmed public by me"}


def faulty() -> list[str]:
    """Return the published columns whose entries are still incomplete."""
    entries = visit().entries
    return [name for name in plan_form.used(entries) if plan_form.column_faults(entries, name)]


def declare_columns() -> None:
    """Ask about each column in a box of its own, folded once it is complete; a codebook may fill them all."""
    st.caption(
        "Readers will see all these cells, whether or not anybody is in them. Values that you do not list count as "
        "*(other)*, empty ones as *(missing)*. So which cells are shown depends on no single person."
    )
    _from_codebook()
    entries = visit().entries
    declared = dict(entries.declared)
    used = plan_form.used(entries)
    for name in used:
        faults = plan_form.column_faults(entries, name)
        icon = ":material/edit:" if faults else ":material/check_circle:"
        head = f"**{plain(name)}** · {_brief(name)}"
        with st.expander(head, expanded=bool(faults), icon=icon, key=visit().key(f"box-{name}")):
            declared[name] = _declare(name, declared[name])
            for fault in plan_form.column_faults(entries.with_(declared=declared), name):
                st.caption(f":material/arrow_right: {plain(fault)}")
    if declared != entries.declared:  # once more, so that the heads of the boxes say what is in them
        visit().change(declared=declared)
        st.rerun()
    if open_faults := faulty():
        st.caption(f"Still to fill in: {', '.join(plain(name) for name in open_faults)}.")
    else:
        fit.show_on_request(used)
    if st.button(
        "Go on to whom it protects", type="primary", key=visit().key("domain-done"), disabled=bool(open_faults)
    ):
        visit().settle("domain")
        st.rerun()


def _declare(name: str, column: dict[str, Any]) -> dict[str, Any]:
    table = visit().table
    assert table is not None
    stored_as = next((field.type for field in table.columns if field.name == name), "VARCHAR")
    kind = st.segmented_control(
        "Kind",
        list(KIND_NAMES),
        default=column["kind"],
        format_func=KIND_NAMES.__getitem__,
        required=True,
        key=visit().key(f"kind-{name}"),
    )
    if kind != column["kind"]:  # what was typed for the kind before is there again if it is chosen again
        visit().keep(visit().key(f"typed-{name}-{column['kind']}"), (), column)
        typed: dict[str, Any] | None = visit().kept(visit().key(f"typed-{name}-{kind}"), ())
        column = typed or plan_form.suggestion(name, kind, stored_as=stored_as)
    match kind:
        case "number":
            entered = ask_number(name, column, as_text=stored_as == "VARCHAR")
        case "category":
            entered = ask_values(name, column)
        case "date":
            entered = ask_date(name, column, as_text=stored_as == "VARCHAR")
        case _:
            entered = {}
    other, missing, source = st.columns([1, 1, 1.4], vertical_alignment="bottom")
    now = column.get("source", "typed")
    sources = SEEN if now in SEEN else SOURCE_NAMES
    kept = {
        "other": other.checkbox(
            "cell *(other)*",
            value=column.get("other", True),
            key=visit().key(f"other-{name}"),
            help="For values that you did not list. Without this cell, people with such a value are not counted at "
            "all.",
        ),
        "missing": missing.checkbox(
            "cell *(missing)*", value=column.get("missing", True), key=visit().key(f"missing-{name}")
        ),
        "source": source.selectbox(
            "How you know",
            list(sources),
            index=list(sources).index(now),
            format_func=sources.__getitem__,
            key=visit().key(f"source-{name}-{now}"),
            help="Readers will see this.",
        ),
    }
    return column | entered | kept


def _from_codebook() -> None:
    with st.popover("Load a codebook", icon=":material/menu_book:", key=visit().key("codebook-box"), on_change="rerun"):
        file = st.file_uploader(
            "A codebook file (YAML): a list of columns, as in a plan file",
            type=["yaml", "yml"],
            key=visit().key("codebook"),
        )
        if file is None:
            return
        try:
            book = read_codebook(file.getvalue().decode("utf-8-sig", "replace"))
        except PlanError as error:
            st.warning(all_faults(error), icon=":material/report:")
            return
        declared = visit().entries.declared
        found = {c.name: plan_form.entry(c) for c in book.columns if c.name in declared}
        visit().refresh(visit().entries.with_(declared=declared | found))
        st.rerun()


def _brief(name: str) -> str:
    entries = visit().entries
    column = entries.declared[name]
    if plan_form.column_faults(entries, name):
        return "to be filled in"
    match column["kind"]:
        case "number":
            edges = column["edges"]
            return f"{plural(len(edges) - 1, 'bin')} from {plain(str(edges[0]))} to {plain(str(edges[-1]))}"
        case "category":
            return plural(len(column["values"]), "value")
        case "date":
            return f"by {column['by']}, {column['from']} to {column['to']}"
        case _:
            return "yes or no"


def summary() -> str:
    """Return the line that stands for the folded step."""
    parts = [f"{plain(name)}: {_brief(name)}" for name in plan_form.used(visit().entries)]
    return " · ".join(parts[:4]) + (" · …" if len(parts) > 4 else "")
