"""Measure what means beside other tables cost and gain: random plans of public tables.

    python benchmarks/means_beside.py bank              # the folder that `bank.py save bank` wrote
    python benchmarks/means_beside.py bank --seed 2     # other columns, people and ε

Random pairs of columns are published, and the mean of another column by one of these, or by two more. Beside each
other, with noise of their own: all in one plan by *auto*, and by the other of measuring and modelling; the pairs alone,
and the means alone, each with all of ε. Errors are mean L1 distances of the pairs as a part of all rows, of estimates
and of whole counts, and mean errors of a person's mean as a part of its range.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import zlib
from collections import defaultdict
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

sys.path.insert(0, str(Path(__file__).parent.parent))  # the engine beside this folder, wherever this is run

import dpengine as dpe
from benchmarks.accuracy import categories
from benchmarks.ranges_beside import EPSILONS, ROWS
from dpengine.measure.strategy import decide

COLUMNS, LEAST, MOST, TRIALS = (3, 4, 5, 6, 8, 10), 5, 200, 20
Errors = tuple[float, float, float]  # of estimates, whole counts, and means
LEAST_ERROR = 1e-4


def draw(rng: np.random.Generator, sizes: dict[str, int], people: int) -> tuple[list[Any], list[Any], Any]:
    """Return tables of counts, tables of means, and what makes a plan of some of them."""
    amount = str(rng.choice([name for name, size in sizes.items() if LEAST <= size <= MOST]))
    others = [name for name, size in sizes.items() if name != amount and size > 1]
    some = [str(name) for name in rng.choice(others, min(len(others), int(rng.choice(COLUMNS))), replace=False)]
    pairs = [*map(list, combinations(some, 2))]
    few = [pairs[k] for k in rng.permutation(len(pairs))[: max(2, len(some) - 1)]]
    tables = pairs if rng.random() < 0.6 else few
    by = [some[:1], *([some[1:3]] if len(some) > 2 and rng.random() < 0.4 else [])]
    means = [{"columns": each, "mean": [amount]} for each in by]
    epsilon = str(rng.choice(EPSILONS))

    def plan_of(chosen: list[Any], strategy: str = "auto") -> dpe.Plan:
        used = {name for each in chosen for name in (each["columns"] if isinstance(each, dict) else each)}
        columns: list[Any] = categories({name: sizes[name] for name in some if name in used})
        if any(isinstance(each, dict) for each in chosen):
            steps = {"from": 0, "to": sizes[amount] - 1, "step": 1, "missing": False}
            columns.append({"name": amount, "kind": "amount"} | steps)
        return dpe.Plan(dataset="benchmark", epsilon=epsilon, rows_about=max(100, round(people, -2)), columns=columns,
                        tables=chosen, strategy=strategy)  # fmt: skip

    return tables, means, plan_of


def errors(plan: dpe.Plan, codes: dict[str, np.ndarray]) -> Errors:
    """Return the errors of one release."""
    of_amount = {name: codes[name] for name in plan.used if plan.has_amount((name,))}
    labels = {name: np.array(plan.column(name).labels, dtype=object)[codes[name]] for name in plan.counted}
    release, rows = dpe.release(pa.table(labels | of_amount), plan), len(next(iter(codes.values())))
    off: list[list[float]] = []
    of_means = []
    for table in plan.marginals:
        cells = tuple(codes[name] for name in table)
        people = np.zeros(plan.shape(table))
        np.add.at(people, cells, 1)
        published = release.tables[table]
        for name in plan.amounts(table):
            sums = np.zeros(plan.shape(table))
            np.add.at(sums, cells, codes[name])
            told, top = published[f"mean_{name}"].to_numpy(float).reshape(sums.shape), float(plan.amount(name).high)
            apart = np.abs(np.nan_to_num(told, nan=top / 2) - sums / np.maximum(people, 1))
            of_means.append(float((apart * people).sum()) / rows / top)
        if not plan.amounts(table):
            counts = published["count"].to_numpy().reshape(people.shape)
            off.append([np.abs(each - people).sum() / rows for each in (release.estimate(table), counts)])
    estimate, count = np.mean(off, axis=0) if off else (0.0, 0.0)
    return float(estimate), float(count), statistics.mean(of_means) if of_means else 0.0


def compare(path: Path, seed: int) -> tuple[str, list[float], str] | None:
    """Return what *auto* does with the plan drawn for a table, ratios of errors, and a line that says so."""
    with np.load(path) as read:
        all_codes, sizes = read["codes"], {f"c{k}": int(size) for k, size in enumerate(read["sizes"])}
    rng = np.random.default_rng([zlib.crc32(path.stem.encode()), seed])
    people = rng.permutation(len(all_codes))[: rng.choice(ROWS)]
    codes = {name: all_codes[people, k].astype(np.int64) for k, name in enumerate(sizes)}
    for _ in range(TRIALS):
        try:
            tables, means, plan_of = draw(rng, sizes, people.size)
            plan, alone, of_means = plan_of(tables + means), plan_of(tables), plan_of(means)
            measured = decide(plan).closed_form
            other = plan_of(tables + means, "adaptive" if measured else "direct")
            decide(other).check()
            break
        except (dpe.PlanError, ValueError):
            continue
    else:
        return None
    found = [errors(each, codes) for each in (plan, other, alone, of_means)]
    floored = [[max(each, LEAST_ERROR) for each in one] for one in found]
    auto, otherwise, without, only = floored
    ratios = [*(b / a for a, b in zip(auto, otherwise, strict=True)), auto[0] / without[0], auto[1] / without[1],
              auto[2] / only[2]]  # fmt: skip
    told = "  ".join(" ".join(f"{value:.4f}" for value in one) for one in found)
    return "measured" if measured else "a model", ratios, (
        f"{path.stem:<22} {people.size:6} rows  eps {plan.epsilon!s:>4}  {len(tables):2} tables  {told}"
    )  # fmt: skip


def main() -> None:
    """Compare, and sum up."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--seed", type=int, default=1)
    chosen = parser.parse_args()
    found: dict[str, list[list[float]]] = defaultdict(list)
    for path in sorted(chosen.folder.glob("*.npz")):
        if (one := compare(path, chosen.seed)) is not None:
            found[one[0]].append(one[1])
            print(one[2], flush=True)
    names = ("estimates the other way", "whole counts the other way", "means the other way",
             "estimates, to pairs alone", "whole counts, to pairs alone", "means, to means alone")  # fmt: skip
    for kind, ratios in found.items():
        print(f"{kind}: {len(ratios)} plans")
        for k, name in enumerate(names):
            some = [each[k] for each in ratios]
            print(f"  {name} {statistics.geometric_mean(some):.2f} ({min(some):.2f} to {max(some):.2f})")


if __name__ == "__main__":
    main()
