"""The word for what is counted: asked for rows in step 2, and in step 4 for those whom the ID column identifies."""

from __future__ import annotations

from typing import Literal

import streamlit as st

from dpengine import PlanError
from dpengine.spec.declared import Nouns
from dpengine.translation.catalogue import _, mark
from pages.parts.visit.fault_text import all_faults
from pages.parts.visit.state import visit

__all__ = ["ask_noun"]

Kind = Literal["rows", "people"]
LABELS = {"rows": mark("What the rows are, in the plural"), "people": mark("Whom it identifies, in the plural")}
EXAMPLES = {
    "rows": (mark("visits"), mark("incidents"), mark("trips"), mark("households"), mark("loans"), mark("pupils")),
    "people": (mark("patients"), mark("households"), mark("businesses"), mark("customers"), mark("pupils")),
}
HELP = {
    "rows": mark(
        "Charts, the report and quoted numbers use this word, such as *1,204 visits*. Type any noun, in the language "
        "of the report. It changes no number and costs nothing."
    ),
    "people": mark(
        "Tables that count each of them once use this word, such as *310 patients*. It changes no number and costs "
        "nothing."
    ),
}


def ask_noun(of: Kind) -> None:
    """Ask for the noun of rows or of people: one of the examples, or any other."""
    noun, examples = visit().entries.nouns.get(of, ""), [_(each) for each in EXAMPLES[of]]
    options = examples if noun in ("", *examples) else [noun, *examples]
    chosen = st.selectbox(
        _(LABELS[of]),
        options,
        index=options.index(noun) if noun else None,
        placeholder=_("people, or another word"),
        accept_new_options=True,
        key=visit().key(f"noun-{of}"),
        help=_(HELP[of]),
    )
    try:
        noun = getattr(Nouns(**{of: chosen or ""}), of)
    except PlanError as error:
        st.warning(_("Not taken over: {fault}", fault=all_faults(error)), icon=":material/report:")
        return
    others = {key: text for key, text in visit().entries.nouns.items() if key != of}
    visit().change(nouns=others | ({of: noun} if noun else {}))
