"""Accuracy page: how wrong the published numbers will be, for every ε, before anything is spent.

Everything follows from the plan; this page never receives a table.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import partial
from pathlib import Path

import pandas as pd
import streamlit as st

from dpengine.accounting.composition import posterior
from dpengine.array_types import Columns
from dpengine.errors import PlanError
from dpengine.exact import exact_text
from dpengine.results.alternatives import predict_table
from dpengine.results.published_columns import measures
from dpengine.results.result import EXACT
from dpengine.results.spans import decimals_of
from dpengine.spec.plan import Plan
from dpengine.translation.catalogue import _, mark, number, plural
from pages.parts.accuracy.charts import error_figure, measure_figure
from pages.parts.accuracy.numbers import EPSILONS, curve, largest_error, noise_shares, sample_like, wanted_epsilon
from pages.parts.accuracy.tabs import all_tables, meaning, measured_tables, mostly_noise, small_cells
from pages.parts.accuracy.wording import as_a_sample
from pages.parts.publish.outlook import trial
from pages.parts.shared.code.show import show_code
from pages.parts.shared.data_twin import measured_columns, predicted_columns, twin
from pages.parts.shared.figures import draw
from pages.parts.shared.glossary.help import term
from pages.parts.shared.number_table import show_numbers
from pages.parts.shared.wording import (
    counted_noun,
    exactly,
    headed,
    heading_of,
    noun,
    people,
    percent,
    percent_at_most,
    plain,
    sure,
)
from pages.parts.visit import saved_draft
from pages.parts.visit.fault_text import all_faults
from pages.parts.visit.plan.plan_form import to_plan
from pages.parts.visit.state import require_entry, visit
from pages.parts.visit.strategies import is_adaptive, show_strategies
from pages.parts.visit.strategy import strategy_of

DATA = Path(__file__).parent.parent / "data"
SAMPLES = {mark("Census sample"): "census.plan.yaml", mark("Health insurance sample"): "rand.plan.yaml"}


def choose_plan() -> Plan | None:
    """Return the visitor's own plan, or one of the samples."""
    plan, unfinished = _own_plan()
    if plan is not None:
        title = plan.title or _("dataset {name}", name=plan.dataset)
        tables = plural("{n} table", "{n} tables", len(plan.marginals))
        st.caption(_("For your plan: {title}, {tables}.", title=plain(title), tables=tables))
        return plan
    samples = {name: DATA / file for name, file in SAMPLES.items() if (DATA / file).is_file()}
    with st.container(border=True):
        if unfinished:
            st.markdown(
                _(
                    "Your plan for {table} is not complete yet. Once it is, this page shows how wrong its numbers will "
                    "be.",
                    table=plain(unfinished),
                )
            )
        else:
            st.markdown(
                _("You have no plan yet. Once you have said what to publish, this page shows how exact it will be.")
            )
        label = _("Go on with it on Publish") if unfinished else _("Start a plan on Publish")
        st.page_link("pages/publish.py", label=label, icon=":material/edit_note:")
        if not samples:
            return None
        name = st.segmented_control(
            _("Until then, try a sample"),
            list(samples),
            required=True,
            default=next(iter(samples)),
            format_func=_,
            key="accuracy_sample",
            help=_("Plans for the two tables that come with this program. Trying them spends nothing."),
        )
    return Plan.load(samples[name])


def _own_plan() -> tuple[Plan | None, str]:
    """Return the visitor's plan, even if a reload closed its table; without one, the name of an unfinished one."""
    here = visit()
    draft = saved_draft.current()
    if here.plan is not None or draft is None:
        return here.plan, ""
    try:
        return to_plan(draft.entries), ""
    except PlanError:
        return None, draft.table or draft.entries.title


def table_and_size(plan: Plan) -> tuple[tuple[str, ...], Plan]:
    """Return the chosen table, and the plan with a rough size: if it states none, the one that the visitor enters."""
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
        _("About how many {unit} the table holds", unit=noun(plan)),
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


def epsilon_control(plan: Plan) -> Fraction:
    """Show a slider over ε that also offers the plan's own value and the last one chosen."""
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


def from_error(plan: Plan) -> None:
    """Compute the ε at which every count is within a chosen distance of the true one."""
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
            _("Show this ε"), key="accuracy_use", on_click=_choose, args=(epsilon,), icon=":material/my_location:"
        )


def _what_it_costs(plan: Plan, epsilon: Fraction) -> str:
    """Say what ε is needed, which table drives it, and what it means for a person."""
    tables, belief = len(plan.marginals), sure(posterior(0.5, epsilon))
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
    return text.replace(" %", "\N{NO-BREAK SPACE}%")


def _choose(epsilon: Fraction) -> None:
    st.session_state["accuracy_epsilon"] = epsilon


