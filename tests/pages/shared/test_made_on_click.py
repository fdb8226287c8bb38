"""Files that are made upon a click."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from dpengine.errors import Fault, LedgerError, ReleaseError
from dpengine.translation.catalogue import _, speaking
from pages.parts.shared import made_on_click


def _made(make: Callable[[], bytes], told: list[str]) -> Callable[[], bytes]:
    return made_on_click._made_and_held(make, "tables.xlsx", made_on_click.OCTETS, told.append)


def test_a_file_is_made_in_the_language_of_the_page_whose_button_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    held: list[bytes] = []
    monkeypatch.setattr(made_on_click, "_hold", lambda content, *_names: held.append(content))
    told: list[str] = []
    with speaking("de"):
        made = _made(lambda: _("count").encode(), told)
    assert made() == b"Anzahl"
    assert (held, told) == ([b"Anzahl"], [])


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (ReleaseError("the tables are too large"), "konnte nicht erstellt werden. the tables are too large"),
        (LedgerError([Fault(("sqlite:///secret.db",), "is locked")]), "konnte nicht erstellt werden. is locked"),
        (MemoryError(), "zu wenig Speicher"),
        (ValueError("a cell holds Ann"), "Protokoll des Servers"),
    ],
)
def test_a_file_that_cannot_be_made_says_why_and_tells_nothing_else(error: Exception, said: str) -> None:
    def fail() -> bytes:
        raise error

    told: list[str] = []
    with speaking("de"):
        made = _made(fail, told)
    with pytest.raises(type(error)):
        made()
    assert said in told[0]
    assert not {"secret", "Ann"} & set(told[0].replace(".", " ").split())


def test_the_reason_is_shown_once_beside_a_button_that_stays() -> None:
    def page() -> None:
        import streamlit as st

        from pages.parts.shared import made_on_click

        st.session_state.setdefault(made_on_click.FAILED, {"button": "It could not be made."})
        made_on_click.offer_file("Save", lambda: b"", "a.csv", "text/csv", key="button", icon=":material/save:")

    shown = AppTest.from_function(page).run()
    assert [each.value for each in shown.error] == ["It could not be made."]
    assert [each.label for each in shown.get("download_button")] == ["Save"]
    assert not shown.run().error


def test_no_page_offers_a_file_that_would_fail_without_a_reason() -> None:
    folder = Path(made_on_click.__file__).parents[2]
    bare = {path.name for path in folder.rglob("*.py") if "download_button(" in path.read_text(encoding="utf-8")}
    assert bare == {Path(made_on_click.__file__).name}
