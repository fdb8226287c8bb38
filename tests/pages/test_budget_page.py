"""The budget page shows the ledger's account as it stands, and changes a cap only after it was confirmed."""

from __future__ import annotations

import json
import shutil
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from streamlit.testing.v1 import AppTest

from dpengine.accounting.composition import Rule, allowance, posterior
from dpengine.accounting.ledger import Ledger
from dpengine.accounting.signing_key import keep_signing_key
from dpengine.ask import ask
from dpengine.bundle.signature import fingerprint
from dpengine.choose import Candidates, draw_once
from dpengine.measure.strategy import decide
from dpengine.mechanism import Noise, run_mechanism
from dpengine.release import release
from dpengine.sources.open import open_table
from dpengine.sources.table import Table
from dpengine.spec.plan import Plan
from dpengine.spec.query import Count, Question
from dpengine.spec.wording import percent_at_most
from pages.parts.budget.charts import spending_figure
from tests.charges import charge
from tests.pages.visits import metrics, texts, visit, visit_of

ONE, OTHER = b"\x01" * 32, b"\x02" * 32


def spend(book: Ledger, number: int, *, dataset: str = "clinic", data: bytes = ONE, epsilon: str = "0.5") -> str:
    release_id = f"{number:032x}"
    created = f"2026-11-{number:02}T09:30:00+00:00"
    charge(
        book, f"key {number}", dataset, epsilon=Fraction(epsilon), fingerprint=data, release_id=release_id,
        created=created, title=f"Release {number}",
    )  # fmt: skip
    return release_id


def plan(dataset: str = "clinic", epsilon: str = "0.5") -> Plan:
    column = {"name": "sex", "kind": "yesno"}
    return Plan(dataset=dataset, epsilon=epsilon, columns=[column], tables=[["sex"]])


class Known:
    """What is left of recognising a table: its digest."""

    done = True

    def result(self) -> bytes:
        return b"digest"


def page(own: Plan | None = None, *, recognised: bool = False, table: Table | None = None) -> AppTest:
    at = visit()
    visit_of(at).table = table
    if own is not None:
        visit_of(at).plan = own
    if recognised:
        visit_of(at).readings = {"digest": ("", Known())}
    at.switch_page("pages/budget.py").run()
    assert not at.exception
    return at


def review(at: AppTest, text: str) -> None:
    at.text_input(key="budget_cap_text").set_value(text)
    next(button for button in at.button if button.label == "Review the cap").click().run()
    assert not at.exception


@pytest.mark.usefixtures("book")
def test_an_empty_ledger_explains_what_a_budget_is() -> None:
    at = page()
    assert "A budget is the total ε that a dataset may ever spend" in texts(at)
    assert len(at.get("page_link")) == 1
    assert not at.metric


def test_spent_left_cap_and_history_are_the_ledgers(book: Ledger) -> None:
    spend(book, 1)
    spend(book, 2, epsilon="0.25")
    book.set_cap("clinic", "2")
    at = page()
    assert metrics(at) == {"Spent, in ε": "0.75", "Left": "1.25", "Cap": "2", "Entries": "2"}
    shown = at.dataframe[0].value
    assert list(shown["title"]) == ["Release 2", "Release 1"]
    assert list(shown["epsilon"]) == ["0.25", "0.5"]
    assert percent_at_most(posterior(0.5, Fraction(3, 4))) in texts(at)


def test_a_sum_that_is_no_short_decimal_is_marked_as_rounded(book: Ledger) -> None:
    spend(book, 1, epsilon="1/3")
    assert metrics(page())["Spent, in ε"] == "≈ 0.3333"


def test_names_that_share_data_are_shown_as_one_account(book: Ledger) -> None:
    spend(book, 1)
    spend(book, 2, dataset="copy_of_it", data=ONE)
    spend(book, 3, dataset="school", data=OTHER)
    at = page(plan("clinic"))
    assert metrics(at)["Spent, in ε"] == "1"
    assert "copy_of_it" in texts(at)
    at.selectbox(key="budget_dataset").select("school").run()
    assert metrics(at)["Spent, in ε"] == "0.5"
    assert "The same data was also published" not in texts(at)


