"""Measure time and memory of the whole job on the command line: one process, three columns, 10^6 rows.

    python benchmarks/job.py            # prints a table; makes its input in a temporary folder

Limits that the project holds itself to: CSV under 5 s and 600 MB, Parquet under 3 s.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

ROOT = Path(__file__).parent.parent
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # as installed, modules are compiled once
ROWS, RUNS = 1_000_000, 5
PLAN = """
title: A million people
dataset: benchmark
epsilon: "1"
columns:
  - {name: age, kind: number, edges: {from: 0, to: 100, bins: 20}}
  - {name: region, kind: category, values: [R0, R1, R2, R3, R4, R5, R6, R7, R8, R9]}
  - {name: visit, kind: date, from: 2024-01-01, to: 2025-12-31, by: month}
tables:
  - [age, region, visit]
"""


def make_table(folder: Path) -> tuple[Path, Path]:
    rng = np.random.default_rng(0)
    days = np.datetime64("2024-01-01") + rng.integers(0, 731, ROWS)
    regions = pa.array([f"R{k}" for k in range(10)]).take(pa.array(rng.integers(0, 10, ROWS)))
    table = pa.table({"age": rng.integers(0, 100, ROWS), "region": regions, "visit": days.astype("datetime64[D]")})
    pa.parquet.write_table(table, folder / "table.parquet", compression="zstd")
    pa.csv.write_csv(table, folder / "table.csv")
    return folder / "table.csv", folder / "table.parquet"


class Took(NamedTuple):
    """What one command line process took: seconds by the clock and of the processor, and peak megabytes."""

    seconds: float
    processor: float
    memory: float


def run(arguments: list[str]) -> Took:
    """Run one command line process."""
    start = time.perf_counter()
    command = [sys.executable, "-m", "dpengine", *arguments]
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"failed: {' '.join(arguments)}")
    return Took(time.perf_counter() - start, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024)


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "plan.yaml").write_text(PLAN)
        csv, parquet = make_table(folder)
        print(f"{ROWS:,} rows, 3 columns, {RUNS} runs each: median (worst)")
        jobs = {
            "python starts and prints help": lambda k: ["--help"],
            "predict": lambda k: ["predict", str(folder / "plan.yaml")],
            f"release from CSV, {csv.stat().st_size / 1e6:.0f} MB": lambda k: release(folder, csv, k),
            f"release from Parquet, {parquet.stat().st_size / 1e6:.0f} MB": lambda k: release(folder, parquet, k),
            "verify": lambda k: ["verify", str(folder / "release.zip")],
        }
        for job, arguments in jobs.items():
            seconds, _, memory = zip(*(run(arguments(k)) for k in range(RUNS)), strict=True)
            print(f"{job:<36} {statistics.median(seconds):6.2f} s ({max(seconds):.2f})   {max(memory):6.0f} MB")


def release(folder: Path, table: Path, run: int) -> list[str]:
    ledger = f"sqlite:///{folder / f'{table.suffix[1:]}{run}.db'}"
    return ["release", str(folder / "plan.yaml"), str(table), "-o", str(folder / "release.zip"), "--ledger", ledger]


if __name__ == "__main__":
    main()
