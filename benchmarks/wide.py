"""Hundreds of large tables from the command line: time and peak memory of releasing and verifying them.

    python benchmarks/wide.py           # all 364 three-way tables of Adult, 21 million cells; ADULT names the file

Limit that the project holds itself to: under 1 GB, whatever the number of tables.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import pyarrow as pa
import pyarrow.parquet
from accuracy import adult, plan_of
from job import run


def main() -> None:
    codes, sizes = adult()
    plan = plan_of(sizes, "1", 3, len(codes))
    cells = sum(plan.cells(table) for table in plan.marginals)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        plan.save(folder / "plan.yaml")
        rows = folder / "adult.parquet"
        pa.parquet.write_table(pa.table({name: codes[:, k] for k, name in enumerate(sizes)}), rows)
        bundle = str(folder / "release.zip")
        print(f"{len(codes):,} rows, {len(plan.marginals)} tables, {cells:,} cells")
        ledger = f"sqlite:///{folder / 'ledger.db'}"
        for arguments in (
            ["release", str(folder / "plan.yaml"), str(rows), "-o", bundle, "--ledger", ledger],
            ["verify", bundle],
        ):
            seconds, memory = run(arguments)
            print(f"{arguments[0]:<10} {seconds:6.1f} s  {memory:6.0f} MB", flush=True)
        print(f"bundle     {Path(bundle).stat().st_size / 1e6:6.1f} MB")


if __name__ == "__main__":
    main()
