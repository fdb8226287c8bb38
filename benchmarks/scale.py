"""Measure how counting grows with rows: time and memory relative to the barest way to do the same.

    python benchmarks/scale.py              # 10^7 rows, Parquet and CSV; status 1 if a limit is passed
    python benchmarks/scale.py --large      # and 10^8 rows of Parquet

Each figure is the least of three runs, each in a process of its own, on a table that this script makes. Peers
run where they are installed (``pip install -r benchmarks/requirements.txt``).
"""

from __future__ import annotations

import itertools
import multiprocessing
import resource
import sys
import tempfile
import time
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.csv as csv
import pyarrow.parquet as pq

sys.path.insert(0, str(Path(__file__).parent.parent))

from dpengine import Plan, open_table, release
from dpengine.counting import count as counting
from dpengine.isolation import run as isolation

ROWS, LARGE, CHUNK = 10**7, 10**8, 10**6
REGIONS = [f"R{k:02}" for k in range(50)]
COLUMNS = [
    {"name": "sex", "kind": "category", "values": ["f", "m"]},
    {"name": "region", "kind": "category", "values": REGIONS},
    {"name": "educ", "kind": "category", "values": [str(k) for k in range(12)]},
    {"name": "age", "kind": "number", "edges": list(range(0, 101, 10))},
    {"name": "visits", "kind": "number", "edges": [0, 1, 2, 3, 5, 8, 13, 50]},
    {"name": "income", "kind": "number", "edges": [0, *(5000 * k for k in range(1, 20)), 1_000_000]},
    {"name": "score", "kind": "number", "edges": list(range(-100, 201, 15))},
    {"name": "day", "kind": "date", "from": "2020-01-01", "to": "2024-12-31", "by": "quarter"},
]
NAMES = [str(column["name"]) for column in COLUMNS]
PAIRS = Plan(dataset="scale", epsilon="1", columns=COLUMNS, tables={"each": 2})
TRIPLE = Plan(dataset="scale", epsilon="1", columns=COLUMNS, tables=[["sex", "region", "age"]])
ONE = Plan(dataset="scale", epsilon="1", columns=COLUMNS, tables=[["income"]])


def make(path: Path, rows: int) -> None:
    """A table of people: two texts, whole numbers, numbers with gaps and NaN, days."""
    draw = np.random.default_rng(1)
    writer = None
    for start in range(0, rows, CHUNK):
        n = min(CHUNK, rows - start)
        score = draw.normal(50, 15, n)
        score[draw.random(n) < 0.01] = np.nan
        table = pa.table(
            {
                "sex": pa.array(np.array(["f", "m"])[draw.integers(0, 2, n)]),
                "region": pa.array(np.array(REGIONS)[draw.integers(0, 50, n)]),
                "educ": pa.array(draw.integers(0, 12, n), mask=draw.random(n) < 0.03),
                "age": draw.integers(0, 100, n),
                "visits": draw.poisson(3, n),
                "income": pa.array(draw.lognormal(10, 1, n).round(2), mask=draw.random(n) < 0.02),
                "score": score,
                "day": np.datetime64("2020-01-01") + draw.integers(0, 1826, n),
            }
        )
        writer = writer or pq.ParquetWriter(path, table.schema, compression="zstd")
        writer.write_table(table)
    if writer is not None:
        writer.close()


def bare_codes(path: Path) -> str:
    """The barest SQL that codes this one table, and would miscount a less tidy one."""

    def bins(column: dict[str, object]) -> str:
        name, edges = column["name"], list(column["edges"])  # type: ignore[call-overload]
        whens = " ".join(f"WHEN {name} < {edge} THEN {k - 1}" for k, edge in enumerate(edges) if k)
        return f"CASE WHEN {name} IS NULL OR isnan({name}::DOUBLE) THEN {len(edges)} {whens} ELSE {len(edges) - 1} END"

    codes = {
        "sex": "CASE sex WHEN 'f' THEN 0 ELSE 1 END",
        "region": "substr(region, 2)::INTEGER",
        "educ": "coalesce(educ, 12)",
        "day": "(year(day) - 2020) * 4 + (month(day) - 1) // 3",
    }
    codes |= {str(column["name"]): bins(column) for column in COLUMNS if column["kind"] == "number"}
    listed = ", ".join(f"({codes[name]})::BIGINT AS {name}" for name in NAMES)
    return f"SELECT {listed} FROM read_parquet('{path}', can_have_nan = true)"


def bare_stream(path: Path) -> None:
    """Codes in batches, and one bincount a table."""
    sizes = [PAIRS.column(name).size for name in NAMES]
    pairs = list(itertools.combinations(range(len(NAMES)), 2))
    totals = [np.zeros(sizes[a] * sizes[b], np.int64) for a, b in pairs]
    connection = duckdb.connect()
    connection.execute("SET preserve_insertion_order = false")
    for batch in connection.sql(bare_codes(path)).to_arrow_reader(1 << 18):
        codes = [np.from_dlpack(column) for column in batch.columns]
        for total, (a, b) in zip(totals, pairs, strict=True):
            total += np.bincount(codes[a] * sizes[b] + codes[b], minlength=total.size)


def grouping_sets(path: Path) -> None:
    sets = ", ".join(f"({a}, {b})" for a, b in itertools.combinations(NAMES, 2))
    query = f"SELECT {', '.join(NAMES)}, count(*) FROM ({bare_codes(path)}) GROUP BY GROUPING SETS ({sets})"
    duckdb.connect().execute(query).fetchall()


def group_by(path: Path) -> None:
    duckdb.connect().execute(f"SELECT sex, region, age, count(*) FROM ({bare_codes(path)}) GROUP BY ALL").fetchall()


