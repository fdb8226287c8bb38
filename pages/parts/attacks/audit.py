"""Audit in the Attacks lab: try to break a release of this engine, and one with too little noise for comparison."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pandas as pd
import streamlit as st

from dpengine.audit.bounds import Audit, audit
from dpengine.audit.publications import released_counts
from dpengine.exact import exactly
from dpengine.lessons.success_rate import Rate
from dpengine.translation.catalogue import _, language, mark, number
from pages.parts.attacks.charts import audit_figure
from pages.parts.shared.data_twin import twin
from pages.parts.shared.epsilon_ladder import rungs
from pages.parts.shared.figures import draw
from pages.parts.shared.wording import OURS
from pages.parts.visit.state import visit

__all__ = ["audit_tab"]

RUNS = 4000  # releases of each of the two tables
BATCH = 500
FAULTY = mark("With half the noise")
HERE, THERE = 5, 6  # people in one cell of each of two neighbouring tables
STORY = mark(
    "Release two tables that differ in one person, thousands of times each, and look for an outcome that is more "
    "frequent for one than for the other. If some outcome is e^ε′ times as frequent, the promise of any smaller ε is "
    "broken. A copy of the engine with half the noise it needs shows that the search would find that."
)


def audit_tab() -> None:
    """Run the audit when asked, and show the bound on ε that it finds."""
    st.markdown(_(STORY))
    epsilon = st.select_slider(
        _("ε that is promised"), rungs("0.5", "3"), value=Fraction(1), format_func=exactly, key="attacks_claimed"
    )
    settings = epsilon, language()  # in which the events are named
    audits: dict[str, Audit] | None = visit().recall("audit", settings)
    with st.container(horizontal=True, vertical_alignment="center"):
        label = _("Try to break it") if audits is None else _("Run it again")
        st.button(
            label, type="primary", icon=":material/play_arrow:", key="attacks_break",
            on_click=lambda: visit().keep("audit", settings, {}),
        )  # fmt: skip
        note = _("{releases} releases; a few seconds. Changing a setting stops it.", releases=number(4 * RUNS))
        st.caption(note, width="content")
    if audits is None:
        st.caption(_("Nothing has been run at this ε yet."))
        return
    if not audits:
        audits.update(_run(epsilon))
    _show(epsilon, audits)


def _run(epsilon: Fraction) -> dict[str, Audit]:
    place = st.empty()
    bar = place.progress(0.0)
    budgets = ((OURS, epsilon), (FAULTY, 2 * epsilon))
    jobs = [(name, budget, people) for name, budget in budgets for people in (HERE, THERE)]
    drawn: dict[str, list[np.ndarray]] = {OURS: [], FAULTY: []}
    batches = RUNS // BATCH
    for k, (name, budget, people) in enumerate(jobs):
        parts = []
        for batch in range(batches):
            doing = _("{name}: releases of a table with {people} in a cell", name=_(name), people=people)
            bar.progress((k + batch / batches) / len(jobs), text=doing)
            parts.append(released_counts(people, budget, BATCH))
        drawn[name].append(np.concatenate(parts))
    place.empty()
    return {name: audit(here, there) for name, (here, there) in drawn.items()}


def _show(epsilon: Fraction, audits: dict[str, Audit]) -> None:
    ours, faulty = audits[OURS], audits[FAULTY]
    least, other = (number(max(each.least_epsilon, 0), ".2f") for each in (ours, faulty))
    with st.grid(3, min_column_width=170):
        st.metric(_("Promised"), f"ε = {exactly(epsilon)}", border=True)
        st.metric(_("Shown of this engine"), f"ε ≥ {least}", border=True)
        st.metric(_("Shown of half the noise"), f"ε ≥ {other}", border=True)
    promised = exactly(epsilon)
    line = (
        _("{name}: the answers show that ε is at least {least}, within the promised {promised}",
          name=_(OURS), least=least, promised=promised)
        if ours.least_epsilon <= epsilon
        else _("{name}: the answers show that ε is at least {least}, more than the promised {promised}",
               name=_(OURS), least=least, promised=promised)
    )  # fmt: skip
    caught = faulty.least_epsilon > epsilon
    st.markdown(
        f"**{line}.** " + (_("Half the noise is caught.") if caught else _("Half the noise is not caught this time."))
    )
    rows = [(_(OURS), ours.least_epsilon, True), (_(FAULTY), faulty.least_epsilon, False)]
    draw(audit_figure(rows, float(epsilon)), line, "attacks-audit", 240)
    st.caption(
        _(
            "Each bound holds with 95 % confidence: one search in twenty may report too large an ε. An audit can show "
            "that a promise is broken, never that it is kept. For this engine that is proved on paper and tested "
            "exactly."
        )
    )
    table = [
        {"release": _(name), "event": _("published count {event}", event=each.event), "often": _of(each.frequent),
         "seldom": _of(each.rare), "least": each.least_epsilon}
        for name, each in audits.items()
    ]  # fmt: skip
    shown = {"release": _("release"), "event": _("event"), "often": _("on one table"), "seldom": _("on the other"),
             "least": st.column_config.NumberColumn(_("ε is at least"), format="%.3f")}  # fmt: skip
    twin(pd.DataFrame(table), "attacks-audit", shown)


def _of(rate: Rate) -> str:
    return _("{part} of {all}", part=number(rate.successes), all=number(rate.tries))
