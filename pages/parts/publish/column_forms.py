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
from dpengine.spec import notation
from dpengine.spec.declared import NumberFormat
from dpengine.spec.notation import CODES, DATE_FORMATS
from dpengine.spec.numeric.edges import equal_edges
from dpengine.spec.standard_lists import standard_lists
from dpengine.translation.catalogue import _, mark, number, plural
from pages.parts.publish.found_bins import TWENTY_BINS, ask_bins
from pages.parts.publish.found_values import FIVE_DIGITS, ask_found
from pages.parts.publish.tables.levels_box import PERIODS, ask_levels
from pages.parts.shared.wording import plain
from pages.parts.visit import background_read
from pages.parts.visit.plan import plan_form
from pages.parts.visit.plan.column_entry import has_found_bins, is_found, listed, with_even_knots
from pages.parts.visit.state import visit

__all__ = ["ask_amount", "ask_date", "ask_number", "ask_texts", "ask_values"]

LONG_AGO, FAR_OFF = date(1800, 1, 1), date(2200, 12, 31)
LIST_NAMES = {
    "months": mark("Months"),
    "weekdays": mark("Days of the week"),
    "us-states": mark("US states and D.C., by name"),
    "us-state-codes": mark("US states and D.C., by code"),
    "eu-countries": mark("Countries of the European Union"),
    "german-states": mark("German states"),
    "country-codes": mark("Countries, by ISO code of two letters"),
}
BANDS = {
    mark("Child, working age, older"): "0, 18, 65, 120",
    mark("Ten years each"): "0, 10, 20, 30, 40, 50, 60, 70, 80, 90, 120",
    mark("Five years each, to 85"): "0, 5, 10, 15, 20, 25, 30, 35, 40, 45, 50, 55, 60, 65, 70, 75, 80, 85, 120",
    mark("As in surveys"): "0, 18, 25, 35, 45, 55, 65, 75, 120",
}
OTHERWISE = "otherwise"
MAX_SEEN = 20_000  # most values of a column that its owner can look at
MAX_PARTS = 99  # of an amount
MAX_TICKS = 40  # with more values there is a search box
PLAIN: NumberFormat = "1234.5"


def ask_number(name: str, column: dict[str, Any], *, as_text: bool) -> dict[str, Any]:
    """Ask for the edges of a column's bins, or how to find them, and how the numbers of a text column are written."""
    if has_found_bins(column):
        fields = ask_bins(column, _key("bins-found", name))
        _fill_in(f"state-{name}", name, label=_("State the edges instead"), edges=[], bins=None)
        return fields | (_numbers_written(name, column) if as_text else {})
    typed = st.text_input(
        _("Edges of the bins"),
        value=", ".join(str(edge) for edge in column.get("edges", [])),
        placeholder="0, 18, 30, 45, 65, 120",
        key=_key("edges", name),
        help=_(
            "Each bin runs from one edge up to, but not including, the next; the last bin includes its end. "
            "If you write decimal commas, separate the edges by semicolons: 0; 1,5; 3."
        ),
    )
    edges = plan_form.edges_of(typed)
    if len(edges) > 1:
        st.caption(plain(in_words(edges)))
    steps, bands = st.columns(2)
    with _popover(steps, "equal-steps", _("Equal steps"), "straighten", "edges", name):
        low, high, bins = st.columns(3)
        start = low.text_input(_("From"), "0", key=_key("low", name))
        stop = high.text_input(_("To"), "100", key=_key("high", name))
        count = bins.number_input(_("Bins"), 1, 100_000, 10, key=_key("bins", name))
        try:
            equal = [str(edge) for edge in equal_edges(_point(start), _point(stop), count)]
        except ValueError as error:
            st.caption(plain(str(error)))
        else:
            _fill_in(f"fill-{name}", name, edges=equal, source="typed")
    with _popover(bands, "age-bands", _("Age bands"), "cake", "edges", name):
        band = st.selectbox(_("Bands"), list(BANDS), format_func=_, key=_key("band", name))
        st.caption(BANDS[band])
        _fill_in(f"take-band-{name}", name, edges=plan_form.edges_of(BANDS[band]), source="standard")
    _fill_in(f"find-bins-{name}", name, label=_("Nobody knows where values lie: find bins privately"), **TWENTY_BINS)
    levels = ask_levels(name, column)
    return {"edges": edges} | levels | (_numbers_written(name, column) if as_text else {})


