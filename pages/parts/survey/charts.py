"""Figures of the Survey lab: estimates and the truth, errors by size, four cells, the AND, and repeated reports."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from dpengine.charts.style import escape, shorten
from dpengine.lessons.survey import SurveyError
from dpengine.translation.catalogue import _, localised
from pages.parts.shared.figures import add_line, hatched, mark_current, tones

__all__ = ["and_figure", "answers_figure", "cells_figure", "days_figure", "people_figure"]


def answers_figure(
    labels: Sequence[str], true: np.ndarray, estimated: np.ndarray, half_widths: np.ndarray
) -> go.Figure:
    """Draw the estimated counts as bars with their intervals, and the true counts as diamonds."""
    tone = tones()
    names = [escape(label) for label in shorten(labels)]
    figure = go.Figure()
    _add_estimates(figure, names, estimated, half_widths, _("estimate from reports"))
    truth = _("truth")
    figure.add_scatter(
        x=names,
        y=true,
        name=truth,
        mode="markers",
        marker={
            "symbol": "diamond",
            "size": 9,
            "color": tone["other"],
            "line": {"width": 1.5, "color": tone["ground"]},
        },
        hovertemplate="%{x}: %{y:,}<extra>" + truth + "</extra>",
    )
    figure.update_xaxes(type="category")
    figure.update_yaxes(title_text=_("people"), zeroline=True, zerolinecolor=tone["grey"])
    return figure


def _add_estimates(
    figure: go.Figure, labels: Sequence[str], values: np.ndarray, half_widths: np.ndarray, name: str
) -> None:
    """Add pale bars with their 95 % intervals."""
    tone = tones()
    figure.add_bar(
        x=labels,
        y=values,
        name=_("{name}, 95 % interval", name=name),
        marker={"color": tone["soft"], "line": {"color": tone["accent"], "width": 1.5}},
        error_y={"type": "data", "array": half_widths, "color": tone["accent"], "thickness": 1.8, "width": 4},
        hovertemplate="%{x}: %{y:,.0f} ± %{error_y.array:,.0f}<extra>" + name + "</extra>",
    )


def people_figure(spreads: Sequence[SurveyError], here: int) -> go.Figure:
    """Draw the standard error of a count over the number of people, and as dots the errors of one run."""
    tone = tones()
    figure = go.Figure()
    lines = (
        (_("everyone flips coins"), [each.local for each in spreads], "accent", "solid"),
        (_("a trusted curator"), [each.curator for each in spreads], "other", "dash"),
    )
    sizes, off = [each.people for each in spreads], _("%{x:,} people: %{y:,.3~g} off")
    for name, errors, colour, dash in lines:
        figure.add_scatter(
            x=sizes, y=errors, name=name, mode="lines", line={"color": tone[colour], "dash": dash, "width": 2.5},
            hovertemplate=off + "<extra>" + _("{name}, predicted", name=name) + "</extra>",
        )  # fmt: skip
    dots = (
        (_("coins, in one run"), [each.local_observed for each in spreads], "accent", "circle"),
        (_("curator, in one run"), [each.curator_observed for each in spreads], "other", "square"),
    )
    for name, values, colour, symbol in dots:
        figure.add_scatter(
            x=sizes,
            y=[None if each is None else max(each, 0.1) for each in values],
            name=name,
            mode="markers",
            marker={
                "color": tone[colour],
                "symbol": symbol,
                "size": 9,
                "line": {"width": 1.5, "color": tone["ground"]},
            },
            hovertemplate=off + f"<extra>{name}</extra>",
        )
    mark_current(figure, here)
    figure.update_xaxes(title_text=_("people who are asked"), type="log", dtick=2, tickformat=",~r")  # room on a phone
    figure.update_yaxes(title_text=_("a count is off by (people)"), type="log", dtick=1, tickformat=",~r")
    return figure


def cells_figure(labels: Sequence[str], coins: np.ndarray, half_widths: np.ndarray, noise: np.ndarray) -> go.Figure:
    """Draw the error of each of the four cells: of coins, with intervals, and of a curator's noise."""
    tone = tones()
    figure = go.Figure()
    _add_estimates(figure, list(labels), coins, half_widths, _("everyone flips coins"))
    figure.add_bar(
        x=list(labels),
        y=noise,
        name=_("a trusted curator"),
        marker=hatched(tone["other"], "/"),
        text=[localised(f"{each:+,d}") if each else "0" for each in noise.tolist()],
        textposition="outside",
        hovertemplate="%{x}: %{y:+,}<extra>" + _("curator") + "</extra>",
    )
    figure.update_layout(barmode="group", bargap=0.35)
    figure.update_xaxes(type="category")
    figure.update_yaxes(title_text=_("off by (people)"), zeroline=True, zerolinecolor=tone["grey"])
    return figure


def and_figure(truths: Sequence[str], chances: Sequence[float], texts: Sequence[str]) -> go.Figure:
    """Draw the probability that both reports say yes, for each pair of true answers."""
    tone = tones()
    figure = go.Figure()
    figure.add_bar(
        x=list(truths),
        y=list(chances),
        text=list(texts),
        textposition="outside",
        cliponaxis=False,
        marker={"color": tone["accent"]},
        hovertemplate="%{x}: %{y:.2%}<extra></extra>",
    )
    figure.update_layout(bargap=0.4, showlegend=False)
    figure.update_xaxes(title_text=_("true answers to the two questions"), type="category")
    figure.update_yaxes(title_text=_("both reports say yes"), tickformat=".0%", range=[0, 1.12 * max(chances)])
    return figure


def days_figure(
    days: Sequence[int], right: Sequence[float], bound: Sequence[float], once: float, now: int
) -> go.Figure:
    """Draw over days how often a guess is right with fresh coins and with the first report repeated, and ε's bound."""
    tone = tones()
    figure = go.Figure()
    lines = (
        (_("fresh coins every day"), right, "accent", "solid"),
        (_("the most that ε allows"), bound, "grey", "dot"),
        (_("the first report repeated"), [once] * len(days), "other", "dash"),
    )
    for name, values, colour, dash in lines:
        add_line(figure, list(days), list(values), name, _("day %{x}: %{y:.1%}"), colour=tone[colour], dash=dash)
    mark_current(figure, now)
    figure.update_xaxes(title_text=_("days"), type="log", tickvals=[1, 3, 10, 30, 100, 365])
    figure.update_yaxes(title_text=_("a guess is right"), tickformat=".0%", range=[0.45, 1.02])
    return figure
