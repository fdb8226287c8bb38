"""The Choose lab shows the exact chances, and a draw for a dataset is charged once, whatever is clicked."""

from __future__ import annotations

import json
from fractions import Fraction

import pytest
from streamlit.testing.v1 import AppTest

from dpengine.accounting.ledger import Ledger
from dpengine.choose import Candidates, Mechanism, draw_once, probabilities
from dpengine.spec.wording import percent
from pages.parts.choose.samples import OWN, SAMPLES
from tests.pages.visits import texts, visit


def page() -> AppTest:
    at = visit()
    at.switch_page("pages/labs/choose.py").run()
    assert not at.exception
    return at


def sample(name: str, epsilon: str = "0.05") -> Candidates:
    of = SAMPLES[name]
    return Candidates.of(of.names, of.scores, of.sensitivity, epsilon, monotone=of.monotone)


def private(at: AppTest, dataset: str) -> None:
    at.radio[0].set_value("Private: charge a dataset").run()
    at.text_input(key="choose_dataset").set_value(dataset).run()
    assert not at.exception


@pytest.mark.by_day(1)
@pytest.mark.parametrize("name", list(SAMPLES))
def test_bars_are_the_exact_chances_of_both_mechanisms(name: str) -> None:
    at = page()
    at.segmented_control(key="choose_kind").set_value(name).run()
    assert not at.exception
    bars = json.loads(at.get("plotly_chart")[0].proto.spec)["data"]
    for bar, mechanism in zip(bars, Mechanism, strict=True):
        of = sample(name)
        wanted = probabilities(Candidates(of.names, of.scores, of.sensitivity, of.epsilon, mechanism, of.monotone))
        assert bar["name"] == mechanism.value
        assert bar["y"] == pytest.approx(wanted)
    assert any("CSV" in each.proto.label for each in at.get("download_button")) == (name != OWN)


@pytest.mark.nightly
def test_a_larger_epsilon_draws_the_best_more_often() -> None:
    at = page()
    assert at.metric[0].value == percent(float(probabilities(sample("Best price")).max()))
    at.select_slider(key="choose_epsilon").set_value(Fraction(1)).run()
    assert at.metric[0].value == "over 99.9 %"
    assert not at.exception


@pytest.mark.nightly
def test_a_demonstration_costs_nothing_and_says_so() -> None:
    at = page()
    assert "nothing is charged or kept" in texts(at)
    at.button(key="choose_lesson").click().run()
    assert "Drawn as a demonstration" in texts(at)
    at.button(key="choose_lesson").click().run()
    assert "before:" in texts(at)
    at.select_slider(key="choose_epsilon").set_value(Fraction(1)).run()
    assert "Drawn as a demonstration" not in texts(at), "another choice has not been drawn"
    assert not Ledger().history()


def test_a_private_draw_is_charged_once_and_then_shown_again() -> None:
    Ledger().set_cap("auction", "1/4")
    at = page()
    private(at, "auction")
    assert "0.2 left after" in texts(at)
    at.button(key="choose_charge").click().run()
    assert not at.exception
    assert "costs 0" in texts(at)
    drawn = draw_once(sample("Best price"), "auction", Ledger())
    assert f"### {drawn.name}" in texts(at)
    assert not [button for button in at.button if button.key == "choose_charge"]
    (entry,) = Ledger().history("auction")
    assert entry.epsilon == Fraction(1, 20)
    again = page()
    private(again, "auction")
    assert drawn.release_id in texts(again)
    assert Ledger().spent("auction") == Fraction(1, 20)


def test_a_draw_over_the_cap_is_refused_in_words() -> None:
    Ledger().set_cap("auction", "1/50")
    at = page()
    private(at, "auction")
    at.button(key="choose_charge").click().run()
    assert not at.exception
    assert "does not allow this" in at.warning[0].value
    assert Ledger().spent("auction") == 0


@pytest.mark.by_day(2)
@pytest.mark.parametrize("sensitivity", ["0", "-1", "many", ""])
def test_an_unusable_sensitivity_is_refused_in_words(sensitivity: str) -> None:
    at = page()
    at.text_input(key="choose_sensitivity_Best price").set_value(sensitivity).run()
    assert not at.exception
    assert "sensitivity" in at.warning[0].value
    assert not at.get("plotly_chart")
