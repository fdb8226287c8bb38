"""Step 5: the ε, set by a slider, as an exact number, or by an acceptable error."""

from __future__ import annotations

import contextlib
from fractions import Fraction
from functools import partial

import streamlit as st

from dpengine import PlanError, epsilon_for, predict
from dpengine.accounting.composition import posterior
from dpengine.exact import exact_text, exactly
from dpengine.results.alternatives import epsilon_by_trials
from dpengine.spec.plan import Plan, exact_epsilon
from dpengine.spec.wording import certainty, factor, heading_of, name_of, people
from dpengine.translation.catalogue import _, localised, mark, number
from pages.parts.publish.rough_size import ask_if_unsaid
from pages.parts.server.jobs import Progress
from pages.parts.shared.choices import choose_one
from pages.parts.shared.epsilon_ladder import rounded_up, rungs
from pages.parts.shared.glossary.help import term
from pages.parts.shared.typed_numbers import decimal
from pages.parts.shared.wording import plain, plain_name
from pages.parts.visit import background_read
from pages.parts.visit.plan import plan_form
from pages.parts.visit.state import visit
from pages.parts.visit.strategy import is_adaptive, why

__all__ = ["choose_epsilon", "epsilon_is_read", "say_what_it_means"]

TRIED = rungs("0.01", "100")
WAYS = (mark("Slide"), mark("Type it"), mark("From an error"))
STRATEGIES = {
    "auto": mark("Automatic: by predicted error"),
    "direct": mark("Direct: measure the tables themselves"),
    "optimised": mark("Optimised: ε is divided so that the predicted error is smallest"),
    "adaptive": mark("Adaptive: choose privately what to measure, then fit a model"),
}
KNOWN = mark(
    "For reference, not as advice: values of ε can be compared only if they protect the same unit. The 2020 U.S. "
    "Census redistricting files had a global ε of about 17.1 for persons (with δ = 10⁻¹⁰); textbooks think of 0.01 to "
    "1; most published statistical releases lie between 0.1 and 10."
)

# The ε from which on each caution is shown.
CAUTIONS = (
    (10, mark("At this ε the guarantee hardly limits what can be learned about a person: the release is close to an "
              "unprotected one.")),
    (4, mark("At this ε, the guarantee does not keep anybody from finding out almost surely who is in the table. "
             "Publish like this only what would do little harm if it were known.")),
    (2, mark("At this ε a person is protected less than is usual for data such as health or income.")),
)  # fmt: skip


def choose_epsilon(plan: Plan) -> None:
    """Ask for ε in one of three ways, and say what it means for a person."""
    with st.container():  # on a phone, what follows from ε comes right after this
        ask_if_unsaid(plan)
        way = choose_one(_("Set it by"), WAYS, visit().key("way"), label_visibility="collapsed")
        dict(zip(WAYS, (_ask_on_slider, _ask_exactly, _ask_error), strict=True))[way](plan)
    say_what_it_means(plan)
    _choose_strategy(plan)
    with st.expander(_("For the curious"), icon=":material/school:"):
        st.markdown(
            _(
                "The guarantee is pure ε-differential privacy with ε = {epsilon}: adding or removing any one person "
                "makes no release more than e^ε = {factor} times as likely. If the same people are in several "
                "releases, add up the ε of all of them.",
                epsilon=exactly(plan.epsilon),
                factor=factor(plan.epsilon),
            )
        )
        st.caption(_(KNOWN))


def say_what_it_means(plan: Plan) -> None:
    """Say how sure anyone can become about a person, or about an answer of theirs, and caution against a large ε."""
    belief, of_answer = (certainty(posterior(0.5, times * plan.epsilon)) for times in (1, 2))
    st.markdown(
        _(
            "Someone who is 50 % sure that a person is in this table can become **{belief}** by seeing the release, "
            "whatever else they know.",
            belief=belief,
        ),
        help=term("not-protected"),
    )
    st.caption(
        _(
            "Someone who knows that a person is in it, and is 50 % sure of one of their answers, can become {belief} "
            "of that.",
            belief=of_answer,
        )
    )
    caution = next((words for least, words in CAUTIONS if plan.epsilon > least), None)
    if caution is not None:
        st.warning(_(caution), icon=":material/shield:")


def _choose_strategy(plan: Plan) -> None:
    """Ask for the strategy, in a folded box, since hardly anyone needs to change it."""
    with st.expander(_("How it is measured"), icon=":material/tune:"):
        key = visit().key("strategy")
        st.session_state.setdefault(key, plan.strategy)
        st.selectbox(
            _("Strategy"),
            list(STRATEGIES),
            key=key,
            format_func=lambda name: _(STRATEGIES[name]),
            help=term("strategy"),
            on_change=visit().while_shown(lambda: visit().change(strategy=st.session_state[key], coarser_levels=None)),
        )
        st.caption(plain(why(plan)))


def _ask_on_slider(plan: Plan) -> None:
    here = exact_text(plan.epsilon)
    if st.session_state.get(visit().fresh_key("slider"), here) != here:  # ε was set in another way
        visit().renew("slider")
    key = visit().fresh_key("slider")
    st.select_slider(
        _("Privacy budget ε: more private on the left, more exact on the right"),
        sorted({*map(exact_text, rungs("0.01", "10")), here}, key=Fraction),
        here,  # the value that a browser shows first; a fast user drags the slider from it
        format_func=localised,
        key=key,
        help=term("epsilon"),
        on_change=visit().while_shown(_change_epsilon),
        args=(key,),
    )


