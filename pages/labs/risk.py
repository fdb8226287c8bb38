"""Risk lab: who stands out in a table, and why a table without names is not a private one."""

from __future__ import annotations

import streamlit as st

from dpengine.lessons import textbook_patients
from dpengine.lessons.syntactic import profile
from dpengine.sources.table import Table
from dpengine.translation.catalogue import _, mark
from pages.parts.risk.lessons import LESSONS
from pages.parts.risk.own_table import show_own_table
from pages.parts.risk.profile import explain_measures, show_profile
from pages.parts.risk.textbook import patients_frame
from pages.parts.shared.choices import choose_one
from pages.parts.shared.code.show import show_code
from pages.parts.visit.state import require_entry, visit

OWN, SAMPLE = mark("Your table"), mark("A textbook's patients")
TABLES = {
    mark("4-anonymous"): textbook_patients.FOUR_ANONYMOUS,
    mark("3-diverse"): textbook_patients.THREE_DIVERSE,
    mark("original"): textbook_patients.PATIENTS,
}
FORMS = {"4-anonymous": "FOUR_ANONYMOUS", "3-diverse": "THREE_DIVERSE", "original": "PATIENTS"}  # their names in code


def choose_source() -> Table | None:
    """Return the owner's table if it is open and the visitor chooses it, else None."""
    table = visit().table
    if table is None:
        st.page_link("pages/publish.py", label=_("Bring a table of yours on Publish to see it here"),
                     icon=":material/table_view:")  # fmt: skip
        return None
    chosen = choose_one(_("Look at"), (OWN, SAMPLE), "risk_source")
    return table if chosen == OWN else None


@st.fragment
def show_sample() -> None:
    """Show the inpatient table of the textbook in one of three forms."""
    chosen = choose_one(_("Twelve patients"), TABLES, "risk_form")
    left, right = st.columns([2, 3], gap="large")
    with left:
        alt = _("The inpatient table, {form}", form=_(chosen))
        st.dataframe(patients_frame(TABLES[chosen]), height="content", alt=alt)
        st.caption(
            _(
                "Patients who agree on zip code, age and nationality form a *class*. Whoever is alone in one can be "
                "found by anybody who knows these three, such as a neighbour."
            )
        )
        st.caption(_("Made up by Machanavajjhala, Kifer, Gehrke & Venkitasubramaniam, ℓ-Diversity, ACM TKDD 2007."))
    with right:
        classes = textbook_patients.classes(TABLES[chosen])
        show_profile(classes, 12, profile(classes).unique, "sample", across=2)
    explain_measures()
    show_code("risk", lambda: {"form": FORMS[chosen]})


@st.fragment
def show_lessons() -> None:
    """Show attacks on tables without names, in tabs."""
    st.header(_("Why k-anonymity is not enough"))
    tabs = st.tabs(list(map(_, LESSONS)), on_change="rerun", key="risk_lesson")
    for tab, lesson in zip(tabs, LESSONS.values(), strict=True):
        if tab.open:
            with tab:
                lesson()


def show_meaning() -> None:
    """Say what this means for a release."""
    st.header(_("What this means for your release"))
    st.markdown(
        _(
            "A release from here holds no rows of your table, and no count without noise. ε limits what it adds to "
            "what a reader knows about a person, whatever that is. Other releases about the same people add to it, "
            "each by its own ε. k, ℓ and t set no such limit. So you need not guess which columns a neighbour might "
            "know."
        )
    )
    with st.container(horizontal=True):
        st.page_link("pages/publish.py", label=_("Publish"), icon=":material/publish:")
        st.page_link("pages/labs/definition.py", label=_("What ε bounds"), icon=":material/balance:")


require_entry()
st.title(_("Risk"))
st.markdown(_("How many people stand out in a table, and why removing names or making values coarser is not enough."))
if (own := choose_source()) is not None:
    show_own_table(own)
else:
    show_sample()
show_lessons()
show_meaning()
