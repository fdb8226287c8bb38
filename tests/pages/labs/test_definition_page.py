"""The Definition lab shows two distributions and their ratio, exactly as the library computes them."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from streamlit.testing.v1 import AppTest

from dpengine.lessons import definition as lesson
from dpengine.spec.wording import percent
from dpengine.translation.catalogue import _, speaking
from tests.pages.visits import texts, visit, whole

MAX_HEADING = 8  # letters: two such tables stand side by side on a phone


@pytest.fixture
def at() -> AppTest:
    entered = visit()
    return whole(entered.switch_page("pages/labs/definition.py").run())


def metric(page: AppTest, label: str) -> str:
    return next(each.value for each in page.metric if each.label == label)


def ask(page: AppTest, question: str) -> AppTest:
    return whole(page.segmented_control(key="definition_question").set_value(question).run())


def test_the_largest_ratio_is_e_to_epsilon_and_reached(at: AppTest) -> None:
    assert metric(at, "Largest ratio") == metric(at, "Allowed: e^ε") == "2.72"
    assert "No answer exceeds the factor e^ε = 2.72; every answer of 1 or less, and of 2 or more, reaches it" in texts(
        at
    )


@pytest.mark.by_day(1)
@pytest.mark.parametrize("epsilon", ["0.1", "3"])
def test_epsilon_decides_the_ratio_and_the_success_of_a_guess(at: AppTest, epsilon: str) -> None:
    whole(at.select_slider(key="definition_epsilon").set_value(Fraction(epsilon)).run())
    assert metric(at, "Largest ratio") == f"{math.exp(Fraction(epsilon)):.3g}"
    seen = lesson.compare(2, 1, 1, Fraction(epsilon))
    assert metric(at, "Best guess is right") == percent((1 + seen.total_variation) / 2)


@pytest.mark.nightly
def test_a_person_who_does_not_count_changes_nothing(at: AppTest) -> None:
    whole(at.selectbox(key="definition_person").set_value("Fatma").run())
    assert metric(at, "Largest ratio") == "1"
    assert "Both tables have the same true answer" in texts(at)


def test_the_tables_differ_in_the_person_who_leaves(at: AppTest) -> None:
    first, second = (frame.value for frame in at.dataframe[:2])
    differing = (first != second).any(axis=1)
    assert list(first["name"][differing]) == ["Ron"]
    assert list(second.loc[differing].to_numpy()[0]) == ["Ron", "—", "—"]
    with speaking("de"):
        german = [_(heading) for heading in at.dataframe[0].value]
    assert max(map(len, [*at.dataframe[0].value, *german])) <= MAX_HEADING


@pytest.mark.nightly
def test_a_sum_is_clamped_and_its_sensitivity_is_the_bound(at: AppTest) -> None:
    ask(at, "Sum of incomes")
    whole(at.number_input(key="definition_cap").set_value(60).run())
    assert "The true answers are 165 and 105" in texts(at)
    assert "**Δ = 60**" in texts(at)
    assert metric(at, "Largest ratio") == "2.72"


def test_too_small_a_sensitivity_visibly_breaks_the_promise(at: AppTest) -> None:
    ask(at, "Sum of incomes")
    delta = next(each for each in at.number_input if each.label.startswith("Δ"))
    whole(delta.set_value(50).run())
    assert metric(at, "Largest ratio") == f"{math.exp(2):.3g}"
    assert "The promise is broken" in texts(at)


def test_the_table_twin_has_the_numbers_of_the_picture(at: AppTest) -> None:
    twin = next(frame.value for frame in at.dataframe if "ratio" in frame.value.columns)
    seen = lesson.compare(2, 1, 1, Fraction(1))
    assert list(twin["answer"]) == seen.answers.tolist()
    assert list(twin["with"]) == seen.first.tolist()
    assert twin["ratio"].max() == pytest.approx(math.e)


def test_the_example_of_one_man_has_the_ratio_of_the_textbook(at: AppTest) -> None:
    assert metric(at, "Ratio") == "2.718"
    whole(at.slider(key="definition_height").set_value(64).run())
    assert float(metric(at, "Ratio")) < 1.1


def open_example(page: AppTest, name: str) -> AppTest:
    page.session_state["definition_example"] = name
    return whole(page.run())


def test_the_senators_secret_is_protected_within_epsilon(at: AppTest) -> None:
    open_example(at, "The senator's zip code")
    assert "10 % sure becomes at most 23.2 % and at least 3.9 %" in texts(at)
    whole(at.slider(key="definition_prior").set_value(50).run())
    assert "50 % sure becomes at most 73.2 %" in texts(at)


@pytest.mark.nightly
def test_a_higher_bound_cuts_less_and_is_noisier(at: AppTest) -> None:
    open_example(at, "An average with a giant")
    low = metric(at, "Noise, typically")
    whole(at.slider(key="definition_upper").set_value(108).run())
    assert float(metric(at, "Noise, typically")[2:].split()[0]) > float(low[2:].split()[0])
    assert "cutting changes the average by 0.00 inches" in texts(at)


def test_it_says_what_this_means_for_a_release(at: AppTest) -> None:
    assert "becomes at most 73.2 % sure" in texts(at)
    assert "a group of three within 20.1" in texts(at)


@pytest.mark.nightly
def test_the_engine_is_audited_when_asked_and_claim_and_bound_stand_side_by_side(
    at: AppTest, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pages.parts.definition.audit.RUNS", 4)
    whole(at.selectbox(key="definition_way").set_value("choice").run())
    assert "Shown by outputs" not in [each.label for each in at.metric]
    whole(at.button(key="definition_audit").click().run())
    assert metric(at, "Claimed") == "ε = 1"
    assert metric(at, "Shown by outputs").startswith("ε ≥ ")
    passed, checked = metric(at, "Exact checks that hold").split(" of ")
    assert passed == checked
    assert int(checked) >= 24
    whole(at.select_slider(key="definition_epsilon").set_value(Fraction(1, 10)).run())
    assert "Shown by outputs" not in [each.label for each in at.metric], "another ε has not been audited"
