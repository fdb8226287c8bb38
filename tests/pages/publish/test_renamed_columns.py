"""A plan of last year is used for a table in which a column has another name, and its release keeps the old name."""

from __future__ import annotations

import pytest
from streamlit.testing.v1 import AppTest

import dpengine as dpe
from tests.pages.publish.test_project import opened, uploaded
from tests.pages.visits import labelled, press, settled, texts, visit, visit_of

PLAN = dpe.Plan(
    dataset="people", epsilon="0.5", unit={"rows": 1}, tables=[["county", "sex"]],
    columns=[{"name": "county", "kind": "category", "values": ["North", "South"]},
             {"name": "sex", "kind": "category", "values": ["f", "m"]}],
)  # fmt: skip
READ = "Read the table under the plan's names"


def brought(names: str) -> AppTest:
    page = visit()
    rows = "\n".join(f"{('North', 'South')[k % 2]},{'fm'[k % 2]},{k}" for k in range(40))
    return uploaded(page, "Drop a table", "people.csv", f"{names}\n{rows}\n")


def columns(page: AppTest) -> list[str]:
    table = visit_of(page).table
    assert table is not None
    return [field.name for field in table.columns]


def loaded(page: AppTest) -> AppTest:
    """Load the plan in step 2."""
    page.session_state[visit_of(page).key("plan-box")] = True
    return uploaded(page.run(), "A plan file for this table", "plan.yaml", PLAN.dumps())


@pytest.mark.parametrize("bring", [loaded, lambda page: opened(page, "plan.yaml", PLAN.dumps())])
def test_a_column_with_another_name_is_read_under_that_of_the_plan(bring: object) -> None:
    page = bring(brought("County,sex,income"))  # type: ignore[operator]
    assert "this one has no county" in texts(page)
    assert labelled(page.selectbox, "The plan's county is").value == "County", "it differs in a letter only"
    press(page, READ)
    settled(page)
    assert columns(page) == ["county", "sex", "income"]
    assert visit_of(page).plan == PLAN
    assert visit_of(page).read_as == {"rename": {"County": "county"}}
    assert visit_of(page).waiting is None


def test_which_column_it_is_must_be_said_where_no_name_is_alike() -> None:
    page = loaded(brought("district,sex,income"))
    assert labelled(page.button, READ).disabled
    labelled(page.selectbox, "The plan's county is").set_value("district").run()
    press(page, READ)
    assert columns(settled(page)) == ["county", "sex", "income"]


def test_a_plan_for_a_wholly_other_table_is_refused_as_before() -> None:
    page = loaded(brought("a,b,c"))
    assert visit_of(page).waiting is None
    assert any("county" in each.value for each in page.warning), [each.value for each in page.warning]
    assert READ not in [each.label for each in page.button]


def test_a_plan_is_used_without_the_columns_that_the_table_no_longer_has() -> None:
    """If a column was dropped from the table, the declarations of all others stay."""
    page = loaded(brought("district,gender,income"))
    assert "Go on without" not in texts(page), "a table that has no column of the plan is rather another one"
    page = loaded(brought("place,sex,income"))
    press(page, "Go on without county")
    here = visit_of(page)
    assert (here.waiting, here.entries.chosen, here.entries.epsilon) == (None, ("sex",), "0.5")
    assert here.plan is not None
    assert here.plan.published == (("sex",), ())


def test_a_plan_may_lack_one_column_and_know_another_under_a_former_name() -> None:
    columns = [*PLAN.to_dict()["columns"], {"name": "age", "kind": "number", "edges": [0, 18, 65]}]
    plan = dpe.Plan(dataset="people", epsilon=1, unit={"rows": 1}, tables=[["county", "sex"], ["age", "sex"]],
                    columns=columns)  # fmt: skip
    page = opened(brought("district,sex,income"), "plan.yaml", plan.dumps())
    labelled(page.selectbox, "The plan's county is").set_value("district").run()
    press(page, "Go on without age")
    assert visit_of(page).waiting is not None
    press(page, READ)
    settled(page)
    made = visit_of(page).plan
    assert made is not None
    assert {*made.published} >= {("county", "sex"), ("sex",)}


def test_the_column_that_names_people_is_not_left_out() -> None:
    plan = PLAN.model_copy(update={"unit": dpe.Unit(id="person", rows=2)})
    page = opened(brought("county,sex,income"), "plan.yaml", plan.dumps())
    assert "this one has no person" in texts(page)
    assert not any(each.label.startswith("Go on without") for each in page.button)


def test_a_late_value_of_the_page_before_changes_no_plan_that_was_loaded() -> None:
    """A browser that has not drawn the loaded plan may still send what was chosen before: amounts, a strategy, ε."""
    page = brought("county,sex,income")
    labelled(page.multiselect, "Columns that matter").set_value(["county", "sex", "income"]).run()
    labelled(page.multiselect, "Averaged or added up").set_value(["income"]).run()
    before = page._tree.get_widget_states()
    columns = [*PLAN.to_dict()["columns"], {"name": "income", "kind": "number", "edges": [0, 20, 40]}]
    plan = dpe.Plan(dataset="people", epsilon=1, unit={"rows": 1}, tables=[["county", "income"]], columns=columns)
    page.session_state[visit_of(page).key("plan-box")] = True
    uploaded(page.run(), "A plan file for this table", "plan.yaml", plan.dumps())
    loaded_entries = visit_of(page).entries
    assert loaded_entries.declared["income"]["kind"] == "number"
    page._run(before)
    assert visit_of(page).entries == loaded_entries
