"""Choose lab: the best option by private scores, with only the winner published."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pandas as pd
import streamlit as st

from dpengine.choose import Candidates, Mechanism, probabilities
from dpengine.errors import PlanError
from dpengine.exact import exact_text
from pages.parts.choose.charts import SHOWN, likely_figure, over_epsilon_figure
from pages.parts.choose.draw import draw_part
from pages.parts.choose.samples import OWN, SAMPLES, Sample
from pages.parts.shared.code.show import show_code
from pages.parts.shared.data_twin import twin
from pages.parts.shared.epsilon_ladder import rungs
from pages.parts.shared.figures import draw as show
from pages.parts.shared.glossary.help import term
from pages.parts.shared.wording import percent, plain
from pages.parts.visit.fault_text import all_faults
from pages.parts.visit.state import require_entry

MAX_BARS = 40
MAX_CANDIDATES = 1000  # as many as the page draws within a second
EPSILONS = rungs("0.01", "10")

CURIOUS = r"""
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
"""


def enter_candidates(kind: str, sample: Sample, epsilon: Fraction, mechanism: Mechanism) -> Candidates | None:
    """Return the candidates as entered, with how far one person can change scores; None while they are not usable."""
    st.markdown(f"**{plain(sample.question)}** The score: {plain(sample.scored)}.")
    given = pd.DataFrame({"candidate": list(sample.names), "score": list(sample.scores)})
    table = st.data_editor(
        given,
        num_rows="dynamic",
        hide_index=True,
        key=f"choose_table_{kind}",
        height="content" if len(given) < 12 else 420,
        column_config={
            "candidate": st.column_config.TextColumn("candidate", help="The list must not depend on private data."),
            "score": st.column_config.TextColumn(
                "score", help="The higher the better. Read exactly as it is typed: 12, 0.5 or 1/3."
            ),
        },
    )
    sensitivity = st.text_input(
        "One person moves a score by at most",
        sample.sensitivity,
        key=f"choose_sensitivity_{kind}",
        help=term("sensitivity", f"An exact number: here, {sample.why}."),
    )
    monotone = st.checkbox(
        "… and all scores in the same direction",
        sample.monotone,
        key=f"choose_monotone_{kind}",
        help="This is true of counts: one more person lowers no count. The same privacy then allows a sharper choice, "
        "with ε/Δ instead of ε/2Δ.",
    )
    if len(table) > MAX_CANDIDATES:
        st.warning(
            f"This page draws at most {MAX_CANDIDATES:,} candidates; the library, up to a million.",
            icon=":material/edit:",
        )
        return None
    names = [None if pd.isna(name) else name for name in table["candidate"]]
    scores = [None if pd.isna(score) else str(score) for score in table["score"]]
    try:
        return Candidates.of(names, scores, sensitivity, epsilon, mechanism, monotone)
    except PlanError as refused:
        st.warning(all_faults(refused) + " Nothing was drawn or spent.", icon=":material/edit:")
        return None


def numbers(candidates: Candidates, both: dict[Mechanism, np.ndarray]) -> None:
    """Show how often the best candidate is drawn, and how far below its score the drawn one is on average."""
    scores = np.array([float(score) for score in candidates.scores])
    best = scores == scores.max()
    lost = {each: float(scores.max() - chances @ scores) for each, chances in both.items()}
    with st.grid(2, min_column_width=150):
        chance = float(both[candidates.mechanism][best].sum())
        st.metric(
            "The best is drawn",
            percent(chance),
            border=True,
            help="Any of the best, if several have the highest score.",
        )
        st.metric(
            "Falls short by", f"{lost[candidates.mechanism]:,.3g}", border=True,
            help="How far the drawn candidate's score lies below the best score, on average.",
        )  # fmt: skip
    st.caption("Average shortfall by mechanism: " + ", ".join(f"{each} {short:,.3g}" for each, short in lost.items()))


def pictures(candidates: Candidates, both: dict[Mechanism, np.ndarray], *, private: bool) -> None:
    """Draw the probabilities of both mechanisms at this ε, and of the chosen one over all ε.

    Those of `private` scores are saved nowhere.
    """
    names = list(candidates.names)
    order = sorted(range(len(names)), key=lambda k: (-candidates.scores[k], k))
    top, epsilon = [names[k] for k in order[:SHOWN]], candidates.epsilon
    first = plain(top[0])
    chance = percent(float(both[candidates.mechanism][order[0]]))
    line = f"At ε = {exact_text(epsilon)}, {first} is drawn {chance} of the time"
    st.markdown(f"**{line}**")
    largest = sorted(order[:MAX_BARS])
    shown = {each: chances[largest] for each, chances in both.items()}
    alt = f"{line}; both mechanisms side by side."
    show(likely_figure([names[k] for k in largest], shown), alt, "choose-likely", 300, private=private)
    if len(largest) < len(names):
        st.caption(f"The {len(largest)} of {len(names):,} candidates that score highest.")
    frame = pd.DataFrame({"candidate": names, "score": [float(score) for score in candidates.scores]})
    for each, chances in both.items():
        frame[each.value] = chances
    config = {each.value: st.column_config.NumberColumn(each.value, format="percent") for each in both}
    twin(frame, "choose-likely", config, private=private)

    st.markdown(f"**Probability of each over ε, by {candidates.mechanism.value}**")
    chances_by_epsilon = np.array([probabilities(candidates.at(each)) for each in EPSILONS])
    rows = pd.DataFrame(chances_by_epsilon[:, order], columns=[names[k] for k in order])
    rows.insert(0, "epsilon", [float(each) for each in EPSILONS])
    show(
        over_epsilon_figure(rows, top, float(epsilon)),
        f"At small ε all are nearly equally likely; at large ε it is nearly always {first}.",
        "choose-over-epsilon",
        320,
        private=private,
    )
    columns = {name: st.column_config.NumberColumn(name, format="percent") for name in rows.columns[1:]}
    columns["epsilon"] = st.column_config.NumberColumn("ε", format="%g")
    twin(rows, "choose-over-epsilon", columns, private=private)


@st.fragment
def lab() -> None:
    """Show a choice to make, its probabilities, and the button to draw."""
    kind = st.segmented_control(
        "A choice to make", list(SAMPLES), default=next(iter(SAMPLES)), required=True, key="choose_kind",
        help="Three made-up examples, or a table that you fill in.",
    )  # fmt: skip
    epsilon_place, mechanism_place = st.columns([3, 2], gap="large", vertical_alignment="bottom")
    epsilon = epsilon_place.select_slider(
        "Privacy budget ε",
        EPSILONS,
        value=Fraction(1, 20),
        format_func=exact_text,
        key="choose_epsilon",
        help=term("epsilon", "Left: more private. Right: the best is drawn more often."),
    )
    mechanism = mechanism_place.segmented_control(
        "Drawn by", list(Mechanism), default=Mechanism.PERMUTE_AND_FLIP, required=True, key="choose_mechanism",
        format_func=lambda each: each.value.capitalize(), help=term("exponential"),
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
st.title("Choose")
st.markdown("Choose the best option using private scores; only the winner is published.")
lab()
with st.expander("For the curious", icon=":material/school:"):
    st.markdown(CURIOUS)
st.markdown(
    "**What this means for your release.** An *adaptive* plan uses private choice to find the tables worth measuring, "
    "for a small share of its ε."
)
st.page_link("pages/accuracy.py", label="See how exact a release will be", icon=":material/show_chart:")
