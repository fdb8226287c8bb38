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
    with open_table(source) as table, pytest.raises(TableError, match="no longer there") as caught:
        row_count(table)
    engine.disconnect()
    assert "brief" not in str(caught.value)


def test_a_column_that_cannot_be_counted_stops_nothing_and_a_fault_says_what_to_do(postgres):
    """All columns beside a point are counted, and a missing right is named as such."""
    with psycopg.connect(postgres, autocommit=True) as connection:
        connection.execute('CREATE SCHEMA "City Data"')
        connection.execute(
            'CREATE TABLE "City Data"."Rents 2026" AS SELECT point(i, i) AS "where", money \'12.50\' AS rent, '
            "i % 2 = 0 AS garden FROM generate_series(1, 200) AS s(i)"
        )
        connection.execute("CREATE DOMAIN years AS integer")
        connection.execute('ALTER TABLE "City Data"."Rents 2026" ADD COLUMN age years DEFAULT 40')
        connection.execute('CREATE VIEW "City Data".gardens AS SELECT "where", garden FROM "City Data"."Rents 2026"')
        connection.execute("CREATE ROLE stranger LOGIN")
    engine = ibis.connect(postgres)
    plan = Plan(dataset="d", epsilon="1000", columns=[{"name": "garden", "kind": "yesno"}], tables=[["garden"]])
    for name in ("Rents 2026", "gardens"):
        with open_table(engine.table(name, database="City Data")) as table:
            assert release(table, plan, Ledger.in_memory()).tables["garden",]["count"].tolist()[:2] == [100, 100]
    rent = {"name": "rent", "kind": "number", "edges": [0, 10, 20]}
    point = {"name": "where", "kind": "category", "values": ["(1,1)"]}
    with open_table(engine.table("Rents 2026", database="City Data")) as table:
        assert [field.kind_hint for field in table.columns if field.name == "age"] == ["number"], "by its name"
        for column, said in ((rent, "such as amounts of money; make a view"), (point, "cannot be counted")):
            asked = Plan(dataset="d", epsilon="1", columns=[column], tables=[[column["name"]]])
            with pytest.raises(TableError, match=said):
                release(table, asked, Ledger.in_memory())
    engine.disconnect()
    with psycopg.connect(postgres, autocommit=True) as connection:
        connection.execute('GRANT USAGE ON SCHEMA "City Data" TO stranger')
    engine = ibis.connect(postgres.replace("postgres@", "stranger@"))
    gardens = engine.table("gardens", database="City Data")
    with open_table(gardens) as table, pytest.raises(TableError, match="GRANT SELECT"):
        release(table, plan, Ledger.in_memory())
    engine.disconnect()
    with psycopg.connect(postgres, autocommit=True) as connection:
        connection.execute('DROP SCHEMA "City Data" CASCADE')
        connection.execute("DROP DOMAIN years")
        connection.execute("DROP ROLE stranger")


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
