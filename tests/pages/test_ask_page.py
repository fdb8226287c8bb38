"""The Ask page describes and prices a question before it is paid; the answer is stored and never costs twice."""

from __future__ import annotations

import io
from fractions import Fraction

import pandas as pd
import pytest
from streamlit.testing.v1 import AppTest

from dpengine import release
from dpengine.accounting.ledger import Ledger
from dpengine.ask import history
from dpengine.errors import Fault
from dpengine.results.answer_wording import number
from dpengine.spec.numeric.grid import Grid
from dpengine.spec.query import Mean, Question, Sum
from dpengine.translation.catalogue import speaking
from pages.parts.ask.history import as_rows
from pages.parts.ask.wording import sensitivity_words
from pages.parts.shared.entries_table import content
from pages.parts.shared.typed_numbers import with_point
from pages.parts.visit.plan.plan_form import to_plan
from tests.pages.visits import texts, visit, visit_of


def page(sample: str = "rand") -> AppTest:
    at = visit()
    at.switch_page("pages/ask.py").run()
    if sample:
        at.button(key=f"ask_{sample}").click().run()
    assert not at.exception
    return at


def key(at: AppTest, name: str) -> str:
    return visit_of(at).key(name)


def bill(at: AppTest) -> dict[str, str]:
    return {metric.label: metric.value for metric in at.metric}


def pay(at: AppTest) -> AppTest:
    at.button(key=key(at, "ask-pay")).click().run()
    assert not at.exception
    return at


@pytest.mark.usefixtures("book")
def test_without_a_table_the_samples_are_offered_and_nothing_can_be_asked() -> None:
    at = page(sample="")
    assert {button.key for button in at.button} == {"ask_census", "ask_rand"}
    assert not at.selectbox


def test_a_count_is_described_priced_paid_and_then_free(book: Ledger) -> None:
    at = page()
    assert "The number of rows" in texts(at)
    assert "at most 5 rows" in texts(at)
    assert "95 times in 100 by at most **150**" in texts(at), "Δ = 5 at ε = 0.1"
    assert bill(at) == {"Spent so far": "0", "This question": "0.1", "Left after": "no cap"}
    assert book.datasets() == []
    at = pay(at)
    (answer,) = history(book, "rand-hie")
    assert abs(int(answer.value) - 20_186) < 5000
    assert "Answered: seeing it again costs 0." in texts(at)
    assert answer.answer_id in texts(at)
    assert book.spent("rand-hie") == Fraction(1, 10)
    assert list(at.dataframe[0].value["question"]) == ["number of rows"]
    assert list(at.dataframe[0].value.columns)[:2] == ["question", "answer"], "these two are in sight on a phone"


def test_under_another_name_the_same_people_have_what_is_left_to_them(book: Ledger) -> None:
    book.set_cap("rand-hie", "0.5")
    at = pay(page())
    visit_of(at).change(dataset="another name")
    at.text_input(key=key(at, "ask-epsilon")).set_value("0.2").run()
    assert bill(at) == {"Spent so far": "0.1", "This question": "0.2", "Left after": "0.2"}


def test_counts_that_a_release_holds_are_not_sold_without_a_word(book: Ledger) -> None:
    at = page()
    assert "already holds this number" not in texts(at)
    here = visit_of(at)
    assert here.table is not None
    plan = to_plan(here.entries)
    release(here.table, plan, book)
    assert "already holds this number" in texts(at.run())
    assert "ask-pay" in str([button.key for button in at.button]), "a number of its own is still for sale"
    at.multiselect(key=key(at, "ask-by")).set_value(["sex"]).run()
    assert "already holds this number" not in texts(at), "it holds only larger tables"
    at.multiselect(key=key(at, "ask-by")).set_value(["age", "sex"]).run()
    assert "already holds this number" in texts(at)
    at.multiselect(key=key(at, "ask-where")).set_value(["sex"]).run()
    at.multiselect(key=key(at, "ask-where-sex-values")).set_value(["male"]).run()
    assert "already holds this number" not in texts(at)


