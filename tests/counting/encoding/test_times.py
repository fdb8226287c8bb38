"""The hour and the weekday of a value: the same in every way in, by no clock but the value's own or UTC."""

from __future__ import annotations

import datetime as dt
import re
import tempfile
from typing import Any

import numpy as np
import openpyxl
import pandas as pd
import pyarrow as pa
import pyarrow.csv as csv
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpengine.counting.count import check, count
from dpengine.errors import TableError
from dpengine.sources.open import open_table
from dpengine.spec.domain import MISSING, OTHER
from dpengine.spec.plan import Plan
from tests import ibis_tables
from tests.conftest import examples

pytestmark = ibis_tables.TOLERATED

HOUR = {"name": "hour", "kind": "time", "of": "t", "by": "hour"}
WEEKDAY = {"name": "weekday", "kind": "time", "of": "t", "by": "weekday"}
DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")


def plan_of(*columns: dict[str, Any], **more: Any) -> Plan:
    return Plan(dataset="d", epsilon="1", columns=columns, tables={"each": 1}, **more)


def counted(source: Any, plan: Plan) -> list[list[int]]:
    with open_table(source) as table:
        check(table, plan)
        arrays = count(table, plan, plan.marginals, truncation_key=b"")
    return [array.tolist() for array in arrays]


def cells_of(value: object, type: pa.DataType | None = None, *columns: dict[str, Any]) -> tuple[str, ...]:
    """Return the label of the cell of one value in each column, by default in that of hours and that of weekdays."""
    plan = plan_of(*(columns or (HOUR, WEEKDAY)))
    arrays = counted(pa.table({"t": pa.array([value], type)}), plan)
    return tuple(column.labels[array.index(1)] for column, array in zip(plan.columns, arrays, strict=True))


TEXTS = [
    ("2024-01-01 00:00", "00:00", "Monday"), ("2024-01-01T23:59:59.999999", "23:00", "Monday"),
    ("2024-01-01T23:59:59.999999999", "23:00", "Monday"), (" 2024-02-29 07:05 ", "07:00", "Thursday"),
    ("2024-01-06", OTHER, "Saturday"), ("2024-01-01T24:00", "00:00", "Tuesday"), ("24:00", "00:00", OTHER),
    ("24:00:00.0", "00:00", OTHER), ("24:01", OTHER, OTHER), ("7:05", "07:00", OTHER), ("07:05", "07:00", OTHER),
    ("23:59:59.9999999", "23:00", OTHER), ("7:5", OTHER, OTHER), ("7", OTHER, OTHER), ("007:05", OTHER, OTHER),
    ("23:59:60", OTHER, OTHER), ("2016-12-31T23:59:60Z", OTHER, OTHER), ("7:05 PM", OTHER, OTHER),
    ("07:05Z", OTHER, OTHER), ("2024-01-01 7:05", OTHER, OTHER), ("2024-02-30 10:00", OTHER, OTHER),
    ("2024-01-07T23:30-02:00", "01:00", "Monday"), ("2024-01-08T00:30+05:30", "19:00", "Sunday"),
    ("2024-01-07T10:00Z", "10:00", "Sunday"), ("0001-01-01T00:30+01", OTHER, OTHER),
    ("0001-01-01T00:30", "00:00", "Monday"), ("9999-12-31T24:00", OTHER, OTHER), ("0000-01-01 10:00", OTHER, OTHER),
    ("Monday", OTHER, OTHER), ("", MISSING, MISSING), (None, MISSING, MISSING), (" ", MISSING, MISSING),
    ("-9", OTHER, OTHER),
]  # fmt: skip


@pytest.mark.parametrize("engine", ["here", "DuckDB"])
def test_texts(engine: str) -> None:
    values = [text for text, _hour, _weekday in TEXTS]
    source = matrix(values) if engine == "here" else ibis_tables.in_duckdb(matrix(values))
    hours, weekdays = (column.labels for column in plan_of(HOUR, WEEKDAY).columns)
    codes = each_value(source, len(values))
    assert codes == [expected(each) for each in values]
    found = [(text, hours[hour], weekdays[weekday]) for text, (hour, weekday) in zip(values, codes, strict=True)]
    assert found == TEXTS