def ask_amount(name: str, column: dict[str, Any], *, as_text: bool) -> dict[str, Any]:
    """Ask for the bounds of an amount and the step to which its values are rounded."""
    places = st.columns(3)
    asked = (
        ("from", _("Lowest value"), "0"),
        ("to", _("Highest value"), "200000"),
        ("step", _("Rounded to"), "100"),
    )
    typed = {
        field: _point(place.text_input(label, str(column.get(field) or ""), placeholder=example, key=_key(field, name)))
        for place, (field, label, example) in zip(places, asked, strict=True)
    }
    st.caption(
        _(
            "Bounds are public knowledge, never taken from the rows. A value outside counts as the nearer bound, so "
            "bounds that are too narrow distort the average; bounds that are too wide make it less exact."
        )
    )
    knots = column.get("knots", []) if all(typed[key] == str(column.get(key) or "") for key in typed) else []
    if any(name in table.quantiles for table in plan_form.published(visit().entries)):
        _say_where_quantiles_end({**column, **typed, "knots": knots})
    return {**typed, "knots": knots} | (_numbers_written(name, column) if as_text else {})


def _say_where_quantiles_end(column: dict[str, Any]) -> None:
    """Say how fine medians and quartiles can be, and how to have them finer, unless the range has too few steps."""
    parts = len((column if column["knots"] else with_even_knots(column))["knots"]) - 1
    finer = with_even_knots(column, min(2 * parts, MAX_PARTS))
    if not 0 < parts < len(finer["knots"]) - 1:
        return
    text = _(
        "Intervals of medians and quartiles end where the {n} parts of this range do. More parts make them narrower, "
        "and those of averages wider: write {example} in the grid.",
        n=number(parts),
        example=f"`{notation.write(finer)}`",
    )
    st.caption(f":material/info: {text}")


def ask_texts(label: str, now: list[str], **box: Any) -> list[str]:
    """Ask for several texts in one box; return those of `now` where what is typed cannot be read, which is told."""
    typed = st.text_input(label, notation.write({"kind": "category", "values": now}), **box)
    try:
        texts: list[str] = notation.read(typed, "category", strict=True)["values"] if typed.strip() else []
    except ValueError as error:
        st.caption(f":material/report: {plain(str(error))}")
        return now
    return texts


def _numbers_written(name: str, column: dict[str, Any]) -> dict[str, Any]:
    """Ask how the numbers of a text column are written, and which texts stand beside them."""
    now, affixes = column.get("format") or PLAIN, list(column.get("affixes", ()))
    written = st.segmented_control(
        _("How {number} is written in this column", number=PLAIN),
        list(get_args(NumberFormat)),
        default=now if now in get_args(NumberFormat) else PLAIN,
        required=True,
        key=_key("number-format", name),
        help=_(
            "Numbers in any other form count as (other). With the second and third form, blanks and apostrophes "
            "between thousands are read too."
        ),
    )
    beside = ask_texts(
        _("Texts beside the numbers"),
        affixes,
        placeholder=_("€, +, days"),
        key=_key("affixes", name),
        help=_(
            "Such as units and signs. They are left out and change no number: 85+ is read as 85, 12 % as 12, 2 weeks "
            "as 2. A number beside any other text does not fit. The plan is published with them."
        ),
    )
    return {"format": "" if written == PLAIN else written} | ({"affixes": beside} if beside or affixes else {})


def in_words(edges: list[str]) -> str:
    """Describe the bins between `edges`: the first few and the last.

    >>> in_words(["0", "18", "65"])
    '2 bins: 0 to under 18, 18 to 65'
    """
    bins = [_("{low} to under {high}", low=low, high=high) for low, high in pairwise(edges)]
    bins[-1] = _("{low} to {high}", low=edges[-2], high=edges[-1])
    shown = bins if len(bins) <= 5 else [*bins[:3], "…", bins[-1]]
    return plural("{n} bin: {bins}", "{n} bins: {bins}", len(bins), bins=", ".join(shown))


