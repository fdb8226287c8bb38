"""Compute the random sample as far off as a release: from the plan alone, from the release, and from the data.

    python benchmarks/sample_share.py [--releases 5] [--epsilons 0.1,1,10] [--tables adult,census,…]

For each table of one, two and three columns: the share that the page shows before publishing (mock table, predicted
error), the one that follows from a finished release (its counts, predicted error), the one that only the owner can
compute (true counts, errors that were seen), and the ratios of the first two to it. The last lines say how many of all
are within 20 %. Tables are those of benchmarks/accuracy.py, with the number of rows rounded as owners state it.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent.parent))  # the engine beside this folder, wherever this is run
sys.path.insert(0, str(Path(__file__).parent))

import accuracy

import dpengine as dpe
from dpengine.measure.strategy import decide
from dpengine.results.mock_table import mock_counts
from dpengine.results.predict import predict
from dpengine.results.result import Result, payload_of
from dpengine.results.sample_share import sample_share

SMALLEST = 1e-6  # shown as "no sample": smaller than any


def shares(codes: np.ndarray, sizes: dict[str, int], table: list[str], epsilon: str, releases: int) -> np.ndarray:
    """Return the share from the plan, from the release, and from the data."""
    columns = accuracy.categories({name: sizes[name] for name in table})
    about = float(f"{len(codes):.1g}")
    plan = dpe.Plan(
        dataset="benchmark", epsilon=epsilon, rows_about=int(about), columns=columns, tables=[table], strategy="direct"
    )
    truth = accuracy.counts(codes, sizes, tuple(table))
    predicted = float(predict(plan)["mean_abs_error"].iloc[0])
    planned = sample_share(mock_counts(plan, tuple(table)).ravel(), predicted)
    strategy, seen, told = decide(plan), [], []
    for _ in range(releases):
        measured = strategy.measure(lambda tables: [truth.transpose([table.index(n) for n in each]) for each in tables])
        counts = Result.from_bytes(payload_of(strategy.plan, measured)[2]).counts(tuple(table))
        seen.append(float(np.abs(counts - truth).mean()))
        told.append(sample_share(counts.ravel(), predicted) or SMALLEST)
    owner = sample_share(truth.ravel(), float(np.mean(seen)))
    return np.array([planned or SMALLEST, float(np.mean(told)), owner or SMALLEST])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--releases", type=int, default=5)
    parser.add_argument("--epsilons", default="0.1,1,10")
    parser.add_argument("--tables", default=",".join(accuracy.SOURCES))
    asked = parser.parse_args()
    print(f"{'table':<12} {'columns':<45} {'ε':>5} {'plan':>9} {'release':>9} {'data':>9}  {'ratios':>12}")
    found = []
    for source in asked.tables.split(","):
        codes, sizes = accuracy.SOURCES[source]()
        names = list(sizes)
        chosen = [[names[0]], names[3:4], names[:2], names[2:4], [names[1], names[4]], names[3:6]]
        for table in chosen:
            for epsilon in asked.epsilons.split(","):
                each = shares(codes, sizes, table, epsilon, asked.releases)
                found.append(each[:2] / each[2])
                numbers = " ".join(f"{share:>9.3%}" for share in each)
                print(
                    f"{source:<12} {' × '.join(table)[:45]:<45} {epsilon:>5} {numbers}  {found[-1].round(2)}",
                    flush=True,
                )
    for what, ratios in zip(("the plan", "the release"), np.array(found).T, strict=True):
        near = np.mean(np.abs(ratios - 1) <= 0.2)
        print(f"from {what}: {near:.0%} within 20 %; half of all ratios are {np.quantile(ratios, 0.25):.2f} to "
              f"{np.quantile(ratios, 0.75):.2f}")  # fmt: skip


if __name__ == "__main__":
    main()
