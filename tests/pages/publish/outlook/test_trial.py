"""An adaptive plan shows its error before anything is spent, simulated in the background on mock people."""

from __future__ import annotations

import re
from unittest.mock import Mock

import pytest
from streamlit.testing.v1 import AppTest

from dpengine.results.mock_table import listed_cells
from pages.parts.publish.outlook import trial
from tests.pages.visits import labelled, ledger, press, settled, texts, visit, visit_of, whole


@pytest.fixture
def adaptive() -> AppTest:
    """The census sample, every pair of three of its columns, adaptively."""
    page = visit()
    page.button(key="sample_census").click().run()
    visit_of(page).entries = visit_of(page).entries.with_(
        strategy="adaptive", layout="pairs", epsilon="0.5", chosen=("age", "sex", "income")
    )
    page.run()
    return settled(page).run()


def test_the_simulated_error_appears_by_itself(adaptive: AppTest) -> None:
    assert not adaptive.exception
    said = texts(adaptive)
    assert re.search(r"At ε = 0\.5 readers get intervals of about \*\*±[\d.,]+\*\* people for a cell of ", said)
    assert "as usual. If they hardly do, as in the made-up release shown here" in said, "nothing stands between them"
    assert "off by" not in said, "one number leads, and the other one is that of the picture"
    assert "tried out on made-up people" in said
    assert "predict(" not in said
    assert adaptive.get("plotly_chart"), "the made-up release is drawn"
    plan, drawn = visit_of(adaptive).recall("drawn", visit_of(adaptive).plan.marginals)
    noisy = drawn.mostly_noise(plan.marginals[0])[listed_cells(plan, plan.marginals[0])]
    assert f"**{noisy.sum()} of {noisy.size} cells** are mostly noise" in said, "as the picture beside it marks them"
    assert ledger().spent(visit_of(adaptive).entries.dataset) == 0


@pytest.mark.nightly
def test_single_columns_are_offered_if_most_cells_of_the_made_up_release_are_noise(adaptive: AppTest) -> None:
    assert "would be mostly noise" not in texts(adaptive), "there are enough people for these pairs"
    visit_of(adaptive).change(rows_about=200)  # in each of 25 draws, 96 % or more of the cells
    said = texts(settled(adaptive.run()).run())
    assert re.search(
        r"\*\*(About \d+\s% of|Nearly) all cells would be mostly noise\*\*, as tried out on made-up people", said
    )
    labelled(adaptive.button, "Publish each column by itself: ").click().run()
    assert (visit_of(adaptive).entries.layout, visit_of(adaptive).entries.strategy) == ("single", "auto")
    assert "all cells would be mostly noise" not in texts(settled(adaptive).run())


@pytest.mark.nightly
def test_simulated_errors_stay_while_epsilon_moves(adaptive: AppTest) -> None:
    visit_of(adaptive).entries = visit_of(adaptive).entries.with_(epsilon="0.7")
    adaptive.run()
    assert "At ε = 0.5 readers get" in texts(adaptive) or "At ε = 0.7 readers get" in texts(adaptive)
    assert adaptive.get("plotly_chart")
    said = texts(settled(adaptive).run())
    assert "At ε = 0.7 readers get" in said
    assert "is being" not in said


def test_a_change_at_the_same_epsilon_is_not_told_as_another_epsilon(adaptive: AppTest) -> None:
    visit_of(adaptive).change(rows_about=20_000)
    adaptive.run()
    said = texts(adaptive)
    assert "ε = 0.5 is being tried out" not in said
    assert "before the last change, which is being tried out" in said
    assert "is being tried out" not in texts(settled(adaptive).run())


@pytest.mark.nightly
def test_only_the_last_of_several_moves_is_simulated(adaptive: AppTest, monkeypatch: pytest.MonkeyPatch) -> None:
    drawn = Mock(wraps=trial.preview_table)
    monkeypatch.setattr(trial, "preview_table", drawn)
    monkeypatch.setattr(trial, "LONG", 0.0)
    for epsilon, rest in (("0.6", 60.0), ("0.7", 60.0), ("0.8", 0.0)):
        monkeypatch.setattr(trial, "REST", rest)
        visit_of(adaptive).entries = visit_of(adaptive).entries.with_(epsilon=epsilon)
        adaptive.run()
    assert "At ε = 0.8 readers get" in texts(settled(adaptive).run())
    assert [float(call.args[0].epsilon) for call in drawn.call_args_list] == [0.8]


def test_what_is_typed_into_an_open_step_is_tried_out_after_a_longer_pause(
    adaptive: AppTest, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn = Mock(wraps=trial.preview_table)
    monkeypatch.setattr(trial, "preview_table", drawn)
    monkeypatch.setattr(trial, "LONG", 0.0)
    monkeypatch.setattr(trial, "REST", 0.0)
    monkeypatch.setattr(trial, "REST_IN_STEP", 60.0)
    visit_of(adaptive).open_step("domain")
    for rows in (2_000, 3_000):
        visit_of(adaptive).change(rows_about=rows)
        whole(adaptive.run())
    monkeypatch.setattr(trial, "REST_IN_STEP", 0.0)
    visit_of(adaptive).change(rows_about=4_000)
    settled(adaptive.run())
    assert [call.args[0].rows_about for call in drawn.call_args_list] == [4_000], "none of those before"


@pytest.mark.nightly
def test_epsilon_for_an_error_is_simulated_on_request(adaptive: AppTest) -> None:
    adaptive.segmented_control[0].set_value("From an error").run()
    assert not any(button.label.startswith("Use ε") for button in adaptive.button)
    press(adaptive, "Try it out")
    settled(adaptive).run()
    offered = next(button for button in adaptive.button if button.label.startswith("Use ε"))
    offered.click().run()
    assert f"Use ε = {visit_of(adaptive).entries.epsilon}" == offered.label
    assert ledger().spent(visit_of(adaptive).entries.dataset) == 0
