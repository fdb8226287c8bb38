"""Time one histogram at ε = 1, from a file to noisy counts, relative to diffprivlib fed by Arrow.

    DIFFPRIVLIB_PYTHON=venvs/diffprivlib/bin/python python benchmarks/histogram.py        # 10^4 to 10^6 rows
    DIFFPRIVLIB_PYTHON=... python benchmarks/histogram.py 7                               # up to 10^7

The peer's environment is that of ``benchmarks/peers/diffprivlib.txt``. Ours is a whole release, which
recognises the data, draws exact noise and records what it publishes. Both do it in turns, each in a process of its own
with its imports (*fresh*), and again and again in one that goes on (*running*). Seconds by the clock, and of the
processor with those of child processes; the least of some turns counts. The last line is the least that any durable
record takes: one transaction of SQLite, with the settings of a ledger's file.
"""

from __future__ import annotations

import json
import os
import resource
import sqlite3
import subprocess
import sys
import tempfile
import time
from pathlib import Path

SCRIPTS = Path(__file__).parent / "peers"
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # as installed, modules are compiled once
SYSTEMS = {"ours": sys.executable, "diffprivlib": os.environ.get("DIFFPRIVLIB_PYTHON", "")}
FRESH, RUNNING = 3, 9  # turns


def make(folder: Path, power: int) -> list[Path]:
    import numpy as np
    import pyarrow as pa
    from pyarrow import csv, parquet

    rows = pa.table({"income": np.random.default_rng(1).lognormal(10, 1, 10**power).round(2)})
    paths = [folder / f"{power}.csv", folder / f"{power}.parquet"]
    csv.write_csv(rows, paths[0])
    parquet.write_table(rows, paths[1])
    return paths


def run(system: str, path: Path, times: int) -> tuple[tuple[float, float], tuple[float, float]]:
    """Return the seconds of a process that does the job `times` times, and the least of the job itself in it."""
    command = [SYSTEMS[system], str(SCRIPTS / f"histogram_{system}.py"), str(path), str(times)]
    start, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, cwd=SCRIPTS.parent.parent)
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    processor = used.ru_utime + used.ru_stime - before.ru_utime - before.ru_stime
    jobs = json.loads(done.stdout)
    return (time.perf_counter() - start, processor), (min(each[0] for each in jobs), min(each[1] for each in jobs))


def record(path: Path) -> tuple[float, float]:
    """Open a database, make 9 kB durable in it and close it; return the seconds."""
    clock, processor = time.perf_counter(), time.process_time()
    connection = sqlite3.connect(path, isolation_level=None)
    for setting in ("journal_mode = WAL", "synchronous = FULL", "wal_autocheckpoint = 1"):
        connection.execute(f"PRAGMA {setting}")
    connection.execute("CREATE TABLE IF NOT EXISTS releases (payload BLOB)")
    connection.execute("INSERT INTO releases VALUES (?)", (os.urandom(9000),))
    connection.close()
    return time.perf_counter() - clock, time.process_time() - processor


def main() -> None:
    last = int(sys.argv[1]) if len(sys.argv) > 1 else 6
    systems = [system for system, python in SYSTEMS.items() if python]
    print("seconds by the clock / of the processor; fresh process, then running process")
    with tempfile.TemporaryDirectory() as name:
        for power in range(4, last + 1):
            for path in make(Path(name), power):
                fresh = {system: [] for system in systems}
                running = {system: [] for system in systems}
                for _ in range(FRESH):
                    for system in systems:
                        fresh[system].append(run(system, path, 1)[0])
                        running[system].append(run(system, path, RUNNING)[1])
                for system in systems:
                    found = [[min(each) for each in zip(*turns[system], strict=True)] for turns in (fresh, running)]
                    shown = "   ".join(f"{clock:7.3f} / {processor:6.3f}" for clock, processor in found)
                    print(f"10^{power} rows, {path.suffix[1:]:<8}{system:<12}{shown}", flush=True)
                path.unlink()
    with tempfile.TemporaryDirectory() as name:  # the first turn makes the table
        clock, processor = map(min, zip(*[record(Path(name, "ledger.db")) for _ in range(RUNNING)][1:], strict=True))
    print(f"a durable record alone{clock:44.3f} / {processor:6.3f}")


if __name__ == "__main__":
    main()
