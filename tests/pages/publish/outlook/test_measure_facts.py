"""How wide intervals of means and deviations will be, in words: for what size of them a prediction holds."""

from __future__ import annotations

from dpengine import Plan, predict
from dpengine.results.mock_table import mock_deviation, mock_rows
from pages.parts.publish.outlook.measure_facts import measure_facts

STAY = {"name": "stay", "kind": "amount", "from": 0, "to": 60}
SEX = {"name": "sex", "kind": "yesno"}


def facts(**asked: object) -> str:
    plan = Plan(dataset="d", epsilon=1, columns=[SEX, STAY], tables=[{"columns": ["sex"], **asked}])
    (said,) = measure_facts(plan, ("sex",), predict(plan).set_index("table").loc["sex"])
    return said


def test_a_deviation_is_predicted_for_the_size_that_it_has_in_the_made_up_table() -> None:
    """Its error is in inverse proportion to it: one of a third of that size has an interval three times as wide."""
    said = facts(mean=["stay"], standard_deviation=["stay"])
    assert said.count("if it is about 9.5 (more if it is smaller)") == 1
    assert "if it is about" not in facts(mean=["stay"])
    plan = Plan(
        dataset="d", epsilon=1, columns=[SEX, STAY], tables=[{"columns": ["sex"], "standard_deviation": ["stay"]}]
    )
    low, middle, high = mock_rows(plan, ("stay",))[:3]
    people = low + middle + high
    mean, square = (middle / 2 + high) / people, high / people
    assert abs(mock_deviation(plan.amount("stay")) - 60 * (square - mean**2) ** 0.5) < 1e-9
