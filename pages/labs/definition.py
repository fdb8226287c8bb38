"""Definition lab: two tables that differ in one person, and how far apart their answers may be."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import pandas as pd
import streamlit as st

from dpengine.accounting.composition import posterior
from dpengine.exact import exact_text, exactly
from dpengine.lessons import definition as lesson
from dpengine.spec.wording import certainty, factor, percent
from dpengine.translation.catalogue import _, mark, number
from pages.parts.definition.audit import audit_part
from pages.parts.definition.charts import distributions_figure
from pages.parts.definition.examples import EXAMPLES
from pages.parts.shared.choices import choose_one
from pages.parts.shared.code.show import show_code
from pages.parts.shared.data_twin import twin
from pages.parts.shared.epsilon_ladder import rungs
from pages.parts.shared.figures import draw
from pages.parts.shared.glossary.help import term
from pages.parts.visit import tour
from pages.parts.visit.state import require_entry, visit

PEOPLE = pd.DataFrame({"name": ["Fatma", "Hong", "Ron", "Oren"], "age": [21, 20, 35, 25], "income": [35, 20, 100, 50]})
MAX_INCOME = 250
OVER, EARN, ALL = mark("How many over 21"), mark("Sum of incomes"), mark("How many people")


@dataclass(frozen=True, slots=True)
class Question:
    """A question to a table of people: its true answer, how much one person can change that, and its unit."""

    answer: Callable[[pd.DataFrame], int]
    sensitivity: int
    unit: str


def questions(cap: int) -> dict[str, Question]:
    """Return the questions of the page by name; incomes count as at least 0 and at most `cap`."""
    return {
        OVER: Question(lambda people: int((people["age"] > 21).sum()), 1, _("people over 21, as published")),
        EARN: Question(
            lambda people: lesson.clamped_sum(people["income"].tolist(), 0, cap),
            lesson.sum_sensitivity(0, cap),
            _("sum of incomes, as published, in thousand $"),
        ),
        ALL: Question(len, 1, _("people, as published")),
    }


def choose_question() -> Question:
    """Return the question that the visitor chose, with a cap on incomes if it needs one."""
    question = choose_one(_("The question"), (OVER, EARN, ALL), "definition_question")
    cap = 100
    if question == EARN:
        cap = st.number_input(
            _("Highest income that counts in full (thousand $)"),
            min_value=1,
            max_value=MAX_INCOME,
            value=100,
            step=10,
            key="definition_cap",
            help=_(
                "Larger incomes count as this. Without a cap one person could change the sum by any amount, and no "
                "noise would be enough."
            ),
        )
    return questions(int(cap))[question]


def show_tables(person: str) -> None:
    """Show D and D′ side by side, with dashes for the person who left."""
    without = PEOPLE.astype({"age": object, "income": object})
    without.loc[without["name"] == person, ["age", "income"]] = "—"
    named = {"name": _("name"), "age": _("age"), "income": _("1,000 $")}
    with st.grid(2, min_column_width=150, gap="small"):
        for name, table in (("D", PEOPLE), (_("D′: without {person}", person=person), without)):
            with st.container():
                st.markdown(f"**{name}**")
                alt = _("The table {name}", name=name)
                st.dataframe(table.astype(str).rename(columns=named), hide_index=True, alt=alt)


def choose_sensitivity(question: Question) -> int:
    """Return the sensitivity Δ that sets the noise: the true one, unless the visitor tries another."""
    with st.expander(_("Use another sensitivity Δ"), icon=":material/tune:"):
        st.markdown(
            _(
                "One person can change this answer by at most **Δ = {sensitivity}**, so the noise has scale Δ/ε. "
                "Enter a smaller Δ, and see the promise break.",
                sensitivity=question.sensitivity,
            )
        )
        return int(
            st.number_input(
                _("Δ used for the noise"),
                min_value=1,
                max_value=2 * MAX_INCOME,
                value=question.sensitivity,
                key=f"definition_delta_{question.unit}_{question.sensitivity}",
                help=term("sensitivity"),
            )
        )


@st.fragment
def lab() -> None:
    """Compare the distributions of the answer on two tables, at a chosen ε."""
    left, right = st.columns([2, 3], gap="large")
    with right:
        epsilon = st.select_slider(
            _("Privacy budget ε"),
            rungs("0.01", "5"),
            value=Fraction(1),
            format_func=exactly,
            key="definition_epsilon",
            help=term("epsilon"),
        )
    with left:
        question = choose_question()
        person: str = st.selectbox(
            _("Who leaves?"), PEOPLE["name"], index=2, key="definition_person", help=term("neighbours")
        )
        show_tables(person)
        delta = choose_sensitivity(question)
    first, second = question.answer(PEOPLE), question.answer(PEOPLE[PEOPLE["name"] != person])
    comparison = lesson.compare(first, second, delta, epsilon)
    with right:
        show_comparison(comparison, question, epsilon, person, (first, second))
    st.header(_("Worked examples"))
    tabs = st.tabs(list(map(_, EXAMPLES)), on_change="rerun", key="definition_example")
    for tab, example in zip(tabs, EXAMPLES.values(), strict=True):
        if tab.open:
            with tab:
                example(epsilon)
    audit_part(epsilon)
    show_code(
        "definition",
        lambda: {"first": first, "second": second, "sensitivity": delta, "epsilon": exact_text(epsilon)},
    )
    show_meaning(epsilon)
    explain_definition()


def show_comparison(
    comparison: lesson.Comparison, question: Question, epsilon: Fraction, person: str, answers: tuple[int, int]
) -> None:
    """Show the comparison as numbers, as a figure and as a table; `answers` are the true ones."""
    st.markdown(
        _(
            "How many times as likely is an answer on one table as on the other? ε promises that this ratio never "
            "exceeds e^ε. The smaller ε, the less an answer reveals about which table it came from."
        )
    )
    show_numbers(comparison, epsilon)
    true = _("The true answers are {first} and {second}.", first=number(answers[0]), second=number(answers[1]))
    line = outcome(comparison, epsilon, answers)
    holds = comparison.max_log_ratio <= epsilon
    if not holds:
        st.error(f"{line}. " + _("The noise is too small for what one person can change."), icon=":material/gpp_bad:")
    st.markdown(f"**{line}.** {true}" if holds else true)
    names = _("D, with {person}", person=person), _("D′, without {person}", person=person)
    figure = distributions_figure(comparison, question.unit, float(epsilon), names)
    draw(figure, f"{line}. {true}", "definition-distributions", 430)
    with_person, without = comparison.first, comparison.second
    frame = pd.DataFrame(
        {"answer": comparison.answers, "with": with_person, "without": without, "ratio": with_person / without}
    )
    column = st.column_config.NumberColumn
    columns = {
        "answer": column(_("answer"), format="%,d"),
        "with": column(_("probability on D"), format="%.3g"),
        "without": column(_("on D′"), format="%.3g"),
        "ratio": column(_("D over D′"), format="%.4g"),
    }
    twin(frame, "definition-distributions", columns)


def show_numbers(comparison: lesson.Comparison, epsilon: Fraction) -> None:
    """Show the largest ratio beside the one that ε allows, and how often the best guess is right."""
    most, allowed = math.exp(min(float(comparison.max_log_ratio), 700)), math.exp(float(epsilon))
    with st.grid(3, min_column_width=150):
        note = _("Over all possible answers, not only those in the figure.")
        st.metric(_("Largest ratio"), number(most, ".3g"), border=True, help=note)
        st.metric(_("Allowed: e^ε"), number(allowed, ".3g"), border=True, help=term("odds"))
        st.metric(
            _("Best guess is right"),
            percent((1 + comparison.total_variation) / 2),
            border=True,
            help=_(
                "For someone who sees one answer and guesses which of the two tables it came from. A coin is right "
                "50 % of the time."
            ),
        )


def outcome(comparison: lesson.Comparison, epsilon: Fraction, answers: tuple[int, int]) -> str:
    """Say in a sentence how far apart the answers on the two tables are."""
    most, bound = (number(math.exp(min(float(power), 700)), ".3g") for power in (comparison.max_log_ratio, epsilon))
    if comparison.max_log_ratio > epsilon:
        return _(
            "The promise is broken: some answers are {most} times as likely, and e^ε is {bound}", most=most, bound=bound
        )
    if comparison.gap == 0:
        return _("Both tables have the same true answer, so every noisy answer is equally likely from both")
    if comparison.max_log_ratio == epsilon:
        return _(
            "No answer exceeds the factor e^ε = {bound}; every answer of {low} or less, and of {high} or more, "
            "reaches it",
            bound=bound,
            low=number(min(answers)),
            high=number(max(answers)),
        )
    return _("No answer exceeds the factor {most}, which is below e^ε = {bound}", most=most, bound=bound)


def show_meaning(epsilon: Fraction) -> None:
    """Say what ε means for the visitor's own release."""
    st.header(_("What this means for your release"))
    plan = visit().plan
    used = epsilon if plan is None else plan.epsilon
    whose = (
        _("At ε = {epsilon}, as here", epsilon=exactly(used))
        if plan is None
        else _("Your plan has ε = {epsilon}", epsilon=exactly(used))
    )
    st.markdown(
        _(
            "{whose}: someone who is 50 % sure that a person is in the table becomes {belief}. A release holds many "
            "counts; all of its tables together stay within the factor e^ε for each person. A group of c people stays "
            "within e^(cε): at this ε, a group of three within {factor}.",
            whose=whose,
            belief=certainty(posterior(0.5, used)),
            factor=factor(3 * used),
        )
    )
    with st.container(horizontal=True):
        st.page_link("pages/publish.py", label=_("Publish"), icon=":material/publish:")
        st.page_link("pages/accuracy.py", label=_("What ε does to accuracy"), icon=":material/show_chart:")


