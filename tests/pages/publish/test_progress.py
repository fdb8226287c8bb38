"""Publishing beside the page: watched, stopped, found again; nothing is spent before noise is drawn."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from dpengine.measure.strategy_base import Strategy
from tests.pages.busy import SOON, all_workers_busy
from tests.pages.visits import ledger, press, settled, texts, visit, visit_of


@pytest.fixture
def sample() -> AppTest:
    """A page that is ready to publish."""
    page = visit()
    page.button(key="sample_rand").click().run()
    return settled(page)


def test_a_release_goes_on_while_its_visitor_is_on_other_pages_and_after_a_reload(sample: AppTest) -> None:
    with all_workers_busy():
        press(sample, "Publish once")
        assert "Waiting for other releases" in texts(sample)
        assert not any(button.label == "Publish once" for button in sample.button), "it is bought once"
        token = str(sample.query_params["publishing"])
        sample.switch_page("pages/budget.py").run()
        assert not sample.exception
        sample.switch_page("pages/publish.py").run()
        assert "Waiting for other releases" in texts(sample)
        reloaded = visit(publishing=token)
        assert "Waiting for other releases" in texts(reloaded)
        assert "At ε = " not in texts(reloaded), "an example would be taken for this release"
        assert len(ledger().history()) == 0
    for page in (sample, reloaded):
        settled(page)
        assert "What it says" in texts(page)
        assert "publishing" not in page.query_params
    assert sample.query_params["release"] == reloaded.query_params["release"]
    assert len(ledger().history()) == 1


def test_stopping_a_release_spends_nothing_and_says_so(sample: AppTest) -> None:
    with all_workers_busy():
        press(sample, "Publish once")
        press(sample, "Stop")
        assert "Stopped before any noise was drawn. Nothing was spent." in texts(sample)
        assert len(ledger().history()) == 0
        assert "publishing" not in sample.query_params
        assert visit_of(sample).focus == ("step-6", True), "it is said there, far below what was in sight"
    sample.select_slider[0].set_value("0.5").run()
    assert "Stopped" not in texts(sample), "that was another plan"
    assert visit_of(sample).focus == ("step-5", False)
    press(sample, "Publish once")
    settled(sample)
    assert len(ledger().history()) == 1


def test_a_stop_is_reported_after_a_reload_too(sample: AppTest) -> None:
    with all_workers_busy():
        press(sample, "Publish once")
        reloaded = visit(publishing=str(sample.query_params["publishing"]))
        press(reloaded, "Stop")
        assert "Stopped before any noise was drawn. Nothing was spent." in texts(reloaded)
        sample.run()
        assert "Stopped before any noise was drawn. Nothing was spent." in texts(sample)


def test_once_noise_is_drawn_a_release_is_finished_and_charged(
    sample: AppTest, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawing, go = threading.Event(), threading.Event()
    measure = Strategy.measure

    def slow(self: Strategy, counted: Any) -> Any:
        measured = measure(self, counted)
        drawing.set()
        go.wait(SOON)
        return measured

    monkeypatch.setattr(Strategy, "measure", slow)
    press(sample, "Publish once")
    assert drawing.wait(SOON)
    sample.run()
    assert "Noise has been drawn: this release will be finished and charged." in texts(sample)
    assert not any(button.label == "Stop" for button in sample.button)
    job = visit_of(sample).publishing
    assert job is not None
    job.stop()  # by a page that was drawn before
    job.stop()
    assert not job.stopping
    go.set()
    settled(sample)
    assert "What it says" in texts(sample)
    assert len(ledger().history()) == 1


def test_an_unknown_token_leads_to_the_budget(sample: AppTest) -> None:
    page = visit(publishing="x" * 22)
    assert "you find it on *Budget*" in texts(page)
    assert "publishing" not in page.query_params
    assert "without exposing anyone" in texts(page)


def test_a_table_that_cannot_be_counted_is_refused_with_nothing_spent(sample: AppTest) -> None:
    visit_of(sample).table.close()
    press(sample, "Publish once")
    settled(sample)
    assert "the table is closed" in texts(sample)
    assert len(ledger().history()) == 0
