"""Figures fit where they are shown."""

from __future__ import annotations

from pathlib import Path

import plotly
import plotly.graph_objects as go
import pytest

from dpengine.translation.catalogue import speaking
from pages.parts.shared import figures


def test_a_long_title_of_an_axis_is_divided_where_a_phone_would_cut_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(figures.st, "plotly_chart", lambda *_args, **_named: None)
    title = "upper bound: heights above it count as the bound (inches)"
    figure = go.Figure().update_layout(xaxis_title_text=title, yaxis_title_text=title)
    figures.draw(figure, "", "any", private=True)
    lines = figure.layout.xaxis.title.text.split("<br>")
    assert " ".join(lines) == title
    assert len(lines) == 2
    assert figure.layout.yaxis.title.text == title


def test_the_buttons_of_a_chart_speak_the_language_of_the_page() -> None:
    assert "locales" not in figures.buttons()
    with speaking("de"):
        options = figures.buttons(shown=False)
    assert options["displayModeBar"] is False
    assert options["locales"][options["locale"]]["dictionary"]["Pan"] == "Verschieben"


def test_plotly_has_the_texts_that_are_translated_for_it() -> None:
    script = (Path(plotly.__file__).parent / "package_data" / "plotly.min.js").read_text(encoding="utf-8")
    assert [text for text in figures.WORDS_OF_BUTTONS if f'"{text}"' not in script] == []
