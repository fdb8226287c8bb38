"""Figures of the Accuracy page: errors over ε, noisy cells, simulated errors, and what ε means."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from dpengine.charts.style import short_name
from dpengine.translation.catalogue import _, mark
from pages.parts.shared.figures import add_line, epsilon_axis, hatched, tones

__all__ = ["error_figure", "meaning_figure", "measure_figure", "noise_figure", "simulation_figure"]

SPAN = (-2.05, 1.35)  # ends of the ε axis, as powers of ten


def error_figure(rows: pd.DataFrame, now: pd.Series[float]) -> go.Figure:
    """Draw the errors of one table and of the total over ε, on logarithmic axes, with markers at the current ε."""
    tone = tones()
    # A logarithmic axis has no place for 0, and at a large ε an error is 0.
    lines = (
        (_("95 in 100 counts are within"), "half_width_95", tone["accent"], "solid", "circle"),
        (_("typical error of a count"), "mean_abs_error", tone["accent"], "dot", "diamond"),
        (_("total is within (95 in 100)"), "total_half_width_95", tone["grey"], "dash", "square"),
    )
    return _over_epsilon(rows, now, lines, 0.1)


def measure_figure(rows: pd.DataFrame, now: pd.Series[float], column: str, heading: str) -> go.Figure:
    """Draw the error of a mean, sum or quantile over ε as `error_figure` does, in the unit of its column."""
    label = _("{what} is within (95 in 100)", what=short_name(heading))
    lines = ((label, column, tones()["accent"], "solid", "circle"),)
    return _over_epsilon(rows, now, lines, 1e-9)


def _over_epsilon(
    rows: pd.DataFrame, now: pd.Series[float], lines: Sequence[tuple[str, str, str, str, str]], least: float
) -> go.Figure:
    epsilon = float(now["epsilon"])
    figure = go.Figure()
    for label, column, colour, dash, symbol in lines:
        errors = rows[column].where(rows[column] >= least)
        add_line(figure, rows["epsilon"], errors, label, "ε = %{x:g}: ± %{y:,.3~g}", colour=colour, dash=dash)
        if now[column] >= least:
            figure.add_scatter(
                x=[epsilon],
                y=[now[column]],
                mode="markers",
                marker={"color": colour, "symbol": symbol, "size": 12, "line": {"width": 2, "color": colour}},
                showlegend=False,
                hovertemplate=_("now, ε = %{x:g}: ± %{y:,.3~g}") + f"<extra>{label}</extra>",
            )
    epsilon_axis(figure, epsilon, span=SPAN)
    figure.update_yaxes(title_text=_("off by"), type="log", dtick=1, tickformat=",~g")
    return figure


def noise_figure(epsilons: Sequence[float], shares: dict[str, np.ndarray], name: str, epsilon: float) -> go.Figure:
    """Draw the share of cells that are mostly noise over ε: the table `name` in the accent, others thin and grey."""
    tone = tones()
    figure = go.Figure()
    for table, part in sorted(shares.items(), key=lambda item: item[0] == name):
        chosen = table == name
        figure.add_scatter(
            x=epsilons,
            y=part,
            name=short_name(table) if chosen else _("other tables"),
            legendgroup=str(chosen),
            showlegend=chosen or table == next(other for other in shares if other != name),
            mode="lines+markers" if chosen else "lines",
            line={
                "color": tone["accent" if chosen else "grey"],
                "width": 2.5 if chosen else 1.2,
                "dash": "solid" if chosen else "dot",
            },
            marker={"size": 6},
            hovertemplate=_("ε = %{x:g}: %{y:.0%} of cells") + f"<extra>{short_name(table)}</extra>",
        )
    epsilon_axis(figure, epsilon, span=SPAN)
    figure.update_yaxes(title_text=_("cells that are mostly noise"), tickformat=".0%", range=[-0.02, 1.02])
    return figure


def simulation_figure(errors: pd.DataFrame, column: str, title: str) -> go.Figure:
    """Draw bars of the error in `column` by true size of the cell, for the three kinds of number."""
    tone = tones()
    looks = {
        mark("raw estimate"): (tone["grey"], ""),
        mark("set to 0 where negative"): (tone["other"], "/"),
        mark("consistent count"): (tone["accent"], "x"),
    }
    figure = go.Figure()
    for number, (colour, pattern) in looks.items():
        rows, name = errors[errors["number"] == number], _(number)
        figure.add_bar(
            x=rows["true size of the cell"].map(_),
            y=rows[column],
            name=name,
            marker=hatched(colour, pattern),
            hovertemplate="%{x}: %{y:.2f}<extra>" + name + "</extra>",
        )
    figure.update_layout(barmode="group", bargap=0.25)
    figure.update_xaxes(title_text=_("true count of the cell (made-up table)"), type="category")
    figure.update_yaxes(title_text=title, zeroline=True, zerolinecolor=tone["grey"])
    return figure


def meaning_figure(before: np.ndarray, most: np.ndarray, least: np.ndarray) -> go.Figure:
    """Draw over how sure someone was before how sure they can become: the band from `least` to `most`."""
    tone = tones()
    figure = go.Figure()
    style = {"color": tone["accent"], "width": 2.5}
    hover = _("before %{x:.0%}, after %{y:.0%}") + "<extra></extra>"
    figure.add_scatter(
        x=before, y=least, name=_("at least"), mode="lines", line=style | {"dash": "dash"}, hovertemplate=hover
    )
    figure.add_scatter(
        x=before,
        y=most,
        name=_("at most"),
        mode="lines",
        line=style,
        fill="tonexty",
        fillcolor=tone["soft"],
        hovertemplate=hover,
    )
    figure.add_scatter(
        x=[0, 1],
        y=[0, 1],
        name=_("nothing learned"),
        mode="lines",
        hoverinfo="skip",
        line={"color": tone["grey"], "width": 1.2, "dash": "dot"},
    )
    figure.update_xaxes(title_text=_("how sure someone was before"), tickformat=".0%", range=[0, 1])
    figure.update_yaxes(title_text=_("how sure they can be after"), tickformat=".0%", range=[0, 1])
    return figure
