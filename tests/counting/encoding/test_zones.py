"""Hours, weekdays and days by the clock of a zone: the same in every engine, and as Python's calendar has them."""

from __future__ import annotations

import contextlib
import datetime as dt
import io
import os
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import openpyxl
import pandas as pd
import pyarrow as pa
import pyarrow.csv as csv
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dpengine.counting.count import count
from dpengine.errors import TableError
from dpengine.sources.open import open_table
from dpengine.spec.domain import MISSING, OTHER
from dpengine.spec.plan import Plan
from tests import ibis_tables
from tests.conftest import examples
from tests.counting.encoding.test_times import HOUR, WEEKDAY, counted, plan_of
from tests.spec.test_zones import clock_of

pytestmark = ibis_tables.TOLERATED

FIRST, LAST = dt.date(2024, 3, 1), dt.date(2024, 11, 30)  # all clocks that change do so within
DAY = {"name": "t", "kind": "date", "from": FIRST, "to": LAST, "by": "day"}
ZONES = (  # the first and the sixth by day: north and south
    "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Asia/Kolkata", "Asia/Kathmandu", "America/Santiago",
    "Pacific/Kiritimati", "Pacific/Chatham", "Africa/Casablanca", "America/Havana",
)  # fmt: skip


def expected(value: dt.datetime | dt.date | None, zone: str) -> tuple[int, int, int]:
    """Return hour, weekday and day of a value by Python's calendar."""
    days = (LAST - FIRST).days + 1
    if value is None:
        return 25, 8, days + 1
    if not isinstance(value, dt.datetime):
        return 24, value.weekday(), (value - FIRST).days if FIRST <= value <= LAST else days
    local = value if value.tzinfo is None else value.astimezone(clock_of(zone))
    inside = FIRST <= local.date() <= LAST
    known = value.tzinfo is None or dt.date(1900, 1, 1) <= local.date() < dt.date(2100, 1, 1)
    cells = (local.hour, local.weekday()) if known else (24, 7)
    return *cells, (local.date() - FIRST).days if inside else days


def each_value(source: Any, rows: int, zone: str, **more: Any) -> list[tuple[int, ...]]:
    """Return the cells of each row, which its number tells apart in the counts of pairs."""
    number = {"name": "n", "kind": "number", "edges": list(range(rows + 1)), "other": False, "missing": False}
    tables = [["n", "hour"], ["n", "weekday"], ["n", "t"]]
    plan = Plan(dataset="d", epsilon="1", columns=[number, *columns_in(zone, **more)], tables=tables)
    with open_table(source) as table:
        arrays = count(table, plan, plan.marginals, truncation_key=b"")
    assert all((each.sum(axis=1) == 1).all() for each in arrays)
    found = (np.argmax(each, axis=1).tolist() for each in arrays)
    return list(zip(*found, strict=True))


def columns_in(zone: str, **more: Any) -> list[dict[str, Any]]:
    """Return the columns of the hour, the weekday and the day of a value by the clock of a zone."""
    return [each | {"zone": zone, **more} for each in (HOUR, WEEKDAY, DAY)]


def table_of(values: list[Any], type: pa.DataType) -> pa.Table:
    return pa.table({"t": pa.array(values, type), "n": pa.array(range(len(values)), pa.int64())})


def around(*moments: str) -> list[dt.datetime]:
    """Return instants in UTC every 25 minutes, from two days before each moment to two days after it."""
    starts = [dt.datetime.fromisoformat(each) - dt.timedelta(days=2) for each in moments]
    return [start + dt.timedelta(minutes=25 * k, microseconds=k % 3) for start in starts for k in range(230)]


@cache
def changes(zone: str) -> list[dt.datetime]:
    """Return the last instant before each change of a clock in 2024, and the first one after it."""
    clock = clock_of(zone)
    hours = [dt.datetime(2024, 1, 1, tzinfo=dt.UTC) + dt.timedelta(minutes=30 * k) for k in range(366 * 48)]
    ahead = [each.astimezone(clock).utcoffset() for each in hours]
    at = [hours[k] for k in range(1, len(hours)) if ahead[k] != ahead[k - 1]]
    return [each + dt.timedelta(microseconds=shift) for each in at for shift in (-1, 0, 1)]


@cache
def instants(zone: str) -> list[dt.datetime]:
    at = around("2024-03-31 01:00", "2024-10-27 01:00", "2024-03-10 07:00", "2024-04-07 04:00", "2024-11-30 12:00")
    return [each.replace(tzinfo=dt.UTC) for each in at] + changes(zone)


