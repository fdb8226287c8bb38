"""Zones: their names, and their offsets, read from the zone files here by another way."""

from __future__ import annotations

import datetime as dt
import itertools
import os
import struct
import subprocess
import sys
from bisect import bisect_right
from importlib import resources
from typing import Any
from zoneinfo import ZoneInfo

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpengine.errors import PlanError
from dpengine.spec import zones
from dpengine.spec.domain import Date, Time, cells_payload
from dpengine.spec.plan import Plan
from dpengine.spec.zones import offsets, zone_names

LOW, HIGH = -2_208_988_800 - 2 * 86_400, 4_102_444_800 + 2 * 86_400  # from 1900 to 2100, and two days more


def listed_changes(zone: str) -> tuple[list[int], list[int]]:
    """Return the instants of a zone's file (RFC 9636) and the offsets from each on; the first is that before all."""
    data = resources.files("tzdata").joinpath("zoneinfo", *zone.split("/")).read_bytes()
    isut, isstd, leap, times, kinds, letters = struct.unpack(">6l", data[20:44])
    begin = 44 + times * 5 + kinds * 6 + letters + leap * 8 + isstd + isut  # the second part has 64 bits
    _isut, _isstd, _leap, times, kinds, _letters = struct.unpack(">6l", data[begin + 20 : begin + 44])
    begin += 44
    instants = list(struct.unpack(f">{times}q", data[begin : begin + 8 * times]))
    places = data[begin + 8 * times : begin + 9 * times]
    begin += 9 * times
    ahead = [struct.unpack(">l", data[begin + 6 * k : begin + 6 * k + 4])[0] for k in range(kinds)]
    return instants, [ahead[0], *(ahead[place] for place in places)]


def clock_of(zone: str) -> ZoneInfo:
    """Return a zone of the package: that of the machine may be of another year."""
    with resources.files("tzdata").joinpath("zoneinfo", *zone.split("/")).open("rb") as file:
        return ZoneInfo.from_file(file, key=zone)


def faults(zone: str) -> list[int]:
    """Return the listed instants at which, or just before which, the offsets differ from those of a zone's file."""
    found = offsets(zone)
    instants, ahead = listed_changes(zone)
    last = instants[-1] if instants else HIGH
    wrong = []
    for instant in {LOW, *instants, *found.changes, HIGH - 1}:
        for each in (instant - 1, instant):
            if LOW <= each <= min(last, HIGH - 1) and found.at(each) != ahead[bisect_right(instants, each)]:
                wrong.append(each)
    return wrong


EVERYWHERE = (
    "Europe/Berlin", "America/New_York", "Asia/Kolkata", "Australia/Lord_Howe", "America/Santiago", "Asia/Kathmandu",
    "Pacific/Apia", "Africa/Casablanca", "Africa/Monrovia", "Asia/Gaza", "Pacific/Chatham", "Europe/Dublin", "UTC",
)  # fmt: skip


@pytest.mark.parametrize("zone", EVERYWHERE)
def test_offsets_are_those_of_the_zone_file(zone: str) -> None:
    assert not faults(zone)


@pytest.mark.nightly
def test_offsets_of_all_zones_are_those_of_their_files() -> None:
    assert {zone: wrong for zone in zone_names() if (wrong := faults(zone))} == {}


def test_no_clock_is_set_twice_between_two_looks() -> None:
    gaps = (
        later - earlier
        for zone in zone_names()
        for changes in [[each for each in listed_changes(zone)[0] if each >= LOW]]
        for earlier, later in itertools.pairwise(changes)
    )
    assert min(gaps) > 2 * zones._STEP


@settings(max_examples=200, deadline=None)
@given(st.sampled_from(EVERYWHERE), st.integers(0, 4_000_000_000))
def test_offsets_are_those_of_another_library(zone: str, instant: int) -> None:
    local = pd.Timestamp(instant, unit="s", tz="UTC").tz_convert(clock_of(zone))
    assert offsets(zone).at(instant) == local.utcoffset().total_seconds()


