"""The values of a category: typed, from a list, seen in the data and confirmed as public, or found by the release.

Only `_choose_from_rows` reads rows, and the page says so before it does.
"""

from __future__ import annotations

from typing import Any

import streamlit as st

from dpengine import PlanError, owner
from dpengine.marginals.measurement import FoundKeys
from dpengine.sources.table import Table
from dpengine.spec import notation
from dpengine.spec.categories.universe import Universe
from dpengine.spec.categories.universe_text import read_rule, write_rule
from dpengine.spec.notation import CODES
from dpengine.spec.plan import exact_epsilon
from dpengine.spec.standard_lists import standard_lists
from dpengine.translation.catalogue import _, mark, number, plural
from pages.parts.publish.column_forms.boxes import fill_in_button, filling_popover, key_for
from pages.parts.shared.wording import plain
from pages.parts.visit import background_read
from pages.parts.visit.plan.column_entry import is_found, listed
from pages.parts.visit.state import visit

__all__ = ["ask_values"]

LIST_NAMES = {
    "months": mark("Months"),
    "weekdays": mark("Days of the week"),
    "us-states": mark("US states and D.C., by name"),
    "us-state-codes": mark("US states and D.C., by code"),
    "eu-countries": mark("Countries of the European Union"),
    "german-states": mark("German states"),
    "country-codes": mark("Countries, by ISO code of two letters"),
}
FIVE_DIGITS: dict[str, Any] = {"values": "found", "among": {"pattern": "#####"}}
MAX_SEEN = 20_000  # values of a column that its owner can look at
MAX_TICKS = 40  # with more values there is a search box


def ask_values(name: str, column: dict[str, Any]) -> dict[str, Any]:
    """Ask for the values of a column: pasted, listed, seen in the data and confirmed as public, or found privately."""
    if is_found(column):
        fields = _ask_found_values(column, key_for("found", name))
        fill_in_button(f"list-{name}", name, label=_("List the values instead"), values=[])
        return fields
    values = listed(column)
    typed = st.text_area(
        _("Values, one a line"),
        value="\n".join(values),
        height=min(240, 90 + 22 * min(len(values), 7)),
        key=key_for("values", name),
        help=_("Paste a list. Commas, quotes and leading zeros count as part of the value."),
    )
    _offer_codes(name, values)
    lists, file = st.columns(2)
    with filling_popover(lists, "common-lists", _("Common lists"), "list", "values", name):
        chosen = st.selectbox(
            _("List"),
            list(standard_lists()),
            format_func=lambda key: _(LIST_NAMES[key]) if key in LIST_NAMES else key,
            key=key_for("standard", name),
        )
        fill_in_button(f"take-{name}", name, values=list(standard_lists()[chosen]), source="standard")
    with filling_popover(file, "look-at-my-data", _("Look at my data"), "visibility", "values", name):
        _choose_from_rows(name, values)
    fill_in_button(f"find-{name}", name, label=_("Nobody can list them: find them privately"), **FIVE_DIGITS)
    return {"values": [line for line in typed.splitlines() if line.strip()]}


def _ask_found_values(column: dict[str, Any], key: str) -> dict[str, Any]:
    """Ask which values are possible, and say what finding them costs and how many people a value needs to be found."""
    typed = st.text_input(
        _("Found among"),
        write_rule(column.get("among") or {}),
        key=key,
        help=_(
            "Which values are possible, as anybody may know: `#####` are five digits, `@##` a capital letter and two "
            "digits, `@## or @##.#` codes of two forms, `a-z up to 12 letters` texts, `0 to 99999` whole numbers."
        ),
    )
    try:
        among = read_rule(typed)
        st.caption(_price_in_words(Universe(**among)))
    except PlanError as error:
        for fault in error.faults:
            st.caption(f":material/report: {plain(str(fault))}")
    except ValueError as error:
        st.caption(f":material/report: {plain(str(error))}")
        return {name: column[name] for name in ("values", "among") if name in column}
    return {"values": "found", "among": among}


def _price_in_words(among: Universe) -> str:
    """Return what finding costs and gives, at the ε and the rows per person that are entered now."""
    entries = visit().entries
    try:
        epsilon = exact_epsilon(entries.epsilon)
    except ValueError:
        return _("How many people a value needs is shown once ε is entered.")
    none = FoundKeys.none("x", among, epsilon, entries.rows if entries.several_rows else 1)
    return _(
        "{share} of ε finds the values: at ε = {epsilon}, those that about {least} people or more have. Values that "
        "fewer people have count as (other). With a chance of {chance}, a value is shown that nobody has. The "
        "predictions are for {most} values: if you expect fewer, add “, at most 50”, or the most that you expect.",
        share=_percent(float(among.share)),
        least=number(none.least),
        epsilon=entries.epsilon,
        chance=_percent(float(among.chance)),
        most=number(min(among.most, among.keys)),
    )


def _percent(part: float) -> str:
    return f"{number(100 * part, '.3g')} %"


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
            fill_in_button(f"codes-{name}", name, label=label, values=[*values[:place], *codes, *values[place + 1 :]])
            return


def _choose_from_rows(name: str, values: list[str]) -> None:
    """Show the owner the values in the rows; only those that are ticked as public enter the plan."""
    st.markdown(
        _(
            "The values in your rows are private: a value that only one person has would reveal that person. "
            "Tick the values that anyone could know to be possible without having seen the data. A text that stands "
            "for no answer, such as -99, belongs in *Texts that mean missing* below."
        )
    )
    if not st.toggle(_("Show them to me"), key=key_for("look", name)):
        return
    table = visit().table
    assert table is not None
    # Read once, so that each position in the list means the same value for as long as the table is open.
    seen = background_read.read(f"seen-{name}", lambda _job: _values_in_rows(table, name), table, doing=mark("Looking"))
    if seen is None:
        return
    known = set(values)
    fresh = {k: text for k, text in enumerate(seen) if text not in known}
    more = len(seen) >= MAX_SEEN
    st.caption(_counted_in_words(len(seen), len(fresh), more=more))
    if len(fresh) <= MAX_TICKS:
        ticked = [text for k, text in fresh.items() if st.checkbox(plain(text), key=key_for(f"tick-{k}", name))]
    else:
        ticked = st.multiselect(
            _("Values that are public"), list(fresh.values()), key=key_for("ticks", name),
            placeholder=_("Type to search"),
        )  # fmt: skip
    renewed = [f"look-{name}", f"ticks-{name}", *(f"tick-{k}-{name}" for k in fresh)]
    fill_in_button(
        f"add-{name}", name, label=_("These are public: add them"), disabled=not ticked, renewed=renewed,
        values=[*values, *ticked], source="confirmed",
    )  # fmt: skip
    if len(fresh) > 1 and not more:
        fill_in_button(
            f"add-all-{name}", name, label=_("All {n} are public: add them", n=number(len(fresh))), renewed=renewed,
            values=[*values, *fresh.values()], source="confirmed",
        )  # fmt: skip
        st.caption(_("All of them are public if, say, the questionnaire or a form lists every one."))


def _counted_in_words(seen: int, fresh: int, *, more: bool) -> str:
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


def _values_in_rows(table: Table, name: str) -> list[str]:
    return list(dict.fromkeys(text.strip() for text in owner.distinct_texts(table, name, limit=MAX_SEEN)))
