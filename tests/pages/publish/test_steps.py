"""The steps of the Publish page: how one answer changes the others, and what reaches the plan."""

from __future__ import annotations

from datetime import date
from fractions import Fraction
from unittest.mock import Mock

import pandas as pd
import pytest
from streamlit.testing.v1 import AppTest

import dpengine as dpe
from dpengine.errors import Fault
from dpengine.results import predict, preview
from pages.parts.visit.fault_text import sentence
from pages.parts.visit.plan.plan_form import from_plan
from tests.pages.visits import labelled, ledger, press, settled, texts, visit, visit_of
from tests.plans import letters_plan

CLINIC = "patient_id,age,region,visit_date\n" + "".join(
    f"{k},{20 + k},{('North', 'South', 'Rare disease', 'West')[k % 4]},{1 + k:02}/02/2024\n" for k in range(20)
)


@pytest.fixture
def page() -> AppTest:
    return visit()


@pytest.fixture
def clinic(page: AppTest) -> AppTest:
    page.get("file_uploader")[0].upload("clinic.csv", CLINIC.encode()).run()
    return page


def go_on(page: AppTest) -> AppTest:
    labelled(page.button, "Go on").click().run()
    assert not page.exception
    return page


def choose(page: AppTest, *columns: str) -> AppTest:
    page.multiselect[0].set_value(list(columns)).run()
    return go_on(page)


def test_what_a_person_types_over_a_standard_list_is_no_longer_one(clinic: AppTest) -> None:
    choose(clinic, "age")
    assert visit_of(clinic).entries.declared["age"]["source"] == "standard"
    labelled(clinic.text_input, "Edges").set_value("0, 20, 40").run()
    assert visit_of(clinic).entries.declared["age"]["source"] == "typed"
    assert labelled(clinic.selectbox, "How you know").value == "typed"
    labelled(clinic.selectbox, "How you know").set_value("codebook").run()
    assert visit_of(clinic).entries.declared["age"]["source"] == "codebook", "they may be of one all the same"


def test_only_ticked_values_are_added_and_their_origin_is_recorded(clinic: AppTest) -> None:
    choose(clinic, "region")
    labelled(clinic.toggle, "Show them to me").set_value(True).run()
    labelled(clinic.checkbox, "North").check().run()
    labelled(clinic.button, "These are public").click().run()
    assert not clinic.exception
    declared = visit_of(clinic).entries.declared["region"]
    assert declared["values"] == ["North"]
    assert declared["source"] == "confirmed"
    assert not labelled(clinic.toggle, "Show them to me").value, "the values are out of sight again"
    labelled(clinic.toggle, "Show them to me").set_value(True).run()
    assert [box.label for box in clinic.checkbox if box.value and "cell" not in box.label] == [], "no tick moves on"
    labelled(clinic.checkbox, "West").check().run()
    labelled(clinic.button, "These are public").click().run()
    assert visit_of(clinic).entries.declared["region"]["values"] == ["North", "West"]


@pytest.mark.nightly
def test_all_of_many_values_are_shown_counted_and_added_by_one_click(page: AppTest) -> None:
    rows = "".join(f"business {k:04}\n" for k in range(1618))
    page.get("file_uploader")[0].upload("inspections.csv", f"name\n{rows}".encode()).run()
    choose(page, "name")
    labelled(page.toggle, "Show them to me").set_value(True).run()
    assert "1,618 different values in the rows; 1,618 not in your list." in texts(page)
    assert len(labelled(page.multiselect, "Values that are public").options) == 1618
    labelled(page.multiselect, "Values that are public").set_value(["business 1617"]).run()
    labelled(page.button, "These are public").click().run()
    assert visit_of(page).entries.declared["name"]["values"] == ["business 1617"]
    labelled(page.toggle, "Show them to me").set_value(True).run()
    labelled(page.button, "All 1,617 are public").click().run()
    assert not page.exception
    assert len(visit_of(page).entries.declared["name"]["values"]) == 1618


