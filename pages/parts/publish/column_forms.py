"""The questions about one column: its bins, its values, or its first and last day.

Only `_look` reads rows, and it says so before it does.
"""

from __future__ import annotations

from datetime import date
from itertools import pairwise
from typing import Any, get_args

import streamlit as st

from dpengine import owner
from dpengine.sources.table import Table
from dpengine.spec.declared import NumberFormat
from dpengine.spec.notation import DATE_FORMATS
from dpengine.spec.numeric.edges import equal_edges
from dpengine.spec.standard_lists import standard_lists
from pages.parts.shared.wording import plain, plural
from pages.parts.visit import background_read, plan_form
from pages.parts.visit.state import visit

__all__ = ["ask_date", "ask_number", "ask_values"]

LONG_AGO, FAR_OFF = date(1800, 1, 1), date(2200, 12, 31)
LIST_NAMES = {
    "months": "Months",
    "weekdays": "Days of the week",
    "us-states": "US states and D.C., by name",
    "us-state-codes": "US states and D.C., by code",
    "eu-countries": "Countries of the European Union",
    "german-states": "German states",
    "country-codes": "Countries, by ISO code of two letters",
}
BANDS = {
    "Child, working age, older": "0, 18, 65, 120",
    "Ten years each": "0, 10, 20, 30, 40, 50, 60, 70, 80, 90, 120",
    "Five years each, to 85": "0, 5, 10, 15, 20, 25, 30, 35, 40, 45, 50, 55, 60, 65, 70, 75, 80, 85, 120",
    "As in surveys": "0, 18, 25, 35, 45, 55, 65, 75, 120",
}
OTHERWISE = "otherwise"
MOST_SEEN = 20_000  # different values of a column that its owner can look at
MOST_TICKS = 40  # with more values, a box to search
PLAIN: NumberFormat = "1234.5"


def ask_number(name: str, column: dict[str, Any], *, as_text: bool) -> dict[str, Any]:
    """Ask for the edges of a column's bins, repeat the bins in words, and ask how numbers in texts are written."""
    typed = st.text_input(
        "Edges of the bins",
        value=", ".join(str(edge) for edge in column.get("edges", [])),
        placeholder="0, 18, 30, 45, 65, 120",
        key=_key("edges", name),
        help="Each bin runs from one edge up to, but not including, the next; the last bin includes its end. "
        "If you write decimal commas, separate the edges by semicolons: 0; 1,5; 3.",
    )
    edges = plan_form.edges_of(typed)
    if len(edges) > 1:
        st.caption(plain(in_words(edges)))
    steps, bands = st.columns(2)
    with _popover(steps, "Equal steps", "straighten", "edges", name):
        low, high, bins = st.columns(3)
        start = low.text_input("From", "0", key=_key("low", name))
        stop = high.text_input("To", "100", key=_key("high", name))
        count = bins.number_input("Bins", 1, 100_000, 10, key=_key("bins", name))
        try:
            equal = [str(edge) for edge in equal_edges(_point(start), _point(stop), count)]
        except ValueError as error:
            st.caption(plain(str(error)))
        else:
            _fill_in(f"fill-{name}", name, edges=equal, source="typed")
    with _popover(bands, "Age bands", "cake", "edges", name):
        band = st.selectbox("Bands", list(BANDS), key=_key("band", name))
        st.caption(BANDS[band])
        _fill_in(f"take-band-{name}", name, edges=plan_form.edges_of(BANDS[band]), source="standard")
    return {"edges": edges} | (_numbers_written(name, column.get("format") or PLAIN) if as_text else {})


def _numbers_written(name: str, now: str) -> dict[str, Any]:
    written = st.segmented_control(
        f"How {PLAIN} is written in this column",
        list(get_args(NumberFormat)),
        default=now if now in get_args(NumberFormat) else PLAIN,
        required=True,
        key=_key("number-format", name),
        help="Numbers in any other form count as (other). With the second and third form, blanks and apostrophes "
        "between thousands are read too.",
    )
    return {"format": "" if written == PLAIN else written}


def in_words(edges: list[str]) -> str:
    """Describe the bins between `edges`: the first few and the last.

    >>> in_words(["0", "18", "65"])
    '2 bins: 0 to under 18, 18 to 65'
    """
    bins = [f"{low} to under {high}" for low, high in pairwise(edges)]
    bins[-1] = f"{edges[-2]} to {edges[-1]}"
    shown = bins if len(bins) <= 5 else [*bins[:3], "…", bins[-1]]
    return f"{plural(len(bins), 'bin')}: {', '.join(shown)}"


def ask_values(name: str, column: dict[str, Any]) -> dict[str, Any]:
    """Ask for the values of a column: pasted, from a common list, or seen in the data and confirmed as public."""
    values = list(column.get("values", []))
    typed = st.text_area(
        "Values, one a line",
        value="\n".join(values),
        height=min(240, 90 + 22 * min(len(values), 7)),
        key=_key("values", name),
        help="Paste a list. Commas, quotes and leading zeros count as part of the value.",
    )
    lists, own = st.columns(2)
    with _popover(lists, "Common lists", "list", "values", name):
        listed = st.selectbox(
            "List",
            list(standard_lists()),
            format_func=lambda key: LIST_NAMES.get(key, key),
            key=_key("standard", name),
        )
        _fill_in(f"take-{name}", name, values=list(standard_lists()[listed]), source="standard")
    with _popover(own, "Look at my data", "visibility", "values", name):
        _look(name, values)
    return {"values": [line for line in typed.splitlines() if line.strip()]}


