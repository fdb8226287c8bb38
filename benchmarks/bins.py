"""Compare errors in bins that were found privately with those in bins of equal width, at the same ε in all.

    python benchmarks/bins.py [--draws 20] [--epsilons 0.1,1] [--bins 20] [--share 1/10]
        [--columns columns.npz]

Four skewed columns, each in a table with a second column: three of the samples in `data/`, and simulated incomes; and
one with little to find, ages. Both ways publish as many bins by the product's own functions; finding them is paid for
from the same ε. What a reader asks:

* *ranges*: how many have a value from one person's to another's. Mean |error|, as a part of all people.
* *quantiles*: at 5 %, 10 %, …, 95 %: which part of the people has at most the value that the table gives there, and how
  far that is from the part that was asked for.
* *two-way*: ranges within one group of the second column, as a part of all people.

With `--columns`, the columns are those that benchmarks/range_columns.py wrote, of 4096 steps, each with a second column
of two groups. The constants of `measure.box_splits` for a search were set on the first five of them, on its doctors'
visits and on medical spending, by ranges at ε = 0.1; the others had no part in that,
though earlier candidates had been seen on them too.

Within a bin, readers spread people evenly over its steps. Ends of ranges are values that people have, drawn once and
used for both ways; with `--anywhere` they are any values of the range instead, most of which nobody has.
"""

from __future__ import annotations

import argparse
import statistics
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd

sys.path.insert(0, str(Path(__file__).parent.parent))

from dpengine import Number, Plan
from dpengine.array_types import Columns, Ints
from dpengine.estimate.estimates import derive_estimates
from dpengine.estimate.found_cells import resolve
from dpengine.measure.search import search
from dpengine.measure.strategy import decide, resolved

ROOT = Path(__file__).parent.parent
RANGES = 400
MAX_PEOPLE = 60_000
PARTS = np.arange(0.05, 0.96, 0.05)
chance = np.random.default_rng(7)  # of the incomes and the questions; noise is the product's own


def columns() -> dict[str, tuple[np.ndarray, np.ndarray, int, int]]:
    """Return by name the values, the groups of the second column, the end of the range, and the step."""
    census, rand = pd.read_parquet(ROOT / "data" / "census.parquet"), pd.read_csv(ROOT / "data" / "rand.csv.gz")
    spent = rand[["medical_spending", "health"]].dropna()
    visits = rand[["doctor_visits", "site"]].dropna()
    incomes = np.exp(chance.normal(np.log(24_000), 0.8, 50_000))
    incomes[chance.random(incomes.size) < 0.12] = 0
    return {
        "capital gains": (census["capital_gains"], census["sex"], 100_000, 100),
        "medical spending": (spent["medical_spending"], spent["health"], 40_000, 20),
        "doctor visits": (visits["doctor_visits"], visits["site"], 80, 1),
        "incomes": (incomes, chance.integers(0, 10, incomes.size), 500_000, 500),
        "age": (census["age"], census["sex"], 100, 1),
    }  # type: ignore[return-value]


def of_file(path: Path) -> dict[str, tuple[np.ndarray, np.ndarray, int, int]]:
    """Return the same of the columns of a file, of at most 60,000 people each."""
    found = {}
    with np.load(path) as saved:
        for name in (each for each in saved.files if each.startswith("one ")):
            counts = saved[name].astype(np.int64)
            values = np.repeat(np.arange(counts.size), counts)
            if values.size > MAX_PEOPLE:
                values = np.random.default_rng(3).choice(values, MAX_PEOPLE, replace=False)
            found[name.removeprefix("one ")] = (values, np.arange(values.size) % 2, counts.size, 1)
    return found


def plan_of(groups: int, high: int, step: int, epsilon: str, *, bins: int, share: str) -> tuple[Plan, Plan]:
    """Return the plan with bins of one width, and the plan that finds them."""
    declared = {"name": "value", "kind": "number", "other": False, "missing": False}
    found = {"from": 0, "to": high, "step": step, "bins": {"count": bins, "share": share}}
    group = {"name": "group", "kind": "category", "values": [f"g{k}" for k in range(groups)], "other": False,
             "missing": False}  # fmt: skip
    even = Plan(dataset="d", epsilon=epsilon, columns=[declared | found, group], tables=[["value", "group"]])
    edges = {"edges": list(even.column("value").edges)}
    stated = Plan(dataset="d", epsilon=epsilon, columns=[declared | edges, group], tables=[["value", "group"]])
    return stated, even


