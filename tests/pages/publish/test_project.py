"""Projects: decisions can be undone and redone, saved and opened, copied for next year, and stay private."""

from __future__ import annotations

import pandas as pd
import pytest
from streamlit.testing.v1 import AppTest

import dpengine as dpe
from pages.parts.visit.plan.entries import Draft
from pages.parts.visit.project import file
from tests.pages.publish.test_steps import CLINIC, choose, go_on
from tests.pages.visits import labelled, ledger, press, settled, texts, visit, visit_of

MORE = f"{CLINIC}20,40,North,01/02/2024\n"


@pytest.fixture
def clinic() -> AppTest:
    page = visit()
    page.get("file_uploader")[0].upload("clinic.csv", CLINIC.encode()).run()
    return page


def uploaded(page: AppTest, label: str, name: str, content: str) -> AppTest:
    labelled(page.get("file_uploader"), label).upload(name, content.encode()).run()
    assert not page.exception
    return settled(page)


def menu(page: AppTest) -> AppTest:
    """Open the project's menu."""
    page.session_state[visit_of(page).fresh_key("project-box")] = True
    return page.run()


def opened(page: AppTest, name: str, content: str) -> AppTest:
    return uploaded(menu(page), "Open a project", name, content)


def named(page: AppTest, key: str) -> str:
    return str(page.button(key=key).label)


def test_each_decision_is_undone_and_made_again_by_name(clinic: AppTest) -> None:
    choose(clinic, "age", "region")
    labelled(clinic.text_area, "Values").set_value("North\nSouth").run()
    labelled(clinic.selectbox, "in detail").set_value("age").run()
    labelled(clinic.text_input, "Edges").set_value("0, 20, 40").run()
    go_on(clinic)
    clinic.radio[0].set_value("one").run()
    go_on(clinic)
    clinic.select_slider[0].set_value("2").run()
    done = visit_of(clinic).entries
    assert named(clinic, "undo") == "Undo: ε 1 → 2"
    past = [each.words for each in visit_of(clinic).history.past]
    assert past[:3] == ["add age, region", "region: 2 values", "age: 0, 20, 40"]
    assert past[-2:] == ["each row is one person", "ε 1 → 2"]

    clinic.button(key="undo").click().run()
    assert clinic.select_slider[0].value == "1"
    assert named(clinic, "redo") == "Redo: ε 1 → 2"
    steps = 0
    while not clinic.button(key="undo").disabled:
        clinic.button(key="undo").click().run()
        assert not clinic.exception
        steps += 1
        assert steps < 20, "nothing that the page fills in holds undo back"
    assert visit_of(clinic).entries.chosen == ()
    while not clinic.button(key="redo").disabled:
        clinic.button(key="redo").click().run()
        assert not clinic.exception
    assert visit_of(clinic).entries == done
    assert clinic.select_slider[0].value == "2"
    clinic.button(key="undo").click().run()
    clinic.select_slider[0].set_value("0.5").run()
    assert clinic.button(key="redo").disabled, "another decision takes the place of what was undone"


@pytest.mark.nightly
def test_an_unfinished_project_is_saved_and_opened_before_its_table(clinic: AppTest) -> None:
    choose(clinic, "age", "visit_date")
    labelled(clinic.selectbox, "in detail").set_value("age").run()
    labelled(clinic.text_input, "Edges").set_value("0, 20, 40").run()
    here = visit_of(clinic)
    draft = Draft(here.table_name, here.sample, tuple(sorted(here.settled)), here.entries)
    text = file.write(draft, here.history)
    assert "edges: ['0', '20', '40']" in text
    assert "age: 0, 20, 40" in text, "what was decided, in words"
    assert "Rare disease" not in text, "no value of a row"

    later = visit()
    opened(later, "clinic.project.yaml", text)
    assert "The plan for clinic.csv is open." in texts(later)
    uploaded(later, "Drop a table", "clinic.csv", CLINIC)
    assert visit_of(later).entries == here.entries
    assert visit_of(later).step == "domain"
    opened(later, "no.yaml", "project: {version: '1'}")
    assert "this project file cannot be read: see project.columns" in texts(later)


@pytest.mark.nightly
def test_a_plan_file_opened_with_its_table_at_hand_can_be_undone(clinic: AppTest) -> None:
    plan = dpe.Plan(dataset="c", epsilon="0.5", columns=[{"name": "age", "kind": "number", "edges": [0, 50]}],
                    tables=[["age"]])  # fmt: skip
    choose(clinic, "region")
    before = visit_of(clinic).entries
    opened(clinic, "plan.yaml", plan.dumps())
    assert visit_of(clinic).plan == plan
    assert named(clinic, "undo").startswith("Undo: open the plan")
    clinic.button(key="undo").click().run()
    assert (visit_of(clinic).entries, visit_of(clinic).step) == (before, "domain")