def figures(plan: Plan, table: tuple[str, ...], row: pd.Series[float]) -> None:
    """Show the errors of one table in four numbers."""
    with st.grid(4, min_column_width=150):
        st.metric(
            _("Typically off by"),
            people(row["mean_abs_error"]),
            border=True,
            help=_("Average distance of an estimated count from the true count."),
        )
        st.metric(
            _("95 in 100 within"),
            f"±{people(row['half_width_95'])}",
            border=True,
            help=term("interval"),
        )
        st.metric(
            _("Total within"),
            f"±{people(row['total_half_width_95'])}",
            border=True,
            help=_("95 times in 100. The total is the number of {unit}.", unit=counted_noun(plan)),
        )
        if plan.rows_about is None:
            st.metric(
                _("50 % sure becomes"),
                "≤ " + percent_at_most(posterior(0.5, plan.epsilon)),
                border=True,
                help=term("odds", _("How sure anyone can become at most that a person is in the table.")),
            )
        else:
            cells = plan.cells(table)
            share = float(noise_shares(plan, table, pd.Series([row["half_width_95"]]))[0])
            noisy = _(
                "{noisy} of {cells} cells of a made-up table of about {rows} {unit} are no larger than their ±.",
                noisy=number(round(share * cells)),
                cells=number(cells),
                rows=number(plan.rows_about),
                unit=noun(plan),
            )
            st.metric(
                _("Mostly noise"),
                percent(share) if share else _("no cells"),
                border=True,
                help=term("mostly-noise", noisy),
            )
    if plan.rows_about is not None and row["half_width_95"] >= EXACT:
        st.caption(as_a_sample(plan, sample_like(plan, table, float(row["mean_abs_error"])), plan.rows_about))


def in_code(plan: Plan, epsilon: Fraction) -> None:
    """Show the prediction at this ε as code."""
    show_code("accuracy", lambda: {"plan": "plan.yaml", "epsilon": exact_text(epsilon)}, {"plan.yaml": plan.dumps})


def measure_to_show(plan: Plan, table: Columns) -> tuple[str, str] | None:
    """Ask whether to show the error of counts or that of a mean, sum or quantile; return its column and heading."""
    offered = {
        f"{name}_half_width_95": heading
        for measure in measures(plan, table)
        for name, heading in zip(measure.names, measure.headings(plan), strict=True)
    }
    if not offered:
        return None
    words = {"counts": _("counts")} | offered
    chosen = st.selectbox(_("Error of"), list(words), index=1, format_func=words.__getitem__, key="accuracy_measure")
    return (chosen, offered[chosen]) if chosen in offered else None


@st.fragment
def explore(plan: Plan) -> None:
    """Show errors at a chosen ε and over all ε, with closer looks in tabs."""
    left, right = st.columns([3, 2], gap="large")
    with left:
        epsilon = choose_epsilon(plan)
        table, sized = table_and_size(plan)
    now = sized.at(epsilon)
    row = predict_table(now, table).iloc[0]
    figures(now, table, row)
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
    in_code(plan, epsilon)
    with right:  # drawn last, since the search for an ε takes longest
        from_error(plan)


def choose_epsilon(plan: Plan) -> Fraction:
    """Ask for an ε, say what it means for a person, and offer to use it in the visitor's plan."""
    epsilon = epsilon_control(plan)
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
        belief=sure(posterior(0.5, epsilon)),
    )
    st.markdown(belief.replace(" %", "\N{NO-BREAK SPACE}%"))
    return epsilon


def show_curve(plan: Plan, table: Columns, row: pd.Series[float], epsilon: Fraction) -> None:
    """Draw the error of counts, or of a chosen mean, sum or quantile, over ε; `row` has the errors at `epsilon`."""
    over_epsilon, name = curve(plan, table), heading_of(plan, table)
    measured = measure_to_show(plan, table)
    if measured is None:
        line = _(
            "{table}: at ε = {epsilon}, 95 in 100 counts are within ±{half_width}",
            table=name,
            epsilon=exactly(epsilon),
            half_width=people(row["half_width_95"]),
        )
        figure = error_figure(over_epsilon, row)
    else:
        column, heading = measured
        within = number(row[column], f",.{decimals_of(float(row[column]))}f")
        line = _(
            "{what}, {table}: at ε = {epsilon}, within ±{half_width} in a group of typical size",
            what=heading,
            table=name,
            epsilon=exactly(epsilon),
            half_width=within,
        )
        figure = measure_figure(over_epsilon, row, column, heading)
    st.markdown(f"**{plain(line)}**")
    draw(figure, _("{line}; errors roughly halve if ε doubles.", line=line), "error-over-epsilon")
    if measured is not None:
        st.caption(
            _(
                "In the unit of the column; 95 in 100 intervals hold the true number. A group of typical size is one "
                "of the made-up table, on average over its people. Larger groups are more exact."
            )
        )
    twin(over_epsilon, "error-over-epsilon", predicted_columns() | measured_columns(plan))


def tried_out(plan: Plan) -> None:
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
    show_numbers(headed(of, errors), predicted_columns() | measured_columns(of))


require_entry()
st.title(_("Accuracy"))
st.markdown(
    _("How wrong the published numbers will be. This follows from the plan alone: no table is read, nothing is spent.")
)
if (chosen := choose_plan()) is not None:
    if is_adaptive(chosen):
        tried_out(chosen)
        show_strategies(chosen)
        in_code(chosen, chosen.epsilon)
    else:
        try:
            _allocations = strategy_of(chosen).allocations  # raises if the tables cannot agree
        except PlanError as refused:
            st.error(all_faults(refused), icon=":material/edit_note:")
        else:
            explore(chosen)