def written(values: list[dt.datetime], zone: str) -> list[str]:
    """Write instants as texts, each with an offset: that of UTC, of the zone, or another one."""
    clocks = (dt.UTC, clock_of(zone), dt.timezone(dt.timedelta(hours=-9, minutes=-30)))
    texts = [each.astimezone(clocks[k % 3]).isoformat(" " if k % 2 else "T") for k, each in enumerate(values)]
    return [each.removesuffix("+00:00") + "Z" if each.endswith("+00:00") and k % 2 else each
            for k, each in enumerate(texts)]  # fmt: skip


def wrong(found: list[Any], values: list[Any], zone: str) -> list[Any]:
    wanted = [expected(each, zone) for each in values]
    return [(each, have, want) for each, have, want in zip(values, found, wanted, strict=True) if have != want][:5]


@pytest.mark.by_day(2)
@pytest.mark.parametrize("zone", ZONES)
def test_instants_around_changes_of_the_clock(zone: str) -> None:
    values = instants(zone)
    typed = table_of(values, pa.timestamp("us", "UTC"))
    texts = table_of(written(values, zone), pa.string())
    for table in (typed, texts):
        assert not wrong(each_value(table, len(values), zone), values, zone)


@pytest.mark.nightly
def test_instants_in_the_type_of_the_zone_itself() -> None:
    zone = "America/New_York"
    values = instants(zone)
    table = table_of(values, pa.timestamp("us", zone))
    for source in (table, table.to_pandas()):
        assert not wrong(each_value(source, len(values), zone), values, zone)


@pytest.mark.by_day(2)
@pytest.mark.parametrize("zone", ["Europe/Berlin", "America/Santiago", "Asia/Kathmandu"])
@pytest.mark.parametrize("type", [pa.timestamp("us", "UTC"), pa.string()], ids=str)
def test_instants_in_other_engines(in_engine: Any, type: pa.DataType, zone: str) -> None:
    values = [None, *instants(zone)[::3], *changes(zone)]
    cells = [None, *written(values[1:], zone)] if type == pa.string() else values
    assert not wrong(each_value(in_engine(table_of(cells, type)), len(values), zone), values, zone)


@pytest.mark.by_day(1)
def test_times_without_an_offset_stay_as_they_are_in_other_engines(in_engine: Any) -> None:
    values: list[Any] = [None, *(each.replace(tzinfo=None) for each in instants("Europe/Berlin")[::7])]
    zone = "Asia/Kolkata"
    typed, texts = (
        table_of(values, pa.timestamp("us")),
        table_of([each and each.isoformat() for each in values], pa.string()),
    )
    for table in (typed, texts):
        assert not wrong(each_value(table, len(values), zone), values, zone)
        assert not wrong(each_value(in_engine(table), len(values), zone), values, zone)


MOMENTS = st.datetimes(dt.datetime(1890, 1, 1), dt.datetime(2110, 1, 1), timezones=st.just(dt.UTC)).filter(
    lambda each: 1900 <= each.year < 2100 and (each.month, each.day) not in ((1, 1), (1, 2), (12, 30), (12, 31))
)
NEAR = st.datetimes(dt.datetime(2024, 2, 23), dt.datetime(2024, 12, 7), timezones=st.just(dt.UTC))
VALUES = st.one_of(
    MOMENTS,
    NEAR,
    NEAR.map(lambda each: each.replace(tzinfo=None)),
    NEAR.map(lambda each: each.astimezone(dt.timezone(dt.timedelta(hours=5, minutes=45)))),
    NEAR.map(lambda each: each.astimezone(clock_of("America/New_York"))),
    st.dates(dt.date(2024, 2, 23), dt.date(2024, 12, 7)),
)


@settings(max_examples=examples(2, 10), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.sampled_from(ZONES), st.lists(VALUES, min_size=20, max_size=100))
def test_any_values_have_the_cells_of_another_reading(zone: str, values: list[Any]) -> None:
    texts = table_of([each.isoformat() for each in values], pa.string())
    moments = [each for each in values if isinstance(each, dt.datetime) and each.tzinfo]
    typed = table_of(moments, pa.timestamp("us", "UTC"))
    for table, read in ((texts, values), (typed, moments)):
        if read:
            assert not wrong(each_value(table, len(read), zone), read, zone)
            assert not wrong(each_value(ibis_tables.in_duckdb(table), len(read), zone), read, zone)


# Single values


def labels_of(source: Any, rows: int, zone: str, **more: Any) -> list[tuple[str, ...]]:
    """Return the labels of the cells of each row."""
    columns = plan_of(*columns_in(zone, **more)).columns
    codes = each_value(source, rows, zone, **more)
    return [tuple(column.labels[code] for column, code in zip(columns, each, strict=True)) for each in codes]


