"""A made-up table of the declared shape and rough size: what a preview draws its noise on.

It is a fixed function of the plan. Numbers heap in the middle, categories thin out in declared order,
one in a hundred is *other*, two are *missing*; three invented kinds of people make the columns hang
together a little. It looks like data and knows nothing of any.
"""

from __future__ import annotations

import math

import numpy as np

from dpengine.array_types import Columns, Floats, Ints
from dpengine.estimate.error_distribution import table_error
from dpengine.marginals.fitting import round_to_total
from dpengine.measure.measure import measure
from dpengine.measure.strategy import ASSUMED_ROWS, check, choose, settled
from dpengine.results.result import Result, conclude, mostly_noise
from dpengine.spec.domain import Category, Column, Date, Number
from dpengine.spec.plan import Plan

__all__ = ["DEFAULT_ROWS", "made_up", "mostly_noise_share", "preview"]

DEFAULT_ROWS = ASSUMED_ROWS
KINDS_OF_PEOPLE = (0.5, 0.3, 0.2)


def preview(plan: Plan) -> Result:
    """The release of a made-up table under ``plan``: the same noise, the same way, drawn afresh and free.

    By its signature it can see no table and no ledger.
    """
    plan = settled(plan)
    check(plan)
    return conclude(plan, measure(plan, lambda tables: [made_up(plan, table) for table in tables]))


def made_up(plan: Plan, table: Columns) -> Ints:
    """Whole made-up counts of ``table``, one axis a column, ``rows_about`` people in all."""
    rows = plan.rows_about or DEFAULT_ROWS
    counts: Ints = round_to_total(_expected(plan, table), rows)
    return counts


def mostly_noise_share(plan: Plan, table: Columns) -> float:
    """Part of the cells of ``table`` whose made-up count would be mostly noise."""
    half_width = table_error(plan, choose(plan), table).half_width()
    return float(mostly_noise(made_up(plan, table), half_width).mean())


def _expected(plan: Plan, table: Columns) -> Floats:
    total = np.zeros(plan.shape(table))
    for kind, share in enumerate(KINDS_OF_PEOPLE):
        product: Floats = np.full((), share * (plan.rows_about or DEFAULT_ROWS))
        for name in table:
            product = np.multiply.outer(product, _profile(plan.column(name), kind))
        total += product
    return total


def _profile(column: Column, kind: int) -> Floats:
    """How one invented kind of people spreads over the cells of a column; adds up to 1."""
    size = len(column.declared)
    place = (np.arange(size) + 0.5) / size
    if isinstance(column, Number):
        weights = np.exp(-(((place - (0.4, 0.6, 0.25)[kind]) / 0.27) ** 2))
    elif isinstance(column, Category):
        weights = 1 / (np.roll(np.arange(size), kind * max(1, size // 4)) + 1.5) ** 0.7
    elif isinstance(column, Date):
        weights = 1.2 + np.sin(2 * math.pi * (2 * place + 0.2 * kind)) + place
    else:
        weights = np.array([(0.35, 0.55, 0.7)[kind], (0.65, 0.45, 0.3)[kind]])
    extra = [0.01] * column.other + [0.02] * column.missing
    return np.concatenate([weights / weights.sum() * (1 - sum(extra)), extra])
