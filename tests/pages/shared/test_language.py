"""The language of the page: the browser's first, then what the visitor chooses, or their address or cookie names."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from types import SimpleNamespace
from unittest.mock import MagicMock

import pandas as pd
import pytest
import streamlit as st

from dpengine import Plan
from dpengine.spec.codebook import Codebook
from dpengine.spec.exchange.draft import ReadCodebook
from dpengine.translation import catalogue
from dpengine.translation.catalogue import speaking
from pages.parts.publish import codebook_box, columns_step
from pages.parts.shared import language
from pages.parts.shared.number_table import in_language
from pages.parts.visit import saved_draft
from pages.parts.visit.plan.entries import Draft, Entries
from pages.parts.visit.plan.plan_form import from_plan
from pages.parts.visit.project.history import History
from pages.parts.visit.state import VisitState
from tests.pages.visits import visit, whole


def test_the_first_screen_is_english_and_waits_for_no_names_of_languages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(language, "languages", lambda: pytest.fail("asked for"))
    page = whole(visit())
    assert page.session_state[language.KEY] == "en"


@pytest.mark.parametrize(
    ("browser", "cookie", "address", "begins"),
    [
        ("de-AT", None, None, "de"),
        ("DE", None, "xx", "de"),
        ("tlh", None, None, "en"),
        ("de-AT", "en", None, "en"),
        ("en-GB", "de", None, "de"),
        ("de-AT", "de", "en", "en"),
    ],
)
def test_a_visit_begins_in_the_browsers_language_unless_another_was_chosen(
    monkeypatch: pytest.MonkeyPatch, browser: str, cookie: str | None, address: str | None, begins: str
) -> None:
    context = SimpleNamespace(locale=browser, cookies={language.KEY: cookie})
    state: dict[str, str] = {}
    with monkeypatch.context() as patch:
        here = SimpleNamespace(session_state=state, query_params={language.KEY: address}, context=context)
        patch.setattr(language, "st", here)
        language.use_visitors_language()
    assert state == {language.KEY: begins}


def test_the_address_names_a_language() -> None:
    assert whole(visit(language="de")).session_state[language.KEY] == "de"


@pytest.mark.parametrize(("run", "said"), [(SimpleNamespace(), "de"), (None, "en")])
def test_a_part_that_is_drawn_anew_speaks_the_visitors_language_and_what_is_no_page_english(
    monkeypatch: pytest.MonkeyPatch, run: object, said: str
) -> None:
    monkeypatch.setattr(language, "st", SimpleNamespace(session_state={language.KEY: "de"}))
    monkeypatch.setattr(language, "get_script_run_ctx", lambda **_quietly: run)
    language.use_visitors_language()
    assert catalogue.language() == said


@dataclass(frozen=True)
class Asked:
    """Something chosen by words that say an ε, such as a request for approval."""

    dataset: str


def test_what_was_chosen_in_boxes_is_set_again_by_its_value_with_the_language(monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise its words in the old language, which the browser tells, would be taken for the value."""
    held = {
        language.KEY: "en",
        "strategy": "auto",
        "columns": ["age", "ward"],
        "table": ("age", "ward"),
        "total": (),
        "also": [("mean", "pay"), ("persons",)],
        "epsilon": Fraction(1, 2),
        "request": Asked("visits"),
    }
    no_choices = {"files": [], "pressed": True, "rows": {}, "none": None}
    written: dict[str, object] = {}
    state = MagicMock(
        items=(held | no_choices).items, __setitem__=lambda _self, key, value: written.update({key: value})
    )
    monkeypatch.setattr(language, "st", MagicMock(session_state=state))
    forget = MagicMock()
    language._choose("de", forget)
    assert written == held | {language.KEY: "de"}
    forget.assert_called_once_with()  # of readings, which may hold texts in English


def test_decisions_are_kept_in_english_and_told_in_the_visitors_language() -> None:
    with speaking("de"):
        history = History().noted(Entries(), set()).noted(Entries(epsilon="0.5"), set())
        history = history.noted(Entries(epsilon="0.5", title="Visits"), set()).back()
        assert (history.undoes, history.redoes) == ("ε 1 → 0,5", "Titel: Visits")
    assert [each.words for each in history.moments] == ["", "ε 1 → 0.5", "title: Visits"]


def test_so_are_plans_and_codebooks_that_are_opened(monkeypatch: pytest.MonkeyPatch) -> None:
    age = {"name": "age", "kind": "number", "edges": [0, 18]}
    plan = Plan(dataset="visits", epsilon="1", columns=[age], tables=[["age"]])
    books = [ReadCodebook(Codebook(about={}, columns=plan.columns), doubtful=True)]
    here = VisitState(table=SimpleNamespace(columns=[SimpleNamespace(name="age", words=())]))
    here.settle = lambda *_steps: None
    for module in (saved_draft, codebook_box, columns_step):
        monkeypatch.setattr(module, "visit", lambda: here)
    monkeypatch.setattr(codebook_box, "st", MagicMock())
    monkeypatch.setattr(columns_step, "st", MagicMock())
    monkeypatch.setattr(columns_step, "file_box", lambda *_, **__: "a file")
    monkeypatch.setattr(columns_step, "_plan_in", lambda _file: plan)
    monkeypatch.setattr(columns_step.background_read, "read", lambda *_, **__: True)
    told = []
    with speaking("de"):
        here.note()
        for act in (
            lambda: saved_draft.take_over(Draft("visits.csv", "", (), from_plan(plan))),
            lambda: codebook_box._fill_in_columns(books, {}),
            columns_step._load_plan,
        ):
            act()
            here.note()
            told.append(here.history.undoes)
    assert [each.words for each in here.history.past] == [
        "open the plan for visits.csv", "codebook for 1 column", "load a plan",
    ]  # fmt: skip
    assert told == ["Plan für visits.csv geöffnet", "Codebuch für 1 Spalte", "Plan geladen"]


def test_a_table_of_numbers_has_the_marks_of_the_language() -> None:
    number = st.column_config.NumberColumn
    columns = {"rows": number(format="%,d"), "off": number("off by", format="%+.3g"), "part": number(format="%.0f %%")}
    frame = pd.DataFrame({"rows": [1200, 3], "off": [0.000412345, -12345.6], "part": [12.4, None], "name": ["a", "b"]})
    assert in_language(frame, columns, "de-DE") == (frame, columns), "English is written by the formats"
    with speaking("de"):
        shown, config = in_language(frame, columns, "de-AT")
        assert (list(shown["rows"]), config["rows"]["type_config"]["format"]) == ([1200, 3], "localized")
        assert (list(shown["off"]), config["off"]["type_config"]["type"]) == (["+0,000412", "-12300"], "text")
        assert (shown["part"][0], pd.isna(shown["part"][1])) == ("12 %", True)
        assert list(in_language(frame, columns, "en-US")[0]["rows"]) == ["1.200", "3"]
