"""Words for readers change what is shown of a plan, and nothing that is counted or paid."""

from __future__ import annotations

import pytest
from streamlit.testing.v1 import AppTest

from dpengine import Plan
from pages.parts.visit import plan_form
from pages.parts.visit.project.changes import in_words
from tests.pages.visits import held, labelled, settled, texts, visit

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
    page.session_state[held(page).key("words")] = True
    return settled(page.run()).run()


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
    assert plan.column("size").shown[0] == "[0, 0.5)"


def test_ages_are_whole_numbers_unless_said_otherwise() -> None:
    entries = plan_form.from_plan(Plan.loads(CODED.replace("size", "age").replace(", whole: true", "")))
    entries = entries.with_(several_rows=False)
    assert plan_form.to_plan(entries).column("age").shown[0] == "[0, 2)", "a loaded plan says it itself"
    assert plan_form.to_plan(entries.with_(told={})).column("age").shown[0] == "0–1"


def test_publisher_and_words_are_taken_and_cost_nothing(census: AppTest) -> None:
    before_entries = held(census).entries
    before = plan_form.to_plan(before_entries)
    labelled(census.text_input, "Publisher").set_value("Office of Figures")
    labelled(census.selectbox, "Language of the report").set_value("de")
    labelled(census.button, "Use these").click().run()
    assert not census.exception
    name = census.selectbox(key=held(census).key("coded")).value
    value = before.column(name).labels[0]
    labelled(census.text_area, "Value = words").set_value(f"{value} = Something plain")
    labelled(census.button, "Use these words").click().run()
    assert not census.exception
    after = plan_form.to_plan(held(census).entries)
    assert (after.about.publisher, after.language) == ("Office of Figures", "de")
    assert in_words(before_entries, held(census).entries) == "words for readers"
    assert after.column(name).shown[0] == "Something plain"
    assert after.key == before.key


def test_a_line_that_begins_with_no_value_is_named_and_nothing_is_taken(census: AppTest) -> None:
    before = held(census).entries
    labelled(census.text_area, "Value = words").set_value("no such value = x")
    labelled(census.button, "Use these words").click().run()
    assert "No such value: no such value = x" in texts(census)
    assert held(census).entries == before
