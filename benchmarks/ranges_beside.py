"""Measure what a table for ranges beside other tables costs and gains: random plans of public tables.

    python benchmarks/ranges_beside.py bank              # the folder that `bank.py save bank` wrote
    python benchmarks/ranges_beside.py bank --seed 2     # other columns, people and ε
    python benchmarks/ranges_beside.py bank --joint 1e5  # if a table of all columns has so many cells at most

One column of at least `LEAST` values is published for ranges, beside random tables of it and other columns. Beside each
other, with noise of their own: all in one plan; the same tables in a plan without ranges, with all of ε; and the column
alone for ranges, with the ε that it has in the one plan. Errors are mean L1 distances of the other tables as a part of
all rows, of estimates and of whole counts, and mean errors of sums from the first cell of the column, in whole counts.
"""

from __future__ import annotations

import argparse
import math
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
from benchmarks.workloads import exact_counts
from dpengine.estimate.estimates import derive_estimates
from dpengine.measure.parts import InParts
from dpengine.measure.strategy import decide
from dpengine.synthesis.generate_rows import realise

EPSILONS, COLUMNS, ROWS = ("0.1", "0.3", "1", "3", "10"), (3, 4, 5, 6, 8, 10), (1_000, 3_000, 10_000, 30_000, 100_000)
LEAST, TRIALS = 25, 60  # values of the column for ranges; plans that are drawn until one is accepted
Errors = tuple[float, float, float]  # of estimates, whole counts, and sums of the column for ranges


def draw(rng: np.random.Generator, sizes: dict[str, int], rows: int) -> tuple[dpe.Plan, str]:
    """Return a random plan, and the name of its column for ranges."""
    long = [name for name, size in sizes.items() if size >= LEAST]
    name = str(rng.choice(long))
    others = [each for each in sizes if each != name]
    some = [str(each) for each in rng.choice(others, min(len(others), int(rng.choice(COLUMNS))), replace=False)]
    pairs = [*map(list, combinations([name, *some], 2))]
    tables = pairs if rng.random() < 0.5 else [pairs[k] for k in rng.permutation(len(pairs))[: len(some)]]
    used = {each: size for each, size in sizes.items() if any(each in table for table in tables) or each == name}
    columns = categories({each: size for each, size in used.items() if each != name})
    edges = {"name": name, "kind": "number", "edges": list(range(sizes[name] + 1)), "other": False, "missing": False}
    plan = dpe.Plan(
        dataset="benchmark",
        epsilon=str(rng.choice(EPSILONS)),
        rows_about=max(100, round(rows, -2)),
        columns=[edges, *columns],
        tables=[*tables, {"columns": [name], "ranges": True}],
    )
    return plan, name


def errors(plan: dpe.Plan, name: str, exact: partial[np.ndarray]) -> Errors:
    """Return the errors of one release."""
    strategy, rows = decide(plan), float(exact(()))
    plan = strategy.plan
    estimates = derive_estimates(plan, strategy.measure(lambda tables: list(map(exact, tables))))
    whole, truth = realise(estimates.fitted, plan.marginals), {table: exact(table) for table in plan.marginals}
    others = [table for table in truth if table != (name,)]
    off = [
        statistics.mean(np.abs(told(table) - truth[table]).sum() / rows for table in others)
        for told in (estimates.estimate, whole.table)
    ] if others else [0.0, 0.0]  # fmt: skip
    sums = np.cumsum(whole.table((name,)) - exact((name,))) if (name,) in truth else np.zeros(1)
    return off[0], off[1], float(np.abs(sums).mean() / rows)


def compare(path: Path, seed: int, most: float) -> tuple[str, dict[str, Errors], str] | None:
    """Return the kind of the plan drawn for a table, the errors by way, and a line that says so."""
    with np.load(path) as read:
        codes, all_sizes = read["codes"], read["sizes"]
    rng = np.random.default_rng([zlib.crc32(path.stem.encode()), seed])
    codes = codes[rng.permutation(len(codes))[: rng.choice(ROWS)]]
    sizes = {f"c{k}": int(size) for k, size in enumerate(all_sizes)}
    if len(sizes) < min(COLUMNS) or max(sizes.values()) < LEAST:
        return None
    for _ in range(TRIALS):
        plan, name = draw(rng, sizes, len(codes))
        cells = sum(plan.cells(table) for table in plan.marginals)
        strategy = decide(plan)
        small = cells < 300_000 and plan.cells(plan.released) <= most
        if isinstance(strategy, InParts) and small and cells / float(plan.epsilon) < 300 * len(codes):
            break
    else:
        return None
    plain = [list(table) for table in plan.marginals]
    fields = {"dataset": "benchmark", "rows_about": plan.rows_about, "columns": list(plan.columns)}
    alone = next(column for column in plan.columns if column.name == name)
    ways = {
        "together": plan,
        "tables": dpe.Plan(**fields, epsilon=str(plan.epsilon), tables=plain),
        "ranges": dpe.Plan(
            **fields | {"columns": [alone]},
            epsilon=str(strategy.shares[0]),
            tables=[{"columns": [name], "ranges": True}],
        ),
    }
    exact = partial(exact_counts, codes, sizes)
    error = {way: errors(each, name, exact) for way, each in ways.items()}
    kind = "all pairs" if len(plan.marginals) > len(plan.released) + 1 else "some pairs"
    told = "  ".join(f"{way} {' '.join(f'{each:.4f}' for each in error[way])}" for way in ways)
    how = "model" if strategy.model is not None else "measured"
    about = f"{path.stem:<16} {len(codes):6} rows  {len(plan.released):2} columns  eps {plan.epsilon!s:>4}"
    return kind, error, f"{about}  {told}  {how}, {kind}"


def main() -> None:
    """Compare, and sum up."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--joint", type=float, default=math.inf, help="cells of a table of all columns, at most")
    chosen = parser.parse_args()
    ratios: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for path in sorted(chosen.folder.glob("*.npz")):
        if (found := compare(path, chosen.seed, chosen.joint)) is None:
            continue
        kind, error, line = found
        print(line, flush=True)
        together, tables, ranges = error["together"], error["tables"], error["ranges"]
        of_kind = ratios[kind]
        of_kind["estimates, as multiples of those without ranges"].append(together[0] / max(tables[0], 1e-9))
        of_kind["whole counts, as multiples of those without ranges"].append(together[1] / max(tables[1], 1e-9))
        least = max(min(tables[2], ranges[2]), 1e-6)
        of_kind["sums, as multiples of the better of the two others"].append(max(together[2], 1e-6) / least)
    for kind, of_kind in ratios.items():
        for what, found in of_kind.items():
            print(
                f"{kind}: {what}: {statistics.geometric_mean(found):.2f}, worst {max(found):.2f} ({len(found)} plans)"
            )


if __name__ == "__main__":
    main()
