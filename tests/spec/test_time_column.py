"""Hours and weekdays in plans: their cells, their levels, and what is refused."""

from __future__ import annotations

from typing import Any

import pytest

from dpengine.charts.forms import forms, is_time
from dpengine.errors import PlanError
from dpengine.results.mock_table import mock_counts
from dpengine.spec import codebook_sheet, notation
from dpengine.spec.domain import Time
from dpengine.spec.plan import Plan
from dpengine.spec.wording import level_in_words, shown_labels, words_in_files
from dpengine.translation.catalogue import speaking

PARTS = {"part of day": {"night": 0, "morning": "06:00", "afternoon": 12, "evening": 18}}
HALVES = {"half of week": {"workday": "Monday", "weekend": "Saturday"}}


def plan_of(*columns: dict[str, Any], tables: Any = None, **more: Any) -> Plan:
    tables = tables or {"each": 1}
    return Plan(dataset="d", epsilon="1", columns=[{"kind": "time", **each} for each in columns], tables=tables, **more)


def test_cells_are_in_declared_order_and_midnight_and_monday_come_first() -> None:
    hour, weekday = Time(name="h", by="hour"), Time(name="w", by="weekday")
    assert (hour.labels[0], hour.labels[7], hour.labels[23:]) == ("00:00", "07:00", ("23:00", "(other)", "(missing)"))
    assert hour.shown[7] == "07:00–07:59"
    assert (weekday.labels[0], weekday.labels[6], weekday.size) == ("Monday", "Sunday", 9)


def test_a_plan_with_parts_of_one_column_is_kept_as_written() -> None:
    columns = [
        {"name": "admitted", "kind": "date", "from": "2024-01-01", "to": "2024-12-31", "by": "month"},
        {"name": "hour", "of": "admitted", "by": "hour", "levels": PARTS},
        {"name": "weekday", "of": "admitted", "by": "weekday", "levels": HALVES, "format": "%d.%m.%Y %H:%M"},
    ]
    plan = plan_of(*columns, tables=[["hour@part of day", "weekday"], ["hour"], ["admitted"]])
    assert Plan.loads(plan.dumps()) == plan
    assert Plan.loads(plan.dumps()).key == plan.key
    assert plan.table_columns == ("admitted",)
    assert len({plan_of({"name": "a", "by": by, "of": of}).key for by in ("hour", "weekday") for of in "xy"}) == 4


def test_levels_begin_where_they_say() -> None:
    hour = Time(name="h", by="hour", levels=PARTS)
    groups = hour.groupings["part of day"]
    assert [groups[k] for k in (0, 5, 6, 11, 12, 17, 18, 21, 22, 23)] == [
        "night", "night", "morning", "morning", "afternoon", "afternoon", "evening", "evening", "evening", "evening",
    ]  # fmt: skip
    plan = plan_of({"name": "h", "by": "hour", "levels": PARTS}, tables=[["h"], ["h@part of day"]])
    assert plan.column("h@part of day").labels[:4] == ("night", "morning", "afternoon", "evening")
    assert level_in_words(plan, "h") == "hour in part of day"
    weekday = Time(name="w", by="weekday", levels=HALVES)
    assert weekday.groupings["half of week"] == ("workday",) * 5 + ("weekend",) * 2


def test_several_levels_nest() -> None:
    halves = {"half of day": {"early": 0, "late": 12}, "quarter of day": {"1": 0, "2": 6, "3": 12, "4": 18}}
    assert [*Time(name="h", by="hour", levels=halves).groupings] == ["half of day", "quarter of day"]
    with pytest.raises(PlanError, match="two parents"):
        plan_of({"name": "h", "by": "hour", "levels": PARTS | {"third of day": {"early": 0, "mid": 8, "late": 16}}})


