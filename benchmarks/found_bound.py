"""Compare means by group whose upper bound is found with those of a stated bound.

    python benchmarks/found_bound.py            # all settings, some minutes
    python benchmarks/found_bound.py --brief    # few of them

Measured and estimated as in a release are skewed (lognormal), even (uniform), two-valued and heavy-tailed (Pareto 2)
amounts, in 1, 10 and 50 groups, of 1,000 and 100,000 rows, at ε = 0.1, 1 and 10. The stated upper end is 10 or 1,000
times the 99.9th percentile. For each way, the root of the mean squared error of all means in all runs is divided by
that of

    best      the fixed bound that is best for these rows, chosen with hindsight, with all of ε
    known     the 99.9th percentile as bound, as if it were public, with all of ε
    stated    the stated end, with all of ε

and the geometric mean over settings is printed. `EMPTY`, `MOST_ABOVE` and the usual share were set on other amounts:
exponential, lognormal of two other spreads, Pareto 3, triangular, gamma, Poisson, two normal ones, and two thirds 0.
"""

from __future__ import annotations

import itertools
import math
import sys
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import numpy as np
import pandas as pd

sys.path.insert(0, str(Path(__file__).parent.parent))

from dpengine import Plan
from dpengine.array_types import Floats, Ints
from dpengine.counting.count import count
from dpengine.counting.search_counts import count_steps
from dpengine.estimate.amounts import means
from dpengine.estimate.found_cells import resolve
from dpengine.measure.search import Exact, search
from dpengine.measure.strategy import resolved
from dpengine.results.result import conclude
from dpengine.sources.open import open_table
from dpengine.sources.table import Table

RUNS = 20
STEPS = 1_000  # to the 99.9th percentile
GENERATOR = np.random.default_rng(1)
AMOUNTS: dict[str, Callable[[int], Floats]] = {
    "lognormal": lambda n: GENERATOR.lognormal(0, 1, n),
    "uniform": lambda n: GENERATOR.random(n),
    "two-valued": lambda n: np.where(GENERATOR.random(n) < 0.01, 100.0, 1.0),
    "Pareto 2": lambda n: 1 + GENERATOR.pareto(2, n),
}


class Setting:
    """Rows of one amount in some groups, on the steps of a grid whose step is 1."""

    def __init__(self, kind: str, rows: int, groups: int, wide: int) -> None:
        percentile = float(np.quantile(AMOUNTS[kind](1_000_000), 0.999))
        self.end = wide * STEPS
        self.values = np.clip(np.rint(AMOUNTS[kind](rows) / percentile * STEPS), 0, self.end)
        self.group = GENERATOR.permutation(np.arange(rows) % groups)
        self.groups = groups
        self.counts: dict[Decimal, list[Ints]] = {}  # exact, by upper bound
        self.frame = pd.DataFrame({"pay": self.values, "group": np.array([f"g{k}" for k in range(groups)])[self.group]})

    def means(self, bound: float = math.inf) -> Floats:
        """The exact mean of each group, with values above `bound` counted as it."""
        sums = np.bincount(self.group, np.minimum(self.values, bound), self.groups)
        return sums / np.bincount(self.group, minlength=self.groups)

    def best(self, epsilon: float) -> int:
        """The bound with the least expected error: that of clamping, and noise of both cells of each group."""
        quantiles = np.quantile(self.values, 1 - np.geomspace(0.3 / self.values.size, 0.9, 60))
        bounds = np.unique(np.ceil(np.maximum([*quantiles, self.values.max()], 10)))
        rows = self.values.size / self.groups

        def error(bound: float) -> float:
            part = self.means(bound).mean() / bound
            noise = 2 * (bound / rows / epsilon) ** 2 * (part**2 + (1 - part) ** 2)
            return noise + float(((self.means(bound) - self.means()) ** 2).mean())

        return int(min(bounds, key=error))

    def errors(self, high: int, epsilon: float, *, found: bool = False) -> tuple[Floats, list[float]]:
        """Publish means by group, and return their errors in all runs, and the upper bounds."""
        pay = {"name": "pay", "kind": "amount", "from": 0, "to": high, "missing": False}
        group = {"name": "group", "kind": "category", "values": [f"g{k}" for k in range(self.groups)], "other": False,
                 "missing": False}  # fmt: skip
        columns = [pay | ({"upper": "found"} if found else {}), group]
        tables = [{"columns": ["group"], "mean": ["pay"]}]
        plan = Plan(dataset="bench", epsilon=str(epsilon), columns=columns, tables=tables, strategy="direct")
        with open_table(self.frame) as table:
            steps = count_steps(table, plan, truncation_key=b"")
            made = [self._means_once(table, plan, steps) for _run in range(RUNS)]
        return np.array([means - self.means() for means, _bound in made]).ravel(), [bound for _means, bound in made]

    def _means_once(self, table: Table, plan: Plan, steps: Sequence[Exact]) -> tuple[Floats, float]:
        """Measure and estimate as a release does, and return the means and the upper bound."""
        searches = search(plan, steps)
        plan = resolve(plan, searches)
        strategy, high = resolved(plan), plan.amount("pay").high
        if high not in self.counts:
            self.counts[high] = count(table, plan, strategy.marginals, truncation_key=b"")
        counts = self.counts[high]
        measured = replace(strategy.measure(lambda marginals: counts), searches=searches)
        (of_group,) = (each for each in conclude(plan, measured).amounts if each.columns == ("group",))
        everybody = of_group.project(())
        return means(of_group, everybody), float(high)


