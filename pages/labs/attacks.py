"""Attacks: what people do with answers that were meant to be harmless, run for real on several defences."""

from __future__ import annotations

import streamlit as st

from pages.parts.attacks.audit import break_ours
from pages.parts.attacks.differencing import AVERAGING, DIFFERENCING, Counted, counts
from pages.parts.attacks.floating_point import bits
from pages.parts.attacks.reconstruction import rebuild
from pages.parts.visit import tour
from pages.parts.visit.state import require_entry


def told(attack: Counted) -> None:
    st.markdown(attack.story)
    counts(attack)


ATTACKS = {
    "Differencing": lambda: told(DIFFERENCING),
    "Averaging": lambda: told(AVERAGING),
    "Reconstruction": rebuild,
    "Floating point": bits,
    "Try to break ours": break_ours,
}

CURIOUS = r"""
**The bound.** Someone is in the register or not, each as likely. From an $\varepsilon$-differentially private answer
nobody can tell which with a probability above $e^\varepsilon/(1+e^\varepsilon)$, whatever else they know. One count
with discrete Laplace noise of scale $1/\varepsilon$ reaches it exactly, so the bound is not loose.

**Differencing and averaging** (Dwork and Roth 2014, Section 1.1). Rounding has no chance in it, so averaging does
nothing; but each pair of questions has one chance in $b$ to straddle a step of rounding to multiples of $b$. Noise
drawn afresh shrinks like $1/\sqrt{k}$ in the mean of $k$. This engine publishes a table once: every difference of two
sums is the same published cell, and asking again gives the same answer.

**Reconstruction** (Dinur and Nissim 2003; Dwork, McSherry and Talwar 2007). With $n$ people and noise well below
$\sqrt{n}$, a number of random questions of the order of $n$ gives almost everybody away, by least squares or by a
linear program (solved by HiGHS). This engine answers $m$ questions under one $\varepsilon$: each person is in about
$m/2$ of them, so the noise has scale about $m/2\varepsilon$.

**Floating point** (Mironov 2012, *On significance of the least significant bits for differential privacy*). A sampler
computes $f \pm s \ln w$ from one of $2^{53}$ numbers $w$. For a given output all numbers near the one that would give
it are tried, through the sampler's own operations: if none does, the output is impossible. This engine's noise is
whole numbers of exactly the right law.

**Intervals** are Clopper and Pearson's (1934), at 95 %. People in one reconstruction are taken as independent, which
they nearly are.
"""


@st.fragment
def lab() -> None:
    name = st.segmented_control(
        "Attack", list(ATTACKS), default=next(iter(ATTACKS)), required=True, key="attacks_attack"
    )
    ATTACKS[name]()


require_entry()
st.title("Attacks")
st.markdown(
    "A register holds some people, and who is in it is secret. Only counts are told. Choose an attack and a defence, "
    "and see how often one person is found out."
)
st.caption("A lesson on made-up people: every number is measured by running the attack, and nothing is spent.")
tour.invite()
lab()
with st.expander("For the curious", icon=":material/school:"):
    st.markdown(CURIOUS)
st.markdown(
    "**What it means for your release.** Rounding, and noise without a budget, each fall to some attack, and nobody "
    "knows all attacks of the future. A release from here holds against all of them by the same bound, because its "
    "noise is exact, drawn once, and paid for from one budget."
)
with st.container(horizontal=True):
    st.page_link("pages/publish.py", label="Publish", icon=":material/publish:")
    st.page_link("pages/labs/definition.py", label="What is promised", icon=":material/balance:")