@pytest.mark.parametrize(
    ("column", "fragment"),
    [
        ({"by": "minute"}, "by"),
        ({"by": "hour", "of": " "}, "needs its name"),
        ({"by": "hour", "format": "%d/%m/%Y"}, "has no hour: it needs %H, or %I and %p"),
        ({"by": "hour", "format": "%M:%S"}, "has no hour"),
        ({"by": "hour", "format": "%I:%M"}, "has no hour"),
        ({"by": "weekday", "format": "%H:%M"}, "has no whole date: it needs %d, %m and %Y"),
        ({"by": "weekday", "format": "%A"}, "has no whole date"),
        ({"by": "hour", "levels": {"p": {"a": 24}}}, "a group cannot begin with '24'; it begins with one of 00:00 to"),
        ({"by": "hour", "levels": {"p": {"a": "6"}}}, "a group cannot begin with '6'"),
        ({"by": "hour", "levels": {"p": {"a": True}}}, "a group cannot begin with 'True'"),
        ({"by": "weekday", "levels": {"p": {"a": "Montag"}}}, "begins with one of Monday to Sunday"),
        ({"by": "weekday", "levels": {"p": {}}}, "state for each group where it begins"),
        ({"by": "hour", "levels": {"p": {"a": 1, "b": 1}}}, "each elsewhere"),
        ({"by": "hour", "levels": {"p": {"day": 6, "night": 22}}}, "into the next day or week has to be two groups"),
        ({"by": "hour", "levels": {"p@q": {"a": 0}}}, "without @"),
    ],
)
def test_what_cannot_be_meant_is_refused(column: dict[str, Any], fragment: str) -> None:
    with pytest.raises(PlanError, match=fragment):
        plan_of({"name": "h", **column})


def test_the_same_part_twice_or_a_part_of_the_id_is_refused() -> None:
    with pytest.raises(PlanError, match="the hour of 't' is declared 2 times"):
        plan_of({"name": "a", "of": "t", "by": "hour"}, {"name": "t", "by": "hour"})
    with pytest.raises(PlanError, match="names persons and cannot be published"):
        plan_of({"name": "a", "of": "who", "by": "hour"}, unit={"id": "who", "rows": 2})


def test_charts_draw_hours_as_a_line_and_weekdays_as_bars_in_order() -> None:
    plan = plan_of({"name": "h", "by": "hour"}, {"name": "w", "by": "weekday"})
    assert (is_time(plan.column("h")), is_time(plan.column("w"))) == (True, False)
    assert forms(plan, ("h",))[0] == "lines"
    assert forms(plan, ("w",))[0] == "bars"
    assert [mock_counts(plan, (name,)).shape for name in "hw"] == [(26,), (9,)]


def test_weekdays_have_german_names_for_readers() -> None:
    plan = plan_of({"name": "w", "by": "weekday"})
    with speaking("de"):
        assert shown_labels(plan.column("w"))[:2] == ("Montag", "Dienstag")
        assert words_in_files(plan)["Sunday"] == "Sonntag"


@pytest.mark.parametrize(
    ("text", "fields"),
    [
        ("by hour", {"by": "hour"}),
        ("By weekdays", {"by": "weekday"}),
        ("by hour of picked up at", {"by": "hour", "of": "picked up at"}),
        ("by hour, written 12/31/2024 06:30 PM", {"by": "hour", "format": "%m/%d/%Y %I:%M %p"}),
    ],
)
def test_notation(text: str, fields: dict[str, str]) -> None:
    read = notation.read(text, "date")
    assert read == {"kind": "time", **fields}
    assert notation.read(notation.write(read), "category") == read


def test_a_sheet_keeps_the_part_and_its_column() -> None:
    column = {"name": "hour", "kind": "time", "of": "admitted", "by": "hour", "missing_as": ["-99"]}
    (read,) = codebook_sheet.from_csv(codebook_sheet.csv_bytes([column]).decode("utf-8-sig")).columns
    assert (read.name, read.kind, read.table_column, read.missing_as) == ("hour", "time", "admitted", ("-99",))
    with pytest.raises(ValueError, match="write by hour or by weekday"):
        notation.read("by minute", "time", strict=True)
