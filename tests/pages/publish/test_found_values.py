"""The preview of values that a release is to find."""

from __future__ import annotations

import pytest

import dpengine as dpe
from pages.parts.publish.outlook.preview import as_findable, findable_in_words
from pages.parts.visit.plan.plan_form import from_plan
from tests.pages.visits import metrics, settled, texts, visit, visit_of

PLAN = dpe.Plan(
    dataset="visits",
    epsilon=1,
    unit={"id": "person", "rows": 3},
    rows_about=5_000,
    columns=[
        {"name": "code", "kind": "category", "values": "found", "among": {"pattern": "@##"}, "label": "Diagnosis"},
        {"name": "smokes", "kind": "yesno"},
    ],
    tables=[["code", "smokes"]],
)
WORDS = "Drawn with 29 values of Diagnosis: each that is found has about 170 rows or more."


def test_a_preview_has_no_more_values_than_a_table_of_this_size_can_have() -> None:
    shown = as_findable(PLAN)
    assert shown.column("code").declared_size == 29 == 5_000 // 170
    assert PLAN.column("code").declared_size == 1_000
    assert as_findable(shown) == shown
    assert as_findable(shown.at("1/2")).column("code").declared_size == 14, "which noise hides sooner"
    assert (findable_in_words(shown), findable_in_words(PLAN)) == ([WORDS], [])
    unsized = PLAN.model_copy(update={"rows_about": None})
    assert as_findable(unsized) is unsized
    assert findable_in_words(unsized) == []


def test_the_page_shows_it_and_publishes_the_plan_as_it_is_stated() -> None:
    page = visit()
    page.get("file_uploader")[0].upload("visits.csv", b"person,code,smokes\n1,A10,yes\n").run()
    settled(page)
    visit_of(page).entries = from_plan(PLAN)
    visit_of(page).settle("columns", "domain", "unit")
    settled(page.run())
    assert WORDS in texts(page)
    plan = visit_of(page).plan
    assert plan is not None
    assert plan.key == PLAN.key
    assert metrics(page)["This release"] == "1", "what finding values costs is in the price"


@pytest.mark.nightly
def test_the_owner_is_warned_before_paying_that_no_value_can_be_found() -> None:
    """Five digits stand there at first: a column of street names would be paid for, and count in (other) alone."""
    columns = [{"name": "street", "kind": "category", "values": "found", "among": {"pattern": "#####"}}]
    plan = dpe.Plan(dataset="fines", epsilon=1, columns=columns, tables=[["street"]])
    for rows, warned in ((b"Main Street\nPark Lane\n", True), (b"10115\n80331\n", False)):
        page = visit()
        page.get("file_uploader")[0].upload("fines.csv", b"street\n" + rows).run()
        settled(page)
        visit_of(page).refresh(from_plan(plan))
        visit_of(page).settle("columns", "domain", "unit")
        settled(page.run())
        assert ("nearly all rows fall in *(other)*" in texts(page)) == warned
        assert ("*Found among* in step 3, does not fit" in texts(page)) == warned
