"""An upper bound that a release is to find, on the page: its question, its price, and what predictions are for."""

from __future__ import annotations

from fractions import Fraction

import pandas as pd
from streamlit.testing.v1 import AppTest

import dpengine as dpe
from dpengine import predict
from pages.parts.publish.outlook.measure_facts import measure_facts
from pages.parts.shared.wording import edge_or_day
from pages.parts.visit.plan.plan_form import from_plan
from tests.pages.visits import metrics, released, settled, texts, visit, visit_of

PLAN = dpe.Plan(
    dataset="wages",
    epsilon=1,
    rows_about=5_000,
    columns=[
        {"name": "pay", "kind": "amount", "from": 0, "to": 1_000_000, "step": 10, "upper": {"share": "1/5"}},
        {"name": "smokes", "kind": "yesno"},
    ],
    tables=[{"columns": ["smokes"], "mean": ["pay"]}],
)


def opened(plan: dpe.Plan, *steps: str) -> AppTest:
    page = visit()
    page.get("file_uploader")[0].upload("wages.csv", b"pay,smokes\n1,yes\n").run()
    settled(page)
    visit_of(page).entries = from_plan(plan)
    visit_of(page).settle(*steps)
    return page


def test_the_page_says_the_price_and_publishes_the_plan_as_it_is_stated() -> None:
    page = opened(PLAN, "columns", "domain", "unit")
    settled(page.run())
    plan = visit_of(page).plan
    assert plan is not None
    assert plan.key == PLAN.key
    assert "an amount from 0 to 1,000,000, upper bound found" in texts(page)
    assert metrics(page)["This release"] == "1", "what finding the bound costs is in the price"
    assert "errors shrink with the upper bound that is found" in texts(page)


def test_one_click_lets_the_bound_be_found_and_another_states_it_again() -> None:
    stated = PLAN.with_columns({"pay": dpe.Amount(name="pay", low=0, high=1_000_000, step=10)})
    page = opened(stated, "columns")
    settled(page.run())
    (box,) = (each for each in page.checkbox if each.label == "Find the upper bound")
    assert not box.value
    settled(box.check().run())
    assert visit_of(page).entries.declared["pay"]["upper"] == {"share": "0.1"}
    assert "10 % of ε finds the bound" in texts(page)
    assert "finding takes 0.1" in texts(page)
    (highest,) = (each for each in page.text_input if each.label == "Surely not above")
    assert highest.value == "1000000", "what was typed stays"
    (box,) = (each for each in page.checkbox if each.label == "Find the upper bound")
    settled(box.uncheck().run())
    assert not visit_of(page).entries.declared["pay"].get("upper")


def test_predictions_say_that_they_are_for_the_stated_end() -> None:
    facts = measure_facts(PLAN, ("smokes",), predict(PLAN).set_index("table").loc["smokes"])
    assert len(facts) == 2
    assert "at a tenth, to about a tenth" in facts[1]
    assert PLAN.epsilon_for_tables == Fraction(4, 5)


def test_a_release_says_which_bound_it_found() -> None:
    rows = pd.DataFrame({"pay": [*range(0, 4_000, 2)], "smokes": ["yes", "no"] * 1_000})
    page, release = released(rows, PLAN.at(10))
    assert f"**Upper bound of pay.** {edge_or_day(release.plan.amount('pay').high)}, found privately" in texts(page)
    assert 2_000 < release.plan.amount("pay").high < 10_000
