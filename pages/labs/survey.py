"""Survey: people protect their own answers by coins, and what that costs beside a curator who is trusted."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pandas as pd
import streamlit as st

from dpengine.exact import exact_text
from dpengine.lessons import survey
from dpengine.mechanisms.local.protocol import Estimate
from dpengine.mechanisms.local.randomized_response import KaryResponse
from pages.parts.shared.data_twin import twin
from pages.parts.shared.figures import draw
from pages.parts.shared.wording import people, percent, plain, plural
from pages.parts.survey.charts import answers_figure
from pages.parts.survey.people import People, choose_people, stand_in
from pages.parts.survey.tabs import VIEWS, epsilon_words, named
from pages.parts.visit.state import require_entry

EPSILONS = tuple(map(Fraction, ("0.1", "0.2", "0.5", "1", "1.5", "2", "3", "4", "6", "8")))
CHANCES = tuple(Fraction(k, 20) for k in range(1, 20))
BY_EPSILON, BY_COIN = "ε", "a coin"
SHOWN = 30

REPORTS = {
    "Randomized response": "an answer: the true one, or by chance any",
    "Unary encoding": "a bit for each answer, most of them by chance",
    "Local hashing": "a hash function of one's own, and a bucket under it that may be wrong",
    "Hadamard response": "one of a few codes, half of which fit any answer",
    "Count-mean sketch": "one of many shared hash functions, and a row of bits, each of which may be wrong",
    "Hadamard sketch": "one of many shared hash functions, a place, and one bit that may be wrong",
}

CURIOUS = r"""
**Local differential privacy.** What a person sends is $\varepsilon$-locally private if for all answers $x, x'$ and
every report $y$, $\Pr[M(x) = y] \le e^{\varepsilon} \Pr[M(x') = y]$ (Kasiviswanathan et al. 2008). Nobody holds the
true answers, so nobody has to be trusted with them.

**Randomized response** (Warner 1965): with chance $\lambda$ say any of the $k$ answers, evenly; else the truth. Then
$e^{\varepsilon} = 1 + k(1-\lambda)/\lambda$: for yes or no and fair coins 3/4 against 1/4, so $\varepsilon = \ln 3$.

**The others** send something else than an answer, so that many answers disturb each other less. In each of them a
report supports one's own answer with chance $p$, any other with chance $q$, and $(C/n - q)/(p - q)$ is an unbiased
estimate of a share when $C$ of $n$ reports support it, of variance $(f\,p(1-p) + (1-f)\,q(1-q))/(n(p-q)^2)$: unary
encoding and local hashing (Wang et al. 2017), $4e^{\varepsilon}/((e^{\varepsilon}-1)^2 n)$ for rare answers; Hadamard
response (Acharya, Sun and Zhang 2019); count-mean sketches (Apple 2017), where collisions of hashes add to the
variance.

**Exact coins.** Every coin has a rational bias, drawn exactly from the operating system's randomness, and the ratio
of chances is a fraction; the ε shown is its logarithm, rounded up. Coins for a wanted ε never cost more than it.

**The curator**, for comparison, adds discrete Laplace noise of scale $2/\varepsilon$, which hides the same thing:
which answer a person gave (that changes two counts by one). A release on Publish hides whether a person is there at
all.

**Fitted shares** are shifted and cut at 0, to be shares of a whole (norm-sub: Wang et al. 2020). That uses reports
only, so it costs no privacy, and estimates are no longer unbiased.

Fair coins, the four cells and the AND are examples of Dwork, *A firm foundation for private data analysis* (2011).
Each run flips fresh coins; there is no seed. Nothing on this page is charged or kept.
"""


def choose_protocol(answers: int) -> survey.Protocol:
    """The method, and the one control that matters: ε, or for randomized response the coin itself."""
    method = st.selectbox("How they answer", list(survey.METHODS), key="survey_method", format_func=str)
    st.caption(f"A report is {REPORTS[method]}.")
    by = BY_EPSILON
    if method == "Randomized response":
        by = st.segmented_control("Set", (BY_EPSILON, BY_COIN), default=BY_EPSILON, required=True, key="survey_by")
    if by == BY_COIN:
        chance = st.select_slider(
            "Chance of answering at random",
            CHANCES,
            value=Fraction(1, 2),
            format_func=lambda each: percent(float(each)),
            key="survey_coin",
            help="One half is a fair coin. Left: more exact. Right: more private.",
        )
        return KaryResponse(answers, chance)
    epsilon = st.select_slider(
        "Privacy ε of a report",
        EPSILONS,
        value=Fraction(1),
        format_func=exact_text,
        key="survey_epsilon",
        help="Left: more private. Right: more exact.",
    )
    return survey.METHODS[method](answers, epsilon)


def told(asked: People, protocol: survey.Protocol, run: int) -> Estimate:
    """One survey; kept until another is asked for."""
    key = (asked.name, named(protocol), run)
    if st.session_state.get("survey_run", (None,))[0] != key:
        st.session_state["survey_run"] = (key, survey.ask_people(protocol, asked.counts))
    estimate: Estimate = st.session_state["survey_run"][1]
    return estimate


def numbers(asked: People, protocol: survey.Protocol, estimate: Estimate) -> None:
    off = np.abs(estimate.shares * asked.size - asked.counts).mean()
    predicted = survey.local_error(protocol, asked.counts / asked.size, asked.size)
    with st.grid(3, min_column_width=150):
        st.metric("ε of a report", epsilon_words(protocol.epsilon), border=True,
                  help="Rounded up from the exact chances of the coins.")  # fmt: skip
        st.metric("A count is off by", people(float(off)), f"{people(predicted)} predicted", "off", border=True,
                  delta_arrow="off", help="In this run, on average; predicted is the standard error.")  # fmt: skip
        st.metric("With a curator", people(survey.curator_error(protocol.epsilon)), border=True,
                  help="Standard error of a count if one trusted curator held all answers, at the same ε.")  # fmt: skip


def picture(asked: People, protocol: survey.Protocol, estimate: Estimate) -> None:
    fitted = st.session_state.get("survey_fit", False)
    shares = estimate.fitted if fitted else estimate.shares
    counts, within = shares * asked.size, estimate.half_widths() * asked.size
    inside = int((np.abs(estimate.shares * asked.size - asked.counts) <= within).sum())
    line = (
        f"{asked.question}: {inside} of {plural(len(asked.labels), 'answer')} within the interval of "
        f"±{people(float(np.median(within)))} of {asked.size:,} people"
    )
    st.markdown(f"**{plain(line)}**")
    kept = np.sort(np.argsort(-asked.counts, kind="stable")[:SHOWN])
    labels = [asked.labels[k] for k in kept]
    figure = answers_figure(labels, asked.counts[kept], counts[kept], within[kept])
    draw(figure, f"{line}.", "survey-answers", 380, private=asked.private)
    if len(kept) < len(asked.labels):
        st.caption(f"The {SHOWN} most frequent of {len(asked.labels)} answers.")
    if fitted:
        st.caption("Fitted by post-processing: shares of a whole, no longer unbiased. Intervals are of the estimates.")
    frame = pd.DataFrame({"answer": asked.labels, "truth": asked.counts, "estimate": counts, "±": within})
    number = st.column_config.NumberColumn
    columns = {"truth": number("truth", format="localized")} | {
        name: number(name, format="%.0f") for name in ("estimate", "±")
    }
    twin(frame, "survey-answers", columns)


@st.fragment
def lab() -> None:
    left, right = st.columns([2, 3], gap="large")
    with left:
        asked = choose_people()
        if asked is None:
            return
        protocol = choose_protocol(len(asked.labels))
        st.checkbox("Fit to shares of a whole", key="survey_fit",
                    help="Post-processing: none below 0, all people in sum.")  # fmt: skip
        if st.button("Run it again", key="survey_again", icon=":material/casino:"):
            st.session_state["survey_runs"] = st.session_state.get("survey_runs", 0) + 1
    run = st.session_state.get("survey_runs", 0)
    with right:
        estimate = told(asked, protocol, run)
        with st.container(border=True, key="private") if asked.private else st.container():
            if asked.private:
                st.markdown(
                    ":material/visibility_lock: **For your eyes only.** The truth is counted from your table, without "
                    "noise. Nothing of it is kept or spent."
                )
            numbers(asked, protocol, estimate)
            picture(asked, protocol, estimate)
    st.subheader("What it costs, and what it hides")
    if asked.private:
        asked = stand_in(asked)
        st.caption(f"On made-up people, about as many as your table has: {asked.size:,}.")
    tabs = st.tabs(list(VIEWS), on_change="rerun", key="survey_view")
    for tab, view in zip(tabs, VIEWS.values(), strict=True):
        if tab.open:
            with tab:
                view(asked, protocol, run)


require_entry()
st.title("Survey")
st.markdown(
    "People protect their own answers by coins before they tell them: nobody has to be trusted, and the error grows "
    "with the root of their number."
)
lab()
st.subheader("What this means for your release")
st.markdown(
    "You hold the rows already, so a release adds noise once, to the counts: a cell is off by a few people, however "
    "many there are. Coins are for data that nobody should collect in the first place."
)
with st.container(horizontal=True):
    st.page_link("pages/publish.py", label="Publish", icon=":material/publish:")
    st.page_link("pages/accuracy.py", label="How exact a release will be", icon=":material/show_chart:")
with st.expander("For the curious", icon=":material/school:"):
    st.markdown(CURIOUS)
