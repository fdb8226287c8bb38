"""Columns with nearly all rows in (other) are reported before the Publish button, with a format that would fit."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from zipfile import ZipFile

import pandas as pd
import pytest
from streamlit.testing.v1 import AppTest

import dpengine as dpe
from pages.parts.publish.outlook import fit
from pages.parts.visit.plan.plan_form import to_plan
from tests.pages.visits import labelled, ledger, project_text, settled, texts, visit, visit_of

ROWS = "\n".join(f"{k % 9}.{k % 900 + 100},{k % 10};{('North', 'South')[k % 2]};{k % 3 + 1}.0" for k in range(60))
HOUSEHOLDS = f"income;region;group\n{ROWS}\n"


@pytest.fixture
def planned() -> AppTest:
    """A plan up to the bill; incomes are declared in the plain format."""
    page = visit()
    page.get("file_uploader")[0].upload("households.csv", HOUSEHOLDS.encode()).run()
    here = visit_of(page)
    declared = {
        "income": {"name": "income", "kind": "number", "edges": ["0", "1000", "10000"]},
        "region": {"name": "region", "kind": "category", "values": ["north", "South"]},
        "group": {"name": "group", "kind": "category", "values": ["1", "2", "3"]},
    }
    here.entries = here.entries.with_(
        chosen=("income", "region", "group"), layout="single", declared=declared, several_rows=False, rows_about=1000
    )
    here.settle("columns", "domain", "unit")
    return settled(page.run())


def test_a_column_that_does_not_fit_is_reported_roughly_before_the_button(planned: AppTest) -> None:
    told = [warning.value for warning in planned.warning]
    assert len(told) == 2, "whole numbers written 1.0 fit"
    assert "**income**: nearly all rows fall in *(other)*. Only you see this." in told[0]
    assert "**region**: more than half of the rows fall" in told[1]
    assert "%" not in "".join(told), "no exact share"
    assert ledger().datasets() == []


@pytest.mark.nightly
def test_a_plan_that_continues_with_a_new_file_is_warned_of_a_category_more(planned: AppTest) -> None:
    here = visit_of(planned)
    here.readings.clear()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fit, "_misfits", lambda *_tables: ({"group": 0.08}, {}, {}))
        settled(planned.run())
        assert "**group**" not in "".join(warning.value for warning in planned.warning)
        here.made_before = True
        settled(planned.run())
        (told,) = [warning.value for warning in planned.warning if "**group**" in warning.value]
    assert "more than one row in twenty falls in *(other)*. Only you see this." in told
    assert "8" not in told, "no exact share"


@pytest.mark.nightly
def test_without_a_cell_for_other_values_rows_are_said_to_be_left_out(planned: AppTest) -> None:
    here = visit_of(planned)
    region = here.entries.declared["region"] | {"other": False}
    here.entries = here.entries.with_(declared=here.entries.declared | {"region": region})
    told = next(warning.value for warning in settled(planned.run()).warning if "region" in warning.value)
    assert "hold a value without a cell, and are left out of every table" in told
    assert "(other)" not in told
    here.open_step("domain")
    assert "no cell *(other)* for region" in texts(settled(planned.run()))


def test_a_column_without_a_better_format_is_one_click_from_its_card(planned: AppTest) -> None:
    labels = [button.label for button in planned.button]
    assert "Change income in step 3" not in labels, "a click on the format is enough"
    told = next(warning.value for warning in planned.warning if "region" in warning.value)
    assert "or for values that the list lacks, such as new ones in a later year" in told
    labelled(planned.button, "Change region in step 3").click().run()
    settled(planned)
    assert labelled(planned.selectbox, "One column in detail").value == "region"
    assert labelled(planned.text_area, "Values, one a line").value == "north\nSouth"


def test_dates_that_are_read_in_the_wrong_format_are_one_click_from_the_right_one() -> None:
    page = visit()
    days = "\n".join(f"{k % 28 + 1:02}.{k % 12 + 1:02}.2025;A" for k in range(60))
    page.get("file_uploader")[0].upload("visits.csv", f"seen;ward\n{days}\n".encode()).run()
    seen = {
        "name": "seen",
        "kind": "date",
        "from": "2025-01-01",
        "to": "2025-12-31",
        "by": "month",
        "format": "%m/%d/%Y",
    }
    here = visit_of(page)
    here.entries = here.entries.with_(chosen=("seen",), declared={"seen": seen}, several_rows=False, rows_about=1000)
    here.settle("columns", "domain", "unit")
    settled(page.run())
    (told,) = [warning.value for warning in page.warning]
    assert told.endswith("Only you see this. If this is not intended, dates are written in another way than declared.")
    labelled(page.button, "Read seen as written like 31.12.2024").click().run()
    settled(page)
    assert visit_of(page).plan.column("seen").format == "%d.%m.%Y"
    assert not page.warning


@pytest.mark.nightly
def test_the_format_that_fits_is_one_click_away(planned: AppTest) -> None:
    labelled(planned.button, "Read income as written like 1.234,5").click().run()
    settled(planned)
    assert visit_of(planned).plan.column("income").format == "1.234,5"
    assert "income**: " not in "".join(warning.value for warning in planned.warning)
    planned.button(key="change-domain").click().run()
    assert not planned.exception
    assert "to 10000" in texts(planned)


@pytest.mark.nightly
def test_numbers_with_units_or_signs_are_reported_with_what_to_do() -> None:
    page = visit()
    rows = "".join(f"{'85+' if k % 10 == 0 else k % 80};{k % 9} days\n" for k in range(200))
    page.get("file_uploader")[0].upload("visits.csv", f"age;stay\n{rows}".encode()).run()
    here = visit_of(page)
    declared = {
        "age": {"name": "age", "kind": "number", "edges": ["0", "40", "85", "120"]},
        "stay": {"name": "stay", "kind": "amount", "from": "0", "to": "60", "step": "1"},
    }
    here.entries = here.entries.with_(chosen=("age", "stay"), declared=declared, several_rows=False, rows_about=200)
    here.settle("columns", "domain", "unit")
    settled(page.run())
    of_stay, of_age = sorted((each.value for each in page.warning), key=lambda text: "age" in text)
    assert "**age**: more than one row in twenty falls in *(other)*" in of_age
    assert "**stay**: nearly all rows hold no number" in of_stay
    assert "These numbers carry “days”" in of_stay
    labelled(page.button, "Read stay without “days”").click().run()
    settled(page)
    assert here.plan.column("stay").affixes == ("days",)
    assert here.plan.column("age").affixes == (), "each column waits for its owner"
    labelled(page.button, "Read age without").click().run()
    settled(page)
    assert here.plan.column("age").affixes == ("+",)
    assert not page.warning
    page.button(key="change-domain").click().run()
    assert not page.exception


def paid(cells: Sequence[str], name: str = "pay", edges: Sequence[str] = ("0", "2000", "100000")) -> AppTest:
    """A plan up to the bill for a table with a column of numbers, in the plain format, and one of sexes."""
    page = visit()
    rows = "".join(f"{cell};{k % 2}\n" for k, cell in enumerate(cells))
    page.get("file_uploader")[0].upload("numbers.csv", f"{name};sex\n{rows}".encode()).run()
    here = visit_of(page)
    declared = {
        name: {"name": name, "kind": "number", "edges": [*edges]},
        "sex": {"name": "sex", "kind": "yesno"},
    }
    here.entries = here.entries.with_(chosen=(name, "sex"), declared=declared, several_rows=False, rows_about=200)
    here.settle("columns", "domain", "unit")
    return settled(page.run())


def said_of_pay(page: AppTest) -> list[str]:
    return [each.value for each in page.warning if "**pay**" in each.value]


@pytest.mark.by_day(1)
@pytest.mark.parametrize(("beside", "offer"), [
    ("", "Read pay as written like 1.234,5"), (" EUR", "Read pay without “EUR”, and as written like 1.234,5"),
])  # fmt: skip
def test_marks_for_thousands_that_would_be_read_as_decimals_are_asked_about(beside: str, offer: str) -> None:
    """1.200 is 1.2 in the plain format, which lies within the bins."""
    page = paid([f"{k % 9 + 1}.{k % 900 + 100}{beside}" for k in range(200)])
    labelled(page.button, offer).click().run()
    settled(page)
    assert visit_of(page).plan.column("pay").format == "1.234,5"
    assert not said_of_pay(page)


@pytest.mark.nightly
def test_decimals_that_always_have_three_places_are_asked_about_once() -> None:
    page = paid(["1.250", "2.375", "9.125"] * 50)
    (told,) = said_of_pay(page)
    assert told.startswith("**pay**: as declared, 1.200 is read as 1.2.")
    labelled(page.button, "They are decimals").click().run()
    settled(page)
    assert visit_of(page).plan.column("pay").format == "1234.5"
    assert not said_of_pay(page)


@pytest.mark.nightly
def test_texts_beside_numbers_that_hardly_any_cell_has_are_not_offered() -> None:
    """They may say something about a person, and a plan is published."""
    cells = [f"{k % 80}{f' (patient {chr(65 + k % 26)})' if k % 5 == 0 else ''}" for k in range(200)]
    page = paid(cells, "age", ("0", "40", "120"))
    told = "".join(each.value for each in page.warning if "**age**" in each.value)
    assert "Name such texts in step 3, under *Texts beside the numbers*" in told
    assert "bins in step 3 leave out numbers" in told
    assert not [button for button in page.button if button.label.startswith("Read ")]


def test_an_amount_that_is_written_in_another_way_is_reported_before_it_is_paid_for() -> None:
    page = visit()
    page.get("file_uploader")[0].upload("households.csv", HOUSEHOLDS.encode()).run()
    here = visit_of(page)
    declared = {
        "income": {"name": "income", "kind": "amount", "from": "0", "to": "10000", "step": "1"},
        "region": {"name": "region", "kind": "category", "values": ["North", "South"]},
    }
    here.entries = here.entries.with_(
        chosen=("income", "region"), declared=declared, several_rows=False, rows_about=1000
    )
    here.settle("columns", "domain", "unit")
    settled(page.run())
    (told,) = (warning.value for warning in page.warning)
    assert "**income**: nearly all rows hold no number as declared" in told
    labelled(page.button, "Read income as written like 1.234,5").click().run()
    settled(page)
    assert here.plan.column("income").format == "1.234,5"
    assert "income**: " not in "".join(warning.value for warning in page.warning)


def test_the_owner_alone_sees_how_many_rows_lie_outside_the_bounds_of_an_amount(tmp_path: Path) -> None:
    page = visit()
    rows = "".join(f"{'NS'[k % 2]},{-5 if k < 137 else 40 if k < 939 else 999}\n" for k in range(1000))
    page.get("file_uploader")[0].upload("pay.csv", f"region,pay\n{rows}".encode()).run()
    here = visit_of(page)
    declared = {
        "region": {"name": "region", "kind": "category", "values": ["N", "S"]},
        "pay": {"name": "pay", "kind": "amount", "from": "0", "to": "200", "step": "1"},
    }
    here.refresh(here.entries.with_(chosen=("region", "pay"), declared=declared, several_rows=False, rows_about=1000))
    here.settle("columns", "unit")
    page.run()
    before = project_text(here), to_plan(here.entries).dumps()
    page.session_state[here.key("fit")] = True
    page.run()
    page.button(key=here.key("fit-look")).click().run()
    settled(page)
    said = texts(page)
    assert "**pay**: 14 % of the rows lie below 0, 6.1 % above 200. They count as that bound." in said
    assert "upper half" not in said
    assert (project_text(here), to_plan(here.entries).dumps()) == before
    declared["pay"] = declared["pay"] | {"to": "2000"}
    here.refresh(here.entries.with_(declared=declared))
    page.run()
    page.session_state[here.key("fit")] = True
    page.run()
    page.button(key=here.key("fit-look")).click().run()
    settled(page)
    assert "0 % above 2000" in texts(page)
    assert "Almost no rows lie in the upper half of the range" in texts(page)
    table, plan = here.table, to_plan(here.entries)
    assert table is not None
    dpe.release(table, plan, here.ledger).save(tmp_path / "pay.zip")
    with ZipFile(tmp_path / "pay.zip") as bundle:
        files = b"".join(bundle.read(name) for name in bundle.namelist())
    assert not [words for words in (b"lie below", b"upper half", b"outside its bounds") if words in files]


def test_values_that_only_a_release_finds_are_not_looked_for() -> None:
    plan = dpe.Plan(
        dataset="demo",
        epsilon=1,
        columns=[
            {"name": "code", "kind": "category", "values": "found", "among": {"pattern": "#####"}},
            {"name": "region", "kind": "category", "values": ["North", "South"]},
            {"name": "waited", "kind": "number", "from": 0, "to": 1000, "step": 1, "bins": 20},
        ],
        tables=[["code"], ["region"], ["waited"]],
    )
    assert [column.name for column in fit._with_other(plan.columns)] == ["region", "waited"]
    with dpe.open_table(pd.DataFrame({"code": ["01067"]})) as table:
        assert fit._misfits(table, fit._with_other(plan.columns[:1])) == ({}, {}, {})


@pytest.mark.nightly
def test_usual_texts_for_no_answer_are_offered_as_missing() -> None:
    """They counted in (other), where readers took them for answers that nobody expected."""
    page = visit()
    rows = "".join(f"{'k. A.' if k % 10 == 0 else k % 5 + 1};{'keine Angabe' if k % 12 == 0 else 20 + k % 50}\n"
                   for k in range(240))  # fmt: skip
    page.get("file_uploader")[0].upload("survey.csv", f"safe;age\n{rows}".encode()).run()
    here = visit_of(page)
    declared = {
        "safe": {"name": "safe", "kind": "category", "values": ["1", "2", "3", "4", "5"]},
        "age": {"name": "age", "kind": "number", "edges": ["18", "40", "70"]},
    }
    here.entries = here.entries.with_(
        chosen=("safe", "age"), layout="single", declared=declared, several_rows=False, rows_about=300
    )
    here.settle("columns", "domain", "unit")
    settled(page.run())
    told = "".join(warning.value for warning in page.warning)
    assert "**safe**: rows with “k. A.” fall in *(other)*. Only you see this." in told
    assert "**age**: rows with “keine Angabe” fall in *(other)*." in told
    assert "missing_as" not in project_text(here), "nothing is read otherwise before a click"
    for _column in ("safe", "age"):
        labelled(page.button, "Count it as missing").click().run()
        settled(page)
    assert [column.missing_as for column in to_plan(here.entries).columns] == [("k. A.",), ("keine Angabe",)]
    assert "no answer" not in "".join(warning.value for warning in page.warning)


def test_a_list_of_sexes_in_another_spelling_is_one_click_from_the_right_one() -> None:
    page = visit()
    rows = "\n".join(f"{'wmwmwmwmd'[k % 9]};A" for k in range(200))
    page.get("file_uploader")[0].upload("pay.csv", f"Geschlecht;ward\n{rows}\n".encode()).run()
    sexes = {"name": "Geschlecht", "kind": "category", "values": ["männlich", "weiblich", "divers"]}
    here = visit_of(page)
    here.entries = here.entries.with_(
        chosen=("Geschlecht",), declared={"Geschlecht": sexes}, several_rows=False, rows_about=1000
    )
    here.settle("columns", "domain", "unit")
    settled(page.run())
    (told,) = [warning.value for warning in page.warning]
    assert told.endswith(
        "Only you see this. If this is not intended, its values are written in another way than declared."
    )
    labelled(page.button, "The values of Geschlecht are: w, m, d").click().run()
    settled(page)
    assert visit_of(page).plan.column("Geschlecht").labels[:3] == ("w", "m", "d")
    assert not page.warning
