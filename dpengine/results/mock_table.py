"""A mock table of the declared shape and rough size, on which previews draw their noise and errors are simulated.

It is a fixed function of the plan. Numbers are common in the middle of their range, categories get rarer in declared
order, one value in a hundred is *other*, two are *missing*; three invented latent classes make the columns depend on
each other a little. It looks like data but does not depend on any.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from dpengine.array_types import Columns, Floats, Ints
from dpengine.marginals.division import ASSUMED_ROWS
from dpengine.marginals.fitting import round_to_total
from dpengine.spec.domain import Amount, Column
from dpengine.spec.numeric.amount_steps import Stepped, at_steps
from dpengine.spec.plan import Plan

__all__ = ["ASSUMED_ROWS", "listed_cells", "mock_counts", "mock_deviation", "mock_rows"]

LATENT_CLASSES = (0.5, 0.3, 0.2)  # parts of all people
MOCK_VALUES = 200  # of an amount
MAX_PROFILES, MAX_CELLS_KEPT = 1024, 256  # distributions over the cells of columns that are kept, and their cells


def mock_counts(plan: Plan, table: Columns) -> Ints:
    """Return whole counts of `table`, one axis a column, that add up to the plan's rough number of rows.

    Counts of a table with amounts are in units, `plan.grain` to a row.

    >>> plan = Plan(dataset="demo", epsilon="1", tables=[["smokes"]], columns=[{"name": "smokes", "kind": "yesno"}])
    >>> mock_counts(plan, ("smokes",))
    array([4656, 5044,  100,  200])
    """
    plan = plan.tally_of(table).plan
    rows = plan.rows_about or ASSUMED_ROWS
    grain = 1 if isinstance(table, Stepped) else plan.grain(table)
    counts: Ints = round_to_total(mock_rows(plan, table), rows * grain)
    return counts


def mock_rows(plan: Plan, table: Columns) -> Floats:
    """Return the expected rows in each cell, which `mock_counts` rounds to whole units."""
    stepped, declared = isinstance(table, Stepped), plan.resolution.declared_columns(table)
    if declared != table:
        fine = mock_rows(plan, Stepped(declared) if stepped else declared)
        return plan.resolution.coarsen(fine, declared, table)
    columns = [plan.column(name) for name in table]
    columns = [at_steps(each) if stepped and isinstance(each, Amount) else each for each in columns]
    total = np.zeros([column.size for column in columns])
    for latent_class, part in enumerate(LATENT_CLASSES):
        product: Floats = np.full((), part * (plan.rows_about or ASSUMED_ROWS))
        for column in columns:
            product = np.multiply.outer(product, _profile(column, latent_class))
        total += product
    return total


def mock_deviation(amount: Amount) -> float:
    """Return the standard deviation of an amount with its squares in the mock table.

    The error of a standard deviation is in inverse proportion to it, so a prediction holds for one of this size.

    >>> tables = [{"columns": ["sex"], "standard_deviation": ["pay"]}]
    >>> columns = [{"name": "sex", "kind": "yesno"}, {"name": "pay", "kind": "amount", "from": 0, "to": 1000}]
    >>> round(mock_deviation(Plan(dataset="demo", epsilon=1, columns=columns, tables=tables).amount("pay")))
    158
    """
    of_classes = np.stack([_profile(amount, k) for k in range(len(LATENT_CLASSES))])[:, : amount.declared_size]
    cells = np.array(LATENT_CLASSES) @ of_classes
    _, middle, high = cells / cells.sum()
    return float(amount.high - amount.low) * math.sqrt(high - (middle / 2 + high) ** 2)


def listed_cells(plan: Plan, table: Columns) -> tuple[slice, ...]:
    """Return the index of all cells except *(other)* and *(missing)*, which are often meant to be empty.

    >>> plan = Plan(dataset="demo", epsilon="1", tables=[["smokes"]], columns=[{"name": "smokes", "kind": "yesno"}])
    >>> mock_counts(plan, ("smokes",))[listed_cells(plan, ("smokes",))]
    array([4656, 5044])
    """
    return tuple(slice(plan.column(name).declared_size or None) for name in table)


def _profile(column: Column, latent_class: int) -> Floats:
    """Return the distribution of one latent class over the cells of a column."""
    if isinstance(column, Amount):
        return _with_extra(_weights_of_amount(column, latent_class), column.other, column.missing)
    of_kind = _profile_of_kind if column.declared_size <= MAX_CELLS_KEPT else _profile_of_kind.__wrapped__
    return of_kind(column.kind, column.declared_size, latent_class, column.other, column.missing)


@lru_cache(maxsize=MAX_PROFILES)  # the columns of a wide table have few shapes, and each is in many tables
def _profile_of_kind(kind: str, size: int, latent_class: int, other: bool, missing: bool) -> Floats:
    """Return the distribution of one latent class over the cells of a column of this kind; it cannot be written to."""
    position = (np.arange(size) + 0.5) / size
    if kind == "number":
        weights = np.exp(-(((position - (0.4, 0.6, 0.25)[latent_class]) / 0.27) ** 2))
    elif kind == "category":
        weights = 1 / (np.roll(np.arange(size), latent_class * max(1, size // 4)) + 1.5) ** 0.7
    elif kind == "date":
        weights = 1.2 + np.sin(2 * math.pi * (2 * position + 0.2 * latent_class)) + position
    elif kind == "time":
        weights = 1.2 - np.cos(2 * math.pi * (position + 0.1 * latent_class))
    else:
        weights = np.array([(0.35, 0.55, 0.7)[latent_class], (0.65, 0.45, 0.3)[latent_class]])
    profile = _with_extra(weights, other, missing)
    profile.setflags(write=False)
    return profile


def _weights_of_amount(amount: Amount, latent_class: int) -> Floats:
    """Return how many people of one latent class are in each cell of an amount, up to a factor."""
    values = np.linspace(0, 1, MOCK_VALUES)
    likely = np.exp(-(((values - (0.3, 0.45, 0.2)[latent_class]) / 0.2) ** 2))
    weights = np.zeros(amount.declared_size)
    for cells, units in amount.corners(*amount.split((values * amount.grid.steps).astype(np.int64))):
        weights += np.bincount(cells, likely * units, minlength=weights.size)
    return weights


def _with_extra(weights: Floats, other: bool, missing: bool) -> Floats:
    """Return the distribution over all cells, with those of other and missing values, of these `weights`."""
    extra = [0.01] * other + [0.02] * missing
    return np.concatenate([weights / weights.sum() * (1 - sum(extra)), extra])