def here_and_elsewhere(table: pa.Table) -> tuple[Any, ...]:
    return table, ibis_tables.in_duckdb(table)


TEXTS = {  # hour, weekday and day, by zone
    "Europe/Berlin": {
        "2024-07-05T22:30Z": ("00:00", "Saturday", "2024-07-06"),
        "2024-11-05T22:30Z": ("23:00", "Tuesday", "2024-11-05"),
        "2024-07-05T22:30": ("22:00", "Friday", "2024-07-05"),
        "2024-03-31T00:59:59.999999Z": ("01:00", "Sunday", "2024-03-31"),
        "2024-03-31T01:00Z": ("03:00", "Sunday", "2024-03-31"),
        "2024-10-27T00:30Z": ("02:00", "Sunday", "2024-10-27"),
        "2024-10-27T01:30Z": ("02:00", "Sunday", "2024-10-27"),
        "2024-11-01T24:00Z": ("01:00", "Saturday", "2024-11-02"),
        "1899-12-29T12:00Z": (OTHER, OTHER, OTHER),
        "2100-01-04T12:00Z": (OTHER, OTHER, OTHER),
        "0001-01-01T00:30+01": (OTHER, OTHER, OTHER),
        "1899-12-29T12:00": ("12:00", "Friday", OTHER),
        "x": (OTHER, OTHER, OTHER),
        " ": (MISSING, MISSING, MISSING),
    },
    "America/New_York": {
        "2024-07-05T22:30-05:00": ("23:00", "Friday", "2024-07-05"),
        "2024-07-05": (OTHER, "Friday", "2024-07-05"),
        "7:05": ("07:00", OTHER, OTHER),
        "2024-03-01T04:59Z": ("23:00", "Thursday", OTHER),
        "2024-03-01T05:00Z": ("00:00", "Friday", "2024-03-01"),
    },
    "Asia/Kolkata": {
        "2024-04-01T18:29:59Z": ("23:00", "Monday", "2024-04-01"),
        "2024-04-01T18:30Z": ("00:00", "Tuesday", "2024-04-02"),
    },
}


@pytest.mark.parametrize("zone", TEXTS)
def test_texts(zone: str) -> None:
    cells = TEXTS[zone]
    for source in here_and_elsewhere(table_of([*cells], pa.string())):
        assert dict(zip(cells, labels_of(source, len(cells), zone), strict=True)) == cells


def test_typed_values_and_their_missing_markers_which_are_in_utc() -> None:
    zone, at = "Europe/Berlin", dt.datetime(2024, 7, 5, 22, 30, tzinfo=dt.UTC)
    for unit in ("s", "ms", "us", "ns"):
        typed = table_of([at], pa.timestamp(unit, "Asia/Tokyo"))
        assert labels_of(typed, 1, zone) == [("00:00", "Saturday", "2024-07-06")]
    marked = ["9999-12-31", "2024-07-05 22:30:00"]
    values = [at, dt.datetime(9999, 12, 31, tzinfo=dt.UTC), dt.datetime(2024, 7, 6, 0, 30, tzinfo=dt.UTC)]
    for source in here_and_elsewhere(table_of(values, pa.timestamp("us", "UTC"))):
        found = labels_of(source, 3, zone, missing_as=marked)
        assert found == [(MISSING,) * 3, (MISSING,) * 3, ("02:00", "Saturday", "2024-07-06")]
    dates = pa.table({"t": pa.array([dt.date(2024, 7, 5)])})
    assert counted(dates, plan_of(WEEKDAY | {"zone": "Pacific/Kiritimati"}))[0][4] == 1


# Every way in

AT = [dt.datetime(2024, 3, 30, tzinfo=dt.UTC) + dt.timedelta(minutes=97 * k) for k in range(500)]
LOCAL = [each.astimezone(clock_of("America/New_York")) for each in AT]
BY_HOUR = [sum(each.hour == hour for each in LOCAL) for hour in range(24)]
BY_WEEKDAY = [sum(each.weekday() == day for each in LOCAL) for day in range(7)]
MONTHS = {"name": "t", "kind": "date", "from": "2024-01-01", "to": "2024-12-31", "by": "month"}
BY_MONTH = [sum(each.month == month for each in LOCAL) for month in range(1, 13)]


