"""The definition: exact distributions on neighbouring tables, within e^ε of each other and no nearer."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpengine.accounting.composition import posterior
from dpengine.errors import PlanError
from dpengine.lessons import definition as lesson

EPSILON = st.fractions(min_value=Fraction(1, 50), max_value=8, max_denominator=100)
SMALL = st.integers(min_value=-30, max_value=30)
WIDE = np.arange(-4_000, 4_001)


@given(SMALL, EPSILON)
def test_probabilities_add_up_to_one_around_the_truth(true: int, epsilon: Fraction) -> None:
    probabilities = lesson.probabilities(true, 1 / epsilon, WIDE)
    assert probabilities.sum() == pytest.approx(1, abs=1e-12)
    assert (probabilities @ WIDE) == pytest.approx(true, abs=1e-6)


@given(SMALL, SMALL, EPSILON)
def test_tails_are_sums_of_probabilities(true: int, bound: int, epsilon: Fraction) -> None:
    beyond = lesson.probabilities(true, 1 / epsilon, WIDE)[bound <= WIDE].sum()
    assert lesson.tail_probability(true, 1 / epsilon, bound) == pytest.approx(beyond, abs=1e-12)


@given(SMALL, st.integers(min_value=-5, max_value=5), st.integers(min_value=5, max_value=20), EPSILON)
def test_neighbours_are_within_e_to_epsilon_everywhere(
    first: int, change: int, sensitivity: int, epsilon: Fraction
) -> None:
    seen = lesson.compare(first, first + change, sensitivity, epsilon)
    assert np.log(seen.first / seen.second) == pytest.approx(seen.log_ratio, abs=1e-9)
    assert seen.max_log_ratio <= epsilon
    assert max(abs(int(step)) for step in seen.steps) * seen.per_step == seen.max_log_ratio, "the bound is reached"


@given(SMALL, st.integers(min_value=1, max_value=12), EPSILON)
def test_the_bound_is_attained_by_answers_that_do_not_lie_between(first: int, apart: int, epsilon: Fraction) -> None:
    seen = lesson.compare(first, first + apart, apart, epsilon)
    between = (first < seen.answers) & (seen.answers < first + apart)
    assert ((np.abs(seen.steps) == seen.gap) == ~between).all()
    assert seen.max_log_ratio == epsilon, "exactly, with no rounding"


def test_a_sensitivity_that_is_too_small_breaks_the_promise() -> None:
    seen = lesson.compare(0, 100, 10, Fraction(1))
    assert seen.max_log_ratio == 10
    assert seen.log_ratio.max() == 10


def test_a_group_of_c_people_is_within_e_to_c_epsilon() -> None:
    assert lesson.compare(41, 46, 1, Fraction(1, 2)).max_log_ratio == 5 * Fraction(1, 2)


@given(st.integers(min_value=0, max_value=9), EPSILON)
def test_total_variation_is_that_of_the_two_distributions(apart: int, epsilon: Fraction) -> None:
    seen = lesson.compare(0, apart, 1, epsilon, WIDE)
    assert seen.total_variation == pytest.approx(np.abs(seen.first - seen.second).sum() / 2, abs=1e-12)


@given(st.floats(min_value=0.01, max_value=0.99), EPSILON)
def test_no_answer_moves_a_reader_beyond_the_bound_of_the_guarantee(prior: float, epsilon: Fraction) -> None:
    after = lesson.belief_after(prior, lesson.compare(8, 7, 1, epsilon))
    assert after.max() == pytest.approx(posterior(prior, epsilon))
    assert 1 - after.min() == pytest.approx(posterior(1 - prior, epsilon))


def test_a_reader_believes_on_average_what_they_believed_before() -> None:
    seen = lesson.compare(8, 7, 1, Fraction(1), WIDE)
    answered = 0.3 * seen.first + 0.7 * seen.second
    assert (answered @ lesson.belief_after(0.3, seen)) == pytest.approx(0.3)


@pytest.mark.parametrize("epsilon", ["1/10", "1", "3"])
def test_the_height_of_one_man_has_the_ratio_of_the_textbook(epsilon: str) -> None:
    scale = 1 / Fraction(epsilon)
    ratio = lesson.tail_probability(68, scale, 70) / lesson.tail_probability(67, scale, 70)
    assert ratio == pytest.approx(math.exp(Fraction(epsilon)))


def test_plotted_answers_hold_nearly_all_probability_and_stay_few() -> None:
    seen = lesson.compare(150_000, 50_000, 100_000, Fraction(1, 10))
    assert len(seen.answers) <= lesson.MAX_ANSWERS + 3
    assert {150_000, 50_000} <= set(seen.answers.tolist())
    few = lesson.compare(8, 7, 1, Fraction(1))
    assert few.first.sum() > 0.995
    assert len(few.answers) < 20


def test_bounds_decide_what_one_person_can_change() -> None:
    assert lesson.clamped_sum([35, 20, 100, 50], 0, 60) == 35 + 20 + 60 + 50
    assert lesson.sum_sensitivity(0, 60) == 60
    assert lesson.sum_sensitivity(-80, 60) == 80


@given(st.lists(SMALL, min_size=1, max_size=8), SMALL, st.integers(min_value=0, max_value=30), st.integers(0, 7))
def test_one_person_never_changes_a_clamped_sum_by_more_than_its_sensitivity(
    values: list[int], low: int, width: int, who: int
) -> None:
    without = [value for place, value in enumerate(values) if place != who]
    change = lesson.clamped_sum(values, low, low + width) - lesson.clamped_sum(without, low, low + width)
    assert abs(change) <= lesson.sum_sensitivity(low, low + width)


def test_narrow_bounds_cut_values_and_wide_bounds_need_noise() -> None:
    men = [66, 67, 68, 69, 70, 107]
    narrow = lesson.bounded_mean(men, 60, 72, Fraction(1))
    wide = lesson.bounded_mean(men, 60, 120, Fraction(1))
    assert wide.bias == 0
    assert narrow.bias == pytest.approx((72 - 107) / 6)
    assert narrow.noise == pytest.approx(1 / math.sinh(1 / 12) / 6)
    assert wide.noise > 4 * narrow.noise
    assert lesson.bounded_mean(men, 68, 68, Fraction(1)).noise == 0, "one value allowed: nothing is left to hide"


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (lambda: lesson.compare(1, 2, 0, Fraction(1)), "sensitivity"),
        (lambda: lesson.compare(1, 2, 1, Fraction(0)), "above 0"),
        (lambda: lesson.belief_after(1.0, lesson.compare(1, 2, 1, Fraction(1))), "between 0 and 1"),
        (lambda: lesson.clamped_sum([1], 5, 4), "above the upper"),
        (lambda: lesson.bounded_mean([], 0, 1, Fraction(1)), "at least one value"),
    ],
)
def test_settings_without_meaning_are_refused(wrong: object, said: str) -> None:
    with pytest.raises(PlanError, match=said):
        wrong()  # type: ignore[operator]
