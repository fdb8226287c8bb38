"""Entries become a plan, or a list of what is still missing; never a guess from rows."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpengine import Amount, Category, Number, Plan, PlanError
from dpengine.spec import notation
from dpengine.spec.categories.universe_text import read_rule
from dpengine.spec.published_table import PublishedTable
from pages.parts.visit.plan.column_entry import (
    TO_CONFIRM,
    cleaned,
    confirmed,
    entry,
    listed,
    plan_of_one,
    same_cells,
    suggestion,
)
from pages.parts.visit.plan.entries import Entries
from pages.parts.visit.plan.plan_form import column_faults, from_plan, size_of, to_plan
from pages.parts.visit.plan.table_measures import measures_of
from pages.parts.visit.plan.tables import published, tables_of, used
from pages.parts.visit.project import file
from tests.pages.visits import ENTRY
from tests.plans import CLINIC, MEANS, PAIRS, PAY, geography_plan, letters_plan, plans


@given(plans())
def test_a_plan_taken_apart_and_put_together_is_the_same(plan: Plan) -> None:
    again = to_plan(from_plan(plan))
    assert again.key == plan.key
    assert again.marginals == plan.marginals


@given(plans(), st.sampled_from(["together", "pairs", "single", "own"]))
def test_tables_are_worked_out_again_only_when_what_they_follow_from_has_changed(plan: Plan, layout: str) -> None:
    entries = from_plan(plan).with_(own=plan.marginals)
    tables = published(entries)
    assert published(entries.with_(epsilon="2", title="other", declared=dict(entries.declared))) is tables
    other = entries.with_(layout=layout, margins=not entries.margins)
    assert published(other) == published(replace(other))
    assert used(other) == used(replace(other))
    renamed = entries.with_(declared={name: {**each, "kind": "amount"} for name, each in entries.declared.items()})
    assert published(renamed) == published(replace(renamed))


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


BESIDE = Plan.loads(
    PAY.replace("[sex], mean: [hours], weight: 3", "[age], ranges: true").replace(
        "- {name: state", "- {name: age, kind: number, edges: [0, 18, 65]}\n  - {name: state"
    )
)
PERSONS = letters_plan(
    [2, 2, 3],
    [
        ["a", "c"],
        {"columns": ["a", "b"], "distinct": True},
        {"columns": ["b", "c"], "distinct": True, "cells_per_person": 2, "weight": 3},
        {"columns": ["c"], "distinct": True},
    ],
    unit={"id": "who", "rows": 3},
)


@pytest.mark.parametrize("plan", [*map(Plan.loads, (PAY, MEANS, PAIRS)), geography_plan(3), BESIDE, PERSONS])
def test_amounts_measures_and_levels_come_back_as_they_were(plan: Plan) -> None:
    again = to_plan(from_plan(plan))
    assert again.key == plan.key
    assert again.tables == plan.tables
    assert [column.declared for column in again.columns] == [column.declared for column in plan.columns]


def test_an_amount_belongs_to_a_table_without_being_one_of_its_columns() -> None:
    entries = from_plan(Plan.loads(PAY)).with_(layout="together", margins=True, of_amounts=("sum", "median"))
    tables = {table.columns: measures_of(table) for table in published(entries)}
    each = [("sum", "pay"), ("sum", "hours"), ("median", "pay"), ("median", "hours")]
    assert tables == {("sex", "state"): each, ("sex",): each, ("state",): each}
    plan = to_plan(entries)
    assert len(plan.amount("hours").all_knots) == 21, "knots that a median needs, where none were declared"
    assert len(plan.amount("pay").all_knots) == 5, "and the declared ones where they were"


def test_single_columns_within_a_table_have_its_means() -> None:
    plan = to_plan(from_plan(Plan.loads(PAY)).with_(own=(("state", "sex"),), margins=True))
    assert plan.means(("state",)) == ("pay",)
    assert plan.means(("sex",)) == ("pay",)
    again = from_plan(plan)
    assert again.margins, "and are one tick again"
    assert to_plan(again).key == plan.key


def test_a_removed_column_takes_its_amounts_and_levels_along() -> None:
    entries = from_plan(Plan.loads(PAY)).with_(chosen=("sex", "state", "hours"))
    assert to_plan(entries).amounts(("state", "sex")) == ("hours",)
    places = from_plan(geography_plan(3))
    fewer = places.with_(declared=places.declared | {"place": places.declared["place"] | {"levels": []}})
    assert tables_of(fewer) == (("sex",), ("place", "sex"))


def test_a_value_that_belongs_to_no_group_is_named() -> None:
    entries = from_plan(geography_plan(3))
    place = entries.declared["place"]
    longer = place | {"values": [*place["values"], "nowhere"]}
    assert column_faults(entries.with_(declared={"place": longer}), "place")[0].startswith("nowhere belongs to no land")
    shorter = place | {"values": place["values"][1:]}
    assert column_faults(entries.with_(declared={"place": shorter}), "place") == ()
    assert size_of(entries, "place@zone") == len({above[0] for above in place["above"].values()}) + 2


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"from": "100", "to": "0", "step": "1"}, "the lower bound 100 must be below the upper one, 0"),
        ({"from": "0", "to": "100", "step": "30"}, "the upper bound 100 must be a multiple of the step 30"),
        ({"from": "", "to": "100", "step": "1"}, "between which bounds"),
        ({"from": "0", "to": "many", "step": "1"}, "finite number"),
    ],
)
def test_wrong_bounds_of_an_amount_are_reported_before_anything_is_spent(fields: dict[str, str], said: str) -> None:
    entries = Entries(declared={"pay": {"name": "pay", "kind": "amount", **fields}})
    assert any(said in fault for fault in column_faults(entries, "pay"))
    assert size_of(entries, "pay") is None


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


@pytest.mark.parametrize("layout", ["together", "pairs", "single"])
@pytest.mark.parametrize("margins", [True, False])
def test_a_plan_of_one_layout_comes_back_as_that_and_not_as_a_list(layout: str, margins: bool) -> None:
    entries = from_plan(letters_plan([2, 3, 2], [["a", "b", "c"]])).with_(layout=layout, margins=margins)
    again = from_plan(to_plan(entries))
    assert (again.layout, again.own) == (layout, ())
    assert again.margins is (margins or layout == "single")
    assert from_plan(to_plan(entries.with_(layout="own", own=(("a", "b"), ("c",)), margins=False))).layout == "own"
    averaged = from_plan(Plan.loads(PAY)).with_(layout=layout, margins=margins, more=())
    assert published(from_plan(to_plan(averaged))) == published(averaged)


def test_suggestions_come_from_names_and_kinds_and_leave_blanks() -> None:
    assert suggestion("age", "number")["edges"]
    assert suggestion("patient_age", "number")["edges"]
    assert suggestion("weight", "number")["edges"] == []
    wages = suggestion("wages", "number")
    assert (wages["kind"], wages["from"], wages["to"], wages["step"]) == ("amount", "0", "200000", "100")
    assert suggestion("wages", "number", keep_kind=True)["edges"] == []
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


@pytest.mark.parametrize("text", ["#####", "@## or @##.#, at most 50", "a-z up to 12 letters, share 1/3", "0 to 99"])
def test_values_that_are_to_be_found_are_kept_with_what_is_possible(text: str) -> None:
    column = Category(name="code", values="found", among=read_rule(text), missing_as=["?"])
    written = entry(column)
    assert plan_of_one(cleaned(written), "code").column("code") == column
    assert listed(written) == []
    assert column_faults(Entries(declared={"code": written}), "code") == ()
    assert not same_cells(written, written | {"among": {"pattern": "#"}})
    plan = Plan(dataset="d", epsilon=1, columns=[column], tables=[["code"]])
    assert to_plan(file.read(plan.dumps()).entries) == plan


@pytest.mark.parametrize("text", ["0 to 90 by 5 in 4 found bins", "-1 to 1 by 0.1 in 20 found bins, share 0.2"])
def test_bins_that_are_to_be_found_are_kept_with_their_range(text: str) -> None:
    fields = notation.read(text, "category")
    assert notation.write(fields) == text
    column = Number(name="pay", **{name: each for name, each in fields.items() if name not in ("kind", "edges")})
    written = entry(column)
    assert plan_of_one(cleaned(written), "pay").column("pay") == column
    assert column_faults(Entries(declared={"pay": written}), "pay") == ()
    assert not same_cells(written, written | {"bins": 7})
    plan = Plan(dataset="d", epsilon=1, columns=[column], tables=[["pay"]])
    assert to_plan(file.read(plan.dumps()).entries) == plan
    stated = written | {"bins": None, "edges": ["0", "9"]}
    assert plan_of_one(cleaned(stated), "pay").found_columns == (), "what a person states stands instead"


@pytest.mark.parametrize("text", ["0 to 90 by 1, upper bound found", "-5 to 95 by 0.5, upper bound found, share 0.2"])
def test_an_upper_bound_that_is_to_be_found_is_kept_with_its_share(text: str) -> None:
    fields = notation.read(text, "category")
    assert notation.write(fields) == text
    column = Amount(name="pay", **{name: each for name, each in fields.items() if name != "kind"})
    written = entry(column)
    assert plan_of_one(cleaned(written), "pay").column("pay") == column
    assert column_faults(Entries(declared={"pay": written}), "pay") == ()
    assert not same_cells(written, written | {"upper": None})
    tables = [{"columns": ["sex"], "quantiles": {"pay": [0.5]}}]
    plan = Plan(dataset="d", epsilon=1, columns=[column, {"name": "sex", "kind": "yesno"}], tables=tables)
    assert to_plan(file.read(plan.dumps()).entries) == plan
    stated = written | {"upper": None, "knots": ["0", "1", "90"], "from": "0", "to": "90"}
    assert plan_of_one(cleaned(stated), "pay").found_columns == (), "what a person states stands instead"
    found = column.with_high(column.low + 50)
    assert entry(found) == written, "what a release found is no entry"


def test_tables_that_only_count_are_not_checked_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    checked, check = [], PublishedTable.__init__
    monkeypatch.setattr(PublishedTable, "__init__", lambda table, **fields: checked.append(1) or check(table, **fields))
    names = tuple(f"c{k}" for k in range(40))
    declared = {name: {"name": name, "kind": "category"} for name in names}
    declared["pay"] = {"name": "pay", "kind": "amount"}
    assert len(published(Entries(chosen=names, declared=declared, layout="pairs"))) == 780 + 40
    assert not checked, "the page does this at every click that changes the tables"
    of_pay = published(Entries(chosen=(*names[:3], "pay"), declared=declared, layout="pairs"))
    assert [table.mean for table in of_pay] == [("pay",)] * 6
    assert len(checked) == len(of_pay)
