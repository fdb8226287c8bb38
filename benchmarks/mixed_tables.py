"""Compare whole counts with estimates where some tables are published, and not all pairs or sets of three columns.

    python benchmarks/mixed_tables.py bank                         # the folder that `bank.py save bank` wrote
    python benchmarks/mixed_tables.py bank --seed 2 --wide 3       # other plans, of tables of up to three columns

From each table of the bank, 3 to 15 tables of up to four columns, some people and an ε are drawn at random. Plans
are taken whose tables overlap in a ring that no joint table can be written down for, and in which *auto* measures them
directly. Errors are mean L1 distances to the truth over the published tables, as a part of all rows.
"""

from __future__ import annotations

import argparse
import math
import statistics
import sys
import time
import zlib
from functools import partial
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent.parent))  # the engine beside this folder, wherever this is run

import dpengine as dpe
from benchmarks.workloads import draw_plan, exact_counts
from dpengine.estimate.estimates import derive_estimates
from dpengine.marginals.graphs import maximal
from dpengine.measure.allocation import needs_a_model
from dpengine.measure.strategy import decide
from dpengine.synthesis.generate_rows import realise

EPSILONS, TABLES, ROWS = ("1", "3", "10", "20"), (3, 5, 8, 15), (500, 2_000, 8_000, 30_000, 100_000)
MAX_CELLS, TRIALS = 600_000, 60
GOAL = 1.02  # times the error of estimates


def compare(path: Path, seed: int, wide: int) -> tuple[float, str] | None:
    """Return the error of whole counts as a multiple of that of estimates for one plan, and a line that says so."""
    with np.load(path) as read:
        codes, sizes = read["codes"], {f"c{k}": int(size) for k, size in enumerate(read["sizes"])}
    rng = np.random.default_rng([zlib.crc32(path.stem.encode()), seed, wide])
    codes = codes[rng.permutation(len(codes))[: rng.choice(ROWS)]]
    for _ in range(TRIALS):
        try:
            plan = draw_plan(rng, sizes, len(codes), wide, EPSILONS, TABLES)
        except (dpe.PlanError, ValueError):
            continue
        tables = maximal(plan.estimated_tables)
        if needs_a_model(plan) and sum(map(plan.cells, tables)) <= MAX_CELLS and decide(plan).closed_form:
            break
    else:
        return None
    exact, way = partial(exact_counts, codes, sizes), decide(plan)
    fitted = derive_estimates(way.plan, way.measure(lambda wanted: list(map(exact, wanted)))).fitted
    start = time.process_time()
    whole = realise(fitted, list(plan.marginals))
    seconds = time.process_time() - start
    published = [table for table in plan.marginals if table]
    estimate, told = (
        statistics.mean(np.abs(each.table(table) - exact(table)).sum() / len(codes) for table in published)
        for each in (fitted, whole)
    )
    shapes = " ".join("x".join(str(sizes[name]) for name in table) for table in tables)
    times = told / estimate if estimate else math.inf if told else 1.0  # with hardly any noise, both may be exact
    about = f"{path.stem:<16} {len(codes):6} rows  eps {plan.epsilon!s:>3}  {seconds:4.1f} s"
    return times, f"{about}  estimates {estimate:.4f}  whole {told:.4f}  {times:5.2f}  {shapes}"


def main() -> None:
    """Compare, and sum up."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--wide", type=int, default=4, help="columns of a table, at most")
    chosen = parser.parse_args()
    ratios = []
    for path in sorted(chosen.folder.glob("*.npz")):
        if (found := compare(path, chosen.seed, chosen.wide)) is not None:
            ratios.append(found[0])
            print(found[1], flush=True)
    print(
        f"whole counts have {statistics.geometric_mean(ratios):.2f} times the error of estimates, at most "
        f"{max(ratios):.2f}; {sum(ratio <= GOAL for ratio in ratios)} of {len(ratios)} within {GOAL}"
    )


if __name__ == "__main__":
    main()
