"""Accuracy page: how wrong the published numbers will be, for every ε, before anything is spent.

Everything follows from the plan; this page never receives a table.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import partial

import streamlit as st

from dpengine.array_types import Columns
from dpengine.exact import exact_text, exactly
from dpengine.results.alternatives import predict_table
from dpengine.spec.plan import Plan
from dpengine.spec.wording import heading_of
from dpengine.translation.catalogue import _
from pages.parts.accuracy.epsilon_choice import choose_epsilon, find_epsilon
from pages.parts.accuracy.plan_choice import choose_plan
from pages.parts.accuracy.table_errors import show_curve, show_errors
from pages.parts.accuracy.tabs import all_tables, meaning, measured_tables, mostly_noise, small_cells
from pages.parts.publish.outlook import trial
from pages.parts.shared.code.show import show_code
from pages.parts.shared.data_twin import measured_columns, predicted_columns
from pages.parts.shared.number_table import show_numbers
from pages.parts.shared.wording import rows_noun, with_headings
from pages.parts.visit.state import require_entry
from pages.parts.visit.strategy import is_adaptive
from pages.parts.visit.strategy_comparison import show_strategies


def choose_table(plan: Plan) -> tuple[tuple[str, ...], Plan]:
    """Ask for a table, and for a rough size if the plan states none; return the table, and the plan with the size."""
    several, unsized = len(plan.marginals) > 1, plan.rows_about is None
    places = st.columns(several + unsized, vertical_alignment="bottom") if several or unsized else []
    table = plan.marginals[0]
    if several:
        table = places[0].selectbox(
            _("Table"), plan.marginals, format_func=partial(heading_of, plan), key="accuracy_table"
        )
    if not unsized:
        return table, plan
    size = places[-1].number_input(
        _("About how many {unit} the table holds", unit=rows_noun(plan)),
        min_value=1,
        max_value=10**12,
        value=None,
        step=1000,
        placeholder=_("such as 5000; optional"),
        key="accuracy_rows",
        help=_(
            "A rough size that is public knowledge. It is used only here, to estimate how many cells would be mostly "
            "noise."
        ),
    )
    return table, plan if size is None else plan.model_copy(update={"rows_about": int(size)})


def show_as_code(plan: Plan, epsilon: Fraction) -> None:
    """Show the prediction at this ε as code."""
    show_code("accuracy", lambda: {"plan": "plan.yaml", "epsilon": exact_text(epsilon)}, {"plan.yaml": plan.dumps})


@st.fragment
def explore(plan: Plan) -> None:
    """Show errors at a chosen ε and over all ε, with closer looks in tabs."""
    left, right = st.columns([3, 2], gap="large")
    with left:
        epsilon = choose_epsilon(plan)
        table, sized = choose_table(plan)
    now = sized.at(epsilon)
    row = predict_table(now, table).iloc[0]
    show_errors(now, table, row)
    show_curve(plan, table, row, epsilon)
    tabs = st.tabs(
        [
            _("Every table"),
            _("Mostly noise"),
            _("Small and empty cells"),
            _("What is measured"),
            _("What ε means"),
            _("Strategies"),
        ],
        on_change="rerun",
        key="accuracy_view",
    )
    views: tuple[Callable[[Plan, Columns], None], ...] = (
        all_tables, mostly_noise, small_cells, measured_tables, meaning, lambda plan, _table: show_strategies(plan),
    )  # fmt: skip
    for tab, view in zip(tabs, views, strict=True):
        if tab.open:
            with tab:
                view(now, table)
    show_as_code(plan, epsilon)
    with right:  # drawn last, since the search for an ε takes longest
        find_epsilon(plan)


def show_trial(plan: Plan) -> None:
    """Show the errors of an adaptive plan, which are measured on made-up people in the background."""
    last = trial.errors(plan)
    if last is None:
        st.caption(
            _(":material/hourglass_top: The plan is being tried out on made-up people. This takes some seconds.")
        )
        return
    of, errors = last
    st.markdown(
        _("**Every published table at ε = {epsilon}, tried out on made-up people**", epsilon=exactly(of.epsilon))
    )
    show_numbers(with_headings(of, errors), predicted_columns() | measured_columns(of))


require_entry()
st.title(_("Accuracy"))
st.markdown(
    _("How wrong the published numbers will be. This follows from the plan alone: no table is read, nothing is spent.")
)
if (chosen := choose_plan()) is not None:
    if is_adaptive(chosen):
        show_trial(chosen)
        show_strategies(chosen)
        show_as_code(chosen, chosen.epsilon)
    else:
        explore(chosen)
