"""Hours and weekdays of a column of times, chosen and declared on the page."""

from __future__ import annotations

import io

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from streamlit.testing.v1 import AppTest

from dpengine.sources.table import Field
from dpengine.spec.domain import Time
from pages.parts.publish.column_card import KIND_NAMES
from pages.parts.publish.grid import CELLS, KIND, typed_into
from pages.parts.visit.plan.plan_form import from_plan, to_plan
from pages.parts.visit.plan.times_entry import offered_times
from pages.parts.visit.project import file as project_file
from pages.parts.visit.saved_draft import from_text, to_text
from tests.pages.visits import labelled, press, project_text, settled, visit, visit_of

ROWS = "started_at,born,kind\n2024-05-01 07:05,1990-01-01,bus\n2024-05-04 23:59,1991-01-01,tram\n"
HOUR, WEEKDAY = "started_at hour", "started_at weekday"
CLOCK = "Clock of times with a zone or an offset"


def trips(*chosen: str) -> AppTest:
    """The third step of a table of trips."""
    page = visit()
    page.get("file_uploader")[0].upload("trips.csv", ROWS.encode()).run()
    settled(page)
    assert [*page.multiselect[0].options] == ["started_at", "born", "kind", HOUR, WEEKDAY]
    page.multiselect[0].set_value([*chosen]).run()
    return press(page, "Go on to what is known")


@pytest.mark.nightly
def test_the_parts_of_a_column_of_times_are_offered_declared_and_kept() -> None:
    page = trips(HOUR, WEEKDAY)
    for name in (HOUR, WEEKDAY):
        labelled(page.selectbox, "One column in detail").set_value(name).run()
        assert labelled(page.segmented_control, "Kind").disabled, "it is a part of another column and nothing else"
        labelled(page.selectbox, "is written in this column").set_value("").run()
    labelled(page.checkbox, "cell *(other)*").set_value(False).run()
    assert not page.exception
    entries = visit_of(page).entries
    plan = to_plan(entries.with_(several_rows=False, dataset="trips"))
    assert [(column.name, column.table_column, column.kind, column.other) for column in plan.columns] == [
        (HOUR, "started_at", "time", True), (WEEKDAY, "started_at", "time", False),
    ]  # fmt: skip
    assert to_plan(from_plan(plan)).key == plan.key
    draft = project_file.read(project_text(visit_of(page)))
    assert draft.entries.declared == entries.declared
    kept = to_text(draft)
    assert kept is not None
    again = from_text(kept)
    assert again is not None
    assert again.entries.declared == entries.declared


def test_a_column_of_times_can_be_of_the_kind_itself_and_the_grid_takes_it() -> None:
    declared = {
        "t": {"name": "t", "kind": "date", "from": "2024-01-01", "to": "2024-12-31", "by": "month", "source": "typed"},
        "t hour": {"name": "t hour", "kind": "time", "of": "t", "by": "hour", "source": "standard", "format": ""},
    }
    names = ["t", "t hour"]
    part = typed_into(declared, names, {1: {CELLS: "by weekday"}})["t hour"]
    assert (part["by"], part["of"], part["kind"]) == ("weekday", "t", "time")
    assert typed_into(declared, names, {1: {KIND: KIND_NAMES["number"]}}) == declared
    assert typed_into(declared, names, {1: {CELLS: "2024 by month"}})["t hour"]["written"] == "2024 by month"


@pytest.mark.nightly
def test_a_date_becomes_an_hour_by_its_card() -> None:
    page = trips("started_at")
    labelled(page.segmented_control, "Kind").set_value("time").run()
    labelled(page.selectbox, "is written in this column").set_value("").run()
    column = visit_of(page).entries.declared["started_at"]
    assert (column["kind"], column["by"], column["format"]) == ("time", "hour", "")


