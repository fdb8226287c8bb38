"""Rows in PostgreSQL, Spark or DuckDB are counted there with the same result as here."""

from __future__ import annotations

import datetime as dt
import math
from decimal import Decimal

import ibis
import numpy as np
import psycopg
import pyarrow as pa
import pytest

from dpengine import Ledger, release
from dpengine.counting.count import (
    check,
    check_unchanged,
    count,
    count_unchanged,
    digest,
    digest_and_count,
    digest_of_texts,
    distinct_texts,
    row_count,
)
from dpengine.errors import TableError
from dpengine.release import true_counts
from dpengine.sources.databases.remote import RemoteTable
from dpengine.sources.open import open_table
from dpengine.spec.plan import Plan
from tests import ibis_tables

pytestmark = ibis_tables.TOLERATED

CANARY = "ZZ_CANARY_7f3a"


def same(in_engine, table, plan, key=b"any key"):
    """Return the counts, which the engine must have in common with this machine."""
    with open_table(table) as here, open_table(in_engine(table)) as there:
        assert isinstance(there, RemoteTable)
        expected = count(here, plan, plan.marginals, truncation_key=key)
        counts = count(there, plan, plan.marginals, truncation_key=key)
    for marginal, local, remote in zip(plan.marginals, expected, counts, strict=True):
        assert remote.dtype == np.int64
        different = np.argwhere(local != remote)[:5].tolist()
        assert not different, (
            f"{marginal} at {different}: {local[local != remote][:5]} here, {remote[local != remote][:5]}"
        )
    return counts


def plan_of(*columns, **more):
    return Plan(dataset="d", epsilon="1", columns=columns, **({"tables": {"each": 1}} | more))


def columns_of(*kinds):
    """Return one column of each kind; `repeated` makes the table that has them."""
    return [{"name": f"x{k}", **kind} for k, kind in enumerate(kinds)]


def repeated(values, type, times):
    return pa.table({f"x{k}": pa.array(values, type) for k in range(times)})


NUMBER = {"kind": "number", "edges": ["-1", "0", "0.1", "0.7", "18", "100"], "missing_as": ["-9", "17", " 2.5"]}
CATEGORY = {
    "kind": "category", "missing_as": ["?", "N/A", "3"],
    "values": ["Paris, TX", "False", "é", "1", " b", "NA", "2.5", "18", "a\nb", "back\\slash", "it's", "true",
               "2024-01-05", "Å", "日本", "K", "=cmd", "Việt", "한국", "01", "y ", "y", "0", "-3", "1.50"],
}  # fmt: skip
YESNO = {"kind": "yesno", "missing_as": ["f"]}
PERIODS = [
    {"kind": "date", "from": "2023-12-30", "to": "2024-03-10", "by": by, "missing_as": ["2024-01-07"]}
    for by in ("day", "week", "month", "quarter", "year")
]
PARTS = [{"kind": "time", "by": by, "missing_as": ["2024-01-07", "2024-01-05 00:00:00"]} for by in ("hour", "weekday")]
TEXTS = [
    None, "", " ", "\u00a0", "\u2003\n", "nan", "NaN", " nan ", "-nan", "NA", "null", "None", "inf",
    "-Infinity", "1e400", "-1e400", "1e-400", "-1e-400", "1e9999", "1e-9999", "0e9999", "1e99999", "5e-324",
    "-1e-320", "2.5", " 2.5", "1,234", "1_0", "0x10", "1 8", "18y", "１８", "+18", "018", " 18\t",
    "\u00a018\u3000", ".5", "5.", ".", "e5", "5e", "1.8e1", "--1", "-0", "-0.0", "0", "0.1",
    "0.69999999999999999", "0.7", "17.999999999999999999", "100", "100.00000000000001", "-1", "17", "17.0",
    "-9", "-9.0", "3", "9" * 400, "0." + "0" * 320 + "1", "1" + "0" * 310, "18\n19", "18\n", "1e1", "1E+1",
    "Paris, TX", " Paris, TX ", "paris, tx", "False", "false", "FALSE", "é", "e\u0301", " e\u0301", "É", "b",
    " b", "N/A", "n/a", "?", " ?", "Å", "\u212b", "A\u030a", "K", "\u212a", "a\nb", "a b", "back\\slash",
    "backslash", "it's", "its", "Vie\u0302\u0323t", "Vie\u0323\u0302t", "Vi\u1ec7t", "Viet",
    "\u1112\u1161\u11ab국", "日本", "01", "001", "y ", "y", "Y", " yes", "YES", "No", "n", "T", "f", "F", "1.0",
    "0.0", "maybe", "ye\u017f", "=cmd", "%", "{}", "'; DROP TABLE x; --", CANARY, CANARY * 200, "1.50", "1.5",
    "2024-01-05", " 2024-01-05 ", "2024-1-5", "2024-01-06", "2024-01-07", "2024-02-29", "2023-02-29",
    "1900-02-29", "+-5",
    "2024-02-30", "2024-03-10", "2024-03-11", "2023-12-29", "2023-12-30", "0000-00-00", "0000-01-01",
    "0001-01-01", "9999-12-31", "2024-13-01", "2024-00-01", "2024-01-00", "20240105", "2024/01/05", "infinity",
    "epoch", "today", "2024-01-05 BC", "2024-01-05T23:59:59.123456789", "2024-01-05 10:00", "2024-01-05T25:00",
    "2024-01-05T10", "2024-01-05T24:00", "2024-01-05T24:00:00", "2024-01-05 24:00:01", "2024-01-05T23:60",
    "2024-01-05 23:59:60", "2024-01-05T10:00:00Z", "2024-02-01T01:00:00+02:00", "2024-01-31 23:30:00-0100",
    "2024-03-11 00:30+01", "2024-03-10 23:30-01", "2023-12-30 00:30+99:99", "2024-01-05 00:30+00:60",
    "2024-02-30T10:00", "2024-01-05T10:00:00.", "2024-01-05 10:00:00.5+05:30", "2024-01-05 10:00:00+5",
    "2024-01-05T10:00+", "0001-01-01 00:30+01", "2024-01-05T24:00:00.0", "2024-01-05 24:00:00.5",
    "2024-01-05T24:00-01", "٢٠٢٤-٠١-٠٥", "7:05", "07:05:59.9999999", "24:00", "24:00:00.0", "24:01", "7:60", "7:05Z",
    "07:05:60", "9999-12-31T23:30-01", "9999-12-31T24:00", "0001-01-01T00:30",
]  # fmt: skip


