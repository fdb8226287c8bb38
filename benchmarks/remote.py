"""Rows that stay in PostgreSQL or Spark: to recognise them, to count them, and to do both in one reading.

    python benchmarks/remote.py postgres              # 10^6 rows, 28 two-way tables; the server is started here
    python benchmarks/remote.py spark 3000000         # so many rows
    python benchmarks/remote.py postgres --triple     # one three-way table

Seconds are those of the engine, the least of three. Status 1 if one reading takes longer than one to recognise, one to
count and one to see that nothing has changed.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow.csv as csv
import pyarrow.parquet as pq

sys.path.insert(0, str(Path(__file__).parent.parent))

import ibis
import psycopg

from benchmarks.scale import PAIRS, TRIPLE, make
from dpengine import open_table
from dpengine.counting import count as counting
from tests import engines

TYPES = {"string": "text", "double": "double precision", "int64": "bigint", "date32[day]": "date"}
TURNS = 3


@contextmanager
def in_postgres(path: Path) -> Iterator[Any]:
    rows = pq.read_table(path)
    columns = ", ".join(f"{field.name} {TYPES[str(field.type)]}" for field in rows.schema)
    csv.write_csv(rows, path.with_suffix(".csv"), csv.WriteOptions(include_header=False))
    with engines.postgres() as address:
        with psycopg.connect(address) as connection:
            connection.execute(f"CREATE TABLE people ({columns})")
            with connection.cursor().copy("COPY people FROM STDIN (FORMAT csv)") as copy:
                copy.write(path.with_suffix(".csv").read_bytes())
        with psycopg.connect(address, autocommit=True) as connection:
            connection.execute("VACUUM ANALYZE people")
        backend = ibis.connect(address)
        yield backend.table("people")
        backend.disconnect()


@contextmanager
def in_spark(path: Path) -> Iterator[Any]:
    with engines.spark() as session:
        yield ibis.pyspark.connect(session).read_parquet(path)


def least(work: Callable[[], object]) -> float:
    seconds = []
    for _ in range(TURNS):
        start = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - start)
    return min(seconds)


def main() -> int:
    engine, *more = sys.argv[1:] or ["postgres"]
    plan = TRIPLE if "--triple" in more else PAIRS
    rows = next((int(each) for each in more if each.isdecimal()), 10**6)
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "people.parquet"
        make(path, rows)
        with {"postgres": in_postgres, "spark": in_spark}[engine](path) as source, open_table(source) as table:

            def anew(work: Callable[[], object]) -> Callable[[], object]:
                def run() -> object:
                    table.digest = None
                    return work()

                return run

            recognised = least(anew(lambda: counting.digest(table)))
            counted = least(lambda: counting.count(table, plan, plan.marginals, truncation_key=b""))
            both = least(anew(lambda: counting.digest_and_count(table, plan, plan.marginals)))
    apart = recognised + counted + recognised
    print(f"{engine}, {rows:,} rows, tables: {len(plan.marginals)}")
    print(f"recognised {recognised:.2f} s, counted {counted:.2f} s; both in one reading {both:.2f} s,")
    print(f"{both / apart:.2f} times as long as three readings (limit 1)")
    return 0 if both <= apart else 1


if __name__ == "__main__":
    sys.exit(main())