@pytest.mark.nightly
def test_a_table_of_one_column_is_asked_about(page: AppTest) -> None:
    page.get("file_uploader")[0].upload("titled.csv", b"A title\n\nname;age\nx;3\n").run()
    assert "This table has one column. If the file has more" in texts(page)
    press(page, "A title stands above the names: skip a row")
    assert labelled(page.number_input, "Rows above").value == 1
    press(page, "Read the file again")
    press(page, "A title stands above the names: skip a row")
    press(page, "Read the file again")
    assert [field.name for field in visit_of(page).table.columns] == ["name", "age"]


@pytest.mark.nightly
def test_more_columns_than_a_table_can_have_are_told_and_can_be_published_in_pairs(page: AppTest) -> None:
    names = [f"question {k}" for k in range(40)]
    page.get("file_uploader")[0].upload("survey.csv", f"{','.join(names)}\n".encode()).run()
    page.multiselect[0].set_value(names).run()
    assert not page.exception
    assert "These are 40 columns. One table has at most 32" in texts(page)
    assert labelled(page.button, "Go on").disabled
    labelled(page.radio, "Published as").set_value("pairs").run()
    assert not page.exception
    assert not labelled(page.button, "Go on").disabled


def test_more_pairs_than_a_plan_can_have_are_told_by_number_and_with_a_way_on(page: AppTest) -> None:
    names = [f"q{k}" for k in range(150)]
    page.get("file_uploader")[0].upload("survey.csv", f"{','.join(names)}\n".encode()).run()
    page.multiselect[0].set_value(names).run()
    assert "To publish a column also coarsely" in texts(page), "levels are in one layout only"
    labelled(page.radio, "Published as").set_value("pairs").run()
    assert not page.exception
    assert "These are 11,325 tables; a plan has at most 10,000, such as the pairs of 140 columns" in texts(page)
    assert labelled(page.button, "Go on").disabled
    page.multiselect[0].set_value(names[:140]).run()
    assert "These are" not in texts(page)
    assert not labelled(page.button, "Go on").disabled


@pytest.mark.nightly
def test_a_heading_of_300_letters_is_cut_on_the_page_and_whole_where_it_is_chosen(page: AppTest) -> None:
    heading = "Which of these did you use in the last twelve months? " * 5 + "Buses"
    page.get("file_uploader")[0].upload("long.csv", f"{heading},b\nx,y\n".encode()).run()
    settled(page)
    choose(page, heading, "b")
    assert heading not in texts(page)
    assert "Which of these did you use in…" in texts(page)
    assert heading in labelled(page.selectbox, "One column in detail").options


@pytest.mark.nightly
def test_what_was_typed_for_a_kind_is_there_again_after_another_kind(clinic: AppTest) -> None:
    choose(clinic, "age")
    labelled(clinic.text_input, "Edges").set_value("0, 20, 40").run()
    labelled(clinic.segmented_control, "Kind").set_value("category").run()
    assert visit_of(clinic).entries.declared["age"]["kind"] == "category"
    labelled(clinic.segmented_control, "Kind").set_value("number").run()
    assert not clinic.exception
    assert labelled(clinic.text_input, "Edges").value == "0, 20, 40"
    labelled(clinic.segmented_control, "Kind").set_value("yesno").run()
    assert "Other words, such as ja and nein, are a *category*" in texts(clinic)
    labelled(clinic.segmented_control, "Kind").set_value("number").run()
    assert visit_of(clinic).entries.declared["age"]["edges"] == ["0", "20", "40"]


@pytest.mark.nightly
def test_texts_that_mean_missing_are_stated_once_for_all_columns(page: AppTest) -> None:
    page.get("file_uploader")[0].upload("survey.csv", b"town,child\nNorth,yes\nk. A.,-99\n,no\n").run()
    choose(page, "town", "child")
    labelled(page.text_area, "Values").set_value("North").run()
    labelled(page.text_input, "mean missing").set_value('-99, k. A., "x, y"').run()
    assert visit_of(page).entries.declared["town"]["missing_as"] == ["-99", "k. A.", "x, y"]
    assert "in the list of values too" not in texts(page)
    labelled(page.text_area, "Values").set_value("North\nk. A.").run()
    assert "k. A. is in the list of values too. It counts as missing." in texts(page)
    press(page, "In all columns")
    assert visit_of(page).entries.declared["child"]["missing_as"] == ["-99", "k. A.", "x, y"]
    assert not [button for button in page.button if button.label == "In all columns"]
    labelled(page.text_input, "mean missing").set_value('"x').run()
    assert "put a comma after a value in quotes" in texts(page)
    assert visit_of(page).entries.declared["town"]["missing_as"] == ["-99", "k. A.", "x, y"], "as it was"
    labelled(page.text_input, "mean missing").set_value("").run()
    assert visit_of(page).entries.declared["town"]["missing_as"] == []


