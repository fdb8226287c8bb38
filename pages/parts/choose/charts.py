"""Figures of the Choose lab: the probability of each candidate."""

from __future__ import annotations

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from dpengine.charts.style import escape, shorten
from dpengine.choose import Mechanism
from dpengine.translation.catalogue import _
from pages.parts.shared.figures import add_line, epsilon_axis, hatched, tones

__all__ = ["SHOWN", "likely_figure", "over_epsilon_figure"]

SHOWN = 6
_DASHES = ("solid", "dash", "dot", "dashdot", "longdash", "longdashdot")
_SYMBOLS = ("circle", "square", "diamond", "triangle-up", "x", "cross")


def likely_figure(names: list[str], both: dict[Mechanism, np.ndarray]) -> go.Figure:
    """Draw the probability of each candidate in the given order, as one bar for each mechanism."""
    colours = tones()
    looks = {Mechanism.PERMUTE_AND_FLIP: (colours["accent"], ""), Mechanism.EXPONENTIAL: (colours["other"], "/")}
    labels = [escape(name) for name in shorten(names)]
    figure = go.Figure()
    for mechanism, probabilities in both.items():
        colour, pattern = looks[mechanism]
        method = _(mechanism.value)
        figure.add_bar(
            x=labels,
            y=probabilities.tolist(),
            name=method,
            marker=hatched(colour, pattern),
            hovertemplate="%{x}: %{y:.1%}<extra>" + method + "</extra>",
        )
    figure.update_layout(barmode="group", bargap=0.25)
    figure.update_xaxes(title_text=_("candidate"), type="category")
    figure.update_yaxes(title_text=_("probability of being drawn"), tickformat=".0%", rangemode="tozero")
    return figure


def over_epsilon_figure(rows: pd.DataFrame, best: list[str], epsilon: float) -> go.Figure:
    """Draw the probability over ε of the candidates in `best`; the first, which scores highest, in the accent."""
    colours = tones()
    figure = go.Figure()
    for k, (name, label) in enumerate(zip(best, shorten(best), strict=True)):
        colour, width = (colours["accent"], 2.5) if k == 0 else (colours["grey"], 1.6)
        add_line(
            figure, rows["epsilon"], rows[name], escape(label), "ε = %{x:g}: %{y:.1%}",
            colour=colour, dash=_DASHES[k], width=width, symbol=_SYMBOLS[k], size=5,
        )  # fmt: skip
    epsilon_axis(figure, epsilon, right=_("sharper"))
    figure.update_yaxes(title_text=_("probability of being drawn"), tickformat=".0%", range=[-0.02, 1.02])
    return figure
