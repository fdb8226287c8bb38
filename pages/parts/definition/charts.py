"""Figures of the Definition lab: two distributions and their ratio, a reader's belief, and what bounds cost."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from dpengine.lessons.definition import BoundedMean, Comparison
from dpengine.translation.catalogue import _, number
from pages.parts.shared.figures import add_line, hatched, mark_current, tones

__all__ = ["belief_figure", "bounds_figure", "distributions_figure"]

MAX_BARS = 60


def distributions_figure(comparison: Comparison, unit: str, epsilon: float, names: tuple[str, str]) -> go.Figure:
    """Draw the probability of each answer on two tables, and below it the ratio of the two."""
    figure = make_subplots(rows=2, cols=1, shared_xaxes=True, row_heights=[0.6, 0.4], vertical_spacing=0.06)
    few = len(comparison.answers) <= MAX_BARS
    _add_probabilities(figure, comparison, names, few=few)
    _add_ratio(figure, comparison, epsilon, few=few)
    figure.update_xaxes(title_text=unit, row=2, col=1)
    figure.update_layout(bargap=0.15, barmode="group")
    return figure


def _add_probabilities(figure: go.Figure, comparison: Comparison, names: tuple[str, str], *, few: bool) -> None:
    """Add the probabilities on both tables: as bars if there are few answers, else as lines."""
    tone, looks = tones(), ((comparison.first, "accent", "", "solid"), (comparison.second, "other", "/", "dash"))
    for name, (probabilities, colour, pattern, dash) in zip(names, looks, strict=True):
        x, hover = comparison.answers, _("answer %{x:,}: %{y:.3~p}")
        if few:
            look = {"marker": hatched(tone[colour], pattern), "hovertemplate": f"{hover}<extra>{name}</extra>"}
            figure.add_bar(x=x, y=probabilities, name=name, **look, row=1, col=1)
        else:
            add_line(figure, x, probabilities, name, hover, colour=tone[colour], dash=dash, row=1, col=1)
    figure.update_yaxes(title_text=_("probability"), rangemode="tozero", tickformat=".0%", row=1, col=1)
    if comparison.first.max() < 0.02:
        figure.update_yaxes(tickformat=".2~%", row=1, col=1)


def _add_ratio(figure: go.Figure, comparison: Comparison, epsilon: float, *, few: bool) -> None:
    """Add the ratio of the probabilities, between lines at e^ε and e^−ε."""
    tone = tones()
    figure.add_scatter(
        x=comparison.answers,
        y=np.exp(np.clip(comparison.log_ratio, -700, 700)),
        name=_("ratio"),
        showlegend=False,
        mode="lines+markers" if few else "lines",
        line={"color": tone["grey"], "width": 2},
        marker={"size": 7, "color": tone["grey"]},
        hovertemplate=_("answer %{x:,}: %{y:.3~g} times as likely with the person") + "<extra></extra>",
        row=2,
        col=1,
    )
    for power in (epsilon, -epsilon):
        figure.add_hline(y=math.exp(power), line={"color": tone["accent"], "width": 1.5, "dash": "dot"}, row=2, col=1)
    ends = sorted({-epsilon, 0.0, epsilon, float(comparison.log_ratio.max()), float(comparison.log_ratio.min())})
    span = max(epsilon, float(np.abs(comparison.log_ratio).max()), 0.05) * 1.45 / math.log(10)
    figure.update_yaxes(
        title_text=_("D over D′"),
        type="log",
        tickvals=[math.exp(end) for end in ends],
        ticktext=[_factor(end, epsilon) for end in ends],
        range=[-span, span],
        row=2,
        col=1,
    )


def _factor(power: float, epsilon: float) -> str:
    """Return the label of a ratio on the axis; e^ε and e^−ε get their names."""
    named = {epsilon: "e<sup>ε</sup> = ", -epsilon: "e<sup>−ε</sup> = "}.get(power, "")
    return named + number(math.exp(power), ".3g")


def belief_figure(answers: Sequence[int], after: Sequence[float], prior: float, epsilon: float) -> go.Figure:
    """Draw how sure a reader is after each answer, between the bounds that ε sets."""
    tone = tones()
    figure = go.Figure()
    odds = prior / (1 - prior)
    for power, name in ((1, _("the most that ε allows")), (-1, _("the least that ε allows"))):
        bound = odds * math.exp(power * min(epsilon, 700))
        figure.add_hline(y=bound / (1 + bound), line={"color": tone["accent"], "width": 1.5, "dash": "dot"},
                         annotation={"text": name, "yanchor": "bottom" if power > 0 else "top"})  # fmt: skip
    figure.add_hline(y=prior, line={"color": tone["grey"], "width": 1},
                     annotation={"text": _("before"), "xanchor": "left", "x": 0})  # fmt: skip
    figure.add_scatter(
        x=answers,
        y=after,
        mode="lines+markers",
        line={"color": tone["accent"], "width": 2.5, "shape": "hvh"},
        marker={"size": 8, "color": tone["accent"]},
        hovertemplate=_("published %{x}: %{y:.0%} sure") + "<extra></extra>",
        showlegend=False,
    )
    figure.update_xaxes(title_text=_("cancer patients in the zip code, as published"))
    figure.update_yaxes(title_text=_("how sure, after"), tickformat=".0%", range=[-0.03, 1.08])
    return figure


def bounds_figure(bounds: Sequence[int], means: Sequence[BoundedMean], now: int) -> go.Figure:
    """Draw the error of the mean over the upper bound: what cutting off changes, and the typical noise."""
    tone = tones()
    figure = go.Figure()
    lines = (
        (_("cut off by the bound"), [abs(mean.bias) for mean in means], "other", "dash"),
        (_("typical noise"), [mean.noise for mean in means], "accent", "solid"),
    )
    for name, values, colour, dash in lines:
        add_line(figure, list(bounds), values, name, _("bound %{x}: %{y:.2f} inches"), colour=tone[colour], dash=dash)
    mark_current(figure, now)
    figure.update_xaxes(title_text=_("upper bound: heights above it count as the bound (inches)"))
    figure.update_yaxes(title_text=_("inches off"), rangemode="tozero")
    return figure
