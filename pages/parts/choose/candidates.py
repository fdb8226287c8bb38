"""The candidates of a choice, as the visitor types them."""

from __future__ import annotations

from fractions import Fraction

import pandas as pd
import streamlit as st

from dpengine.choose import Candidates, Mechanism
from dpengine.errors import Fault, PlanError
from dpengine.translation.catalogue import _, localised, number
from pages.parts.choose.samples import Sample
from pages.parts.shared.glossary.help import term
from pages.parts.shared.typed_numbers import with_point
from pages.parts.shared.wording import plain
from pages.parts.visit.fault_text import all_faults

__all__ = ["enter_candidates"]

MAX_CANDIDATES = 1000  # as many as the page draws within a second


def enter_candidates(kind: str, sample: Sample, epsilon: Fraction, mechanism: Mechanism) -> Candidates | None:
    """Return the candidates as entered, with how far one person can change scores; None while they are not usable."""
    scored = _("The score: {scored}.", scored=plain(_(sample.scored)))
    st.markdown(f"**{plain(_(sample.question))}** {scored}")
    table = _edit_table(kind, sample)
    sensitivity = st.text_input(
        _("One person moves a score by at most"),
        localised(sample.sensitivity),
        key=f"choose_sensitivity_{kind}",
        help=term("sensitivity", _("An exact number: here, {why}.", why=_(sample.why))),
    )
    monotone = st.checkbox(
        _("… and all scores in the same direction"),
        sample.monotone,
        key=f"choose_monotone_{kind}",
        help=_(
            "This is true of counts: one more person lowers no count. The same privacy then allows a sharper choice, "
            "with ε/Δ instead of ε/2Δ."
        ),
    )
    if len(table) > MAX_CANDIDATES:
        st.warning(
            _(
                "This page draws at most {most} candidates; the library, up to a million.",
                most=number(MAX_CANDIDATES),
            ),
            icon=":material/edit:",
        )
        return None
    faults: list[str | Fault] = []
    names = [None if pd.isna(name) else name for name in table["candidate"]]
    scores = [None if pd.isna(score) else with_point(str(score), faults) for score in table["score"]]
    sensitivity = with_point(sensitivity, faults)
    try:
        if faults:
            raise PlanError(faults)
        return Candidates.of(names, scores, sensitivity, epsilon, mechanism, monotone)
    except PlanError as refused:
        st.warning(f"{all_faults(refused)} " + _("Nothing was drawn or spent."), icon=":material/edit:")
        return None


def _edit_table(kind: str, sample: Sample) -> pd.DataFrame:
    """Show the candidates with their scores as a table that can be edited, and return it."""
    names = [localised(_(name)) for name in sample.names]
    given = pd.DataFrame({"candidate": names, "score": list(map(localised, sample.scores))})
    edited: pd.DataFrame = st.data_editor(
        given,
        num_rows="dynamic",
        hide_index=True,
        key=f"choose_table_{kind}",
        height="content" if len(given) < 12 else 420,
        column_config={
            "candidate": st.column_config.TextColumn(
                _("candidate"), help=_("The list must not depend on private data.")
            ),
            "score": st.column_config.TextColumn(
                _("score"), help=_("The higher the better. Read exactly as it is typed: 12, 0.5 or 1/3.")
            ),
        },
    )
    return edited
