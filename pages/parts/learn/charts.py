"""Figures of the Learn lab: regret over time, and regret after the last round over ε."""

from __future__ import annotations

import pandas as pd
import plotly.graph_objects as go

from dpengine.translation.catalogue import _, mark
from pages.parts.learn.runs import LEADER, NO_PRIVACY, named
from pages.parts.shared.figures import add_line, epsilon_axis, tones

__all__ = ["end_figure", "time_figure"]

_SO_FAR = {"day": mark("days so far"), "week": mark("weeks so far"), "round": mark("rounds so far")}
_DASHES = ("solid", "dash", "dot", "dashdot", "longdash")


def time_figure(rows: pd.DataFrame, unit: str, bound: float) -> go.Figure:
    """Draw the regret over time, a line for each learner; private ones are in the accent, with a dash pattern each."""
    colours = tones()
    figure = go.Figure()
    private = [name for name in rows.columns[1:] if name not in (NO_PRIVACY, LEADER)]
    looks = {name: (colours["accent"], _DASHES[k % len(_DASHES)], 2.2) for k, name in enumerate(private)}
    looks |= {NO_PRIVACY: (colours["other"], "solid", 2.2), LEADER: (colours["grey"], "dot", 1.6)}
    for name in rows.columns[1:]:
        colour, dash, width = looks[name]
        x, y, hover = rows["round"].tolist(), rows[name].tolist(), _(unit) + " %{x:,}: %{y:.3f}"
        add_line(figure, x, y, named(name), hover, colour=colour, dash=dash, width=width)
    figure.add_hline(y=0, line={"color": colours["grey"], "width": 1.2})
    if bound < 2 * max(0.05, float(rows.iloc[:, 1:].max().max())):
        figure.add_scatter(
            x=[int(rows["round"].iloc[0]), int(rows["round"].iloc[-1])],
            y=[bound, bound],
            name=_("bound without privacy, at the end"),
            mode="lines",
            line={"color": colours["other"], "width": 1.2, "dash": "dash"},
            hovertemplate="%{y:.3f}<extra>2√(ln k/T)</extra>",
        )
    figure.update_xaxes(title_text=_(_SO_FAR[unit]), tickformat=",")
    figure.update_yaxes(title_text=_("regret: average loss above the best expert"), tickformat=".2f")
    return figure


def end_figure(rows: pd.DataFrame, free: float, chosen: list[float]) -> go.Figure:
    """Draw the expected regret after the last round over ε, and its bound where that is below 1."""
    colours = tones()
    figure = go.Figure()
    top = max(float(rows["expected"].max()), free, 0.01)
    informative = rows[rows["bound"] < 1]  # losses are at most 1, so a larger bound says nothing
    for name, column, part, dash, symbol in (
        (_("expected on this table"), "expected", rows, "solid", "circle"),
        (_("bound for every table, η + ln k/(ηT)"), "bound", informative, "dash", "square"),
    ):
        add_line(
            figure, part["epsilon"].tolist(), part[column].tolist(), name, "ε = %{x:g}: %{y:.3f}",
            colour=colours["accent"], dash=dash, width=2.2, symbol=symbol, size=6,
        )  # fmt: skip
    figure.add_hline(
        y=free,
        line={"color": colours["other"], "width": 1.5},
        annotation={"text": _("expected without privacy"), "font": {"size": 11}},
        annotation_position="top left",
    )
    epsilon_axis(figure, *chosen, right=_("less regret"), span=(-2.1, 2.1))
    figure.update_yaxes(title_text=_("regret after the last round"), tickformat=".2f", range=[0, 4 * top])
    return figure
