"""Hours, weekdays and days by the clock of a zone: the same in every engine, and as Python's calendar has them."""

from __future__ import annotations

import datetime as dt
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
from tests.counting.encoding.test_times import HOUR, WEEKDAY, counted, plan_of, printed_on_two_clocks
from tests.spec.test_zones import clock_of

pytestmark = ibis_tables.TOLERATED

FIRST, LAST = dt.date(2023, 1, 1), dt.date(2025, 12, 31)
DAY = {"name": "day", "kind": "date", "from": FIRST, "to": LAST, "by": "day"}
ZONES = (
    "Europe/Berlin", "America/New_York", "Asia/Kolkata", "Australia/Lord_Howe", "America/Santiago", "Asia/Kathmandu",
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


def each_value(source: Any, rows: int, zone: str) -> list[tuple[int, int, int]]:
    """Return the cells of each row, which its number tells apart in the counts of pairs."""
    number = {"name": "n", "kind": "number", "edges": list(range(rows + 1)), "other": False, "missing": False}
    columns = [number, *(each | {"zone": zone} for each in (HOUR, WEEKDAY))]
    plan = Plan(dataset="d", epsilon="1", columns=columns, tables=[["n", "hour"], ["n", "weekday"]])
    days = Plan(dataset="d", epsilon="1", columns=[number, DAY | {"name": "t", "zone": zone}], tables=[["n", "t"]])
    with open_table(source) as table:
        arrays = count(table, plan, plan.marginals, truncation_key=b"")
        arrays += count(table, days, days.marginals, truncation_key=b"")
    found = (np.argmax(each, axis=1).tolist() for each in arrays)
    return list(zip(*found, strict=True))


def table_of(values: list[Any], type: pa.DataType) -> pa.Table:
    return pa.table({"t": pa.array(values, type), "n": pa.array(range(len(values)), pa.int64())})


def around(*moments: str) -> list[dt.datetime]:
    """Return instants in UTC every 25 minutes, from two days before each moment to two days after it."""
    starts = [dt.datetime.fromisoformat(each) - dt.timedelta(days=2) for each in moments]
    return [start + dt.timedelta(minutes=25 * k, microseconds=k % 3) for start in starts for k in range(230)]


def changes(zone: str) -> list[dt.datetime]:
    """Return the last instant before each change of a clock in 2024, and the first one after it."""
    clock = clock_of(zone)
    hours = [dt.datetime(2024, 1, 1, tzinfo=dt.UTC) + dt.timedelta(minutes=30 * k) for k in range(366 * 48)]
    ahead = [each.astimezone(clock).utcoffset() for each in hours]
    at = [hours[k] for k in range(1, len(hours)) if ahead[k] != ahead[k - 1]]
    return [each + dt.timedelta(microseconds=shift) for each in at for shift in (-1, 0, 1)]


def instants(zone: str) -> list[dt.datetime]:
    at = around("2024-03-31 01:00", "2024-10-27 01:00", "2024-03-10 07:00", "2024-04-07 04:00", "2025-12-31 12:00")
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


@pytest.mark.parametrize("zone", ZONES)
def test_instants_around_changes_of_the_clock(zone: str) -> None:
    values = instants(zone)
    typed = table_of(values, pa.timestamp("us", "UTC"))
    texts = table_of(written(values, zone), pa.string())
    for table in (typed, texts, typed.to_pandas(), typed.set_column(0, "t", typed["t"].cast(pa.timestamp("us", zone)))):
        assert not wrong(each_value(table, len(values), zone), values, zone)


@pytest.mark.parametrize("zone", ["Europe/Berlin", "America/Santiago", "Asia/Kathmandu"])
@pytest.mark.parametrize("type", [pa.timestamp("us", "UTC"), pa.string()], ids=str)
def test_instants_in_other_engines(in_engine: Any, type: pa.DataType, zone: str) -> None:
    values = [None, *instants(zone)[::3], *changes(zone)]
    cells = [None, *written(values[1:], zone)] if type == pa.string() else values
    assert not wrong(each_value(in_engine(table_of(cells, type)), len(values), zone), values, zone)


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
NEAR = st.datetimes(dt.datetime(2022, 12, 25), dt.datetime(2026, 1, 7), timezones=st.just(dt.UTC))
VALUES = st.one_of(
    MOMENTS,
    NEAR,
    NEAR.map(lambda each: each.replace(tzinfo=None)),
    NEAR.map(lambda each: each.astimezone(dt.timezone(dt.timedelta(hours=5, minutes=45)))),
    NEAR.map(lambda each: each.astimezone(clock_of("America/New_York"))),
    st.dates(dt.date(2022, 12, 25), dt.date(2026, 1, 7)),
)


@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.too_slow])
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


def cells_of(value: object, type: pa.DataType, zone: str, **more: Any) -> tuple[str, ...]:
    columns = [each | {"zone": zone, **more} for each in (HOUR, WEEKDAY)]
    day = {**DAY, "name": "t", "zone": zone, **more}
    plan = plan_of(*columns, day)
    arrays = counted(pa.table({"t": pa.array([value], type)}), plan)
    there = counted(ibis_tables.in_duckdb(pa.table({"t": pa.array([value], type)})), plan)
    assert list(arrays) == list(there)
    return tuple(column.labels[each.index(1)] for column, each in zip(plan.columns, arrays, strict=True))