@pytest.mark.parametrize(
    ("value", "type", "hour", "weekday"),
    [
        (dt.datetime(2024, 1, 6), pa.timestamp("us"), "00:00", "Saturday"),
        (dt.datetime(1969, 12, 31, 23, 59, 59, 999999), pa.timestamp("us"), "23:00", "Wednesday"),
        (dt.datetime(2024, 1, 7, 13), pa.timestamp("s"), "13:00", "Sunday"),
        (1704671999999999999, pa.timestamp("ns"), "23:00", "Sunday"),
        (-1, pa.timestamp("ns"), "23:00", "Wednesday"),
        (dt.datetime(2024, 1, 7, 23, 30), pa.timestamp("us", "America/New_York"), "04:00", "Monday"),
        (dt.time(7, 5), pa.time64("us"), "07:00", OTHER),
        (dt.time(23, 59, 59, 999999), pa.time64("us"), "23:00", OTHER),
        (dt.time(0), pa.time32("s"), "00:00", OTHER),
    ],
)
def test_a_typed_value(value: object, type: pa.DataType, hour: str, weekday: str) -> None:
    array = pa.array([value], type)
    if pa.types.is_timestamp(type) and type.tz is not None:  # Arrow takes a bare time for UTC
        array = pa.array([value.replace(tzinfo=dt.timezone(dt.timedelta(hours=-5)))], type)  # type: ignore[attr-defined]
    plan = plan_of(HOUR, WEEKDAY)
    arrays = counted(pa.table({"t": array}), plan)
    assert [plan.columns[k].labels[each.index(1)] for k, each in enumerate(arrays)] == [hour, weekday]


def test_the_hour_of_a_column_of_dates_is_refused_and_their_weekday_is_not() -> None:
    dates = pa.table({"t": pa.array([dt.date(2024, 1, 6)], pa.date32())})
    with pytest.raises(TableError, match="column 'hour' holds dates without a time of day"):
        counted(dates, plan_of(HOUR))
    assert counted(dates, plan_of(WEEKDAY))[0][5] == 1


@pytest.mark.parametrize(
    ("form", "text", "hour", "weekday"),
    [
        ("%m/%d/%Y %I:%M %p", "01/06/2024 07:05 PM", "19:00", "Saturday"),
        ("%m/%d/%Y %I:%M %p", "01/06/2024 12:05 AM", "00:00", "Saturday"),
        ("%d.%m.%Y %H:%M", "6.1.2024 7:05", "07:00", "Saturday"),
        ("%d.%m.%Y %H:%M", "2024-01-06 07:05", OTHER, OTHER),
        ("%d.%m.%Y %H:%M", "6.1.2024 24:00", OTHER, OTHER),
        ("%d.%m.%Y %H:%M:%S", "6.1.2024 23:59:60", OTHER, OTHER),
    ],
)
def test_a_text_by_a_format(form: str, text: str, hour: str, weekday: str) -> None:
    assert cells_of(text, pa.string(), HOUR | {"format": form}, WEEKDAY | {"format": form}) == (hour, weekday)


def test_formats_of_a_time_of_day_alone_and_numbers_that_are_hours() -> None:
    assert cells_of("7:05 PM", pa.string(), HOUR | {"format": "%I:%M %p"}) == ("19:00",)
    assert cells_of(7, pa.int64(), HOUR | {"format": "%H"}) == ("07:00",)
    assert cells_of(20240106, pa.int64(), WEEKDAY | {"format": "%Y%m%d"}) == ("Saturday",)


@pytest.mark.parametrize("type", [pa.string(), pa.timestamp("us")])
def test_missing_markers(type: pa.DataType) -> None:
    value = "1900-01-01 00:00:00" if type == pa.string() else dt.datetime(1900, 1, 1)
    marked = {"missing_as": ["1900-01-01 00:00:00", "1900-01-01"]}
    assert cells_of(value, type, HOUR | marked, WEEKDAY | marked) == (MISSING, MISSING)


# Every way in

