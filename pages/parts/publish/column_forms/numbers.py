"""The bins of a number, stated or found, the bounds of an amount, and how the numbers of a text column are written."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from fractions import Fraction
from itertools import pairwise
from typing import Any, get_args

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from dpengine.errors import PlanError
from dpengine.exact import exact_text, exactly
from dpengine.spec import notation
from dpengine.spec.declared import NumberFormat
from dpengine.spec.domain import Number
from dpengine.spec.numeric.edges import equal_edges
from dpengine.spec.numeric.found_bins import read_share
from dpengine.spec.numeric.found_upper import DEFAULT_SHARE
from dpengine.spec.plan import exact_epsilon
from dpengine.translation.catalogue import _, localised, mark, number, plural
from pages.parts.publish.column_forms.boxes import ask_texts, fill_in_button, filling_popover, key_for
from pages.parts.publish.tables.levels_box import ask_levels
from pages.parts.shared.glossary.help import term
from pages.parts.shared.typed_numbers import decimal
from pages.parts.shared.wording import plain
from pages.parts.visit.plan.column_entry import edges_of, has_found_bins, has_found_upper, with_even_knots
from pages.parts.visit.plan.tables import published
from pages.parts.visit.state import visit

__all__ = ["ask_amount", "ask_number"]

BANDS = {
    mark("Child, working age, older"): "0, 18, 65, 120",
    mark("Ten years each"): "0, 10, 20, 30, 40, 50, 60, 70, 80, 90, 120",
    mark("Five years each, to 85"): "0, 5, 10, 15, 20, 25, 30, 35, 40, 45, 50, 55, 60, 65, 70, 75, 80, 85, 120",
    mark("As in surveys"): "0, 18, 25, 35, 45, 55, 65, 75, 120",
}
MAX_PARTS = 99  # of an amount
PLAIN: NumberFormat = "1234.5"
TWENTY_BINS: dict[str, Any] = {"edges": [], "from": "", "to": "", "step": "1", "bins": {"count": 20}}


def ask_number(name: str, column: dict[str, Any], *, as_text: bool) -> dict[str, Any]:
    """Ask for the edges of a column's bins, or how to find them, and how the numbers of a text column are written."""
    if has_found_bins(column):
        fields = _ask_found_bins(column, key_for("bins-found", name))
        fill_in_button(f"state-{name}", name, label=_("State the edges instead"), edges=[], bins=None)
        return fields | (_numbers_written(name, column) if as_text else {})
    typed = st.text_input(
        _("Edges of the bins"),
        value=", ".join(str(edge) for edge in column.get("edges", [])),
        placeholder="0, 18, 30, 45, 65, 120",
        key=key_for("edges", name),
        help=_(
            "Each bin runs from one edge up to, but not including, the next; the last bin includes its end. "
            "If you write decimal commas, separate the edges by semicolons: 0; 1,5; 3."
        ),
    )
    edges = edges_of(typed)
    if len(edges) > 1:
        st.caption(plain(_bins_in_words(edges)))
    steps, bands = st.columns(2)
    _offer_equal_steps(steps, name)
    _offer_age_bands(bands, name)
    fill_in_button(
        f"find-bins-{name}", name, label=_("Nobody knows where values lie: find bins privately"), **TWENTY_BINS
    )
    levels = ask_levels(name, column)
    return {"edges": edges} | levels | (_numbers_written(name, column) if as_text else {})


def _offer_equal_steps(place: DeltaGenerator, name: str) -> None:
    """Offer edges at equal distances between two numbers."""
    with filling_popover(place, "equal-steps", _("Equal steps"), "straighten", "edges", name):
        low, high, bins = st.columns(3)
        start = low.text_input(_("From"), "0", key=key_for("low", name))
        stop = high.text_input(_("To"), "100", key=key_for("high", name))
        count = bins.number_input(_("Bins"), 1, 100_000, 10, key=key_for("bins", name))
        try:
            equal = [str(edge) for edge in equal_edges(decimal(start), decimal(stop), count)]
        except ValueError as error:
            st.caption(plain(str(error)))
        else:
            fill_in_button(f"fill-{name}", name, edges=equal, source="typed")


def _offer_age_bands(place: DeltaGenerator, name: str) -> None:
    """Offer the usual groups of ages."""
    with filling_popover(place, "age-bands", _("Age bands"), "cake", "edges", name):
        band = st.selectbox(_("Bands"), list(BANDS), format_func=_, key=key_for("band", name))
        st.caption(BANDS[band])
        fill_in_button(f"take-band-{name}", name, edges=edges_of(BANDS[band]), source="standard")


def _ask_found_bins(column: Mapping[str, Any], key: str) -> dict[str, Any]:
    """Ask for the range, the step and the number of bins, and say what part of ε it takes to find them."""
    bins = column["bins"] if isinstance(column["bins"], Mapping) else {"count": column["bins"]}
    with st.grid(4, min_column_width=110):  # two by two on a phone
        fields: dict[str, Any] = {
            "from": st.text_input(_("From"), str(column.get("from", "")), key=f"{key}-from"),
            "to": st.text_input(_("To"), str(column.get("to", "")), key=f"{key}-to"),
            "step": st.text_input(
                _("In steps of"), str(column.get("step", "1")), key=f"{key}-step",
                help=_("Edges of bins lie on these steps. A range has at most 9,990 of them."),
            ),
        }  # fmt: skip
        wanted = st.number_input(_("Bins"), 2, 1_000, int(bins.get("count") or 20), key=f"{key}-count")
    fields |= {"bins": {**bins, "count": wanted}}
    if "" in fields.values():
        st.caption(_("Between which values the bins are found is public knowledge; values outside count as (other)."))
    with suppress(PlanError):  # the faults are shown below the card
        st.caption(_price_in_words(Number(name="x", **{each: value for each, value in fields.items() if value != ""})))
    return {"edges": []} | fields