@pytest.mark.parametrize(
    "kind", [NUMBER, CATEGORY, YESNO, *PERIODS, *PARTS], ids=lambda kind: kind.get("by", kind["kind"])
)
@pytest.mark.by_day(4)
def test_texts_fall_in_the_same_cells(in_engine, kind):
    array = same(in_engine, repeated(TEXTS, pa.string(), 1), plan_of(*columns_of(kind)))[0]
    assert array.sum() == len(TEXTS)
    assert np.count_nonzero(array) >= 3


@pytest.mark.parametrize("form", ["1,234.5", "1.234,5"])
def test_numbers_by_a_format_fall_in_the_same_cells(in_engine, form):
    texts = [
        *TEXTS,
        "1,5",
        "0,7",
        "0,69",
        "1.234",
        "1.000,5",
        "1 234",
        "1\u00a0234,5",
        "1'000.5",
        "12.34,5",
        ",5",
        "5,",
        "-1,0",
    ]
    assert (
        same(in_engine, repeated(texts, pa.string(), 1), plan_of(*columns_of({**NUMBER, "format": form})))[0].sum() > 0
    )


@pytest.mark.parametrize("form", ["%d/%m/%Y", "%Y%m%d", "%d.%m.%Y %H:%M", "%d.%m.%Y %H:%M:%S", "%d %m %Y", "%m^%d[%Y"])
def test_dates_by_a_format_fall_in_the_same_cells(in_engine, form):
    texts = [
        None, "", "03/02/2024", " 3/2/2024", "03/02/24", "003/02/2024", "31/02/2024", "3/ 2/2024", "3/2/-2024",
        "00/00/0000", "20240203", "2024023", "202423", "020240203", "20240230", "3.2.2024 4:05",
        "3.2.2024 24:00", "3.2.2024 4:60", "3 2 2024", "3  2 2024", "2^3[2024", "2024-02-03", "+3/2/2024",
        "3/2/2024x", "3.2.2024 4:05:59", "3.2.2024 4:05:60",
    ]  # fmt: skip
    for kind in (PERIODS[2], *PARTS):
        if kind.get("by") != "hour" or "%H" in form:
            column = {**kind, "format": form, "missing_as": ["00/00/0000"]}
            array = same(in_engine, repeated(texts, pa.string(), 1), plan_of(*columns_of(column)))[0]
            assert array[:-2].sum() >= 1


