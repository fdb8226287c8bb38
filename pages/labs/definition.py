"""Definition: two tables that differ in one person, and how far apart their answers may be."""

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
from pages.parts.definition import examples as examples
from pages.parts.definition.charts import laws_figure
from pages.parts.shared.figures import draw
from pages.parts.shared.wording import percent, sure
from pages.parts.visit import tour
from pages.parts.visit.state import require_entry, visit

EPSILONS = tuple(map(Fraction, ("0.01", "0.05", "0.1", "0.2", "0.5", "1", "1.5", "2", "3", "5")))
PEOPLE = pd.DataFrame({"name": ["Fatma", "Hong", "Ron", "Oren"], "age": [21, 20, 35, 25], "income": [35, 20, 100, 50]})
MAX_INCOME = 250
OVER, EARN, ALL = "How many over 21", "Sum of incomes", "All"


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked of a table of people: the true answer, and by how much one person can change it."""

    answer: Callable[[pd.DataFrame], int]
    sensitivity: int
    unit: str


def questions(cap: int) -> dict[str, Question]:
    """The questions of the page; incomes are counted as between 0 and ``cap``."""
    return {
        OVER: Question(lambda people: int((people["age"] > 21).sum()), 1, "people over 21, as answered"),
        EARN: Question(
            lambda people: lesson.clamped_sum(people["income"].tolist(), 0, cap),
            lesson.sum_sensitivity(0, cap),
            "sum of incomes, as answered, in thousand $",
        ),
        ALL: Question(len, 1, "people, as answered"),
    }


def choose_question() -> Question:
    asked = st.segmented_control(
        "What is asked", (OVER, EARN, ALL), default=OVER, required=True, key="definition_question"
    )
    cap = 100
    if asked == EARN:
        cap = st.number_input(
            "Count no income as more than (thousand $)",
            min_value=1,
            max_value=MAX_INCOME,
            value=100,
            step=10,
            key="definition_cap",
            help="Without a bound one person could change the sum by any amount, and no noise would be enough.",
        )
    return questions(int(cap))[asked]


def two_tables(person: str) -> None:
    """D and D′ side by side; who left is a row of dashes, so that they differ in sight."""
    without = PEOPLE.astype({"age": object, "income": object})
    without.loc[without["name"] == person, ["age", "income"]] = "—"
    columns = {"income": st.column_config.Column("k$ a year")}
    with st.grid(2, min_column_width=150, gap="small"):
        for name, table in (("D", PEOPLE), (f"D′: without {person}", without)):
            with st.container():
                st.markdown(f"**{name}**")
                st.dataframe(table.astype(str), hide_index=True, column_config=columns, alt=f"The table {name}")


def sensitivity_control(question: Question) -> int:
    """What the noise is made for: as derived, unless someone wants to see what too little does."""
    with st.expander("Make the noise for another Δ", icon=":material/tune:"):
        st.markdown(
            f"One person can change this answer by at most **Δ = {question.sensitivity}**, so the noise has scale Δ/ε. "
            "Claim less, and see the promise break."
        )
        return int(
            st.number_input(
                "Δ that the noise is made for",
                min_value=1,
                max_value=2 * MAX_INCOME,
                value=question.sensitivity,
                key=f"definition_delta_{question.unit}_{question.sensitivity}",
            )
        )


@st.fragment
def lab() -> None:
    left, right = st.columns([2, 3], gap="large")
    with right:
        epsilon = st.select_slider(
            "Privacy budget ε", EPSILONS, value=Fraction(1), format_func=exact_text, key="definition_epsilon"
        )
    with left:
        question = choose_question()
        person = st.selectbox("Who leaves?", PEOPLE["name"], index=2, key="definition_person")
        two_tables(person)
        delta = sensitivity_control(question)
    first, second = question.answer(PEOPLE), question.answer(PEOPLE[PEOPLE["name"] != person])
    seen = lesson.compare(first, second, delta, epsilon)
    with right:
        show(seen, question, epsilon, (first, second), person)
    st.subheader("Worked examples")
    tabs = st.tabs(list(examples.EXAMPLES), on_change="rerun", key="definition_example")
    for tab, example in zip(tabs, examples.EXAMPLES.values(), strict=True):
        if tab.open:
            with tab:
                example(epsilon)
    meaning(epsilon)


def show(seen: lesson.Comparison, question: Question, epsilon: Fraction, true: tuple[int, int], person: str) -> None:
    """The picture, the numbers, and the same as a table."""
    most, bound = math.exp(min(float(seen.max_log_ratio), 700)), math.exp(float(epsilon))
    kept = seen.max_log_ratio <= epsilon
    with st.grid(3, min_column_width=150):
        st.metric("Largest ratio", f"{most:.3g}", border=True, help="Over all answers there are, not only those drawn.")
        st.metric("Allowed: e^ε", f"{bound:.3g}", border=True)
        st.metric(
            "Best guess is right",
            percent((1 + seen.total_variation) / 2),
            border=True,
            help="Of someone who sees one answer and must say from which of the two tables it came; a coin has 50 %.",
        )
    apart = f"The true answers are {true[0]:,} and {true[1]:,}. "
    if not kept:
        line = f"The promise is broken: some answers are {most:.3g} times as likely, and e^ε is {bound:.3g}"
        st.error(f"{line}. The noise was made for a smaller Δ than one person makes.", icon=":material/gpp_bad:")
    elif seen.gap == 0:
        line = "Both tables give the same answer, so every noisy answer is just as likely"
    elif seen.max_log_ratio == epsilon:
        low, high = min(true), max(true)
        line = f"Every answer is within a factor of e^ε = {bound:.3g}; all up to {low:,} and from {high:,} reach it"
    else:
        line = f"Every answer is within a factor of {most:.3g}, below e^ε = {bound:.3g}"
    st.markdown(f"**{line}.** {apart}" if kept else apart)
    names = f"D, with {person}", f"D′, without {person}"
    draw(laws_figure(seen, question.unit, float(epsilon), names), f"{line}. {apart}", "definition-laws", 430)
    with st.expander("The same as a table", icon=":material/table_rows:"):
        frame = pd.DataFrame(
            {"answer": seen.answers, "with": seen.first, "without": seen.second, "ratio": seen.first / seen.second}
        )
        number = st.column_config.NumberColumn
        shown = {
            "with": number("probability on D", format="%.3g"),
            "without": number("on D′", format="%.3g"),
            "ratio": number("D over D′", format="%.4g"),
        }
        st.dataframe(frame, hide_index=True, column_config=shown)


def meaning(epsilon: Fraction) -> None:
    st.subheader("What this means for your release")
    own = visit().plan
    used = epsilon if own is None else own.epsilon
    whose = f"At ε = {exact_text(used)}, as here" if own is None else f"Your plan has ε = {exact_text(used)}"
    st.markdown(
        f"{whose}: someone who is 50 % sure that a person is in the table becomes {sure(posterior(0.5, used))}. "
        "A release is many counts at once; the whole of it, with every table in it, stays within e^ε for each person. "
        f"A group of c people together is within e^(cε): at this ε, three are within "
        f"{math.exp(min(3 * float(used), 700)):.3g}."
    )
    with st.container(horizontal=True):
        st.page_link("pages/publish.py", label="Publish", icon=":material/publish:")
        st.page_link("pages/accuracy.py", label="What ε does to accuracy", icon=":material/show_chart:")
    with st.expander("For the curious", icon=":material/school:"):
        st.markdown(
            "A randomised function M is **ε-differentially private** if for all tables D, D′ that differ in one "
            "person, and every set S of answers,"
        )
        st.latex(r"\Pr[M(D) \in S] \;\le\; e^{\varepsilon}\,\Pr[M(D') \in S].")
        st.markdown(
            "It holds both ways, since D and D′ may change places. The answer here is f plus discrete Laplace noise of "
            "scale Δ/ε, P(Z = k) = tanh(ε/2Δ)·e^(−|k|ε/Δ), so ln of the ratio at x is (|x − f(D′)| − |x − f(D)|)·ε/Δ, "
            "which is at most |f(D) − f(D′)|·ε/Δ ≤ ε. It is a whole multiple of ε/Δ, and computed as such: that the "
            "bound holds and is reached is exact here, not rounded."
        )
        st.caption(
            "Dwork, McSherry, Nissim & Smith 2006, *Calibrating noise to sensitivity*; Dwork & Roth 2014, Definition "
            "2.4; Ghosh, Roughgarden & Sundararajan 2009 for this noise. The four people are those of a lecture by "
            "Cash & Ur (Chicago, 2022), and made up. Nothing on this page reads a table of yours or spends anything."
        )


require_entry()
st.title("Definition")
st.markdown(
    "Differential privacy compares two tables that differ in one person: whatever is answered, it must be nearly as "
    "likely from the one as from the other."
)
tour.invite()
lab()