def test_the_clock_of_a_zone_is_chosen_said_kept_and_given_up_again() -> None:
    page = trips(HOUR)
    labelled(page.selectbox, "is written in this column").set_value("").run()
    assert "Times with a zone count in UTC." in [each.value for each in page.caption]
    assert "zone" not in visit_of(page).entries.declared[HOUR], "nothing was stated"
    labelled(page.selectbox, CLOCK).set_value("Europe/Berlin").run()
    assert any("by the clock of Europe/Berlin" in each.value for each in page.caption)
    entries = visit_of(page).entries.with_(several_rows=False, dataset="trips")
    (column,) = to_plan(entries).columns
    assert isinstance(column, Time)
    assert column.zone == "Europe/Berlin"
    assert project_file.read(project_text(visit_of(page))).entries.declared == visit_of(page).entries.declared
    labelled(page.selectbox, CLOCK).set_value("").run()
    assert not page.exception
    (column,) = to_plan(visit_of(page).entries.with_(several_rows=False, dataset="trips")).columns
    assert isinstance(column, Time)
    assert column.zone is None


@pytest.mark.nightly
def test_a_file_with_zones_says_at_once_that_its_times_count_in_utc() -> None:
    file = io.BytesIO()
    pq.write_table(pa.table({"t": pa.array([0, 1], pa.timestamp("us", tz="Europe/Berlin"))}), file)
    page = visit()
    page.get("file_uploader")[0].upload("calls.parquet", file.getvalue()).run()
    settled(page)
    page.multiselect[0].set_value(["t hour"]).run()
    press(page, "Go on to what is known")
    assert not page.exception
    assert any("Times of t hour have a zone, and count in UTC" in each.value for each in page.caption)
    labelled(page.selectbox, CLOCK).set_value("Europe/Berlin").run()
    assert not any("have a zone, and count in UTC" in each.value for each in settled(page.run()).caption)


def calls(*names: str) -> AppTest:
    """The third step of a table whose times have a zone."""
    file = io.BytesIO()
    times = pa.array([0, 1], pa.timestamp("us", tz="Europe/Berlin"))
    pq.write_table(pa.table(dict.fromkeys(names, times)), file)
    page = visit()
    page.get("file_uploader")[0].upload("calls.parquet", file.getvalue()).run()
    settled(page)
    page.multiselect[0].set_value([f"{name} hour" for name in names]).run()
    return press(page, "Go on to what is known")


def zones(page: AppTest) -> list[str | None]:
    declared = visit_of(page).entries.declared
    return [declared[name].get("zone") for name in visit_of(page).entries.chosen]


@pytest.mark.nightly
def test_one_clock_is_chosen_for_all_times_and_a_column_can_differ() -> None:
    page = calls("begun", "ended")
    all_times = "Clock of all times"
    labelled(page.selectbox, all_times).set_value("Europe/Berlin").run()
    assert zones(page) == ["Europe/Berlin"] * 2
    assert labelled(page.selectbox, CLOCK).value == "Europe/Berlin", "its card shows it"
    labelled(page.selectbox, CLOCK).set_value("Asia/Kolkata").run()
    assert sorted(map(str, zones(page))) == ["Asia/Kolkata", "Europe/Berlin"]
    assert labelled(page.selectbox, all_times).value is None, "they differ"
    labelled(page.selectbox, all_times).set_value("").run()
    assert zones(page) == ["", ""]
    assert not page.exception


@pytest.mark.nightly
def test_the_clock_of_other_columns_comes_first_then_that_of_the_browser(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("streamlit.runtime.context.ContextProxy.timezone", "Europe/Vienna")
    page = calls("begun", "ended")
    press(page, "Take Europe/Vienna")
    assert zones(page) == ["Europe/Vienna"] * 2
    labelled(page.selectbox, CLOCK).set_value("Asia/Kolkata").run()
    visit_of(page).entries.declared["ended hour"]["zone"] = ""
    press(page.run(), "Take Asia/Kolkata")
    assert zones(page) == ["Asia/Kolkata"] * 2


def test_the_hour_and_the_weekday_of_a_column_are_offered_by_its_clock() -> None:
    fields = [Field("t", "date", "TIMESTAMP WITH TIME ZONE")]
    stated = {"t": {"name": "t", "kind": "date", "zone": "Asia/Kolkata"}}
    assert {each["zone"] for each in offered_times(fields, stated).values()} == {"Asia/Kolkata"}
    assert all("zone" not in each for each in offered_times(fields, {}).values())
