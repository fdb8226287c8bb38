"""Compare measuring all pairs of few columns at once, where a private answer says so, with choosing pairs in phases.

    python benchmarks/all_pairs.py bank               # the folder that `bank.py save bank` wrote
    python benchmarks/all_pairs.py bank --seed 2 --plans 40 --draws 4

Each plan asks for all pairs of 3 to 30 columns, drawn at random from one table of the bank, under *adaptive*, at an ε
at which all pairs measured together would have noise of 4 to 70 % of the rows. Shown are plans in which the strongest
pairs gain less than half of the rows each, but enough beside the noise of all pairs that a further question is asked
(`measure.how_many_pairs`): the error of whole counts with it, as a multiple of that without it, and how many pairs were
measured with it. Errors are mean L1 distances over pairs, as a part of all rows.
"""

from __future__ import annotations

import argparse
import math
import statistics
import sys
from collections.abc import Callable, Iterator
from functools import partial
from itertools import combinations
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np

sys.path.insert(0, str(Path(__file__).parent.parent))  # the engine beside this folder, wherever this is run

import dpengine as dpe
from benchmarks.accuracy import categories, counts, of_bank
from dpengine.estimate.estimates import derive_estimates
from dpengine.measure import adaptive
from dpengine.measure.how_many_pairs import STRONG, all_pairs_gain
from dpengine.measure.strategy import decide
from dpengine.synthesis.generate_rows import realise

Counted = Callable[[tuple[str, ...]], np.ndarray]
COLUMNS, NOISE = (3, 4, 5, 6, 8, 10, 14, 20, 30), (0.04, 0.08, 0.15, 0.25, 0.4, 0.7)
MAX_ROWS, EPSILONS = 60_000, (0.02, 15)


def _counted(codes: np.ndarray, sizes: dict[str, int], table: tuple[str, ...]) -> np.ndarray:
    return counts(codes, sizes, table) if table else np.array(len(codes))


def draw_plan(rng: np.random.Generator, codes: np.ndarray, sizes: dict[str, int]) -> dpe.Plan | None:
    """Return a plan of all pairs of random columns, at an ε that gives random noise; None if there is no such plan."""
    many = int(rng.choice(COLUMNS))
    if many > len(sizes) or len(codes) > MAX_ROWS:
        return None
    names = [list(sizes)[k] for k in np.sort(rng.choice(len(sizes), many, replace=False))]
    pairs = list(combinations(names, 2))
    noise = sum(math.sqrt(sizes[a] * sizes[b]) for a, b in pairs) ** 2 / len(pairs) / len(codes)  # at ε = 1
    epsilon = noise / float(rng.choice(NOISE))
    if not EPSILONS[0] < epsilon < EPSILONS[1]:
        return None
    return dpe.Plan(
        dataset="benchmark",
        epsilon=f"{epsilon:.3g}",
        rows_about=max(100, round(len(codes), -2)),
        columns=categories({name: sizes[name] for name in names}),
        tables=pairs,
        strategy="adaptive",
    )


def without_question(run: Any, asked: int, gain: float, total: float) -> bool:
    """Return whether all pairs are measured at once by the first answer alone."""
    return all_pairs_gain(run, asked, gain, total) and gain >= STRONG * total


def errors(plan: dpe.Plan, counted: Counted, draws: int) -> Iterator[tuple[float, int]]:
    """Yield the error of the whole counts, and how many pairs were measured, of each draw."""
    strategy, rows = decide(plan), int(counted(()))
    for _ in range(draws):
        measured = strategy.measure(lambda tables: [counted(each) for each in tables])
        whole = realise(derive_estimates(strategy.plan, measured).fitted, list(plan.marginals))
        off = statistics.mean(np.abs(whole.table(each) - counted(each)).sum() / rows for each in plan.marginals)
        yield off, len({one.allocation.columns for one in measured.marginals if len(one.allocation.columns) == 2})


def is_asked(plan: dpe.Plan, counted: Counted) -> bool:
    """Return whether the further question is asked in one draw."""
    with mock.patch.object(adaptive, "_depend_throughout", return_value=True) as asked:
        list(errors(plan, counted, 1))
    return bool(asked.called)


def main() -> None:
    """Print the plans, and the mean multiple."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bank", type=Path)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--plans", type=int, default=60)
    parser.add_argument("--draws", type=int, default=3)
    chosen = parser.parse_args()
    rng, files, multiples = np.random.default_rng(chosen.seed), sorted(chosen.bank.glob("*.npz")), []
    rules: tuple[Callable[..., bool], ...] = (without_question, all_pairs_gain)
    while len(multiples) < chosen.plans:
        path = files[rng.integers(len(files))]
        codes, sizes = of_bank(path)
        plan = draw_plan(rng, codes, sizes)
        if plan is None:
            continue
        counted = partial(_counted, codes, sizes)
        if not is_asked(plan, counted):
            continue
        found = []
        for rule in rules:
            with mock.patch.object(adaptive, "all_pairs_gain", rule):
                found.append(list(errors(plan, counted, chosen.draws)))
        before, after = (statistics.mean(off for off, _ in each) for each in found)
        multiples.append(after / before)
        print(
            f"{multiples[-1]:.2f}  {path.stem:<24} {len(plan.columns):>2} columns, {len(codes):>6,} rows, ε = "
            f"{float(plan.epsilon):g}: {after:.4f}, pairs {[pairs for _, pairs in found[1]]} of {len(plan.marginals)}",
            flush=True,
        )
    print(f"{statistics.geometric_mean(multiples):.3f} on average; from {min(multiples):.2f} to {max(multiples):.2f}")


if __name__ == "__main__":
    main()
