"""Divide ε over tables that are measured, in proportion to the cube roots of their weighted cells.

The shares follow from the plan and from which tables are measured, so every reader of a release computes them again.
`measure.allocation` says why they are good, and which tables are measured.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from dpengine.array_types import Columns
from dpengine.marginals.graphs import maximal
from dpengine.spec.plan import Plan

__all__ = [
    "ASSUMED_ROWS", "divided_by_cells", "root_of_cells", "shares_of_amounts", "shares_of_parts", "weight_within",
]  # fmt: skip

ASSUMED_ROWS = 10_000  # if a plan does not say how many there are
RANGE = 27  # cells, measured one by one, that have the noise of a range: 12 to 160 of them (benchmarks/weights.py)


def divided_by_cells(
    plan: Plan, tables: Sequence[Columns], apart: Sequence[Columns] = (), epsilon: Fraction | None = None
) -> list[Fraction]:
    """Divide `epsilon`, by default that of all tables of `plan`, in proportion to cube roots, rounded to thousandths.

    A table weighs as much as the heaviest published one within it. Tables `apart` are measured separately, so
    they and their sums do not count in larger tables.
    """
    roots = [root_of_cells(weight_within(plan, table, apart) * plan.cells(table)) for table in tables]
    total = sum(roots)
    whole = plan.epsilon_for_tables if epsilon is None else epsilon
    return [whole * root / total for root in roots]


def shares_of_amounts(plan: Plan) -> dict[Columns, Fraction]:
    """Return the shares of ε for tables with amounts, beside tables of counts for a model.

    They are the shares of `divided_by_cells` if all tables were measured.
    """
    soft = maximal([table for table in plan.estimated_tables if plan.has_amount(table)])
    shares = divided_by_cells(plan, [*soft, *maximal(plan.marginals)]) if soft else []
    return dict(zip(soft, shares, strict=False))


def shares_of_parts(
    plan: Plan, cells_of_levels: Sequence[float], direct: Sequence[Columns], model: Plan | None
) -> list[Fraction]:
    """Return the shares of ε of each ranges table, each set of levels, each direct table, and the model, if any.

    `cells_of_levels` are, for each set of levels, the cells that have the variance of all of its tables
    (`marginals.level_division`). `direct` are the tables that are measured directly, and `model` is the plan of the
    tables on which a model draws.
    """
    parts = plan.parts
    roots = [root_of_cells(RANGE * weight_within(plan, table) * plan.cells(table)) for table in parts.ranged]
    roots += [root_of_cells(_least_weight(plan, part) * cells)
              for part, cells in zip(parts.levels, cells_of_levels, strict=True)]  # fmt: skip
    roots += [root_of_cells(weight_within(plan, table) * plan.cells(table)) for table in direct]
    if model is not None:
        each = (weight_within(plan, table) * plan.cells(table) for table in maximal(model.marginals))
        roots.append(sum(map(root_of_cells, each)))
    return [plan.epsilon_for_tables * root / sum(roots) for root in roots]


def _least_weight(plan: Plan, part: Plan) -> float:
    """Return the smallest weight of the tables of a part; its own weights are relative to this."""
    return float(min(plan.weights[table] for table in part.marginals)) if plan.weights else 1.0


def root_of_cells(cells: float) -> int:
    """Return the cube root of a number of weighted cells, in thousandths: ε is divided in proportion to it."""
    root: float = cells ** (1 / 3)
    return max(1, round(1000 * root))


def weight_within(plan: Plan, table: Columns, apart: Sequence[Columns] = ()) -> float:
    """Return the weight of the heaviest published table within `table`, without those within a smaller one `apart`."""
    if not plan.weights:
        return 1.0
    smaller = [frozenset(each) for each in apart if {*each} < {*table}]
    within = [
        weight
        for published, weight in plan.weights.items()
        if {*published} <= {*table} and not any({*published} <= each for each in smaller)
    ]
    return float(max(within, default=1))