@pytest.mark.nightly
def test_a_new_file_with_the_same_columns_keeps_the_plan_and_its_budget(clinic: AppTest) -> None:
    choose(clinic, "age", "region")
    before = visit_of(clinic).entries
    clinic.button(key="change-table").click().run()
    assert not clinic.exception
    press(clinic, "Keep this table and go back")
    assert visit_of(clinic).step == "domain"
    clinic.button(key="change-table").click().run()
    uploaded(clinic, "Drop a table", "clinic-2.csv", MORE)
    assert visit_of(clinic).entries == before
    said = texts(clinic).replace("*", "")
    assert "It spends the budget of clinic, too" in said
    assert "Values that the plan does not list fall in (other). To see whether rows do, Check the fit" in said
    visit_of(clinic).open_step("columns")
    clinic.run()
    press(clinic, "Go to the values")
    assert visit_of(clinic).step == "domain"
    here = visit_of(clinic)
    assert here.made_before
    press(clinic, "Begin a new plan instead")
    assert not here.made_before
    assert visit_of(clinic).entries == visit_of(clinic).entries.with_(chosen=(), dataset="clinic-2", title="clinic-2")
    clinic.button(key="undo").click().run()
    assert visit_of(clinic).entries == before


@pytest.mark.nightly
def test_a_sample_asks_before_it_takes_the_place_of_a_plan_and_the_plan_comes_back(clinic: AppTest) -> None:
    choose(clinic, "age", "region")
    before = visit_of(clinic).entries
    clinic.button(key="change-table").click().run()
    assert "Your plan for clinic.csv is put aside" in texts(clinic)
    clinic.button(key="sample_rand").click().run()
    clinic.button(key="change-table").click().run()
    clinic.button(key="sample_census").click().run()
    assert visit_of(clinic).sample == "census"
    offered = labelled(menu(clinic).selectbox, "Recent")
    offered.set_value(offered.options[0]).run()
    press(clinic, "Open it")
    assert "Your plan for clinic.csv still waits for its table" in texts(clinic)
    uploaded(clinic, "Drop a table", "clinic.csv", CLINIC)
    assert visit_of(clinic).entries == before


@pytest.mark.nightly
def test_an_earlier_release_is_copied_to_next_year() -> None:
    columns = [{"name": "region", "kind": "category", "values": ["North", "South"]}]
    plan = dpe.Plan(dataset="visits-2025", title="Visits 2025", epsilon="0.25", columns=columns, tables=[["region"]],
                    about={"period": "2025", "publisher": "Office"})  # fmt: skip
    dpe.release(pd.DataFrame({"region": ["North"] * 20}), plan, ledger())
    dpe.release(pd.DataFrame({"region": ["South"] * 9}), plan, ledger().for_owner("group:others"))
    dpe.release(pd.DataFrame({"region": ["South"] * 7}), plan.model_copy(update={"dataset": "theirs"}),
                ledger().for_owner("group:others"))  # fmt: skip
    dpe.release(pd.DataFrame({"region": ["North"] * 5}), plan.model_copy(update={"dataset": "stays", "title": "Stays"}),
                ledger())  # fmt: skip
    page = menu(visit())
    offered = labelled(page.selectbox, "Recent")
    assert len(offered.options) == 2, "nothing of another owner"
    offered.set_value(offered.options[0]).run()
    assert labelled(page.text_input, "Title").value == "Stays"
    labelled(page.selectbox, "Recent").set_value(offered.options[1]).run()
    assert labelled(page.text_input, "Title").value == "Visits 2026"
    assert labelled(page.text_input, "Period").value == "2026"
    assert "shares the budget" in texts(page)
    labelled(page.text_input, "Dataset whose budget").set_value("visits-2026").run()
    assert "budget of its own" in texts(page)
    press(page, "Copy it")
    assert "The plan for Visits 2026 is open." in texts(page)
    uploaded(page, "Drop a table", "new.csv", CLINIC)
    taken = visit_of(page).plan
    assert taken is not None
    assert (taken.title, taken.dataset, taken.about.period, taken.about.publisher) == (
        "Visits 2026", "visits-2026", "2026", "Office",
    )  # fmt: skip
    assert (taken.key, taken.epsilon) == (plan.key, plan.epsilon)

    offered = labelled(menu(page).selectbox, "Recent")
    offered.set_value(offered.options[-1]).run()
    press(page, "Copy it")
    assert visit_of(page).plan == taken, "a copy is for another table than the one that has a plan"
    assert "The plan for Visits 2026 is open." in texts(page)


@pytest.mark.nightly
def test_a_plan_that_is_kept_for_a_new_file_still_says_earlier_where_new_categories_go(clinic: AppTest) -> None:
    choose(clinic, "age", "region")
    clinic.button(key="change-table").click().run()
    uploaded(clinic, "Drop a table", "clinic-2.csv", MORE)
    press(clinic, "Keep the plan")
    assert not visit_of(clinic).continued
    assert visit_of(clinic).made_before, "so warnings begin at one row in twenty, as fit.py tests"
