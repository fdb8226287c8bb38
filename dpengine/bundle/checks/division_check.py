"""Check the shares of ε in a release file: they follow from the plan and from the set of measured tables.

* Among tables that are measured as they are, and among the parts of a plan, every version divides it in proportion to
  the cube roots of weighted cells (`marginals.division`), so each share is computed again.
* *Optimised* shares are those of a numerical search, which a later version may do better. Wherever such a search ends,
  moving a little ε from one table to another gains nothing.
* The same holds for levels that are crossed, with shares that are whole thousandths.
* Tables of rows and of persons have shares in proportion to the cube roots of their total variances, up to rounding.

Which tables were measured is not checked, for a later version may choose better ones; nor is anything that depends on
noisy answers.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from fractions import Fraction

import numpy as np

from dpengine.array_types import Columns
from dpengine.bundle.estimator import Estimator, estimator
from dpengine.estimate.source_part import allocated_to, direct_marginals
from dpengine.exact import exact_text
from dpengine.marginals.division import divided_by_cells, shares_of_amounts, shares_of_parts
from dpengine.marginals.level_division import PARTS, is_least, weighted_cells
from dpengine.marginals.measurement import Allocation
from dpengine.marginals.plan_levels import measured_at, measures_levels, of_counts
from dpengine.marginals.plan_model import modelled
from dpengine.marginals.total_variance import VarianceOfShares, root_of_tally
from dpengine.spec.plan import Plan

__all__ = ["wrong_division", "wrong_parts"]

OF_A_SEARCH = 0.05  # part by which a share may be off the optimum; searches end within 0.01 (21,000 plans)
ROUNDED = 0.002  # part by which the share of a tally may be off, since it is rounded
_NOT_LEAST = "manifest.json: ε is not divided among {tables} so that the error is least"

Shares = dict[tuple[int, frozenset[str]], Fraction]


def wrong_division(
    plan: Plan, marginals: Sequence[Allocation], choices: Sequence[tuple[Columns, Fraction]]
) -> Iterator[str]:
    """Yield the measured `marginals` whose share of ε is not the one that every version gives them.

    `choices` are the columns of each choice of quantiles and its ε, which is part of the share of the first table that
    holds these columns.
    """
    spent = _with_choices(marginals, choices)
    kind = estimator(plan)
    crossed = bool(plan.resolution.levels) and measures_levels(plan, marginals)
    shares: Shares = {}
    if kind is Estimator.MODEL or (kind is Estimator.LEAST_SQUARES and crossed):
        shares = {(0, frozenset(table)): share for table, share in shares_of_amounts(plan).items()}
    elif kind is Estimator.LEAST_SQUARES:
        shares = _shares_by_cells(plan, marginals, spent)
    wrong = [
        (each, shares[key])
        for each, epsilon in zip(marginals, spent, strict=True)
        if epsilon != shares.get(key := (each.tally, frozenset(each.columns)), epsilon)
    ]
    if kind is Estimator.LEAST_SQUARES and plan.strategy == "optimised" and not crossed and wrong:
        if not _is_optimal(plan, [each.columns for each in marginals], spent):
            yield _NOT_LEAST.format(tables="tables")
        return
    for each, share in wrong:
        yield f"manifest.json: the share of ε of {' × '.join(each.columns)} is {exact_text(share)} in every version"
    if kind is Estimator.LEAST_SQUARES and crossed:
        yield from _wrong_levels(plan, marginals)
    yield from _wrong_tallies(plan, marginals)


def _with_choices(marginals: Sequence[Allocation], choices: Sequence[tuple[Columns, Fraction]]) -> list[Fraction]:
    """Return the ε of each table, with that of the `choices` whose columns it is the first to hold."""
    spent = [each.epsilon for each in marginals]
    for columns, epsilon in choices:
        if (place := next((k for k, each in enumerate(marginals) if {*columns} <= {*each.columns}), None)) is not None:
            spent[place] += epsilon
    return spent


def wrong_parts(
    plan: Plan, marginals: Sequence[Allocation], boxes: Sequence[tuple[Columns, Fraction]]
) -> Iterator[str]:
    """Yield the parts of a plan whose share of ε is not the one that every version gives them.

    `boxes` are the columns of each table for ranges, and its ε. What is measured in each part is checked before.
    """
    if not plan.in_parts:
        return
    levels = [
        [each for each in marginals if allocated_to(plan, each.columns) == k] for k in range(len(plan.parts.levels))
    ]
    cells = []
    for part, in_part in zip(plan.parts.levels, levels, strict=True):
        yield from _wrong_levels(part, in_part)
        spent = _spent(in_part)
        cells.append(weighted_cells(part, {each.columns: float(spent / each.epsilon) for each in in_part}))
    direct = direct_marginals(plan, [each.columns for each in marginals])
    shares = shares_of_parts(plan, cells, direct, modelled(plan))
    by_table = {frozenset(table): epsilon for table, epsilon in boxes}
    stated_shares = [by_table[frozenset(table)] for table in plan.parts.ranged]
    stated_shares += map(_spent, levels)
    stated_shares += [each.epsilon for each in marginals if each.columns in direct]
    of_levels = [f"levels of {part.resolution.column}" for part in plan.parts.levels]
    names = [*map(" × ".join, plan.parts.ranged), *of_levels, *map(" × ".join, direct)]
    for name, epsilon, share in zip(names, stated_shares, shares, strict=False):  # the rest, if any, is the model's
        if epsilon != share:
            yield f"manifest.json: the share of ε of {name} is {exact_text(share)} in every version"


def _shares_by_cells(plan: Plan, marginals: Sequence[Allocation], spent: Sequence[Fraction]) -> Shares:
    """Return the shares of tables that are measured as they are, by tally and columns, of all that is `spent`."""
    shares: Shares = {}
    for k, tally in enumerate(plan.tallies):
        in_tally = [each for each in marginals if each.tally == k]
        total = sum((share for each, share in zip(marginals, spent, strict=True) if each.tally == k), Fraction(0))
        divided = _divided(tally.plan, in_tally, total)
        shares |= {(k, frozenset(each.columns)): share for each, share in zip(in_tally, divided, strict=True)}
    return shares


def _spent(measured: Sequence[Allocation]) -> Fraction:
    return sum((each.epsilon for each in measured), Fraction(0))


def _divided(plan: Plan, measured: Sequence[Allocation], epsilon: Fraction) -> list[Fraction]:
    tables = [each.columns for each in measured]
    contained = [each for each in tables if any({*each} < {*other} for other in tables)]
    return divided_by_cells(plan, tables, contained, epsilon)


def _is_optimal(plan: Plan, tables: Sequence[Columns], spent: Sequence[Fraction]) -> bool:
    """Return whether moving ε between measured `tables`, given the ε `spent` on each, gains next to nothing.

    The variance V is of degree −2 in the shares, so where it is least for a given sum, e·∂V/∂e = −2·V·e for each share
    e of this sum.
    """
    total = sum(spent, Fraction(0))
    parts = np.array([float(each / total) for each in spent])
    if not all(any({*table} <= {*each} for each in tables) for table in plan.estimated_tables):
        return True  # which is reported where it is checked that all tables were measured
    with np.errstate(all="ignore"):
        variance, slope = VarianceOfShares.of(plan, tables).at(parts)
        return bool((np.abs(slope / (-2 * variance) - 1) <= OF_A_SEARCH).all())


def _wrong_levels(plan: Plan, marginals: Sequence[Allocation]) -> Iterator[str]:
    """Check that levels have thousandths of their ε, and that moving one to another level would not help."""
    of_level = {each.columns: each.epsilon for each in of_counts(plan, marginals)}
    total = sum(of_level.values(), Fraction(0))
    parts = [PARTS * of_level.get(columns, Fraction(0)) / total for columns in measured_at(plan)]
    if any(part.denominator > 1 for part in parts) or not is_least(plan, [*map(int, parts)]):
        yield _NOT_LEAST.format(tables=f"levels of {plan.resolution.column}")


def _wrong_tallies(plan: Plan, marginals: Sequence[Allocation]) -> Iterator[str]:
    """Check the shares of tables of rows and of persons, given how each of these tables was measured."""
    if len(plan.tallies) < 2:
        return
    roots, spent = [], []
    for k, tally in enumerate(plan.tallies):
        in_tally = [each for each in marginals if each.tally == k]
        if not in_tally:
            return  # which is reported where it is checked that all tables were measured
        at_one = tally.plan.at(1)
        divided = _divided(at_one, in_tally, Fraction(1))
        measured = [
            Allocation(each.columns, share, each.sensitivity, each.grain)
            for each, share in zip(in_tally, divided, strict=True)
        ]
        roots.append(root_of_tally(plan, tally.plan, measured))
        spent.append(_spent(in_tally))
    shares = [float(plan.epsilon * root / sum(roots)) for root in roots]
    if not all(math.isclose(epsilon, share, rel_tol=ROUNDED) for epsilon, share in zip(spent, shares, strict=True)):
        yield _NOT_LEAST.format(tables="tables of rows and of persons")
