"""The answer to a question by group: a dot with its interval for each group, and these numbers as a table."""

from __future__ import annotations

import pandas as pd
import plotly.graph_objects as go
import streamlit as st

from dpengine.charts.style import escape, shorten
from dpengine.results.answer import Answer
from dpengine.results.answer_wording import group_rows
from dpengine.translation.catalogue import _
from pages.parts.shared.data_twin import twin
from pages.parts.shared.figures import draw, tones

__all__ = ["show_groups"]

ROW, MAX_HEIGHT = 26, 1400  # height in pixels of each group, and least height of a figure


def show_groups(answer: Answer, key: str) -> None:
    """Draw the groups of an answer with their intervals, and show these as a table that can be downloaded."""
    rows = group_rows(answer)
    labels = [escape(text) for text in shorten([", ".join(group.labels) for group in answer.groups])]
    frame = pd.DataFrame(rows)
    middle, low, high = (frame[name].astype(float) for name in ("value", "low", "high"))
    tone = tones()
    figure = go.Figure(
        go.Scatter(
            x=middle,
            y=labels,
            mode="markers",
            marker={"color": tone["accent"], "size": 9},
            error_x={
                "type": "data",
                "array": (high - middle).clip(lower=0),
                "arrayminus": (middle - low).clip(lower=0),
                "color": tone["grey"],
                "thickness": 1.8,
                "width": 4,
            },
            hovertemplate="%{y}: %{x:,}<extra></extra>",
        )
    )
    figure.update_yaxes(autorange="reversed", type="category")
    figure.update_xaxes(title=escape(answer.question.in_words))
    alt = _("The answer for each of {n} groups, as dots with their 95 % intervals", n=len(rows))
    draw(figure, alt, f"groups-{key}", height=min(MAX_HEIGHT, 110 + ROW * len(rows)))
    columns = {name: st.column_config.NumberColumn(label, format="%.6g") for name, label in {
        "value": _("answer"), "low": _("95 %: from"), "high": _("95 %: to")}.items()}  # fmt: skip
    twin(frame, f"groups-{key}", columns)