@pytest.mark.nightly
def test_the_plan_of_the_table_before_is_offered_for_one_that_has_its_columns(clinic: AppTest) -> None:
    choose(clinic, "age", "region")
    before = visit_of(clinic).entries
    clinic.button(key="change-table").click().run()
    clinic.get("file_uploader")[0].upload("clinic-2.csv", b"age,region,town\n40,North,A\n").run()
    assert visit_of(clinic).entries.chosen == ()
    labelled(clinic.button, "Take over the plan for clinic").click().run()
    assert not clinic.exception
    assert visit_of(clinic).entries == before
    assert visit_of(clinic).step == "domain"
    clinic.button(key="change-table").click().run()
    clinic.get("file_uploader")[0].upload("other.csv", b"age,town\n1,A\n").run()
    assert not [button for button in clinic.button if "Take over" in button.label], "it has no region"


@pytest.mark.nightly
def test_the_plan_of_the_last_release_of_a_dataset_is_offered_for_a_table_with_its_columns(page: AppTest) -> None:
    columns = [{"name": "region", "kind": "category", "values": ["North", "South"]}]
    plan = dpe.Plan(dataset="clinic", title="Last year", epsilon="0.25", columns=columns, tables=[["region"]])
    dpe.release(pd.DataFrame({"region": ["North"] * 20}), plan, ledger())
    page.get("file_uploader")[0].upload("clinic.csv", CLINIC.encode()).run()
    labelled(page.button, "Take over the plan for clinic, published on").click().run()
    assert not page.exception
    taken = visit_of(settled(page)).plan
    assert taken is not None
    assert (taken.key, taken.title, visit_of(page).step) == (plan.key, "Last year", "")
    assert "has this title too" in texts(page)
    labelled(page.text_input, "Title for readers").set_value("This year").run()
    assert "has this title too" not in texts(page)


def test_a_file_of_next_year_is_offered_the_plan_and_the_budget_of_this_year(page: AppTest) -> None:
    columns = [{"name": "age", "kind": "number", "edges": [0, 40, 99]},
               {"name": "region", "kind": "category", "values": ["North", "South"]}]  # fmt: skip
    plan = dpe.Plan(dataset="clinic-2025", epsilon="0.25", columns=columns, tables=[["age", "region"]])
    dpe.release(pd.DataFrame({"age": [20] * 20, "region": ["North"] * 20}), plan, ledger())
    page.get("file_uploader")[0].upload("clinic-2026.csv", b"ward,town\n1,A\n").run()
    assert not [button for button in page.button if "Take over" in button.label], "it has other columns"
    page.button(key="change-table").click().run()
    page.get("file_uploader")[0].upload("clinic-2026.csv", CLINIC.encode()).run()
    labelled(page.button, "Take over the plan for clinic-2025, published on").click().run()
    assert not page.exception
    assert visit_of(settled(page)).entries.dataset == "clinic-2025", "both years share one budget"


@pytest.mark.nightly
def test_a_column_added_to_a_finished_plan_is_asked_about(page: AppTest) -> None:
    page.button(key="sample_census").click().run()
    page.button(key="change-columns").click().run()
    new = next(name for name in page.multiselect[0].options if name not in page.multiselect[0].value)
    page.radio[0].set_value("together").run()
    page.multiselect[0].set_value(["sex", new]).run()
    assert not page.exception
    go_on(page)
    assert visit_of(page).step == "domain"
    assert f"Still to fill in: {new}" in texts(page)


def test_publishing_the_persons_id_asks_for_the_unit_again(clinic: AppTest) -> None:
    choose(clinic, "age")
    press(clinic, "Confirm 1 suggestion")
    go_on(clinic)
    assert clinic.radio[0].value == "several", "patient_id suggests several rows a person"
    assert clinic.selectbox[0].value == "patient_id"
    assert "drawn at random" in texts(clinic)
    go_on(clinic)
    clinic.button(key="change-columns").click().run()
    choose(clinic, "age", "patient_id")
    assert "unit" not in visit_of(clinic).settled


