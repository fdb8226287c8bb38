"""The ε of the Accuracy page: chosen on a slider, or computed from an error that the visitor can accept."""

from __future__ import annotations

from fractions import Fraction

import streamlit as st

from dpengine.accounting.composition import posterior
from dpengine.errors import PlanError
from dpengine.exact import exact_text, exactly
from dpengine.spec.plan import Plan
from dpengine.spec.wording import certainty, heading_of
from dpengine.translation.catalogue import _, number
from pages.parts.accuracy.predictions import EPSILONS, largest_error, wanted_epsilon
from pages.parts.shared.glossary.help import term
from pages.parts.shared.wording import plain
from pages.parts.visit.fault_text import all_faults
from pages.parts.visit.state import visit

__all__ = ["choose_epsilon", "find_epsilon"]


def choose_epsilon(plan: Plan) -> Fraction:
    """Ask for an ε, say what it means for a person, and offer to use it in the visitor's plan."""
    epsilon = _ask_epsilon(plan)
    scale = [_(":material/arrow_back: more private"), _("more exact :material/arrow_forward:")]
    if epsilon != plan.epsilon:
        scale.append(_("the plan has ε = {epsilon}", epsilon=exactly(plan.epsilon)))
    adopt = _("Use ε = {epsilon} in my plan", epsilon=exactly(epsilon))
    offered = epsilon != plan.epsilon and visit().plan is not None
    if offered and st.button(adopt, key="accuracy_adopt", icon=":material/edit_note:"):
        visit().change(epsilon=exact_text(epsilon))
        st.switch_page("pages/publish.py")
    st.caption(" · ".join(scale))
    belief = _(
        "At ε = {epsilon}, someone who is 50 % sure that a person is in the table can become {belief}.",
        epsilon=exactly(epsilon),
        belief=certainty(posterior(0.5, epsilon)),
    )
    st.markdown(_unbroken(belief))
    return epsilon


def _ask_epsilon(plan: Plan) -> Fraction:
    """Show a slider over ε, with the plan's own value and the last one chosen among its values."""
    chosen: Fraction = st.session_state.get("accuracy_epsilon", plan.epsilon)
    options = sorted({*EPSILONS, plan.epsilon, chosen})
    return st.select_slider(
        _("Privacy budget ε"),
        options,
        value=chosen,
        format_func=exactly,
        key="accuracy_epsilon",
        help=term("epsilon", _("Your plan changes only if you press the button below.")),
    )


def find_epsilon(plan: Plan) -> None:
    """Ask how far a count may be off, and show the ε at which every count is within that distance."""
    st.markdown(_("**Or start from the error you can accept**"))
    left, right = st.columns(2, vertical_alignment="bottom")
    half_width = left.number_input(
        _("Each count within ±"),
        min_value=0,
        value=10,
        step=1,
        key="accuracy_within",
        help=_("In every published table."),
    )
    confidence = right.selectbox(
        _("How often"),
        (0.90, 0.95, 0.99, 0.999),
        index=1,
        format_func=lambda part: (
            _("{n} in 1,000", n=f"{1000 * part:g}") if part > 0.99 else _("{n} in 100", n=f"{100 * part:g}")
        ),
        key="accuracy_confidence",
        help=_("This holds for each count by itself."),
    )
    try:
        epsilon = wanted_epsilon(plan, half_width, confidence)
    except PlanError as error:
        st.caption(all_faults(error))
        return
    with st.container(horizontal=True, vertical_alignment="center"):
        st.markdown(_what_it_costs(plan, epsilon), width="content")
        st.button(
            _("Show this ε"), key="accuracy_use", on_click=_set_epsilon, args=(epsilon,), icon=":material/my_location:"
        )


def _what_it_costs(plan: Plan, epsilon: Fraction) -> str:
    """Say which ε is needed, which table needs it most, and what it means for a person."""
    tables, belief = len(plan.marginals), certainty(posterior(0.5, epsilon))
    if tables > 1:
        text = _(
            "This needs **ε = {epsilon}** for all {tables} tables ({driver} needs the most): someone who is 50 % sure "
            "that a person is in the table can become {belief}.",
            epsilon=exactly(epsilon),
            tables=number(tables),
            driver=plain(heading_of(plan, largest_error(plan.at(epsilon)))),
            belief=belief,
        )
    else:
        text = _(
            "This needs **ε = {epsilon}**: someone who is 50 % sure that a person is in the table can become {belief}.",
            epsilon=exactly(epsilon),
            belief=belief,
        )
    return _unbroken(text)


def _unbroken(text: str) -> str:
    """Keep each percentage on one line."""
    return text.replace(" %", "\N{NO-BREAK SPACE}%")


def _set_epsilon(epsilon: Fraction) -> None:
    st.session_state["accuracy_epsilon"] = epsilon
