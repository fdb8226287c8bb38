"""Which marginals are measured, and with what share of ε: a function of the plan alone.

*direct*: what is asked is what is measured, by three rules (each a consequence of minimising the total
variance Σ n_S·2/ε_S² of independent marginals under Σ ε_S = ε):

1. Nothing is spent on a table that another one contains: its sums are free.
2. If one table contains all, or one table over all columns gives less variance in total, that one
   is measured with all of ε.
3. Else the maximal tables are measured, ε_S in proportion to the cube root of their cells, and
   combined by least squares. Within 0.1 % of numerical optimisation on the cases in the tests.

*optimised*: shares over all maximal tables, what any two of them have in common, and the table of all columns,
found numerically to make the total variance least; *direct* where that is no better.

*adaptive*: chosen privately while measuring (`measure.adaptive`; for a table whose ranges matter,
`measure.hierarchical`).

*auto*: *direct*, unless the tables overlap so widely that they can agree only through a model, and measuring each
of them is predicted to leave more noise than the model leaves out; unless ranges of many cells matter; and unless a
table by itself has so many cells for its rows that its columns and pairs, measured beside it, tell more than its own
noisy counts.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import combinations

import numpy as np

from dpengine.array_types import Columns
from dpengine.errors import PlanError
from dpengine.marginals.graphs import junction_order, maximal
from dpengine.marginals.least_squares import LeastSquares, subsets
from dpengine.marginals.measurement import PARTS, Allocation
from dpengine.noise.laplace import MAX_SCALE
from dpengine.noise.moments import mean_absolute
from dpengine.spec.plan import MAX_TABLE_CELLS, Plan
from dpengine.spec.wording import portion

MAX_JOINT_CELLS = 2_000_000
ASSUMED_ROWS = 10_000  # where a plan does not say how many there are
MEASURE_ALL = 0.05  # of all rows: noise in a table below which a model is no better (benchmarks/accuracy.py)
SPARSE = 4.0  # noise in a single table, in rows a row, beyond which its margins tell more (benchmarks/single.py)
SPARSE_EPSILON = 1.2  # a row; beyond it most noise is 0, and single counts are hard to beat
MAX_OPTIMISED = 60  # marginals beyond which looking for better shares takes too long
FLAT_CELLS = 24  # for ranges, fewer cells are as well measured one by one (benchmarks/ranges.py)
MAX_SYNTHETIC = 20_000_000
MAX_ADAPTIVE_SCALE = 1_000  # beyond it even the total is lost, and synthetic rows may be too many

DIRECT, OPTIMISED, ADAPTIVE = "direct", "optimised", "adaptive"

__all__ = [
    "ADAPTIVE",
    "ASSUMED_ROWS",
    "DIRECT",
    "OPTIMISED",
    "check",
    "choose",
    "identity",
    "needs_a_model",
    "settled",
    "why",
]


def settled(plan: Plan) -> Plan:
    """The plan with *auto* decided where that is *adaptive*: what is then the plan's own strategy.

    A function of the plan alone, the rough number of rows included.
    """
    if plan.strategy == "auto" and (_is_long(plan) or _is_sparse(plan) or _noise_is_too_much(plan)):
        return plan.model_copy(update={"strategy": ADAPTIVE})
    return plan


def why(plan: Plan) -> str:
    """The strategy of a plan and the reason for it, in a sentence."""
    if plan.ranged is not None and settled(plan).strategy == ADAPTIVE:
        return (
            "Adaptive, since ranges matter: boxes of neighbouring cells are measured, and split where noisy counts "
            "show that there are enough people."
        )
    alone = len(maximal(plan.marginals)) == 1
    beside = "part of ε measures columns and pairs, the rest the whole table, and a model draws on all of these."
    if plan.strategy == ADAPTIVE:
        return (
            f"Adaptive: {beside}"
            if alone
            else "Adaptive: which pairs of columns to measure is chosen privately, and a model fits them."
        )
    if plan.strategy == OPTIMISED:
        return "Optimised, as the plan says: shares of ε that make the predicted error least."
    if plan.strategy == DIRECT:
        return "Direct, as the plan says: what is asked is what is measured."
    tables = maximal(plan.marginals)
    if not needs_a_model(plan, tables) and not _is_sparse(plan):
        return "Direct: the tables can be measured and made to agree as they are."
    if _is_sparse(plan):
        return f"Adaptive: with about {plan.rows_about:,} rows, noise would bury so many cells; so {beside}"
    noise = f"{portion(_noise_in_a_table(plan, tables))} of all rows"
    if _noise_is_too_much(plan):
        return f"Adaptive: measuring all {len(tables)} tables would leave noise of about {noise} in each."
    return f"Direct: measuring all {len(tables)} tables leaves noise of only about {noise} in each."


def choose(plan: Plan) -> tuple[Allocation, ...]:
    """The marginals to measure for ``plan``, not an adaptive one; their shares add up to ``plan.epsilon`` exactly.

    A person's rows, at most ``plan.unit.rows``, each change one cell of a marginal by one, so each
    marginal has L1 sensitivity ``plan.unit.rows``; the shares compose by addition (Dwork & Roth 2014,
    Theorem 3.16). Columns are in sorted order, so that the order of a plan's tables changes nothing.

    Raises `PlanError` where the tables could not be made to agree.
    """
    allocations = _direct(plan)
    if plan.strategy == OPTIMISED:
        allocations = _optimised(plan, allocations)
    return allocations


def identity(plan: Plan) -> str:
    """What the ledger knows a release by: plans of which the same is measured are one release, drawn once.

    So a table whose sums are free, asked for later, is free. What an adaptive plan measures is not known beforehand:
    there, the tables asked for are part of it, unless they are sums of a single one.
    Raises `PlanError` as `choose` does.
    """
    plan = settled(plan)
    if plan.strategy == ADAPTIVE:
        largest = maximal(plan.marginals)
        if plan.ranged is not None:
            return plan.identity("ranges", plan.ranged)
        return plan.identity(ADAPTIVE, *largest) if len(largest) == 1 else plan.key
    return plan.identity(*((allocation.columns, str(allocation.epsilon)) for allocation in choose(plan)))


def _direct(plan: Plan) -> tuple[Allocation, ...]:
    tables = maximal(plan.marginals)
    if len(tables) == 1:
        return _allocations(plan, tables)
    everything = tuple(sorted(plan.used))
    small = plan.cells(everything) <= MAX_TABLE_CELLS
    if not small and needs_a_model(plan, tables) and max(map(len, tables)) > 2:
        raise PlanError(
            f"these tables overlap in a ring, so they can agree only through one table of all {len(everything)} "
            f"columns, which would have {plan.cells(everything):.2g} cells (at most {MAX_JOINT_CELLS:,}): use "
            "strategy: adaptive, fewer columns, wider bins, or tables that do not close a ring"
        )
    split = _allocations(plan, tables)
    if small:
        whole = _allocations(plan, [everything])
        # Judged on what costs something: a table that another contains must not change what is measured.
        if _total_variance(plan, whole, tables) <= _total_variance(plan, split, tables):
            return whole
    return split


def check(plan: Plan) -> None:
    """Refuse a plan that cannot be measured, or that noise would bury: a total that may need too many synthetic rows.

    Raises `PlanError`. Costs nothing, and is to be asked before anything is read.
    """
    if plan.strategy == ADAPTIVE:
        if plan.unit.rows / plan.epsilon > MAX_ADAPTIVE_SCALE:
            raise PlanError("epsilon is too small to choose what to measure: raise it, or use strategy: direct")
        return
    allocations = choose(plan)
    least = min(allocation.epsilon for allocation in allocations)
    if plan.unit.rows / least > MAX_SCALE:
        raise PlanError("epsilon is too small for so many tables: the noise would be beyond all counts; raise it")
    # A bound for the total's standard deviation: that of the best single marginal's sum.
    sd = min(math.sqrt(2 * plan.cells(allocation.columns)) * float(allocation.scale) for allocation in allocations)
    if 2 * sd > MAX_SYNTHETIC:
        raise PlanError(
            f"the total would be known only to within about ±{2 * sd:,.0f}, too wide for synthetic rows: "
            "raise epsilon, or use fewer cells"
        )


def needs_a_model(plan: Plan, tables: Sequence[Columns]) -> bool:
    """Whether the tables, none within another, overlap in a ring whose joint table is too large to write down."""
    if plan.cells(plan.used) <= MAX_JOINT_CELLS:
        return False
    # Along a tree each table brings a column of its own, so that more tables than columns close a ring.
    return len(tables) > len(plan.used) or junction_order(tables) is None


def _is_long(plan: Plan) -> bool:
    return plan.ranged is not None and plan.cells(plan.ranged) > FLAT_CELLS


def _is_sparse(plan: Plan) -> bool:
    """Whether noise in the one table that holds all others would be of the size of its counts, if these are known."""
    tables, per_row = maximal(plan.marginals), float(plan.epsilon) / plan.unit.rows
    if plan.rows_about is None or len(tables) > 1 or len(tables[0]) == 1 or per_row > SPARSE_EPSILON:
        return False
    return plan.cells(tables[0]) * mean_absolute(plan.unit.rows / plan.epsilon) > SPARSE * plan.rows_about


def _noise_is_too_much(plan: Plan) -> bool:
    tables = maximal(plan.marginals)
    if len(tables) == 1 or not needs_a_model(plan, tables):
        return False
    return max(map(len, tables)) > 2 or _noise_in_a_table(plan, tables) > MEASURE_ALL


def _noise_in_a_table(plan: Plan, tables: Sequence[Columns]) -> float:
    """Noise in the mean table as a part of all rows, were each measured with its share."""
    rows = plan.rows_about or ASSUMED_ROWS
    noise = math.fsum(
        plan.cells(allocation.columns) * float(allocation.scale) for allocation in _allocations(plan, tables)
    )
    return noise / (len(tables) * rows)


def _allocations(plan: Plan, tables: Sequence[Columns]) -> tuple[Allocation, ...]:
    weights = [max(1, round(1000 * plan.cells(table) ** (1 / 3))) for table in tables]
    whole = sum(weights)
    return tuple(
        Allocation(table, plan.epsilon * weight / whole, plan.unit.rows)
        for table, weight in zip(tables, weights, strict=True)
    )


def _total_variance(plan: Plan, allocations: Sequence[Allocation], tables: Sequence[Columns]) -> float:
    """Variance summed over all cells of ``tables``, by the continuous law, which ranks alike at every ε."""
    variances = tuple(float(2 * allocation.scale**2) for allocation in allocations)
    sizes = {name: plan.column(name).size for name in plan.used}
    squares = LeastSquares(sizes, tuple(allocation.columns for allocation in allocations), variances)
    if len(allocations) == 1:  # every published cell is a plain sum
        return math.fsum(plan.cells(allocations[0].columns) * variances[0] for _ in tables)
    return math.fsum(plan.cells(table) * squares.variance(table) for table in tables)


def _optimised(plan: Plan, direct: tuple[Allocation, ...]) -> tuple[Allocation, ...]:
    """Shares of least total variance over candidate marginals, or ``direct`` where these are no better.

    With e_S the part of ε for marginal S, the total variance is Σ_A c_A / Σ_{S ⊇ A} e_S²/n_{S∖A} up to a constant: the
    objective of OPT_MARG (McKenna et al., "Optimizing error of high-dimensional statistical queries", PVLDB 2018) in
    the closed form of `marginals.least_squares`. It is not convex, so the search starts at *direct* and equal shares.
    """
    from scipy.optimize import minimize

    candidates = _candidates(plan, [allocation.columns for allocation in direct])
    if len(candidates) == 1 or len(candidates) > MAX_OPTIMISED:
        return direct
    components = list(dict.fromkeys(part for table in plan.marginals for part in subsets(table)))
    cost = np.zeros(len(components))
    for table in plan.marginals:
        for part in subsets(table):
            rest = plan.cells(tuple(frozenset(table) - part))
            contrast = math.prod(plan.column(name).size - 1 for name in part)  # cells × Π (n−1)/n
            cost[components.index(part)] += contrast / rest
    weights = np.array(
        [
            [1 / plan.cells(tuple(frozenset(s) - part)) if part <= frozenset(s) else 0.0 for s in candidates]
            for part in components
        ]
    )

    def variance(logits: np.ndarray) -> tuple[float, np.ndarray]:
        parts = np.exp(logits - logits.max())
        parts /= parts.sum()
        precision = weights @ parts**2
        slope = -(cost / precision**2) @ weights * 2 * parts
        return math.log(float((cost / precision).sum())), (parts * (slope - slope @ parts)) / float(
            (cost / precision).sum()
        )

    given = {allocation.columns: float(allocation.epsilon / plan.epsilon) for allocation in direct}
    starts = [np.log([given.get(s, 0.003) for s in candidates]), np.zeros(len(candidates))]
    found = min((minimize(variance, start, jac=True, method="L-BFGS-B") for start in starts), key=lambda each: each.fun)
    parts = np.exp(found.x - found.x.max())
    whole = np.floor(PARTS * parts / parts.sum()).astype(int)
    whole[whole < PARTS // 1000] = 0  # what is left of a marginal that is not worth measuring
    whole[int(whole.argmax())] += PARTS - int(whole.sum())
    allocations = tuple(
        Allocation(columns, plan.epsilon * int(part) / PARTS, plan.unit.rows)
        for columns, part in zip(candidates, whole, strict=True)
        if part
    )
    covered = all(any(set(table) <= set(allocation.columns) for allocation in allocations) for table in plan.marginals)
    better = covered and _total_variance(plan, allocations, plan.marginals) < _total_variance(
        plan, direct, plan.marginals
    )
    return allocations if better else direct


def _candidates(plan: Plan, measured: Sequence[Columns]) -> list[Columns]:
    """Marginals to share ε over: the maximal tables, their common parts, and all columns where these can be written."""
    tables = maximal([*plan.marginals, *measured])
    common = {tuple(sorted(set(a) & set(b))) for a, b in combinations(maximal(plan.marginals), 2)} - {()}
    everything = tuple(sorted(plan.used))
    whole = [everything] if plan.cells(everything) <= MAX_TABLE_CELLS else []
    return sorted({*tables, *maximal(plan.marginals), *common, *whole})
