"""Make noisy marginals into whole, non-negative tables that agree with each other everywhere.

All published counts are sums over integer tables that are joined like a tree along the columns they share. So
margins and totals agree by construction, and synthetic rows can be made from the tables. Everything here sees noisy
numbers and public structure only, and costs no privacy (post-processing: Dwork & Roth 2014, Proposition 2.1).

1. *Fit.* The cells of each measured table are shrunk towards a model of its own columns and pairs, whose sums are far
   more accurate; those of a single column are smoothed. With hardly any noise, they are only projected on
   {x ≥ 0, Σx = total}.
2. *Round*, from one table to the next along the tree. Where two tables share columns, the counts of the first fix the
   sums of the second, so every step is a rounding with a given whole sum.
3. Marginals that overlap in a ring (a×b, b×c, c×a) admit no such tree, and may have no whole solution one by one
   (Cox 1987). If none has more than two columns, pairs are fitted again, each with what all others say of it, and
   returned; synthetic rows close to them (`synthesis.generate_rows`) replace the tables.
4. Larger ones are fitted by one joint table, which is rounded and then repaired; or, where it is too large to write
   down, by their pairs.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from dpengine.array_types import Columns, Floats, Ints
from dpengine.estimate.joint_table import fit_joint, round_joint
from dpengine.estimate.small_noise import MAX_CELLS as MAX_EXACT
from dpengine.estimate.small_noise import MAX_SCALE, keep_exact
from dpengine.marginals.box_tree import BoxTree
from dpengine.marginals.fitting import project, rake, round_to_total
from dpengine.marginals.graphs import junction_order
from dpengine.marginals.least_squares import LeastSquares
from dpengine.marginals.marginal import Marginal
from dpengine.marginals.nested import NO_LEVELS, Counted, follow
from dpengine.marginals.pairwise import Pairwise, fit_one_table, refit_pairs
from dpengine.marginals.smoothing import MAX_SMOOTHED, smooth, smooth_columns
from dpengine.measure.allocation import MAX_JOINT_CELLS
from dpengine.spec.categories.resolution import Resolution

__all__ = ["ConsistentTables", "fit_tables", "make_consistent", "round_boxes", "through_one_table"]

RAKING_SWEEPS = 10  # of one table to its single columns
JOINT_SWEEPS = 12  # of a joint table, at least; with many cells, moves come nearer than more sweeps
MIN_SCALE = 0.8  # standard deviation of noise: below it most noise is 0, and a model hardly improves a cell
MAX_CELLS, MAX_DEVIATION = 2**14, 8.0  # of all columns together, and of noise: up to these, rows follow `_noise`
AS_MEASURED = 2.0  # deviation up to which they follow the measured counts themselves, not the fitted ones
FEW_TABLES = 20  # measured: so many are also fitted by how unequal their counts are, which takes longer
MAX_RAKED = 20_000_000  # cells × pairs of columns, beyond which a model of a table takes too long


@dataclass(frozen=True)
class ConsistentTables:
    """Whole tables in tree order: the columns that each shares with earlier ones lie within a single one of them.

    They may follow `rows`, whose counts come first.
    """

    tables: tuple[Marginal[np.int64], ...]
    rows: Counted | None = None

    @property
    def parts(self) -> tuple[Counted, ...]:
        """The rows, if there are any, and the tables that follow them."""
        return self.tables if self.rows is None else (self.rows, *self.tables)

    def table(self, columns: Columns, resolution: Resolution = NO_LEVELS) -> Ints:
        """Return the published counts over `columns`, which may be at a coarser level of those that a table has.

        Raises KeyError if no table has all of these.
        """
        for table in self.parts:
            finer = resolution.finer_columns(columns, table.columns)
            if finer is not None:
                return resolution.coarsen(table.project(finer).values, finer, columns)
        raise KeyError(columns)


def round_boxes(tree: BoxTree) -> ConsistentTables:
    """Return the expected counts of a tree of boxes in whole numbers; every box keeps its sum to within 1.5.

    Running sums are rounded along an order of the cells in which every box is contiguous.
    """
    boxes, expected = tree.boxes, tree.table.ravel()[tree.order]
    total = round(float(tree.expected[boxes.parents < 0].sum()))
    counts = np.empty(expected.size, dtype=np.int64)
    counts[tree.order] = round_to_total(expected, total)
    return ConsistentTables((Marginal(boxes.columns, counts.reshape(boxes.shape)),))


def make_consistent(
    squares: LeastSquares, values: Sequence[Ints | Floats], amounts: frozenset[str] = frozenset()
) -> ConsistentTables | Pairwise:
    """Make the measured `values` of the marginals of `squares` agree: a fixed function of its arguments.

    Counts are over the columns other than `amounts`, over which measured marginals are summed (`estimate.amounts` comes
    after them). Returns whole, non-negative tables with the same total; or the fitted pairs, if only pairs overlap in a
    ring, or if a joint table of all of them would be too large.
    """
    estimate = squares.estimator(values)
    total = max(0, round(float(estimate(()))))
    single: dict[str, Floats] = {}
    fitted = fit_tables(squares, estimate, amounts, total, single)
    order = junction_order([*fitted])
    if order is not None:
        return ConsistentTables(_round_along(order, fitted, total))
    only_pairs = max(map(len, fitted)) < 3
    if only_pairs or math.prod(squares.sizes[name] for name in single) > MAX_JOINT_CELLS:
        model = _refitted(squares, estimate, _pairs(total, single, fitted), fitted)
        return replace(model, even=True, noise=_noise(squares, estimate, model, single))
    return through_one_table(fitted, single, total)


def fit_tables(
    squares: LeastSquares,
    estimate: Callable[[Columns], Floats],
    amounts: frozenset[str],
    total: int,
    single: dict[str, Floats],
) -> dict[Columns, Floats]:
    """Return non-negative expected counts of each measured table; missing single columns are added to `single`.

    `estimate` is the unbiased estimate of a table.
    """
    counted = (tuple(name for name in columns if name not in amounts) for columns in squares.measured)
    tables = tuple(dict.fromkeys(columns for columns in counted if columns))
    names = sorted({name for columns in tables for name in columns})
    wanted = {*tables, *((name,) for name in names)}
    estimates = {columns: estimate(columns) for columns in wanted}
    for name in names:
        single.setdefault(name, project(estimates[name,], total))
    return {columns: _fit(squares, estimates[columns], columns, single, total) for columns in tables}


def through_one_table(fitted: Mapping[Columns, Floats], single: Mapping[str, Floats], total: int) -> ConsistentTables:
    """Return one table of all columns in whole numbers, whose sums are close to the fitted tables."""
    everything = tuple(sorted(single))
    joint = fit_joint(everything, fitted, single, total, JOINT_SWEEPS)
    return ConsistentTables((Marginal(everything, round_joint(joint, everything, fitted, total)),))


def _fit(squares: LeastSquares, estimate: Floats, columns: Columns, single: Mapping[str, Floats], total: int) -> Floats:
    """Return non-negative expected counts of one measured table.

    With wide noise, it is shrunk towards a model of its sums, and a single column is smoothed. A table that was
    measured alone with hardly any noise keeps its counts (`small_noise`). Otherwise it is projected on
    {x ≥ 0, Σx = total} and raked to its single columns, in which clipping many small cells causes far less bias.
    """
    scale = math.sqrt(squares.variance(columns) / 2)
    if len(columns) == 1 and scale >= MIN_SCALE and total > 0 and estimate.size <= MAX_SMOOTHED:
        return smooth(estimate, scale, total)
    quick = estimate.size * math.comb(len(columns), 2) <= MAX_RAKED
    if len(columns) > 1 and scale >= MIN_SCALE and total > 0 and quick:
        return fit_one_table(estimate, columns, scale, by_size=len(squares.measured) <= FEW_TABLES)
    alone = len(squares.measured) == 1 and estimate.ndim > 1 and total > 0
    if alone and scale <= MAX_SCALE and estimate.size <= MAX_EXACT:
        return keep_exact(np.rint(estimate).astype(np.int64), total).astype(np.float64)
    margins = [((axis,), single[name]) for axis, name in enumerate(columns)] if len(columns) > 1 else []
    return rake(project(estimate, total), margins, RAKING_SWEEPS)


def _pairs(total: int, single: Mapping[str, Floats], fitted: Mapping[Columns, Floats]) -> Pairwise:
    """Return the fitted pairs, with independence for two columns that were not measured together."""
    two = {pair: np.outer(single[pair[0]], single[pair[1]]) / max(total, 1) for pair in combinations(single, 2)}
    two |= {(columns[0], columns[1]): table for columns, table in fitted.items() if len(columns) == 2}
    return Pairwise(float(total), single, two)


def _refitted(
    squares: LeastSquares, estimate: Callable[[Columns], Floats], model: Pairwise, fitted: Mapping[Columns, Floats]
) -> Pairwise:
    """Fit the measured pairs again, each with what its columns and all other pairs say of it.

    The counts of a column are the mean of two estimates: by least squares, smoothed, and the sums of its fitted pairs,
    in which empty cells have lost their noise.
    """
    pairs = {(columns[0], columns[1]): table for columns, table in fitted.items() if len(columns) == 2}
    wide = [pair for pair in pairs if math.sqrt(squares.variance(pair) / 2) >= MIN_SCALE and 1 not in pairs[pair].shape]
    if not wide or model.total == 0:
        return model
    sums: dict[str, list[Floats]] = {name: [] for name in model.one}
    for (a, b), table in pairs.items():
        sums[a].append(table.sum(axis=1))
        sums[b].append(table.sum(axis=0))
    noisy_columns = {name: (estimate((name,)), math.sqrt(squares.variance((name,)) / 2)) for name in model.one}
    smoothed = smooth_columns(noisy_columns, model.total)
    one = {name: _column(counts, sums[name], model.total) for name, counts in smoothed.items()}
    noisy = {pair: (estimate(pair), math.sqrt(squares.component_variance(frozenset(pair)) / 2)) for pair in wide}
    return replace(model, one=one, two={**model.two, **refit_pairs(model.total, one, pairs, noisy)})


def _column(smoothed: Floats, sums: Sequence[Floats], total: float) -> Floats:
    """Return the mean of two estimates of a column: the smoothed one, and the `sums` of its fitted pairs, if any."""
    return (smoothed + project(np.mean(sums, axis=0), total)) / 2 if sums else smoothed


def _noise(
    squares: LeastSquares, estimate: Callable[[Columns], Floats], model: Pairwise, single: Mapping[str, Floats]
) -> dict[Columns, tuple[Floats, float]]:
    """Return the non-negative counts of each column and pair that rows should follow, and the deviation of the noise.

    With hardly any noise, they are the measured ones, of which many are exact; otherwise, those of the model. Empty if
    any two columns were not measured together, if there are many cells, or if noise is wide.
    """
    pairs = [*combinations(single, 2)]
    measured = [{*columns} for columns in squares.measured]
    if math.prod(squares.sizes[name] for name in single) > MAX_CELLS:
        return {}
    if not all(any({*pair} <= columns for columns in measured) for pair in pairs):
        return {}
    deviations = {table: math.sqrt(squares.variance(table)) for table in [*pairs, *((name,) for name in single)]}
    widest = max(deviations[pair] for pair in pairs)
    if widest > MAX_DEVIATION:
        return {}
    values: dict[Columns, Floats] = {(name,): single[name] for name in single}
    values |= {pair: project(estimate(pair), model.total) for pair in pairs}
    if widest > AS_MEASURED:
        values = {table: model.table(table) for table in values}
    return {table: (values[table], deviation) for table, deviation in deviations.items()}


def _round_along(
    order: Sequence[Columns], fitted: Mapping[Columns, Floats], total: int
) -> tuple[Marginal[np.int64], ...]:
    """Round each table so that it keeps the counts over the columns that it shares with an earlier one."""
    done: list[Marginal[np.int64]] = []
    for clique in order:
        done.append(follow(NO_LEVELS, Marginal(clique, fitted[clique]), done, total))
    return tuple(done)
