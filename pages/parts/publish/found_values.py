"""Values that nobody can list, which a release finds privately: which are possible, and what finding them costs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import streamlit as st

from dpengine import Category, Plan, PlanError
from dpengine.marginals.measurement import FoundKeys
from dpengine.spec.categories.universe import Universe
from dpengine.spec.categories.universe_text import read_rule, write_rule
from dpengine.spec.domain import plan_entry
from dpengine.spec.plan import exact_epsilon
from dpengine.translation.catalogue import _, number
from pages.parts.shared.wording import plain
from pages.parts.visit.state import visit

__all__ = ["FIVE_DIGITS", "as_findable", "ask_found", "findable_in_words"]

FIVE_DIGITS: dict[str, Any] = {"values": "found", "among": {"pattern": "#####"}}


def ask_found(column: dict[str, Any], key: str) -> dict[str, Any]:
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
        st.caption(_price(Universe(**among)))
    except PlanError as error:
        for fault in error.faults:
            st.caption(f":material/report: {plain(str(fault))}")
    except ValueError as error:
        st.caption(f":material/report: {plain(str(error))}")
        return {name: column[name] for name in ("values", "among") if name in column}
    return {"values": "found", "among": among}


def as_findable(plan: Plan) -> Plan:
    """Return a plan for the preview, with no more found values than a table of the stated rough size can have.

    Each needs so many rows to be found. It follows from the plan alone; what is published is not changed by it.
    """
    fewer = {
        column.name: Category(**plan_entry(column) | {"among": among.model_dump() | {"most": most}})
        for column, among, most, _least in _findable(plan)
        if most < among.most
    }
    return plan.with_columns(fewer)


def findable_in_words(plan: Plan) -> list[str]:
    """Say how many values each column has in a preview of `as_findable`, if that is the most that can be found."""
    return [
        _(
            "Drawn with {n} values of {column}: each that is found has about {least} rows or more.",
            n=number(most),
            column=plain(column.heading),
            least=number(least),
        )
        for column, among, most, least in _findable(plan)
        if most == among.most
    ]


def _findable(plan: Plan) -> Iterator[tuple[Category, Universe, int, int]]:
    """Yield each column whose values are found: how many a table of the stated size can have, and the rows of each."""
    for column in plan.columns:
        if isinstance(column, Category) and column.among is not None and plan.rows_about is not None:
            least = FoundKeys.none(column.name, column.among, plan.epsilon, plan.unit.rows).least
            yield column, column.among, max(1, plan.rows_about // least), least


def _price(among: Universe) -> str:
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