MOMENTS = [dt.datetime(2024, 1, 1) + dt.timedelta(minutes=733 * k) for k in range(500)]
EXPECTED_HOURS = [sum(each.hour == hour for each in MOMENTS) for hour in range(24)]
EXPECTED_DAYS = [sum(each.weekday() == day for each in MOMENTS) for day in range(7)]
MONTHS = {"name": "t", "kind": "date", "from": "2024-01-01", "to": "2024-12-31", "by": "month"}
BY_MONTH = [sum(each.month == month for each in MOMENTS) for month in range(1, 13)]


@pytest.fixture(scope="module")
def ways_in(tmp_path_factory: pytest.TempPathFactory) -> list[Any]:
    folder = tmp_path_factory.mktemp("times")
    typed = pa.table({"t": pa.array(MOMENTS, pa.timestamp("us"))})
    texts = pa.table({"t": pa.array([each.isoformat(" ") for each in MOMENTS], pa.string())})
    book = openpyxl.Workbook()
    book.active.append(["t"])
    for each in MOMENTS:
        book.active.append([each])
    book.save(folder / "t.xlsx")
    csv.write_csv(texts, folder / "t.csv")
    pq.write_table(typed, folder / "t.parquet")
    pq.write_table(texts, folder / "texts.parquet")
    few = pa.table({"t": texts["t"].combine_chunks().dictionary_encode()})
    frame = typed.to_pandas()
    return [
        typed, texts, few, frame, texts.to_pandas(), frame.astype(object), folder / "t.xlsx",
        frame["t"].dt.tz_localize("UTC").dt.tz_convert("Asia/Tokyo").to_frame(), folder / "t.csv",
        folder / "t.parquet", folder / "texts.parquet", ibis_tables.in_duckdb(typed), ibis_tables.in_duckdb(texts),
    ]  # fmt: skip


@pytest.mark.by_day(7)
@pytest.mark.parametrize("number", range(13))
def test_one_column_of_a_table_gives_month_hour_and_weekday_in_every_way_in(number: int, ways_in: list[Any]) -> None:
    months, hours, days = counted(ways_in[number], plan_of(MONTHS, HOUR, WEEKDAY))
    assert months[:12] == BY_MONTH
    assert days[:7] == EXPECTED_DAYS
    assert hours == [*EXPECTED_HOURS, 0, 0]


def test_a_date_among_times_of_a_workbook_or_of_objects_is_at_midnight() -> None:
    frame = pd.DataFrame({"t": pd.Series([dt.date(2024, 1, 6), dt.datetime(2024, 1, 6, 5)], dtype=object)})
    hours, days = counted(frame, plan_of(HOUR, WEEKDAY))
    assert (hours[0], hours[5], days[5]) == (1, 1, 2)