def ask_values(name: str, column: dict[str, Any]) -> dict[str, Any]:
    """Ask for the values of a column: pasted, listed, seen in the data and confirmed as public, or found privately."""
    if is_found(column):
        fields = ask_found(column, _key("found", name))
        _fill_in(f"list-{name}", name, label=_("List the values instead"), values=[])
        return fields
    values = listed(column)
    typed = st.text_area(
        _("Values, one a line"),
        value="\n".join(values),
        height=min(240, 90 + 22 * min(len(values), 7)),
        key=_key("values", name),
        help=_("Paste a list. Commas, quotes and leading zeros count as part of the value."),
    )
    _offer_codes(name, values)
    lists, file = st.columns(2)
    with _popover(lists, "common-lists", _("Common lists"), "list", "values", name):
        chosen = st.selectbox(
            _("List"),
            list(standard_lists()),
            format_func=lambda key: _(LIST_NAMES[key]) if key in LIST_NAMES else key,
            key=_key("standard", name),
        )
        _fill_in(f"take-{name}", name, values=list(standard_lists()[chosen]), source="standard")
    with _popover(file, "look-at-my-data", _("Look at my data"), "visibility", "values", name):
        _look(name, values)
    _fill_in(f"find-{name}", name, label=_("Nobody can list them: find them privately"), **FIVE_DIGITS)
    return {"values": [line for line in typed.splitlines() if line.strip()]}


def _offer_codes(name: str, values: list[str]) -> None:
    """Offer all codes in place of a line such as 1..5, which is one value here and many in the grid."""
    for place, line in enumerate(values):
        if CODES.fullmatch(line):
            st.caption(":material/info: " + _("{line} stands here as one single value.", line=plain(line)))
            try:
                codes = notation.read(line, "category")["values"]
            except ValueError:
                return
            label = _("List the {n} codes", n=number(len(codes)))
            _fill_in(f"codes-{name}", name, label=label, values=[*values[:place], *codes, *values[place + 1 :]])
            return


def _look(name: str, values: list[str]) -> None:
    """Show the owner the values in the rows; only those that are ticked as public enter the plan."""
    st.markdown(
        _(
            "The values in your rows are private: a value that only one person has would reveal that person. "
            "Tick the values that anyone could know to be possible without having seen the data. A text that stands "
            "for no answer, such as -99, belongs in *Texts that mean missing* below."
        )
    )
    if not st.toggle(_("Show them to me"), key=_key("look", name)):
        return
    table = visit().table
    assert table is not None
    # Read once, so that each position in the list means the same value for as long as the table is open.
    seen = background_read.read(f"seen-{name}", lambda _job: _texts(table, name), table, doing=mark("Looking"))
    if seen is None:
        return
    known = set(values)
    fresh = {k: text for k, text in enumerate(seen) if text not in known}
    more = len(seen) >= MAX_SEEN
    st.caption(_how_many(len(seen), len(fresh), more=more))
    if len(fresh) <= MAX_TICKS:
        ticked = [text for k, text in fresh.items() if st.checkbox(plain(text), key=_key(f"tick-{k}", name))]
    else:
        ticked = st.multiselect(
            _("Values that are public"), list(fresh.values()), key=_key("ticks", name),
            placeholder=_("Type to search"),
        )  # fmt: skip
    renewed = [f"look-{name}", f"ticks-{name}", *(f"tick-{k}-{name}" for k in fresh)]
    _fill_in(
        f"add-{name}", name, label=_("These are public: add them"), disabled=not ticked, forget=renewed,
        values=[*values, *ticked], source="confirmed",
    )  # fmt: skip
    if len(fresh) > 1 and not more:
        _fill_in(
            f"add-all-{name}", name, label=_("All {n} are public: add them", n=number(len(fresh))), forget=renewed,
            values=[*values, *fresh.values()], source="confirmed",
        )  # fmt: skip
        st.caption(_("All of them are public if, say, the questionnaire or a form lists every one."))


