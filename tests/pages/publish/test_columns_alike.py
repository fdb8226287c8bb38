"""A survey has many columns of one kind: the answers to one of its questions are declared for all of them."""

from __future__ import annotations

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


def test_codes_typed_as_in_the_grid_are_one_value_or_listed_by_a_click() -> None:
    page = survey()
    labelled(page.text_area, "Values").set_value("none\n1..3\n9").run()
    assert "1..3 stands here as one single value." in texts(page)
    assert visit_of(page).entries.declared["q1"]["values"] == ["none", "1..3", "9"]
    press(page, "List the 3 codes")
    assert visit_of(page).entries.declared["q1"]["values"] == ["none", "1", "2", "3", "9"]
    labelled(page.text_area, "Values").set_value("3..1").run()
    assert not [button for button in page.button if button.label.startswith("List the")]