def _price_in_words(column: Number) -> str:
    """Return in words the part of the entered ε that finding the bins takes."""
    assert column.bins is not None, "a column whose bins are found"
    share = f"{number(100 * float(column.share), '.3g')} %"
    text = _(
        "{share} of ε finds the bins; the tables get the rest. Each bin holds about the same number of people, and a "
        "value that many people share gets a bin of its own. The predictions are for {bins} bins of one width.",
        share=share,
        bins=number(column.bins.count),
    )
    return _with_price(text, column.share)


def _with_price(text: str, share: Fraction) -> str:
    """Return the text with what a share of the entered ε is, if one is entered."""
    try:
        epsilon = exact_epsilon(visit().entries.epsilon) * share
    except ValueError:
        return text
    return text + " " + _("At the ε that is entered, finding takes {part}.", part=exactly(epsilon))


def ask_amount(name: str, column: dict[str, Any], *, as_text: bool) -> dict[str, Any]:
    """Ask for the bounds of an amount and the step to which its values are rounded."""
    places = st.columns(3)
    asked = (
        ("from", _("Lowest value"), "0"),
        ("to", _("Highest value"), "200000"),
        ("step", _("Rounded to"), "100"),
    )
    if has_found_upper(column):
        asked = (asked[0], ("to", _("Surely not above"), "10000000"), asked[2])
    typed = {
        field: decimal(
            place.text_input(label, str(column.get(field) or ""), placeholder=example, key=key_for(field, name))
        )
        for place, (field, label, example) in zip(places, asked, strict=True)
    }
    st.caption(
        _(
            "Bounds are public knowledge, never taken from the rows. A value outside counts as the nearer bound, so "
            "bounds that are too narrow distort the average; bounds that are too wide make it less exact."
        )
    )
    upper = _ask_upper(name, column)
    if upper:
        return {**typed, "knots": [], "upper": upper} | (_numbers_written(name, column) if as_text else {})
    knots = column.get("knots", []) if all(typed[key] == str(column.get(key) or "") for key in typed) else []
    if any(name in table.quantiles for table in published(visit().entries)):
        _say_where_quantiles_end({**column, **typed, "knots": knots})
    return {**typed, "knots": knots, "upper": None} | (_numbers_written(name, column) if as_text else {})


def _ask_upper(name: str, column: Mapping[str, Any]) -> Any:
    """Ask whether the upper bound is to be found, and say what part of ε that takes."""
    wanted = st.checkbox(
        _("Find the upper bound"),
        value=has_found_upper(column),
        key=key_for("upper", name),
        help=_(
            "If nobody knows how large the values are: state a highest value that is surely large enough, and the "
            "release finds a lower bound from noisy counts. A range that is ten times too wide makes averages ten "
            "times less exact."
        ),
    )
    if not wanted:
        return None
    upper: Any = column.get("upper") or {"share": exact_text(DEFAULT_SHARE)}
    with suppress(ValueError):  # the faults are shown below the card
        share = read_share(upper.get("share", DEFAULT_SHARE)) if isinstance(upper, Mapping) else DEFAULT_SHARE
        text = _(
            "{share} of ε finds the bound; the tables get the rest. Values above the bound count as it. The "
            "predictions are for the highest value: errors of averages shrink in proportion to the bound.",
            share=f"{number(100 * float(share), '.3g')} %",
        )
        st.caption(_with_price(text, share), help=term("found-bound"))
    return upper


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
    label = _("Divide it into {n} parts", n=number(len(finer["knots"]) - 1))
    fill_in_button(f"finer-{column['name']}", column["name"], label=label, knots=finer["knots"])


def _numbers_written(name: str, column: dict[str, Any]) -> dict[str, Any]:
    """Ask how the numbers of a text column are written, and which texts stand beside them."""
    now, affixes = column.get("format") or PLAIN, list(column.get("affixes", ()))
    written = st.segmented_control(
        _("How {number} is written in this column", number=localised(PLAIN)),
        list(get_args(NumberFormat)),
        default=now if now in get_args(NumberFormat) else PLAIN,
        required=True,
        key=key_for("number-format", name),
        help=_(
            "Numbers in any other form count as (other). With the second and third form, blanks and apostrophes "
            "between thousands are read too."
        ),
    )
    beside = ask_texts(
        _("Texts beside the numbers"),
        affixes,
        placeholder=_("€, +, days"),
        key=key_for("affixes", name),
        help=_(
            "Such as units and signs. They are left out and change no number: 85+ is read as 85, 12 % as 12, 2 weeks "
            "as 2. A number beside any other text does not fit. The plan is published with them."
        ),
    )
    return {"format": "" if written == PLAIN else written} | ({"affixes": beside} if beside or affixes else {})


def _bins_in_words(edges: list[str]) -> str:
    """Describe the bins between `edges`: the first few and the last.

    >>> _bins_in_words(["0", "18", "65"])
    '2 bins: 0 to under 18, 18 to 65'
    """
    bins = [_("{low} to under {high}", low=low, high=high) for low, high in pairwise(edges)]
    bins[-1] = _("{low} to {high}", low=edges[-2], high=edges[-1])
    shown = bins if len(bins) <= 5 else [*bins[:3], "…", bins[-1]]
    return plural("{n} bin: {bins}", "{n} bins: {bins}", len(bins), bins=", ".join(shown))