def test_the_unit_is_never_assumed(page: AppTest) -> None:
    page.get("file_uploader")[0].upload("plain.csv", b"age,region\n30,North\n").run()
    choose(page, "age")
    press(page, "Confirm 1 suggestion")
    go_on(page)
    assert page.radio[0].value is None
    assert labelled(page.button, "Go on").disabled
    page.radio[0].set_value("one").run()
    assert not labelled(page.button, "Go on").disabled
    go_on(page)
    assert "How large is your table, roughly?" in texts(page)
    assert "At ε = 1, with fewer than about **20 rows**, most of the published cells" in texts(page)
    labelled(page.number_input, "Roughly how many rows").set_value(800).run()
    assert "How large is your table, roughly?" not in texts(page)
    assert visit_of(page).entries.rows_about == 800


@pytest.mark.nightly
def test_the_size_is_said_by_a_click_on_its_order_of_magnitude(page: AppTest) -> None:
    page.get("file_uploader")[0].upload("plain.csv", b"age,region\n30,North\n").run()
    choose(page, "age")
    press(page, "Confirm 1 suggestion")
    go_on(page)
    labelled(page.pills, "An order of magnitude is enough").set_value(300).run()
    assert labelled(page.number_input, "Roughly how many rows").value == 300
    labelled(page.number_input, "Roughly how many rows").set_value(350).run()
    assert labelled(page.pills, "An order of magnitude").value is None
    assert visit_of(page).entries.rows_about == 350


@pytest.mark.nightly
def test_equal_steps_refill_the_box_even_if_their_number_stays_the_same(clinic: AppTest) -> None:
    choose(clinic, "age")
    for low, high in (("0", "5"), ("10", "15")):
        labelled(clinic.text_input, "From").set_value(low).run()
        labelled(clinic.text_input, "To").set_value(high).run()
        labelled(clinic.number_input, "Bins").set_value(5).run()
        labelled(clinic.button, "Fill in").click().run()
        assert labelled(clinic.text_input, "Edges").value.startswith(f"{low}, ")
    labelled(clinic.text_input, "Edges").set_value("0; 1,5; 3").run()
    assert visit_of(clinic).entries.declared["age"]["edges"] == ["0", "1.5", "3"]
    assert "2 bins: 0 to under 1.5, 1.5 to 3" in texts(clinic)


@pytest.mark.nightly
def test_the_format_of_dates_is_asked_and_can_be_checked(clinic: AppTest) -> None:
    choose(clinic, "visit_date")
    boxes = clinic.date_input
    boxes[0].set_value(date(2024, 2, 1)).run()
    clinic.date_input[1].set_value(date(2024, 2, 29)).run()
    assert "say how its dates are written" in texts(clinic)
    labelled(clinic.button, "Read visit_date as written like 31/12/2024").click().run()
    assert visit_of(clinic).entries.declared["visit_date"]["format"] == "%d/%m/%Y"
    assert labelled(clinic.selectbox, "2024 is written").value == "%d/%m/%Y"
    assert "say how its dates are written" not in texts(clinic)
    clinic.session_state[visit_of(clinic).key("fit")] = True  # the popover is open
    labelled(clinic.selectbox, "2024 is written").set_value("%m/%d/%Y").run()
    labelled(clinic.button, "real data").click().run()
    assert "of the rows fall in *(other)*" in texts(clinic)
    assert "95 % of the rows" in texts(clinic)
    labelled(clinic.selectbox, "2024 is written").set_value("%d/%m/%Y").run()
    assert "of the rows fall" not in texts(clinic), "what was seen of the rows is not kept"
    labelled(clinic.button, "real data").click().run()
    assert "0 % of the rows" in texts(clinic)


def test_the_size_of_each_table_is_shown_as_it_is_chosen(clinic: AppTest) -> None:
    clinic.multiselect[0].set_value(["age", "region"]).run()
    assert "size known after the next step" in texts(clinic)
    assert "7 cells" in texts(clinic)


