"""The glossary: all terms, one term by its address, a search over terms and pages, and a way on if it finds nothing."""

from __future__ import annotations

import pytest
from streamlit.testing.v1 import AppTest

from pages.parts.shared.glossary.help import GLOSSARY
from tests.pages.people import always_by_the_entry
from tests.pages.visits import press, texts, visit, whole


@pytest.fixture(autouse=True)
def by_the_entry(monkeypatch: pytest.MonkeyPatch) -> None:
    """Links lead to pages that the entry names."""
    always_by_the_entry(monkeypatch)


def glossary(**address: str) -> AppTest:
    page = visit()
    for name, value in address.items():
        page.query_params[name] = value
    return whole(page.switch_page("pages/glossary.py").run())


def labels(page: AppTest) -> list[str]:
    return [each.label for each in page.expander]


def test_all_terms_stand_there_with_their_meaning() -> None:
    page = glossary()
    assert len(labels(page)) == len(GLOSSARY)
    for entry in GLOSSARY.values():
        assert f"**{entry.name}** · {entry.meaning}" in labels(page)
    assert f"{len(GLOSSARY)} terms" in texts(page)


def test_an_address_opens_one_term() -> None:
    page = glossary(term="interval")
    assert page.header[0].value == "Interval"
    assert GLOSSARY["interval"].example in texts(page)
    assert not any("**Interval**" in label for label in labels(page)), "it stands there once"
    assert len(labels(glossary(term="zebra"))) == len(GLOSSARY), "an address may be wrong"


def test_a_search_finds_terms_and_pages_and_says_when_there_is_nothing() -> None:
    page = glossary(term="noise")
    whole(page.text_input(key="glossary_search").set_value("how averaging breaks it").run())
    assert page.query_params == {}, "the term that was open makes room"
    assert labels(page)[0].startswith("**Averaging**")
    assert "See how differencing" in texts(page)
    whole(page.text_input(key="glossary_search").set_value("*zebra*").run())
    assert "Nothing here mentions “*zebra*”" in texts(page)
    assert not labels(page)
    press(page, "Show all terms")
    assert len(labels(page)) == len(GLOSSARY)


def test_it_speaks_german() -> None:
    page = visit(language="de")
    whole(page.switch_page("pages/glossary.py").run())
    assert page.title[0].value == "Glossar"
    assert any(label.startswith("**Intervall** · Der Bereich") for label in labels(page))
