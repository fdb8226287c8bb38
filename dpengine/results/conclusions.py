"""Means by group and small regressions from a table of counts, to see whether two tables lead to the same conclusions.

The value of a cell is the middle of its bin, or 1 (yes) or 0 (no). Cells without a number, *other* and *missing* of a
numeric column, are left out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from dpengine.array_types import Columns, Floats, Ints
from dpengine.results.published_columns import Measure
from dpengine.results.result import Result
from dpengine.spec.domain import Column, Number, YesNo
from dpengine.spec.plan import Plan

__all__ = ["coefficients", "exact_measure", "group_means", "numeric", "released_counts", "scores"]

MAX_TERMS = 40  # of a regression
ROUNDING = 1e-9  # part of the largest outcome: an effect below it is an error of rounding


def numeric(plan: Plan) -> list[str]:
    """Return the used columns that have a mean: numbers, and yes or no."""
    return [name for name in plan.counted if isinstance(plan.column(name), Number | YesNo)]


def scores(column: Column) -> Floats:
    """Return the numeric value of each cell of a column; NaN if it has none.

    >>> scores(Number(name="age", edges=[0, 10, 40])).tolist()
    [5.0, 25.0, nan, nan]
    """
    values = np.full(column.size, np.nan)
    if isinstance(column, Number):
        edges = np.array([float(edge) for edge in column.edges])
        values[: edges.size - 1] = (edges[:-1] + edges[1:]) / 2
    elif isinstance(column, YesNo):
        values[:2] = 1.0, 0.0
    return values


def released_counts(result: Result, columns: Columns) -> Ints:
    """Return the counts over released columns as a release has them: from its tables, or from its synthetic rows."""
    if any(set(columns) <= set(table) for table in result.plan.marginals):
        return result.counts(columns)
    counts = np.zeros(result.plan.cells(columns), dtype=np.int64)
    shape = result.plan.shape(columns)
    for unique, index in result.row_blocks():
        cells = np.ravel_multi_index(tuple(unique[name] for name in columns), shape)
        counts += np.bincount(cells[index], minlength=counts.size)
    return counts.reshape(shape)


def exact_measure(plan: Plan, measure: Measure, counts: Ints) -> Floats:
    """Return the mean or sum of an amount in each cell, from counts whose last axis is the amount, in its units.

    Rows are shared between knots in such a way that both follow exactly. The mean of an empty cell is NaN.

    >>> pay = {"name": "pay", "kind": "amount", "from": 0, "to": 10, "step": 1, "missing": False}
    >>> plan = Plan(dataset="d", epsilon=1, columns=[{"name": "sex", "kind": "yesno"}, pay],
    ...             tables=[{"columns": ["sex"], "mean": ["pay"]}])
    >>> exact_measure(plan, Measure("mean", "pay"), np.array([[15, 5], [0, 0]]))  # two people with 5 in all
    array([2.5, nan])
    """
    amount = plan.amount(measure.amount)
    knots = np.array(amount.knot_values)
    rows = counts[..., : knots.size] / amount.grain
    sums: Floats = rows @ knots
    if measure.kind == "sum":
        return sums
    people = rows.sum(axis=-1)
    means: Floats = np.divide(sums, people, out=np.full(people.shape, np.nan), where=people > 0)
    return means


def group_means(plan: Plan, columns: Columns, counts: Ints) -> tuple[Ints, Floats]:
    """Return for each cell of the first of two columns its number of rows, and the mean of the second column in them.

    >>> plan = Plan(dataset="d", epsilon=1, tables=[["smokes", "age"]], columns=[
    ...     {"name": "smokes", "kind": "yesno", "other": False, "missing": False},
    ...     {"name": "age", "kind": "number", "edges": [0, 10, 40], "other": False, "missing": False}])
    >>> group_means(plan, ("smokes", "age"), np.array([[1, 3], [0, 0]]))[1]
    array([20., nan])
    """
    score = scores(plan.column(columns[1]))
    has_score = ~np.isnan(score)
    rows = counts[:, has_score].sum(axis=1)
    means = np.full(rows.size, np.nan)
    np.divide(counts[:, has_score] @ score[has_score], rows, out=means, where=rows > 0)
    return rows, means


def coefficients(plan: Plan, columns: Columns, counts: Ints) -> Mapping[str, float]:
    """Return the least-squares coefficients of the first column on the others, one row of the table a person.

    A numeric column is one regressor; any other column has one for each value except the first. Empty if there are no
    rows, or no unique solution.

    >>> plan = Plan(dataset="d", epsilon=1, tables=[["age", "smokes"]], columns=[
    ...     {"name": "smokes", "kind": "yesno", "other": False, "missing": False},
    ...     {"name": "age", "kind": "number", "edges": [0, 10, 40], "other": False, "missing": False}])
    >>> slopes = coefficients(plan, ("age", "smokes"), np.array([[0, 2], [2, 0]]))
    >>> {name: round(each, 6) for name, each in slopes.items()}
    {'(constant)': 5.0, 'smokes': 20.0}

    What only rounding adds is 0:

    >>> coefficients(plan, ("age", "smokes"), np.array([[3, 3], [7, 7]]))["smokes"]
    0.0
    """
    grids = np.indices(counts.shape).reshape(len(columns), -1)
    weight = counts.ravel().astype(np.float64)
    outcome = scores(plan.column(columns[0]))[grids[0]]
    keep = ~np.isnan(outcome) & (weight > 0)
    terms: dict[str, Floats] = {"(constant)": np.ones(weight.size)}
    for name, codes in zip(columns[1:], grids[1:], strict=True):
        column = plan.column(name)
        if isinstance(column, Number | YesNo):
            terms[name] = scores(column)[codes]
            keep &= ~np.isnan(terms[name])
        else:
            labels: Sequence[str] = column.labels
            terms |= {f"{name} = {labels[k]}": (codes == k).astype(np.float64) for k in range(1, column.size)}
    present = {name: each[keep] for name, each in terms.items() if each[keep].any()}
    if not present or len(present) > MAX_TERMS:
        return {}
    x, y, w = np.stack(list(present.values()), axis=1), outcome[keep], weight[keep]
    root = np.sqrt(w)[:, None]
    solution, _, rank, _ = np.linalg.lstsq(x * root, y * root[:, 0], rcond=None)
    # A coefficient of 0 comes out as some 1e-14, with a sign that means nothing.
    solution[np.abs(solution) * np.abs(x).max(axis=0) < ROUNDING * np.abs(y).max()] = 0
    return dict(zip(present, map(float, solution), strict=True)) if rank == len(present) else {}