def explain_definition() -> None:
    """Give the definition in symbols, for the curious."""
    with st.expander(_("For the curious"), icon=":material/school:"):
        st.markdown(
            _(
                "A randomised function M is **ε-differentially private** if, for all tables D and D′ that differ in "
                "one person and every set S of answers,"
            )
        )
        st.latex(r"\Pr[M(D) \in S] \;\le\; e^{\varepsilon}\,\Pr[M(D') \in S].")
        st.markdown(
            _(
                "It holds in both directions, since D and D′ may be exchanged. The answer here is f plus discrete "
                "Laplace noise of scale Δ/ε, P(Z = k) = tanh(ε/2Δ)·e^(−|k|ε/Δ). So ln of the ratio at x is "
                "(|x − f(D′)| − |x − f(D)|)·ε/Δ, which is at most |f(D) − f(D′)|·ε/Δ ≤ ε. It is a whole multiple of "
                "ε/Δ and is computed exactly, without rounding."
            )
        )
        st.caption(
            _(
                "Dwork, McSherry, Nissim & Smith 2006, *Calibrating noise to sensitivity*; Dwork & Roth 2014, "
                "Definition 2.4; Ghosh, Roughgarden & Sundararajan 2009 for this noise. The four people are made up, "
                "from a lecture by Cash & Ur (Chicago, 2022). This page reads no table of yours and spends nothing."
            )
        )


require_entry()
st.title(_("Definition"))
st.markdown(
    _(
        "Whether one person is in the table or not should hardly change what is published. Differential privacy puts a "
        "number on *hardly*: no answer may be more than e^ε times as likely from one of the two tables as from the "
        "other. At ε = 1, that is 2.72 times."
    )
)
tour.invite()
lab()
