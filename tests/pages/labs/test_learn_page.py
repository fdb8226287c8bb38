"""The Learn lab runs real learners on real or simulated losses, and refuses files that are no table."""

from __future__ import annotations

import json
import re
from fractions import Fraction

import pytest
from streamlit.testing.v1 import AppTest

from dpengine.accounting.ledger import Ledger
from dpengine.lessons.market import simulated_market
from dpengine.mechanisms.online_learning import (
    average_regret,
    expected_loss,
    on_grid,
    regret_bound,
    zcdp_rate,
)
from tests.pages.visits import texts, visit

MILLIONTH = Fraction(1, 10**6)
TABLE = "day,a,b\n" + "Mon,0,1\nTue,0.5,1\nWed,1,0\n" * 20


def page() -> AppTest:
    at = visit()
    at.switch_page("pages/labs/learn.py").run()
    assert not at.exception
    return at


def page_with(content: str) -> AppTest:
    at = page()
    at.segmented_control(key="learn_kind").set_value("My own table").run()
    at.file_uploader(key="learn_file").upload("losses.csv", content.encode()).run()
    assert not at.exception
    return at


def lines(at: AppTest, chart: int) -> dict[str, dict[str, list[float]]]:
    return {
        line["name"]: line for line in json.loads(at.get("plotly_chart")[chart].proto.spec)["data"] if "name" in line
    }


def test_every_learner_is_drawn_and_listed() -> None:
    at = page()
    assert [each.label for each in at.metric][1:] == [
        "Learner, no privacy", "Learner, ε = 0.1", "Learner, ε = 1", "Learner, ε = 10",
    ]  # fmt: skip
    drawn = lines(at, 0)
    assert {"ε = 0.1", "ε = 1", "ε = 10", "no privacy", "follow the leader"} <= set(drawn)
    shown = at.dataframe[0].value.set_index("learner")
    assert float(shown.loc["ε = 1", "regret"]) == pytest.approx(drawn["ε = 1"]["y"][-1])
    eta = zcdp_rate(Fraction(1), MILLIONTH, 5000)
    assert shown.loc["ε = 1", "bound"] == f"{regret_bound(eta, 5000, 8):.3f}"
    assert shown.loc["follow the leader", "eta"] == "—"


def test_no_line_ends_within_the_regret_of_a_learner() -> None:
    (line,) = (each.value for each in page().markdown if "in this run" in each.value)
    assert re.search("; ε\u00a0=\u00a01:\u00a00[.][0-9]+; ε\u00a0=\u00a010:", line)


def test_why_nobody_follows_the_leader_is_said_below_its_small_regret() -> None:
    captions = [each.value for each in page().caption]
    assert any("it protects no round" in each for each in captions)


def test_what_epsilon_costs_is_the_expectation_over_all_draws() -> None:
    at = page()
    steps = on_grid(simulated_market().losses)
    expected = lines(at, 1)["expected on this table"]
    wanted = average_regret(steps, expected_loss(steps, zcdp_rate(Fraction(1), MILLIONTH, 5000)))[-1]
    assert expected["y"][expected["x"].index(1.0)] == pytest.approx(float(wanted))
    assert expected["y"] == sorted(expected["y"], reverse=True)


@pytest.mark.nightly
def test_only_run_it_again_draws_anew() -> None:
    at = page()
    first = lines(at, 0)["ε = 1"]["y"]
    at.run()
    assert lines(at, 0)["ε = 1"]["y"] == first
    at.button(key="learn_again").click().run()
    assert lines(at, 0)["ε = 1"]["y"] != first
    assert not Ledger().history()


@pytest.mark.nightly
def test_real_prices_are_offered_and_called_real() -> None:
    at = page()
    at.segmented_control(key="learn_kind").set_value("Six shares, 2018–19").run()
    assert not at.exception
    assert "Real prices of six shares in 104 weeks" in texts(at)


@pytest.mark.nightly
def test_a_learner_without_a_proven_rate_is_not_drawn() -> None:
    at = page_with("a,b\n0,1\n")
    at.pills(key="learn_epsilons").set_value([Fraction(1), Fraction(30)]).run()
    assert "ε = 30" in lines(at, 0)
    at.segmented_control(key="learn_rate").set_value("by advanced composition").run()
    assert not at.exception
    assert {"ε = 1"} == {name for name in lines(at, 0) if name.startswith("ε")}
    assert "There is no proven rate by advanced composition at ε = 30" in texts(at)
    at.pills(key="learn_epsilons").set_value([]).run()
    assert not at.exception
    assert "no private learner chosen" in texts(at)


def test_learners_run_on_a_table_of_the_visitor() -> None:
    at = page_with(TABLE)
    assert "2 experts, 60 rounds" in texts(at)
    assert "follow the leader" in lines(at, 0)
    assert not at.get("download_button"), "losses of one's own are saved nowhere"


@pytest.mark.nightly
@pytest.mark.parametrize("text", ["a,b\n0,1\n", "a,b\n1,1\n", "a,b\n0,1\n1,1\n"])
def test_one_round_or_two_are_enough(text: str) -> None:
    assert len(page_with(text).get("plotly_chart")) == 2


@pytest.mark.by_day(1)
@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a,b\n0,1.5\n", "outside 0 to 1"),
        ("a,b\n0,\n", "missing"),
        ("a\n0.5\n", "two experts"),
        ("a,b\n", "rounds"),
        ("a,b\n0,x\n", "no number"),
        ("", "no CSV"),
    ],
)
def test_a_file_that_is_no_table_of_losses_is_refused_in_words(text: str, said: str) -> None:
    at = page_with(text)
    assert said in at.warning[0].value
    assert not at.get("plotly_chart")
