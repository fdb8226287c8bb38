"""Sentences on how wide the intervals of means, sums, quantiles and pairs of amounts will be, by the plan alone."""

from __future__ import annotations

import math

import pandas as pd

from dpengine.array_types import Columns
from dpengine.charts.style import join_names
from dpengine.results.interval_estimates import MAX_WIDTH, decimals_of
from dpengine.results.mock_table import mock_deviation
from dpengine.results.published_columns import measures
from dpengine.spec.numeric.association import limit_of, unit_of
from dpengine.spec.plan import Plan
from dpengine.translation.catalogue import _, number
from pages.parts.shared.wording import plain_name

__all__ = ["measure_facts"]


def measure_facts(plan: Plan, table: Columns, predicted: pd.Series[float]) -> list[str]:
    """Return a sentence on the means, sums and quantiles of a table, if it has any; `predicted` holds half-widths."""
    facts = []
    for measure in measures(plan, table):
        amount = plan.amount(measure.amount)
        for name, heading in zip(measure.names, measure.headings(plan), strict=True):
            width = float(predicted.get(f"{name}_half_width_95", math.nan))
            if math.isnan(width):
                continue
            what = plain_name(heading)
            whole = float(amount.high - amount.low)
            if (each := measure.association) is not None:
                on = plan.amount(each.on)
                whole = len(each.amounts) * unit_of(each, amount, on) * limit_of(each, on)  # of two: below 0, too
            if measure.kind != "sum" and 2 * width > MAX_WIDTH * whole:
                facts.append(_("{what} **mostly noise**", what=what))
                continue
            within = number(float(f"{width:.2g}"), f",.{decimals_of(width)}f")
            fact = _("{what} within **±{half_width}**", what=what, half_width=within)
            if measure.kind == "standard_deviation":
                about = number(float(f"{mock_deviation(amount):.2g}"), ",.6g")
                fact = _("{fact} if it is about {value} (more if it is smaller)", fact=fact, value=about)
            facts.append(fact)
    if not facts:
        return []
    sentences = [_("In a group of typical size: {facts}.", facts="; ".join(facts))]
    if found := [plain_name(name) for name in plan.amounts(table) if plan.amount(name).upper is not None]:
        sentences.append(
            _(
                "That is for the highest value of {columns}; errors shrink with the upper bound that is found: at a "
                "tenth, to about a tenth.",
                columns=join_names(found),
            )
        )
    return sentences