@pytest.mark.by_day(4)
@pytest.mark.parametrize("form", ["%H:%M", "%H", "%H.%M.%S", "%H%M"])
def test_times_of_day_by_a_format_fall_in_the_same_cells(in_engine, form):
    texts = [None, "", "7:05", " 07:05", "24:00", "23:60", "7", "23", "24", "007", "7.5.9", "23.59.60", "0705", "705"]
    column = {**PARTS[0], "format": form}
    assert same(in_engine, repeated(texts, pa.string(), 1), plan_of(*columns_of(column)))[0][:-2].sum() >= 1


def column_of(type, values, rows=21):
    """Return values of a type, and missing ones up to a number of rows."""
    return pa.array([*values, *[None] * (rows - len(values))], type)


TYPED = {
    "int64": (pa.int64(), [None, 0, 1, -1, -3, 17, 18, 100, 101, -9, 2**62, -(2**63), 3, 2]),
    "int16": (pa.int16(), [None, 0, 1, -1, 17, 18, 100, 32767, -32768]),
    "float64": (pa.float64(), [None, math.nan, math.inf, -math.inf, 0.0, -0.0, 5e-324, -5e-324, 0.1, 0.7,
                               0.6999999999999999, 17.0, 18.0, 100.0, 100.00000000000001, -9.0, 2.5, 1.0, 1e300,
                               -1e300, 1.5]),
    "float32": (pa.float32(), [None, math.nan, math.inf, -math.inf, -0.0, 0.1, 0.7, 0.69999993, 17.0, 18.0, 100.0,
                               2.5, 1.5]),
    "decimal": (pa.decimal128(9, 2), [None, *map(Decimal, (
        "0.00", "0.10", "0.69", "0.70", "17.00", "18.00", "100.00", "100.01", "-9.00", "2.50", "1.50", "-0.01"))]),
    "boolean": (pa.bool_(), [None, True, False, True]),
}  # fmt: skip


def test_typed_numbers_and_booleans_fall_in_the_same_cells(in_engine):
    kinds = {"as number": NUMBER, "as category": CATEGORY, "as yesno": YESNO}
    columns = {f"{case} {way}": (column_of(*TYPED[case]), kind) for case in TYPED for way, kind in kinds.items()}
    plan = plan_of(*({"name": name, **kind} for name, (_, kind) in columns.items()))
    same(in_engine, pa.table({name: array for name, (array, _) in columns.items()}), plan)


DAYS = [None, *map(dt.date.fromisoformat, (
    "0001-01-01", "1582-10-10", "1970-01-01", "2023-12-29", "2023-12-30", "2024-01-05", "2024-01-07", "2024-02-29",
    "2024-03-10", "2024-03-11", "9999-12-31",
))]  # fmt: skip
TIMES = [None, *map(dt.datetime.fromisoformat, (
    "1900-01-01 00:00", "2023-12-29 23:59:59.999999", "2023-12-30", "2024-01-05", "2024-01-05 00:00:00.000001",
    "2024-01-07", "2024-01-07 00:00:01", "2024-02-29 23:30", "2024-03-10 23:59:59.999999", "2024-03-11",
    "2024-03-31 02:30",
))]  # fmt: skip


def test_dates_and_timestamps_fall_in_the_same_cells_in_any_time_zone_of_the_session(in_engine):
    arrays, columns = {}, []
    for type in (pa.date32(), pa.timestamp("us"), pa.timestamp("us", "UTC")):
        own = [{"name": f"{type} {k}", **kind} for k, kind in enumerate((CATEGORY, *PERIODS))]
        arrays |= dict.fromkeys((each["name"] for each in own), column_of(type, DAYS if type == pa.date32() else TIMES))
        parts = PARTS[type == pa.date32() :]  # the hour of a date is not known
        columns += own + [{"name": f"{type} {part['by']}", "of": f"{type} 0", **part} for part in parts]
    same(in_engine, pa.table(arrays), plan_of(*columns))


