"""Count how often the intervals of combined cells hold the true number, and how wide they are.

    python benchmarks/combine.py [--releases 5] [--epsilons 0.1,1,10] [--tables census,rand,…] [--numbers 100]

For each table and strategy of benchmarks/replicates.py and each ε: the part of random sums of cells, percentages,
differences and ratios (`dpengine.combine`) whose 95 % interval holds the true number, and the median of the half-width
over what 95 % of the errors are within. Changes are from an earlier release, of two thirds of the people. A ratio to
what may be 0 is refused, which counts as saying nothing. The last lines are of simulated pay, by sector, grade and
region: means, sums, and differences and ratios of means.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterable, Iterator
from functools import partial
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
from dpengine.measure.strategy_base import Strategy
from dpengine.results.result import Result, payload_of

chance = np.random.default_rng(1)
HIDDEN = 99.999  # points: an interval that says nothing
Truth = Callable[[Selection], float]
Outcome = tuple[Combined, float]
REFUSED = Combined(np.nan, -np.inf, np.inf, ())
EARLIER = 2 / 3  # of the people, in the release with which another is compared


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


def percent_more(combined: Callable[[], Combined], one: float, other: float) -> Iterator[Outcome]:
    """Yield by how many percent a number is more than another, with the truth, if there is one."""
    if other > 0:
        try:
            yield combined(), 100 * (one / other - 1)
        except dpe.ReleaseError:
            yield REFUSED, 100 * (one / other - 1)


def of_counts(
    made: Result, truth: Truth, earlier: Result, truth_before: Truth, numbers: int
) -> Iterator[tuple[str, Outcome]]:
    """Yield combined counts with the true ones."""
    plan = made.plan
    for _ in range(numbers):
        table = plan.marginals[chance.integers(len(plan.marginals))]
        one, other = selection(plan, table), selection(plan, table)
        yield "sum", (combine(made, one), truth(one))
        yield "difference", (combine(made, one, minus=other), truth(one) - truth(other))
        for each in percent_more(partial(combine, made, one, minus=other, relative=True), truth(one), truth(other)):
            yield "ratio", each
        yield "change", (combine(made, one, since=earlier), truth(one) - truth_before(one))
        changed = partial(combine, made, one, since=earlier, relative=True)
        for each in percent_more(changed, truth(one), truth_before(one)):
            yield "change in percent", each
        group = {name: labels for name, labels in other.items() if name not in one}
        if whole := truth(group):
            percentage = 100 * truth({**group, **one}) / whole
            yield "percentage", (combine(made, one, of=group), percentage)
            third = {name: selection(plan, (name,))[name] for name in one}
            with_third = partial(combine, made, one, of=group, minus=third, relative=True)
            for each in percent_more(with_third, percentage, 100 * truth({**group, **third}) / whole):
                yield "ratio of percentages", each


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
                ratio = partial(combine, made, one, minus=other, mean="pay", relative=True)
                for each in percent_more(ratio, of(one).mean(), of(other).mean()):
                    yield "ratio of means", each


def line(name: str, outcomes: list[Outcome], widest: float) -> str:
    """Return how often intervals held the truth, and how wide they were."""
    informative = [(each, truth) for each, truth in outcomes if each.high - each.low < widest]
    given = [(each, truth) for each, truth in outcomes if each is not REFUSED]
    held = np.mean([each.low - 1e-9 <= truth <= each.high + 1e-9 for each, truth in given]) if given else np.nan
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

            def truth_of(codes: np.ndarray, plan: dpe.Plan = plan, names: list[str] = names) -> Truth:
                def truth(chosen: Selection) -> float:
                    kept = np.ones(len(codes), dtype=bool)
                    for name, places in codes_of(plan, chosen).items():
                        kept &= np.isin(codes[:, names.index(name)], places)
                    return float(kept.sum())

                return truth

            def drawn(codes: np.ndarray, way: Strategy = way, sizes: dict[str, int] = sizes) -> Result:
                def exact(tables: list[list[str]]) -> list[np.ndarray]:
                    return [accuracy.counts(codes, sizes, tuple(each)) for each in tables]

                return Result.from_bytes(payload_of(way.plan, way.measure(exact))[2])

            before = codes[chance.random(len(codes)) < EARLIER]
            outcomes = [
                each
                for _ in range(given.releases)
                for each in of_counts(drawn(codes), truth_of(codes), drawn(before), truth_of(before), given.numbers)
            ]
            show(f"ε = {epsilon:>4} {what}", outcomes)
        show(f"ε = {epsilon:>4} pay", of_pay(epsilon, given.releases, given.numbers))


if __name__ == "__main__":
    main()
