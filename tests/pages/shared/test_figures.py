"""Figures fit where they are shown."""

from __future__ import annotations

import plotly.graph_objects as go
import pytest

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
