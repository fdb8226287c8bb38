"""Measure a job from file to bundle on the command line: time relative to DuckDB's grouping sets, and memory.

    python benchmarks/to_bundle.py               # 10^7 rows of Parquet; status 1 if a limit is passed
    python benchmarks/to_bundle.py 1000000       # fewer rows

Eight columns of texts that Parquet stores by number, and the tables of all pairs. Each job is done by a process of its
own, in turns; the least of three times counts.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
import zipfile
from itertools import combinations
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

ROOT = Path(__file__).parent.parent
ROWS, CHUNK, TURNS = 10**7, 10**6, 3
SIZES = [2, 3, 5, 8, 12, 20, 30, 50]
NAMES = [f"x{k}" for k in range(len(SIZES))]
MAX_TIMES, MAX_MEMORY = 2.0, 600
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # as installed, modules are compiled once


def texts(size: int) -> list[str]:
    return [f"v{k:02}" for k in range(size)]


def drawn(draw: np.random.Generator, rows: int) -> dict[str, np.ndarray]:
    """Columns that each depend a little on the one before."""
    codes, before = {}, np.zeros(rows)
    for name, size in zip(NAMES, SIZES, strict=True):
        before = (0.3 * before + 0.7 * draw.beta(1.5, 2.5, rows)) % 1
        codes[name] = (before * size).astype(np.int32)
    return codes


def make(folder: Path, rows: int) -> None:
    draw, writer = np.random.default_rng(1), None
    for start in range(0, rows, CHUNK):
        codes = drawn(draw, min(CHUNK, rows - start))
        table = pa.table(
            {name: pa.DictionaryArray.from_arrays(codes[name], texts(size))
             for name, size in zip(NAMES, SIZES, strict=True)}
        )  # fmt: skip
        writer = writer or pq.ParquetWriter(folder / "rows.parquet", table.schema, compression="zstd")
        writer.write_table(table)
    assert writer is not None
    writer.close()
    columns = "\n".join(
        f"  - {{name: {name}, kind: category, values: [{', '.join(texts(size))}]}}"
        for name, size in zip(NAMES, SIZES, strict=True)
    )
    plan = f"dataset: many\nepsilon: '1'\ncolumns:\n{columns}\ntables: {{each: 2}}\n"
    (folder / "plan.yaml").write_text(plan, encoding="utf-8")


def grouping_sets(folder: Path) -> list[str]:
    sets = ", ".join(f"({a}, {b})" for a, b in combinations(NAMES, 2))
    statement = f"SELECT {', '.join(NAMES)}, count(*) FROM '{folder / 'rows.parquet'}' GROUP BY GROUPING SETS ({sets})"
    return ["-c", f"import duckdb; duckdb.connect().execute({statement!r}).fetchall()"]


def command_line(folder: Path) -> list[str]:
    for old in folder.glob("budget.db*"):
        old.unlink()
    return ["-m", "dpengine", "release", str(folder / "plan.yaml"), str(folder / "rows.parquet"),
            "-o", str(folder / "release.zip"), "--ledger", f"sqlite:///{folder / 'budget.db'}"]  # fmt: skip


def verify(folder: Path) -> list[str]:
    return ["-m", "dpengine", "verify", str(folder / "release.zip")]


def run(arguments: list[str]) -> tuple[float, float, float]:
    """Seconds, seconds of processor time and most megabytes of a process; its children are not counted."""
    start = time.perf_counter()
    process = subprocess.Popen([sys.executable, *arguments], cwd=ROOT, stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"failed: {' '.join(arguments)}")
    return time.perf_counter() - start, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024


def main() -> int:
    rows = int(sys.argv[1]) if len(sys.argv) > 1 else ROWS
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        make(folder, rows)
        jobs = {"grouping sets": grouping_sets, "from file to bundle": command_line, "verify": verify}
        found: dict[str, list[tuple[float, float, float]]] = {job: [] for job in jobs}
        for _ in range(TURNS):
            for job, arguments in jobs.items():
                found[job].append(run(arguments(folder)))
        least = {job: [min(each) for each in zip(*turns, strict=True)][:2] for job, turns in found.items()}
        memory = {job: max(turn[2] for turn in turns) for job, turns in found.items()}
        for job, (seconds, processor) in least.items():
            print(f"{job:<22}{seconds:8.2f} s {processor:8.2f} s of processor time {memory[job]:8.0f} MB", flush=True)
        with zipfile.ZipFile(folder / "release.zip") as bundle:
            entry = bundle.getinfo("synthetic.csv")
            print(f"synthetic.csv: {entry.file_size / 1e6:.0f} MB, packed {entry.compress_size / 1e6:.1f} MB")
    times = least["from file to bundle"][0] / least["grouping sets"][0]
    print(f"file to bundle over grouping sets: {times:.2f} (limit {MAX_TIMES}), {memory['from file to bundle']:.0f} MB"
          f" (limit {MAX_MEMORY})")  # fmt: skip
    return 0 if times <= MAX_TIMES and memory["from file to bundle"] <= MAX_MEMORY else 1


if __name__ == "__main__":
    sys.exit(main())
