"""Attacks lab: well-known attacks on answers that seem harmless, really run on several defences."""

from __future__ import annotations

import streamlit as st

from dpengine.translation.catalogue import _, mark
from pages.parts.attacks.audit import audit_tab
from pages.parts.attacks.counting_questions import AVERAGING, DIFFERENCING, show_attack
from pages.parts.attacks.floating_point import floating_point_tab
from pages.parts.attacks.reconstruction import reconstruction_tab
from pages.parts.shared.choices import choose_one
from pages.parts.shared.code.show import show_code
from pages.parts.visit import tour
from pages.parts.visit.state import require_entry

ATTACKS = {
    mark("Differencing"): lambda: show_attack(DIFFERENCING),
    mark("Averaging"): lambda: show_attack(AVERAGING),
    mark("Reconstruction"): reconstruction_tab,
    mark("Floating point"): floating_point_tab,
    mark("Try to break ours"): audit_tab,
}

CURIOUS = mark(r"""
**The bound.** Someone is in the register or not, both equally likely. From an $\varepsilon$-differentially private
answer nobody can tell which with a probability above $e^\varepsilon/(1+e^\varepsilon)$, whatever else they know. One
count with discrete Laplace noise of scale $1/\varepsilon$ reaches this bound exactly, so it cannot be improved.

**Differencing and averaging** (Dwork and Roth 2014, Section 1.1). Rounding involves no chance, so averaging does
nothing; but with rounding to multiples of $b$, each pair of questions has one chance in $b$ that its two counts are
rounded differently. New noise for each answer shrinks like $1/\sqrt{k}$ in the mean of $k$ answers. This engine
publishes a table once: every difference of two sums is the same published cell, and asking again gives the same answer.

**Reconstruction** (Dinur and Nissim 2003; Dwork, McSherry and Talwar 2007). With $n$ people and noise well below
$\sqrt{n}$, a number of random questions of the order of $n$ reveals almost everybody, by least squares or by a linear
program (solved by HiGHS). This engine answers $m$ questions under one $\varepsilon$: each person is in about $m/2$ of
them, so the noise has scale about $m/2\varepsilon$.

**Floating point** (Mironov 2012, *On significance of the least significant bits for differential privacy*). A sampler
computes $f \pm s \ln w$ from one of $2^{53}$ numbers $w$. For a given output, all numbers near the one that would
give it are tried through the sampler's own operations: if none gives it, the output is impossible. This engine's noise
consists of whole numbers with exactly the right distribution.

**Intervals** are those of Clopper and Pearson (1934), at 95 %. People in one reconstruction are treated as
independent, which they nearly are.
""")


@st.fragment
def lab() -> None:
    """Show the chosen attack."""
    name = choose_one(_("Attack"), ATTACKS, "attacks_attack")
    ATTACKS[name]()


require_entry()
st.title(_("Attacks"))
st.markdown(
    _(
        "A register holds some people, and who is in it is secret. Only counts are given out. Choose an attack and a "
        "defence, and see how often one person is found out."
    )
)
st.caption(_("All people are made up. Every number is measured by running the attack, and nothing is spent."))
tour.invite()
lab()
show_code("attacks", lambda: {"epsilon": "1", "pairs": 100, "games": 1000})
with st.expander(_("For the curious"), icon=":material/school:"):
    st.markdown(_(CURIOUS))
st.markdown(
    _(
        "**What this means for your release.** Rounding and noise without a budget each fall to some attack, and "
        "nobody knows all future attacks. A release from here withstands all of them by the same bound, because its "
        "noise is exact, drawn once, and paid for from one budget."
    )
)
with st.container(horizontal=True):
    st.page_link("pages/publish.py", label=_("Publish"), icon=":material/publish:")
    st.page_link("pages/labs/definition.py", label=_("What is promised"), icon=":material/balance:")
