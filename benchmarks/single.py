"""Measure errors of whole counts of single tables of two to four columns: L1 distance to the truth over rows.

    python benchmarks/single.py [--draws 3] [--epsilons 0.1,1] [--tables 4]

Beside each other in one run, at pure ε: what ``auto`` publishes; ``direct``; ``adaptive``; and the same noise projected
on non-negative tables and raked to its own columns. Tables are of columns drawn at random from Adult, the census and
RAND samples and simulated classes (see benchmarks/accuracy.py); those of 200 to 200,000 cells are taken.
"""

from __future__ import annotations

import argparse
import math
import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent.parent))

from benchmarks.accuracy import SOURCES
from dpengine import Plan
from dpengine.marginals.fitting import project, round_to_total
from dpengine.marginals.marginal import Marginal
from dpengine.measure.strategy import decide
from dpengine.results.result import conclude

METHODS = ("auto", "direct", "adaptive", "projected")


def published(plan: Plan, counts: np.ndarray, method: str) -> np.ndarray:
    table = plan.marginals[0]
    chosen = decide(plan.model_copy(update={"strategy": "direct" if method == "projected" else method}))
    measured = chosen.measure(lambda wanted: [Marginal(table, counts).project(one).values for one in wanted])
    if method == "projected":
        return projected(measured.marginals[0].values.astype(float))
    return conclude(chosen.plan, measured).counts(table)


def projected(noisy: np.ndarray) -> np.ndarray:
    """The nearest non-negative table with the same total, raked to its own non-negative columns; whole."""
    total = max(0, round(noisy.sum()))
    found, axes = project(noisy, total), range(noisy.ndim)
    wanted = [project(noisy.sum(axis=tuple(set(axes) - {axis}), keepdims=True), total) for axis in axes]
    for _ in range(10):
        for axis in axes:
            sums = found.sum(axis=tuple(set(axes) - {axis}), keepdims=True)
            found = found * np.divide(wanted[axis], sums, out=np.ones_like(sums), where=sums > 0)
    return round_to_total(found, total)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--draws", type=int, default=3)
    parser.add_argument("--epsilons", default="0.1,1")
    parser.add_argument("--tables", type=int, default=4, help="of each number of columns, from each source")
    options = parser.parse_args()
    chance, ratios = np.random.default_rng(7), {}
    print(f"{'source':9} columns   cells    ε " + "".join(f"{name:>11}" for name in METHODS))
    for source in ("adult", "census", "rand", "classes"):
        codes, sizes = SOURCES[source]()
        for width in (2, 3, 4):
            for _ in range(options.tables):
                drawn = chance.choice(len(sizes), width, replace=False)
                places = sorted(drawn, key=[*sizes].__getitem__)  # as a plan sorts the columns of a table
                names = [list(sizes)[place] for place in places]
                shape = tuple(sizes[name] for name in names)
                if not 200 <= math.prod(shape) <= 200_000:
                    continue
                counts = np.bincount(np.ravel_multi_index(codes[:, places].T, shape), minlength=math.prod(shape))
                columns = [
                    {"name": n, "kind": "category", "values": list(map(str, range(sizes[n]))), "other": False}
                    | {"missing": False}
                    for n in names
                ]
                for epsilon in options.epsilons.split(","):
                    plan = Plan(dataset="x", epsilon=epsilon, rows_about=len(codes), columns=columns, tables=[names])
                    exact = counts.reshape(shape)
                    off = [
                        np.mean([np.abs(published(plan, exact, m) - exact).sum() for _ in range(options.draws)])
                        / len(codes)
                        for m in METHODS
                    ]
                    ratios.setdefault(epsilon, []).append(np.array(off) / max(off[-1], 1e-9))
                    print(
                        f"{source:9} {width:7} {counts.size:7} {epsilon:>4} "
                        + "".join(f"{error:11.4f}" for error in off)
                    )
    for epsilon, found in ratios.items():
        means = np.exp(np.log(found).mean(axis=0))
        print(f"geometric mean ÷ projected, ε = {epsilon}: " + "".join(f"{mean:11.2f}" for mean in means))


if __name__ == "__main__":
    main()
