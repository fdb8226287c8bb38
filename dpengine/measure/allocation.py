"""Divide ε by calculation: over marginals by three direct rules or by numerical optimisation, and over tallies.

Neighbouring tables differ in the rows of one person, at most `plan.unit.rows`; each row changes one cell of a marginal
by one. So every marginal has L1 sensitivity `plan.unit.rows`, and with its share ε_S it gets discrete Laplace noise of
scale sensitivity/ε_S. The shares compose by addition (Dwork & Roth 2014, Theorem 3.16) and add up to ε exactly.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import partial
from itertools import combinations

import numpy as np

from dpengine.array_types import Columns, Floats
from dpengine.errors import PlanError
from dpengine.marginals.division import divided_by_cells, shares_of_amounts
from dpengine.marginals.graphs import junction_order, maximal
from dpengine.marginals.measurement import PARTS, Allocation
from dpengine.marginals.total_variance import VarianceOfShares, root_of_tally, total_variance
from dpengine.spec.limits import MAX_JOINT_CELLS, MAX_TABLE_CELLS
from dpengine.spec.numeric.amount import MAX_GRAIN
from dpengine.spec.plan import Plan
from dpengine.translation.catalogue import _, number

__all__ = [
    "allocate",
    "allocate_amounts",
    "allocate_apart",
    "allocate_by_cells",
    "allocate_directly",
    "allocate_optimally",
    "check_rings",
    "divide_over_tallies",
    "needs_a_model",
]

MAX_OPTIMISED = 60  # marginals beyond which the numerical search takes too long
# Part of the variance of discrete noise, below which one table is measured: whole counts gain less than estimates.
CLEARLY = 1 / 3


def allocate_directly(plan: Plan, *, discrete: bool = True) -> tuple[Allocation, ...]:
    """Divide ε over the requested tables, by three rules.

    Each follows from minimising the total variance Σ w_S·n_S·2/ε_S² of independent marginals of n_S cells and weight
    w_S, which is 1 unless a plan says otherwise, under Σ ε_S = ε:

    1. Nothing is spent on a table that another one contains: its sums are free. A table of more weight than those that
       contain it is measured beside them, where that gives less variance in total.
    2. One table that contains all others is measured with all of ε; so is the table of all columns, where that gives
       less variance in total: of the discrete noise that is drawn, most of which is 0 at large ε. If not `discrete`,
       that of continuous noise decides, so that the same tables are measured at every ε.
    3. Otherwise the maximal tables are measured, with ε_S in proportion to the cube root of w_S·n_S, and combined by
       least squares. This is within 0.1 % of numerical optimisation on the cases in the tests.

    The weight of a measured table is that of the heaviest published table among its sums.

    Columns are sorted, so the order of a plan's tables changes nothing.
    """
    tables = maximal(plan.estimated_tables)
    if len(tables) == 1:
        return _with_heavy(plan, tables, allocate_by_cells(plan, tables))
    everything = tuple(sorted(plan.released))
    small = _is_small(plan, everything)
    split = allocate_by_cells(plan, tables)
    if small:
        joint = allocate_by_cells(plan, [everything])
        # Compared on tables that cost something: a contained table affects the measurements only by its weight.
        judged = plan.estimated_tables if plan.weights else tables
        if _is_better(plan, joint, split, judged, discrete=discrete):
            split = joint
    return _with_heavy(plan, tables, split)


def _is_better(
    plan: Plan, joint: Sequence[Allocation], split: Sequence[Allocation], tables: Sequence[Columns], *, discrete: bool
) -> bool:
    """Return whether one table leaves less variance in total: of continuous noise, or clearly, of discrete noise."""
    together, apart = (total_variance(plan, each, tables) for each in (joint, split))
    if together <= apart or not discrete:
        return together <= apart
    drawn, drawn_apart = (total_variance(plan, each, tables, discrete=True) for each in (joint, split))
    return drawn <= CLEARLY * drawn_apart


def _with_heavy(plan: Plan, tables: Sequence[Columns], allocations: tuple[Allocation, ...]) -> tuple[Allocation, ...]:
    """Return `allocations`, or maximal `tables` beside contained ones of more weight, if that gives less variance."""
    heavy = sorted(
        tuple(sorted(table))
        for table, weight in plan.weights.items()
        if not plan.amounts(table)
        and any({*table} < {*each} for each in tables)
        and all(weight > plan.weights[other] for other in plan.marginals if {*table} < {*other})
    )
    if not heavy or len(tables) + len(heavy) > MAX_OPTIMISED:
        return allocations
    more = allocate_by_cells(plan, sorted([*tables, *heavy]), heavy)
    wanted = [*plan.estimated_tables]
    return more if total_variance(plan, more, wanted) < total_variance(plan, allocations, wanted) else allocations


def allocate_apart(plan: Plan) -> tuple[Allocation, ...]:
    """Divide ε over the maximal tables, each measured at its own levels: by rules 1 and 3 of `allocate_directly`."""
    tables = maximal(plan.estimated_tables)
    return _with_heavy(plan, tables, allocate_by_cells(plan, tables))


def allocate_amounts(plan: Plan) -> tuple[Allocation, ...]:
    """Return the shares of ε for tables with amounts, beside tables of counts for a model."""
    return tuple(allocate(plan, table, share) for table, share in shares_of_amounts(plan).items())


def check_rings(plan: Plan) -> None:
    """Refuse tables of means that could agree only through a too large table. Raises `PlanError`."""
    for name in plan.amounts(()):
        tables = maximal([table for table in plan.marginals if name in plan.amounts(table)])
        columns = tuple({column for table in tables for column in table})
        if plan.cells(columns) > MAX_JOINT_CELLS and junction_order(tables) is None:
            raise PlanError(
                _(
                    "these tables with means of {name} overlap in a ring, so they can agree only through one table of "
                    "{cells} cells (at most {most}): ask for means in fewer tables",
                    name=name,
                    cells=number(plan.cells(columns), ".2g"),
                    most=number(MAX_JOINT_CELLS),
                )
            )


def _is_small(plan: Plan, columns: Columns) -> bool:
    """Return whether a table of these columns is small enough to measure: in cells, and in units."""
    countable = plan.grain(columns) <= MAX_GRAIN and plan.grain(columns) * (plan.rows_about or 1) <= 2**62
    return plan.cells(columns) <= MAX_TABLE_CELLS and countable


def allocate(plan: Plan, columns: Columns, epsilon: Fraction) -> Allocation:
    """Return the allocation of a share of ε to a marginal, which one person changes by `plan.unit.rows` rows in L1.

    For a table of distinct persons, it is the bound on the cells of a person (`spec.tallies`).
    """
    tally = plan.tally_index(columns)
    return Allocation(columns, epsilon, plan.tallies[tally].bound, plan.grain(columns), tally)


def allocate_by_cells(plan: Plan, tables: Sequence[Columns], apart: Sequence[Columns] = ()) -> tuple[Allocation, ...]:
    """Divide ε over `tables` by their weighted cells; those `apart` are measured beside larger ones that hold them."""
    return tuple(map(partial(allocate, plan), tables, divided_by_cells(plan, tables, apart)))


def needs_a_model(plan: Plan) -> bool:
    """Return whether tables of counts overlap in a ring whose joint table is too large to write down."""
    if plan.cells(plan.counted) <= MAX_JOINT_CELLS:
        return False
    tables = maximal(plan.marginals)
    # Along a tree each table adds a column of its own, so more tables than columns close a ring.
    return len(tables) > len(plan.counted) or junction_order(tables) is None


def allocate_optimally(plan: Plan) -> tuple[Allocation, ...]:
    """Divide ε over candidate marginals for the least total variance that is found; directly, if that is as good.

    Candidates are the maximal tables, the common columns of any two of them, the table of all columns and, if tables
    have weights, each published table. With e_S the part of ε for marginal S, the total variance is
    Σ_A c_A / Σ_{S ⊇ A} e_S²/n_{S∖A} up to a constant factor, where c_A adds up the weights of tables. It is not convex,
    so the search starts from the direct allocation and from equal parts.

    Source: the objective of OPT_MARG (McKenna et al., "Optimizing error of high-dimensional statistical queries",
    PVLDB 2018), in the closed form of `marginals.least_squares`.
    """
    direct = allocate_directly(plan, discrete=False)
    candidates = _candidates(plan, [allocation.columns for allocation in direct])
    if len(candidates) == 1 or len(candidates) > MAX_OPTIMISED:
        return allocate_directly(plan)
    given = {allocation.columns: float(allocation.epsilon / plan.epsilon_for_tables) for allocation in direct}
    weights = _least_variance(plan, candidates, [given.get(columns, 0.003) for columns in candidates])
    shares = np.floor(PARTS * weights / weights.sum()).astype(int)
    shares[shares < PARTS // 1000] = 0  # a marginal that is not worth measuring
    shares[int(shares.argmax())] += PARTS - int(shares.sum())
    optimal = tuple(
        allocate(plan, columns, plan.epsilon_for_tables * int(part) / PARTS)
        for columns, part in zip(candidates, shares, strict=True)
        if part
    )
    wanted = plan.estimated_tables
    covered = all(any(set(table) <= set(each.columns) for each in optimal) for table in wanted)
    better = covered and total_variance(plan, optimal, wanted) < total_variance(plan, direct, wanted)
    best, joint = optimal if better else direct, allocate_directly(plan)
    if len(joint) > 1:
        return best
    return joint if _is_better(plan, joint, best, wanted, discrete=True) else best


def _candidates(plan: Plan, measured: Sequence[Columns]) -> list[Columns]:
    """Return maximal tables, their common parts, and the table of all columns if it can be written down."""
    tables = maximal(plan.estimated_tables)
    common = {tuple(sorted(set(a) & set(b))) for a, b in combinations(tables, 2)} - {()}
    everything = tuple(sorted(plan.released))
    joint = [everything] if _is_small(plan, everything) else []
    wanted = [tuple(sorted(table)) for table in plan.estimated_tables] if plan.weights else []
    return sorted({*tables, *maximal([*plan.estimated_tables, *measured]), *measured, *common, *joint, *wanted})


def _least_variance(plan: Plan, candidates: Sequence[Columns], start: Sequence[float]) -> Floats:
    """Return weights of `candidates`, the largest 1, by which dividing ε gives the least total variance found."""
    from scipy.optimize import minimize  # here, since it takes long to load and few plans need it

    variance = VarianceOfShares.of(plan, candidates)

    def log_variance(logits: Floats) -> tuple[float, Floats]:
        parts = np.exp(logits - logits.max())
        parts /= parts.sum()
        total, slope = variance.at(parts)
        return math.log(total), (parts * (slope - slope @ parts)) / total

    starts = (np.log(start), np.zeros(len(candidates)))
    searches = (minimize(log_variance, at, jac=True, method="L-BFGS-B") for at in starts)
    logits = min(searches, key=lambda search: search.fun).x
    relative: Floats = np.exp(logits - logits.max())
    return relative


def divide_over_tallies(plan: Plan) -> tuple[Fraction, ...]:
    """Return the part of ε of each tally of `plan` (`spec.tallies`); they add up to ε exactly.

    If A is the total variance of a tally's tables at ε = 1, times their weights, that of all tables is Σ A/ε² over the
    parts. It is least with parts in proportion to the cube roots of A, which are rounded to thousandths.
    """
    roots = [
        root_of_tally(plan, tally.plan, allocate_directly(tally.plan.at(1), discrete=False)) for tally in plan.tallies
    ]
    return tuple(plan.epsilon * root / sum(roots) for root in roots)