def test_the_bill_recognises_the_same_data_under_another_name(page: AppTest) -> None:
    page.button(key="sample_rand").click().run()
    settled(labelled(settled(page).button, "Publish once").click().run())
    again = visit()
    again.button(key="sample_rand").click().run()
    labelled(settled(again).text_input, "Dataset whose budget").set_value("another-name").run()
    assert not again.exception
    assert "costs 0" in texts(again)
    assert "Paper to sign" not in {button.label for button in again.get("download_button")}, "it is published"
    assert [metric.value for metric in again.metric[:2]] == ["1", "0"]
    assert "ε = 1 was spent under another name" in texts(again)
    labelled(again.text_input, "Total ε").set_value("1,5").run()
    labelled(again.checkbox, "Refuse every release").check().run()
    press(again, "Set the cap")
    assert ledger().cap("another-name") == Fraction(3, 2), "a decimal comma is read"
    again.select_slider[0].set_value("2").run()
    assert "does not allow this" in texts(again), "a refusal is said before the button"
    assert labelled(again.button, "Publish once").disabled


def test_tables_that_are_published_already_are_not_sold_again_without_a_word(page: AppTest) -> None:
    page.button(key="sample_census").click().run()
    visit_of(page).change(layout="own", own=(("sex", "education"), ("sex",)))
    settled(labelled(settled(page.run()).button, "Publish once").click().run())
    press(page, "Start another release")
    visit_of(page).change(own=(("sex",),), rows_about=9_999)
    settled(page.run())
    assert "already holds all tables of this plan, at ε = 1" in texts(page).replace("**", "")
    assert not labelled(page.button, "Publish once").disabled, "it is advice"
    press(page, "Open that release")
    assert "is spent; looking and downloading cost nothing" in texts(page)


def test_a_saved_plan_is_loaded_again(page: AppTest) -> None:
    page.button(key="sample_rand").click().run()
    plan = visit_of(page).plan
    page.button(key="change-columns").click().run()
    page.multiselect[0].set_value([plan.used[0]]).run()
    labelled(page.get("file_uploader"), "plan file").upload("plan.yaml", plan.dumps().encode()).run()
    assert not page.exception
    assert visit_of(page).plan.key == plan.key


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        (Fault(("columns", 1, "edges"), "give at least two edges"), "age: give at least two edges"),
        (Fault(("columns", 1), "list the values"), "age: list the values"),
        (Fault(("columns", 1, "by"), "fehlt", missing=True), "age: by is needed"),
        (Fault((), "table age × x: there is no column 'x'"), "table age × x: there is no column 'x'"),
        (Fault(("epsilon",), "ε must be above 0"), "ε must be above 0"),
    ],
)
def test_faults_are_shown_without_their_path(fault: Fault, said: str) -> None:
    assert sentence(fault, ["age"]) == said


def test_how_a_text_is_read_is_said_beside_the_options(clinic: AppTest) -> None:
    visit_of(clinic).open_step("table")
    clinic.run()
    assert not clinic.exception
    said = "Read as UTF-8 (lines that are not, as Windows-1252), cells separated by commas."
    assert said in texts(clinic)


def test_what_a_bound_on_rows_keeps_is_shown_on_request_alone(page: AppTest) -> None:
    visits = "patient_id,age\n" + "".join(f"{k // 7},40\n" for k in range(49))
    page.get("file_uploader")[0].upload("visits.csv", visits.encode()).run()
    choose(page, "age")
    press(page, "Confirm 1 suggestion")
    go_on(page)
    assert "All counts, and their total, then count only these rows." in texts(page)
    assert not page.dataframe
    page.session_state[visit_of(page).key("kept")] = True  # the popover is open
    page.run()
    assert not page.dataframe, "not before the switch"
    labelled(page.toggle, "Show them to me").set_value(True).run()
    settled(page)
    kept = next(each.value for each in page.dataframe if "rows kept" in each.value)
    assert kept["rows kept"].tolist()[:4] == [7, 14, 35, 49]
    assert visit_of(page).entries.rows == 1, "nothing is chosen for the owner"
    labelled(page.toggle, "Show them to me").set_value(False).run()
    labelled(page.toggle, "Pay for estimates instead").set_value(True).run()
    labelled(page.text_input, "Dataset whose budget pays").set_value("").run()
    assert not page.dataframe
    labelled(page.text_input, "Dataset whose budget pays").set_value("visits").run()
    assert list(page.dataframe[0].value) == ["at most", "±"], "how far off they will be, before anything is paid"
    assert ledger().spent("visits") == 0
    labelled(page.text_input, "ε for all estimates").set_value("0,1").run()
    labelled(page.button, "Estimate, for ε = 0.1").click().run()
    settled(page)
    assert list(page.dataframe[-1].value["at most"]) == [1, 2, 5, 10, 20]
    assert "Charged and recorded" in texts(page)
    assert ledger().spent("visits") == Fraction(1, 10)