def split_csv(path: Path) -> None:
    """Split a CSV file into cells as texts, and count these; for `count(*)` alone, none would be made."""
    cells = ", ".join(f"count({name})" for name in NAMES)
    duckdb.connect().execute(f"SELECT {cells} FROM read_csv('{path}', all_varchar = true)").fetchall()


def count_lines_of_csv(path: Path) -> None:
    duckdb.connect().execute(f"SELECT count(*) FROM read_csv('{path}', all_varchar = true)").fetchall()


def ours(plan: Plan) -> Callable[[Path], None]:
    def count(path: Path) -> None:
        with open_table(path) as table:
            counting.count(table, plan, plan.marginals, truncation_key=b"")

    return count


def released(plan: Plan) -> Callable[[Path], None]:
    """Publish in full: rows are fingerprinted and counted, noise is added, tables are made to agree and recorded."""

    def whole(path: Path) -> None:
        release(path, plan)

    return whole


def fingerprinted(path: Path) -> None:
    with open_table(path) as table:
        counting.digest(table)


def diffprivlib_histogram(path: Path) -> None:
    from diffprivlib.tools import histogram

    income = pq.read_table(path, columns=["income"]).column("income").to_numpy()
    histogram(income[~np.isnan(income)], epsilon=1, bins=21, range=(0, 1_000_000))


def measured(work: Callable[[Path], None], path: Path, times: int = 3) -> tuple[float, float, float]:
    """Least time in seconds, the same of the processor, and most memory in MB, each run in a fresh process."""
    context = multiprocessing.get_context("fork")
    found: list[tuple[float, float, float]] = []
    for _ in range(times):
        answers: multiprocessing.SimpleQueue[tuple[float, float, float]] = context.SimpleQueue()

        def run(answers: multiprocessing.SimpleQueue[tuple[float, float, float]] = answers) -> None:
            isolation.run("os:getpid", {}, isolation.Limits(1 << 30, 9, 0))  # starts the forker, once in a process
            start, begun = time.perf_counter(), time.process_time()
            work(path)
            held = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
            answers.put((time.perf_counter() - start, time.process_time() - begun, held))

        process = context.Process(target=run)
        process.start()
        process.join()
        if process.exitcode:
            sys.exit(f"a run ended with status {process.exitcode}")
        found.append(answers.get())
    seconds, processor, megabytes = zip(*found, strict=True)
    return min(seconds), min(processor), max(megabytes)


def main() -> int:
    passed = True

    def report(what: str, value: float, limit: float, unit: str = "", of_processor: float | None = None) -> None:
        nonlocal passed
        passed &= value <= limit
        beside = "" if of_processor is None else f"; of processor time {of_processor:.2f}"
        passing = "" if value <= limit else "  PASSED"
        print(f"{what:<72}{value:8.2f}{unit}  (limit {limit:g}{unit}{beside}){passing}", flush=True)

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        parquet, text = folder / "people.parquet", folder / "people.csv"
        make(parquet, ROWS)
        mine, work, memory = measured(ours(PAIRS), parquet)
        print(f"28 two-way tables of {ROWS:,} rows of Parquet: {mine:.2f} s, {memory:.0f} MB")
        bare, bare_work, _ = measured(bare_stream, parquet)
        sets, sets_work, _ = measured(grouping_sets, parquet)
        report("  over a bare stream and 28 bincounts", mine / bare, 1.3, of_processor=work / bare_work)
        report("  over DuckDB's grouping sets", mine / sets, 0.6, of_processor=work / sets_work)
        whole, work, memory = measured(released(PAIRS), parquet)
        print(f"the same released, from the file to the recorded release: {whole:.2f} s, {memory:.0f} MB")
        report("  over a bare stream and 28 bincounts", whole / bare, 1.3, of_processor=work / bare_work)
        report("  over DuckDB's grouping sets", whole / sets, 0.6, of_processor=work / sets_work)
        triple = measured(ours(TRIPLE), parquet)[0]
        report("one three-way table: over DuckDB's GROUP BY", triple / measured(group_by, parquet)[0], 1.2)
        print(f"the same released: {measured(released(TRIPLE), parquet)[0]:.2f} s")
        print(f"fingerprinting the data alone: {measured(fingerprinted, parquet)[0]:.2f} s")
        if find_spec("diffprivlib"):
            peer, one = measured(diffprivlib_histogram, parquet)[0], measured(ours(ONE), parquet)[0]
            report("one histogram from the file: over diffprivlib's", one / peer, 1.0)
        csv.write_csv(pq.read_table(parquet), text)
        mine, work, _ = measured(ours(PAIRS), text)
        print(f"28 two-way tables of the same CSV: {mine:.2f} s")
        once, once_work, _ = measured(split_csv, text)
        report("  over splitting it into cells by DuckDB", mine / once, 2, of_processor=work / once_work)
        lines, lines_work, _ = measured(count_lines_of_csv, text)
        report("  over finding its rows by DuckDB", mine / lines, 3, of_processor=work / lines_work)
        whole, work, _ = measured(released(PAIRS), text)
        print(f"the same released: {whole:.2f} s")
        report("  over splitting it into cells by DuckDB", whole / once, 3, of_processor=work / once_work)
        text.unlink()
        if "--large" in sys.argv:
            small = measured(ours(PAIRS), parquet)[0]
            make(parquet, LARGE)
            large, _, memory = measured(ours(PAIRS), parquet, times=1)
            print(f"28 two-way tables of {LARGE:,} rows of Parquet: {large:.2f} s")
            report("  time a row over that at a tenth of the rows", large / small / (LARGE / ROWS), 1.2)
            report("  memory", memory, 500, " MB")
            whole, _, memory = measured(released(PAIRS), parquet, times=1)
            print(f"the same released: {whole:.2f} s")
            report("  memory", memory, 500, " MB")
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main())
