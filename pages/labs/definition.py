"""Definition lab: two tables that differ in one person, and how far apart their answers may be."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import pandas as pd
import streamlit as st

from dpengine.accounting.composition import posterior
from dpengine.exact import exact_text
from dpengine.lessons import definition as lesson
from pages.parts.definition.audit import audit_part
from pages.parts.definition.charts import distributions_figure
from pages.parts.definition.examples import EXAMPLES
from pages.parts.shared.code.show import show_code
from pages.parts.shared.data_twin import twin
from pages.parts.shared.epsilon_ladder import rungs
from pages.parts.shared.figures import draw
from pages.parts.shared.glossary.help import term
from pages.parts.shared.wording import factor, percent, sure
from pages.parts.visit import tour
from pages.parts.visit.state import require_entry, visit

PEOPLE = pd.DataFrame({"name": ["Fatma", "Hong", "Ron", "Oren"], "age": [21, 20, 35, 25], "income": [35, 20, 100, 50]})
MAX_INCOME = 250
OVER, EARN, ALL = "How many over 21", "Sum of incomes", "How many people"


@dataclass(frozen=True, slots=True)
class Question:
    """A question to a table of people: its true answer, how much one person can change that, and its unit."""

    answer: Callable[[pd.DataFrame], int]
    sensitivity: int
    unit: str


def questions(cap: int) -> dict[str, Question]:
    """Return the questions of the page by name; incomes count as at least 0 and at most `cap`."""
    return {
        OVER: Question(lambda people: int((people["age"] > 21).sum()), 1, "people over 21, as published"),
        EARN: Question(
            lambda people: lesson.clamped_sum(people["income"].tolist(), 0, cap),
            lesson.sum_sensitivity(0, cap),
            "sum of incomes, as published, in thousand $",
        ),
        ALL: Question(len, 1, "people, as published"),
    }


def choose_question() -> Question:
    """Return the question that the visitor chose, with a cap on incomes if it needs one."""
    question = st.segmented_control(
        "The question", (OVER, EARN, ALL), default=OVER, required=True, key="definition_question"
    )
    cap = 100
    if question == EARN:
        cap = st.number_input(
            "Highest income that counts in full (thousand $)",
            min_value=1,
            max_value=MAX_INCOME,
            value=100,
            step=10,
            key="definition_cap",
            help="Larger incomes count as this. Without a cap one person could change the sum by any amount, and no "
            "noise would be enough.",
        )
    return questions(int(cap))[question]


def two_tables(person: str) -> None:
    """Show D and D′ side by side, with dashes for the person who left."""
    without = PEOPLE.astype({"age": object, "income": object})
    without.loc[without["name"] == person, ["age", "income"]] = "—"
    columns = {"income": st.column_config.Column("k$ a year")}
    with st.grid(2, min_column_width=150, gap="small"):
        for name, table in (("D", PEOPLE), (f"D′: without {person}", without)):
            with st.container():
                st.markdown(f"**{name}**")
                st.dataframe(table.astype(str), hide_index=True, column_config=columns, alt=f"The table {name}")


def sensitivity_control(question: Question) -> int:
    """Return the sensitivity Δ that sets the noise: the true one, unless the visitor tries another."""
    with st.expander("Use another sensitivity Δ", icon=":material/tune:"):
        st.markdown(
            f"One person can change this answer by at most **Δ = {question.sensitivity}**, so the noise has scale Δ/ε. "
            "Enter a smaller Δ, and see the promise break."
        )
        return int(
            st.number_input(
                "Δ used for the noise",
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
            "Privacy budget ε",
            rungs("0.01", "5"),
            value=Fraction(1),
            format_func=exact_text,
            key="definition_epsilon",
            help=term("epsilon"),
        )
    with left:
        question = choose_question()
        person: str = st.selectbox(
            "Who leaves?", PEOPLE["name"], index=2, key="definition_person", help=term("neighbours")
        )
        two_tables(person)
        delta = sensitivity_control(question)
    first, second = question.answer(PEOPLE), question.answer(PEOPLE[PEOPLE["name"] != person])
    seen = lesson.compare(first, second, delta, epsilon)
    with right:
        show(seen, question, epsilon, person, (first, second))
    st.subheader("Worked examples")
    tabs = st.tabs(list(EXAMPLES), on_change="rerun", key="definition_example")
    for tab, example in zip(tabs, EXAMPLES.values(), strict=True):
        if tab.open:
            with tab:
                example(epsilon)
    audit_part(epsilon)
    show_code(
        "definition",
        lambda: {"first": first, "second": second, "sensitivity": delta, "epsilon": exact_text(epsilon)},
    )
    meaning(epsilon)


def show(seen: lesson.Comparison, question: Question, epsilon: Fraction, person: str, answers: tuple[int, int]) -> None:
    """Show the comparison as numbers, as a figure and as a table; `answers` are the true ones."""
    most, bound = math.exp(min(float(seen.max_log_ratio), 700)), math.exp(float(epsilon))
    holds = seen.max_log_ratio <= epsilon
    st.markdown(
        "How many times as likely is an answer on one table as on the other? ε promises that this ratio never exceeds "
        "e^ε. The smaller ε, the less an answer reveals about which table it came from."
    )
    with st.grid(3, min_column_width=150):
        st.metric(
            "Largest ratio", f"{most:.3g}", border=True, help="Over all possible answers, not only those in the figure."
        )
        st.metric("Allowed: e^ε", f"{bound:.3g}", border=True, help=term("odds"))
        st.metric(
            "Best guess is right",
            percent((1 + seen.total_variation) / 2),
            border=True,
            help="For someone who sees one answer and guesses which of the two tables it came from. A coin is right "
            "50 % of the time.",
        )
    true = f"The true answers are {answers[0]:,} and {answers[1]:,}. "
    if not holds:
        line = f"The promise is broken: some answers are {most:.3g} times as likely, and e^ε is {bound:.3g}"
        st.error(f"{line}. The noise is too small for what one person can change.", icon=":material/gpp_bad:")
    elif seen.gap == 0:
        line = "Both tables have the same true answer, so every noisy answer is equally likely from both"
    elif seen.max_log_ratio == epsilon:
        low, high = min(answers), max(answers)
        line = (
            f"No answer exceeds the factor e^ε = {bound:.3g}; every answer of {low:,} or less, and of {high:,} or "
            "more, reaches it"
        )
    else:
        line = f"No answer exceeds the factor {most:.3g}, which is below e^ε = {bound:.3g}"
    st.markdown(f"**{line}.** {true}" if holds else true)
    names = f"D, with {person}", f"D′, without {person}"
    draw(
        distributions_figure(seen, question.unit, float(epsilon), names),
        f"{line}. {true}",
        "definition-distributions",
        430,
    )
    frame = pd.DataFrame(
        {"answer": seen.answers, "with": seen.first, "without": seen.second, "ratio": seen.first / seen.second}
    )
    number = st.column_config.NumberColumn
    columns = {
        "with": number("probability on D", format="%.3g"),
        "without": number("on D′", format="%.3g"),
        "ratio": number("D over D′", format="%.4g"),
    }
    twin(frame, "definition-distributions", columns)


def meaning(epsilon: Fraction) -> None:
    """Say what ε means for the visitor's own release."""
    st.subheader("What this means for your release")
    plan = visit().plan
    used = epsilon if plan is None else plan.epsilon
    whose = f"At ε = {exact_text(used)}, as here" if plan is None else f"Your plan has ε = {exact_text(used)}"
    st.markdown(
        f"{whose}: someone who is 50 % sure that a person is in the table becomes {sure(posterior(0.5, used))}. "
        "A release holds many counts; all of its tables together stay within the factor e^ε for each person. A group "
        f"of c people stays within e^(cε): at this ε, a group of three within "
        f"{factor(3 * used)}."
    )
    with st.container(horizontal=True):
        st.page_link("pages/publish.py", label="Publish", icon=":material/publish:")
        st.page_link("pages/accuracy.py", label="What ε does to accuracy", icon=":material/show_chart:")
    with st.expander("For the curious", icon=":material/school:"):
        st.markdown(
            "A randomised function M is **ε-differentially private** if, for all tables D and D′ that differ in one "
            "person and every set S of answers,"
        )
        st.latex(r"\Pr[M(D) \in S] \;\le\; e^{\varepsilon}\,\Pr[M(D') \in S].")
        st.markdown(
            "It holds in both directions, since D and D′ may be exchanged. The answer here is f plus discrete Laplace "
            "noise of scale Δ/ε, P(Z = k) = tanh(ε/2Δ)·e^(−|k|ε/Δ). So ln of the ratio at x is "
            "(|x − f(D′)| − |x − f(D)|)·ε/Δ, which is at most |f(D) − f(D′)|·ε/Δ ≤ ε. It is a whole multiple of ε/Δ "
            "and is computed exactly, without rounding."
        )
        st.caption(
            "Dwork, McSherry, Nissim & Smith 2006, *Calibrating noise to sensitivity*; Dwork & Roth 2014, Definition "
            "2.4; Ghosh, Roughgarden & Sundararajan 2009 for this noise. The four people are made up, from a lecture "
            "by Cash & Ur (Chicago, 2022). This page reads no table of yours and spends nothing."
        )


require_entry()
st.title("Definition")
st.markdown(
    "Whether one person is in the table or not should hardly change what is published. Differential privacy puts a "
    "number on *hardly*: no answer may be more than e^ε times as likely from one of the two tables as from the other. "
    "At ε = 1, that is 2.72 times."
)
tour.invite()
lab()
