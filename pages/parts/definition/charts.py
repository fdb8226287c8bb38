"""Figures of the Definition lab: two laws and their ratio, what a reader comes to believe, what bounds cost."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from dpengine.lessons.definition import BoundedMean, Comparison
from pages.parts.shared.figures import tones

__all__ = ["belief_figure", "laws_figure", "trade_figure"]

MAX_BARS = 60


def laws_figure(seen: Comparison, unit: str, epsilon: float, names: tuple[str, str]) -> go.Figure:
    """Above, how likely each answer is on the two tables; below, how many times as likely on one as on the other."""
    tone = tones()
    figure = make_subplots(rows=2, cols=1, shared_xaxes=True, row_heights=[0.6, 0.4], vertical_spacing=0.06)
    looks = (
        (names[0], seen.first, "accent", "", "solid"),
        (names[1], seen.second, "other", "/", "dash"),
    )
    for name, law, colour, pattern, dash in looks:
        hover = f"answer %{{x:,}}: %{{y:.3~p}}<extra>{name}</extra>"
        if len(seen.answers) <= MAX_BARS:
            shape = {"shape": pattern, "fillmode": "overlay", "fgcolor": tone["ground"], "size": 6}
            marker = {"color": tone[colour], "pattern": shape}
            figure.add_bar(x=seen.answers, y=law, name=name, marker=marker, hovertemplate=hover, row=1, col=1)
        else:
            line = {"color": tone[colour], "width": 2.5, "dash": dash}
            figure.add_scatter(
                x=seen.answers, y=law, name=name, mode="lines", line=line, hovertemplate=hover, row=1, col=1
            )
    ratio = np.exp(np.clip(seen.log_ratio, -700, 700))
    few = len(seen.answers) <= MAX_BARS
    figure.add_scatter(
        x=seen.answers,
        y=ratio,
        name="ratio",
        showlegend=False,
        mode="lines+markers" if few else "lines",
        line={"color": tone["grey"], "width": 2},
        marker={"size": 7, "color": tone["grey"]},
        hovertemplate="answer %{x:,}: %{y:.3~g} times as likely with the person<extra></extra>",
        row=2,
        col=1,
    )
    ends = sorted({-epsilon, 0.0, epsilon, float(seen.log_ratio.max()), float(seen.log_ratio.min())})
    for power in (epsilon, -epsilon):
        figure.add_hline(y=math.exp(power), line={"color": tone["accent"], "width": 1.5, "dash": "dot"}, row=2, col=1)
    reach = max(epsilon, float(np.abs(seen.log_ratio).max()), 0.05) * 1.45
    figure.update_yaxes(title_text="probability", rangemode="tozero", tickformat=".0%", row=1, col=1)
    if seen.first.max() < 0.02:
        figure.update_yaxes(tickformat=".2~%", row=1, col=1)
    figure.update_yaxes(
        title_text="D over D′",
        type="log",
        tickvals=[math.exp(end) for end in ends],
        ticktext=[_factor(end, epsilon) for end in ends],
        range=[-reach / math.log(10), reach / math.log(10)],
        row=2,
        col=1,
    )
    figure.update_xaxes(title_text=unit, row=2, col=1)
    figure.update_layout(bargap=0.15, barmode="group")
    return figure


def _factor(power: float, epsilon: float) -> str:
    """A ratio at the axis: e^±ε by its name."""
    named = {epsilon: "e<sup>ε</sup> = ", -epsilon: "e<sup>−ε</sup> = "}.get(power, "")
    return f"{named}{math.exp(power):.3g}"


def belief_figure(answers: Sequence[int], after: Sequence[float], prior: float, epsilon: float) -> go.Figure:
    """How sure a reader is after each answer, between the bounds that ε sets."""
    tone = tones()
    figure = go.Figure()
    odds = prior / (1 - prior)
    for power, name in ((1, "the most that ε allows"), (-1, "the least")):
        bound = odds * math.exp(power * min(epsilon, 700))
        figure.add_hline(y=bound / (1 + bound), line={"color": tone["accent"], "width": 1.5, "dash": "dot"},
                         annotation={"text": name, "yanchor": "bottom" if power > 0 else "top"})  # fmt: skip
    figure.add_hline(y=prior, line={"color": tone["grey"], "width": 1},
                     annotation={"text": "before", "xanchor": "left", "x": 0})  # fmt: skip
    figure.add_scatter(
        x=answers,
        y=after,
        mode="lines+markers",
        line={"color": tone["accent"], "width": 2.5, "shape": "hvh"},
        marker={"size": 8, "color": tone["accent"]},
        hovertemplate="published %{x}: %{y:.0%} sure<extra></extra>",
        showlegend=False,
    )
    figure.update_xaxes(title_text="cancer patients in the zip code, as published")
    figure.update_yaxes(title_text="how sure, after", tickformat=".0%", range=[-0.03, 1.08])
    return figure


def trade_figure(bounds: Sequence[int], trades: Sequence[BoundedMean], now: int) -> go.Figure:
    """How wrong the mean is over the upper bound: by what is cut off, and by noise."""
    tone = tones()
    figure = go.Figure()
    lines = (
        ("cut off by the bound", [abs(trade.bias) for trade in trades], "other", "dash"),
        ("typical noise", [trade.noise for trade in trades], "accent", "solid"),
    )
    for name, values, colour, dash in lines:
        figure.add_scatter(
            x=list(bounds),
            y=values,
            name=name,
            mode="lines",
            line={"color": tone[colour], "dash": dash, "width": 2.5},
            hovertemplate=f"bound %{{x}}: %{{y:.2f}} inches<extra>{name}</extra>",
        )
    figure.add_vline(x=now, line={"color": tone["grey"], "width": 1, "dash": "dot"})
    figure.update_xaxes(title_text="heights above this many inches count as this")
    figure.update_yaxes(title_text="inches off", rangemode="tozero")
    return figure
