"""Choose: the best of a list by private scores, and nothing told but the winner."""

from __future__ import annotations

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
from pages.parts.shared.data_twin import twin
from pages.parts.shared.figures import draw as show
from pages.parts.shared.wording import percent, plain
from pages.parts.visit.state import require_entry

MOST = 1000  # candidates that the page draws within a second
EPSILONS = tuple(map(Fraction, (
    "0.01", "0.015", "0.02", "0.03", "0.05", "0.07", "0.1", "0.15", "0.2", "0.3", "0.5", "0.7", "1", "1.5", "2", "3",
    "5", "7", "10",
)))  # fmt: skip

CURIOUS = r"""
**Exponential mechanism** (McSherry and Talwar 2007): candidate $r$ with score $u_r$ is drawn with probability
proportional to $\exp(\varepsilon u_r / 2\Delta)$, where $\Delta$ is the most that one person moves any score. A person
multiplies each weight, and their sum, by at most $e^{\varepsilon/2}$ either way, so each probability by at most
$e^{\varepsilon}$.

**Permute-and-flip** (McKenna and Sheldon 2020): walk through the candidates in random order, and take each with
probability $\exp(\varepsilon (u_r - \max u) / 2\Delta)$. The same privacy, and its expected score is never lower.

Both are drawn here with their exact probabilities: random bits of the operating system are held against bounds on the
exponential, and more bits for as long as they do not decide. The percentages on this page are floating-point numbers,
for looking at.

The scores, and so the probabilities, are private too: they are for the owner's eyes. What may be passed on is the one
name that is drawn. To learn its score as well is a second question, with a price of its own.
"""


def entered(kind: str, sample: Sample, epsilon: Fraction, mechanism: Mechanism) -> Candidates | None:
    """The table of candidates, and what one person can do to it."""
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
            "score": st.column_config.NumberColumn("score", help="The higher the better.", format="%.10g"),
        },
    )
    sensitivity = st.text_input(
        "One person moves a score by at most",
        sample.sensitivity,
        key=f"choose_sensitivity_{kind}",
        help=f"The sensitivity Δ, an exact number: here, {sample.why}.",
    )
    monotone = st.checkbox(
        "… and all scores in the same direction",
        sample.monotone,
        key=f"choose_monotone_{kind}",
        help="True of counts: one more person takes no count down. Then the same privacy allows a sharper choice: "
        "ε/Δ stands for ε/2Δ.",
    )
    if len(table) > MOST:
        st.warning(f"This page draws at most {MOST:,} candidates; the library takes a million.", icon=":material/edit:")
        return None
    names = [None if pd.isna(name) else name for name in table["candidate"]]
    scores = [None if pd.isna(score) else float(score) for score in table["score"]]
    try:
        return Candidates.of(names, scores, sensitivity, epsilon, mechanism, monotone)
    except PlanError as refused:
        st.warning(plain(" ".join(map(str, refused.faults))) + " Nothing was drawn or spent.", icon=":material/edit:")
        return None


def numbers(candidates: Candidates, both: dict[Mechanism, np.ndarray]) -> None:
    """The best candidate's chance, and what the choice loses on average."""
    scores = np.array([float(score) for score in candidates.scores])
    best = scores == scores.max()
    lost = {each: float(scores.max() - law @ scores) for each, law in both.items()}
    with st.grid(2, min_column_width=150):
        chance = float(both[candidates.mechanism][best].sum())
        st.metric("The best is drawn", percent(chance), border=True, help="Any of them, where several score highest.")
        st.metric(
            "Falls short by", f"{lost[candidates.mechanism]:,.3g}", border=True,
            help="How far, on average, the score of what is drawn lies below the best score.",
        )  # fmt: skip
    st.caption("On average short of the best by: " + ", ".join(f"{each} {short:,.3g}" for each, short in lost.items()))


