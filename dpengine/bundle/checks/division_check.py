"""Check how ε was divided among tables that were measured as they are, which follows from the plan alone.

Every version divides it in proportion to the cube roots of weighted cells (`marginals.division`). So whichever tables
were measured, the share of each is computed again. Which tables were measured is not: a later version may choose better
ones. Nor is what a numerical search found (*optimised*, levels that are crossed), how much of ε tables of rows have
beside those of persons, and anything that depends on noisy answers.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction

from dpengine.array_types import Columns
from dpengine.bundle.estimator import Estimator, estimator
from dpengine.exact import exact_text
from dpengine.marginals.division import divided_by_cells, shares_of_amounts
from dpengine.marginals.measurement import Allocation
from dpengine.marginals.plan_levels import measures_levels
from dpengine.spec.plan import Plan

__all__ = ["wrong_division"]


def wrong_division(
    plan: Plan, whole: Sequence[Allocation], choices: Sequence[tuple[Columns, Fraction]]
) -> Iterator[str]:
    """Yield which measured tables, the `whole` of them, have another share of ε than any version gives them.

    `choices` are the columns of each choice of quantiles and its ε, which is part of the share of the first table that
    holds these columns.
    """
    spent = [each.epsilon for each in whole]
    for columns, epsilon in choices:
        if (place := next((k for k, each in enumerate(whole) if {*columns} <= {*each.columns}), None)) is not None:
            spent[place] += epsilon
    shares = _shares(plan, whole)
    for each, epsilon in zip(whole, spent, strict=True):
        share = shares.get((each.tally, frozenset(each.columns)), epsilon)
        if epsilon != share:
            name = " × ".join(each.columns)
            yield f"manifest.json: of ε, table {name} has {exact_text(share)} in every version"


def _shares(plan: Plan, whole: Sequence[Allocation]) -> dict[tuple[int, frozenset[str]], Fraction]:
    """Return the shares that follow from the plan, by tally and columns."""
    way = estimator(plan)
    crossed = bool(plan.resolution.levels) and measures_levels(plan, whole)
    if way is Estimator.MODEL or (way is Estimator.LEAST_SQUARES and crossed):
        return {(0, frozenset(table)): share for table, share in shares_of_amounts(plan).items()}
    if way is not Estimator.LEAST_SQUARES or plan.strategy == "optimised":
        return {}
    shares: dict[tuple[int, frozenset[str]], Fraction] = {}
    for k, tally in enumerate(plan.tallies):
        of_tally = [each for each in whole if each.tally == k]
        spent = sum((each.epsilon for each in of_tally), Fraction(0)) if plan.tallied else plan.for_tables
        tables = [each.columns for each in of_tally]
        apart = [each for each in tables if any({*each} < {*other} for other in tables)]
        divided = divided_by_cells(tally.plan, tables, apart, spent)
        shares |= {(k, frozenset(table)): share for table, share in zip(tables, divided, strict=True)}
    return shares