@pytest.mark.nightly
def test_conditions_narrow_a_question_and_two_counts_are_compared_with_a_release(book: Ledger) -> None:
    at = page()
    for label in ("female", "male"):
        at.multiselect(key=key(at, "ask-where")).set_value(["sex"]).run()
        at.multiselect(key=key(at, "ask-where-sex-values")).set_value([label]).run()
        assert f"The number of rows, where sex is {label}" in texts(at)
        at = pay(at)
    assert "These 2 counts, asked one by one" in bill(at)
    assert bill(at)["These 2 counts, asked one by one"] == "ε = 0.2"
    assert bill(at)["One release that answers all of them"].startswith("ε = 0.1")
    assert book.spent("rand-hie") == Fraction(1, 5)


@pytest.mark.parametrize(
    ("what", "said"),
    [
        ("mean", "average of age"),
        ("sum", "sum of age"),
        ("quantile", "median of age"),
        ("mode", "most common value of year"),
        ("variance", "variance of age"),
    ],
)
@pytest.mark.by_day(1)
def test_every_statistic_can_be_asked(book: Ledger, what: str, said: str) -> None:
    at = page()
    at.selectbox(key=key(at, "ask-what")).set_value(what).run()
    assert f"The {said}" in texts(at)
    assert "Δ" in texts(at)
    pay(at)
    assert [answer.question.description for answer in history(book, "rand-hie")] == [said]


@pytest.mark.nightly
def test_a_share_needs_a_condition_and_a_number_its_bounds(book: Ledger) -> None:
    at = page()
    at.selectbox(key=key(at, "ask-what")).set_value("proportion").run()
    assert "Not yet a question" in texts(at)
    at.multiselect(key=key(at, "ask-of")).set_value(["sex"]).run()
    at.multiselect(key=key(at, "ask-of-sex-values")).set_value(["female"]).run()
    assert "share of rows with sex is female" in texts(at)
    at.selectbox(key=key(at, "ask-what")).set_value("mean").run()
    at.text_input(key=key(at, "ask-low-age")).set_value("90").run()
    assert "must be below" in texts(at)
    at.text_input(key=key(at, "ask-low-age")).set_value("").run()
    assert "enter public bounds for age" in texts(at)
    assert book.datasets() == []


@pytest.mark.parametrize(
    ("typed", "understood", "says"),
    [("17,5", "17.5", []), ("17.5", "17.5", []), ("200000", "200000", []), ("0.125", "0.125", []),
     ("200.000", None, ["200000"]), ("-1.000.000,5", None, ["-1000000,5"])],
)  # fmt: skip
def test_a_point_of_thousands_is_no_decimal_point_on_a_german_page(
    typed: str, understood: str | None, says: list[str]
) -> None:
    faults: list[str | Fault] = []
    with speaking("de"):
        point = with_point(typed, faults)
    assert all(word in str(fault) for word, fault in zip(says, faults, strict=True))
    assert understood in (None, point)
    faults.clear()
    assert with_point(typed, faults) == typed, "in English, whoever types a comma is told at once"
    assert faults == []


def test_a_column_that_is_declared_as_something_else_is_no_number_to_average(book: Ledger) -> None:
    at = page()
    at.selectbox(key=key(at, "ask-what")).set_value("mean").run()
    plan = to_plan(visit_of(at).entries)
    offered = set(at.selectbox(key=key(at, "ask-number")).options)
    declared = {column.name: column.kind for column in plan.columns}
    assert {declared.get(name, "number") for name in offered} == {"number"}


@pytest.mark.usefixtures("book")
def test_numbers_are_read_as_the_plan_says_that_they_are_written(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Mean] = []

    def noted(of: Grid) -> Mean:
        asked.append(Mean(of=of))
        return asked[-1]

    monkeypatch.setattr("pages.parts.ask.form.Mean", noted)
    at = visit()
    at.get("file_uploader")[0].upload("pay.csv", "pay;sex\n1.200 €;f\n900 €;m\n".encode()).run()
    here = visit_of(at)
    pay = {"name": "pay", "kind": "amount", "from": "0", "to": "9000", "format": "1.234,5", "affixes": ["€"]}
    declared = {"pay": pay, "sex": {"name": "sex", "kind": "category", "values": ["f", "m"]}}
    here.entries = here.entries.with_(chosen=("pay", "sex"), declared=declared, several_rows=False, rows_about=2)
    here.settle("columns", "domain", "unit")
    at.switch_page("pages/ask.py").run()
    at.selectbox(key=key(at, "ask-what")).set_value("mean").run()
    assert not at.exception
    assert {(each.of.format, each.of.affixes) for each in asked} == {("1.234,5", ("€",))}


