"""Audit in the Attacks lab: try to break a release of this engine, and one with too little noise for comparison."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pandas as pd
import streamlit as st

from dpengine.audit.bounds import Audit, audit
from dpengine.audit.publications import released_counts
from dpengine.exact import exact_text
from pages.parts.attacks.charts import audit_figure
from pages.parts.shared.data_twin import twin
from pages.parts.shared.epsilon_ladder import rungs
from pages.parts.shared.figures import draw
from pages.parts.shared.wording import OURS
from pages.parts.visit.state import visit

__all__ = ["audit_tab"]

RUNS = 4000  # releases of each of the two tables
BATCH = 500
FAULTY = "With half the noise"
HERE, THERE = 5, 6  # people in one cell of each of two neighbouring tables
STORY = (
    "Release two tables that differ in one person, thousands of times each, and look for an outcome that is more "
    "frequent for one than for the other. If some outcome is e^ε′ times as frequent, the promise of any smaller ε is "
    "broken. A copy of the engine with half the noise it needs shows that the search would find that."
)


def audit_tab() -> None:
    """Run the audit when asked, and show the bound on ε that it finds."""
    st.markdown(STORY)
    epsilon = st.select_slider(
        "ε that is promised", rungs("0.5", "3"), value=Fraction(1), format_func=exact_text, key="attacks_claimed"
    )
    audits: dict[str, Audit] | None = visit().recall("audit", epsilon)
    with st.container(horizontal=True, vertical_alignment="center"):
        label = "Try to break it" if audits is None else "Run it again"
        st.button(
            label, type="primary", icon=":material/play_arrow:", key="attacks_break",
            on_click=lambda: visit().keep("audit", epsilon, {}),
        )  # fmt: skip
        st.caption(f"{4 * RUNS:,} releases; a few seconds. Changing a setting stops it.", width="content")
    if audits is None:
        st.caption("Nothing has been run at this ε yet.")
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
            bar.progress((k + batch / batches) / len(jobs), text=f"{name}: releases of a table with {people} in a cell")
            parts.append(released_counts(people, budget, BATCH))
        drawn[name].append(np.concatenate(parts))
    place.empty()
    return {name: audit(here, there) for name, (here, there) in drawn.items()}


def _show(epsilon: Fraction, audits: dict[str, Audit]) -> None:
    ours, faulty = audits[OURS], audits[FAULTY]
    holds = ours.least_epsilon <= epsilon
    with st.grid(3, min_column_width=170):
        st.metric("Promised", f"ε = {exact_text(epsilon)}", border=True)
        st.metric("Shown of this engine", f"ε ≥ {max(ours.least_epsilon, 0):.2f}", border=True)
        st.metric("Shown of half the noise", f"ε ≥ {max(faulty.least_epsilon, 0):.2f}", border=True)
    line = (
        f"{OURS}: the answers show that ε is at least {max(ours.least_epsilon, 0):.2f}, "
        f"{'within' if holds else 'more than'} the promised {exact_text(epsilon)}"
    )
    st.markdown(
        f"**{line}.** Half the noise is {'caught' if faulty.least_epsilon > epsilon else 'not caught this time'}."
    )
    rows = [(OURS, ours.least_epsilon, True), (FAULTY, faulty.least_epsilon, False)]
    draw(audit_figure(rows, float(epsilon)), line, "attacks-audit", 240)
    st.caption(
        "Each bound holds with 95 % confidence: one search in twenty may report too large an ε. An audit can show that "
        "a promise is broken, never that it is kept. For this engine that is proved on paper and tested exactly."
    )
    table = [
        {"release": name, "event": f"published count {each.event}",
         "often": f"{each.frequent.successes:,} of {each.frequent.tries:,}",
         "seldom": f"{each.rare.successes:,} of {each.rare.tries:,}", "least": each.least_epsilon}
        for name, each in audits.items()
    ]  # fmt: skip
    shown = {"often": "on one table", "seldom": "on the other",
             "least": st.column_config.NumberColumn("ε is at least", format="%.3f")}  # fmt: skip
    twin(pd.DataFrame(table), "attacks-audit", shown)
