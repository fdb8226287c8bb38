"""Compare estimates of columns under wide noise: each by its order and sizes, and all columns of a table together.

    python benchmarks/columns_together.py bank [--draws 2]     # the folder that `bank.py save bank` wrote
    python benchmarks/columns_together.py bank --pairs         # all columns and pairs, as *auto* measures them
    python benchmarks/columns_together.py bank --few           # a few small tables, as *direct* measures them
    python benchmarks/columns_together.py bank --wider         # all columns and pairs, as *direct* measures them

Seven tenths of ε = 0.05, 0.2 and 1 are divided over the columns of a table by the square roots of their cells, as if
no pair were measured. Noise is continuous and seeded; the number of people is given. Up to 25 columns of each table, of
up to 100 cells, are counted. Errors are L1 distances to the truth, as a part of all people, in the mean over columns
and draws; columns are grouped by the noise of a cell, as a multiple of the mean count.

With ``--pairs`` and ``--few``, the same measurements are estimated with and without a posterior of how unequal counts
are: all columns and pairs of each table at ε = 0.05, 0.1 and 0.3, in expected counts; and one to three tables of two or
three columns drawn at random, at ε = 0.01 to 1, in whole counts, grouped by their error without it. Shown are geometric
means of the ratios of errors, and the ends of them. With ``--wider``, whole counts of all columns and pairs of up to 14
columns are compared likewise, by whether columns are smoothed as if their noise were wider (`estimate.consistency`).
"""

from __future__ import annotations

import argparse
import statistics
import sys
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace
from itertools import pairwise, product
from pathlib import Path
from types import ModuleType
from typing import Any
from unittest import mock

import numpy as np

sys.path.insert(0, str(Path(__file__).parent.parent))  # the engine beside this folder, wherever this is run

from benchmarks.accuracy import counts, of_bank, plan_of
from dpengine import Plan
from dpengine.array_types import Columns, Ints
from dpengine.estimate import consistency
from dpengine.estimate.estimates import derive_estimates
from dpengine.marginals import pairwise as models
from dpengine.marginals import smoothing
from dpengine.marginals.fitting import project
from dpengine.marginals.smoothing import smooth_by_order_and_size, smooth_columns
from dpengine.measure.strategy import decide
from dpengine.measure.strategy_base import Strategy
from dpengine.results.result import conclude

EPSILONS, SHARE = (0.05, 0.2, 1.0), 0.7
MAX_COLUMNS, MAX_CELLS = 25, 100
MAX_FEW, MAX_ROWS = 400, 100_000  # cells of each of a few tables, and rows of a table that they are drawn from
ERRORS = (0.0, 0.05, 0.2, 0.5, 1.0, np.inf)  # the groups' limits, of a few tables
MAX_DIRECT = 14  # columns of a table that is measured pair by pair
Rules = tuple[Sequence[tuple[ModuleType, str, Any]], Sequence[tuple[ModuleType, str, Any]]]
POSTERIORS: Rules = ((), [(module, "is_wide", lambda *_: False) for module in (smoothing, models)])
WIDTHS: Rules = ((), [(consistency, "WIDER", 1.0)])
NOISE = (0.0, 0.1, 0.2, 0.4, 0.7, 1.5, 4.0, np.inf)  # the groups' limits


def errors(codes: np.ndarray, sizes: np.ndarray, draws: int) -> Iterator[tuple[float, list[float]]]:
    """Yield the noise of each column and draw, and three errors: projected, by order and sizes, and together."""
    chance = np.random.default_rng(1)
    kept = chance.permutation(np.flatnonzero((sizes > 1) & (sizes <= MAX_CELLS)))[:MAX_COLUMNS]
    truth = {str(k): np.bincount(codes[:, k], minlength=sizes[k]).astype(np.float64) for k in kept}
    people = float(len(codes))
    for epsilon, _ in product(EPSILONS, range(draws)):
        scales = {name: np.sqrt(sizes).sum() / (SHARE * epsilon * truth[name].size ** 0.5) for name in truth}
        noisy = {name: (counts + chance.laplace(0, scales[name], counts.size), scales[name])
                 for name, counts in truth.items()}  # fmt: skip
        together = smooth_columns(noisy, people)
        for name, (values, scale) in noisy.items():
            estimates = project(values, people), smooth_by_order_and_size(values, scale, people)[1], together[name]
            off = [float(np.abs(each - truth[name]).sum()) / people for each in estimates]
            yield scale * values.size / people, off


def of_pairs(path: Path, draws: int) -> Iterator[tuple[str, float]]:
    """Yield each ε, and the error with posteriors as a multiple of that without."""
    codes, sizes = of_bank(path)
    for epsilon, _ in product(("0.05", "0.1", "0.3"), range(draws)):
        way = decide(plan_of(sizes, epsilon, 2, len(codes)))
        with_it, without = both(way, codes, sizes, POSTERIORS, whole=False)
        yield epsilon, with_it / without