@pytest.mark.parametrize(
    ("text", "zone", "cells"),
    [
        ("2024-07-05T22:30Z", "Europe/Berlin", ("00:00", "Saturday", "2024-07-06")),
        ("2024-01-05T22:30Z", "Europe/Berlin", ("23:00", "Friday", "2024-01-05")),
        ("2024-07-05T22:30", "Europe/Berlin", ("22:00", "Friday", "2024-07-05")),
        ("2024-07-05T22:30-05:00", "America/New_York", ("23:00", "Friday", "2024-07-05")),
        ("2024-01-01T18:29:59Z", "Asia/Kolkata", ("23:00", "Monday", "2024-01-01")),
        ("2024-01-01T18:30Z", "Asia/Kolkata", ("00:00", "Tuesday", "2024-01-02")),
        ("2024-03-31T00:59:59.999999Z", "Europe/Berlin", ("01:00", "Sunday", "2024-03-31")),
        ("2024-03-31T01:00Z", "Europe/Berlin", ("03:00", "Sunday", "2024-03-31")),
        ("2024-10-27T00:30Z", "Europe/Berlin", ("02:00", "Sunday", "2024-10-27")),
        ("2024-10-27T01:30Z", "Europe/Berlin", ("02:00", "Sunday", "2024-10-27")),
        ("2024-01-01T24:00Z", "Europe/Berlin", ("01:00", "Tuesday", "2024-01-02")),
        ("2024-07-05", "America/New_York", (OTHER, "Friday", "2024-07-05")),
        ("7:05", "America/New_York", ("07:00", OTHER, OTHER)),
        ("2023-01-01T04:59Z", "America/New_York", ("23:00", "Saturday", OTHER)),
        ("2023-01-01T05:00Z", "America/New_York", ("00:00", "Sunday", "2023-01-01")),
        ("1899-12-29T12:00Z", "Europe/Berlin", (OTHER, OTHER, OTHER)),
        ("2100-01-04T12:00Z", "Europe/Berlin", (OTHER, OTHER, OTHER)),
        ("0001-01-01T00:30+01", "Europe/Berlin", (OTHER, OTHER, OTHER)),
        ("1899-12-29T12:00", "Europe/Berlin", ("12:00", "Friday", OTHER)),
        ("x", "Europe/Berlin", (OTHER, OTHER, OTHER)),
        (" ", "Europe/Berlin", (MISSING, MISSING, MISSING)),
    ],
)
def test_a_text(text: str, zone: str, cells: tuple[str, ...]) -> None:
    assert cells_of(text, pa.string(), zone) == cells


def test_typed_values_and_their_missing_markers_which_are_in_utc() -> None:
    at = dt.datetime(2024, 7, 5, 22, 30, tzinfo=dt.UTC)
    for unit in ("s", "ms", "us", "ns"):
        assert cells_of(at, pa.timestamp(unit, "Asia/Tokyo"), "Europe/Berlin") == ("00:00", "Saturday", "2024-07-06")
    marked = {"missing_as": ["9999-12-31", "2024-07-05 22:30:00"]}
    for each in (at, dt.datetime(9999, 12, 31, tzinfo=dt.UTC)):
        assert cells_of(each, pa.timestamp("us", "UTC"), "Europe/Berlin", **marked) == (MISSING,) * 3
        other = dt.datetime(2024, 7, 6, 0, 30, tzinfo=dt.UTC)
        assert cells_of(other, pa.timestamp("us", "UTC"), "Europe/Berlin", **marked)[0] == "02:00"
    dates = pa.table({"t": pa.array([dt.date(2024, 7, 5)])})
    assert counted(dates, plan_of(WEEKDAY | {"zone": "Pacific/Kiritimati"}))[0][4] == 1


# Every way in

AT = [dt.datetime(2024, 3, 30, tzinfo=dt.UTC) + dt.timedelta(minutes=97 * k) for k in range(500)]
LOCAL = [each.astimezone(clock_of("America/New_York")) for each in AT]
BY_HOUR = [sum(each.hour == hour for each in LOCAL) for hour in range(24)]
BY_WEEKDAY = [sum(each.weekday() == day for each in LOCAL) for day in range(7)]
MONTHS = {"name": "t", "kind": "date", "from": "2024-01-01", "to": "2024-12-31", "by": "month"}
BY_MONTH = [sum(each.month == month for each in LOCAL) for month in range(1, 13)]


def sources(folder: Path) -> dict[str, Any]:
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


@pytest.mark.parametrize("name", NAMES)
def test_every_way_in_by_the_clock_of_a_zone(name: str, tmp_path: Path) -> None:
    months, hours, days = counted(sources(tmp_path)[name], plan_of(*ZONED))
    assert (months[:12], hours[:24], days[:7]) == (BY_MONTH, BY_HOUR, BY_WEEKDAY)


@pytest.mark.parametrize("name", ["Arrow", "texts", "dictionary", "local"])
def test_people_with_many_rows_by_the_clock_of_a_zone(name: str, tmp_path: Path) -> None:
    table = sources(tmp_path)[name].append_column("who", pa.array(["p"] * len(AT)))
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
    program = (
        "import pandas as pd\n"
        "from tests.counting.encoding.test_zones import counted, plan_of, HOUR, WEEKDAY, DAY\n"
        "at = pd.to_datetime(['2024-07-05 22:30', '2024-01-07 03:10'])\n"
        "plan = plan_of(*(each | {'zone': 'America/New_York'} for each in (HOUR, WEEKDAY, DAY | {'name': 't'})))\n"
        "print([counted(pd.DataFrame({'t': t}), plan) for t in\n"
        "       (at, at.tz_localize('UTC'), at.astype(str), at.astype(str) + '+00:00')])\n"
    )
    assert len(printed_on_two_clocks(program)) == 1
