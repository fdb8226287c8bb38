"""One release in place of many questions: as exact as each of them, at the least price."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import pytest

from dpengine.estimate.error_distribution import sum_error
from dpengine.results.batch_pricing import price_batch
from dpengine.spec.domain import Category
from dpengine.spec.query import Condition, Count, Mode, Question

A = Category(name="a", values=["a0", "a1", "a2"], other=False, missing=False)
B = Category(name="b", values=["b0", "b1", "b2", "b3"], other=False, missing=False)


def count(*where: Condition, **more: object) -> Question:
    return Question(**{"dataset": "d", "epsilon": "0.1", "statistic": Count(), "where": where, **more})


def cell(column: Category, *labels: str) -> Condition:
    return Condition(column=column, labels=labels)


def test_twelve_cells_of_one_table_cost_what_one_of_them_does() -> None:
    cells = [count(cell(A, a), cell(B, b)) for a, b in product(A.values, B.values)]
    price = price_batch(cells)
    assert price is not None
    assert (price.separate_cost, price.plan.marginals) == (Fraction(12, 10), (("a", "b"),))
    assert Fraction(99, 1000) <= price.plan.epsilon <= Fraction(102, 1000)


def test_a_sum_of_cells_needs_more_and_is_as_exact_as_its_question() -> None:
    questions = [count(cell(A, "a0", "a1"), cell(B, *B.values)), count(cell(B, "b1"))]
    price = price_batch(questions)
    assert price is not None
    scale = 1 / price.plan.epsilon
    wanted = sum_error(1, Fraction(10)).half_width()
    if ("a", "b") in price.plan.marginals:
        assert sum_error(8, scale).half_width() <= wanted
        assert sum_error(8, scale * Fraction(98, 100) ** -1).half_width() > 0.95 * wanted, "and not much more exact"


def test_questions_that_are_no_sum_of_cells_are_left_out() -> None:
    other = Category(name="a", values=["a0", "odd"])
    questions = [count(cell(A, "a0")), count(cell(A, "a1"))]
    rest = [
        count(),
        count(cell(other, "odd")),
        count(cell(A, "a0"), unit={"id": "who", "rows": 2}),
        Question(dataset="d", epsilon="1", statistic=Mode(of=A)),
    ]
    price = price_batch([*questions, *rest])
    assert price is not None
    assert price.questions == tuple(questions)
    assert price_batch(rest) is None


@pytest.mark.parametrize("asked", [[], [count(cell(A, "a0"))]])
def test_there_is_nothing_to_compare_with_fewer_than_two(asked: list[Question]) -> None:
    assert price_batch(asked) is None


def test_a_table_of_too_many_cells_replaces_no_questions() -> None:
    wide = [Category(name=f"c{k}", values=[str(v) for v in range(200)]) for k in range(4)]
    questions = [count(*(cell(column, "1") for column in wide)), count(cell(wide[0], "2"))]
    assert price_batch(questions) is None
