"""Compare *auto* with its alternatives on workloads of a few tables, drawn at random from public tables.

    python benchmarks/workloads.py bank                            # the folder that `bank.py save bank` wrote
    python benchmarks/workloads.py bank --seed 2 --wide 2          # other workloads, of tables of one or two columns
    python benchmarks/workloads.py bank --rings                    # tables that no table of all columns makes agree

Each workload has 2 to 8 tables, drawn at random from one table of the bank, and an ε drawn at random. Shown are those
that can be measured directly with much noise: more than 0.8 of all rows in a table on average; or, with `--rings`,
those with tables of three columns or more that agree only through their pairs, with noise of 0.1 to 2 of all rows.
Errors are mean L1 distances of expected counts to the truth over the published tables, as a part of all rows.
Independence is told the number of rows; the others measure it.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import zlib
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parent.parent))  # the engine beside this folder, wherever this is run

import dpengine as dpe
from benchmarks.accuracy import categories, counts, independence
from dpengine.estimate.estimates import derive_estimates
from dpengine.marginals.graphs import maximal
from dpengine.measure.allocation import needs_a_model
from dpengine.measure.rows_and_noise import noise_in_a_table
from dpengine.measure.strategy import decide
from dpengine.synthesis.generate_rows import realise

EPSILONS = ("0.03", "0.1", "0.3", "1", "3")
TABLES = (2, 3, 5, 8)
MAX_ROWS, MAX_CELLS, MIN_NOISE, TRIALS = 100_000, 60_000, 0.8, 40
NOISE_IN_RINGS = 0.1, 2.0
WORST = 1.03  # times the error of the better of direct measurement and independence


def draw_plan(
    rng: np.random.Generator,
    sizes: dict[str, int],
    rows: int,
    wide: int,
    epsilons: Sequence[str] = EPSILONS,
    many: Sequence[int] = TABLES,
) -> dpe.Plan:
    """Return a plan of a few random tables of at most `wide` columns, at a random ε."""
    names, tables = list(sizes), set()
    for _ in range(rng.choice(many)):
        columns = np.sort(rng.choice(len(names), min(int(rng.integers(1, wide + 1)), len(names)), replace=False))
        if np.prod([sizes[names[k]] for k in columns]) <= MAX_CELLS:
            tables.add(tuple(names[k] for k in columns))
    used = {name: size for name, size in sizes.items() if any(name in table for table in tables)}
    return dpe.Plan(
        dataset="benchmark",
        epsilon=str(rng.choice(epsilons)),
        rows_about=max(100, round(rows, -2)),
        columns=categories(used),
        tables=sorted(map(list, tables)) or [[names[0]]],
    )


def is_taken(plan: dpe.Plan, rings: bool) -> bool:
    """Return whether the tables of a plan are of the kind that is compared."""
    tables = maximal(plan.estimated_tables)
    if len(tables) < 2 or needs_a_model(plan) != rings:
        return False
    noise = noise_in_a_table(plan, tables)
    if rings:
        return max(map(len, tables)) > 2 and NOISE_IN_RINGS[0] < noise < NOISE_IN_RINGS[1]
    return noise > MIN_NOISE


def compare(path: Path, seed: int, wide: int, draws: int, rings: bool = False) -> tuple[dict[str, float], str] | None:
    """Return the errors by strategy on the first noisy workload drawn, and a line that says so."""
    with np.load(path) as read:
        codes, sizes = read["codes"], {f"c{k}": int(size) for k, size in enumerate(read["sizes"])}
    rng = np.random.default_rng([zlib.crc32(path.stem.encode()), seed])
    if len(codes) > MAX_ROWS:
        return None
    for _ in range(TRIALS):
        try:
            plan = draw_plan(rng, sizes, len(codes), wide)
        except (dpe.PlanError, ValueError):
            continue
        if is_taken(plan, rings):
            break
    else:
        return None
    exact = partial(exact_counts, codes, sizes)
    error = {each: mean_error(plan, each, exact, draws) for each in ("direct", "adaptive")}
    chosen = "direct" if decide(plan).closed_form else "adaptive"
    alone = [independence(codes, sizes, str(plan.epsilon), list(plan.marginals)) for _ in range(2 * draws)]
    error |= {"auto": error[chosen], "independence": statistics.mean(alone)}
    tables = maximal(plan.estimated_tables)
    shapes = " ".join("x".join(str(sizes[name]) for name in table) for table in tables)
    told = "  ".join(f"{name} {value:.3f}" for name, value in error.items())
    noise = noise_in_a_table(plan, tables)
    return error, f"{path.stem:<16} eps {plan.epsilon!s:>6}  noise {noise:6.2f}  {told}  {chosen:<8}  {shapes}"


def exact_counts(codes: np.ndarray, sizes: dict[str, int], table: tuple[str, ...]) -> np.ndarray:
    """Return the counts of a table; of no columns, the number of rows."""
    return counts(codes, sizes, table) if table else np.array(len(codes))


def mean_error(plan: dpe.Plan, strategy: str, exact: Any, draws: int, whole: bool = False) -> float:
    """Return the mean error of expected counts, or of whole ones, over several draws, as a part of all rows."""
    found, rows = [], exact(()).item()
    for _ in range(draws):
        way = decide(plan.model_copy(update={"strategy": strategy}))
        fitted = derive_estimates(way.plan, way.measure(lambda tables: list(map(exact, tables)))).fitted
        told = realise(fitted, list(plan.marginals)) if whole else fitted
        off = [np.abs(told.table(table) - exact(table)).sum() / rows for table in way.plan.marginals if table]
        found.append(statistics.mean(off))
    return statistics.mean(found)


def main() -> None:
    """Compare, and sum up."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--wide", type=int, default=4, help="columns of a table, at most")
    parser.add_argument("--draws", type=int, default=3)
    parser.add_argument("--rings", action="store_true", help="tables that agree only through their pairs")
    chosen = parser.parse_args()
    errors = []
    for path in sorted(chosen.folder.glob("*.npz")):
        if (found := compare(path, chosen.seed, chosen.wide, chosen.draws, chosen.rings)) is not None:
            errors.append(found[0])
            print(found[1], flush=True)
    better = [min(each["direct"], each["independence"]) for each in errors]
    for name in ("direct", "adaptive", "auto"):
        ratios = [each[name] / least for each, least in zip(errors, better, strict=True)]
        print(
            f"{name} has {statistics.geometric_mean(ratios):.2f} times the better error of direct and independence, "
            f"at most {max(ratios):.2f}; {sum(ratio <= WORST for ratio in ratios)} of {len(ratios)} within {WORST}"
        )


if __name__ == "__main__":
    main()
