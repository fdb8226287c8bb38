"""The language of the page: English first, then what the visitor chooses, or their address or cookie names."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from dpengine.translation import catalogue
from dpengine.translation.catalogue import speaking
from pages.parts.shared import language
from pages.parts.visit.plan_form import Entries
from pages.parts.visit.project.history import History
from tests.pages.visits import press, visit, whole


def test_the_first_screen_is_english_and_waits_for_no_names_of_languages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(language, "languages", lambda: pytest.fail("asked for"))
    page = whole(visit())
    assert page.session_state[language.KEY] == "en"
    assert not [button for button in page.button if button.label.startswith("This page in")]


def test_a_browser_in_another_language_is_offered_it_in_that_language(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("streamlit.runtime.context.ContextProxy.locale", "de-AT")
    page = press(whole(visit(language="xx")), "Diese Seite auf Deutsch")
    assert page.session_state[language.KEY] == "de"
    assert not [button for button in page.button if button.label == "Diese Seite auf Deutsch"]
    assert "language" not in page.query_params


def test_the_address_names_a_language() -> None:
    assert whole(visit(language="de")).session_state[language.KEY] == "de"


@pytest.mark.parametrize(("fragments", "said"), [(None, "de"), (["a part"], "en")])
def test_a_part_that_is_drawn_anew_goes_on_in_the_language_of_its_page(
    monkeypatch: pytest.MonkeyPatch, fragments: list[str] | None, said: str
) -> None:
    held = {language.KEY: "de", language.SHOWN: "en"}  # a page that is not translated
    monkeypatch.setattr(language, "st", SimpleNamespace(session_state=held))
    monkeypatch.setattr(language, "get_script_run_ctx", lambda: SimpleNamespace(fragment_ids_this_run=fragments))
    language.speak_the_visitors()
    assert catalogue.language() == said


def test_decisions_are_kept_in_english_and_told_in_the_visitors_language() -> None:
    with speaking("de"):
        history = History().noted(Entries(), set()).noted(Entries(epsilon="0.5"), set())
        history = history.noted(Entries(epsilon="0.5", title="Visits"), set()).back()
        assert (history.undoes, history.redoes) == ("ε 1 → 0,5", "Titel: Visits")
    assert [each.said for each in history.moments] == ["", "ε 1 → 0.5", "title: Visits"]
