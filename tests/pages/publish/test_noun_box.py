"""The words for what is counted: asked in steps 2 and 4, taken into the plan, and said wherever a count is named."""

from __future__ import annotations

import pytest
from streamlit.testing.v1 import AppTest

import dpengine as dpe
from dpengine import Plan
from dpengine.charts import figures
from dpengine.spec.declared import Nouns
from pages.parts.publish.outlook import preview
from pages.parts.visit.plan import plan_form
from pages.parts.visit.plan.entries import Entries
from pages.parts.visit.project.changes import in_words
from tests.pages.visits import labelled, press, texts, visit, visit_of

VISITS = "patient_id,age\n" + "".join(f"{k // 3},{20 + k}\n" for k in range(60))


@pytest.fixture
def hospital() -> AppTest:
    page = visit()
    page.get("file_uploader")[0].upload("visits.csv", VISITS.encode()).run()
    labelled(page.multiselect, "Columns that matter").set_value(["age"]).run()
    return page


@pytest.mark.nightly
def test_the_words_reach_the_plan_and_what_is_said_of_it(hospital: AppTest) -> None:
    labelled(hospital.selectbox, "What the rows are").set_value("visits").run()
    press(hospital, "Go on to what is known")
    press(hospital, "Confirm 1 suggestion")
    press(hospital, "Go on to whom it protects")
    labelled(hospital.selectbox, "Whom it identifies").set_value("patients").run()
    labelled(hospital.number_input, "Rows per person").set_value(3).run()
    labelled(hospital.number_input, "Roughly how many rows").set_value(60).run()
    press(hospital, "Go on to how private")
    plan = plan_form.to_plan(visit_of(hospital).entries)
    assert (plan.nouns.rows, plan.nouns.people) == ("visits", "patients")
    assert "60 visits" in texts(hospital)
    assert "counted: visits, patients" in in_words(Entries(), Entries(nouns=visit_of(hospital).entries.nouns))
    again = plan_form.to_plan(plan_form.from_plan(plan))
    assert again == plan


def test_a_word_of_ones_own_is_checked_at_once(hospital: AppTest) -> None:
    box = labelled(hospital.selectbox, "What the rows are")
    box.options.append("<b>")
    box.set_value("<b>").run()
    assert "Not taken over" in texts(hospital)
    assert visit_of(hospital).entries.nouns == {}


def test_whoever_a_row_stands_for_has_one_noun_on_the_page() -> None:
    plan = Plan(
        dataset="d", epsilon=1, nouns={"people": "incidents"}, columns=[{"name": "er", "kind": "yesno"}],
        tables=[["er"]],
    )  # fmt: skip
    assert plan_form.from_plan(plan).nouns == {"rows": "incidents"}


def test_the_preview_says_a_word_at_once() -> None:
    """Its numbers stay, since they do not depend on the words."""
    plan = Plan(
        dataset="d", epsilon=1, unit={"rows": 1}, columns=[{"name": "er", "kind": "yesno"}], tables=[["er"]],
        rows_about=500,
    )  # fmt: skip
    drawn = dpe.preview(plan)
    named = plan.model_copy(update={"nouns": Nouns(rows="visits")})
    shown = preview._with_words_of(named, drawn)
    assert str(figures.release_figure(shown, ("er",)).layout.title.text) == "Visits by er"
    assert shown.tables["er",].equals(drawn.tables["er",])