def root(errors: Floats) -> float:
    return float(np.sqrt((errors**2).mean()))


def geometric(ratios: list[float]) -> float:
    return float(np.exp(np.mean(np.log(ratios))))


def settings(*, brief: bool) -> list[tuple[str, int, int, int, float]]:
    axes = ([1_000, 100_000], [10], [1_000], [1.0]) if brief else (
        [1_000, 100_000], [1, 10, 50], [10, 1_000], [0.1, 1.0, 10.0])  # fmt: skip
    return list(itertools.product(AMOUNTS, *axes))


def main() -> None:
    """Print the ratios of each setting, and their geometric means by each axis."""
    ratios: defaultdict[str, list[list[float]]] = defaultdict(list)
    print(f"{'amounts':10} {'rows':>7} groups {'wide':>5} {'ε':>5} {'bound':>8} {'best':>6}  ÷ best ÷ known stated ÷")
    for kind, rows, groups, wide, epsilon in settings(brief="--brief" in sys.argv[1:]):
        setting = Setting(kind, rows, groups, wide)
        best = setting.best(epsilon)
        errors, bounds = setting.errors(setting.end, epsilon, found=True)
        found = root(errors)
        others = [root(setting.errors(high, epsilon)[0]) for high in (best, STEPS, setting.end)]
        one = [found / others[0], found / others[1], others[2] / found]
        size = "ε · rows at least 1,000" if epsilon * rows >= 1000 else "ε · rows = 100"
        for key in (kind, f"{rows:,} rows", f"{groups} groups", f"{wide} times", f"ε = {epsilon:g}", size, "all"):
            ratios[key].append(one)
        print(f"{kind:10} {rows:7,} {groups:6} {wide:5,} {epsilon:5g} {np.median(bounds):8,.0f} {best:6,}  "
              + " ".join(f"{each:7.2f}" for each in one), flush=True)  # fmt: skip
    for key, each in ratios.items():
        means = [geometric([one[k] for one in each]) for k in range(3)]
        most = max(one[0] for one in each), max(one[1] for one in each)
        print(f"{key:28} ÷ best {means[0]:5.2f} (at most {most[0]:.1f})  ÷ known {means[1]:5.2f} (at most "
              f"{most[1]:.1f})  stated ÷ {means[2]:8.2f}")  # fmt: skip


if __name__ == "__main__":
    main()
