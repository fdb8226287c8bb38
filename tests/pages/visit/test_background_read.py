"""Reading rows for a page: beside it, watched, stopped, begun again; no visitor waits for another."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pandas as pd
import pytest
from streamlit.testing.v1 import AppTest

from dpengine import open_table
from dpengine.sources.table import Table
from pages.parts.visit import background_read
from tests.pages.busy import running_job
from tests.pages.visits import labelled, press, settled, texts, visit, visit_of

BILL = "Spent so far"


@contextmanager
def long_read(table: Table, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Make everything that is read of `table` take long."""
    monkeypatch.setattr(background_read, "QUICK", 0.0)
    _, go = running_job(table)
    try:
        yield
    finally:
        go.set()


def sample() -> AppTest:
    page = visit()
    page.button(key="sample_rand").click().run()
    return page


def bill(page: AppTest) -> bool:
    return any(metric.label == BILL for metric in page.metric)


def begin_afresh(page: AppTest) -> None:
    """Forget what was read, so that it is read once more."""
    visit_of(page).readings = {}


@pytest.mark.nightly
def test_a_long_reading_delays_neither_its_page_nor_another_visitor(monkeypatch: pytest.MonkeyPatch) -> None:
    page = sample()
    assert bill(page)
    with long_read(visit_of(page).table, monkeypatch):
        begin_afresh(page)
        page.run()
        assert not page.exception
        assert not bill(page)
        assert "Waiting to begin: recognising the data" in texts(page)
        assert "(only you see this number)" not in texts(page)
        page.select_slider[0].set_value("0.5").run()
        assert "ε = 0.5" in texts(page), "the rest of the page goes on"
        assert bill(settled(sample()).run()), "and so does another owner"
    assert bill(settled(page).run())
    assert "20,190 rows (only you see this number)" in texts(page)


class _EndsMeanwhile:
    """A job that runs when it is looked at first, and is done from then on."""

    begun, part, stages, stopping, bound = 0.0, None, (), False, False

    def __init__(self) -> None:
        self.looks = 0

    def stop(self) -> None:
        pass

    @property
    def done(self) -> bool:
        self.looks += 1
        return self.looks > 1

    def result(self) -> list[str]:
        return []


def test_a_click_is_heard_if_a_reading_ends_while_the_page_is_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    begin = background_read.begin
    page = visit()
    page.get("file_uploader")[0].upload("people.csv", b"age,city\n31,Bern\n44,Basel\n").run()
    page.multiselect[0].set_value(["age", "city"]).run()
    monkeypatch.setattr(
        background_read,
        "begin",
        lambda name, *rest, **more: _EndsMeanwhile() if name == "ids" else begin(name, *rest, **more),
    )
    labelled(page.button, "Go on to what is known").click().run()
    assert not page.exception
    assert not [button for button in page.button if "Go on to what is known" in button.label]


def _with_progress() -> None:
    from threading import Event

    import streamlit as st

    from pages.parts.visit.background_read import _show_progress
    from tests.pages.visit.test_background_read import _EndsMeanwhile

    st.session_state["begun"] = st.session_state.get("begun", 0) + 1
    job = _EndsMeanwhile()
    assert not job.done
    if st.session_state["begun"] == 1:
        _show_progress("ids", job, "Counting", Event())  # type: ignore[arg-type]


def test_a_page_with_progress_is_drawn_to_its_end_if_the_reading_ends_meanwhile() -> None:
    page = AppTest.from_function(_with_progress).run()
    assert not page.exception
    assert page.session_state["begun"] == 1


@pytest.mark.nightly
def test_a_reading_is_stopped_and_begun_again_by_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    page = sample()
    with long_read(visit_of(page).table, monkeypatch):
        begin_afresh(page)
        page.run()
        press(page, "Stop")
        assert "Stopped." in texts(page.run())
        page.select_slider[0].set_value("0.5").run()
        assert "Stopped." in texts(page), "it begins again by hand alone"
        press(page, "Try again")
        assert "Waiting to begin: recognising the data" in texts(page)
    assert bill(settled(page).run())


def test_another_question_at_the_same_place_stops_the_one_before(monkeypatch: pytest.MonkeyPatch) -> None:
    page = visit()
    visit_of(page).table = table = open_table(pd.DataFrame({"zip": [1, 1, 2], "age": [30, 31, 30]}))
    with long_read(table, monkeypatch):
        page.switch_page("pages/labs/risk.py").run()
        page.multiselect[0].set_value(["zip"]).run()
        labelled(page.toggle, "Show them").set_value(True).run()
        before = visit_of(page).readings["risk"][1]
        page.multiselect[0].set_value(["zip", "age"]).run()
        assert not page.exception
        assert before.stopping
        assert not visit_of(page).readings["risk"][1].stopping
    settled(page).run()
    assert any(metric.label == "Alone" for metric in page.metric)


def test_a_new_table_stops_all_readings_of_the_one_before(monkeypatch: pytest.MonkeyPatch) -> None:
    page = sample()
    before = visit_of(page).table
    with long_read(before, monkeypatch):
        begin_afresh(page)
        page.run()
        pending = [job for _, job in visit_of(page).readings.values()]
        page.button(key="change-table").click().run()
        page.button(key="sample_census").click().run()
        assert not page.exception
        assert all(job.stopping for job in pending)
        assert visit_of(page).table is not before
        assert bill(settled(page).run())


def test_true_counts_are_read_once_for_each_release(monkeypatch: pytest.MonkeyPatch) -> None:
    page = settled(press(sample(), "Publish once"))
    page.toggle(key="compare").set_value(True).run()
    counted = visit_of(page).readings["truth"][1]
    with long_read(visit_of(page).table, monkeypatch):
        page.run()
        assert any(metric.label == "Off by, on average" for metric in page.metric)
    assert visit_of(page).readings["truth"][1] is counted