@pytest.mark.by_day(1)
@pytest.mark.parametrize(
    ("cap", "said"),
    [
        (None, "Without a cap no release is refused"),
        ("0.9", "it would be refused"),
        ("1", "One more release like your plan"),
        ("2.4", "3 more releases like your plan"),
    ],
)
def test_how_many_more_releases_fit_is_counted_exactly(book: Ledger, cap: str | None, said: str) -> None:
    spend(book, 1)
    if cap is not None:
        book.set_cap("clinic", cap)
    assert said in texts(page(plan()))


def test_a_plan_that_is_published_costs_nothing_more(book: Ledger) -> None:
    own = plan()
    charge(book, decide(own).plan_id, rows=b"digest", epsilon=own.epsilon, title="", summary="sex")
    at = page(own, recognised=True)
    assert "Your plan is published already. Opening it again costs nothing" in texts(at)
    assert "would add" not in texts(at)
    assert [chart.key for chart in at.get("plotly_chart")] == ["planner"], "one release alone, without a cap: no bar"
    other = page(plan(epsilon="0.25"), recognised=True)
    bars = json.loads(other.get("plotly_chart")[0].proto.spec)["data"]
    assert [bar["name"] for bar in bars] == ["sex", "the current plan"]
    assert "would add" in texts(other), "another ε is another release"
    reloaded = texts(page(own))
    assert "Your plan was published before. Of the same data it is opened again at no cost." in reloaded
    assert "would add" not in reloaded, "the table is not open: nobody can say whether it costs anything"
    with open_table(pd.DataFrame({"sex": ["f", "m"]})) as opened:
        assert "Your plan was published before." in texts(page(own, table=opened)), "it is not recognised yet"


@pytest.mark.nightly
def test_a_choice_is_shown_here_and_not_offered_as_a_table(book: Ledger) -> None:
    spend(book, 1)
    drawn = draw_once(Candidates.of(["red", "blue"], [3, 1], 1, "0.5"), "clinic", book, "Which colour?")
    at = page()
    assert f"### {drawn.name}" in texts(at)
    assert not [link for link in at.get("page_link") if "release=" in link.proto.query_string]
    at.query_params["release"] = drawn.release_id
    at.switch_page("pages/publish.py").run()
    assert not at.exception


def test_what_follows_if_a_statement_of_other_people_is_wrong_counts_all_that_was_spent(book: Ledger) -> None:
    rows = pd.DataFrame(np.random.default_rng(0).normal(size=(600, 3)).round(6), columns=["a", "b", "c"])
    rows["sex"] = np.where(rows["a"] > 0, "yes", "no")
    release(rows, plan("clinic", "0.5"), book)
    release(rows.iloc[:-3], plan("school", "0.25"), book, other_people=True)
    at = page()
    at.selectbox(key="budget_dataset").select("clinic").run()
    assert "If the people are the same, ε = 0.75 was spent on them in all" in texts(at)
    assert "can become at most 68 % sure" in texts(at)  # e^0.75 / (1 + e^0.75)


class Noisy:
    """A mechanism of others: noisy counts."""

    name = "noisy <counts>"

    def charge(self, plan: Plan) -> Fraction:
        return plan.epsilon

    def draw(self, counts: Any, noise: Noise) -> list[int]:
        values: list[int] = noise.laplace(counts[("sex",)], noise.epsilon).tolist()
        return values


@pytest.mark.nightly
def test_what_a_mechanism_of_others_gave_is_shown_here_too(book: Ledger) -> None:
    found = run_mechanism(Noisy(), pd.DataFrame({"sex": ["yes", "no"] * 50}), plan(epsilon="1000"), book)
    at = page()
    assert "1 mechanism" in texts(at)
    assert json.loads(at.json[0].value) == found.value
    at.query_params["release"] = found.release_id
    at.switch_page("pages/publish.py").run()
    assert "That entry is no release of tables" in texts(at)
    assert not at.exception


