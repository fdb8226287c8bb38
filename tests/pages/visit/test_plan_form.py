"""Entries become a plan, or a list of what is still missing; never a guess from rows."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpengine import Plan, PlanError
from pages.parts.visit.plan_form import (
    TO_CONFIRM,
    Entries,
    column_faults,
    confirmed,
    entry,
    from_plan,
    suggestion,
    tables_of,
    to_plan,
)
from tests.pages.visits import ENTRY
from tests.plans import CLINIC, plans


@given(plans())
def test_a_plan_taken_apart_and_put_together_is_the_same(plan: Plan) -> None:
    again = to_plan(from_plan(plan))
    assert again.key == plan.key
    assert again.marginals == plan.marginals


@given(plans(), st.sampled_from(["together", "pairs", "own"]))
def test_the_box_for_single_columns_is_ticked_again_and_still_does_something(plan: Plan, layout: str) -> None:
    before = from_plan(plan).with_(own=plan.marginals, layout=layout, margins=True, ranges=False)
    published = to_plan(before)
    again = from_plan(published)
    assert to_plan(again).marginals == published.marginals
    assert to_plan(again).key == published.key
    if any(len(table) > 1 for table in published.marginals) and layout != "own":
        assert again.margins
        assert all(len(table) > 1 for table in tables_of(again.with_(margins=False)))


@pytest.mark.parametrize("name", ["census", "rand"])
def test_the_samples_fill_every_step(name: str) -> None:
    plan = Plan.load(ENTRY.parent / "data" / f"{name}.plan.yaml")
    assert to_plan(from_plan(plan)).key == plan.key


@pytest.mark.parametrize(
    ("layout", "margins", "expected"),
    [
        ("together", False, {("a", "b", "c")}),
        ("together", True, {("a", "b", "c"), ("a",), ("b",), ("c",)}),
        ("pairs", False, {("a", "b"), ("a", "c"), ("b", "c")}),
        ("single", True, {("a",), ("b",), ("c",)}),
        ("own", False, {("a", "b"), ("c",)}),
        ("own", True, {("a", "b"), ("c",), ("a",), ("b",)}),
    ],
)
def test_layouts_make_tables(layout: str, margins: bool, expected: set[tuple[str, ...]]) -> None:
    entries = Entries(
        chosen=("a", "b", "c"), layout=layout, margins=margins, own=(("a", "b"), ("c", "gone"), ("b", "a"))
    )
    assert set(tables_of(entries)) == expected


def test_nothing_chosen_makes_no_table() -> None:
    assert tables_of(Entries()) == ()
    assert tables_of(Entries(chosen=("a",), layout="pairs")) == (("a",),)


def test_suggestions_come_from_names_and_kinds_and_leave_blanks() -> None:
    assert suggestion("age", "number")["edges"]
    assert suggestion("patient_age", "number")["edges"]
    assert suggestion("wages", "number")["edges"] == []
    assert suggestion("region", "category")["values"] == []
    assert column_faults(Entries(declared={"region": suggestion("region", "category")}), "region")
    assert column_faults(Entries(declared={"visit": suggestion("visit", "date")}), "visit")


@pytest.mark.parametrize(("name", "kind"), [("smokes", "yesno"), ("age", "number"), ("sex", "category")])
def test_a_suggestion_makes_no_plan_before_it_is_confirmed(name: str, kind: str) -> None:
    column = suggestion(name, kind)
    entries = Entries(chosen=(name,), declared={name: column}, dataset="d", several_rows=False)
    assert column_faults(entries, name) == (TO_CONFIRM,)
    with pytest.raises(PlanError, match="confirm the suggestion"):
        to_plan(entries)
    sure = entries.with_(declared={name: confirmed(column)})
    assert not column_faults(sure, name)
    assert to_plan(sure).used == (name,)


def test_a_kind_that_a_person_chose_gets_only_suggestions_of_that_kind() -> None:
    assert suggestion("sex", "number", keep_kind=True)["edges"] == []
    assert suggestion("smokes", "category")["kind"] == "yesno"
    assert suggestion("smokes", "category", keep_kind=True)["values"] == []


def test_an_entry_declares_the_column_it_was_made_from() -> None:
    for column in Plan.loads(CLINIC).columns:
        rebuilt = Plan(dataset="x", epsilon=1, columns=[entry(column)], tables=[[column.name]])
        assert rebuilt.columns[0].labels == column.labels


def test_several_rows_a_person_need_an_id_column() -> None:
    entries = from_plan(Plan.loads(CLINIC)).with_(several_rows=True, rows=3)
    with pytest.raises(PlanError, match="identifies the person"):
        to_plan(entries)
    assert to_plan(entries.with_(id_column="patient")).unit.rows == 3


def test_columns_in_no_table_are_left_out_of_the_plan() -> None:
    entries = from_plan(Plan.loads(CLINIC)).with_(own=(("age",),))
    assert to_plan(entries).used == ("age",)
    assert [column.name for column in to_plan(entries).columns] == ["age"]