def test_values_that_only_postgresql_has_are_counted(postgres):
    """Infinite dates and timestamps, decimals of any scale, and texts of other types."""
    with psycopg.connect(postgres) as connection:
        connection.execute("CREATE TYPE mood AS ENUM ('ok', 'bad')")
        connection.execute(
            "CREATE TABLE odd AS SELECT * FROM (VALUES ('infinity'::date, 'infinity'::timestamp, "
            "'-infinity'::timestamptz, 'NaN'::numeric, 'ok'::mood, 'ab'::char(5)), "
            "('-infinity', '2024-01-05', '2024-01-05 00:30+01', 1e400, 'bad', 'cd'), "
            "('2024-01-05', null, null, 0.7, null, null)) AS t(d, t, z, n, m, c)"
        )
    day = {"kind": "date", "from": "2024-01-01", "to": "2024-01-05", "by": "day"}
    plan = plan_of(
        {"name": "d", **day}, {"name": "t", **day}, {"name": "z", **day},
        {"name": "n", "kind": "number", "edges": [0, 0.7, 1]}, {"name": "m", "kind": "category", "values": ["ok"]},
        {"name": "c", "kind": "category", "values": ["ab"]},
    )  # fmt: skip
    connection = ibis.connect(postgres)
    with open_table(connection.table("odd")) as table:
        arrays = count(table, plan, plan.marginals, truncation_key=b"")
    connection.disconnect()
    assert [array.tolist() for array in arrays] == [
        [0, 0, 0, 0, 1, 2, 0], [0, 0, 0, 0, 1, 1, 1], [0, 0, 0, 1, 0, 1, 1], [0, 1, 1, 1], [1, 1, 1], [1, 1, 1],
    ]  # fmt: skip


PEOPLE = pa.table(
    {
        "who": pa.array([f" p{i % 40}" if i % 3 else f"p{i % 40}" for i in range(400)] + [None, " ", ""], pa.string()),
        "number": pa.array([i % 40 for i in range(400)] + [None] * 3, pa.int64()),
        "x": pa.array([i * 7 % 120 for i in range(403)], pa.int64()),
        "y": pa.array([("yes", "no", None, "?")[i % 4] for i in range(403)], pa.string()),
    }
)
BOTH = ({"name": "x", **NUMBER, "missing": False}, {"name": "y", "kind": "yesno", "other": False})


@pytest.mark.parametrize("own", ["who", "number"])
@pytest.mark.parametrize("rows", [1, 3, 100])
@pytest.mark.by_day(3)
def test_the_same_rows_of_each_person_are_kept(in_engine, own, rows):
    plan = plan_of(*BOTH, tables=[["x", "y"], ["y"]], unit={"id": own, "rows": rows})
    both, y = same(in_engine, PEOPLE, plan)
    assert both.sum() == y.sum() == min(rows * 40, y.sum())
    assert (both.sum(axis=0) == y).all()


def test_a_number_is_the_same_person_however_it_is_written(in_engine):
    who = pa.array(["7", "7.0", " 7.00", "7.000", "07"], pa.string())
    plan = plan_of(BOTH[0], unit={"id": "who", "rows": 1})
    table = pa.table({"who": who, "x": pa.array([17, 20, 30, 40, 50], pa.int64())})
    (persons,) = same(in_engine, table, plan)
    assert persons.sum() == 2


def test_the_same_cells_of_each_person_are_kept(in_engine):
    distinct, unit = {"columns": ["x", "y"], "distinct": True}, {"id": "who", "rows": 9}
    thirds = {"name": "x", "kind": "number", "edges": [0, 40, 80, 120]}, BOTH[1]  # in each, everybody has rows
    several = plan_of(*thirds, tables=[["y"], distinct | {"cells_per_person": 2}], unit=unit)
    one = plan_of(*thirds, tables=[distinct], unit=unit)
    rows, cells = same(in_engine, PEOPLE, several)
    (persons,) = same(in_engine, PEOPLE, one)
    people = int(persons.sum())
    assert 0 < people < cells.sum() == 2 * people < rows.sum() == 9 * people


def test_another_key_keeps_other_rows(in_engine):
    plan = plan_of(*BOTH, unit={"id": "who", "rows": 1})
    first, second = (same(in_engine, PEOPLE, plan, key=key)[0].tolist() for key in (b"one", b"two"))
    assert sum(first) == sum(second) > 20
    assert first != second


