"""Columns that name a person or number the rows belong in no table: the page says so before they are published."""

from __future__ import annotations

from streamlit.testing.v1 import AppTest

from tests.pages.visits import labelled, press, settled, visit, visit_of


def chosen(header: str, rows: list[str], *names: str) -> AppTest:
    """The second step with all columns of a table, or only these."""
    page = visit()
    page.get("file_uploader")[0].upload("people.csv", "\n".join([header, *rows, ""]).encode()).run()
    settled(page)
    page.multiselect[0].set_value(list(names) or header.split(",")).run()
    return settled(settled(page).run())  # rows that were read before the first look are drawn at the next run


def warnings(page: AppTest) -> str:
    return "".join(each.value for each in page.warning)


def test_the_key_of_a_person_is_named_if_all_columns_are_chosen_and_left_out_by_a_click() -> None:
    page = chosen("client,need", ["C1,food", "C2,debt"])
    assert "client may say who a person is" in warnings(page)
    press(page, "Leave it out")
    assert (page.multiselect[0].value, visit_of(page).entries.chosen) == (["need"], ("need",))
    assert "may say who" not in warnings(page)


def test_a_word_for_people_is_a_column_like_others_once_its_values_are_declared() -> None:
    page = chosen("student,age", ["yes,20", "no,30"])
    assert "student may say who a person is" in warnings(page)
    entries = visit_of(page).entries
    student = {"name": "student", "kind": "yesno", "source": "typed"}
    visit_of(page).change(declared=entries.declared | {"student": student | {"kind": "category", "values": ["a"]}})
    assert "student may say" not in warnings(page.run())


def test_a_column_with_another_value_in_nearly_every_row_is_named_whatever_it_is_called() -> None:
    rows = [f"x{k},{'ab'[k % 2]}" for k in range(60)]
    page = chosen("q17,kind", rows)
    assert "q17 has another value in nearly every row. Only you see this." in warnings(page)
    press(page, "Leave it out")
    assert page.multiselect[0].value == ["kind"]


def test_few_rows_that_differ_by_chance_raise_no_warning() -> None:
    assert warnings(chosen("q17,kind", [f"x{k},{k}" for k in range(10)])) == ""


def test_wages_and_measurements_that_all_differ_are_no_ids() -> None:
    assert warnings(chosen("v17;kind", [f"{1000 + k},{k % 9 + 1}5;a" for k in range(60)])) == ""
    assert warnings(chosen("Bruttolohn,kind", [f"{1000 + k},a" for k in range(60)])) == "", "an amount by its name"


def fourth_step(text: str) -> AppTest:
    """The fourth step for a table whose column *ward* is published."""
    page = visit()
    page.get("file_uploader")[0].upload("stays.csv", text.encode()).run()
    page.multiselect[0].set_value(["ward"]).run()
    here = visit_of(page)
    here.refresh(here.entries.with_(declared={"ward": {"name": "ward", "kind": "category", "values": ["a", "b"]}}))
    here.settle("columns", "domain")
    return settled(page.run())


def test_the_column_that_names_the_person_is_suggested_though_that_of_the_visits_stands_first() -> None:
    """It suggested the visits' numbers, which protect one visit, and not the patient."""
    page = fourth_step("visit_id,id,patient_id,ward\n1,7,P1,a\n2,8,P1,b\n")
    assert labelled(page.selectbox, "Column that identifies the person").value == "patient_id"
    alone = fourth_step("visit_id,ward\n1,a\n2,b\n")
    assert alone.radio[0].value is None, "a visit's number says nothing of persons"


def test_the_owner_is_warned_of_a_column_that_numbers_the_rows() -> None:
    page = fourth_step("key,patient_id,ward\n" + "".join(f"k{k},P{k // 3},{'ab'[k % 2]}\n" for k in range(60)))
    assert "in nearly every row" not in warnings(page)
    labelled(page.selectbox, "Column that identifies the person").set_value("key").run()
    settled(page)
    assert "**key** has another value in nearly every row. Only you see this." in warnings(page.run())
