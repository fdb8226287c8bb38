"""Compare ways to measure tables at two levels of a column that stand beside different columns, on public tables.

    python benchmarks/levels_beside.py bank --draws 4      # `bank` as written by `python benchmarks/bank.py save bank`

Plans are drawn at random from each table: a column of 8 to 400 cells, in groups of 2 to 6 of these, published with one
column, as groups with another, and maybe by itself. Shown is the L1 distance of whole counts to the truth as a part of
all rows, averaged over the tables of a plan; of *auto*, of levels crossed with all other columns, and of a plan of its
own for each table with an equal part of ε; and the share of the cells of *auto* that are within their intervals.
"""

from __future__ import annotations

import argparse
import statistics
import sys
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parent.parent))  # the engine beside this folder, wherever this is run

from dpengine import Plan
from dpengine.measure.strategy import Levels, decide
from dpengine.measure.strategy_base import Strategy
from dpengine.results.result import Result, conclude

EPSILONS = ("0.1", "1", "3")


def plan_of(sizes: dict[str, int], epsilon: str, random: np.random.Generator) -> Plan | None:
    """Return a random plan over a table with columns of these sizes; None if it has too few."""
    fine = [name for name, size in sizes.items() if 8 <= size <= 400]
    few = [name for name, size in sizes.items() if 2 <= size <= 20]
    if not fine or len(few) < 3:
        return None
    name = str(random.choice(fine))
    a, b = map(str, random.choice([each for each in few if each != name], 2, replace=False))
    levels = {"wide": int(random.integers(2, 7))}
    columns: list[dict[str, Any]] = [
        {"name": each, "kind": "number", "edges": list(range(sizes[each] + 1)), "other": False, "missing": False}
        for each in sorted({name, a, b})
    ]
    columns = [each | ({"levels": levels} if each["name"] == name else {}) for each in columns]
    some = [[[name], [f"{name}@wide", a]], [[name, a], [f"{name}@wide", b]], [[name], [name, a], [f"{name}@wide", b]]]
    return Plan(dataset="b", epsilon=epsilon, columns=columns, tables=some[int(random.integers(3))])


def results(strategy: Strategy, codes: np.ndarray, draws: int) -> list[Result]:
    """Return some releases of a strategy."""
    exact = [_counted(strategy.plan, codes, table) for table in strategy.marginals]
    return [conclude(strategy.plan, strategy.measure(lambda _marginals: exact)) for _ in range(draws)]


def _counted(plan: Plan, codes: np.ndarray, table: tuple[str, ...]) -> np.ndarray:
    """Return the exact counts of a table, whose columns may be at a coarser level."""
    declared = plan.resolution.declared_columns(table)
    cells = codes[:, [int(name[1:]) for name in declared]]
    shape = [plan.column(name).size for name in declared]
    counts = np.bincount(np.ravel_multi_index(cells.T, shape), minlength=int(np.prod(shape))).reshape(shape)
    return plan.resolution.coarsen(counts.astype(np.int64), declared, table)


def error(made: list[Result], codes: np.ndarray) -> float:
    """Return the mean L1 distance of whole counts to the truth, as a part of all rows."""
    plan = made[0].plan
    truth = {table: _counted(plan, codes, table) for table in plan.marginals}
    off = [float(np.abs(each.counts(table) - truth[table]).sum()) for each in made for table in truth]
    return statistics.mean(off) / len(codes)


def covered(made: list[Result], codes: np.ndarray) -> float:
    """Return the share of cells that are within their intervals."""
    shares = []
    for each in made:
        for table in each.plan.marginals:
            numbers, truth = each.numbers(table), _counted(each.plan, codes, table).ravel()
            shares.append(float(((numbers["low"].ravel() <= truth) & (truth <= numbers["high"].ravel())).mean()))
    return statistics.mean(shares)


def alone(plan: Plan, codes: np.ndarray, draws: int) -> float:
    """Return the error if each table has a plan of its own with an equal part of ε."""
    part = Fraction(plan.epsilon) / len(plan.marginals)
    plans = [plan.model_copy(update={"epsilon": part, "tables": (table,)}) for table in plan.marginals]
    plans = [Plan(**each.to_dict() | {"epsilon": str(part)}) for each in plans]
    return statistics.mean(error(results(decide(each), codes, draws), codes) for each in plans)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("bank", type=Path)
    parser.add_argument("--draws", type=int, default=4)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    random = np.random.default_rng(given.seed)
    for epsilon in EPSILONS:
        errors: list[tuple[float, float, float, float]] = []
        for path in sorted(given.bank.glob("*.npz")):
            with np.load(path) as saved:
                codes, sizes = saved["codes"], {f"c{k}": int(size) for k, size in enumerate(saved["sizes"])}
            plan = plan_of(sizes, epsilon, random)
            if plan is None:
                continue
            made = results(decide(plan), codes, given.draws)
            ways = (made, results(Levels(plan), codes, given.draws))
            of_ways = [error(each, codes) for each in ways]
            errors.append((*of_ways, alone(plan, codes, given.draws), covered(made, codes)))
        auto, crossed, apart, shares = map(np.array, zip(*errors, strict=True))
        least = 1e-5  # errors below are nothing
        for name, other in (("levels crossed with all other columns", crossed), ("a plan for each table", apart)):
            ratios = (auto + least) / (other + least)
            print(
                f"ε = {epsilon:4} {len(ratios)} plans: auto ÷ {name}: {statistics.geometric_mean(ratios):.2f} "
                f"(smallest {ratios.min():.2f}, largest {ratios.max():.2f}, above 1.1: {(ratios > 1.1).sum()})"
            )
        print(f"           cells within their intervals: {shares.mean():.3f}")


if __name__ == "__main__":
    main()
