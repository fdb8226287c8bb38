"""Time recognising and counting rows that stay in PostgreSQL or Spark: separately, and both in one reading.

    python benchmarks/remote.py postgres              # 10^6 rows, 28 two-way tables; the server is started here
    python benchmarks/remote.py spark 3000000         # so many rows
    python benchmarks/remote.py postgres --triple     # one three-way table
    python benchmarks/remote.py postgres --people     # at most three rows of each person count

Seconds are those of the engine, the least of three. Where a row is a person, one reading recognises and counts. Where
an ID names persons, one reading recognises, and a second one counts and recognises again. Status 1 if that takes longer
than one reading to recognise, one to count and one to see that nothing has changed.
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
import numpy as np
import psycopg
import pyarrow as pa

from benchmarks.scale import PAIRS, TRIPLE, make
from dpengine import Plan, open_table
from dpengine.counting import count as counting
from tests import engines

TYPES = {"string": "text", "double": "double precision", "int64": "bigint", "date32[day]": "date"}
TURNS = 3
ROWS_OF_A_PERSON = 2.5  # on average


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


def with_people(path: Path) -> None:
    """Add a column that names a person in each row, in no order."""
    rows = pq.read_table(path)
    who = np.random.default_rng(2).integers(0, max(1, int(rows.num_rows / ROWS_OF_A_PERSON)), rows.num_rows)
    pq.write_table(rows.append_column("who", pa.array(who)), path)


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
    people = "--people" in more
    if people:
        plan = Plan(**plan.to_dict() | {"unit": {"id": "who", "rows": 3}})
    rows = next((int(each) for each in more if each.isdecimal()), 10**6)
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "people.parquet"
        make(path, rows)
        if people:
            with_people(path)
        with {"postgres": in_postgres, "spark": in_spark}[engine](path) as source, open_table(source) as table:

            def anew(work: Callable[[], object]) -> Callable[[], object]:
                def run() -> object:
                    table.digest = None
                    return work()

                return run

            recognised = least(anew(lambda: counting.digest(table)))
            counted = least(lambda: counting.count(table, plan, plan.marginals, truncation_key=b""))
            if people:
                counting.digest(table)
                again = {"truncation_key": b"", "tallies": None}
                both = least(lambda: counting.count_unchanged(table, plan, plan.marginals, **again))
            else:
                both = least(anew(lambda: counting.digest_and_count(table, plan, plan.marginals)))
    apart, whole = recognised + counted + recognised, both + recognised * people
    print(f"{engine}, {rows:,} rows, tables: {len(plan.marginals)}{', at most three rows a person' * people}")
    print(f"recognised {recognised:.2f} s, counted {counted:.2f} s; both in one reading {both:.2f} s;")
    print(f"all of a publication {whole:.2f} s, {whole / apart:.2f} times as long as three readings (limit 1)")
    return 0 if whole <= apart else 1


if __name__ == "__main__":
    sys.exit(main())
