"""Measure processor time and peak memory of releasing and verifying many tables on the command line.

    python benchmarks/wide.py                  # all four cases
    python benchmarks/wide.py adult            # all 364 three-way tables of Adult, whose file ADULT names
    python benchmarks/wide.py hundred          # 100 columns of 10^5 people: each column, all 4,950 pairs, and rows
    python benchmarks/wide.py direct           # 40 columns of 1,629 people: each column and all 780 pairs, all measured
    python benchmarks/wide.py small            # 3 columns of 1,000 people: each column and all pairs

The columns of the last three depend on each other through eight groups of people; they have 2 to 12 cells. Limits that
the project holds itself to: under 1 GB for Adult; 120 s and 2 GB for the hundred columns; 10 s for the direct
release; 1.5 s by the clock for the small one.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable
from itertools import cycle, islice
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import numpy as np
import pyarrow as pa
import pyarrow.parquet
from accuracy import Coded, adult, plan_of
from job import run

import dpengine as dpe

SIZES = (2, 3, 4, 5, 6, 8, 10, 12)
GROUPS = 8


def people(columns: int, rows: int) -> Coded:
    """Return codes of `rows` people and the numbers of cells of their columns, independent within each group."""
    chance = np.random.default_rng(columns)
    sizes = list(islice(cycle(SIZES), columns))
    group = chance.choice(GROUPS, rows, p=chance.dirichlet(np.full(GROUPS, 3.0)))
    codes = np.empty((rows, columns), dtype=np.int64)
    for k, size in enumerate(sizes):
        below = np.stack([chance.dirichlet(np.ones(size)) for _ in range(GROUPS)]).cumsum(axis=1)[group]
        codes[:, k] = (chance.random(rows)[:, None] > below).sum(axis=1).clip(0, size - 1)
    return codes, {f"c{k:03}": size for k, size in enumerate(sizes)}


def three_way() -> tuple[np.ndarray, dpe.Plan]:
    codes, sizes = adult()
    return codes, plan_of(sizes, "1", 3, len(codes))


def hundred() -> tuple[np.ndarray, dpe.Plan]:
    codes, sizes = people(100, 100_000)
    return codes, plan_of(sizes, "1", 2, len(codes))


def direct() -> tuple[np.ndarray, dpe.Plan]:
    codes, sizes = people(40, 1_629)
    return codes, plan_of(sizes, "1", 2, len(codes), strategy="direct")


def small() -> tuple[np.ndarray, dpe.Plan]:
    codes, sizes = people(3, 1_000)
    return codes, plan_of(sizes, "1", 2, len(codes))


CASES: dict[str, Callable[[], tuple[np.ndarray, dpe.Plan]]] = {
    "adult": three_way, "hundred": hundred, "direct": direct, "small": small
}  # fmt: skip


def main() -> None:
    for case in sys.argv[1:] or CASES:
        codes, plan = CASES[case]()
        cells = sum(plan.cells(table) for table in plan.marginals)
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            plan.save(folder / "plan.yaml")
            rows = folder / "rows.parquet"
            columns = (column.name for column in plan.columns)
            pa.parquet.write_table(pa.table({name: codes[:, k] for k, name in enumerate(columns)}), rows)
            bundle = str(folder / "release.zip")
            print(f"{case}: {len(codes):,} rows, {len(plan.marginals):,} tables, {cells:,} cells")
            ledger = f"sqlite:///{folder / 'ledger.db'}"
            for arguments in (
                ["release", str(folder / "plan.yaml"), str(rows), "-o", bundle, "--ledger", ledger],
                ["verify", bundle],
            ):
                took = run(arguments)
                print(f"{arguments[0]:<10} {took.seconds:6.1f} s, of the processor {took.processor:6.1f} s  "
                      f"{took.memory:6.0f} MB", flush=True)  # fmt: skip
            print(f"bundle     {Path(bundle).stat().st_size / 1e6:6.1f} MB")


if __name__ == "__main__":
    main()