def of_direct(path: Path, draws: int) -> Iterator[tuple[str, float]]:
    """Yield each ε, and the error with columns smoothed as if their noise were wider, as a multiple of that without."""
    codes, sizes = of_bank(path)
    some = [k for k, size in enumerate(sizes.values()) if 1 < size <= MAX_CELLS][:MAX_DIRECT]
    codes, sizes = codes[:MAX_ROWS, some], {name: sizes[name] for name in np.array([*sizes])[some].tolist()}
    for epsilon, _ in product(("0.1", "0.3", "1"), range(draws if len(some) > 2 and len(codes) >= 1000 else 0)):
        way = decide(plan_of(sizes, epsilon, 2, len(codes), "direct"))
        wider, as_wide = both(way, codes, sizes, WIDTHS, whole=True)
        if as_wide > 0:
            yield epsilon, wider / as_wide


def of_few(path: Path, draws: int) -> Iterator[tuple[str, float]]:
    """Yield the size of the error without posteriors, and the error with them as a multiple of it."""
    codes, sizes = of_bank(path)
    chance, names = np.random.default_rng(len(codes)), list(sizes)
    for _ in range(3 * draws):
        tables = {tuple(sorted(chance.choice(names, min(int(chance.integers(2, 4)), len(names)), replace=False)))
                  for _ in range(chance.integers(1, 4))}  # fmt: skip
        few = [list(table) for table in tables if np.prod([sizes[name] for name in table]) <= MAX_FEW]
        if not few or len(codes) > MAX_ROWS:
            continue
        plan = plan_of(sizes, str(chance.choice([0.01, 0.03, 0.1, 0.3, 1])), 2, len(codes), "direct")
        columns = [column for column in plan.columns if any(column.name in table for table in few)]
        fields = {"dataset": "few", "epsilon": plan.epsilon, "rows_about": plan.rows_about, "strategy": "direct"}
        way = decide(Plan(**fields, columns=columns, tables=sorted(few)))
        with_it, without = both(way, codes, sizes, POSTERIORS, whole=True)
        if without > 0:
            place = int(np.digitize(without, ERRORS))
            yield f"{ERRORS[place - 1]} to {ERRORS[place]}", with_it / without


def both(way: Strategy, codes: Ints, sizes: dict[str, int], rules: Rules, *, whole: bool) -> tuple[float, float]:
    """Return the error of one draw by either of two rules, each some values of some names of modules."""

    def exact(table: Columns) -> Ints:
        return counts(codes, sizes, table) if table else np.array(len(codes))

    truth = {table: exact(table) for table in way.plan.marginals}
    measured = replace(way.measure(lambda tables: [exact(table) for table in tables]), fit=None)
    errors = []
    for rule in rules:
        with ExitStack() as patched:
            for module, name, value in rule:
                patched.enter_context(mock.patch.object(module, name, value))
            if whole:
                table_of = conclude(way.plan, measured).counts
            else:
                table_of = derive_estimates(way.plan, measured).fitted.table
            off = [np.abs(table_of(table) - counts).sum() for table, counts in truth.items()]
        errors.append(statistics.mean(off) / len(codes))
    return errors[0], errors[1]


def main() -> None:
    """Compare, and sum up."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--draws", type=int, default=2)
    parser.add_argument("--pairs", action="store_true")
    parser.add_argument("--few", action="store_true")
    parser.add_argument("--wider", action="store_true")
    chosen = parser.parse_args()
    if chosen.pairs or chosen.few or chosen.wider:
        compare = of_pairs if chosen.pairs else of_few if chosen.few else of_direct
        ratios: defaultdict[str, list[float]] = defaultdict(list)
        for path in sorted(chosen.folder.glob("*.npz")):
            for group, ratio in compare(path, chosen.draws):
                ratios[group].append(ratio)
        for group, found_ratios in sorted(ratios.items()):
            mean, ends = statistics.geometric_mean(found_ratios), (min(found_ratios), max(found_ratios))
            print(f"{group:<12} {len(found_ratios):>5}  {mean:.3f} ({ends[0]:.2f} to {ends[1]:.2f})")
        return
    found: defaultdict[int, list[list[float]]] = defaultdict(list)
    for path in sorted(chosen.folder.glob("*.npz")):
        with np.load(path) as read:
            codes, sizes = read["codes"], read["sizes"]
        for noise, off in errors(codes, sizes, chosen.draws):
            found[int(np.digitize(noise, NOISE))].append(off)
    print("noise of a mean count   columns  projected  by order and sizes  together")
    for group, (low, high) in enumerate(pairwise(NOISE), start=1):
        if group in found:
            projected, alone, together = np.mean(found[group], axis=0)
            print(f"{low:>8} to {high:<8} {len(found[group]):>12}  {projected:>9.3f}  {alone:>18.3f}  {together:>8.3f}"
                  f"  ({together / alone:.3f})")  # fmt: skip


if __name__ == "__main__":
    main()
