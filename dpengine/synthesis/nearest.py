"""Find whole counts over all columns with marginals nearest to measured tables, by integer programming.

If noise is so small that many measured counts are exact, most of the error comes from making the tables agree in whole
numbers. Rows that are repaired one value at a time stop at local optima, where only several changes at once would help.
Here the counts of all cells are changed together; the objective is Σ |count − wanted| / deviation over the cells of all
tables. The linear programme gives whole numbers nearly everywhere (its optimum is at a vertex); the few others are
rounded up or down by a small integer programme. Of equally near counts, those that change least are taken.

A fixed function of its arguments, for one version of the solver (HiGHS: Huangfu & Hall 2018).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from dpengine.array_types import Floats, Ints

__all__ = ["Wanted", "nearest_counts"]

Wanted = Mapping[tuple[int, ...], tuple[Ints, float]]  # by axes: counts, deviation of noise

PER_CHANGE = 0.01  # the cost of a change relative to an error of 1 in the most accurate table
MAX_STEPS = 50_000  # of the solver, which take seconds; then it gives up, and counts do not change
MAX_NODES = 20  # of the search of the integer program: the few values that are not whole need hardly any
GAP = 0.02  # relative gap to the optimum
WHOLE = 1e-6  # values this close to a whole number are taken as whole


def nearest_counts(counts: Ints, wanted: Wanted) -> Ints:
    """Change `counts`, of all columns, so that their tables come near to those `wanted`; their sum stays.

    Returns `counts` unchanged if no nearer ones are found.

    >>> nearest_counts(np.array([[2, 0], [0, 2]]), {(0,): (np.array([3, 1]), 1.0), (1,): (np.array([2, 2]), 1.0)})
    array([[2, 1],
           [0, 1]])
    """
    tables = _tables(counts.shape, list(wanted))
    target = np.concatenate([values.ravel() for values, _ in wanted.values()]).astype(np.float64)
    deviations = np.concatenate([np.full(values.size, deviation) for values, deviation in wanted.values()])
    cell_weights = deviations.min() / deviations
    start = counts.ravel().astype(np.float64)

    def off(values: Floats) -> float:
        return float(cell_weights @ np.abs(tables @ values - target))

    changes = _relaxed(tables, target - tables @ start, cell_weights, start)
    if changes is not None:
        relaxed = start + changes
        near = np.rint(relaxed)
        between = np.flatnonzero(np.abs(relaxed - near) > WHOLE)
        near[between] = np.floor(relaxed[between])
        up = _rounded(tables[:, between], target - tables @ near, cell_weights, start.sum() - near.sum())
        near[between] += up if up is not None else np.nan
        if np.isfinite(near).all() and near.min() >= 0 and near.sum() == start.sum() and off(near) < off(start):
            return near.reshape(counts.shape).astype(np.int64)
    return counts


def _tables(shape: Sequence[int], tables: Sequence[tuple[int, ...]]) -> Any:
    """Return the sparse matrix that sums the cells of all columns to those of `tables`, one after the other."""
    from scipy.sparse import csr_array, vstack  # slow to import, and only needed to generate rows

    places = np.unravel_index(np.arange(math.prod(shape)), shape)
    sums = []
    for axes in tables:
        sizes = tuple(shape[axis] for axis in axes)
        cells = np.ravel_multi_index(tuple(places[axis] for axis in axes), sizes)
        entries = (np.ones(cells.size), (cells, np.arange(cells.size)))
        sums.append(csr_array(entries, shape=(math.prod(sizes), cells.size)))
    return vstack(sums).tocsr()


def _relaxed(tables: Any, short: Floats, cell_weights: Floats, start: Floats) -> Floats | None:
    """Return the changes, not all whole, that bring the tables nearest; `short` is their deficit at the `start`."""
    from scipy.optimize import linprog
    from scipy.sparse import csr_array, eye_array, vstack
    from scipy.sparse import hstack as beside

    rows, cells = tables.shape
    one, every = eye_array(rows), np.ones(cells)
    sums = csr_array(np.concatenate([every, -every, np.zeros(2 * rows)])[None])
    solve: Any = linprog
    solution = solve(
        np.concatenate([np.full(2 * cells, PER_CHANGE), cell_weights, cell_weights]),
        A_eq=vstack([beside([tables, -tables, one, -one]), sums]).tocsc(),
        b_eq=np.append(short, 0.0),
        bounds=np.stack(
            [
                np.zeros(2 * (cells + rows)),
                np.concatenate([np.full(cells, np.inf), start, np.full(2 * rows, np.inf)]),
            ],
            axis=1,
        ),
        method="highs",
        options={"maxiter": MAX_STEPS},
    )
    changes: Floats | None = solution.x[:cells] - solution.x[cells : 2 * cells] if solution.status == 0 else None
    return changes


def _rounded(tables: Any, short: Floats, cell_weights: Floats, more: float) -> Floats | None:
    """Return which of some cells to round up, `more` of them in all, so that the tables come nearest."""
    from scipy.optimize import Bounds, LinearConstraint, milp
    from scipy.sparse import csr_array, eye_array, vstack
    from scipy.sparse import hstack as beside

    rows, cells = tables.shape
    if cells == 0:
        return np.zeros(0)
    one, rest = eye_array(rows), np.zeros(2 * rows)
    sums = csr_array(np.concatenate([np.ones(cells), rest])[None])
    bound = np.append(short, more)
    solve: Any = milp
    solution = solve(
        np.concatenate([np.zeros(cells), cell_weights, cell_weights]),
        constraints=LinearConstraint(vstack([beside([tables, one, -one]), sums]).tocsc(), bound, bound),
        integrality=np.concatenate([np.ones(cells), rest]),
        bounds=Bounds(0.0, np.concatenate([np.ones(cells), np.full(2 * rows, np.inf)])),
        options={"node_limit": MAX_NODES, "mip_rel_gap": GAP},
    )
    up: Floats | None = None if solution.x is None else np.rint(solution.x[:cells])
    return up
