"""Step 3: what is publicly known about each column. Blank until a person says it; never read from the rows
unless the owner looks, and then confirms each value as public."""

from __future__ import annotations

from datetime import date
from typing import Any

import streamlit as st

from dpengine import PlanError, counting
from dpengine.codebook import STANDARD
from dpengine.codebook import loads as read_codebook
from dpengine.domain import equal_edges
from pages.parts import entries as draft
from pages.parts import session
from pages.parts.words import plain

__all__ = ["declare_columns", "summary"]

KIND_NAMES = {"number": "number", "category": "category", "yesno": "yes or no", "date": "date"}
SOURCE_NAMES = {"typed": "I typed it", "codebook": "a codebook", "standard": "a standard list"}
LONG_AGO, FAR_OFF = date(1800, 1, 1), date(2200, 12, 31)


def declare_columns() -> None:
    """A box a column, folded where nothing is missing; a codebook may fill them all."""
    st.caption(
        "Readers will see these cells whether or not anybody is in them. Values that you do not list count as "
        "*(other)*, empty ones as *(missing)*. So nothing about any one person decides what is shown."
    )
    _from_codebook()
    entries = session.entries()
    declared = dict(entries.declared)
    used = [name for name in entries.chosen if any(name in table for table in draft.tables_of(entries))]
    for name in used:
        faults = draft.column_faults(entries, name)
        icon = ":material/edit:" if faults else ":material/check_circle:"
        head = f"**{plain(name)}** · {_brief(declared[name]) if not faults else 'needs your knowledge'}"
        with st.expander(head, expanded=bool(faults), icon=icon, key=session.key(f"box-{name}")):
            declared[name] = _declare(name, declared[name])
            for fault in draft.column_faults(entries.with_(declared=declared), name):
                st.caption(f":material/arrow_right: {plain(fault)}")
    if declared != entries.declared:  # once more, so that the heads of the boxes say what is in them
        session.change(declared=declared)
        st.rerun()
    open_faults = [name for name in used if draft.column_faults(session.entries(), name)]
    if open_faults:
        st.caption(f"Still to say: {', '.join(plain(name) for name in open_faults)}.")
    if st.button(
        "Go on to whom it protects", type="primary", key=session.key("domain-done"), disabled=bool(open_faults)
    ):
        session.settle("domain")
        st.rerun()


def _declare(name: str, column: dict[str, Any]) -> dict[str, Any]:
    kinds = list(KIND_NAMES)
    kind = st.segmented_control(
        "Kind",
        kinds,
        default=column["kind"],
        format_func=KIND_NAMES.__getitem__,
        required=True,
        key=session.key(f"kind-{name}"),
    )
    if kind != column["kind"]:
        column = draft.suggestion(name, kind)
    entered = {"number": _number, "category": _category, "date": _date}.get(kind, lambda name, column: {})(name, column)
    other, missing, source = st.columns([1, 1, 1.4], vertical_alignment="bottom")
    kept = {
        "other": other.checkbox(
            "cell *(other)*",
            value=column.get("other", True),
            key=session.key(f"other-{name}"),
            help="For values that you did not list. Without it, people with such a value are left out altogether.",
        ),
        "missing": missing.checkbox(
            "cell *(missing)*", value=column.get("missing", True), key=session.key(f"missing-{name}")
        ),
        "source": source.selectbox(
            "How you know",
            list(SOURCE_NAMES),
            index=list(SOURCE_NAMES).index(column.get("source", "typed")),
            format_func=SOURCE_NAMES.__getitem__,
            key=session.key(f"source-{name}-{column.get('source', 'typed')}"),
        ),
    }
    return column | entered | kept


def _number(name: str, column: dict[str, Any]) -> dict[str, Any]:
    shown = ", ".join(str(edge) for edge in column.get("edges", []))
    typed = st.text_input(
        "Edges of the bins",
        value=shown,
        placeholder="0, 18, 30, 45, 65, 120",
        key=session.key(f"edges-{name}-{len(column.get('edges', []))}"),
        help="Each bin runs from one edge up to, not including, the next; the last one includes its end.",
    )
    with st.popover("Equal steps", icon=":material/straighten:"):
        low, high, bins = st.columns(3)
        start = low.text_input("From", "0", key=session.key(f"low-{name}"))
        stop = high.text_input("To", "100", key=session.key(f"high-{name}"))
        count = bins.number_input("Bins", 1, 100_000, 10, key=session.key(f"bins-{name}"))
        if st.button("Fill in", key=session.key(f"fill-{name}")):
            try:
                _refill(name, edges=[str(edge) for edge in equal_edges(start.strip(), stop.strip(), count)])
            except ValueError as error:
                st.caption(plain(str(error)))
    return {"edges": [edge for edge in typed.replace(";", ",").replace(",", " ").split() if edge]}