@pytest.mark.nightly
def test_a_table_of_ones_own_is_picked_in_one_box_and_what_is_in_none_is_named(clinic: AppTest) -> None:
    clinic.multiselect[0].set_value(["age", "region", "visit_date"]).run()
    clinic.radio[0].set_value("own").run()
    box = labelled(clinic.multiselect, "First table: counts by")
    assert "In no table: age, region, visit_date" in texts(clinic)
    box.set_value(["age"]).run()
    assert [each.label for each in clinic.multiselect if "counts by" in each.label] == [
        "Table 1: counts by", "Another table: counts by",
    ]  # fmt: skip
    assert labelled(clinic.multiselect, "Table 1: counts by").key == box.key, "the same box: its menu stays open"
    labelled(clinic.multiselect, "Table 1: counts by").set_value(["age", "region"]).run()
    assert visit_of(clinic).entries.own == (("age", "region"),)
    assert "In no table: visit_date. It is not published" in texts(clinic)
    labelled(clinic.multiselect, "Another table: counts by").set_value(["visit_date"]).run()
    assert visit_of(clinic).history.now.words == "tables: visit_date, age × region"
    assert "In no table" not in texts(clinic)
    labelled(clinic.multiselect, "Table 1: counts by").set_value([]).run()
    assert visit_of(clinic).entries.own == (("visit_date",),)
    clinic.multiselect[0].set_value(["age", "region"]).run()
    assert not clinic.exception
    assert visit_of(clinic).entries.own == ()


@pytest.mark.nightly
def test_the_preview_follows_the_plans_first_table_until_a_person_chooses_another(
    page: AppTest, monkeypatch: pytest.MonkeyPatch
) -> None:
    page.button(key="sample_census").click().run()
    for tables in ([["a"], ["b"]], [["a", "b"], ["a"], ["b"], ["c"], ["a", "c"]]):
        visit_of(page).refresh(from_plan(letters_plan([2, 2, 2], tables)))
        settled(page.run())
        assert page.selectbox(key="preview-table").value == tuple(tables[0])
    assert "2 · What to publish" in [each.value for each in page.header], "a heading for screen readers"
    assert any("and 1 more" in text.value for text in page.markdown)
    assert "a × c" in columns_left_out(page)
    page.selectbox(key="preview-table").set_value(("b",)).run()
    settled(page.run())
    assert page.selectbox(key="preview-table").value == ("b",)
    drawn, errors = Mock(wraps=preview.add_noise), Mock(wraps=predict.errors_of)
    monkeypatch.setattr(preview, "add_noise", drawn)
    monkeypatch.setattr(predict, "errors_of", errors)
    visit_of(page).change(epsilon="0.35")
    settled(page.run())
    assert {call.args[1].columns for call in drawn.call_args_list} <= {(), ("b",)}, "noise of the shown table alone"
    assert errors.call_count == 1, "of the curve, its own ε alone"
    visit_of(page).open_step("domain")
    visit_of(page).change(epsilon="0.4")
    settled(page.run())
    assert errors.call_count == 1, "beside the grid of columns, which changes the plan at each cell, there is no curve"


def columns_left_out(page: AppTest) -> str:
    """Return the help of the folded step, which names every table."""
    return next(text.help for text in page.markdown if "and 1 more" in text.value)


def test_every_step_and_part_of_the_page_has_a_heading_for_screen_readers() -> None:
    """Steps that were done, and what readers will see, were bold texts: none was in the list of headings."""
    page = settled(press(visit(), "Use this sample"))
    shown = [each.value for each in page.header]
    assert [each[:1] for each in shown if each[:1].isdigit()] == [*"123456"]
    assert "What readers will see" in shown
