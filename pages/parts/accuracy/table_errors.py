"""The errors of one table: in four numbers at the chosen ε, and as a curve over all ε."""

from __future__ import annotations

from fractions import Fraction

import pandas as pd
import streamlit as st

from dpengine.accounting.composition import posterior
from dpengine.array_types import Columns
from dpengine.exact import exactly
from dpengine.results.interval_estimates import decimals_of
from dpengine.results.published_columns import measures
from dpengine.results.result import EXACT
from dpengine.spec.counted_wording import counted_noun
from dpengine.spec.plan import Plan
from dpengine.spec.wording import heading_of, people, percent, percent_at_most, portion
from dpengine.translation.catalogue import _, number
from pages.parts.accuracy.charts import error_figure, measure_figure
from pages.parts.accuracy.predictions import cells_with_values, curve, noise_shares, sample_like
from pages.parts.shared.data_twin import measured_columns, predicted_columns, twin
from pages.parts.shared.figures import draw
from pages.parts.shared.glossary.help import term
from pages.parts.shared.wording import plain, rows_noun

__all__ = ["show_curve", "show_errors"]

ROUGH_SHARE = 0.4  # smallest sample that is named; below it real data may give another (benchmarks/sample_share.py)
ALMOST_ALL = 0.995  # largest sample that is named: a larger one would be rounded to 100 %


def show_errors(plan: Plan, table: Columns, row: pd.Series[float]) -> None:
    """Show the errors of one table, which `row` holds, in four numbers."""
    with st.grid(4, min_column_width=150):
        st.metric(
            _("Typically off by"),
            people(row["mean_abs_error"]),
            border=True,
            help=_("Average distance of an estimated count from the true count."),
        )
        st.metric(_("95 in 100 within"), f"±{people(row['half_width_95'])}", border=True, help=term("interval"))
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
            _show_noise(plan, table, row)
    if plan.rows_about is not None and row["half_width_95"] >= EXACT:
        st.caption(_as_a_sample(plan, sample_like(plan, table, float(row["mean_abs_error"])), plan.rows_about))


def _as_a_sample(plan: Plan, like: float | None, rows: int) -> str:
    """Say that counts are as far off as those of a random sample of the share `like`: None if any sample is better."""
    size = _("on a made-up table of about {rows} {unit}", rows=number(rows), unit=rows_noun(plan))
    if like is None:
        return _("Counts from any random sample would be less far off, {size}.", size=size)
    if like > ALMOST_ALL:
        return _("As exact as counts from a random sample of almost everybody would be, {size}.", size=size)
    text = _("As far off as counts from a random {share} sample would be, {size}.", share=portion(like), size=size)
    if like < ROUGH_SHARE:
        text += _(" A rough guide here: cells are so small that it depends much on your own table.")
    return text


def _show_noise(plan: Plan, table: Columns, row: pd.Series[float]) -> None:
    """Show the share of cells that would be mostly noise."""
    cells = cells_with_values(plan, table)
    share = float(noise_shares(plan, table, pd.Series([row["half_width_95"]]))[0])
    noisy = _(
        "{noisy} of {cells} cells of a made-up table of about {rows} {unit} are no larger than their ±, *(other)* and "
        "*(missing)* left aside.",
        noisy=number(round(share * cells)),
        cells=number(cells),
        rows=number(plan.rows_about or 0),
        unit=rows_noun(plan),
    )
    st.metric(
        _("Mostly noise"), percent(share) if share else _("no cells"), border=True, help=term("mostly-noise", noisy)
    )


def show_curve(plan: Plan, table: Columns, row: pd.Series[float], epsilon: Fraction) -> None:
    """Draw the error of counts, or of a chosen mean, sum or quantile, over ε; `row` has the errors at `epsilon`."""
    over_epsilon, name = curve(plan, table), heading_of(plan, table)
    measured = _ask_measure(plan, table)
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


def _ask_measure(plan: Plan, table: Columns) -> tuple[str, str] | None:
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
