"""Count how often the intervals of combined cells hold the true number, and how wide they are.

    python benchmarks/combine.py [--releases 5] [--epsilons 0.1,1,10] [--tables census,rand,…] [--numbers 100]

For each table and strategy of benchmarks/replicates.py and each ε: the part of random sums of cells, percentages and
differences (`dpengine.combine`) whose 95 % interval holds the true number, and the median of the half-width over what
95 % of the errors are within. The last lines are of simulated pay, by sector, grade and region: means, sums, and
differences of means.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import numpy as np
import pandas as pd

sys.path.insert(0, str(Path(__file__).parent.parent))  # the engine beside this folder, wherever this is run
sys.path.insert(0, str(Path(__file__).parent))

import accuracy
import replicates

import dpengine as dpe
from dpengine.combine import Combined, Selection, combine
from dpengine.measure.strategy import decide
from dpengine.results.result import Result, payload_of

chance = np.random.default_rng(1)
HIDDEN = 99.999  # points: an interval that says nothing
Truth = Callable[[Selection], float]
Outcome = tuple[Combined, float]


def selection(plan: dpe.Plan, table: tuple[str, ...], most: int = 2) -> dict[str, list[str]]:
    """Random labels of one or two columns of a table."""
    chosen = {}
    for name in chance.permutation([*table])[: chance.integers(1, most + 1)]:
        labels = plan.column(name).labels
        part = chance.random(len(labels)) < chance.choice([0.1, 0.3, 0.6])
        part[chance.integers(len(labels))] = True
        chosen[str(name)] = [label for label, is_in in zip(labels, part, strict=True) if is_in]
    return chosen


def codes_of(plan: dpe.Plan, chosen: Selection) -> dict[str, list[int]]:
    return {name: [plan.column(name).labels.index(label) for label in labels] for name, labels in chosen.items()}


def of_counts(made: Result, truth: Truth, numbers: int) -> Iterator[tuple[str, Outcome]]:
    """Yield combined counts with the true ones."""
    plan = made.plan
    for _ in range(numbers):
        table = plan.marginals[chance.integers(len(plan.marginals))]
        one, other = selection(plan, table), selection(plan, table)
        yield "sum", (combine(made, one), truth(one))
        yield "difference", (combine(made, one, minus=other), truth(one) - truth(other))
        group = {name: labels for name, labels in other.items() if name not in one}
        if whole := truth(group):
            yield "percentage", (combine(made, one, of=group), 100 * truth({**group, **one}) / whole)


def of_pay(epsilon: str, releases: int, numbers: int) -> Iterator[tuple[str, Outcome]]:
    """Yield combined means and sums of simulated pay with the true ones."""
    n = 20_000
    sectors, grades, regions = (chance.choice(size, n, p=chance.dirichlet(np.ones(size))) for size in (12, 5, 8))
    pay = np.clip(chance.lognormal(3.3 + 0.15 * grades + 0.02 * sectors, 0.5), 0, 200).round(2)
    labels = {"sector": sectors, "grade": grades, "region": regions}
    frame = pd.DataFrame({name: [f"{name[0]}{k}" for k in codes] for name, codes in labels.items()} | {"pay": pay})
    columns = [
        {"name": name, "kind": "category", "values": [f"{name[0]}{k}" for k in range(codes.max() + 1)],
         "other": False, "missing": False} for name, codes in labels.items()
    ]  # fmt: skip
    amount = {"name": "pay", "kind": "amount", "from": 0, "to": 200, "step": "0.01", "missing": False}
    tables = [
        {"columns": [*pair], "mean": ["pay"], "sum": ["pay"]} for pair in (("sector", "grade"), ("grade", "region"))
    ]
    plan = dpe.Plan(dataset="pay", epsilon=epsilon, columns=[*columns, amount], tables=tables)
    for _ in range(releases):
        made = dpe.release(frame, plan, dpe.Ledger.in_memory())

        def of(chosen: Selection) -> pd.Series:
            return frame.loc[np.logical_and.reduce([frame[name].isin(of) for name, of in chosen.items()]), "pay"]

        for _ in range(numbers):
            one, other = (selection(plan, plan.marginals[0]) for _ in range(2))
            if len(of(one)) and len(of(other)):
                yield "mean", (combine(made, one, mean="pay"), of(one).mean())
                yield "sum of pay", (combine(made, one, sum="pay"), of(one).sum())
                difference = combine(made, one, minus=other, mean="pay")
                yield "difference of means", (difference, of(one).mean() - of(other).mean())


def line(name: str, outcomes: list[Outcome], widest: float) -> str:
    """Return how often intervals held the truth, and how wide they were."""
    informative = [(each, truth) for each, truth in outcomes if each.high - each.low < widest]
    held = np.mean([each.low - 1e-9 <= truth <= each.high + 1e-9 for each, truth in outcomes])
    ratios = [abs(each.value - truth) / max((each.high - each.low) / 2, 1e-9) for each, truth in informative]
    ratio = 1 / np.quantile(ratios, 0.95) if ratios else np.nan
    silent = 1 - len(informative) / len(outcomes)
    return f"{name} {100 * held:5.1f} % (half-width over error {ratio:4.2f}, says nothing {silent:4.0%})"


def show(what: str, outcomes: Iterable[tuple[str, Outcome]]) -> None:
    by_kind: dict[str, list[Outcome]] = {}
    for kind, outcome in outcomes:
        by_kind.setdefault(kind, []).append(outcome)
    widest = {"percentage": HIDDEN, "mean": 199.99}
    print(what, "; ".join(line(kind, each, widest.get(kind, np.inf)) for kind, each in by_kind.items()), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--releases", type=int, default=5)
    parser.add_argument("--numbers", type=int, default=100)
    parser.add_argument("--epsilons", default="0.1,1,10")
    parser.add_argument("--tables", default="census,rand,classes,independent")
    given = parser.parse_args()
    for epsilon in given.epsilons.split(","):
        for what, (plan, codes, sizes) in replicates.cases(epsilon, {*given.tables.split(",")}):
            way, names = decide(plan), [*sizes]

            def truth(
                chosen: Selection, codes: np.ndarray = codes, plan: dpe.Plan = plan, names: list[str] = names
            ) -> float:
                kept = np.ones(len(codes), dtype=bool)
                for name, places in codes_of(plan, chosen).items():
                    kept &= np.isin(codes[:, names.index(name)], places)
                return float(kept.sum())

            def exact(
                tables: list[list[str]], codes: np.ndarray = codes, sizes: dict[str, int] = sizes
            ) -> list[np.ndarray]:
                return [accuracy.counts(codes, sizes, tuple(each)) for each in tables]

            made = (Result.from_bytes(payload_of(way.plan, way.measure(exact))[2]) for _ in range(given.releases))
            outcomes = [each for one in made for each in of_counts(one, truth, given.numbers)]
            show(f"ε = {epsilon:>4} {what}", outcomes)
        show(f"ε = {epsilon:>4} pay", of_pay(epsilon, given.releases, given.numbers))


if __name__ == "__main__":
    main()