@pytest.fixture(scope="module")
def ways_in(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    folder = tmp_path_factory.mktemp("zones")
    typed = pa.table({"t": pa.array(AT, pa.timestamp("us", "UTC"))})
    texts = pa.table({"t": pa.array([each.isoformat() for each in AT], pa.string())})
    local = pa.table({"t": pa.array([each.replace(tzinfo=None) for each in LOCAL], pa.timestamp("us"))})
    csv.write_csv(texts, folder / "t.csv")
    pq.write_table(typed, folder / "t.parquet")
    pq.write_table(typed.cast(pa.schema([("t", pa.timestamp("ns", "Europe/Berlin"))])), folder / "ns.parquet")
    pq.write_table(texts, folder / "texts.parquet")
    folder.joinpath("both").mkdir()
    pq.write_table(typed.slice(0, 200), folder / "both" / "a.parquet")
    pq.write_table(local.slice(200), folder / "both" / "b.parquet")
    with pa.OSFile(str(folder / "t.arrow"), "wb") as file, pa.ipc.new_file(file, typed.schema) as writer:
        writer.write_table(typed)
    few = pa.table({"t": texts["t"].combine_chunks().dictionary_encode()})
    return {
        "Arrow": typed, "texts": texts, "dictionary": few, "pandas": typed.to_pandas(), "csv": folder / "t.csv",
        "parquet": folder / "t.parquet", "nanoseconds": folder / "ns.parquet", "text file": folder / "texts.parquet",
        "ipc": folder / "t.arrow", "local": local, "zone of its own": typed.to_pandas()["t"].dt.tz_convert(
            "Asia/Tokyo").to_frame(), "folder of both": folder / "both",
    }  # fmt: skip


NAMES = (
    "Arrow", "texts", "dictionary", "pandas", "csv", "parquet", "nanoseconds", "text file", "ipc", "local",
    "zone of its own", "folder of both",
)  # fmt: skip


ZONED = [each | {"zone": "America/New_York"} for each in (MONTHS, HOUR, WEEKDAY)]


@pytest.mark.by_day(6)
@pytest.mark.parametrize("name", NAMES)
def test_every_way_in_by_the_clock_of_a_zone(name: str, ways_in: dict[str, Any]) -> None:
    months, hours, days = counted(ways_in[name], plan_of(*ZONED))
    assert (months[:12], hours[:24], days[:7]) == (BY_MONTH, BY_HOUR, BY_WEEKDAY)


@pytest.mark.by_day(2)
@pytest.mark.parametrize("name", ["Arrow", "texts", "dictionary", "local"])
def test_people_with_many_rows_by_the_clock_of_a_zone(name: str, ways_in: dict[str, Any]) -> None:
    table = ways_in[name].append_column("who", pa.array(["p"] * len(AT)))
    months, hours, days = counted(table, plan_of(*ZONED, unit={"id": "who", "rows": 500}))
    assert (months[:12], hours[:24], days[:7]) == (BY_MONTH, BY_HOUR, BY_WEEKDAY)


def test_workbooks_and_objects_of_several_types_are_refused(tmp_path: Path) -> None:
    book = openpyxl.Workbook()
    book.active.append(["t"])
    book.active.append([dt.datetime(2024, 1, 1)])
    book.save(tmp_path / "t.xlsx")
    berlin = clock_of("Europe/Berlin")
    frame = pd.DataFrame({"t": pd.Series([dt.datetime(2024, 1, 1, tzinfo=berlin), "x"], dtype=object)})
    for source in (tmp_path / "t.xlsx", frame):
        with pytest.raises(TableError, match="which keep no zone"):
            counted(source, plan_of(HOUR | {"zone": "Europe/Berlin"}))
        counted(source, plan_of(HOUR))


def test_the_zone_of_the_machine_changes_nothing() -> None:
    plans = [plan_of(*columns).dumps() for columns in ((HOUR, WEEKDAY), columns_in("America/New_York"))]
    program = (
        "import pandas as pd\n"
        "from dpengine import Plan, open_table\n"
        "from dpengine.counting.count import count\n"
        "at = pd.to_datetime(['2024-07-05 22:30', '2024-11-07 03:10'])\n"
        "texts = at.astype(str)\n"
        "for t in (at, at.tz_localize('UTC'), texts, texts + '+00:00'):\n"
        f"    for plan in map(Plan.loads, {plans}):\n"
        "        with open_table(pd.DataFrame({'t': t})) as table:\n"
        "            arrays = count(table, plan, plan.marginals, truncation_key=b'')\n"
        "        print([each.tolist() for each in arrays])\n"
    )
    with contextlib.redirect_stdout(io.StringIO()) as here:
        exec(program, {})
    elsewhere = subprocess.run(
        [sys.executable, "-c", program], env=os.environ | {"TZ": "Pacific/Kiritimati"}, capture_output=True, text=True,
        check=True,
    ).stdout  # fmt: skip
    assert elsewhere == here.getvalue()
    assert elsewhere.count("\n") == 8