def published(plan: Plan, fine: Ints, step: int) -> np.ndarray:
    """Publish once; return the counts by step and group, those of a bin spread evenly over its steps."""
    searches = search(plan, [fine.sum(axis=1)] if plan.found_columns else [])
    plan = resolve(plan, searches)
    column = plan.column("value")
    assert isinstance(column, Number)
    starts = np.array([int(edge) // step for edge in column.edges])

    def counted(tables: Sequence[Columns]) -> list[Ints]:
        whole = np.add.reduceat(fine, starts[:-1], axis=0)
        axes = ("value", "group")
        return [whole.sum(axis=tuple(k for k in (0, 1) if axes[k] not in table)).transpose(
            sorted(range(len(table)), key=lambda k: table[k] == "group") if table[:1] == ("group",) else None
        ) for table in tables]  # fmt: skip

    strategy = resolved(decide(plan).plan)
    estimate = derive_estimates(plan, strategy.measure(counted)).estimate(("value", "group"))
    widths = np.diff(starts)
    return np.repeat(np.maximum(estimate, 0) / widths[:, None], widths, axis=0)


def errors(found: np.ndarray, fine: Ints, ends: np.ndarray) -> tuple[float, float, float]:
    """Return the mean errors of ranges, quantiles and ranges within a group."""
    people, up_to, known = fine.sum(), _up_to(found), _up_to(fine)
    by_group = np.abs((up_to - known)[ends[:, 1]] - (up_to - known)[ends[:, 0]]) / people
    off = (up_to - known).sum(axis=1)
    ranges = np.abs(off[ends[:, 1]] - off[ends[:, 0]]) / people
    whole, true = up_to.sum(axis=1), known.sum(axis=1) / people
    steps = np.arange(whole.size)
    places = np.interp(PARTS, whole / whole[-1] + 1e-12 * steps, steps)
    at_most, below = (np.interp(places, steps, each) for each in (true, true))
    return float(ranges.mean()), float(np.abs((at_most + below) / 2 - PARTS).mean()), float(by_group.mean())


def _up_to(counts: np.ndarray) -> np.ndarray:
    return np.concatenate([np.zeros((1, counts.shape[1])), counts.cumsum(axis=0)])


def main() -> None:
    """Compare both ways, column by column."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draws", type=int, default=20)
    parser.add_argument("--epsilons", default="0.1,1")
    parser.add_argument("--bins", type=int, default=20)
    parser.add_argument("--share", default="1/10")
    parser.add_argument("--anywhere", action="store_true")
    parser.add_argument("--columns", type=Path)
    chosen = parser.parse_args()
    asked = ("ranges", "quantiles", "two-way")
    print(f"{chosen.bins} bins, of ε {chosen.share} to find them: error × 1000, of one width → found, and the change")
    for name, (values, groups, high, step) in (of_file(chosen.columns) if chosen.columns else columns()).items():
        places = np.clip(np.asarray(values, dtype=float) // step, 0, high // step - 1).astype(np.int64)
        codes, names = pd.factorize(pd.Series(np.asarray(groups)), sort=True)
        fine = np.zeros((high // step, len(names)), dtype=np.int64)
        np.add.at(fine, (places, codes), 1)
        ends = np.sort(chance.choice(places, (RANGES, 2)), axis=1) + np.array([0, 1])
        if chosen.anywhere:
            ends = np.sort(chance.integers(0, len(fine), (RANGES, 2)), axis=1) + np.array([0, 1])
        for epsilon in chosen.epsilons.split(","):
            plans = plan_of(len(names), high, step, epsilon, bins=chosen.bins, share=chosen.share)
            stated, found = (
                [statistics.mean(each) for each in zip(*(errors(published(plan, fine, step), fine, ends)
                                                         for _ in range(chosen.draws)), strict=True)]
                for plan in plans
            )  # fmt: skip
            cells = "".join(f"  {what} {1000 * a:8.2f} → {1000 * b:7.2f} ({b / a - 1:+.0%})"
                            for what, a, b in zip(asked, stated, found, strict=True))  # fmt: skip
            print(f"{name:17} {len(places):>7,} people, ε = {epsilon:4}{cells}", flush=True)


if __name__ == "__main__":
    main()
