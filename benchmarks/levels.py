"""Four levels, 10,000 leaves and a million people: errors at each level against fixed splits of ε and sums of leaves.

    python -m benchmarks.levels

Fixed splits give each level its part of ε, and the same least squares; the best of many random ones is taken. Errors
of estimates follow from the plan in closed form. Time and memory are of a whole release with its bundle.
"""

from __future__ import annotations

import resource
import sys
import time

import numpy as np
import pandas as pd

from dpengine import Plan, release
from dpengine.array_types import Floats
from dpengine.bundle.write import pack
from dpengine.marginals.plan_levels import measured_at, tree_of
from dpengine.measure.levels import allocate_levels

PEOPLE = 1_000_000
SPLITS = 1_000
LEVELS = ("region", "state", "county", "block")


def plan_of(seed: int = 0) -> Plan:
    """Return a plan over an uneven tree of about 10,000 leaves, published at all of its four levels."""
    random = np.random.default_rng(seed)
    values = {
        f"r{r}": {
            f"s{r}.{s}": {
                f"c{r}.{s}.{c}": [f"b{r}.{s}.{c}.{b}" for b in range(int(random.integers(1, 20)))]
                for c in range(int(random.integers(5, 35)))
            }
            for s in range(int(random.integers(3, 8)))
        }
        for r in range(10)
    }
    column = {"name": "block", "kind": "category", "values": values, "levels": list(LEVELS)}
    tables = [[f"block@{level}"] for level in LEVELS[:-1]] + [["block"]]
    return Plan(dataset="levels", epsilon="1", columns=[column], tables=tables, rows_about=PEOPLE)


def errors(plan: Plan, parts: Floats) -> Floats:
    """Return the root mean square error of a cell at each level, with these parts of ε; 0 measures nothing."""
    measured = measured_at(plan)[1:]
    given = {columns: 2 / part**2 for columns, part in zip(measured, parts, strict=True) if part > 0}
    return np.sqrt([float(each.mean()) for each in tree_of(plan, given).node_variances[1:]])


def main() -> None:
    """Print the errors, the time and the memory."""
    plan, random = plan_of(), np.random.default_rng(1)
    found = {each.columns: float(each.epsilon) for each in allocate_levels(plan)}
    ours = errors(plan, np.array([found.get(columns, 0.0) for columns in measured_at(plan)[1:]]))
    fixed = [errors(plan, random.dirichlet(np.ones(len(LEVELS)))) for _ in range(SPLITS)]
    best = min(fixed, key=lambda each: float((each**4).sum()))
    rows = {
        "here": ours,
        "best fixed split": best,
        "here / best fixed split": ours / best,
        "equal parts": errors(plan, np.full(len(LEVELS), 0.25)),
        "sums of leaves": errors(plan, np.array([0.0, 0.0, 0.0, 1.0])),
    }
    sys.stdout.write(pd.DataFrame(rows, index=list(LEVELS)).round(2).T.to_string() + "\n")
    leaves = np.array(plan.column("block").declared, dtype=object)
    likely = 1 / (1 + np.arange(leaves.size)) ** 0.7
    frame = pd.DataFrame({"block": random.choice(leaves, PEOPLE, p=likely / likely.sum())})
    start = time.perf_counter()
    pack(release(frame, plan))
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    sys.stdout.write(f"release and bundle: {time.perf_counter() - start:.1f} s, {memory:.2f} GB at most\n")


if __name__ == "__main__":
    main()