def test_many_tables_in_one_statement_and_rows_left_out_by_any_column(in_engine):
    names = "abcdef"
    table = pa.table(
        {name: pa.array([i * (k + 3) % 7 for i in range(200)], pa.int64()) for k, name in enumerate(names)}
    )
    columns = [{"name": n, "kind": "category", "values": [str(v) for v in range(6)], "other": n != "f"} for n in names]
    arrays = same(in_engine, table, plan_of(*columns, tables={"each": 2}))
    assert len(arrays) == 15
    assert len({int(array.sum()) for array in arrays}) == 1
    assert arrays[0].sum() < 200


def test_an_empty_table_counts_nothing(in_engine):
    assert sum(int(array.sum()) for array in same(in_engine, PEOPLE.slice(0, 0), plan_of(*BOTH))) == 0


def test_a_release_of_rows_elsewhere_is_recognised_and_bought_once(in_engine):
    table, ledger, plan = in_engine(PEOPLE), Ledger.in_memory(), plan_of(*BOTH)
    first, second = release(table, plan, ledger), release(table, plan, ledger)
    assert first.bundle == second.bundle
    assert ledger.spent("d") == 1
    assert release(PEOPLE, plan, ledger).bundle == first.bundle  # whole numbers and texts read the same anywhere
    other = release(PEOPLE.slice(1), plan, ledger)
    assert (other.bundle == first.bundle, ledger.spent("d")) == (False, 2)


def test_a_file_with_the_rows_of_a_released_table_elsewhere_keeps_the_same_rows_of_each_person(in_engine):
    table, ledger, plan = in_engine(PEOPLE), Ledger.in_memory(), plan_of(*BOTH, unit={"id": "who", "rows": 1})
    release(table, plan, ledger)
    elsewhere, here = true_counts(table, plan, ledger), true_counts(PEOPLE, plan, ledger)
    assert {name: counts.tolist() for name, counts in here.items()} == {
        name: counts.tolist() for name, counts in elsewhere.items()
    }
    # Another ledger has another key. It may keep rows in the same cells by chance, but not twenty times.
    others = (true_counts(PEOPLE, plan, Ledger.in_memory()) for _ in range(20))
    assert any((counts[name] != here[name]).any() for counts in others for name in here)


@pytest.mark.by_day(5)
@pytest.mark.parametrize("type", [pa.string(), pa.int64(), pa.date32(), pa.timestamp("us"), pa.timestamp("us", "UTC")])
def test_rows_here_have_the_digest_of_texts_that_they_have_elsewhere(type, in_engine):
    if type == pa.string():
        values = [None, "", "a", "é", "日本", "it's", "back\\slash", "a\nb"]
    elif pa.types.is_timestamp(type):
        values = [None, *(dt.datetime.fromisoformat(f"2024-03-{day:02} 10:00:05") for day in range(1, 8))]
    else:
        values = [None, *(dt.date(2024, 1, day) if type == pa.date32() else day - 4 for day in range(1, 8))]
    table = pa.table({"b": pa.array(values, type), "a": pa.array(range(8), pa.int64())})
    with open_table(table) as here, open_table(in_engine(table)) as there:
        assert digest_of_texts(here) == digest_of_texts(there) == digest(there)
        assert digest(here) != digest(there)


def test_names_of_columns_are_names_and_nothing_else(in_any_engine):
    name = "a \"b\" `c` 'd'; --"
    table = pa.table({"x": pa.array([1], pa.int64())})
    renamed = in_any_engine(table).rename({name: "x"})
    plan = plan_of({"name": name, "kind": "number", "edges": [0, 2]})
    with open_table(renamed) as opened:
        assert count(opened, plan, plan.marginals, truncation_key=b"")[0].tolist() == [1, 0, 0]
        assert [column.kind_hint for column in opened.columns] == ["number"]
        assert row_count(opened) == 1


