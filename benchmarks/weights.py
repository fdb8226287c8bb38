"""Measure what a weight changes, and one plan instead of two: predicted and drawn errors.

1. Three tables in a ring, and a small table within a large one, the first of weight 1, 3 and 10, under each strategy:
   the root mean square error of a published estimate, as `predict` tells it before (for `direct` and `optimised`) and
   as it is over all cells and draws.
2. A table for ranges beside two others, at the same total ε as two plans of their own, with half of ε each or with
   the parts that the one plan has: errors of ranges (of all sums from the first cell on), of the cells of the other
   tables, and of the total, all of the whole counts; and by how much the two publications disagree.

3. How many cells, measured one by one, have the noise of a range: by this much more, the cells of a table for ranges
   count where ε is divided.

    python benchmarks/weights.py
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

sys.path.insert(0, str(Path(__file__).parent.parent))  # the engine beside this folder, wherever this is run

from dpengine import Plan
from dpengine.array_types import Columns, Floats
from dpengine.estimate.error_distribution import least_squares
from dpengine.estimate.estimates import derive_estimates
from dpengine.measure.strategy import decide
from dpengine.measure.strategy_base import Strategy
from dpengine.results.mock_table import mock_counts
from dpengine.results.result import Result, conclude

DRAWS = 30
SEX = {"name": "sex", "kind": "category", "values": ["f", "m"]}
AGE = {"name": "age", "kind": "number", "edges": list(range(0, 501))}
REGION = {"name": "region", "kind": "category", "values": [f"r{k}" for k in range(40)]}
TRADE = {"name": "trade", "kind": "category", "values": [f"t{k}" for k in range(20)]}
RANGED: dict[str, Any] = {"columns": ["age", "sex"], "ranges": True}
OTHERS: list[Any] = [["region", "sex"], ["region", "trade"]]


def plan_of(tables: Sequence[Any], epsilon: object = "0.5", strategy: str = "auto") -> Plan:
    columns = [SEX, AGE, REGION, TRADE]
    return Plan(dataset="benchmark", epsilon=epsilon, rows_about=50_000, columns=columns, tables=list(tables),
                strategy=strategy)  # fmt: skip


def drawn(strategy: Strategy) -> Result:
    measured = strategy.measure(lambda marginals: [mock_counts(strategy.plan, each) for each in marginals])
    return conclude(strategy.plan, measured)


def rms(errors: Sequence[Floats]) -> float:
    return float(np.sqrt(np.mean(np.concatenate([each.ravel() for each in errors]) ** 2)))


def of_estimates(plan: Plan, tables: Sequence[Columns]) -> list[tuple[float, float]]:
    """Return, for each table, the root mean square error of an estimate: predicted (or NaN), and as drawn."""
    strategy = decide(plan)
    off: dict[Columns, list[Floats]] = {table: [] for table in tables}
    for _ in range(DRAWS):
        found = strategy.measure(lambda marginals: [mock_counts(strategy.plan, each) for each in marginals])
        estimates = derive_estimates(strategy.plan, found)
        for table in tables:
            off[table].append(estimates.estimate(table) - mock_counts(plan, table))
    told = [np.nan] * len(tables)
    if strategy.closed_form:
        squares = least_squares(plan, strategy.allocations)
        told = [squares.variance(table) ** 0.5 for table in tables]
    return [(before, rms(off[table])) for before, table in zip(told, tables, strict=True)]


def weights() -> pd.DataFrame:
    """Return the errors of the weighted table and of the other ones, by strategy and weight."""
    cases: dict[str, list[Any]] = {
        "ring": [["region", "trade"], ["trade", "sex"], ["region", "sex"]],
        "small in large": [["trade"], ["region", "trade", "sex"]],
    }
    rows = []
    for case, (first, *others) in cases.items():
        for strategy in ("direct", "optimised", "adaptive"):
            for weight in (1, 3, 10):
                plan = plan_of([{"columns": first, "weight": weight}, *others], strategy=strategy)
                heavy, light = of_estimates(plan, [tuple(first), tuple(others[-1])])
                rows.append((case, strategy, weight, *heavy, *light))
    names = ["tables", "strategy", "weight", "weighted, told", "weighted, drawn", "last, told", "last, drawn"]
    return pd.DataFrame(rows, columns=names).round(2)


def ranges() -> pd.DataFrame:
    """Return the errors of whole counts of one plan, and of two plans with the same ε together."""
    both = plan_of([RANGED, *OTHERS])
    boxes = decide(both).blank().boxes
    assert boxes is not None, "the table for ranges is measured in boxes"
    plans = {
        "one plan": [both],
        "two plans, half of ε each": [plan_of([RANGED], "0.25"), plan_of(OTHERS, "0.25")],
        "two plans, the same parts": [plan_of([RANGED], boxes.epsilon), plan_of(OTHERS, both.epsilon - boxes.epsilon)],
    }
    names = ("ranges", "region × sex", "region × trade", "total", "apart")
    rows = []
    for name, halves in plans.items():
        ways = [decide(each) for each in halves]
        off: dict[str, list[Floats]] = {each: [] for each in names}
        for _ in range(DRAWS):
            made = [drawn(way) for way in ways]
            first, last = made[0], made[-1]
            wrong = first.counts(("age", "sex")) - mock_counts(halves[0], ("age", "sex"))
            off["ranges"].append(np.cumsum(wrong, axis=0))
            for table in map(tuple, OTHERS):
                off[" × ".join(table)].append(last.counts(table) - mock_counts(halves[-1], table))
            off["total"].append(last.counts(()) - mock_counts(halves[-1], ()))
            off["apart"].append(first.counts(("age", "sex")).sum(axis=0) - last.counts(("region", "sex")).sum(axis=0))
        rows.append((name, *(rms(each) for each in off.values())))
    return pd.DataFrame(rows, columns=["", *names]).round(2)


def noise_of_ranges() -> pd.DataFrame:
    """Return how many cells, measured one by one with the same ε, have the noise of a range measured in boxes."""
    random, rows = np.random.default_rng(0), []
    for cells, sexes, people, epsilon in product((100, 500, 4000), (1, 2), (10_000, 1_000_000), ("0.05", "0.3", "2")):
        columns = [AGE | {"edges": list(range(cells + 1)), "other": False, "missing": False}, SEX]
        table = ["age", "sex"][:sexes]
        plan = Plan(dataset="benchmark", epsilon=epsilon, rows_about=people, columns=columns,
                    tables=[{"columns": table, "ranges": True}], strategy="adaptive")  # fmt: skip
        strategy, exact, squares = decide(plan), mock_counts(plan, tuple(table)), []
        for _ in range(DRAWS // 2):
            estimates = derive_estimates(strategy.plan, strategy.measure(lambda _marginals, exact=exact: [exact]))
            wrong = np.cumsum(estimates.estimate(tuple(table)) - exact, axis=0)
            first, last = random.integers(0, cells, (2, 300))
            squares.append(float(((wrong[first] - wrong[last]) ** 2).mean()))
        rows.append((cells, sexes, people, epsilon, float(np.mean(squares)) * float(epsilon) ** 2 / 2))
    return pd.DataFrame(rows, columns=["ages", "sexes", "people", "epsilon", "cells of the same noise"]).round(1)


def main() -> None:
    """Print the tables."""
    for found in (weights(), ranges(), noise_of_ranges()):
        sys.stdout.write(f"{found.to_string(index=False)}\n\n")


if __name__ == "__main__":
    main()