def _look(name: str, values: list[str]) -> None:
    """Show the owner the values in the rows; only those that are ticked as public enter the plan."""
    st.markdown(
        "The values in your rows are private: a value that only one person has would reveal that person. "
        "Tick the values that anyone could know to be possible without having seen the data."
    )
    if not st.toggle("Show them to me", key=_key("look", name)):
        return
    table = visit().table
    assert table is not None
    # Read once, so that a position in the list means one value for as long as the table is open.
    seen = background_read.read(f"seen-{name}", lambda _: _texts(table, name), table, doing="Looking")
    if seen is None:
        return
    listed = set(values)
    fresh = {k: text for k, text in enumerate(seen) if text not in listed}
    more = " or more" if len(seen) >= MOST_SEEN else ""
    st.caption(f"{plural(len(seen), 'different value')}{more} in the rows; {len(fresh):,} not in your list.")
    if len(fresh) <= MOST_TICKS:
        ticked = [text for k, text in fresh.items() if st.checkbox(plain(text), key=_key(f"tick-{k}", name))]
    else:
        ticked = st.multiselect(
            "Values that are public", list(fresh.values()), key=_key("ticks", name),
            placeholder="Type to search",
        )  # fmt: skip
    renewed = [f"look-{name}", f"ticks-{name}", *(f"tick-{k}-{name}" for k in fresh)]
    _fill_in(
        f"add-{name}", name, label="These are public: add them", disabled=not ticked, forget=renewed,
        values=[*values, *ticked], source="confirmed",
    )  # fmt: skip
    if len(fresh) > 1 and not more:
        _fill_in(
            f"add-all-{name}", name, label=f"All {len(fresh):,} are public: add them", forget=renewed,
            values=[*values, *fresh.values()], source="confirmed",
        )  # fmt: skip
        st.caption("All of them are public if, say, the questionnaire or a form lists every one.")


def _texts(table: Table, name: str) -> list[str]:
    return list(dict.fromkeys(text.strip() for text in owner.distinct_texts(table, name, limit=MOST_SEEN)))


def ask_date(name: str, column: dict[str, Any], *, as_text: bool) -> dict[str, Any]:
    """Ask for the first and last day, the length of a period, and, if days are stored as text, how they are written."""
    first, last, by = st.columns(3)
    start = first.date_input("From", _day(column.get("from")), LONG_AGO, FAR_OFF, key=_key("from", name))
    stop = last.date_input("To", _day(column.get("to")), LONG_AGO, FAR_OFF, key=_key("to", name))
    periods = ["day", "week", "month", "quarter", "year"]
    period = by.selectbox("By", periods, index=periods.index(column.get("by", "month")), key=_key("by", name))
    entry = {"from": str(start or ""), "to": str(stop or ""), "by": period}
    return entry | ({"format": _written(name, column.get("format", ""))} if as_text else {})


def _written(name: str, now: str | None) -> str | None:
    """Ask how days are written; None until it is answered, since a wrong guess would put everyone into (other)."""
    options = [*DATE_FORMATS, OTHERWISE]
    chosen = st.selectbox(
        "How the last day of 2024 is written in this column",
        options,
        index=None if now is None else options.index(now if now in DATE_FORMATS else OTHERWISE),
        format_func=lambda pattern: DATE_FORMATS.get(pattern, "otherwise…") + ("" if pattern else " (ISO)"),
        placeholder="Choose; dates in any other form count as (other)",
        key=_key("written", name),
    )
    if chosen != OTHERWISE:
        return chosen
    typed = st.text_input(
        "The pattern",
        value="" if now in DATE_FORMATS else now or "",
        placeholder="%d/%m/%y",
        key=_key("format", name),
        help="%d day, %m month, %b month's name, %Y year, %y year in two digits, %H:%M time.",
    )
    return typed.strip() or None


def _popover(place: Any, label: str, icon: str, turns_with: str, name: str) -> Any:
    """Return a popover that closes when its button has filled the box beside it."""
    return place.popover(
        label,
        icon=f":material/{icon}:",
        width="stretch",
        key=_key(turns_with, name) + label.lower().replace(" ", "-"),
        on_change="rerun",
    )


def _fill_in(
    key: str,
    name: str,
    *,
    label: str = "Fill in",
    disabled: bool = False,
    forget: list[str] | None = None,
    **entry: Any,
) -> None:
    """Show a button that puts new values into a column's entry, and renews the widgets in `forget`."""
    box = "edges" if "edges" in entry else "values"
    st.button(
        label,
        key=visit().key(key),
        disabled=disabled,
        on_click=_refill,
        args=(name, [f"{box}-{name}", *(forget or [])], entry),
    )


def _refill(name: str, renewed: list[str], entry: dict[str, Any]) -> None:
    """Put new values into a column's entry; its box and the popovers beside it start anew."""
    entries = visit().entries
    visit().change(declared=entries.declared | {name: plan_form.confirmed(entries.declared[name]) | entry})
    for widget in renewed:
        visit().turn(widget)


def _key(what: str, name: str) -> str:
    """Return the key of a widget about one column: `turn` renews it, and so does a change of the column elsewhere."""
    return f"{visit().turned(f'{what}-{name}')}-{visit().turns(f'card-{name}')}"


def _point(text: str) -> str:
    return text.strip().replace(",", ".")


def _day(text: Any) -> date | None:
    try:
        return date.fromisoformat(str(text))
    except ValueError:
        return None
