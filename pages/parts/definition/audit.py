"""Audit in the Definition lab: test on the code that publishes whether it keeps the promise of ε."""

from __future__ import annotations

from fractions import Fraction

import pandas as pd
import streamlit as st

from dpengine.audit.exact_checks import Check, checks
from dpengine.audit.publications import PUBLICATIONS, EmpiricalBound, audit_publications
from dpengine.exact import exactly
from dpengine.translation.catalogue import _, language, mark, number
from pages.parts.shared.data_twin import twin
from pages.parts.visit.state import visit

__all__ = ["audit_part"]

RUNS = 150  # publications with the person, and as many without: most ways to publish take 15 seconds
STORY = mark(
    "An auditor knows both tables and sees what this engine publishes of one of them, hundreds of times. How much "
    "more often do the outputs speak for the person when the person is there? That shows an ε *from below*; what was "
    "promised must be no smaller. Exact checks, in which nothing is left to chance, stand beside it. Nothing is "
    "charged: the tables are made up."
)


def audit_part(epsilon: Fraction) -> None:
    """Offer an audit of one way to publish, and show the ε that it finds beside the claimed one."""
    st.header(_("Does this engine keep the promise?"))
    st.markdown(_(STORY))
    with st.container(horizontal=True, vertical_alignment="bottom"):
        publication: str = st.selectbox(_("Way to publish"), list(PUBLICATIONS), format_func=_, key="definition_way")
        inputs = (publication, epsilon, language())  # in which the checks are named
        st.button(
            _("Audit it"), icon=":material/play_arrow:", key="definition_audit",
            on_click=lambda: visit().keep("definition-audit", inputs, []),
        )  # fmt: skip
    outcome: list[tuple[EmpiricalBound, list[Check]]] | None = visit().recall("definition-audit", inputs)
    if outcome is None:
        st.caption(
            _(
                "{runs} publications, which takes up to a minute. Changing a setting stops it.",
                runs=number(2 * RUNS),
            )
        )
        return
    if not outcome:
        outcome.append(_run(publication, epsilon))
    _show(*outcome[0])


def _run(publication: str, epsilon: Fraction) -> tuple[EmpiricalBound, list[Check]]:
    place = st.empty()
    bar = place.progress(0.0, text=_("exact checks"))
    exact = list(checks(epsilon))

    def report(part: float) -> None:
        bar.progress(part, text=_("publishing: {way}", way=_(publication)))

    bound = audit_publications(publication, epsilon, RUNS, progress=report)
    place.empty()
    return bound, exact


def _show(bound: EmpiricalBound, exact: list[Check]) -> None:
    broken = [check.what for check in exact if not check.holds] + ([] if bound.holds else [_(bound.publication)])
    with st.grid(3, min_column_width=170):
        st.metric(_("Claimed"), f"ε = {exactly(bound.claimed)}", border=True)
        st.metric(
            _("Shown by outputs"), f"ε ≥ {number(bound.least_epsilon, '.2f')}", border=True,
            help=_("Clopper–Pearson, 95 % confidence: one audit in twenty may show too much. More runs show more."),
        )  # fmt: skip
        holding = _("{part} of {all}", part=sum(check.holds for check in exact), all=len(exact))
        st.metric(_("Exact checks that hold"), holding, border=True)
    line = _(
        "{hits} of {runs} outputs speak for the person when the person is there, and {without} when not",
        hits=bound.hits,
        runs=bound.runs,
        without=bound.hits_without,
    )
    if broken:
        found = _("**More than the ε that is claimed was found:** {what}.", what=", ".join(broken))
        st.error(found, icon=":material/gpp_bad:")
    st.markdown(f"**{line}.** " + _("An audit can show that a promise is broken, never that it is kept."))
    st.caption(_("`private-release audit` runs all of this on the command line, as often as you like."))
    frame = pd.DataFrame(
        {"check": check.what, "found": check.largest, "claimed": float(check.claimed), "cases": check.cases}
        for check in exact
    )
    column = st.column_config.NumberColumn
    columns = {
        "check": _("check"),
        "found": column(_("ε found"), format="%.6g"),
        "claimed": column(_("ε claimed"), format="%g"),
        "cases": column(_("cases"), format="%,d"),
    }
    twin(frame, "definition-audit", columns)
