"""Compare *auto* with measuring each table by itself where one table of all columns can be written down.

    python benchmarks/one_table.py bank              # the folder that `bank.py save bank` wrote
    python benchmarks/one_table.py bank --seed 2     # other columns, people, tables and ε
    python benchmarks/one_table.py bank --noisy      # beside *direct* and *adaptive*, where noise is wide

Each plan has all tables of two columns, or of three, of 3 to 7 columns of a public table, or some of them, at ε from 1
to 20. Errors are mean L1 distances to the truth as a part of all rows, of estimates and of whole counts; a thousandth
of a person is added for each cell. Each has noise of its own. With ``--noisy``, there are `TIMES` plans of each public
table: all pairs of columns, which *direct* takes from one table, at an ε at which noise in a table is 0.12 to 1.5 of
the rows.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import zlib
from collections import defaultdict
from collections.abc import Iterator
from functools import cached_property, partial
from itertools import combinations, product
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent.parent))  # the engine beside this folder, wherever this is run

import dpengine as dpe
from benchmarks.accuracy import categories
from benchmarks.workloads import exact_counts
from dpengine.array_types import Ints
from dpengine.estimate.estimates import derive_estimates
from dpengine.marginals.graphs import maximal
from dpengine.marginals.measurement import Allocation
from dpengine.measure.allocation import allocate_apart, allocate_directly
from dpengine.measure.direct_strategy import WithoutQuantileChoice
from dpengine.measure.rows_and_noise import noise_in_a_table
from dpengine.measure.strategy import decide
from dpengine.measure.strategy_base import Strategy
from dpengine.spec.declared import changed
from dpengine.synthesis.generate_rows import realise

EPSILONS, ROWS = ("1", "3", "5", "8", "10", "20"), (1_000, 3_000, 10_000, 30_000)
LEAST_CELLS, MOST_CELLS, TRIALS, DRAWS, ADDED, TIMES = 50, 1_000_000, 40, 2, 1e-3, 2


class ByThemselves(WithoutQuantileChoice):
    """Measure each table by itself, with ε in proportion to the cube roots of their cells."""

    @cached_property
    def divided(self) -> tuple[Allocation, ...]:
        return allocate_apart(self.plan)


def some_columns(rng: np.random.Generator, all_sizes: Ints, least: int) -> Iterator[dict[str, int]]:
    """Yield the sizes of 3 to 7 random columns that have at least so many cells together, in up to `TRIALS` trials."""
    for _ in range(TRIALS):
        columns = int(rng.integers(3, 8))
        if columns <= len(all_sizes):
            some = rng.choice(len(all_sizes), columns, replace=False)
            if least <= np.prod(all_sizes[some].astype(float)) <= MOST_CELLS:
                yield {f"c{k}": int(all_sizes[k]) for k in some}


def draw(rng: np.random.Generator, all_sizes: Ints, people: int) -> dpe.Plan | None:
    """Return a random plan whose table of all columns can be written down."""
    sizes = next(some_columns(rng, all_sizes, LEAST_CELLS), None)
    if sizes is None:
        return None
    every = [*map(list, combinations(sizes, int(rng.choice([2, 2, 3])) if len(sizes) > 3 else 2))]
    tables = every if rng.random() < 0.6 else [every[k] for k in rng.permutation(len(every))[: len(sizes)]]
    used = {name: size for name, size in sizes.items() if any(name in table for table in tables)}
    return dpe.Plan(
        dataset="benchmark",
        epsilon=str(rng.choice(EPSILONS)),
        rows_about=max(100, round(people, -2)),
        columns=categories(used),
        tables=tables,
    )


def draw_noisy(rng: np.random.Generator, all_sizes: Ints, people: int) -> dpe.Plan | None:
    """Return a random plan of pairs that *direct* takes from one table, under noise of 0.12 to 1.5 of the rows."""
    for sizes in some_columns(rng, all_sizes, least=0):
        plan = dpe.Plan(
            dataset="benchmark",
            epsilon=f"{10 ** rng.uniform(-1.3, 1.3):.3g}",
            rows_about=max(100, round(people, -2)),
            columns=categories(sizes),
            tables={"each": 2},
        )
        if len(allocate_directly(plan)) == 1 and 0.12 < noise_in_a_table(plan, maximal(plan.estimated_tables)) < 1.5:
            return plan
    return None


def errors(strategy: Strategy, exact: partial[np.ndarray]) -> tuple[float, float]:
    """Return the mean errors of estimates and of whole counts over `DRAWS` releases."""
    plan, rows, off = strategy.plan, float(exact(())), []
    for _ in range(DRAWS):
        estimates = derive_estimates(plan, strategy.measure(lambda tables: list(map(exact, tables))))
        whole = realise(estimates.fitted, plan.marginals)
        for table in plan.marginals:
            truth = exact(table)
            told = estimates.estimate(table), whole.table(table)
            off.append([(np.abs(each - truth).sum() + ADDED * truth.size) / rows for each in told])
    estimate, count = np.mean(off, axis=0)
    return float(estimate), float(count)


def compare_noisy(folder: Path, seed: int) -> None:
    """Compare whole counts of *auto* with the better of *direct* and *adaptive*, and each of these with it."""
    found: dict[str, list[float]] = defaultdict(list)
    for path, time in product(sorted(folder.glob("*.npz")), range(TIMES)):
        with np.load(path) as read:
            all_codes, all_sizes = read["codes"], read["sizes"]
        rng = np.random.default_rng([zlib.crc32(path.stem.encode()), seed, time])
        people = rng.permutation(len(all_codes))[: rng.choice(ROWS)]
        plan = draw_noisy(rng, all_sizes, people.size)
        if plan is None:
            continue
        sizes = {name: plan.cells((name,)) for name in plan.released}
        exact = partial(exact_counts, all_codes[np.ix_(people, [int(name[1:]) for name in sizes])], sizes)
        off = {way: errors(decide(changed(plan, strategy=way)), exact)[1] for way in ("direct", "adaptive")}
        off["auto"] = off["direct" if decide(plan).closed_form else "adaptive"]
        noise = noise_in_a_table(plan, maximal(plan.estimated_tables))
        off["noise up to 0.3"] = off["direct" if noise <= 0.3 else "adaptive"]
        for way, error in off.items():
            found[way].append(error / min(off.values()))
        told = "  ".join(f"{way} {error:.4f}" for way, error in off.items())
        print(
            f"{path.stem:<22} {people.size:6} rows  eps {float(plan.epsilon):6}  noise {noise:.2f}  {told}", flush=True
        )
    for way, ratios in found.items():
        told = f"{statistics.geometric_mean(ratios):.3f} (at most {max(ratios):.2f})"
        print(f"{way}: {len(ratios)} plans, {told} times the error of the better way")


def main() -> None:
    """Compare, and sum up by whether *auto* measures one table, each, or fits a model."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--noisy", action="store_true")
    chosen = parser.parse_args()
    if chosen.noisy:
        compare_noisy(chosen.folder, chosen.seed)
        return
    found: dict[str, list[tuple[float, float]]] = defaultdict(list)
    for path in sorted(chosen.folder.glob("*.npz")):
        with np.load(path) as read:
            all_codes, all_sizes = read["codes"], read["sizes"]
        rng = np.random.default_rng([zlib.crc32(path.stem.encode()), chosen.seed])
        people = rng.permutation(len(all_codes))[: rng.choice(ROWS)]
        plan = draw(rng, all_sizes, people.size)
        if plan is None:
            continue
        sizes = {name: plan.cells((name,)) for name in plan.released}
        codes = all_codes[np.ix_(people, [int(name[1:]) for name in sizes])]
        exact, strategy = partial(exact_counts, codes, sizes), decide(plan)
        way = "a model" if not strategy.closed_form else "one table" if len(strategy.allocations) == 1 else "each table"
        auto, each = errors(strategy, exact), errors(ByThemselves(plan), exact)
        found[way].append((auto[0] / each[0], auto[1] / each[1]))
        print(
            f"{path.stem:<22} {people.size:6} rows  eps {plan.epsilon!s:>2}  {len(plan.marginals):2} tables, "
            f"{plan.cells(plan.released):8,} cells in one  {way:<10}  auto {auto[0]:.5f} {auto[1]:.5f}  "
            f"each by itself {each[0]:.5f} {each[1]:.5f}",
            flush=True,
        )
    for way, ratios in found.items():
        for k, name in enumerate(("estimates", "whole counts")):
            some = [each[k] for each in ratios]
            told = f"{statistics.geometric_mean(some):.3f} ({min(some):.4f} to {max(some):.2f})"
            print(f"{way}: {len(some)} plans, {name} {told} times the error of each table measured by itself")


if __name__ == "__main__":
    main()
