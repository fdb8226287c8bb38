"""Compare *auto* with its alternatives where some of many tables are at a coarser level: random plans of public tables.

    python benchmarks/coarser_levels.py bank              # the folder that `bank.py save bank` wrote
    python benchmarks/coarser_levels.py bank --seed 2     # other columns, people, levels and ε
    python benchmarks/coarser_levels.py bank --joint 1e6  # if a table of all columns has so many cells at most

Each plan has all pairs of 3 to 8 columns, of which one has at least `LEAST` values, and tables at a coarser level of
it: the column alone, it in pairs with all others, or these pairs in place of the finer ones, which leave the column
alone. Errors are mean L1 distances of the tables to the truth as a part of all rows, of estimates and of whole counts:
by *auto*, by the best of the ways that measure levels themselves (crossed, apart, or in parts), and of the finer tables
alone, without coarser ones, where these are the same. Each has noise of its own.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import zlib
from collections import defaultdict
from functools import partial
from itertools import combinations
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent.parent))  # the engine beside this folder, wherever this is run

import dpengine as dpe
from benchmarks.accuracy import categories
from benchmarks.ranges_beside import EPSILONS, ROWS
from dpengine.array_types import Columns, Ints
from dpengine.estimate.estimates import derive_estimates
from dpengine.measure.at_levels import is_better_in_parts
from dpengine.measure.strategy import decide, resolved
from dpengine.measure.strategy_base import Strategy
from dpengine.synthesis.generate_rows import realise

LEAST, OTHERS, GROUPS, MAX_CELLS, TRIALS = 9, (2, 3, 4, 5, 7), (2, 3, 5), 200, 60
KINDS = ("the column alone", "its pairs, too", "its pairs in place of finer ones")
DRAWS = 2
Tables = list[list[str]]


def draw(rng: np.random.Generator, all_sizes: Ints, people: int) -> tuple[dpe.Plan, Tables, Tables, int]:
    """Return a random plan, its tables at the finer and at the coarser level, and the kind of these."""
    long = np.flatnonzero((all_sizes >= LEAST) & (all_sizes <= MAX_CELLS))
    first = int(rng.choice(long))
    others = [k for k in range(len(all_sizes)) if k != first and 1 < all_sizes[k] < MAX_CELLS // 3]
    some = [int(k) for k in rng.choice(others, min(len(others), int(rng.choice(OTHERS))), replace=False)]
    sizes = {f"c{k}": int(all_sizes[k]) for k in some}
    name, kind = f"c{first}", int(rng.integers(len(KINDS)))
    edges = list(range(int(all_sizes[first]) + 1))
    column = {"name": name, "kind": "number", "edges": edges, "levels": {"wide": int(rng.choice(GROUPS))},
              "other": False, "missing": False}  # fmt: skip
    finer: Tables = [*map(list, combinations([name, *sizes], 2))]
    coarser: Tables = [[f"{name}@wide", other] for other in sizes] if kind else [[f"{name}@wide"]]
    if kind == 2:
        finer = [[name], *(pair for pair in finer if name not in pair)]
    plan = dpe.Plan(
        dataset="benchmark",
        epsilon=str(rng.choice(EPSILONS)),
        rows_about=max(100, round(people, -2)),
        columns=[column, *categories(sizes)],
        tables=[*finer, *coarser],
    )
    return plan, finer, coarser, kind


def without_sums(plan: dpe.Plan) -> Strategy:
    """Return the best way to measure `plan` that measures levels themselves. Raises `PlanError` if there is none."""
    private = plan.model_copy(update={"strategy": "adaptive"})
    strategy = resolved(private if is_better_in_parts(private) else plan)
    strategy.check()
    return strategy


def exact_counts(plan: dpe.Plan, codes: dict[str, Ints], table: Columns) -> Ints:
    """Return the counts of a table, at any level; of no columns, the number of rows."""
    finest = plan.resolution.declared_columns(table)
    counts = np.zeros(plan.shape(finest), dtype=np.int64)
    np.add.at(counts, tuple(codes[name] for name in finest), 1 if table else len(next(iter(codes.values()))))
    return plan.resolution.coarsen(counts, finest, table)


def errors(strategy: Strategy, exact: partial[Ints], tables: Tables) -> tuple[float, float]:
    """Return the mean errors of estimates and of whole counts of some tables, over `DRAWS` releases."""
    plan, off = strategy.plan, []
    rows = float(exact(()))
    for _ in range(DRAWS):
        estimates = derive_estimates(plan, strategy.measure(lambda wanted: [exact(each) for each in wanted]))
        whole = realise(estimates.fitted, list(plan.finest.marginals))
        for table in map(tuple, tables):
            told = estimates.estimate(table), whole.table(table, plan.resolution)
            off.append([np.abs(each - exact(table)).sum() / rows for each in told])
    estimate, count = np.mean(off, axis=0)
    return float(estimate), float(count)


def compare(path: Path, seed: int, most: float) -> tuple[str, list[float], str] | None:
    """Return the kind of the plan drawn for a table, ratios of errors, and a line that says so."""
    with np.load(path) as read:
        all_codes, all_sizes = read["codes"], read["sizes"]
    rng = np.random.default_rng([zlib.crc32(path.stem.encode()), seed])
    if len(all_sizes) < 4 or not ((all_sizes >= LEAST) & (all_sizes <= MAX_CELLS)).any():
        return None
    people = rng.permutation(len(all_codes))[: rng.choice(ROWS)]
    for _ in range(TRIALS):
        try:
            plan, finer, coarser, kind = draw(rng, all_sizes, people.size)
        except (dpe.PlanError, ValueError):
            continue
        if plan.cells(plan.resolution.finest_columns(plan.used)) <= most:
            break
    else:
        return None
    chosen = decide(plan)
    exact = partial(exact_counts, plan, {name: all_codes[people, int(name[1:])] for name in plan.used})
    every = finer + coarser
    auto = errors(chosen, exact, every)
    line = f"{path.stem:<16} {people.size:6} rows  eps {plan.epsilon!s:>4}  {KINDS[kind]:<32} "
    line += f"auto {auto[0]:.4f} {auto[1]:.4f}"
    try:
        other = errors(without_sums(plan), exact, every)
    except dpe.PlanError:
        return KINDS[kind], [], f"{line}  levels themselves: refused"
    ratios = [max(mine, 1e-4) / max(its, 1e-4) for mine, its in zip(auto, other, strict=True)]
    line += f"  levels themselves {other[0]:.4f} {other[1]:.4f}"
    if kind < 2:
        alone = errors(decide(dpe.Plan(**plan.to_dict() | {"tables": finer})), exact, finer)
        beside = errors(chosen, exact, finer)
        ratios += [max(mine, 1e-4) / max(its, 1e-4) for mine, its in zip(beside, alone, strict=True)]
        line += f"  finer tables {beside[0]:.4f} {beside[1]:.4f}, alone {alone[0]:.4f} {alone[1]:.4f}"
    return KINDS[kind], ratios, f"{line}  {chosen.plan.strategy}{' sums' if chosen.plan.coarser_levels else ''}"


def main() -> None:
    """Compare, and sum up."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--joint", type=float, default=1e5, help="cells of a table of all columns, at most")
    chosen = parser.parse_args()
    found: dict[str, list[list[float]]] = defaultdict(list)
    for path in sorted(chosen.folder.glob("*.npz")):
        if (one := compare(path, chosen.seed, chosen.joint)) is not None:
            found[one[0]].append(one[1])
            print(one[2], flush=True)
    names = ("estimates", "whole counts", "finer estimates beside alone", "finer whole counts beside alone")
    for kind, ratios in found.items():
        print(
            f"{kind}: {len(ratios)} plans, {sum(not each for each in ratios)} of which could not be measured at levels"
        )
        for k, name in enumerate(names):
            some = [each[k] for each in ratios if len(each) > k]
            if some:
                print(f"  {name} {statistics.geometric_mean(some):.3f} ({min(some):.3f} to {max(some):.2f})")


if __name__ == "__main__":
    main()
