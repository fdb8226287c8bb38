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
   (Cox 1987). Pairs are fitted again, each with what all others say of it, and larger tables follow their pairs; these
   are returned, and synthetic rows close to them (`synthesis.generate_rows`) replace the tables.
4. Larger ones with little noise are fitted by one joint table, if it is not too large, which is rounded and then
   repaired.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, combinations

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
from dpengine.marginals.noisy_pair import EMPTY
from dpengine.marginals.pairwise import Pairwise, fit_one_table, refit_pairs, shrink_table
from dpengine.marginals.shrinkage import shrink
from dpengine.marginals.smoothing import MAX_SMOOTHED, smooth, smooth_columns
from dpengine.spec.categories.resolution import Resolution
from dpengine.spec.limits import MAX_JOINT_CELLS

__all__ = [
    "ConsistentTables",
    "counted_tables",
    "fit_tables",
    "make_consistent",
    "round_boxes",
    "through_one_table",
    "through_pairs",
]

RAKING_SWEEPS = 10  # sweeps of fitting one table to its single columns
JOINT_SWEEPS = 12  # of a joint table, at least; with many cells, moves come nearer than more sweeps
MIN_SCALE = 0.8  # standard deviation of noise: below it most noise is 0, and a model hardly improves a cell
MAX_CELLS, MAX_DEVIATION = 2**14, 8.0  # of all columns together, and of noise: up to these, rows follow `_noise`
AS_MEASURED, AS_FITTED = 1.0, 1.7  # deviations up to which they follow measured counts, and from which on fitted ones
MAX_FITTED = 2**25  # cells of a joint table × tables: beyond it pairs are as near, in a tenth of the time
MUCH_NOISE = (
    1.0  # mean noise per table, as a part of all people: beyond, pairs are nearer (benchmarks/larger_tables.py)
)
# As guesses at pairs, columns are smoothed as if their noise were this much wider: half a percent less error
# (benchmarks/columns_together.py). Sums of many draws have lighter tails than one draw of equal variance.
WIDER = 1.25
FEW_TABLES = 20  # with up to this many measured tables, fits also use how unequal counts are, which takes longer
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
    after them). Returns whole, non-negative tables with the same total; or the fitted pairs, and larger tables that
    follow them, if tables overlap in a ring.
    """
    estimate = squares.estimator(values)
    total = max(0, round(float(estimate(()))))
    tables = counted_tables(squares, amounts)
    single: dict[str, Floats] = {}
    order = junction_order(tables)
    if order is not None:
        return ConsistentTables(_round_along(order, fit_tables(squares, estimate, tables, total, single), total))
    if not _through_one(squares, tables, total):
        return through_pairs(squares, estimate, tables, total)
    fitted = fit_tables(squares, estimate, tables, total, single)
    return through_one_table(fitted, single, total)


def _through_one(squares: LeastSquares, tables: Sequence[Columns], total: int) -> bool:
    """Return whether tables in a ring are best made to agree through one table of all columns.

    It is nearer where tables are larger than pairs and noise is small: then it follows all cells at once.
    """
    cells = math.prod(squares.sizes[name] for name in {*chain.from_iterable(tables)})
    if max(map(len, tables)) < 3 or cells > MAX_JOINT_CELLS or cells * len(tables) > MAX_FITTED:
        return False
    noise = (math.prod(squares.sizes[name] for name in each) * math.sqrt(squares.variance(each) / 2) for each in tables)
    return math.fsum(noise) <= MUCH_NOISE * len(tables) * total


def counted_tables(squares: LeastSquares, amounts: frozenset[str]) -> tuple[Columns, ...]:
    """Return the measured tables without their amounts."""
    counted = (tuple(name for name in columns if name not in amounts) for columns in squares.measured)
    return tuple(dict.fromkeys(columns for columns in counted if columns))


def fit_tables(
    squares: LeastSquares,
    estimate: Callable[[Columns], Floats],
    tables: Sequence[Columns],
    total: int,
    single: dict[str, Floats],
) -> dict[Columns, Floats]:
    """Return non-negative expected counts of `tables`, fitted one by one; missing columns are added to `single`.

    `estimate` is the unbiased estimate of a table.
    """
    for name in sorted({*chain.from_iterable(tables)}):
        if name not in single:
            single[name] = project(estimate((name,)), total)
    pairs = (columns for columns in tables if len(columns) == 2 and _shrinks(squares, columns, total))
    smoothed = _smoothed(squares, estimate, {*chain(*pairs)}, total, WIDER)
    return {columns: _fit(squares, estimate(columns), columns, single, smoothed, total) for columns in tables}


def _smoothed(
    squares: LeastSquares, estimate: Callable[[Columns], Floats], names: Iterable[str], total: int, wider: float = 1.0
) -> dict[str, Floats]:
    """Return the counts of the named columns, smoothed together as if their noise were so many times `wider`."""
    noisy = {name: (estimate((name,)), wider * math.sqrt(squares.variance((name,)) / 2)) for name in sorted(names)}
    return smooth_columns(noisy, total)


def _shrinks(squares: LeastSquares, columns: Columns, total: int) -> bool:
    """Return whether a table is shrunk towards a model of its sums: one of several columns, with wide noise."""
    cells = math.prod(squares.sizes[name] for name in columns)
    wide = math.sqrt(squares.variance(columns) / 2) >= MIN_SCALE
    return len(columns) > 1 and wide and total > 0 and cells * math.comb(len(columns), 2) <= MAX_RAKED


def through_pairs(
    squares: LeastSquares, estimate: Callable[[Columns], Floats], tables: Sequence[Columns], total: int
) -> Pairwise:
    """Return a model of all pairs within `tables`, and of larger tables, each combined with what the pairs imply.

    The pairs of several larger tables are far more accurate than those tables. So these are shrunk towards the table
    of greatest entropy with the same pairs, by the noise that pairs have no part in.
    """
    single: dict[str, Floats] = {}
    of_two = dict.fromkeys(pair for columns in tables for pair in combinations(columns, 2))
    of_one = (columns for columns in tables if len(columns) < 2)
    fitted = fit_tables(squares, estimate, [*of_one, *of_two], total, single)
    refitted = _refitted(squares, estimate, _pairs(total, single, fitted), fitted)
    model = replace(refitted, even=True, direct=tuple(tables))
    wide = {}
    for columns in tables:
        if len(columns) > 2 and total > 0:
            scale = math.sqrt(squares.variance_beyond(2, columns) / 2)
            noisy = estimate(columns)
            nearer = shrink(noisy, model.table(columns), scale) if scale >= MIN_SCALE else noisy
            wide[columns] = project(nearer, total) + EMPTY
    if wide:
        return replace(model, wide=wide)
    return replace(model, noise=_noise(squares, estimate, model, single))


def through_one_table(fitted: Mapping[Columns, Floats], single: Mapping[str, Floats], total: int) -> ConsistentTables:
    """Return one table of all columns in whole numbers, whose sums are close to the fitted tables."""
    everything = tuple(sorted(single))
    joint = fit_joint(everything, fitted, single, total, JOINT_SWEEPS)
    return ConsistentTables((Marginal(everything, round_joint(joint, everything, fitted, total)),))


def _fit(
    squares: LeastSquares,
    estimate: Floats,
    columns: Columns,
    single: Mapping[str, Floats],
    smoothed: Mapping[str, Floats],
    total: int,
) -> Floats:
    """Return non-negative expected counts of one measured table.

    With wide noise, it is shrunk towards a model of its sums, and a single column is smoothed. Of a pair, the model is
    independence of its `smoothed` columns. A table that was measured alone with hardly any noise keeps its counts
    (`small_noise`). Otherwise it is projected on {x ≥ 0, Σx = total} and raked to its single columns, in which clipping
    many small cells causes far less bias.
    """
    scale = math.sqrt(squares.variance(columns) / 2)
    if len(columns) == 1 and scale >= MIN_SCALE and total > 0 and estimate.size <= MAX_SMOOTHED:
        return smooth(estimate, scale, total)
    if _shrinks(squares, columns, total):
        by_size = len(squares.measured) <= FEW_TABLES
        if len(columns) > 2:
            return fit_one_table(estimate, columns, scale, by_size=by_size)
        first, second = (smoothed[name] + EMPTY for name in columns)
        return shrink_table(estimate, np.outer(first, second) / total, scale, by_size=by_size)
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
    """Fit the measured pairs again, each combined with its estimate from its columns and all other pairs.

    The counts of a column are the mean of two estimates: by least squares, smoothed, and the sums of its fitted pairs,
    in which empty cells have lost their noise.
    """
    pairs = {(columns[0], columns[1]): table for columns, table in fitted.items() if len(columns) == 2}
    wide = [pair for pair in pairs if math.sqrt(squares.variance(pair) / 2) >= MIN_SCALE and 1 not in pairs[pair].shape]
    if not wide or model.total == 0:
        return model
    sums: dict[str, list[Floats]] = {name: [] for name in model.one_way}
    for (a, b), table in pairs.items():
        sums[a].append(table.sum(axis=1))
        sums[b].append(table.sum(axis=0))
    smoothed = _smoothed(squares, estimate, model.one_way, round(model.total))
    one_way = {name: _column(counts, sums[name], model.total) for name, counts in smoothed.items()}
    noisy = {pair: (estimate(pair), math.sqrt(squares.component_variance(frozenset(pair)) / 2)) for pair in wide}
    return replace(model, one_way=one_way, two_way={**model.two_way, **refit_pairs(model.total, one_way, pairs, noisy)})


def _column(smoothed: Floats, sums: Sequence[Floats], total: float) -> Floats:
    """Return the mean of two estimates of a column: the smoothed one, and the `sums` of its fitted pairs, if any."""
    return (smoothed + project(np.mean(sums, axis=0), total)) / 2 if sums else smoothed


def _noise(
    squares: LeastSquares, estimate: Callable[[Columns], Floats], model: Pairwise, single: Mapping[str, Floats]
) -> dict[Columns, tuple[Floats, float]]:
    """Return the non-negative counts of each column and pair that rows should follow, and the deviation of the noise.

    With hardly any noise, they are the measured ones, of which many are exact; with more, those of the model; between
    these, a mean of both. Empty if any two columns were not measured together, if there are many cells, or if noise is
    wide.
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
    part = min(1.0, max(0.0, (AS_FITTED - widest) / (AS_FITTED - AS_MEASURED)))
    values = {table: part * counts + (1 - part) * model.table(table) for table, counts in values.items()}
    return {table: (values[table], deviation) for table, deviation in deviations.items()}


def _round_along(
    order: Sequence[Columns], fitted: Mapping[Columns, Floats], total: int
) -> tuple[Marginal[np.int64], ...]:
    """Round each table so that it keeps the counts over the columns that it shares with an earlier one."""
    done: list[Marginal[np.int64]] = []
    for clique in order:
        done.append(follow(NO_LEVELS, Marginal(clique, fitted[clique]), done, total))
    return tuple(done)
