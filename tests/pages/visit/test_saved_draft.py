"""A plan that waits for its table: what is kept of it, which text is accepted back, and where it goes on."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from dpengine import Plan
from dpengine.sources.table import Table
from pages.parts.visit import samples, saved_draft
from pages.parts.visit.plan import plan_form
from pages.parts.visit.plan.column_entry import suggestion
from pages.parts.visit.plan.entries import Draft, Entries
from pages.parts.visit.state import VISIT, VisitState
from tests.pages.publish.test_steps import CLINIC
from tests.pages.visits import labelled, press, settled, texts, visit, visit_of

DATA = Path(__file__).parents[3] / "data"
AGE = {"name": "age", "kind": "number", "source": "typed", "edges": ["0", "18", "120"]}


def clinic(**changes: object) -> Draft:
    entries = Entries(
        title="Ages", dataset="clinic", chosen=("age",), declared={"age": AGE}, several_rows=False, epsilon="0.5"
    )
    return Draft("clinic.csv", "", ("columns", "domain", "table", "unit"), entries.with_(**changes))


def waiting(kept: Draft) -> AppTest:
    page = visit()
    visit_of(page).waiting = kept
    return page.run()


@pytest.mark.parametrize("name", ["census", "rand"])
def test_a_draft_written_and_read_back_gives_the_same_plan(name: str) -> None:
    plan = Plan.load(DATA / f"{name}.plan.yaml")
    kept = Draft(name, name, ("table",), plan_form.from_plan(plan))
    text = saved_draft.to_text(kept)
    assert text is not None
    again = saved_draft.from_text(text)
    assert again is not None
    assert (again.table, again.sample, again.settled) == (name, name, ("table",))
    assert plan_form.to_plan(again.entries) == plan_form.to_plan(kept.entries)


def test_a_half_filled_plan_is_kept_as_it_is() -> None:
    date = suggestion("day", "date")
    half = clinic(chosen=("age", "day"), declared={"age": AGE, "day": date}, several_rows=None, epsilon="")
    assert saved_draft.from_text(saved_draft.to_text(half) or "") == half


def test_a_draft_too_long_for_a_browser_is_not_kept() -> None:
    assert saved_draft.to_text(clinic(title="x" * saved_draft.MAX_LETTERS)) is None


@pytest.mark.parametrize(
    "change",
    [
        {"chosen": []},
        {"chosen": ["age", "income"]},
        {"chosen": [7]},
        {"layout": "spiral"},
        {"rows": 0},
        {"rows": "many"},
        {"rows": 1_000_001},
        {"rows_about": 10**12 + 1},
        {"epsilon": "abc"},
        {"language": "xx"},
        {"chosen": ["age", "age"]},
        {"declared": {"age": {"name": "age"}}},
        {"declared": {"age": {**AGE, "name": "income"}}},
        {"declared": {"age": {**AGE, "kind": "secret"}}},
        {"declared": {"age": {**AGE, "edges": "0"}}},
        {"declared": {"age": {**AGE, "source": "a spy"}}},
        {"declared": 3},
    ],
)
def test_text_that_is_no_draft_is_ignored(change: dict[str, object]) -> None:
    draft = json.loads(saved_draft.to_text(clinic()) or "")
    assert saved_draft.from_text(json.dumps(draft)) is not None
    draft["entries"] |= change
    assert saved_draft.from_text(json.dumps(draft)) is None
    assert saved_draft.from_text("{") is None


def test_a_plan_goes_on_where_it_was_once_its_table_is_uploaded_again() -> None:
    page = waiting(clinic())
    assert "Your plan for clinic.csv is back." in texts(page)
    page.get("file_uploader")[0].upload("again.csv", CLINIC.encode()).run()
    assert "is back" not in texts(settled(page))
    assert "At ε = 0.5" in texts(page)
    assert visit_of(page).entries == clinic().entries
    assert labelled(page.text_input, "Dataset whose budget").value == "clinic"


def test_its_table_is_read_as_before_so_that_rows_of_a_summary_count_people(monkeypatch: pytest.MonkeyPatch) -> None:
    kept = replace(clinic(), frequency="in all", answers={"q": ["a", "b; c"]})
    assert saved_draft.from_text(saved_draft.to_text(kept) or "") == kept
    page = waiting(kept)
    page.get("file_uploader")[0].upload("clinic.csv", b"age,q,in all\n30,a,3\n41,b,2\n").run()
    settled(page)
    here = visit_of(page)
    assert here.read_as == {"frequency": "in all", "answers": {"q": ["a", "b; c"]}}
    assert here.table is not None
    assert [field.name for field in here.table.columns] == ["age", "q", "q: a", "q: b; c"]
    monkeypatch.setattr(saved_draft, "visit", lambda: here)
    now = saved_draft.current()
    assert now is not None
    assert (now.frequency, now.answers) == (kept.frequency, kept.answers)
    here.begin(Entries())
    assert here.earlier == now, "which says so of a plan that is put aside, too"


def test_a_half_filled_plan_goes_on_with_its_next_step() -> None:
    kept = clinic(several_rows=None)
    page = waiting(Draft(kept.table, "", ("columns", "domain", "table"), kept.entries))
    page.get("file_uploader")[0].upload("again.csv", CLINIC.encode()).run()
    assert visit_of(page).step == "unit"


def test_a_table_without_a_needed_column_begins_a_new_plan_and_the_old_one_waits() -> None:
    page = waiting(clinic(several_rows=True, id_column="person"))
    page.get("file_uploader")[0].upload("again.csv", CLINIC.encode()).run()
    assert "still waits for its table; this one has no person." in texts(page)
    assert visit_of(page).entries.chosen == ()
    press(page, "Forget that plan")
    assert "waits" not in texts(page)
    assert visit_of(page).waiting is None


@pytest.mark.nightly
def test_loading_a_sample_leaves_a_plan_for_another_table_waiting() -> None:
    page = waiting(clinic())
    page.button(key="sample_rand").click().run()
    assert visit_of(page).entries.dataset == "rand-hie"
    assert visit_of(page).waiting == clinic()


def as_a_run_begins(**state: Any) -> AppTest:
    """Do what `app.py` does before it draws a page."""

    def begins() -> None:
        from pages.parts.visit import samples

        samples.bring_sample()

    page = AppTest.from_function(begins, default_timeout=60)
    page.session_state[VISIT] = VisitState(**state)
    return page


def clicked_meanwhile(monkeypatch: pytest.MonkeyPatch, times: int) -> list[str]:
    """Click `times` times in the middle of opening a sample: each time the run ends there, and another begins."""
    left, there = ["click"] * times, samples.open_table

    def opened(path: Path) -> Table:
        if left:
            left.pop()
            st.rerun()
        return there(path)

    monkeypatch.setattr(samples, "open_table", opened)
    return left


def test_a_sample_is_opened_whatever_is_clicked_meanwhile(monkeypatch: pytest.MonkeyPatch) -> None:
    left = clicked_meanwhile(monkeypatch, 2)
    page = as_a_run_begins(wanted_sample="rand").run()
    assert not left
    assert visit_of(page).sample == "rand"
    assert visit_of(page).entries.dataset == "rand-hie"
    assert visit_of(page).step == ""
    assert visit_of(page).wanted_sample == ""


def rand(**changes: object) -> Draft:
    entries = plan_form.from_plan(Plan.load(DATA / "rand.plan.yaml")).with_(**changes)
    return Draft("RAND", "rand", ("columns", "domain", "table", "unit"), entries)


def test_a_plan_comes_back_with_its_sample_whatever_is_clicked_meanwhile(monkeypatch: pytest.MonkeyPatch) -> None:
    left, kept = clicked_meanwhile(monkeypatch, 2), rand(epsilon="0.25")
    page = as_a_run_begins(waiting=kept).run()
    assert not left
    assert visit_of(page).sample == "rand"
    assert visit_of(page).entries == kept.entries
    assert visit_of(page).plan == plan_form.to_plan(kept.entries)
    assert visit_of(page).waiting is None


def test_a_plan_that_does_not_fit_its_sample_is_given_up() -> None:
    page = as_a_run_begins(waiting=rand(chosen=("no such column",))).run()
    assert visit_of(page).entries.dataset == "rand-hie"
    assert visit_of(page).waiting is None


def test_a_release_in_the_address_goes_before_a_saved_plan() -> None:
    page = as_a_run_begins(waiting=rand())
    page.query_params["release"] = "00"
    page.run()
    assert visit_of(page).table is None
    assert visit_of(page).waiting == rand()
