"""Figures of the Attacks lab: how often an attack is right, whom it found, which doubles are possible."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import plotly.graph_objects as go

from dpengine.lessons.floating_point import Neighbourhood
from dpengine.lessons.reconstruction import Reconstruction
from dpengine.lessons.success_rate import Rate
from pages.parts.shared.figures import tones

__all__ = ["audit_figure", "guns_figure", "people_figure", "rates_figure", "sides_figure"]

ACROSS = 25


def rates_figure(lines: Mapping[str, Mapping[int, Rate]], ours: str, most: float, asked: str) -> go.Figure:
    """Right guesses over questions, a line a defence with 95 % intervals; what a coin and what ε give, across."""
    tone = tones()
    figure = go.Figure()
    looks = {True: (tone["accent"], "solid", "circle"), False: (tone["other"], "dash", "square")}
    for name, rates in lines.items():
        colour, dash, symbol = looks[name == ours]
        ends = [rate.interval() for rate in rates.values()]
        shares = [rate.share for rate in rates.values()]
        figure.add_scatter(
            x=list(rates),
            y=shares,
            name=name,
            mode="lines+markers",
            line={"color": colour, "dash": dash, "width": 2.5},
            marker={"symbol": symbol, "size": 9, "color": colour},
            error_y={
                "array": [high - share for (_, high), share in zip(ends, shares, strict=True)],
                "arrayminus": [share - low for (low, _), share in zip(ends, shares, strict=True)],
                "thickness": 1.5,
                "color": colour,
            },
            hovertemplate="%{x:,}: right %{y:.1%}<extra>" + name + "</extra>",
        )
    _levels(figure, most)
    places = sorted({k for rates in lines.values() for k in rates})
    figure.update_xaxes(title_text=asked, type="log", tickvals=places, ticktext=[f"{k:,}" for k in places])
    figure.update_yaxes(title_text="guesses that are right", tickformat=".0%", range=[0.3, 1.04])
    return figure


def _levels(figure: go.Figure, most: float) -> None:
    tone = tones()
    for y, name, colour, dash in (
        (most, f"the most that ε allows, {most:.1%}", "accent", "dot"),
        (0.5, "a coin, 50%", "grey", "dashdot"),
    ):
        figure.add_hline(y=y, name=name, showlegend=True, line={"color": tone[colour], "width": 1.5, "dash": dash})


def people_figure(found: Reconstruction) -> go.Figure:
    """Every person as a tile: filled where the guess is right, crossed out where it is wrong."""
    tone = tones()
    figure = go.Figure()
    right = found.secret == found.guess
    place = np.arange(right.size)
    named = np.where(found.secret, "in the register", "not in it")
    for name, those, symbol, colour in (
        ("guessed right", right, "square", tone["accent"]),
        ("guessed wrong", ~right, "x-thin-open", tone["other"]),
    ):
        figure.add_scatter(
            x=(place[those] % ACROSS).tolist(),
            y=(place[those] // ACROSS).tolist(),
            customdata=np.stack([place[those] + 1, named[those]], axis=-1),
            name=name,
            mode="markers",
            showlegend=True,
            marker={"symbol": symbol, "size": 9, "color": colour, "line": {"width": 2, "color": colour}},
            hovertemplate="person %{customdata[0]}, %{customdata[1]}<extra>" + name + "</extra>",
        )
    figure.update_xaxes(visible=False, range=[-1, ACROSS])
    figure.update_yaxes(visible=False, autorange="reversed")
    return figure


def guns_figure(seen: Neighbourhood) -> go.Figure:
    """Doubles in a row: which can come out if the true answer is 0, which if it is 1, and the one that did."""
    tone = tones()
    figure = go.Figure()
    rows = ((1, "true answer 0", seen.zero, seen.one, "other"), (0, "true answer 1", seen.one, seen.zero, "accent"))
    for y, name, these, others, colour in rows:
        for only, symbol, said in ((True, "line-ns-open", "only there"), (False, "circle-open", "on both")):
            those = these & ~others if only else these & others
            figure.add_scatter(
                x=seen.steps[those].tolist(),
                y=[y] * int(those.sum()),
                customdata=[repr(float(value)) for value in seen.doubles[those]],
                name=f"{name}: possible {said}",
                mode="markers",
                marker={"symbol": symbol, "size": 16 if only else 9, "color": tone[colour], "line": {"width": 2}},
                hovertemplate="%{customdata}<extra>" + f"possible at {name}, {said}</extra>",
                showlegend=False,
            )
    figure.add_vline(
        x=0,
        line={"color": tone["grey"], "width": 1.5, "dash": "dot"},
        annotation={"text": "the output", "font": {"size": 11}},
        annotation_position="top",
    )
    figure.update_xaxes(title_text="doubles from the output (drag to zoom)", tickformat=",")
    figure.update_yaxes(tickvals=[1, 0], ticktext=["can come<br>of 0", "can come<br>of 1"], range=[-0.6, 1.6])
    return figure


def sides_figure(rates: Mapping[str, Rate], ours: str, most: float) -> go.Figure:
    """One bar a way to make noise: right guesses with their intervals."""
    tone = tones()
    figure = go.Figure()
    for name, rate in rates.items():
        low, high = rate.interval()
        colour = tone["accent" if name == ours else "other"]
        pattern = {"shape": "" if name == ours else "/", "fillmode": "overlay", "fgcolor": tone["ground"], "size": 6}
        figure.add_bar(
            x=[name],
            y=[rate.share],
            marker={"color": colour, "pattern": pattern},
            error_y={"array": [high - rate.share], "arrayminus": [rate.share - low], "color": tone["grey"]},
            hovertemplate="right %{y:.1%}<extra>" + name + "</extra>",
            showlegend=False,
        )
    _levels(figure, most)
    figure.update_layout(bargap=0.5)
    figure.update_yaxes(title_text="guesses that are right", tickformat=".0%", range=[0, 1.08])
    return figure


def audit_figure(rows: Sequence[tuple[str, float, bool]], claimed: float) -> go.Figure:
    """How large ε was shown to be, a bar each, and what was promised: (name, least ε, whether it is ours)."""
    tone = tones()
    figure = go.Figure()
    for name, least, own in rows:
        pattern = {"shape": "" if own else "/", "fillmode": "overlay", "fgcolor": tone["ground"], "size": 6}
        figure.add_bar(
            x=[max(least, 0.0)],
            y=[name],
            orientation="h",
            marker={"color": tone["accent" if own else "other"], "pattern": pattern},
            text=[f"{max(least, 0.0):.2f}"],
            textposition="outside",
            hovertemplate="ε is at least %{x:.3f}<extra>" + name + "</extra>",
            showlegend=False,
        )
    figure.add_vline(
        x=claimed,
        line={"color": tone["grey"], "width": 2, "dash": "dash"},
        annotation={"text": f"promised: ε = {claimed:g}", "font": {"size": 11}},
        annotation_position="top",
    )
    figure.update_layout(bargap=0.45)
    figure.update_xaxes(title_text="ε that the answers show, at least", range=[0, 2.4 * claimed])
    figure.update_yaxes(autorange="reversed")
    return figure
