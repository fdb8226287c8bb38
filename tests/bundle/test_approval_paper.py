"""The paper for a person who approves says all that the decision needs, is bound to one plan, and loads nothing."""

from __future__ import annotations

import re
from dataclasses import replace
from fractions import Fraction
from html import unescape
from typing import Any

import pytest

import dpengine as dpe
from dpengine.accounting.approval.request import Actor, Request, State, plan_digest
from dpengine.accounting.entry import Entry, Kind
from dpengine.bundle.approval_paper import MAX_EARLIER, MAX_TABLES, Budget, approval_paper
from dpengine.translation.catalogue import speaking
from tests.plans import CLINIC, PAY

PLAN = dpe.Plan.loads(CLINIC)
EARLIER = Entry("1", "clinic-2026", "2025-03-01T10:00:00+00:00", Fraction(1, 2), "Clinic <2025>", "", Kind.RELEASE)
REQUEST = Request("42", "clinic-2026", Fraction(1), plan_digest(PLAN), True, Actor("a", "Ann <b>"),
                  "2026-05-04T08:00:00+00:00", "by *Friday*", State.WAITING, None, "", "", "", "", "")  # fmt: skip


def paper(plan: dpe.Plan = PLAN, budget: Budget | None = None, request: Request | None = None) -> str:
    return approval_paper(plan, dpe.predict(plan), budget or Budget(Fraction(0), None), request).decode()


def words(page: str) -> str:
    """The text that a person reads, without styles."""
    return " ".join(unescape(re.sub("<[^>]+>", " ", page.split("</style>")[1])).split())


def test_it_says_what_about_whom_at_what_price_how_exactly_and_what_was_before() -> None:
    read = words(paper(budget=Budget(Fraction(1, 2), Fraction(2), [EARLIER]), request=REQUEST))
    for said in (
        "nothing of this is published yet", "Clinic survey 2026", "Sent by Ann <b> on 2026-05-04. “by *Friday*”",
        "Price of this release ε = 1", "Spent so far 0.5", "Left after 1", "of other people", "Protected one row",
        "at most 73.2 % sure", "Other releases about the same people", "2025-03-01 Clinic <2025> 0.5",
        "Approved: exactly this plan, once", "Name Date Signature", plan_digest(PLAN).hex(), "Request 42.",
        "typed by a person",
    ):  # fmt: skip
        assert said in read, said
    assert re.search(r"age × region 42 [\d.]+ ±[\d.]+ region × visit", read)


def test_another_plan_is_another_paper() -> None:
    other = PLAN.at("1.5")
    assert plan_digest(other).hex() in paper(other)
    assert plan_digest(PLAN).hex() not in paper(other)


def test_without_a_cap_nothing_is_left_to_count_and_too_small_a_one_is_said() -> None:
    assert "Left after no cap" in words(paper())
    assert "would lapse" not in paper()
    assert "Nothing was published from this budget yet" in paper()
    short = words(paper(budget=Budget(Fraction(1), Fraction(1, 2))))
    assert "Left now 0.5 " in short
    assert "An approval would lapse" in short


def test_texts_of_people_are_no_markup_and_nothing_is_loaded() -> None:
    page = paper(PLAN.model_copy(update={"title": "<script>x</script>", "notes": "<img src=x>"}), request=REQUEST)
    assert "<script" not in page
    assert "<img" not in page
    assert "default-src 'none'" in page
    assert not re.search(r"<[^>]*(src|href)=", page)


def test_errors_of_means_and_quantiles_are_beside_those_of_counts() -> None:
    read = words(paper(dpe.Plan.loads(PAY)))
    assert "Mean hours" in read
    assert "in a group of typical size" in read
    assert "±" in read
    assert "hours amount 0 … 80 – " in read, "an amount has no cells"


FOUND = {"name": "a", "kind": "category", "values": "found", "among": {"pattern": "##"}}


@pytest.mark.parametrize("fields", [{"strategy": "adaptive"}, {"columns": [FOUND, {"name": "b", "kind": "yesno"}]}])
def test_simulated_errors_and_values_that_are_yet_to_be_found(fields: dict[str, Any]) -> None:
    columns = [{"name": name, "kind": "yesno"} for name in "ab"]
    whole = {"dataset": "d", "epsilon": 1, "columns": columns, "tables": [["a", "b"]], "rows_about": 1000, **fields}
    read = words(paper(dpe.Plan.model_validate(whole)))
    assert ("tried out on made-up people" in read) == ("strategy" in fields)
    assert ("found privately" in read) == ("columns" in fields)


def test_long_lists_end_and_say_how_many_more_there_are() -> None:
    names = [f"c{k}" for k in range(MAX_TABLES + 2)]
    plan = dpe.Plan.model_validate({"dataset": "d", "epsilon": 1, "tables": [[name] for name in names],
                                    "columns": [{"name": name, "kind": "yesno"} for name in names]})  # fmt: skip
    history = [replace(EARLIER, title=f"year {k}") for k in range(MAX_EARLIER + 1)]
    read = words(paper(plan, Budget(Fraction(21, 2), None, history)))
    assert "… and 2 more tables." in read
    assert "… and 1 earlier entry." in read
    assert f"year {MAX_EARLIER} " in read, "the latest is listed first"
    assert "year 0 " not in read


def test_it_speaks_german() -> None:
    with speaking("de"):
        read = words(paper(budget=Budget(Fraction(1, 2), Fraction(2), [EARLIER]), request=REQUEST))
    assert "Was veröffentlicht würde" in read
    assert "0,5" in read
    assert "Unterschrift" in read