def test_an_answer_is_shown_here_too(book: Ledger) -> None:
    asked = ask(
        pd.DataFrame({"sex": ["yes", "no"] * 50}), Question(dataset="clinic", epsilon="1/2", statistic=Count()), book
    )
    at = page()
    assert f"**{asked.value}**" in texts(at)
    assert "95 % interval" in texts(at)
    spend(book, 2)
    listed = page().dataframe[0].value.set_index("release_id")["bought"]
    assert listed[asked.answer_id] == "one question: count"
    assert (listed == "one question: count").sum() == 1 < len(listed)


def test_the_planner_says_what_each_release_may_cost(book: Ledger) -> None:
    book.set_cap("clinic", "4")
    spend(book, 1, epsilon="1")
    at = page()
    assert at.text_input(key="planner_total").value == "3"
    assert "20 releases within ε = 3 in all: each may cost ε = 0.15" in texts(at)
    shown = at.dataframe[-1].value.set_index("rule")
    assert shown.loc["added up", "each"] == pytest.approx(0.15)
    assert shown.loc["added up", "together"] == pytest.approx(3)
    million = Fraction(1, 10**6)
    assert shown.loc["zCDP", "each"] == float(allowance(Rule.ZCDP, Fraction(3), 20, million))
    at.number_input(key="planner_a_year").set_value(7).run()
    assert "35 releases within ε = 3 in all: each may cost ε = 0.0857" in texts(at), "3/35 is 0.08571"
    at.number_input(key="planner_a_year").set_value(200).run()
    assert "One that allows a δ could spend" in texts(at)
    at.number_input(key="planner_group").set_value(2).run()
    assert "For a group of 2, one release multiplies the odds by at most 1.007 " in texts(at)  # e^0.006 = 1.00602
    assert "With the ε = 1 that is spent already, **at most 98.3 % sure**." in texts(at)  # e⁴ / (1 + e⁴)
    spend(book, 2, dataset="school", data=OTHER)
    book.set_cap("school", "0.5")
    at.run()
    at.selectbox(key="budget_dataset").select("school").run()
    assert at.text_input(key="planner_total").value == "0"
    assert "0 is left under the cap" in texts(at)
    assert not at.exception


@pytest.mark.by_day(1)
@pytest.mark.parametrize("total", ["", "0", "-1", "many"])
def test_an_unusable_total_is_explained(total: str) -> None:
    at = page()
    at.text_input(key="planner_total").set_value(total).run()
    assert not at.exception
    assert at.warning


@pytest.mark.nightly
def test_a_planned_price_can_be_taken_into_the_plan(book: Ledger) -> None:
    spend(book, 1)
    at = page(plan())
    button = at.button(key="planner_adopt")
    assert button.label == "Use ε = 0.2 in my plan"
    button.click().run()
    assert not at.exception


@pytest.mark.nightly
def test_a_plan_of_another_dataset_is_not_put_on_this_account(book: Ledger) -> None:
    spend(book, 1)
    at = page(plan("school"))
    at.selectbox(key="budget_dataset").select("clinic").run()
    assert "your plan" not in texts(at).lower()


def test_a_cap_is_set_only_after_it_was_confirmed(book: Ledger) -> None:
    spend(book, 1)
    at = page()
    review(at, "2,5")
    assert book.cap("clinic") is None
    assert "would leave **2** to spend" in texts(at)
    at.button(key="budget_cap_set").click().run()
    assert not at.exception
    assert book.cap("clinic") == Fraction(5, 2)
    assert metrics(at)["Left"] == "2"


@pytest.mark.nightly
def test_a_reviewed_cap_can_be_left_alone(book: Ledger) -> None:
    spend(book, 1)
    at = page()
    review(at, "3")
    at.button(key="budget_cap_leave").click().run()
    assert book.cap("clinic") is None
    assert "would leave" not in texts(at)


