"""Choose lab: the best option by private scores, with only the winner published."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from dpengine.choose import Candidates, Mechanism, probabilities
from dpengine.errors import Fault, PlanError
from dpengine.exact import exact_text
from dpengine.translation.catalogue import _, localised, mark, number
from pages.parts.ask.form import with_point
from pages.parts.choose.charts import SHOWN, likely_figure, over_epsilon_figure
from pages.parts.choose.draw import draw_part
from pages.parts.choose.samples import OWN, SAMPLES, Sample
from pages.parts.shared.code.show import show_code
from pages.parts.shared.data_twin import twin
from pages.parts.shared.epsilon_ladder import rungs
from pages.parts.shared.figures import draw as show
from pages.parts.shared.glossary.help import term
from pages.parts.shared.wording import exactly, percent, plain
from pages.parts.visit.fault_text import all_faults
from pages.parts.visit.state import require_entry

MAX_BARS = 40
MAX_CANDIDATES = 1000  # as many as the page draws within a second
EPSILONS = rungs("0.01", "10")

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


def enter_candidates(kind: str, sample: Sample, epsilon: Fraction, mechanism: Mechanism) -> Candidates | None:
    """Return the candidates as entered, with how far one person can change scores; None while they are not usable."""
    scored = _("The score: {scored}.", scored=plain(_(sample.scored)))
    st.markdown(f"**{plain(_(sample.question))}** {scored}")
    named = [localised(_(name)) for name in sample.names]
    given = pd.DataFrame({"candidate": named, "score": list(map(localised, sample.scores))})
    table = st.data_editor(
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


def numbers(candidates: Candidates, both: dict[Mechanism, np.ndarray]) -> None:
    """Show how often the best candidate is drawn, and how far below its score the drawn one is on average."""
    scores = np.array([float(score) for score in candidates.scores])
    best = scores == scores.max()
    lost = {each: float(scores.max() - chances @ scores) for each, chances in both.items()}
    with st.grid(2, min_column_width=150):
        chance = float(both[candidates.mechanism][best].sum())
        st.metric(
            _("The best is drawn"),
            percent(chance),
            border=True,
            help=_("Any of the best, if several have the highest score."),
        )
        st.metric(
            _("Falls short by"), number(lost[candidates.mechanism], ",.3g"), border=True,
            help=_("How far the drawn candidate's score lies below the best score, on average."),
        )  # fmt: skip
    shortfalls = ", ".join(f"{_(each.value)} {number(short, ',.3g')}" for each, short in lost.items())
    st.caption(_("Average shortfall by mechanism: {shortfalls}", shortfalls=shortfalls))


def pictures(candidates: Candidates, both: dict[Mechanism, np.ndarray], *, private: bool) -> None:
    """Draw the probabilities of both mechanisms at this ε, and of the chosen one over all ε.

    Those of `private` scores are saved nowhere.
    """
    names = list(candidates.names)
    order = sorted(range(len(names)), key=lambda k: (-candidates.scores[k], k))
    top, epsilon = [names[k] for k in order[:SHOWN]], candidates.epsilon
    first = plain(top[0])
    chance = percent(float(both[candidates.mechanism][order[0]]))
    line = _(
        "At ε = {epsilon}, {candidate} is drawn {chance} of the time",
        epsilon=exactly(epsilon),
        candidate=first,
        chance=chance,
    )
    st.markdown(f"**{line}**")
    largest = sorted(order[:MAX_BARS])
    shown = {each: chances[largest] for each, chances in both.items()}
    alt = _("{line}; both mechanisms side by side.", line=line)
    show(likely_figure([names[k] for k in largest], shown), alt, "choose-likely", 300, private=private)
    if len(largest) < len(names):
        st.caption(
            _("The {n} of {candidates} candidates that score highest.", n=len(largest), candidates=number(len(names)))
        )
    frame = pd.DataFrame({"candidate": names, "score": [float(score) for score in candidates.scores]})
    for each, chances in both.items():
        frame[each.value] = chances
    column = st.column_config.NumberColumn
    config: dict[str, Any] = {each.value: column(_(each.value), format="percent") for each in both}
    config |= {"candidate": _("candidate"), "score": column(_("score"), format="%g")}
    twin(frame, "choose-likely", config, private=private)

    st.markdown(_("**Probability of each over ε, by {mechanism}**", mechanism=_(candidates.mechanism.value)))
    chances_by_epsilon = np.array([probabilities(candidates.at(each)) for each in EPSILONS])
    rows = pd.DataFrame(chances_by_epsilon[:, order], columns=[names[k] for k in order])
    rows.insert(0, "epsilon", [float(each) for each in EPSILONS])
    show(
        over_epsilon_figure(rows, top, float(epsilon)),
        _("At small ε all are nearly equally likely; at large ε it is nearly always {candidate}.", candidate=first),
        "choose-over-epsilon",
        320,
        private=private,
    )
    columns = {name: column(name, format="percent") for name in rows.columns[1:]}
    columns["epsilon"] = column("ε", format="%g")
    twin(rows, "choose-over-epsilon", columns, private=private)


@st.fragment
def lab() -> None:
    """Show a choice to make, its probabilities, and the button to draw."""
    kind = st.segmented_control(
        _("A choice to make"), list(SAMPLES), default=next(iter(SAMPLES)), required=True, key="choose_kind",
        format_func=_, help=_("Three made-up examples, or a table that you fill in."),
    )  # fmt: skip
    epsilon_place, mechanism_place = st.columns([3, 2], gap="large", vertical_alignment="bottom")
    epsilon = epsilon_place.select_slider(
        _("Privacy budget ε"),
        EPSILONS,
        value=Fraction(1, 20),
        format_func=exactly,
        key="choose_epsilon",
        help=term("epsilon", _("Left: more private. Right: the best is drawn more often.")),
    )
    mechanism = mechanism_place.segmented_control(
        _("Drawn by"), list(Mechanism), default=Mechanism.PERMUTE_AND_FLIP, required=True, key="choose_mechanism",
        format_func=lambda each: _(each.value)[0].upper() + _(each.value)[1:], help=term("exponential"),
    )  # fmt: skip
    left, right = st.columns([2, 3], gap="large")
    with left:
        candidates = enter_candidates(kind, SAMPLES[kind], epsilon, mechanism)
    if candidates is None:
        return
    both = {each: probabilities(replace(candidates, mechanism=each)) for each in Mechanism}
    with right:
        numbers(candidates, both)
        pictures(candidates, both, private=kind == OWN)
    with left:
        if kind != OWN:  # the visitor's own scores are private and must enter no file
            show_code(
                "choose",
                lambda: {
                    "names": list(candidates.names),
                    "scores": [str(score) for score in candidates.scores],
                    "sensitivity": str(candidates.sensitivity),
                    "epsilon": exact_text(epsilon),
                    "mechanism": mechanism.value,
                    "monotone": candidates.monotone,
                },
            )
        draw_part(candidates, SAMPLES[kind].question, own=kind == OWN)


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
