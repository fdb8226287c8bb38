"""A plan that counts distinct persons, opened on the page: nothing of it is lost, and each such table says so."""

from __future__ import annotations

import pytest

from dpengine.results.alternatives import predict_table
from dpengine.spec.published_table import PublishedTable
from dpengine.spec.wording import people
from pages.parts.visit.plan.entries import Entries
from pages.parts.visit.plan.plan_form import from_plan, to_plan
from pages.parts.visit.plan.table_measures import PERSONS
from pages.parts.visit.plan.tables import published
from tests.pages.visits import labelled, press, project_text, settled, texts, visit, visit_of
from tests.plans import letters_plan


@pytest.mark.nightly  # what the page does with such a plan is tested in tests/pages/visit/test_plan_form.py
def test_tables_of_distinct_persons_stay_so_when_the_columns_are_changed() -> None:
    page = visit()
    rows = "".join(f"p{k // 2},a{k % 2},b{k % 2}\n" for k in range(40))
    page.get("file_uploader")[0].upload("letters.csv", f"who,a,b\n{rows}".encode()).run()
    several = {"columns": ["a", "b"], "distinct": True, "cells_per_person": 2}
    plan = letters_plan([2, 2], [["a"], several], unit={"id": "who", "rows": 3})
    visit_of(page).refresh(from_plan(plan))
    visit_of(page).settle("table", "columns", "domain")
    settled(page.run())
    press(page, "Change the columns")
    assert not page.exception
    assert "a × b (each person once in each of at most 2 cells): " in texts(page)
    assert visit_of(page).plan.key == plan.key


def test_a_table_counts_persons_its_error_is_told_first_and_what_is_left_out_is_for_the_owner_alone() -> None:
    page = visit()
    rows = "".join(f"p{k // 3},{'NS'[k % 2]},{'ab'[k % 3 // 2]}\n" for k in range(30))
    page.get("file_uploader")[0].upload("visits.csv", f"patient_id,region,ward\n{rows}".encode()).run()
    page.multiselect[0].set_value(["region", "ward"]).run()
    page.radio[0].set_value("own").run()
    labelled(page.multiselect, "First table: counts by").set_value(["region", "ward"]).run()
    labelled(page.multiselect, "Another table: counts by").set_value(["region"]).run()
    labelled(page.multiselect, "Table 1: also").set_value([PERSONS]).run()
    assert "region × ward (each person once in each cell)" in texts(page)
    assert "is said here once all columns are declared" in texts(page), "no number while it is not known"
    here = visit_of(page)
    declared = {
        name: {"name": name, "kind": "category", "values": values, "other": False, "missing": False}
        for name, values in (("region", ["N", "S"]), ("ward", ["a", "b"]))
    }
    here.refresh(here.entries.with_(declared=declared, several_rows=True, id_column="patient_id", rows=3))
    here.settle("domain", "unit")
    here.open_step("columns")
    page.run()
    labelled(page.number_input, "cells in which a person may count").set_value(2).run()
    assert not page.exception
    plan = to_plan(here.entries)
    assert [(table.distinct, table.cells_per_person) for table in here.entries.more] == [(True, 2)]
    width, as_rows = (
        float(predict_table(each, ("region", "ward"))["half_width_95"].iloc[0])
        for each in (plan, to_plan(here.entries.with_(more=())))
    )
    said = texts(page)
    assert f"within **±{people(width)}** people. If it counted rows, with 3 rows a person" in said
    assert f"within ±{people(as_rows)} rows" in said
    before = project_text(here), plan.dumps()
    page.session_state[here.key("kept-region × ward")] = True
    page.run()
    labelled(page.toggle, "Show them to me").set_value(True).run()
    settled(page)
    kept = next(frame.value for frame in page.dataframe if "people" in frame.value)
    assert kept["kept"].tolist()[:3] == [10, 20, 30], "each of ten people is in three of the four cells"
    assert (project_text(here), plan.dumps()) == before, "what was seen goes into no file"
    labelled(page.multiselect, "Table 2: counts by").set_value(["ward", "region"]).run()
    labelled(page.multiselect, "Table 2: also").set_value([PERSONS]).run()
    assert not page.exception, "the same table may be listed twice"
    labelled(page.multiselect, "Table 2: also").set_value([]).run()
    labelled(page.multiselect, "Table 1: also").set_value([]).run()
    assert not page.exception
    assert here.entries.more == ()


