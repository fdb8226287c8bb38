"""Compare *auto* with its alternatives where all tables of three columns, or four, are published.

    python benchmarks/larger_tables.py bank                        # the folder that `bank.py save bank` wrote
    python benchmarks/larger_tables.py bank --seed 2 --wide 4      # other columns and ε, tables of four columns
    python benchmarks/larger_tables.py bank --rows                 # errors of whole counts, which are dealt as rows
    python benchmarks/larger_tables.py bank --tables flights,TV16 --people 1000000

From each table of the bank, some columns, some of the people and an ε are drawn at random; so many `--people` are drawn
with replacement. Plans are taken in which the noise of measured tables is a part of all rows between `LEAST_NOISE` and
`MOST_NOISE`. Errors are mean L1 distances of expected counts to the truth over the published tables, as a part of all
rows. *Model* is *adaptive* if it did not ask whether tables are better measured. Independence is told the number of
rows; the others measure it. Plans are summed up by how measured tables are made to agree: as sums of one table, through
one table, or through their pairs.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import zlib
from functools import partial
from pathlib import Path
from unittest.mock import patch

import numpy as np

sys.path.insert(0, str(Path(__file__).parent.parent))  # the engine beside this folder, wherever this is run

import dpengine as dpe
from benchmarks.accuracy import categories, independence
from benchmarks.workloads import WORST, exact_counts, mean_error
from dpengine.marginals.graphs import maximal
from dpengine.measure.adaptive_strategy import Adaptive
from dpengine.measure.allocation import allocate_directly, needs_a_model
from dpengine.measure.rows_and_noise import noise_in_a_table
from dpengine.measure.strategy import decide
from dpengine.measure.tables_or_model import TablesOrModel

EPSILONS = ("0.1", "0.3", "1", "3", "10", "20")
COLUMNS, ROWS = (5, 6, 7, 8, 10), (1_000, 3_000, 10_000, 30_000, 100_000)
LEAST_NOISE, MOST_NOISE, MAX_CELLS, TRIALS = 0.02, 10.0, 1_000_000, 60
KINDS = ("sums of one table", "through one table", "through pairs")


def draw(
    rng: np.random.Generator, codes: np.ndarray, sizes: np.ndarray, wide: int, many: int | None
) -> tuple[np.ndarray, dpe.Plan]:
    """Return random columns of random people, and the plan of all their tables of `wide` columns."""
    columns = min(int(rng.choice(COLUMNS)), sizes.size)
    picked = np.sort(rng.choice(sizes.size, columns, replace=False))
    people = rng.choice(len(codes), many) if many else rng.permutation(len(codes))[: rng.choice(ROWS)]
    plan = dpe.Plan(
        dataset="benchmark",
        epsilon=str(rng.choice(EPSILONS)),
        rows_about=max(100, round(people.size, -2)),
        columns=categories({f"c{k}": int(size) for k, size in enumerate(sizes[picked])}),
        tables={"each": wide},
    )
    return codes[np.ix_(people, picked)], plan


def compare(
    path: Path, seed: int, wide: int, rows: bool, many: int | None = None
) -> tuple[str, dict[str, float], str] | None:
    """Return how the tables of the first plan taken agree, the errors by strategy, and a line that says so."""
    with np.load(path) as read:
        all_codes, all_sizes = read["codes"], read["sizes"]
    rng = np.random.default_rng([zlib.crc32(path.stem.encode()), seed, wide])
    if all_sizes.size <= wide:
        return None
    for _ in range(TRIALS):
        try:
            codes, plan = draw(rng, all_codes, all_sizes, wide, many)
        except (dpe.PlanError, ValueError):
            continue
        tables = maximal(plan.estimated_tables)
        small = len(tables) > 1 and sum(map(plan.cells, tables)) <= MAX_CELLS
        if small and LEAST_NOISE < noise_in_a_table(plan, tables) < MOST_NOISE:
            break
    else:
        return None
    sizes = {name: plan.cells((name,)) for name in plan.released}
    exact = partial(exact_counts, codes, sizes)
    error = {each: mean_error(plan, each, exact, 2, rows) for each in ("direct", "adaptive")}
    error["model"] = error["adaptive"]
    if TablesOrModel.of(plan) is not None:
        with patch.object(Adaptive, "question", None):
            error["model"] = mean_error(plan, "adaptive", exact, 2, rows)
    chosen = "direct" if decide(plan).closed_form else "adaptive"
    alone = independence(codes, sizes, str(plan.epsilon), list(plan.marginals))
    error |= {"auto": error[chosen], "independence": alone}
    kind = KINDS[2 if needs_a_model(plan) else len(allocate_directly(plan)) > 1]
    told = "  ".join(f"{name} {value:.4f}" for name, value in error.items())
    about = f"{path.stem:<16} {len(codes):6} rows  {len(sizes):2} columns  eps {plan.epsilon!s:>4}"
    return kind, error, f"{about}  noise {noise_in_a_table(plan, tables):6.3f}  {told}  {chosen:<8}  {kind}"


def main() -> None:
    """Compare, and sum up."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--wide", type=int, default=3, help="columns of a table")
    parser.add_argument("--rows", action="store_true", help="errors of whole counts instead of expected ones")
    parser.add_argument("--people", type=int, help="so many, drawn with replacement")
    parser.add_argument("--tables", default="", help="only these, separated by commas")
    chosen = parser.parse_args()
    only = {*filter(None, chosen.tables.split(","))}
    errors: dict[str, list[dict[str, float]]] = {}
    for path in sorted(chosen.folder.glob("*.npz")):
        if only and path.stem not in only:
            continue
        if (found := compare(path, chosen.seed, chosen.wide, chosen.rows, chosen.people)) is not None:
            kind, error, line = found
            errors.setdefault(kind, []).append(error)
            print(line, flush=True)
    for kind, found in errors.items():
        print(f"{kind}: {len(found)} plans")
        for name in ("direct", "model", "adaptive", "auto"):
            better = [min(each["direct"], each["independence"]) for each in found]
            ratios = [max(each[name], 1e-9) / max(least, 1e-9) for each, least in zip(found, better, strict=True)]
            print(
                f"  {name} has {statistics.geometric_mean(ratios):.2f} times the better error of direct and "
                f"independence, at most {max(ratios):.2f}; {sum(ratio <= WORST for ratio in ratios)} within {WORST}"
            )


if __name__ == "__main__":
    main()