def _ask_exactly(plan: Plan) -> None:
    key = visit().key("exact")
    st.session_state.setdefault(key, exact_text(plan.epsilon))
    st.text_input(
        _("Privacy budget ε, exactly"),
        key=key,
        help=term("epsilon", _("Such as 0.37 or 1/3.")),
        on_change=visit().while_shown(_change_epsilon),
        args=(key,),
    )
    if fault := _fault(key):
        message = _("{fault}; still at {epsilon}", fault=plain(fault), epsilon=exactly(plan.epsilon))
        st.caption(f":material/report: {message}")


def epsilon_is_read() -> bool:
    """Whether the box for an exact ε, if it is shown, holds one: nobody means to publish at the previous ε."""
    key = visit().key("exact")
    shown = st.session_state.get(visit().key("way")) == WAYS[1] and key in st.session_state
    return not shown or not _fault(key)


def _fault(key: str) -> str:
    """Return why the text of a box is no ε; "" if it is one."""
    try:
        exact_epsilon(_typed(key))
    except ValueError as error:
        return str(error)
    return ""


def _change_epsilon(key: str) -> None:
    """Put a widget's value into the entries before the page is drawn, so that one drawing is enough."""
    with contextlib.suppress(ValueError):  # beside the box, the page explains why a text is no ε
        visit().change(epsilon=exact_text(exact_epsilon(_typed(key))))


def _typed(key: str) -> str:
    return decimal(st.session_state[key])


def _ask_error(plan: Plan) -> None:
    wanted, use = st.columns([2, 1], vertical_alignment="bottom")
    half_width = float(
        wanted.number_input(
            _("I need every cell within ±"), 0, 10**9, 10, key=visit().key("reach"), help=term("half-width")
        )
    )
    if is_adaptive(plan):
        with use:
            clicked = st.button(_("Try it out"), key=visit().key("try-epsilon"), width="stretch")
        needed = _tried_out(plan, half_width, clicked=clicked)
        use = st.container()
    else:
        needed = _computed(plan, half_width)
    if needed is not None:
        use.button(
            _("Use ε = {epsilon}", epsilon=exactly(needed)),
            key=visit().key("use"),
            width="stretch",
            on_click=visit().change,
            kwargs={"epsilon": exact_text(needed)},
        )


def _computed(plan: Plan, half_width: float) -> Fraction | None:
    question = (plan.at(1).key, half_width)
    try:
        needed = visit().once("epsilon-for", question, lambda: rounded_up(epsilon_for(plan, half_width)))
    except PlanError as error:
        st.caption(f":material/report: {plain(str(error))}")
        return None
    if len(plan.marginals) > 1:
        widths = visit().once("widths", (question, needed), lambda: _widths(plan.at(needed)))
        st.caption(_what_binds(plan, widths, needed, half_width))
    return needed


def _widths(plan: Plan) -> dict[tuple[str, ...], float]:
    predicted = predict(plan)
    by_name = dict(zip(predicted["table"], predicted["half_width_95"], strict=True))
    return {table: float(by_name[name_of(table)]) for table in plan.marginals}


def _what_binds(plan: Plan, widths: dict[tuple[str, ...], float], needed: Fraction, half_width: float) -> str:
    """Say which tables need the largest ε, and what ε would be enough without the single columns."""
    worst, largest = max(widths, key=widths.__getitem__), max(plan.marginals, key=plan.cells)
    table, reached = plain_name(heading_of(plan, worst)), people(widths[worst])
    if widths[largest] >= widths[worst]:
        return _("The table that needs the largest ε: {table}, each cell within ±{half_width}.", table=table,
                 half_width=reached)  # fmt: skip
    sentence = _(
        "The table that needs the largest ε: {table}, each cell within ±{half_width}; "
        "{other} would be within ±{narrower}.",
        table=table,
        half_width=reached,
        other=plain_name(heading_of(plan, largest)),
        narrower=people(widths[largest]),
    )
    if len(worst) > 1 or not visit().entries.margins:
        return sentence
    question = (plan.at(1).key, half_width)
    cheaper: Fraction = visit().once("without-margins", question, lambda: _without_margins(half_width) or needed)
    if cheaper >= needed:
        return sentence
    return f"{sentence} " + _("Without the single columns, ε = {epsilon} would be enough.", epsilon=exactly(cheaper))


def _without_margins(half_width: float) -> Fraction | None:
    """Return the ε that would be enough if single columns were not published as tables of their own too."""
    try:
        return rounded_up(epsilon_for(plan_form.to_plan(visit().entries.with_(margins=False)), half_width))
    except PlanError:
        return None


def _tried_out(plan: Plan, half_width: float, *, clicked: bool) -> Fraction | None:
    """Return the ε that is enough in trials on made-up people, which run in the background on request."""
    question = (plan.at(1).key, plan.rows_about, half_width)
    if not clicked and background_read.job_for("epsilon-by-trials", question) is None:
        st.caption(_("For this plan the error cannot be computed, so values of ε are tried out on made-up people."))
        return None
    result = background_read.read(
        "epsilon-by-trials",
        partial(_try_ladder, plan, half_width),
        None,
        question=question,
        doing=mark("Trying values of ε"),
    )
    if result is None:
        return None
    if (needed := result[0]) is None:
        st.caption(":material/report: " + _("No ε up to {epsilon} was enough.", epsilon=exactly(TRIED[-1])))
    else:
        st.caption(
            _(
                "On made-up people, 95 in 100 cells were within ±{half_width} at about ε = {epsilon}. Your table may "
                "need less or more.",
                half_width=number(half_width, ",.0f"),
                epsilon=exactly(needed),
            )
        )
    return needed


def _try_ladder(plan: Plan, half_width: float, progress: Progress) -> tuple[Fraction | None]:
    return (epsilon_by_trials(plan, half_width, TRIED, partial(progress, "trying")),)
