"""Answers and their expected errors: what is promised of them holds, by the exact law of the mechanism."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from dpengine.noise.selection import permute_and_flip_probabilities
from dpengine.results.answer import conclude, expect
from dpengine.spec.domain import Category, YesNo
from dpengine.spec.numeric.grid import Grid
from dpengine.spec.query import Condition, Count, Mean, Mode, Proportion, Quantile, Question, Sum, Variance

WARD = Category(name="ward", values=[f"w{k}" for k in range(40)])
YES = Condition(column=YesNo(name="smokes"), labels=["yes"])
AGE = Grid(name="age", low=0, high=120)


def question(statistic: object, **more: object) -> Question:
    return Question(**{"dataset": "clinic", "epsilon": "1", "statistic": statistic, **more})


@pytest.mark.parametrize("rows", [1, 3])
@pytest.mark.parametrize(
    ("statistic", "candidates", "unit"),
    [(Quantile(of=AGE, level="1/2"), 121, 2), (Quantile(of=AGE, level="3/4"), 121, 4), (Mode(of=WARD), 40, 1)],
    ids=["median", "upper quartile", "mode"],
)
def test_a_chosen_value_is_within_its_reach_of_the_best_in_95_of_100_draws(
    statistic: object, candidates: int, unit: int, rows: int
) -> None:
    """All but one candidate are just beyond the reach: no scores are worse. `unit` scores are a rank, or a row."""
    asked = question(statistic, unit={"id": "who", "rows": rows})
    reach, monotone = expect(asked).reach, isinstance(statistic, Mode)
    assert reach is not None

    def beyond(distance: int) -> float:
        scores = np.full(candidates, -distance)
        scores[7] = 0
        law = permute_and_flip_probabilities(scores, asked.epsilon, asked.sensitivity, monotone=monotone)
        return float(1 - law[7])

    assert beyond((reach + 1) * unit) <= 0.05
    assert beyond(reach * unit // 2) > 0.05, "and it is not much wider than it has to be"


@pytest.mark.parametrize(
    "statistic", [Mean(of=AGE), Proportion(of=[YES]), Variance(of=AGE)], ids=lambda each: each.kind
)
def test_by_group_the_error_is_that_of_a_group_of_average_size(statistic: object) -> None:
    apart, alone = question(statistic, by=[WARD], rows_about=84_000), question(statistic, rows_about=2_000)
    assert apart.groups == 42, "*other* and *missing* are groups, too"
    assert expect(apart) == expect(alone)


def test_the_interval_of_a_sum_that_cannot_be_above_0_ends_there() -> None:
    below, above = (question(Sum(of=Grid(name="debt", low=low, high=high))) for low, high in ((-5, 0), (0, 5)))
    assert [conclude(below, [drawn]).high for drawn in (-3, 4)] == [0, 0]
    assert [conclude(above, [drawn]).low for drawn in (3, -4)] == [0, 0]
    half = int(expect(question(Sum(of=Grid(name="debt", low=-5, high=5)))).half_width or 0)
    assert half > 4
    assert (conclude(below, [-3]).low, conclude(above, [3]).high) == (-3 - half, 3 + half)


def test_an_interval_holds_as_many_draws_of_noise_as_it_says() -> None:
    """Discrete Laplace noise is beyond ±h with probability 2·q^(h+1)/(1 + q), q = exp(−1/scale)."""
    for epsilon in ("0.1", "1", "5"):
        asked = question(Count(), epsilon=epsilon)
        answer = conclude(asked, [1000])
        assert answer.low is not None
        half, q = 1000 - int(answer.low), float(np.exp(-float(1 / asked.scale)))
        assert 2 * q ** (half + 1) / (1 + q) <= 0.05 < 2 * q**half / (1 + q)
        assert Fraction(half) == Fraction(str(expect(asked).half_width))
