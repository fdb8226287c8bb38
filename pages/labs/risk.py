"""Risk: who stands out in a table, and why a table without names is not a private one."""

from __future__ import annotations

import streamlit as st

from dpengine.lessons import textbook_patients
from dpengine.lessons.syntactic import profile
from dpengine.sources.open import Table
from pages.parts.risk.lessons import LESSONS, patients_frame
from pages.parts.risk.own_table import show_own_table
from pages.parts.risk.profile import explained, show_profile
from pages.parts.visit.state import require_entry, visit

OWN, SAMPLE = "Your table", "A textbook's patients"
TABLES = {
    "4-anonymous": textbook_patients.FOUR_ANONYMOUS,
    "3-diverse": textbook_patients.THREE_DIVERSE,
    "before either": textbook_patients.PATIENTS,
}


def choose_source() -> Table | None:
    """The table of this visit, where there is one and it is asked for."""
    table = visit().table
    if table is None:
        st.page_link("pages/publish.py", label="Bring a table of yours on Publish, and look at it here",
                     icon=":material/table_view:")  # fmt: skip
        return None
    asked = st.segmented_control("Look at", (OWN, SAMPLE), default=OWN, required=True, key="risk_source")
    return table if asked == OWN else None


@st.fragment
def own(table: Table) -> None:
    show_own_table(table)


@st.fragment
def sample() -> None:
    """The inpatient table, in three forms."""
    chosen = st.segmented_control(
        "Twelve patients", list(TABLES), default="4-anonymous", required=True, key="risk_form"
    )
    left, right = st.columns([2, 3], gap="large")
    with left:
        st.dataframe(patients_frame(TABLES[chosen]), height="content", alt=f"The inpatient table, {chosen}")
        st.caption("Made up by Machanavajjhala, Kifer, Gehrke & Venkitasubramaniam, ℓ-Diversity, ACM TKDD 2007.")
    with right:
        classes = textbook_patients.classes(TABLES[chosen])
        show_profile(classes, 12, profile(classes).unique, "sample", across=2)
    explained()


@st.fragment
def lessons() -> None:
    st.subheader("Why that is not enough")
    tabs = st.tabs(list(LESSONS), on_change="rerun", key="risk_lesson")
    for tab, lesson in zip(tabs, LESSONS.values(), strict=True):
        if tab.open:
            with tab:
                lesson()


def meaning() -> None:
    st.subheader("What this means for your release")
    st.markdown(
        "A release from here holds no rows, and no count without noise. What it gives away of a person is bounded by ε "
        "for every reader, whatever they know and whatever else is published; k, ℓ and t bound none of that. So there "
        "is no need to guess which columns a neighbour might know."
    )
    with st.container(horizontal=True):
        st.page_link("pages/publish.py", label="Publish", icon=":material/publish:")
        st.page_link("pages/labs/definition.py", label="What ε bounds", icon=":material/balance:")


require_entry()
st.title("Risk")
st.markdown("How many people stand out in a table, and why taking out their names, or blurring them, is not enough.")
if (mine := choose_source()) is not None:
    own(mine)
else:
    sample()
lessons()
meaning()