def test_one_statement_recognises_and_counts(in_any_engine):
    columns = [
        {"name": "x", "kind": "number", "edges": [0, 2, 5, 11], "other": False, "missing": False},
        {"name": "y", "kind": "yesno", "other": False},
        {"name": "pay", "kind": "amount", "from": 0, "to": 9, "step": 1},
    ]
    rows = PEOPLE.append_column(
        "pay", pa.array([None if i % 7 == 0 else i % 12 for i in range(len(PEOPLE))], pa.int64())
    )
    tables = [["x", "y"], {"columns": ["y"], "mean": ["pay"]}, ["x"]]
    plan = plan_of(*columns, tables=tables, strategy="direct")
    source = in_any_engine(rows)
    with open_table(source) as table, open_table(source) as again:
        found, counts = digest_and_count(table, plan, plan.marginals)
        assert found == digest(again)
        expected = count(again, plan, plan.marginals, truncation_key=b"")
    assert [each.tolist() for each in counts] == [each.tolist() for each in expected]
    assert 0 < expected[0].sum() < len(rows), "some rows have no cell, and are hashed all the same"


@pytest.mark.parametrize("rows", [1, 3])
def test_one_statement_keeps_rows_of_persons_counts_them_and_sees_a_change(in_any_engine, rows, monkeypatch):
    columns = [*BOTH, {"name": "number", "kind": "amount", "from": 0, "to": 40, "step": 1}]
    tables = [["x", "y"], {"columns": ["y"], "mean": ["number"]}]
    plan = plan_of(*columns, tables=tables, strategy="direct", unit={"id": "who", "rows": rows})
    source, asked = in_any_engine(PEOPLE), []
    key = {"truncation_key": b"any key", "tallies": None}
    with open_table(PEOPLE) as here, open_table(source) as table:
        expected = count(here, plan, plan.marginals[:2], **key)
        found = digest(table)
        monkeypatch.setattr(table, "ask", lambda *query: asked.append(query) or RemoteTable.ask(table, *query))
        counts = count_unchanged(table, plan, plan.marginals[:2], **key)
        assert len(asked) == 1
        table.digest = bytes(32)
        with pytest.raises(TableError, match="has changed"):
            count_unchanged(table, plan, plan.marginals[:2], **key)
        assert digest(table) == found
    assert [each.tolist() for each in counts] == [each.tolist() for each in expected]
    assert 0 < expected[0].sum() < len(PEOPLE), "some rows are left out, and are hashed all the same"


@pytest.mark.parametrize(("unit", "times"), [({"rows": 1}, 1), ({"id": "who", "rows": 2}, 2)])
def test_how_often_rows_of_postgresql_are_read_for_a_publication(postgres, unit, times):
    source = ibis_tables.in_postgres(PEOPLE, postgres)
    connection = source.get_backend().con

    def scans():
        connection.execute("SELECT pg_stat_force_next_flush()")
        asked = "SELECT seq_scan + coalesce(idx_scan, 0) FROM pg_stat_user_tables WHERE relname = %s"
        return connection.execute(asked, [source.get_name()]).fetchall()[0][0]

    before = scans()
    release(source, plan_of(*BOTH, unit=unit))
    assert scans() == before + times


def test_a_change_after_recognition_is_noticed(in_engine):
    source = in_engine(PEOPLE)
    with open_table(source) as table:
        check_unchanged(table)
        before = digest(table)
        check_unchanged(table)
    with open_table(source.filter(source.x != 7)) as other:
        assert digest(other) != before
        other.dialect, other.rows = table.dialect, table.rows
        with pytest.raises(TableError, match="has changed"):
            check_unchanged(other)
        assert digest(other) == before


def test_the_owner_sees_distinct_texts_until_the_table_is_closed(in_engine):
    with open_table(in_engine(PEOPLE)) as table:
        assert distinct_texts(table, "y", limit=9) == ["?", "no", "yes"]
        assert distinct_texts(table, "y", limit=1) == ["?"]
    with pytest.raises(TableError, match="closed"):
        row_count(table)


def test_check_names_the_columns_that_the_engine_cannot_encode(in_engine):
    table = pa.table({"d": pa.array([CANARY], pa.string()), "x": pa.array([1], pa.int64())})
    plan = plan_of(
        {"name": "d", **PERIODS[0], "format": "%j %Y"},
        {"name": "x", "kind": "number", "edges": {"from": 0, "to": 30000, "bins": 30000}},
        tables={"each": 1},
    )
    with open_table(in_engine(table)) as opened, pytest.raises(TableError) as caught:
        check(opened, plan)
    assert len(caught.value.faults) == 2
    assert CANARY not in str(caught.value)
