"""Survey lab: people protect their own answers by coin flips, which costs accuracy compared with a trusted curator."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pandas as pd
import streamlit as st

from dpengine.exact import exact_text, exactly
from dpengine.lessons import survey
from dpengine.mechanisms.local.protocol import Estimate
from dpengine.mechanisms.local.randomized_response import KaryResponse
from dpengine.spec.wording import people, percent
from dpengine.translation.catalogue import _, mark, number, plural
from pages.parts.shared.choices import choose_one
from pages.parts.shared.code.show import show_code
from pages.parts.shared.data_twin import twin
from pages.parts.shared.epsilon_ladder import rungs
from pages.parts.shared.figures import draw
from pages.parts.shared.glossary.help import term
from pages.parts.shared.wording import plain
from pages.parts.survey.charts import answers_figure
from pages.parts.survey.people import People, choose_people, made_up_like
from pages.parts.survey.tabs import CHANCES, VIEWS, epsilon_words, protocol_key
from pages.parts.visit.state import require_entry, visit

EPSILONS = rungs("0.1", "7")
BY_EPSILON, BY_COIN = "ε", mark("a coin")
MAX_BARS = 30

REPORTS = {
    "Randomized response": mark("Each report is the true answer or, by chance, a random one."),
    "Unary encoding": mark("Each report has one bit for each answer, most of them random."),
    "Local hashing": mark(
        "Each report names a hash function of the person's own and a bucket under it, which may be wrong."
    ),
    "Hadamard response": mark("Each report is one of a few codes; half of the codes fit any answer."),
    "Count-mean sketch": mark(
        "Each report names one of many shared hash functions and a row of bits, each of which may be wrong."
    ),
    "Hadamard sketch": mark(
        "Each report names one of many shared hash functions, a position, and one bit, which may be wrong."
    ),
}

CURIOUS = mark(r"""
**Local differential privacy.** A report $M(x)$ is $\varepsilon$-locally private if, for all answers $x, x'$ and every
report $y$, $\Pr[M(x) = y] \le e^{\varepsilon} \Pr[M(x') = y]$ (Kasiviswanathan et al. 2008). Nobody holds the true
answers, so nobody has to be trusted with them.

**Randomized response** (Warner 1965): with chance $\lambda$ give one of the $k$ answers, all equally likely; otherwise
the true one. Then $e^{\varepsilon} = 1 + k(1-\lambda)/\lambda$. For yes or no and fair coins the chances are 3/4 and
1/4, so $\varepsilon = \ln 3$.

**The other methods** do not send an answer itself, so that many possible answers disturb each other less. A report
supports the person's own answer with chance $p$ and any other with chance $q$. If $C$ of $n$ reports support an answer,
$(C/n - q)/(p - q)$ is an unbiased estimate of its share $f$, with variance
$(f\,p(1-p) + (1-f)\,q(1-q))/(n(p-q)^2)$: unary encoding and local hashing (Wang et al. 2017),
$4e^{\varepsilon}/((e^{\varepsilon}-1)^2 n)$ for rare answers; Hadamard response (Acharya, Sun and Zhang 2019);
count-mean sketches (Apple 2017), whose variance also grows with hash collisions.

**Exact coins.** Every coin has a rational bias and is drawn exactly from the operating system's randomness. The ratio
of chances is a fraction; the ε shown is its logarithm, rounded up. Coins for a chosen ε never exceed it.

**The curator**, for comparison, adds discrete Laplace noise of scale $2/\varepsilon$. That hides the same thing: which
answer a person gave (a different answer changes two counts by one). A release on Publish hides whether a person is in
the data at all.

**Fitted shares** are shifted and cut at 0 so that they add up to a whole (norm-sub: Wang et al. 2020). This uses
reports only, so it costs no privacy, but the estimates are no longer unbiased.

Fair coins, the four cells and the AND are examples of Dwork, *A firm foundation for private data analysis* (2011).
Each run flips new coins; there is no seed. Nothing on this page is charged or stored.
""")


def choose_protocol(answers: int) -> survey.Protocol:
    """Return the chosen method at the chosen ε; for randomized response, the visitor can set the coin instead."""
    method = st.selectbox(
        _("How they answer"),
        list(survey.METHODS),
        key="survey_method",
        format_func=_,
        help=term("randomised-response"),
    )
    st.caption(_(REPORTS[method]))
    by = BY_EPSILON
    if method == "Randomized response":
        by = choose_one(_("Set privacy by"), (BY_EPSILON, BY_COIN), "survey_by")
    if by == BY_COIN:
        chance = st.select_slider(
            _("Chance of answering at random"),
            CHANCES,
            value=Fraction(1, 2),
            format_func=lambda each: percent(float(each)),
            key="survey_coin",
            help=_("One half is a fair coin. Left: more exact. Right: more private."),
        )
        return KaryResponse(answers, chance)
    epsilon = st.select_slider(
        _("Privacy ε of a report"),
        EPSILONS,
        value=Fraction(1),
        format_func=exactly,
        key="survey_epsilon",
        help=term("epsilon", _("Left: more private. Right: more exact.")),
    )
    return survey.METHODS[method](answers, epsilon)


def show_errors(respondents: People, protocol: survey.Protocol, estimate: Estimate) -> None:
    """Show ε, and the error of a count by coins and with a curator."""
    error = np.abs(estimate.shares * respondents.size - respondents.counts).mean()
    predicted = survey.local_error(protocol, respondents.counts / respondents.size, respondents.size)
    with st.grid(3, min_column_width=150):
        st.metric(_("ε of a report"), epsilon_words(protocol.epsilon), border=True,
                  help=_("Rounded up from the exact chances of the coins."))  # fmt: skip
        st.metric(_("A count is off by"), people(float(error)), _("{error} predicted", error=people(predicted)), "off",
                  border=True, delta_arrow="off",
                  help=_("Average of this run; the prediction is the standard error."))  # fmt: skip
        note = _("Standard error of a count if one trusted curator held all answers, at the same ε.")
        st.metric(_("With a curator"), people(survey.curator_error(protocol.epsilon)), border=True, help=note)


def show_estimates(respondents: People, estimate: Estimate, *, fitted: bool) -> None:
    """Draw the estimates of one survey beside the truth."""
    shares = estimate.fitted if fitted else estimate.shares
    counts, within = shares * respondents.size, estimate.half_widths() * respondents.size
    inside = int((np.abs(estimate.shares * respondents.size - respondents.counts) <= within).sum())
    line = _(
        "{question}, {people} people: {inside} of {answers} within the 95 % interval of ±{half_width}",
        question=respondents.question,
        people=number(respondents.size),
        inside=inside,
        answers=plural("{n} answer", "{n} answers", len(respondents.labels)),
        half_width=people(float(np.median(within))),
    )
    st.markdown(f"**{plain(line)}**")
    largest = np.sort(np.argsort(-respondents.counts, kind="stable")[:MAX_BARS])
    labels = [respondents.labels[k] for k in largest]
    figure = answers_figure(labels, respondents.counts[largest], counts[largest], within[largest])
    draw(figure, f"{line}.", "survey-answers", 380, private=respondents.private)
    if len(largest) < len(respondents.labels):
        st.caption(
            _("The {n} most frequent of {answers} answers.", n=MAX_BARS, answers=number(len(respondents.labels)))
        )
    if fitted:
        st.caption(
            _("Fitted by post-processing: shares of a whole, no longer unbiased. Intervals are of the raw estimates.")
        )
    frame = pd.DataFrame({"answer": respondents.labels, "truth": respondents.counts, "estimate": counts, "±": within})
    column = st.column_config.NumberColumn
    columns = {
        "answer": _("answer"),
        "truth": column(_("truth"), format="%,d"),
        "estimate": column(_("estimate"), format="%,.0f"),
        "±": column("±", format="%,.0f"),
    }
    twin(frame, "survey-answers", columns)


@st.fragment
def lab() -> None:
    """Run a survey of the chosen people by the chosen method."""
    left, right = st.columns([4, 5], gap="large")
    with left:
        respondents = choose_people()
        if respondents is None:
            return
        protocol = choose_protocol(len(respondents.labels))
        note = _("No share below 0, and all add up to 100 %.")
        fitted = st.checkbox(_("Fit to shares of a whole"), key="survey_fit", help=term("post-processing", note))
        st.button(
            _("Run it again"), key="survey_again", icon=":material/casino:", on_click=visit().renew, args=("survey",)
        )
    run = visit().renewals("survey")
    with right:
        show_survey(respondents, protocol, run, fitted=fitted)
    st.header(_("What it costs, and what it hides"))
    size = 10_000 if respondents.private else respondents.size  # the code on the page is passed on
    if respondents.private:
        respondents = made_up_like(respondents)
        st.caption(_("For {people} made-up people, about as many as your table has.", people=number(respondents.size)))
    tabs = st.tabs(list(map(_, VIEWS)), on_change="rerun", key="survey_view")
    for tab, view in zip(tabs, VIEWS.values(), strict=True):
        if tab.open:
            with tab:
                view(respondents, protocol, run)
    code = {
        "answers": len(respondents.labels),
        "people": size,
        "method": st.session_state["survey_method"],
        "epsilon": exact_text(st.session_state.get("survey_epsilon", protocol.epsilon)),
    }
    show_code("survey", lambda: code)


def show_survey(respondents: People, protocol: survey.Protocol, run: int, *, fitted: bool) -> None:
    """Show one survey of these people; what is counted from the owner's table is marked as private."""
    key = respondents.name, protocol_key(protocol), run
    estimate = visit().once("survey", key, lambda: survey.ask_people(protocol, respondents.counts))
    with st.container(border=True, key="private") if respondents.private else st.container():
        if respondents.private:
            st.markdown(
                _(
                    ":material/visibility_lock: **For your eyes only.** The truth is counted from your table, "
                    "without noise. Nothing is stored or spent."
                )
            )
        show_errors(respondents, protocol, estimate)
        show_estimates(respondents, estimate, fitted=fitted)


require_entry()
st.title(_("Survey"))
st.markdown(
    _(
        "People randomise their own answers with coins before they send them, so nobody has to be trusted with the "
        "true ones. The price: counts are much less exact than if one trusted office, the *curator*, held all answers "
        "and added noise once. The error grows with the square root of the number of people."
    )
)
lab()
st.header(_("What this means for your release"))
st.markdown(
    _(
        "You already hold the rows, so a release adds noise once, to the counts. A cell is off by a few people, "
        "however many people there are. Coins are for data that nobody should collect in the first place."
    )
)
with st.container(horizontal=True):
    st.page_link("pages/publish.py", label=_("Publish"), icon=":material/publish:")
    st.page_link("pages/accuracy.py", label=_("How exact a release will be"), icon=":material/show_chart:")
with st.expander(_("For the curious"), icon=":material/school:"):
    st.markdown(_(CURIOUS))