@pytest.mark.nightly
def test_a_table_of_rows_and_of_persons_with_the_same_columns_is_refused_where_it_is_listed() -> None:
    """Otherwise the plan would be refused only at the end, and nothing be drawn beside the steps until then."""
    page = visit()
    rows = "".join(f"p{k // 3},{'NS'[k % 2]},{k % 9}\n" for k in range(30))
    page.get("file_uploader")[0].upload("trips.csv", f"patient_id,region,km\n{rows}".encode()).run()
    page.multiselect[0].set_value(["region", "km"]).run()
    page.radio[0].set_value("own").run()
    labelled(page.multiselect, "First table: counts by").set_value(["region"]).run()
    labelled(page.multiselect, "Another table: counts by").set_value(["region"]).run()
    labelled(page.multiselect, "Table 2: also").set_value([PERSONS]).run()
    go_on = "Go on to what is known"
    assert "**region** is listed twice" in texts(page)
    assert labelled(page.button, go_on).disabled
    labelled(page.multiselect, "Table 1: also").set_value([PERSONS]).run()
    assert "is listed twice" not in texts(page)
    press(page, go_on)
    here = visit_of(page)
    region = {"name": "region", "kind": "category", "values": ["N", "S"]}
    here.refresh(here.entries.with_(declared=here.entries.declared | {"region": region}))
    assert "What readers will see, so far" in texts(page.run()), "although nobody named the column of the persons yet"


def test_single_columns_of_a_table_of_persons_count_persons_too_as_its_sums_do() -> None:
    """They counted rows, for a share of ε of their own, under the words *at no extra cost*."""
    names, persons = ("age", "sex"), PublishedTable(columns=("age", "sex"), distinct=True)
    entries = Entries(chosen=names, layout="own", own=(names,), more=(persons,))
    assert [(table.columns, table.distinct) for table in published(entries)] == [
        (names, True), (("age",), True), (("sex",), True)
    ]  # fmt: skip
    listed = entries.with_(own=(names, ("sex",)))
    assert [table.distinct for table in published(listed)] == [True, False, True], "sex is listed to count rows"
    several = entries.with_(more=(persons.model_copy(update={"cells_per_person": 2}),))
    assert len(published(several)) == 1, "a person in several cells is in several sums"


def test_a_list_of_ones_own_begins_with_the_tables_of_the_plan_so_far() -> None:
    page = visit()
    page.get("file_uploader")[0].upload("visits.csv", b"patient_id,region,ward\np1,N,a\np1,S,b\n").run()
    page.multiselect[0].set_value(["region", "ward"]).run()
    here = visit_of(page)
    here.change(several_rows=True, id_column="patient_id", rows=2)
    page.radio[0].set_value("own").run()
    assert here.entries.own == (("region", "ward"),)
    assert labelled(page.multiselect, "Table 1: counts by").value == ["region", "ward"]


@pytest.mark.nightly
def test_step_4_turns_tables_of_rows_into_tables_of_persons_by_a_click() -> None:
    """A registrar who wants numbers of patients had to lay out all tables anew, as a list."""
    page = visit()
    rows = "".join(f"p{k // 3},{'NS'[k % 2]},{'ab'[k % 3 // 2]}\n" for k in range(60))
    page.get("file_uploader")[0].upload("visits.csv", f"patient_id,region,ward\n{rows}".encode()).run()
    page.multiselect[0].set_value(["region", "ward"]).run()
    here = visit_of(page)
    declared = {
        name: {"name": name, "kind": "category", "values": values}
        for name, values in (("region", ["N", "S"]), ("ward", ["a", "b"]))
    }
    here.refresh(here.entries.with_(declared=declared))
    here.settle("columns", "domain")
    settled(page.run())
    labelled(page.number_input, "Rows per person").set_value(3).run()
    assert "a person with 3 rows counts 3 times" in texts(page)
    press(page, "Count each person once instead")
    settled(page)
    assert [(table.columns, table.distinct) for table in to_plan(here.entries).listed] == [
        (("region", "ward"), True), (("region",), True), (("ward",), True)
    ]  # fmt: skip
    assert (here.entries.rows, here.entries.id_column) == (3, "patient_id")
    assert "region × ward, region, ward · each person once in each cell" in texts(page)
    assert "Count each person once instead" not in [button.label for button in page.button]
    assert "Your tables count persons" in texts(page)
