"""Draw replicates: the estimates of a release with fresh errors of the same distribution.

A reader who adds up cells, subtracts groups or fits a regression computes the same from each draw. The spread of the
results around that of the release shows its possible error.

The draws are public, and cost no privacy. They are a fixed function of a finished release (Dwork & Roth 2014,
Proposition 2.1): no function here takes a table of people or an exact count. Their randomness is expanded from the name
of the release, so that anyone can make the same draws again. The noise in the release itself is not: it came from the
operating system, before that name existed. A draw is the published estimate plus a number that every reader can
compute, so it reveals nothing that the estimate does not. In particular, it is not the truth plus other noise: every
draw contains the release's own error. (Of boxes of cells, the estimate is the unbiased one, before negative numbers are
removed: it follows from measurements that were paid for like all others.)

The distribution of the errors is

* exact where the tables themselves were measured: each measurement gets fresh discrete Laplace noise of its own scale,
  and least squares turns it into errors of all tables, which agree with each other as the estimates do. Errors are
  symmetric and the estimates are not cut off at 0, so sums of many small cells are not biased;
* a model of errors where a model was fitted. Total and single columns get the noise of their own measurements. Cells of
  larger tables get normal errors of the size that the private audit found in cells of their size, given the errors of
  their columns. One part of them is independent from cell to cell. The other is a common trend along the columns, since
  a dependence that the model misses shifts many cells together (`SPREAD` and `TREND`, set in benchmarks/replicates.py);
* exact for boxes of cells where these were measured. How a box is divided among its cells is unknown, so each draw
  divides it anew, by chance.

Amounts get the exact noise of the tables in which they were measured, for the people whose amount is known and for
their sum, from which a mean follows. Published means of small groups are drawn towards others, so their errors are
smaller.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import combinations_with_replacement

import numpy as np
from scipy.special import gammaincinv, ndtri

from dpengine.array_types import Columns, Floats, Ints
from dpengine.errors import ReleaseError
from dpengine.estimate.error_distribution import least_squares
from dpengine.estimate.levels import LevelEstimates
from dpengine.marginals.box_tree import BoxTree
from dpengine.marginals.graphs import maximal
from dpengine.marginals.least_squares import LeastSquares
from dpengine.marginals.marginal import Marginal
from dpengine.marginals.measurement import Measurement
from dpengine.marginals.plan_levels import measures_levels, of_counts
from dpengine.quasi_random import uniforms
from dpengine.replicates.basis import Basis, basis_of
from dpengine.results.result import Result
from dpengine.spec.plan import Plan
from dpengine.translation.catalogue import _, number

__all__ = ["DRAWS", "MAX_CELLS", "cells_drawn", "check_size", "fits", "replicate", "replicate_amounts"]

DRAWS = 50
MAX_CELLS = 100_000  # limit for all tables, and for all measurements: about 250 MB of memory, 40 MB of text
SPREAD = 1.75  # standard deviation of a model's errors in cells of one size, over their mean as the audit gives it
TREND = 0.3  # the part of a model's error variance that is a trend along the columns
SLOPE = 0.5  # the part of a trend that is a straight line; the rest differs from value to value
MAX_SOLVED = 2000  # cells of all columns of a table, up to which its errors add up to those of the columns exactly
UNIQUE = 1e-10  # fraction of the largest variance, added to the diagonal: it makes the solution unique
SWEEPS = 8  # over the columns of larger ones, until their errors nearly add up
DIVISION = 1.0  # sum of the Dirichlet parameters by which a box is divided among its cells
DECIMALS, FILE_DECIMALS = 2, 6

_DRAW = ""  # the name of the axis of draws: no column of a plan has it


def fits(result: Result) -> bool:
    """Return whether a release has replicates of all its tables: few enough cells, and rows only."""
    if result.plan.has_distinct:
        return False
    return _cells(basis_of(result), [*result.plan.marginals, ()]) <= MAX_CELLS


def check_size(cells: int) -> None:
    """Raise `ReleaseError` for more cells than can be drawn."""
    if cells > MAX_CELLS:
        raise ReleaseError(
            _(
                "replicates of {cells} cells are too many at once: at most {most} have them",
                cells=number(cells),
                most=number(MAX_CELLS),
            )
        )


def replicate(basis: Basis, tables: Sequence[Columns]) -> Iterator[tuple[Columns, Floats]]:
    """Yield each of `tables` with its estimate and `DRAWS` replicates: one axis for these, then one for each column.

    Replicate 0 is the estimate itself. Equal releases give equal replicates. Raises `ReleaseError` if there are more
    than `MAX_CELLS` cells.
    """
    check_size(_cells(basis, tables))
    replicates_by_part: dict[int, Callable[[Columns], Floats]] = {}
    for table in tables:
        part = basis.part_of(table)
        if id(part) not in replicates_by_part:
            replicates_by_part[id(part)] = _replicates_of(part)
        yield table, replicates_by_part[id(part)](table).round(DECIMALS) + 0.0


def _replicates_of(basis: Basis) -> Callable[[Columns], Floats]:
    """Return the estimate and the replicates of a table, as a function of it."""
    if basis.tree is not None:
        boxes, resolution = _replicate_boxes(basis.tree, basis.release_id), basis.plan.resolution
        columns = basis.tree.boxes.columns

        def replicates_of_boxes(table: Columns) -> Floats:
            finer = resolution.finer_columns(table, columns)
            assert finer is not None, "a table that the boxes tell"
            return resolution.coarsen(boxes.project((_DRAW, *finer)).values, (_DRAW, *finer), (_DRAW, *table))

        return replicates_of_boxes
    finest_basis, resolution = replace(basis, plan=basis.plan.finest), basis.plan.resolution
    finest_errors = (_errors_of_estimates if basis.mean_errors is None else _errors_of_model)(finest_basis)

    def errors(table: Columns) -> Floats:
        finer = resolution.finest_columns(table) if finest_basis.plan is not basis.plan else table
        return resolution.coarsen(finest_errors(finer), (_DRAW, *finer), (_DRAW, *table))

    def replicates(table: Columns) -> Floats:
        estimate = _published(basis, table)
        return np.concatenate([estimate[None], estimate + errors(table)])

    return replicates


def replicate_amounts(basis: Basis) -> Callable[[Columns], dict[str, Floats]]:
    """Return the replicates of the amounts of a table, as a function of it, shaped as those of `replicate`.

    They are, for each amount with a published mean or sum, `known_…`, the people whose amount is known, and `sum_…`.
    Replicate 0 of either is the published number: one divided by the other is the published mean.
    """
    plan = basis.plan
    soft = replace(basis, allocations=tuple(each for each in basis.allocations if plan.has_amount(each.columns)))
    soft = basis.parts["direct", 0] if plan.in_parts else soft
    estimated_together = basis.mean_errors is None and not plan.resolution.levels and not plan.in_parts
    errors = _errors_of_marginals(basis if estimated_together else soft) if soft.allocations else None

    def amounts_of(table: Columns) -> dict[str, Floats]:
        columns: dict[str, Floats] = {}
        numbers = basis.numbers(table) if _with_sums(plan, table) else {}
        for name in _with_sums(plan, table):
            assert errors is not None, "an amount that is published was measured"
            amount, cell_errors = plan.amount(name), errors((*table, name))
            people = np.asarray(numbers.get(f"known_{name}", numbers["count"]), dtype=np.float64)
            sums = numbers[f"sum_{name}"] if name in plan.sums(table) else numbers[f"mean_{name}"] * people
            knots = len(amount.all_knots)
            for kind, published, noise in (
                ("known", people, cell_errors[..., :knots].sum(axis=-1)),
                ("sum", np.asarray(sums), cell_errors[..., :knots] @ np.array(amount.knot_values)),
            ):
                start = published.reshape(plan.shape(table))
                values = np.concatenate([start[None], start + noise])
                columns[f"{kind}_{name}"] = values.round(max(DECIMALS, amount.grid_decimals)) + 0.0
        return columns

    return amounts_of


def _with_sums(plan: Plan, table: Columns) -> list[str]:
    """Return the amounts whose means or sums are published in a table."""
    return [name for name in plan.amounts(table) if name in (*plan.means(table), *plan.sums(table))]


def cells_drawn(plan: Plan, tables: Sequence[Columns]) -> int:
    """Return the number of cells of the replicates of some tables, including those of amounts."""
    return sum(plan.cells(table) * (1 + 2 * len(_with_sums(plan, table))) for table in tables)


def _cells(basis: Basis, tables: Sequence[Columns]) -> int:
    """Return the number of drawn cells: those of all tables, or of all measurements."""
    shape = basis.plan.cells
    trees = (*basis.trees, *([basis.tree] if basis.tree is not None else []))
    boxes = sum(shape(each.boxes.columns) for each in trees)
    return max(cells_drawn(basis.plan, tables), sum(shape(each.columns) for each in basis.allocations), boxes)


def _published(basis: Basis, table: Columns) -> Floats:
    """Return the estimates of a table, rounded as in its file, so that a file gives the same replicates."""
    rounded: Floats = basis.estimate(table).round(FILE_DECIMALS)
    return rounded


def _uniforms(release_id: str, stream: object, shape: Sequence[int]) -> Floats:
    """Return numbers between 0 and 1, one axis for the draws, then `shape`: a fixed function of the arguments."""
    start = int.from_bytes(hashlib.sha256(f"replicates {release_id} {stream}".encode()).digest()[:8], "big")
    return uniforms(DRAWS * math.prod(shape), start).reshape(DRAWS, *shape)


def _noise(release_id: str, stream: object, scale: float, shape: Sequence[int]) -> Floats:
    """Return discrete Laplace noise, as the difference of two geometric numbers by inversion."""
    first, second = (
        np.floor(-scale * np.log(_uniforms(release_id, (stream, side), shape))) for side in ("first", "second")
    )
    difference: Floats = first - second
    return difference


def _normal(release_id: str, stream: object, shape: Sequence[int]) -> Floats:
    numbers: Floats = ndtri(_uniforms(release_id, stream, shape))
    return numbers


def _with_draws(squares: LeastSquares) -> LeastSquares:
    """Return an estimator for all draws at once, in which the draw is a column of every table.

    A component without that column is averaged over draws with the weights of the one that has it, so each draw is
    estimated as by itself.
    """
    sizes, measured = {**squares.sizes, _DRAW: DRAWS}, tuple((_DRAW, *columns) for columns in squares.measured)
    return LeastSquares(sizes, measured, squares.variances)


def _errors_of_estimates(basis: Basis) -> Callable[[Columns], Floats]:
    """Return the errors of least squares, as a function of the table."""
    if basis.plan.resolution.levels and measures_levels(basis.plan, basis.allocations):
        return _errors_of_levels(replace(basis, allocations=of_counts(basis.plan, basis.allocations)))
    return _errors_of_marginals(basis)


def _errors_of_marginals(basis: Basis) -> Callable[[Columns], Floats]:
    """Return the errors of least squares over all measured marginals, each at its own level."""
    squares = _with_draws(least_squares(basis.plan, basis.allocations))
    noise = [
        _in_rows(_noise(basis.release_id, k, float(each.scale_in_units), basis.plan.shape(each.columns)), each.grain)
        for k, each in enumerate(basis.allocations)
    ]
    estimate = squares.estimator(noise)
    return lambda table: estimate((_DRAW, *table))


def _errors_of_levels(basis: Basis) -> Callable[[Columns], Floats]:
    """Return the errors of least squares over the levels of a column."""
    noise = [
        _noise(basis.release_id, k, float(each.scale), basis.plan.shape(each.columns)).astype(np.int64)
        for k, each in enumerate(basis.allocations)
    ]
    measured = [
        tuple(Measurement(each, draws_of[draw]) for each, draws_of in zip(basis.allocations, noise, strict=True))
        for draw in range(DRAWS)
    ]
    draws = [LevelEstimates(basis.plan, each) for each in measured]
    return lambda table: np.stack([draw.estimate(table) for draw in draws])


def _in_rows(units: Floats, grain: int) -> Ints | Floats:
    return units.astype(np.int64) if grain == 1 else units / grain


def _errors_of_model(basis: Basis) -> Callable[[Columns], Floats]:
    """Return the errors of a model, as a function of the table."""
    plan = basis.plan
    singles, total = _errors_of_columns(basis)
    largest: dict[Columns, Floats] = {}

    def errors(table: Columns) -> Floats:
        if len(table) == 0:
            return total
        if len(table) == 1:
            return singles[table[0]]
        largest_with = next(each for each in maximal(plan.marginals) if set(table) <= set(each))
        if largest_with not in largest:
            largest[largest_with] = _errors_of_cells(basis, largest_with, [singles[name] for name in largest_with])
        return Marginal((_DRAW, *largest_with), largest[largest_with]).project((_DRAW, *table)).values

    return errors


def _errors_of_columns(basis: Basis) -> tuple[dict[str, Floats], Floats]:
    """Return the errors of single columns and of the total, to which they add up.

    As in the model, the total follows from the measured totals and columns, and a column also from pairs.
    """
    counts = [each for each in basis.allocations if not basis.plan.has_amount(each.columns)]
    up_to_pairs = replace(basis, allocations=tuple(each for each in counts if len(each.columns) < 3))
    without_pairs = replace(basis, allocations=tuple(each for each in counts if len(each.columns) < 2))
    total = _errors_of_estimates(without_pairs)(())
    errors_of_column = _errors_of_estimates(up_to_pairs)
    singles = {}
    for name in basis.plan.counted:
        errors = errors_of_column((name,))
        singles[name] = errors + (total - errors.sum(axis=1))[:, None] / errors.shape[1]
    return singles, total


def _errors_of_cells(basis: Basis, table: Columns, singles: Sequence[Floats]) -> Floats:
    """Return errors of the cells of a table of two columns or more that add up to those of its single columns.

    They are normal errors of the audited size, given their sums: what is missing from a sum is spread over its cells by
    their variance, in all columns at once if these have few cells, else one column after the other.
    """
    assert basis.mean_errors is not None
    variance = (SPREAD * basis.mean_errors(_published(basis, table))) ** 2
    trend = np.ones((DRAWS, *(1 for _ in table)))
    for axis, size in enumerate(variance.shape):
        trend = trend * _trend(basis, (table, axis), size).reshape(DRAWS, *_along(axis, variance.shape))
    errors = math.sqrt(1 - TREND) * _normal(basis.release_id, (table, "cells"), variance.shape)
    errors += math.sqrt(TREND) * trend
    errors *= np.sqrt(variance)
    if sum(variance.shape) <= MAX_SOLVED:
        return _conditioned_on_sums(errors, variance, singles)
    for _sweep in range(SWEEPS):
        for axis, wanted in enumerate(singles):
            others = tuple(k for k in range(variance.ndim) if k != axis)
            missing = wanted - errors.sum(axis=tuple(k + 1 for k in others))
            missing /= np.maximum(variance.sum(axis=others), 1e-12)
            errors += variance * missing.reshape(DRAWS, *_along(axis, variance.shape))
    return errors


def _conditioned_on_sums(errors: Floats, variance: Floats, singles: Sequence[Floats]) -> Floats:
    """Return independent normal errors given their sums over single columns: `errors` less their regression on these.

    The covariance of two sums is the variance of the cells that both hold. Sums of all columns have one total, so one
    column less would tell as much: a small part of the largest variance on the diagonal makes the solution unique.
    """
    axes = range(variance.ndim)
    other_axes = {pair: tuple(k for k in axes if k not in pair) for pair in combinations_with_replacement(axes, 2)}
    sums = {(a, b): variance.sum(axis=summed) for (a, b), summed in other_axes.items()}
    blocks = [[np.diag(sums[a, a]) if a == b else sums[a, b] if a < b else sums[b, a].T for b in axes] for a in axes]
    covariance = np.block(blocks)
    covariance += (UNIQUE * covariance.max() + 1e-12) * np.eye(len(covariance))  # it may be 0 everywhere
    missing = [wanted - errors.sum(axis=tuple(k + 1 for k in axes if k != axis)) for axis, wanted in enumerate(singles)]
    shares = np.linalg.solve(covariance, np.concatenate(missing, axis=1).T).T
    for axis, part in enumerate(np.split(shares, np.cumsum(variance.shape)[:-1], axis=1)):
        errors += variance * part.reshape(DRAWS, *_along(axis, variance.shape))
    return errors


def _trend(basis: Basis, stream: object, size: int) -> Floats:
    """Return for each draw a trend along a column: a straight line, plus an independent deviation for each value."""
    line = np.linspace(-math.sqrt(3), math.sqrt(3), size) if size > 1 else np.zeros(1)
    direction = np.sign(_uniforms(basis.release_id, (stream, "direction"), (1,)) - 0.5)
    steps = _normal(basis.release_id, (stream, "steps"), (size,))
    trend: Floats = math.sqrt(SLOPE) * direction * line + math.sqrt(1 - SLOPE) * steps
    return trend


def _along(axis: int, shape: Sequence[int]) -> list[int]:
    return [size if k == axis else 1 for k, size in enumerate(shape)]


def _replicate_boxes(tree: BoxTree, release_id: str) -> Marginal[np.float64]:
    """Return estimate and replicates of the table whose boxes were measured, with its columns after the draws.

    The estimate may be negative, so that sums of many boxes are unbiased.
    """
    boxes, cells = tree.boxes, tree.cells
    noise = np.empty((DRAWS, cells.size))
    for part in np.unique(boxes.parts):
        places = np.flatnonzero(boxes.parts == part)
        noise[:, places] = _noise(release_id, int(part), float(boxes.scale(int(part))), (places.size,))
    leaf = _leaf_of_cells(tree)
    draws = [tree.spread(tree.unbiased)]
    size = cells[leaf]
    gamma = gammaincinv(DIVISION / size, _uniforms(release_id, "division", leaf.shape))
    for k in range(DRAWS):
        errors = BoxTree(replace(boxes, values=noise[k].astype(np.int64))).unbiased[leaf]
        gamma_of_leaf = np.bincount(leaf, gamma[k], minlength=cells.size)[leaf]
        part_of_box = np.where((size > 1) & (gamma_of_leaf > 0), gamma[k] / np.maximum(gamma_of_leaf, 1e-300), 1 / size)
        in_box = np.maximum(tree.expected, 0)[leaf]
        draws.append(draws[0] + (in_box * (part_of_box - 1 / size) + errors / size).reshape(boxes.shape))
    return Marginal((_DRAW, *boxes.columns), np.stack(draws))


def _leaf_of_cells(tree: BoxTree) -> Ints:
    """Return for every cell the index of the unsplit box that holds it."""
    leaves = tree.leaves[np.argsort(tree.starts[tree.leaves])]
    leaf = np.empty(math.prod(tree.boxes.shape), dtype=np.int64)
    leaf[tree.order] = np.repeat(leaves, tree.cells[leaves])
    return leaf
