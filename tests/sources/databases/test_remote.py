"""A table in another engine: its connection, its errors, and statements that are cancelled."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import ibis
import psycopg
import pyarrow as pa
import pytest

from dpengine import Ledger, release
from dpengine.counting.count import count, digest, row_count
from dpengine.errors import TableError
from dpengine.sources.open import open_table
from dpengine.spec.plan import Plan
from tests import ibis_tables

pytestmark = ibis_tables.TOLERATED

CANARY = "ZZ_CANARY_7f3a"


def endless(source):
    """Return 10¹⁰ rows that are made as they are read: a range, or a hundred rows joined with themselves."""
    if source.get_backend().name == "pyspark":
        return source.get_backend().sql("SELECT id % 100 AS x FROM range(10000000000)")
    return source.select("x").cross_join(*(source.select(**{f"x{k}": source.x}) for k in range(4)))


HUNDRED = pa.table({"x": pa.array(range(100), pa.int64())})
X = {"name": "x", "kind": "number", "edges": [0, 18, 100]}
ENDLESS = Plan(dataset="d", epsilon="1", columns=[X], tables={"each": 1})


def cancelled(table, work, stop):
    """Return what `work` raises in a thread of its own if `stop` is called while the engine is at work."""
    with ThreadPoolExecutor(1) as pool:
        under_way = pool.submit(work)
        until = time.monotonic() + 60
        while table._running is None and time.monotonic() < until:
            time.sleep(0.01)
        time.sleep(0.3)
        began = time.monotonic()
        stop()
        error = under_way.exception(timeout=60)
        assert time.monotonic() - began < 30
        return error


def test_a_running_statement_is_cancelled_and_its_connection_stays_usable(in_engine):
    source, ledger = in_engine(HUNDRED), Ledger.in_memory()
    with open_table(endless(source)) as table, open_table(source) as other:
        table.interrupt()  # nothing is running
        for work in (
            lambda: row_count(table) and digest(table),
            lambda: release(table, ENDLESS, ledger),
            lambda: count(table, ENDLESS, ENDLESS.marginals, truncation_key=b""),
        ):
            error = cancelled(table, work, table.interrupt)
            assert isinstance(error, TableError)
            assert "was stopped" in str(error)
            assert row_count(other) == 100
        assert ledger.history() == []


def test_a_cancellation_affects_no_other_table_and_no_later_statement(in_engine):
    source = in_engine(HUNDRED)
    with open_table(source) as table, open_table(source) as other, ThreadPoolExecutor(1) as pool:
        over = threading.Event()
        orders = pool.submit(lambda: [other.interrupt() for _ in iter(over.is_set, True)])
        for _ in range(10):
            assert row_count(table) == 100
        over.set()
        assert orders.result() is not None


def test_closing_cancels_a_statement_and_ends_a_connection_that_the_table_owns(in_engine):
    left = []
    table = open_table(endless(in_engine(HUNDRED)))
    table.own_connection(lambda: left.append(True))
    error = cancelled(table, lambda: digest(table), table.close)
    assert "was stopped" in str(error)
    table.close()
    assert left == [True]


def test_errors_of_an_engine_are_replaced_by_ones_that_quote_nothing(postgres):
    with psycopg.connect(postgres) as connection:
        connection.execute(f"CREATE TABLE brief AS SELECT '{CANARY}' AS x")
    engine = ibis.connect(postgres)
    source = engine.table("brief")
    with psycopg.connect(postgres) as connection:
        connection.execute("DROP TABLE brief")
    with open_table(source) as table, pytest.raises(TableError, match="did not answer") as caught:
        row_count(table)
    engine.disconnect()
    assert "brief" not in str(caught.value)


def test_rows_in_memory_and_tables_of_no_engine_are_refused_with_advice():
    """A statement that Ibis does not run itself knows nothing of rows in memory: the engine found no such table."""
    rows = ibis.memtable(pa.table({"x": [1, 2]}))
    stored = ibis.duckdb.connect().create_table("stored", pa.table({"x": [1, 2]}))
    for source in (rows, rows.filter(rows.x > 1), stored.join(rows, "x")):
        with pytest.raises(TableError, match="give them as a DataFrame"):
            open_table(source)
    with pytest.raises(TableError, match="did not answer"):
        open_table(ibis.table({"x": "int64"}, name="of no engine"))


def test_rows_of_other_engines_are_copied_and_counted_here(tmp_path):
    connection = ibis.sqlite.connect(tmp_path / "t.db")
    table = connection.create_table("t", pa.table({"x": [1, 20, None], "s": ["a", None, "b"]}))
    columns = [X, {"name": "s", "kind": "category", "values": ["a"]}]
    plan = Plan(dataset="d", epsilon="1", columns=columns, tables={"each": 1})
    with open_table(table) as opened:
        x, s = count(opened, plan, plan.marginals, truncation_key=b"")
    connection.disconnect()
    assert (x.tolist(), s.tolist()) == ([1, 1, 0, 1], [1, 1, 1])
