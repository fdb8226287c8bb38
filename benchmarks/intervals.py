"""Compare the published intervals of a model's tables with the width they need, and count how often they hold.

    python benchmarks/bank.py save bank                            # writes public tables as arrays (see there)
    python benchmarks/intervals.py bank/alcohol.npz bank/yrbss.npz [--people 1600] [--epsilons 0.1,1,10] [--draws 3]

All columns and pairs of columns of each table are published, of so many people drawn at random, if there are more. One
line for each kind of cells: of single columns, of pairs that were measured, and of the other pairs by their expected
count. It shows the median half-width, what 95 % of the errors are within, and how often intervals hold the true count,
in the mean over cells and draws. Then the half-width that is stated for a table is compared with the predicted one.
``--short`` shows only how often intervals hold in the pairs that were not measured: in all cells, and in those expected
to hold fewer than two people, if there are a hundred.
"""

from __future__ import annotations

import argparse
import sys
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent.parent))  # the engine beside this folder, wherever this is run

from benchmarks.accuracy import counts, plan_of
from dpengine.array_types import Columns, Floats, Ints
from dpengine.estimate.estimates import Estimates, derive_estimates
from dpengine.measure.strategy import decide
from dpengine.measure.strategy_base import Strategy
from dpengine.results.predict import predict_by_trials
from dpengine.spec.wording import name_of

SIZES = {"below 2": 2.0, "2 to 50": 50.0, "50 to 1000": 1000.0, "1000 and more": np.inf}
MIN_CELLS = 100  # fewer say little of how often intervals hold
Kind = dict[str, list[Floats]]  # half-widths, errors, and whether intervals hold the true count


def load(path: Path, people: int) -> tuple[Ints, dict[str, int]]:
    """Return the codes of so many people, drawn at random but always the same, and the cells of each column."""
    with np.load(path) as read:
        codes, sizes = read["codes"], {f"c{k}": int(size) for k, size in enumerate(read["sizes"])}
    if 0 < people < len(codes):
        codes = codes[np.random.default_rng(1).choice(len(codes), people, replace=False)]
    return codes, sizes


def release(way: Strategy, codes: Ints, sizes: dict[str, int], kinds: defaultdict[str, Kind]) -> Estimates:
    """Measure and estimate once, and add what intervals are like to each of the `kinds` of cells."""

    @cache
    def exact(table: Columns) -> Ints:
        return counts(codes, sizes, table) if table else np.array(len(codes))

    measured = way.measure(lambda tables: [exact(each) for each in tables])
    estimates = derive_estimates(way.plan, measured)
    finely = {one.allocation.columns for one in measured.marginals if not one.merged}
    for table in way.plan.marginals:
        expected, truth = estimates.estimate(table), exact(table)
        middle, half_width = (np.broadcast_to(each, truth.shape) for each in estimates.intervals(table))
        holds = (np.ceil(middle - half_width - 1e-6) <= truth) & (truth <= np.floor(middle + half_width + 1e-6))
        for kind, where in _kinds(table, expected, finely):
            for name, values in (("half", half_width), ("off", np.abs(expected - truth)), ("holds", holds)):
                kinds[kind][name].append(values[where])
    return estimates


def _kinds(table: Columns, expected: Floats, finely: set[Columns]) -> Iterator[tuple[str, np.ndarray]]:
    """Yield the kinds of cells of a table, and where they are."""
    if len(table) == 1 or tuple(sorted(table)) in finely:
        yield "single columns" if len(table) == 1 else "measured pairs", np.ones(expected.shape, dtype=bool)
        return
    least = 0.0
    for name, most in SIZES.items():
        yield f"other pairs, {name}", (expected >= least) & (expected < most)
        least = most


def compare(path: Path, epsilon: str, people: int, draws: int, *, short: bool) -> None:
    """Print the lines of one table."""
    codes, sizes = load(path, people)
    way = decide(plan_of(sizes, epsilon, 2, len(codes)))
    print(f"{path.stem}, {len(codes):,} × {len(sizes)}, ε = {epsilon}: {'measured' if way.closed_form else 'a model'}")
    if way.closed_form:
        return
    kinds: defaultdict[str, Kind] = defaultdict(lambda: defaultdict(list))
    joint = [table for table in way.plan.marginals if len(table) > 1]
    stated = np.zeros(len(joint))
    for _ in range(draws):
        estimates = release(way, codes, sizes, kinds)
        stated += np.array([estimates.half_width(table) for table in joint]) / draws
    if short:
        for what in ("other pairs", "other pairs, below 2"):
            holds = [part for kind, found in kinds.items() if kind.startswith(what) for part in found["holds"]]
            cells = np.concatenate(holds) if holds else np.array([])
            if cells.size >= MIN_CELLS:
                print(f"  {what}: {cells.size} cells, hold {cells.mean():.3f}", flush=True)
        return
    for kind, found in sorted(kinds.items()):
        half, off, holds = (np.concatenate(found[name]) for name in ("half", "off", "holds"))
        if half.size:
            median, least = np.median(half), np.quantile(off, 0.95)
            print(f"  {kind:<28}{half.size:>9} cells  ±{median:7.1f}  needed ±{least:7.1f}  hold {holds.mean():.3f}")
    predicted = predict_by_trials(way.plan).set_index("table")["half_width_95"]
    ratio = stated / np.array([predicted[name_of(table)] for table in joint])
    low, middle, high = np.quantile(ratio, [0.1, 0.5, 0.9])
    line = f"±{np.median(stated):.0f}, {middle:.2f} times the predicted ({low:.2f} to {high:.2f} in 8 of 10 tables)"
    print(f"  stated for pairs of columns: {line}", flush=True)


def main() -> None:
    """Compare each table at each ε."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tables", nargs="+", type=Path)
    parser.add_argument("--people", type=int, default=0, help="fewer than the table has; 0 for all")
    parser.add_argument("--epsilons", default="0.1,1,10")
    parser.add_argument("--draws", type=int, default=3)
    parser.add_argument("--short", action="store_true")
    chosen = parser.parse_args()
    for path in chosen.tables:
        for epsilon in chosen.epsilons.split(","):
            compare(path, epsilon, chosen.people, chosen.draws, short=chosen.short)


if __name__ == "__main__":
    main()
