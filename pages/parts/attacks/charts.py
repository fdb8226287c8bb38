"""Figures of the Attacks lab: how often an attack is right, whom it found, and which doubles are possible."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go

from dpengine.lessons.floating_point import Neighbourhood
from dpengine.lessons.reconstruction import Reconstruction
from dpengine.lessons.success_rate import Rate
from dpengine.spec.wording import percent_at_most
from dpengine.translation.catalogue import _, localised, number
from pages.parts.shared.figures import add_line, hatched, tones, whiskers
from pages.parts.shared.wording import OURS

__all__ = ["ACROSS", "audit_figure", "doubles_figure", "people_figure", "rates_figure", "samplers_figure"]

ACROSS = 25  # people in each row of tiles


def rates_figure(lines: Mapping[str, Mapping[int, Rate]], bound: float, asked: str) -> go.Figure:
    """Draw the share of right guesses over questions, a line with 95 % intervals for each defence, and ε's bound."""
    tone = tones()
    figure = go.Figure()
    looks = {True: (tone["accent"], "solid", "circle"), False: (tone["other"], "dash", "square")}
    for method, rates in lines.items():
        name = _(method)
        colour, dash, symbol = looks[method == OURS]
        shares, ends = [rate.share for rate in rates.values()], whiskers(rates.values(), thickness=1.5, color=colour)
        add_line(
            figure, list(rates), shares, name, _("%{x:,}: right %{y:.1%}"), colour=colour, dash=dash, symbol=symbol,
            size=9, error_y=ends,
        )  # fmt: skip
    _levels(figure, bound)
    places = sorted({k for rates in lines.values() for k in rates})
    figure.update_xaxes(title_text=asked, type="log", tickvals=places, ticktext=list(map(number, places)))
    figure.update_yaxes(title_text=_("guesses that are right"), tickformat=".0%", range=[0.3, 1.04])
    return figure


def _levels(figure: go.Figure, bound: float) -> None:
    """Draw horizontal lines at the bound that ε sets and at the 50 % of a coin."""
    tone = tones()
    for y, name, colour, dash in (
        (bound, _("the most that ε allows, {bound}", bound=percent_at_most(bound)), "accent", "dot"),
        (0.5, _("a coin, 50 %"), "grey", "dashdot"),
    ):
        figure.add_hline(y=y, name=name, showlegend=True, line={"color": tone[colour], "width": 1.5, "dash": dash})


def people_figure(reconstruction: Reconstruction) -> go.Figure:
    """Draw every person as a tile: filled if the guess is right, crossed out if it is wrong."""
    tone = tones()
    figure = go.Figure()
    right = reconstruction.secret == reconstruction.guess
    place = np.arange(right.size)
    named = np.where(reconstruction.secret, _("in the register"), _("not in it"))
    for name, those, symbol, colour in (
        (_("guessed right"), right, "square", tone["accent"]),
        (_("guessed wrong"), ~right, "x-thin-open", tone["other"]),
    ):
        figure.add_scatter(
            x=(place[those] % ACROSS).tolist(),
            y=(place[those] // ACROSS).tolist(),
            customdata=np.stack([place[those] + 1, named[those]], axis=-1),
            name=name,
            mode="markers",
            showlegend=True,
            marker={"symbol": symbol, "size": 9, "color": colour, "line": {"width": 2, "color": colour}},
            hovertemplate=_("person %{customdata[0]}, %{customdata[1]}") + f"<extra>{name}</extra>",
        )
    figure.update_xaxes(visible=False, range=[-1, ACROSS])
    figure.update_yaxes(visible=False, autorange="reversed")
    return figure


def doubles_figure(seen: Neighbourhood) -> go.Figure:
    """Draw consecutive doubles: those that are possible if the true answer is 0, and those if it is 1."""
    tone = tones()
    figure = go.Figure()
    rows = ((1, 0, seen.zero, seen.one, "other"), (0, 1, seen.one, seen.zero, "accent"))
    for y, answer, these, others, colour in rows:
        for only, symbol in ((True, "line-ns-open"), (False, "circle-open")):
            those = these & ~others if only else these & others
            name = _possible(answer, only=only)
            figure.add_scatter(
                x=seen.steps[those].tolist(),
                y=[y] * int(those.sum()),
                customdata=[localised(repr(float(value))) for value in seen.doubles[those]],
                name=name,
                mode="markers",
                marker={"symbol": symbol, "size": 16 if only else 9, "color": tone[colour], "line": {"width": 2}},
                hovertemplate="%{customdata}<extra>" + f"{name}</extra>",
                showlegend=False,
            )
    figure.add_vline(
        x=0,
        line={"color": tone["grey"], "width": 1.5, "dash": "dot"},
        annotation={"text": _("the output"), "font": {"size": 11}},
        annotation_position="top",
    )
    figure.update_xaxes(title_text=_("doubles from the output (drag to zoom)"), tickformat=",")
    figure.update_yaxes(tickvals=[1, 0], ticktext=[_("possible<br>for 0"), _("possible<br>for 1")], range=[-0.6, 1.6])
    return figure


def _possible(answer: int, *, only: bool) -> str:
    """Say for which true answers a double is possible."""
    if only:
        return _("true answer {answer}: possible only there", answer=answer)
    return _("true answer {answer}: possible for both", answer=answer)


def samplers_figure(rates: Mapping[str, Rate], bound: float) -> go.Figure:
    """Draw the share of right guesses for each kind of noise as bars, with 95 % intervals."""
    tone = tones()
    figure = go.Figure()
    for method, rate in rates.items():
        name = _(method)
        figure.add_bar(
            x=[name],
            y=[rate.share],
            marker=_bar(method == OURS),
            error_y=whiskers([rate], color=tone["grey"]),
            hovertemplate=_("right %{y:.1%}") + f"<extra>{name}</extra>",
            showlegend=False,
        )
    _levels(figure, bound)
    figure.update_layout(bargap=0.5)
    figure.update_yaxes(title_text=_("guesses that are right"), tickformat=".0%", range=[0, 1.08])
    return figure


def _bar(is_ours: bool) -> dict[str, Any]:
    return hatched(tones()["accent"], "") if is_ours else hatched(tones()["other"], "/")


def audit_figure(rows: Sequence[tuple[str, float, bool]], claimed: float) -> go.Figure:
    """Draw the lower bounds on ε as bars, and the promised ε; a row is (name, bound, whether it is this engine)."""
    tone = tones()
    figure = go.Figure()
    for name, least, is_ours in rows:
        figure.add_bar(
            x=[max(least, 0.0)],
            y=[name],
            orientation="h",
            marker=_bar(is_ours),
            text=[number(max(least, 0.0), ".2f")],
            textposition="outside",
            hovertemplate=_("ε is at least %{x:.3f}") + f"<extra>{name}</extra>",
            showlegend=False,
        )
    figure.add_vline(
        x=claimed,
        line={"color": tone["grey"], "width": 2, "dash": "dash"},
        annotation={"text": _("promised: ε = {epsilon}", epsilon=number(claimed, "g")), "font": {"size": 11}},
        annotation_position="top",
    )
    figure.update_layout(bargap=0.45)
    figure.update_xaxes(title_text=_("lower bound on ε shown by the answers"), range=[0, 2.4 * claimed])
    figure.update_yaxes(autorange="reversed")
    return figure