def test_people_with_several_rows_are_bounded_at_each_part_alike() -> None:
    table = pa.table({"t": pa.array(MOMENTS, pa.timestamp("us")), "who": [k // 5 for k in range(len(MOMENTS))]})
    arrays = counted(table, plan_of(MONTHS, HOUR, WEEKDAY, unit={"id": "who", "rows": 2}))
    assert {sum(each) for each in arrays} == {200}


def test_a_number_and_the_hour_of_one_column_do_not_mix() -> None:
    table = pa.table({"t": pa.array([7.0, 8.0, 30.0], pa.float64())})
    number = {"name": "t", "kind": "number", "edges": [0, 8, 24]}
    numbers, hours = counted(table, plan_of(number, HOUR | {"name": "u", "format": "%H"}))
    assert numbers[:2] == [1, 1]
    assert (hours[7], hours[8], hours[24]) == (1, 1, 1)


# Engines against each other and against another reading


def expected(text: str | None) -> tuple[int, int]:
    """Return the hour and the weekday of a text by Python's calendar, 24 and 7 for other, 25 and 8 for missing."""
    text = (text or "").strip()
    if not text:
        return 25, 8
    if match := re.fullmatch(r"(\d{1,2}):(\d\d)(?::(\d\d)(?:\.(\d+))?)?", text, re.ASCII):
        hour, *rest = (int(part or 0) for part in match.groups())
        in_day = hour < 24 and rest[0] < 60 and rest[1] < 60
        return (hour % 24 if in_day or (hour == 24 and not any(rest)) else 24), 7
    match = re.fullmatch(
        r"(\d{4}-\d\d-\d\d)(?:[T ](\d\d):(\d\d)(?::(\d\d)(?:\.(\d+))?)?(Z|[+-]\d\d(?::?\d\d)?)?)?", text, re.ASCII
    )
    try:
        assert match is not None
        day = dt.date.fromisoformat(match[1])
        if match[2] is None:
            return 24, day.weekday()
        hour, minute, second, part = (int(each or 0) for each in match.groups()[1:5])
        assert (hour < 24 and minute < 60 and second < 60) or (hour == 24 and not minute + second + part)
        zone = (match[6] or "Z").replace("Z", "+00").replace(":", "")
        east = (int(zone[1:3]) * 60 + int(zone[3:] or 0)) * (-1 if zone[0] == "-" else 1)
        moment = dt.datetime.combine(day, dt.time()) + dt.timedelta(minutes=hour * 60 + minute - east)
    except (AssertionError, ValueError, OverflowError):
        return 24, 7
    return moment.hour, moment.weekday()


def number_text(most: int) -> st.SearchStrategy[str]:
    return st.integers(0, most).map("{:02}".format)


CLOCKS = st.builds(
    "{}:{}{}".format, number_text(25), number_text(61),
    st.sampled_from(["", "", ":00", ":59", ":60", ":00.0", ":59.999999999", ":00.5", ":5"]),
)  # fmt: skip
ZONES = st.sampled_from(["", "", "", "Z", "+01", "-0330", "+05:45", "-12:00", "+14", "+1", "z"])
DATES = st.one_of(
    st.dates().map(dt.date.isoformat),
    st.builds("{}-{}-{}".format, st.sampled_from(["2023", "2024", "1900", "2000", "0000", "0001", "9999"]),
              number_text(13), number_text(32)),
)  # fmt: skip
ODD = st.one_of(
    st.builds("{}{}{}{}".format, DATES, st.sampled_from(["T", " ", "  ", "t"]), CLOCKS, ZONES),
    DATES,
    CLOCKS,
    CLOCKS.map(lambda text: text.removeprefix("0")),
    st.sampled_from([None, "", " ", "x", "24:00", "24:00:00", "12", "-9", " 7:05\t", "٠٧:٠٥", "7:05 PM"]),
)


def matrix(values: list[str | None]) -> pa.Table:
    """One row a value, which its number tells apart in the counts of pairs."""
    return pa.table({"t": pa.array(values, pa.string()), "n": pa.array(range(len(values)), pa.int64())})


def each_value(source: Any, rows: int) -> list[tuple[int, int]]:
    number = {"name": "n", "kind": "number", "edges": list(range(rows + 1)), "other": False, "missing": False}
    plan = Plan(dataset="d", epsilon="1", columns=[number, HOUR, WEEKDAY], tables=[["n", "hour"], ["n", "weekday"]])
    with open_table(source) as table:
        hours, days = count(table, plan, plan.marginals, truncation_key=b"")
    assert (hours.sum(axis=1) == 1).all()
    assert (days.sum(axis=1) == 1).all()
    return list(zip(np.argmax(hours, axis=1).tolist(), np.argmax(days, axis=1).tolist(), strict=True))


@settings(max_examples=examples(3, 20))
@given(st.lists(ODD, min_size=20, max_size=120))
def test_any_texts_have_the_same_hour_and_weekday_here_and_by_another_reading(values: list[str | None]) -> None:
    table = matrix(values)
    wanted = [expected(each) for each in values]
    found = {"Arrow": each_value(table, len(values)), "DuckDB": each_value(ibis_tables.in_duckdb(table), len(values))}
    with tempfile.TemporaryDirectory() as folder:
        csv.write_csv(table, f"{folder}/t.csv")
        found["CSV"] = each_value(f"{folder}/t.csv", len(values))
    for name, cells in found.items():
        wrong = [(values[k], cells[k], wanted[k]) for k in range(len(values)) if cells[k] != wanted[k]]
        assert not wrong, f"{name}: {wrong[:5]}"
