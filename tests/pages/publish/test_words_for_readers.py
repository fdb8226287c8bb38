"""Words for readers change what is shown of a plan, and nothing that is counted or paid."""

from __future__ import annotations

import json

import pytest
from streamlit.testing.v1 import AppTest

from dpengine import Plan
from pages.parts.visit.plan import plan_form
from pages.parts.visit.project.changes import in_words
from tests.pages.visits import labelled, press, settled, texts, visit, visit_of

CODED = """
dataset: d
epsilon: "1"
notes: As in the questionnaire.
language: de
about: {publisher: Office, licence: CC0}
columns:
  - {name: sex, kind: category, values: ["1", "2"], label: Sex, words: {"1": male, "2": female}}
  - {name: size, kind: number, edges: [0, 2, 5], whole: true, description: People in the household.}
tables: [[sex, size]]
"""


@pytest.fixture
def census() -> AppTest:
    page = visit()
    page.button(key="sample_census").click().run()
    page.session_state[visit_of(page).key("words")] = True
    return settled(page.run()).run()


def typed_into_grid(page: AppTest, rows: dict[str, dict[str, str]]) -> None:
    """Send what is typed into the grid as a browser does, which `AppTest` cannot do by itself."""
    states = page._tree.get_widget_states()
    edits = {"edited_rows": rows, "added_rows": [], "deleted_rows": []}
    states.widgets.add(id=page.data_editor[0].proto.id, string_value=json.dumps(edits))
    page._run(states)
    assert not page.exception


def test_entries_keep_what_a_loaded_plan_tells_readers() -> None:
    plan = Plan.loads(CODED)
    again = plan_form.to_plan(plan_form.from_plan(plan).with_(several_rows=False))
    assert (again.notes, again.language, again.about) == (plan.notes, "de", plan.about)
    assert again.columns == plan.columns


def test_words_that_no_longer_fit_are_left_out_and_kept_for_later() -> None:
    entries = plan_form.from_plan(Plan.loads(CODED)).with_(several_rows=False)
    declared = entries.declared | {
        "sex": entries.declared["sex"] | {"values": ["1", "3"]},
        "size": entries.declared["size"] | {"edges": ["0", "0.5", "5"]},
    }
    plan = plan_form.to_plan(entries.with_(declared=declared))
    assert plan.column("sex").shown[:2] == ("male", "3")
    assert plan.column("size").shown[0] == "0 to <0.5"


def test_ages_are_whole_numbers_unless_said_otherwise() -> None:
    entries = plan_form.from_plan(Plan.loads(CODED.replace("size", "age").replace(", whole: true", "")))
    entries = entries.with_(several_rows=False)
    assert plan_form.to_plan(entries).column("age").shown[0] == "0 to <2", "a loaded plan says it itself"
    assert plan_form.to_plan(entries.with_(texts={})).column("age").shown[0] == "0–1"


def test_what_is_typed_is_taken_without_a_button_and_costs_nothing(census: AppTest) -> None:
    before_entries = visit_of(census).entries
    before = plan_form.to_plan(before_entries)
    assert not [button for button in census.button if "Use these" in button.label]
    labelled(census.text_input, "Publisher").set_value("Office of Figures")
    labelled(census.selectbox, "Language of the report").set_value("de")
    name = census.selectbox(key=visit_of(census).key("coded")).value
    value = before.column(name).labels[0]
    labelled(census.text_area, "Value = words").set_value(f"{value} = Something plain")
    press(census, "Publish once")
    settled(census)
    after = plan_form.to_plan(visit_of(census).entries)
    release = visit_of(census).release
    assert release is not None
    assert (release.plan.about.publisher, release.plan.language) == ("Office of Figures", "de")
    assert release.plan.column(name).shown[0] == "Something plain"
    assert in_words(before_entries, visit_of(census).entries) == "words for readers"
    assert after.key == before.key


@pytest.mark.nightly
def test_names_typed_into_the_grid_are_taken_and_drawn_anew_after_undo(census: AppTest) -> None:
    key = census.data_editor[0].key
    typed_into_grid(census, {"0": {"name for readers": " First "}})
    first = plan_form.to_plan(visit_of(census).entries).used[0]
    assert visit_of(census).entries.texts[first]["label"] == "First"
    assert census.data_editor[0].key == key, "a person goes on typing in the same grid"
    visit_of(census).undo()
    census.session_state[visit_of(census).key("words")] = True
    census.run()
    assert visit_of(census).entries.texts[first]["label"] == "Age"
    assert census.data_editor[0].value["name for readers"][0] == "Age"


@pytest.mark.nightly
def test_a_line_that_begins_with_no_value_is_named_and_nothing_is_taken(census: AppTest) -> None:
    before = visit_of(census).entries
    labelled(census.text_area, "Value = words").set_value("no such value = x").run()
    assert "No such value: no such value = x" in texts(census)
    assert visit_of(census).entries == before
    labelled(census.text_input, "Publisher").set_value("x" * 100_000).run()
    assert texts(census).count("Not taken over") == 2, "each beside its box"
    labelled(census.text_input, "Publisher").set_value("x").run()
    assert texts(census).count("Not taken over") == 1
    assert visit_of(census).entries.about == before.about | {"publisher": "x"}