@pytest.mark.nightly
def test_a_cap_below_the_spent_sum_warns(book: Ledger) -> None:
    spend(book, 1)
    at = page()
    review(at, "1/4")
    assert "nothing more could be published" in texts(at)


@pytest.mark.parametrize("text", ["", "many", "0", "-1", "1/0", "nan", "inf"])
@pytest.mark.nightly
def test_an_unusable_cap_is_refused_in_words(book: Ledger, text: str) -> None:
    spend(book, 1)
    at = page()
    review(at, text)
    assert "That cannot be a cap" in at.warning[0].value
    assert book.cap("clinic") is None


def test_a_review_for_one_dataset_is_not_confirmed_for_another(book: Ledger) -> None:
    spend(book, 1)
    spend(book, 2, dataset="school", data=OTHER)
    at = page()
    assert at.selectbox(key="budget_dataset").value == "school", "what was published last is shown first"
    review(at, "3")
    at.selectbox(key="budget_dataset").select("clinic").run()
    assert "would leave" not in texts(at)


@pytest.mark.nightly
def test_every_release_can_be_opened_again_by_its_name(book: Ledger) -> None:
    first, second = spend(book, 1), spend(book, 2)
    at = page()
    assert at.get("page_link")[0].proto.query_string == f"release={second}"
    choices = at.selectbox(key="budget_release")
    choices.set_value(book.history("clinic")[0]).run()
    assert at.get("page_link")[0].proto.query_string == f"release={first}"


def test_no_fingerprint_is_on_the_page(book: Ledger) -> None:
    spend(book, 1)
    at = page()
    everything = texts(at) + json.dumps(at.dataframe[0].value.astype(str).to_dict()) + str(at.main)
    assert ONE.hex() not in everything
    assert "fingerprint" not in everything


@pytest.mark.nightly
def test_a_hundred_releases_are_drawn_as_few(book: Ledger) -> None:
    for number in range(1, 101):
        charge(book, str(number), epsilon=Fraction(1, 100), title="", summary="sex")
    at = page()
    assert metrics(at)["Entries"] == "100"
    bars = json.loads(at.get("plotly_chart")[0].proto.spec)["data"]
    assert len(bars) == 40
    assert sum(bar["x"][0] for bar in bars) == pytest.approx(1)


def test_a_damaged_ledger_is_reported_without_its_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    broken = tmp_path / "broken.db"
    broken.write_bytes(b"this is no database" * 100)
    monkeypatch.setenv("PRIVATE_RELEASE_LEDGER", f"sqlite:///{broken}")
    at = page()
    assert len(at.error) == 1
    assert str(tmp_path) not in at.error[0].value


@pytest.mark.nightly
def test_the_public_key_is_shown_once_there_is_one(book: Ledger) -> None:
    spend(book, 1)
    assert "Key" not in [part.value for part in page().header]
    key = keep_signing_key(book)
    at = page()
    assert fingerprint(key.public_key()) in [part.value for part in at.code]
    assert key.private_bytes_raw().hex() not in texts(at)


@pytest.mark.parametrize(("paid", "planned", "cap"), [(1, None, 4), (3, 2, 4), (1, 2, None)])
def test_the_axis_of_what_is_spent_holds_the_cap_and_the_current_plan(
    paid: float, planned: float | None, cap: float | None
) -> None:
    figure = spending_figure([("one", paid)], planned, cap)
    assert figure.layout.xaxis.range[1] > max(paid + (planned or 0), cap or 0)


def test_a_copy_of_the_ledger_that_was_used_elsewhere_is_said(
    book: Ledger, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only the command line said it, which who publishes on the page never sees."""
    monkeypatch.setenv("PRIVATE_RELEASE_STATE", str(tmp_path / "state"))
    copied = Ledger(f"sqlite:///{shutil.copy(tmp_path / 'ledger.db', tmp_path / 'copy.db')}")
    assert "at another address" not in texts(page(plan()))
    spend(copied, 1)
    assert "A copy of this ledger was used at another address, and what was spent there is not" in texts(page(plan()))