def test_by_group_one_price_answers_all(book: Ledger) -> None:
    at = page()
    at.selectbox(key=key(at, "ask-what")).set_value("mean").run()
    at.multiselect(key=key(at, "ask-by")).set_value(["sex"]).run()
    assert "The average of age by sex" in texts(at)
    assert "in 2 groups of one size" in texts(at)
    assert "That holds for all groups together" in texts(at)
    at = pay(at)
    (answer,) = history(book, "rand-hie")
    assert [group.labels for group in answer.groups] == [("female",), ("male",)]
    assert book.spent("rand-hie") == Fraction(1, 10)
    assert "in **2 groups**" in texts(at)
    twin = next(frame.value for frame in at.dataframe if "low" in frame.value)
    assert list(twin["sex"]) == ["female", "male"]
    assert [row["group"] for row in as_rows([answer])] == ["female", "male"]
    at.selectbox(key=key(at, "ask-what")).set_value("quantile").run()
    assert "The median of age" in texts(at), "groups are not offered where they are not answered"


@pytest.mark.by_day(1)
@pytest.mark.parametrize("typed", ["", "0", "-1", "many", "nan"])
def test_an_unusable_price_is_explained(book: Ledger, typed: str) -> None:
    at = page()
    at.text_input(key=key(at, "ask-epsilon")).set_value(typed).run()
    assert not at.exception
    assert "Not yet a question" in texts(at)
    assert "ε: ε" not in texts(at)
    assert book.datasets() == []


def test_over_the_cap_nothing_is_asked(book: Ledger) -> None:
    book.set_cap("rand-hie", "0.05")
    at = page()
    at.text_input(key=key(at, "ask-epsilon")).set_value("0,2").run()
    assert bill(at)["This question"] == "0.2", "as many people write it"
    assert "does not allow this" in texts(at)
    assert "Nothing was drawn or spent." in texts(at)
    assert key(at, "ask-pay") not in {button.key for button in at.button}


def test_the_budget_and_the_address_show_an_answer_as_one(book: Ledger) -> None:
    at = pay(page())
    (answer,) = history(book, "rand-hie")
    at.switch_page("pages/budget.py").run()
    assert not at.exception
    assert answer.answer_id in texts(at)
    assert any(link.proto.query_string == f"answer={answer.answer_id}" for link in at.get("page_link"))
    at.query_params["release"] = answer.answer_id
    at.switch_page("pages/publish.py").run()
    assert not at.exception
    assert "the answer to a question" in texts(at)


@pytest.mark.nightly
def test_answers_can_be_downloaded(book: Ledger) -> None:
    pay(page())
    frame = pd.read_csv(io.BytesIO(content("csv", as_rows(history(book, "rand-hie")))))
    assert (frame["question"][0], frame["epsilon"][0]) == ("number of rows", 0.1)
    assert frame["low"][0] <= frame["answer"][0] <= frame["high"][0]


def test_numbers_have_the_digits_that_their_error_leaves() -> None:
    assert number(0.123456, 0.02) == "0.123"
    assert number(-1234.6, 50) == "-1,235"


@pytest.mark.parametrize(("low", "high", "most"), [(-10, 5, 20), (0, 5, 10)])
def test_the_sensitivity_of_a_sum_is_that_of_its_larger_bound(low: int, high: int, most: int) -> None:
    total = Sum(of=Grid(name="balance", low=low, high=high))
    question = Question(dataset="d", epsilon=1, statistic=total, unit={"id": "who", "rows": 2})
    assert f"by at most {most}:" in sensitivity_words(question)
    assert question.sensitivity == most
