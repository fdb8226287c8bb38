"""Compare errors of whole counts with those of the fractional estimates that they are made from.

    python benchmarks/whole.py bank --split test               # the tables of benchmarks/bank.py, saved as it says
    python benchmarks/whole.py bank --tables diamonds --epsilons 1,10 --ways 3
    python benchmarks/whole.py --many 10000000 --epsilons 1   # the table of benchmarks/to_bundle.py

For each table, the mean over all tables of one and two columns (or of as many as `--ways` says) of the L1 distance to
the truth, as a part of all rows: of the estimates; of every table measured itself and projected on non-negative counts;
and of whole counts. Where the engine measures every table itself, all have the same draw of noise. Then the ratio of
whole counts to the better of the two others, and processor seconds for rows and counts.
"""

from __future__ import annotations

import argparse
import math
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent.parent))

import dpengine as dpe
from benchmarks import to_bundle
from benchmarks.accuracy import counts, plan_of
from benchmarks.bank import SPLITS
from dpengine.estimate.estimates import derive_estimates
from dpengine.marginals.fitting import project
from dpengine.measure.strategy import decide
from dpengine.synthesis.generate_rows import realise

GOAL = 1.02  # times the better error


def stored(path: Path) -> tuple[np.ndarray, dict[str, int]]:
    """Return the codes of a table, of shape (rows, columns), and the sizes of its columns."""
    with np.load(path) as read:
        return read["codes"], {f"c{k}": int(size) for k, size in enumerate(read["sizes"])}


def many(rows: int) -> tuple[np.ndarray, dict[str, int]]:
    """Return codes and sizes of the table of `benchmarks/to_bundle.py`, with two more empty cells in each column."""
    codes = to_bundle.drawn(np.random.default_rng(1), rows)
    return np.stack(list(codes.values()), axis=1), {
        name: size + 2 for name, size in zip(codes, to_bundle.SIZES, strict=True)
    }


def plan_of_pairs(sizes: dict[str, int], epsilon: str, ways: int, rows: int, strategy: str = "auto") -> dpe.Plan:
    """Return the plan of `benchmarks/to_bundle.py`: all pairs, without a rough number of rows."""
    plan = plan_of(sizes, epsilon, ways, rows, strategy)
    return dpe.Plan(
        dataset="many", epsilon=epsilon, columns=list(plan.columns), tables={"each": ways}, strategy=strategy
    )


def errors(
    codes: np.ndarray, sizes: dict[str, int], epsilon: str, ways: int, plan: Callable[..., dpe.Plan] = plan_of
) -> tuple[float, float, float, float]:
    """Return the errors of estimates, of measured tables (for up to two columns), of whole counts, and seconds."""
    off = {}
    for strategy in ("auto", "direct") if ways < 3 else ("auto",):
        way = decide(plan(sizes, epsilon, ways, len(codes), strategy))
        measured = way.measure(
            lambda tables: [counts(codes, sizes, each) if each else np.array(len(codes)) for each in tables]
        )
        estimates = derive_estimates(way.plan, measured)
        published = way.plan.marginals
        truth = {each: counts(codes, sizes, each) for each in published}
        scale = len(published) * len(codes)
        if strategy == "direct" or (way.closed_form and ways < 3):
            total = float(estimates.estimate(()))
            each = (project(estimates.estimate(table), total) for table in published)
            off["measured"] = sum(np.abs(a - truth[b]).sum() for a, b in zip(each, published, strict=True)) / scale
        if strategy == "direct":
            break
        start = time.process_time()
        rows = realise(estimates.fitted, list(way.plan.marginals))
        seconds = time.process_time() - start
        off["estimate"] = sum(np.abs(estimates.estimate(table) - truth[table]).sum() for table in published) / scale
        off["whole"] = sum(np.abs(rows.table(table) - truth[table]).sum() for table in published) / scale
        if "measured" in off:
            break
    return off["estimate"], off.get("measured", math.inf), off["whole"], seconds


def main() -> None:
    """Print a line for each table and ε, and how many reach the goal."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, nargs="?", default="bank")
    parser.add_argument("--many", type=int, default=0)
    parser.add_argument("--split", choices=SPLITS, default="test")
    parser.add_argument("--tables", default="")
    parser.add_argument("--epsilons", default="0.1,1,10")
    parser.add_argument("--ways", type=int, default=2)
    chosen = parser.parse_args()
    items = chosen.tables.split(",") if chosen.tables else [name.split("/")[1] for name in SPLITS[chosen.split]]
    if chosen.many:
        items = ["many"]
    print(f"{'table':<16}{'ε':>5}  estimate  measured   whole  ratio  seconds")
    ratios = []
    for item in items:
        for epsilon in chosen.epsilons.split(","):
            codes, sizes = many(chosen.many) if chosen.many else stored(Path(chosen.folder) / f"{item}.npz")
            estimate, measured, whole, seconds = errors(
                codes, sizes, epsilon, chosen.ways, plan_of_pairs if chosen.many else plan_of
            )
            better = min(estimate, measured)
            ratios.append(whole / better if better else 1.0 + whole)
            found = f"{estimate:8.5f}  {measured:8.5f}{whole:8.5f}  {ratios[-1]:5.3f}  {seconds:7.1f}"
            print(f"{item:<16}{epsilon:>5}  {found}", flush=True)
    within = sum(ratio <= GOAL for ratio in ratios)
    print(
        f"whole counts have {statistics.geometric_mean(ratios):.3f} times the better error (geometric mean), at most "
        f"{max(ratios):.3f}; {within} of {len(ratios)} are within {GOAL}"
    )


if __name__ == "__main__":
    main()