def _how_many(seen: int, fresh: int, *, more: bool) -> str:
    if more:
        return _(
            "{n} different values or more in the rows; {fresh} not in your list.", n=number(seen), fresh=number(fresh)
        )
    return plural(
        "{n} different value in the rows; {fresh} not in your list.",
        "{n} different values in the rows; {fresh} not in your list.",
        seen,
        fresh=number(fresh),
    )


def _texts(table: Table, name: str) -> list[str]:
    return list(dict.fromkeys(text.strip() for text in owner.distinct_texts(table, name, limit=MAX_SEEN)))


def ask_date(name: str, column: dict[str, Any], *, as_text: bool) -> dict[str, Any]:
    """Ask for the first and last day, the length of a period, and, for days in a text column, how they are written."""
    first, last, by = st.columns(3)
    form = _("YYYY-MM-DD")
    start = first.date_input(
        _("From"), _day(column.get("from")), LONG_AGO, FAR_OFF, key=_key("from", name), format=form
    )
    stop = last.date_input(_("To"), _day(column.get("to")), LONG_AGO, FAR_OFF, key=_key("to", name), format=form)
    periods = list(PERIODS)
    period = by.selectbox(
        _("By"),
        periods,
        index=periods.index(column.get("by", "month")),
        format_func=lambda key: _(PERIODS[key]),
        key=_key("by", name),
        help=_("A time of day is left out. For hours, give the table a column of its own with the hour, as a number."),
    )
    entry: dict[str, Any] = {"from": str(start or ""), "to": str(stop or ""), "by": period}
    entry |= ask_levels(name, column | entry)
    return entry | ({"format": _written(name, column.get("format", ""))} if as_text else {})


def _written(name: str, now: str | None) -> str | None:
    """Ask how days are written; None until answered: a wrong guess would put everyone into (other)."""
    options = [*DATE_FORMATS, OTHERWISE]
    chosen = st.selectbox(
        _("How the last day of 2024 is written in this column"),
        options,
        index=None if now is None else options.index(now if now in DATE_FORMATS else OTHERWISE),
        format_func=lambda pattern: DATE_FORMATS.get(pattern, _("otherwise…")) + ("" if pattern else " (ISO)"),
        placeholder=_("Choose; dates in any other form count as (other)"),
        key=_key("written", name),
    )
    if chosen != OTHERWISE:
        return chosen
    typed = st.text_input(
        _("The pattern"),
        value="" if now in DATE_FORMATS else now or "",
        placeholder="%d/%m/%y",
        key=_key("format", name),
        help=_("%d day, %m month, %b month's name, %Y year, %y year in two digits, %H:%M time."),
    )
    return typed.strip() or None


def _popover(place: Any, what: str, label: str, icon: str, turns_with: str, name: str) -> Any:
    """Return a popover that closes when its button fills the box beside it."""
    return place.popover(
        label,
        icon=f":material/{icon}:",
        width="stretch",
        key=_key(turns_with, name) + what,
        on_change="rerun",
    )


def _fill_in(
    key: str,
    name: str,
    *,
    label: str = "",
    disabled: bool = False,
    forget: list[str] | None = None,
    **entry: Any,
) -> None:
    """Show a button that puts new values into a column's entry, and resets the widgets in `forget`."""
    box = "edges" if "edges" in entry else "values"
    st.button(
        label or _("Fill in"),
        key=visit().key(key),
        disabled=disabled,
        on_click=_refill,
        args=(name, [f"{box}-{name}", *(forget or [])], entry),
    )


def _refill(name: str, renewed: list[str], entry: dict[str, Any]) -> None:
    """Put new values into a column's entry; its box and the popovers beside it are reset."""
    entries = visit().entries
    visit().change(declared=entries.declared | {name: plan_form.confirmed(entries.declared[name]) | entry})
    for widget in renewed:
        visit().turn(widget)


def _key(what: str, name: str) -> str:
    """Return the key of a widget about one column; `turn` renews it, as does a change of the column elsewhere."""
    return f"{visit().turned(f'{what}-{name}')}-{visit().turns(f'card-{name}')}"


def _point(text: str) -> str:
    return text.strip().replace(",", ".")


def _day(text: Any) -> date | None:
    try:
        return date.fromisoformat(str(text))
    except ValueError:
        return None