def test_offsets_of_a_span_are_those_of_all_times() -> None:
    first, last = dt.date(2023, 3, 1), dt.date(2024, 10, 27)
    some, every = offsets("Europe/Berlin", first, last), offsets("Europe/Berlin")
    assert len(some.changes) == 4
    assert some.first <= pd.Timestamp("2023-03-01", tz="Europe/Berlin").timestamp()
    assert some.end >= pd.Timestamp("2024-10-28", tz="Europe/Berlin").timestamp()
    for instant in range(some.first, some.end, 1800):
        assert some.at(instant) == every.at(instant)
    assert (some.at(some.first - 1), some.at(some.end)) == (None, None)


def test_the_zone_data_of_the_machine_changes_nothing(tmp_path: Any) -> None:
    (tmp_path / "Europe").mkdir()
    (tmp_path / "Europe" / "Berlin").write_bytes(
        resources.files("tzdata").joinpath("zoneinfo", "Asia", "Tokyo").read_bytes()
    )
    program = (
        "import zoneinfo, datetime as dt; from dpengine.spec.zones import offsets\n"
        "print(dt.datetime(2024, 7, 1, tzinfo=zoneinfo.ZoneInfo('Europe/Berlin')).utcoffset())\n"
        "print(offsets('Europe/Berlin').at(1719792000))"
    )
    shown = subprocess.run(
        [sys.executable, "-c", program], env=os.environ | {"PYTHONTZPATH": str(tmp_path), "TZ": "Asia/Tokyo"},
        capture_output=True, text=True, check=True,
    ).stdout.split()  # fmt: skip
    assert shown == ["9:00:00", "7200"]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("berlin", "did you mean Europe/Berlin"), ("europe/berlin", "did you mean Europe/Berlin"),
        ("New York", "did you mean America/New_York"), ("Europe/Berln", "did you mean Europe/Berlin"),
        ("Narnia", "write it as Europe/Berlin"), ("Factory", "there is no time zone"), ("", "there is no time zone"),
        ("../../etc/passwd", "there is no time zone"),
    ],
)  # fmt: skip
def test_unknown_names_are_refused_with_those_that_may_be_meant(name: str, message: str) -> None:
    with pytest.raises(PlanError, match=message):
        Time(name="t", by="hour", zone=name)


def test_days_without_a_known_clock_and_formats_with_an_offset_are_refused() -> None:
    with pytest.raises(PlanError, match="between 1900-01-01 and 2099-12-31"):
        Date(name="t", first="1899-12-31", last="2024-01-01", by="year", zone="Europe/Berlin")
    with pytest.raises(PlanError, match="between 1900-01-01 and 2099-12-31"):
        Date(name="t", first="2024-01-01", last="2100-01-01", by="year", zone="Europe/Berlin")
    for end in ("%z", " %Z", "Z", " UTC", "+00:00", "-05"):
        with pytest.raises(PlanError, match="has an offset from UTC"):
            Time(name="t", by="weekday", zone="Europe/Berlin", format="%Y-%m-%d %H:%M" + end)
        Time(name="t", by="weekday", format="%Y-%m-%d %H:%M" + end)
    Time(name="t", by="weekday", zone="Europe/Berlin", format="%Y-%m-%d Z %H:%M")


def test_two_clocks_of_one_column_are_refused() -> None:
    hour = {"name": "hour", "kind": "time", "of": "t", "by": "hour", "zone": "Europe/Berlin"}
    month = {"name": "t", "kind": "date", "from": "2024-01-01", "to": "2024-12-31", "by": "month"}
    with pytest.raises(PlanError, match="the columns that read 't' have different zones"):
        Plan(dataset="d", epsilon="1", columns=[hour, month], tables={"each": 1})
    Plan(dataset="d", epsilon="1", columns=[hour, month | {"zone": "Europe/Berlin"}], tables={"each": 1})


def test_a_zone_is_part_of_what_is_measured_and_no_zone_leaves_it_as_it_was() -> None:
    plain = cells_payload(Time(name="t", by="hour"))
    assert "zone" not in plain
    assert cells_payload(Time(name="t", by="hour", zone="Asia/Kolkata")) == plain | {"zone": "Asia/Kolkata"}
    plan = Plan(dataset="d", epsilon="1", columns=[Time(name="t", by="hour", zone="Asia/Kolkata")], tables=[["t"]])
    assert plan.to_dict()["columns"][0]["zone"] == "Asia/Kolkata"
