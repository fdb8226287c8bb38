"""Bins that a release finds privately: their range, their number, and the part of ε that this takes."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import streamlit as st

from dpengine.errors import PlanError
from dpengine.exact import exact_text
from dpengine.spec.domain import Number
from dpengine.spec.plan import exact_epsilon
from dpengine.translation.catalogue import _, localised, number
from pages.parts.visit.state import visit

__all__ = ["TWENTY_BINS", "ask_bins"]

TWENTY_BINS: dict[str, Any] = {"edges": [], "from": "", "to": "", "step": "1", "bins": {"count": 20}}


def ask_bins(column: Mapping[str, Any], key: str) -> dict[str, Any]:
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
        st.caption(_price(Number(name="x", **{each: value for each, value in fields.items() if value != ""})))
    return {"edges": []} | fields


def _price(column: Number) -> str:
    """Return in words the part of the entered ε that finding the bins takes."""
    assert column.bins is not None, "a column whose bins are found"
    share = f"{number(100 * float(column.share), '.3g')} %"
    text = _(
        "{share} of ε finds the bins; the tables get the rest. Each bin holds about the same number of people, and a "
        "value that many people share gets a bin of its own. The predictions are for {bins} bins of one width.",
        share=share,
        bins=number(column.bins.count),
    )
    try:
        epsilon = exact_epsilon(visit().entries.epsilon) * column.share
    except ValueError:
        return text
    return text + " " + _("At the ε that is entered, finding them takes {part}.", part=localised(exact_text(epsilon)))
