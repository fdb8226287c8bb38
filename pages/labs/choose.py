"""Choose lab: the best option by private scores, with only the winner published."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import streamlit as st

from dpengine.choose import Candidates, Mechanism, probabilities
from dpengine.exact import exact_text, exactly
from dpengine.translation.catalogue import _, mark
from pages.parts.choose.candidates import enter_candidates
from pages.parts.choose.draw import draw_part
from pages.parts.choose.probabilities import EPSILONS, show_best, show_probabilities
from pages.parts.choose.samples import OWN, SAMPLES
from pages.parts.shared.code.show import show_code
from pages.parts.shared.glossary.help import term
from pages.parts.visit.state import require_entry

CURIOUS = mark(r"""
**Exponential mechanism** (McSherry and Talwar 2007): candidate $r$ with score $u_r$ is drawn with probability
proportional to $\exp(\varepsilon u_r / 2\Delta)$, where $\Delta$ is the most that one person moves any score. One
person changes each weight, and their sum, by a factor of at most $e^{\varepsilon/2}$, so each probability by at most
$e^{\varepsilon}$.

**Permute-and-flip** (McKenna and Sheldon 2020): go through the candidates in random order, and accept each with
probability $\exp(\varepsilon (u_r - \max u) / 2\Delta)$. It gives the same privacy, and its expected score is never
lower.

Both are drawn here with their exact probabilities: random bits of the operating system are compared with bounds on the
exponential, and more bits are taken until they decide. The percentages on this page are rounded, for display only.

The scores, and so the probabilities, are private too: only the owner may see them. Only the name that is drawn may be
published. To publish its score as well is a second question, with its own price.
""")


@st.fragment
def lab() -> None:
    """Show a choice to make, its probabilities, and the button to draw."""
    kind = st.segmented_control(
        _("A choice to make"), list(SAMPLES), default=next(iter(SAMPLES)), required=True, key="choose_kind",
        format_func=_, help=_("Three made-up examples, or a table that you fill in."),
    )  # fmt: skip
    epsilon, mechanism = choose_settings()
    left, right = st.columns([2, 3], gap="large")
    with left:
        candidates = enter_candidates(kind, SAMPLES[kind], epsilon, mechanism)
    if candidates is None:
        return
    by_mechanism = {each: probabilities(replace(candidates, mechanism=each)) for each in Mechanism}
    with right:
        show_best(candidates, by_mechanism)
        show_probabilities(candidates, by_mechanism, private=kind == OWN)
    with left:
        if kind != OWN:  # the visitor's own scores are private and must enter no file
            show_as_code(candidates)
        draw_part(candidates, SAMPLES[kind].question, own=kind == OWN)


def choose_settings() -> tuple[Fraction, Mechanism]:
    """Return the chosen ε, and the mechanism that draws."""
    left, right = st.columns([3, 2], gap="large", vertical_alignment="bottom")
    epsilon = left.select_slider(
        _("Privacy budget ε"),
        EPSILONS,
        value=Fraction(1, 20),
        format_func=exactly,
        key="choose_epsilon",
        help=term("epsilon", _("Left: more private. Right: the best is drawn more often.")),
    )
    mechanism = right.segmented_control(
        _("Drawn by"), list(Mechanism), default=Mechanism.PERMUTE_AND_FLIP, required=True, key="choose_mechanism",
        format_func=lambda each: _(each.value)[0].upper() + _(each.value)[1:], help=term("exponential"),
    )  # fmt: skip
    return epsilon, mechanism


def show_as_code(candidates: Candidates) -> None:
    """Show the choice as code."""
    show_code(
        "choose",
        lambda: {
            "names": list(candidates.names),
            "scores": [str(score) for score in candidates.scores],
            "sensitivity": str(candidates.sensitivity),
            "epsilon": exact_text(candidates.epsilon),
            "mechanism": candidates.mechanism.value,
            "monotone": candidates.monotone,
        },
    )


require_entry()
st.title(_("Choose"))
st.markdown(_("Choose the best option using private scores; only the winner is published."))
lab()
with st.expander(_("For the curious"), icon=":material/school:"):
    st.markdown(_(CURIOUS))
st.markdown(
    _(
        "**What this means for your release.** An *adaptive* plan uses private choice to find the tables worth "
        "measuring, for a small share of its ε."
    )
)
st.page_link("pages/accuracy.py", label=_("See how exact a release will be"), icon=":material/show_chart:")
