"""The Survey lab compares coins with the truth and a curator: for made-up people, samples, and the owner's table."""

from __future__ import annotations

import base64
import json
import math
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from streamlit.testing.v1 import AppTest

from dpengine import Plan, open_table
from dpengine.accounting.ledger import Ledger
from dpengine.lessons import survey
from dpengine.mechanisms.local.randomized_response import FAIR
from dpengine.sources.table import Table
from dpengine.spec.wording import people, percent
from pages.parts.survey.tabs import VIEWS, epsilon_words
from tests.pages.visits import metrics, texts, visit, visit_of, whole

SIGMAS = 7  # of a normal number: beyond with a chance below 1e-11, for some hundred answers


def page(table: Table | None = None, plan: Plan | None = None) -> AppTest:
    at = visit()
    visit_of(at).table, visit_of(at).plan = table, plan
    return whole(at.switch_page("pages/labs/survey.py").run())


def charts(at: AppTest) -> list[dict[str, dict[str, object]]]:
    """The traces of each chart by their names."""
    found = [json.loads(each.proto.spec)["data"] for each in at.get("plotly_chart")]
    return [{trace.get("name", ""): trace for trace in traces} for traces in found]


def first(at: AppTest) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Truth, estimates, and half-widths of the picture."""
    bars = charts(at)[0]
    shown = bars["estimate from reports, 95 % interval"]
    return tuple(np.array(numbers(each)) for each in (bars["truth"]["y"], shown["y"], shown["error_y"]["array"]))  # type: ignore[index,return-value]


def numbers(values: object) -> list[float]:
    """A list as it is, or as plotly packs it."""
    if isinstance(values, dict):
        return np.frombuffer(base64.b64decode(values["bdata"]), dtype=values["dtype"]).tolist()
    return list(values)  # type: ignore[call-overload]


@pytest.mark.nightly
@pytest.mark.parametrize("method", survey.METHODS)
def test_estimates_are_near_the_truth_for_every_method(method: str) -> None:
    at = page()
    whole(at.selectbox(key="survey_method").set_value(method).run())
    whole(at.select_slider(key="survey_people").set_value(100_000).run())
    true, shown, within = first(at)
    assert true.tolist() == survey.made_up_counts(8, 100_000).tolist()
    assert (np.abs(shown - true) < SIGMAS * within / 1.96).all()
    assert metrics(at)["ε of a report"] == "1"
    assert metrics(at)["With a curator"] == people(survey.curator_error(Fraction(1)))


@pytest.mark.nightly
def test_fair_coins_cost_ln_3_rounded_up() -> None:
    at = page()
    at.number_input(key="survey_answers").set_value(2).run()
    whole(at.segmented_control(key="survey_by").set_value("a coin").run())
    assert metrics(at)["ε of a report"] == "1.1" == epsilon_words(FAIR.epsilon)
    assert float("1.1") > math.log(3)


@pytest.mark.nightly
def test_a_run_stays_until_another_is_asked_for() -> None:
    at = page()
    _, shown, _ = first(at)
    whole(at.run())
    assert (first(at)[1] == shown).all()
    whole(at.button(key="survey_again").click().run())
    assert (first(at)[1] != shown).any()


@pytest.mark.nightly
def test_fitting_is_called_post_processing() -> None:
    at = page()
    at.number_input(key="survey_answers").set_value(60).run()
    at.select_slider(key="survey_people").set_value(100).run()
    assert "Fitted by post-processing" not in texts(at)
    whole(at.checkbox(key="survey_fit").check().run())
    assert min(first(at)[1]) >= 0
    assert "Fitted by post-processing: shares of a whole, no longer unbiased" in texts(at)
    assert "The 30 most frequent of 60 answers" in texts(at)


@pytest.mark.nightly
def test_coins_grow_with_the_root_of_people_and_the_curator_stays() -> None:
    coins, curator = (
        np.array(numbers(charts(page())[1][name]["y"])) for name in ("everyone flips coins", "a trusted curator")
    )
    assert coins[-1] / coins[0] == pytest.approx(math.sqrt(10**7 / 100))
    assert set(curator) == {survey.curator_error(Fraction(1))}


def test_the_sizes_below_the_chart_have_room_on_a_phone() -> None:
    axis = json.loads(page().get("plotly_chart")[1].proto.spec)["layout"]["xaxis"]
    assert (axis["type"], axis["dtick"]) == ("log", 2), "three sizes are named: each a hundred times the one before"


@pytest.mark.nightly
@pytest.mark.parametrize(("sample", "size"), [("Census", 199_523), ("Health insurance", 20_190)])
def test_samples_are_asked_column_by_column(sample: str, size: int) -> None:
    at = page()
    whole(at.segmented_control(key="survey_who").set_value(sample).run())
    box = at.selectbox(key=f"survey_column_{sample}")
    for column in box.options[:2]:
        whole(at.selectbox(key=f"survey_column_{sample}").set_value(column).run())
        true, shown, within = first(at)
        assert f"{size:,} people" in texts(at)
        assert 0.98 * size < true.sum() <= size, "the most frequent answers, where there are many"
        assert (np.abs(shown - true) < SIGMAS * within / 1.96).all()


def test_each_tab_draws_its_figure_with_a_table() -> None:
    at = page()
    for view in VIEWS:
        at.session_state["survey_view"] = view
        whole(at.run())
        assert len(at.get("plotly_chart")) == 2
        assert [each.label for each in at.expander].count("The same as a table") == 2


@pytest.mark.nightly
def test_two_protected_bits_reveal_nine_times_as_much_by_their_and() -> None:
    at = page()
    at.session_state["survey_view"] = "The AND of two answers"
    whole(at.run())
    shown = metrics(at)
    assert (shown["ε of one answer"], shown["ε of both"]) == ("1.1", "2.2")
    assert shown["yes, yes over no, no"] == "9 times"
    assert "chance 9/16 if both answers are yes, and 1/16 if both are no" in texts(at)
    whole(at.select_slider(key="survey_and_coin").set_value(Fraction(4, 5)).run())
    assert metrics(at)["yes, yes over no, no"] == "2.25 times"


@pytest.mark.nightly
def test_four_cells_are_of_all_people_and_the_curators_error_is_constant() -> None:
    at = page()
    at.session_state["survey_view"] = "Two questions, four cells"
    whole(at.run())
    typical = people(survey.curator_error(2 * FAIR.epsilon))
    assert "The four cells of 10,000 people: within ±2" in texts(at)
    assert f"off by about {typical} with a curator" in texts(at)
    whole(at.select_slider(key="survey_people").set_value(1_000_000).run())
    assert "The four cells of 1,000,000 people: within ±2,3" in texts(at)
    assert f"off by about {typical} with a curator" in texts(at)


@pytest.mark.nightly
def test_repeated_questions_wear_privacy_down() -> None:
    at = page()
    at.session_state["survey_view"] = "Every day again"
    whole(at.run())
    assert metrics(at)["ε after all days"] == "30"
    assert metrics(at)["A guess is right"] == percent(survey.repeated_guess(Fraction(math.e), 30)[0])
    whole(at.select_slider(key="survey_days").set_value(1).run())
    assert metrics(at)["ε after all days"] == "1"


def test_the_owners_table_is_counted_for_the_owner_alone() -> None:
    table = open_table(pd.DataFrame({"ill": ["no"] * 700 + ["yes"] * 300, "name": "x"}))
    columns = [{"name": "ill", "kind": "category", "values": ["no", "yes"], "other": False, "missing": False}]
    plan = Plan(dataset="ward", epsilon="1", tables=[["ill"]], columns=columns)
    with table:
        at = page(table=table, plan=plan)
        whole(at.segmented_control(key="survey_who").set_value("Your table").run())
        true, shown, within = first(at)
        assert true.tolist() == [700, 300]
        assert (np.abs(shown - true) < SIGMAS * within / 1.96).all()
        assert "For your eyes only" in texts(at)
        assert at.get("plotly_chart")[0].proto.config.find('"displayModeBar": false') > 0
        lines = charts(at)[1]["everyone flips coins"]
        made = survey.METHODS["Randomized response"](2, Fraction(1))
        assert numbers(lines["y"])[0] == survey.local_error(made, survey.made_up_counts(2, 1000) / 1000, 100), (
            "made-up people"
        )
    assert not Ledger().history()


def test_an_empty_table_is_refused_in_words() -> None:
    table = open_table(pd.DataFrame({"ill": pd.Series([], dtype=str)}))
    columns = [{"name": "ill", "kind": "category", "values": ["no", "yes"], "other": False, "missing": False}]
    plan = Plan(dataset="ward", epsilon="1", tables=[["ill"]], columns=columns)
    with table:
        at = page(table=table, plan=plan)
        whole(at.segmented_control(key="survey_who").set_value("Your table").run())
    assert "nobody has answered" in at.warning[0].value
    assert not at.get("plotly_chart")
