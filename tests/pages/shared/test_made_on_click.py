"""Files that are made upon a click."""

from __future__ import annotations

import pytest

from dpengine.translation.catalogue import _, speaking
from pages.parts.shared import made_on_click


def test_a_file_is_made_in_the_language_of_the_page_whose_button_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    held: list[bytes] = []
    monkeypatch.setattr(made_on_click, "_hold", lambda content, *_names: held.append(content))
    with speaking("de"):
        made = made_on_click.made_on_click(lambda: _("count").encode(), "tables.xlsx", made_on_click.OCTETS)
    assert made() == b"Anzahl"
    assert held == [b"Anzahl"]
