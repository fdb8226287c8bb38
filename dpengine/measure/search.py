"""Measure the distribution of a column's values before its tables; its cells are derived from this alone.

A release of a plan with found cells has two stages, which one charge pays for. First each such column is measured over
its declared universe, with its share of ε: for bins, the steps of its range, in boxes that grow where there are people
(`measure.box_measurement`); for the upper bound of an amount, the cells between its candidates, each by itself; for
values, all keys that it may have, but only those with the largest noisy numbers are shown (`noise.sparse`). Then the
cells follow from these noisy counts (`estimate.found_cells`), and the tables in these cells are measured with the rest
of ε.

The whole is ε-differentially private by adaptive composition (Dwork & Roth 2014, Theorem 3.16): whatever the first
stage returned, the second one is `Plan.epsilon_for_tables`-differentially private for the cells that follow from it,
and the first stage costs the shares. The universe, the shares and the rule from noisy counts to cells are public.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TypeAlias

import numpy as np

from dpengine.array_types import Ints
from dpengine.marginals.measurement import Boxes, FoundKeys, Search
from dpengine.measure.box_measurement import blank_boxes, measure_boxes
from dpengine.noise.laplace import perturb
from dpengine.noise.sparse import sparse_histogram
from dpengine.spec.domain import Amount, Category, Number
from dpengine.spec.numeric.amount_steps import up_to_bounds
from dpengine.spec.plan import Plan

__all__ = ["Exact", "blank_searches", "search"]

Exact: TypeAlias = "Ints | tuple[Ints, Ints]"  # rows of each step; or places of keys with rows, and their rows


def search(plan: Plan, counts: Sequence[Exact]) -> tuple[Search, ...]:
    """Measure the columns of `plan.found_columns`, each with its share of ε.

    `counts` are exact, one entry for each of these columns: the rows in each step of its range; or the places of the
    keys that have rows, in increasing order, and their rows. One person has at most `plan.unit.rows` rows.
    """
    return tuple(_search(plan, name, exact) for name, exact in zip(plan.found_columns, counts, strict=True))


def _search(plan: Plan, name: str, exact: Exact) -> Search:
    if isinstance(exact, tuple):
        return _keys(_no_keys(plan, name), most=_most(plan, name), exact=exact)
    share = plan.epsilon * plan.column(name).share
    if isinstance(plan.column(name), Amount):
        return _cells(plan, name, perturb(exact, plan.unit.rows / share))
    return measure_boxes((name,), [(0, exact.size)], exact, share, plan.unit.rows, for_bins=True)


def _cells(plan: Plan, name: str, values: Ints) -> Boxes:
    """Return noisy counts of disjoint cells: a row is in one, so each is measured with all of the share."""
    return Boxes.of_cells(name, plan.epsilon * plan.column(name).share, plan.unit.rows, values)


def _keys(none: FoundKeys, most: int, exact: tuple[Ints, Ints]) -> FoundKeys:
    """Add noise to all keys of the universe, and keep the `most` shown keys with the largest noisy counts.

    Ties go to the first keys. The selection follows from what is shown, so it costs nothing.
    """
    places, values = sparse_histogram(*exact, none.universe, none.scale, none.least)
    largest = np.sort(np.argsort(-values, kind="stable")[:most])
    return replace(none, places=places[largest], values=values[largest])


def blank_searches(plan: Plan) -> tuple[Search, ...]:
    """Return a possible result of `search` with as many keys as possible, without data or noise, for dry runs."""
    return tuple(_blank(plan, name) for name in plan.found_columns)


def _blank(plan: Plan, name: str) -> Search:
    column = plan.column(name)
    if isinstance(column, Number):
        shape = (column.steps.declared_size,)
        return blank_boxes((name,), shape, plan.epsilon * column.share, plan.unit.rows)
    if isinstance(column, Amount):
        return _cells(plan, name, np.zeros(up_to_bounds(column).declared_size, dtype=np.int64))
    none = _no_keys(plan, name)
    places = np.arange(min(_most(plan, name), none.universe), dtype=np.int64)
    return replace(none, places=places, values=np.full_like(places, none.least))


def _no_keys(plan: Plan, name: str) -> FoundKeys:
    column = plan.column(name)
    assert isinstance(column, Category), "bins or values are found"
    assert column.among is not None, "a column whose values are found"
    return FoundKeys.none(name, column.among, plan.epsilon, plan.unit.rows)


def _most(plan: Plan, name: str) -> int:
    column = plan.column(name)
    assert isinstance(column, Category), "bins or values are found"
    return column.among.most if column.among is not None else 0