def pictures(candidates: Candidates, both: dict[Mechanism, np.ndarray]) -> None:
    names = list(candidates.names)
    order = sorted(range(len(names)), key=lambda k: (-candidates.scores[k], k))
    top, epsilon = [names[k] for k in order[:SHOWN]], candidates.epsilon
    first = plain(top[0])
    chance = percent(float(both[candidates.mechanism][order[0]]))
    line = f"At ε = {exact_text(epsilon)}, {first} is drawn {chance} of the time"
    st.markdown(f"**{line}**")
    kept = order if len(order) <= 40 else order[:40]
    kept = sorted(kept)
    shown = {each: law[kept] for each, law in both.items()}
    show(likely_figure([names[k] for k in kept], shown), f"{line}; both mechanisms side by side.", "choose-likely", 300)
    if len(kept) < len(names):
        st.caption(f"The {len(kept)} of {len(names):,} candidates that score highest.")
    frame = pd.DataFrame({"candidate": names, "score": [float(score) for score in candidates.scores]})
    for each, law in both.items():
        frame[each.value] = law
    config = {each.value: st.column_config.NumberColumn(each.value, format="percent") for each in both}
    twin(frame, "choose-likely", config)

    st.markdown(f"**How likely each is over ε, by {candidates.mechanism.value}**")
    laws = np.array([probabilities(candidates.at(each)) for each in EPSILONS])
    rows = pd.DataFrame(laws[:, order], columns=[names[k] for k in order])
    rows.insert(0, "epsilon", [float(each) for each in EPSILONS])
    show(
        over_epsilon_figure(rows, top, float(epsilon)),
        f"From nearly even at small ε to nearly always {first} at large ε.",
        "choose-over-epsilon",
        320,
    )
    columns = {name: st.column_config.NumberColumn(name, format="percent") for name in rows.columns[1:]}
    twin(rows, "choose-over-epsilon", columns | {"epsilon": st.column_config.NumberColumn("ε", format="%g")})


def for_the_curious() -> None:
    with st.expander("For the curious", icon=":material/school:"):
        st.markdown(CURIOUS)


@st.fragment
def lab() -> None:
    kind = st.segmented_control(
        "A choice to make", list(SAMPLES), default=next(iter(SAMPLES)), required=True, key="choose_kind",
        help="Three made-up ones, or a table that you fill in.",
    )  # fmt: skip
    epsilon_place, mechanism_place = st.columns([3, 2], gap="large", vertical_alignment="bottom")
    epsilon = epsilon_place.select_slider(
        "Privacy budget ε",
        EPSILONS,
        value=Fraction(1, 20),
        format_func=exact_text,
        key="choose_epsilon",
        help="Left: more private. Right: more often the best.",
    )
    mechanism = mechanism_place.segmented_control(
        "Drawn by", list(Mechanism), default=Mechanism.PERMUTE_AND_FLIP, required=True, key="choose_mechanism",
        format_func=lambda each: each.value.capitalize(),
    )  # fmt: skip
    left, right = st.columns([2, 3], gap="large")
    with left:
        candidates = entered(kind, SAMPLES[kind], epsilon, mechanism)
    if candidates is None:
        return
    both = {each: probabilities(_by(candidates, each)) for each in Mechanism}
    with right:
        numbers(candidates, both)
        pictures(candidates, both)
    with left:
        draw_part(candidates, SAMPLES[kind].question, own=kind == OWN)


def _by(candidates: Candidates, mechanism: Mechanism) -> Candidates:
    return Candidates(
        candidates.names, candidates.scores, candidates.sensitivity, candidates.epsilon, mechanism, candidates.monotone
    )


require_entry()
st.title("Choose")
st.markdown("Pick the best of a list by scores that are private, and tell nothing but which one it is.")
lab()
for_the_curious()
st.markdown(
    "**What it means for your release.** Private choice is how an *adaptive* plan finds the tables worth measuring, at "
    "a small part of its ε."
)
st.page_link("pages/accuracy.py", label="See how exact a release will be", icon=":material/show_chart:")
