"""A survey has many columns of one kind: the answers to one of its questions are declared for all of them."""

from __future__ import annotations

import pytest
from streamlit.testing.v1 import AppTest

from tests.pages.visits import labelled, press, settled, texts, visit, visit_of

QUESTIONS = ["q1", "q2", "q3", "q4"]


def survey(*more: str) -> AppTest:
    """The third step of a survey with four questions and more columns."""
    page = visit()
    names = [*QUESTIONS, *more]
    page.get("file_uploader")[0].upload("s.csv", f"{','.join(names)}\n{','.join('1' * len(names))}\n".encode()).run()
    settled(page)
    page.multiselect[0].set_value(names).run()
    return press(page, "Go on to what is known")


def offers(page: AppTest) -> list[str]:
    return [button.label for button in page.button if button.label.startswith("The same for")]


@pytest.mark.nightly
def test_what_one_column_declares_is_given_to_all_that_are_blank_by_a_click() -> None:
    page = survey("age")
    assert offers(page) == [], "there is nothing to copy yet"
    labelled(page.text_area, "Values").set_value("1\n2").run()
    labelled(page.text_input, "mean missing").set_value("9").run()
    press(page, "The same for 3 columns still to fill in")
    declared = visit_of(page).entries.declared
    assert [declared[name] for name in QUESTIONS] == [declared["q1"] | {"name": name} for name in QUESTIONS]
    assert (declared["q4"]["values"], declared["q4"]["missing_as"]) == (["1", "2"], ["9"])
    assert declared["age"]["kind"] == "number", "a suggestion is no blank"
    assert offers(page) == []


@pytest.mark.nightly
def test_yes_and_no_are_given_to_blank_columns_though_these_were_guessed_to_be_categories() -> None:
    page = visit()
    names = ["likes_a", "likes_b", "likes_c", "does_a", "school", "age"]
    page.get("file_uploader")[0].upload("s.csv", (",".join(names) + "\n" + "x," * 5 + "9\n").encode()).run()
    settled(page)
    page.multiselect[0].set_value(names).run()
    press(page, "Go on to what is known")
    labelled(page.segmented_control, "Kind").set_value("yesno").run()
    press(page, "The same for 4 columns still to fill in")
    declared = visit_of(page).entries.declared
    assert [declared[name]["kind"] for name in names] == ["yesno"] * 5 + ["number"], "a suggestion is no blank"


def test_one_declaration_does_for_all_columns_of_a_persons_choice() -> None:
    page = survey("age")
    labelled(page.text_area, "Values").set_value("1\n2").run()
    press(page, "The same for 3 columns still to fill in")
    labelled(page.text_area, "Values").set_value("1\n2\n3").run()
    page.session_state[visit_of(page).fresh_key("same-box")] = True
    page.run()
    labelled(page.multiselect, "same values or bins as q1").set_value(["q2", "q4"]).run()
    press(page, "Declare 2 columns like it")
    declared = visit_of(page).entries.declared
    assert [len(declared[name]["values"]) for name in QUESTIONS] == [3, 3, 2, 3]
    assert (declared["q4"]["name"], declared["age"]["kind"]) == ("q4", "number")


@pytest.mark.nightly
def test_few_columns_or_dates_are_not_taken_for_alike() -> None:
    page = survey()
    labelled(page.segmented_control, "Kind").set_value("date").run()
    assert offers(page) == []
    labelled(page.segmented_control, "Kind").set_value("category").run()
    labelled(page.text_area, "Values").set_value("1\n2").run()
    assert len(offers(page)) == 1
    labelled(page.selectbox, "One column in detail").set_value("q2").run()
    labelled(page.text_area, "Values").set_value("3\n4").run()
    assert offers(page) == [], "two more columns are soon filled in"


@pytest.mark.nightly
def test_codes_typed_as_in_the_grid_are_one_value_or_listed_by_a_click() -> None:
    page = survey()
    labelled(page.text_area, "Values").set_value("none\n1..3\n9").run()
    assert "1..3 stands here as one single value." in texts(page)
    assert visit_of(page).entries.declared["q1"]["values"] == ["none", "1..3", "9"]
    press(page, "List the 3 codes")
    assert visit_of(page).entries.declared["q1"]["values"] == ["none", "1", "2", "3", "9"]
    labelled(page.text_area, "Values").set_value("3..1").run()
    assert not [button for button in page.button if button.label.startswith("List the")]