def _category(name: str, column: dict[str, Any]) -> dict[str, Any]:
    values = list(column.get("values", []))
    typed = st.text_area(
        "Values, one a line",
        value="\n".join(values),
        height=min(240, 90 + 22 * min(len(values), 7)),
        key=session.key(f"values-{name}-{hash(tuple(values)) if column.get('filled') else 0}"),
        help="Paste a list. Commas, quotes and leading zeros belong to the value.",
    )
    fill, look = st.columns(2)
    with fill.popover("Common lists", icon=":material/list:", width="stretch"):
        listed = st.selectbox("List", list(STANDARD), key=session.key(f"standard-{name}"))
        if st.button("Fill in", key=session.key(f"take-{name}")):
            _refill(name, values=list(STANDARD[listed]), source="standard", filled=listed)
    with look.popover("Look at my data", icon=":material/visibility:", width="stretch"):
        _look(name, values)
    return {"values": [line for line in typed.splitlines() if line.strip()]}


def _look(name: str, values: list[str]) -> None:
    """The values in the rows, for the owner alone; only those ticked as public enter the plan."""
    st.markdown(
        "The values in your rows are private: one that only one person has would give that person away. "
        "Tick those that anyone could know to be possible, without having seen the data."
    )
    if not st.toggle("Show them to me", key=session.key(f"look-{name}")):
        return
    table = session.table()
    assert table is not None
    seen: dict[str, list[str]] = st.session_state.setdefault("seen", {})
    if name not in seen:
        seen[name] = counting.distinct_texts(table, name)
    fresh = [text for text in seen[name] if text.strip() not in values]
    ticked = [text for k, text in enumerate(fresh) if st.checkbox(plain(text), key=session.key(f"tick-{name}-{k}"))]
    if st.button("These are public: add them", key=session.key(f"add-{name}"), disabled=not ticked):
        _refill(name, values=[*values, *(text.strip() for text in ticked)], source="typed", filled=len(ticked))


def _date(name: str, column: dict[str, Any]) -> dict[str, Any]:
    first, last, by = st.columns(3)
    start = first.date_input("From", _day(column.get("from")), LONG_AGO, FAR_OFF, key=session.key(f"from-{name}"))
    stop = last.date_input("To", _day(column.get("to")), LONG_AGO, FAR_OFF, key=session.key(f"to-{name}"))
    periods = ["day", "week", "month", "quarter", "year"]
    period = by.selectbox("By", periods, index=periods.index(column.get("by", "month")), key=session.key(f"by-{name}"))
    layout = st.text_input(
        "How dates are written, if not 2024-12-31",
        value=column.get("format", ""),
        placeholder="%d/%m/%Y",
        key=session.key(f"format-{name}"),
    )
    return {"from": str(start or ""), "to": str(stop or ""), "by": period, "format": layout}


def _day(text: Any) -> date | None:
    try:
        return date.fromisoformat(str(text))
    except ValueError:
        return None


def _refill(name: str, **fields: Any) -> None:
    """Put new values into a column's entry and draw its box again."""
    entries = session.entries()
    session.change(declared=entries.declared | {name: entries.declared[name] | fields})
    st.rerun()


def _from_codebook() -> None:
    with st.popover("Load a codebook", icon=":material/menu_book:"):
        file = st.file_uploader(
            "A YAML file that lists columns as a plan does", type=["yaml", "yml"], key=session.key("codebook")
        )
        if file is None or st.session_state.get("codebook") == file.file_id:
            return
        try:
            book = read_codebook(file.getvalue().decode("utf-8-sig", "replace"))
        except PlanError as error:
            st.warning("\n\n".join(plain(fault) for fault in error.faults[:5]), icon=":material/report:")
            return
        st.session_state["codebook"] = file.file_id
        declared = session.entries().declared
        found = {c.name: draft.entry(c) for c in book.columns if c.name in declared}
        session.change(declared=declared | found)
        st.session_state["generation"] += 1
        st.rerun()


def _brief(column: dict[str, Any]) -> str:
    match column["kind"]:
        case "number":
            return f"{len(column['edges']) - 1} bins from {column['edges'][0]} to {column['edges'][-1]}"
        case "category":
            return f"{len(column['values'])} values"
        case "date":
            return f"by {column['by']}, {column['from']} to {column['to']}"
        case _:
            return "yes or no"


def summary() -> str:
    """One line for the folded step."""
    entries = session.entries()
    parts = [f"{plain(name)}: {_brief(entries.declared[name])}" for name in entries.chosen]
    return " · ".join(parts[:4]) + (" · …" if len(parts) > 4 else "")
