"""Figures of the accuracy and budget pages: transparent, one accent, never by colour alone; labs share the looks."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from dpengine.charts.style import dressed
from pages.parts.shared.figures import is_dark, tones

__all__ = [
    "error_figure", "meaning_figure", "noise_figure", "simulation_figure", "spending_figure", "strategies_figure",
]  # fmt: skip


def error_figure(rows: pd.DataFrame, now: pd.Series) -> go.Figure:
    """Errors of one table and of the total over ε, both axes logarithmic; rings where ε stands now."""
    tone = tones()
    epsilon = float(now["epsilon"])
    # A logarithmic axis has no place for 0, which a count is within once ε is large.
    lines = (
        ("95 in 100 counts are within", "half_width_95", tone["accent"], "solid", "circle"),
        ("typical error of a count", "mean_abs_error", tone["accent"], "dot", "diamond"),
        ("the total is within (95 in 100)", "total_half_width_95", tone["grey"], "dash", "square"),
    )
    figure = go.Figure()
    for label, column, colour, dash, symbol in lines:
        figure.add_scatter(
            x=rows["epsilon"],
            y=rows[column].where(rows[column] >= 0.1),
            name=label,
            mode="lines",
            line={"color": colour, "dash": dash, "width": 2.5},
            hovertemplate="ε = %{x:g}: ± %{y:,.3~g}<extra>" + label + "</extra>",
        )
        if now[column] >= 0.1:
            figure.add_scatter(
                x=[epsilon],
                y=[now[column]],
                mode="markers",
                marker={"color": colour, "symbol": symbol, "size": 12, "line": {"width": 2, "color": colour}},
                showlegend=False,
                hovertemplate="now, ε = %{x:g}: ± %{y:,.3~g}<extra>" + label + "</extra>",
            )
    _epsilon_axis(figure, epsilon)
    figure.update_yaxes(title_text="off by", type="log", dtick=1, tickformat=",~g")
    return figure


def _epsilon_axis(figure: go.Figure, epsilon: float) -> None:
    figure.update_xaxes(
        title_text="privacy budget ε (more private ← → more exact)",
        type="log",
        tickvals=[0.01, 0.03, 0.1, 0.3, 1, 3, 10],
        tickformat="~g",
        range=[-2.05, 1.35],
    )
    figure.add_vline(x=epsilon, line={"color": tones()["grey"], "width": 1, "dash": "dot"})


def noise_figure(epsilons: Sequence[float], shares: dict[str, np.ndarray], name: str, epsilon: float) -> go.Figure:
    """Part of the cells that are mostly noise, over ε: the chosen table in the accent, others thin and grey."""
    tone = tones()
    figure = go.Figure()
    for table, part in sorted(shares.items(), key=lambda item: item[0] == name):
        chosen = table == name
        figure.add_scatter(
            x=epsilons,
            y=part,
            name=table if chosen else "other tables",
            legendgroup=str(chosen),
            showlegend=chosen or table == next(other for other in shares if other != name),
            mode="lines+markers" if chosen else "lines",
            line={
                "color": tone["accent" if chosen else "grey"],
                "width": 2.5 if chosen else 1.2,
                "dash": "solid" if chosen else "dot",
            },
            marker={"size": 6},
            hovertemplate="ε = %{x:g}: %{y:.0%} of cells<extra>" + table + "</extra>",
        )
    _epsilon_axis(figure, epsilon)
    figure.update_yaxes(title_text="cells that are mostly noise", tickformat=".0%", range=[-0.02, 1.02])
    return figure


def simulation_figure(errors: pd.DataFrame, column: str, title: str) -> go.Figure:
    """Bars of one kind of error by true size of the cell, for the three kinds of number."""
    tone = tones()
    looks = {
        "raw estimate": (tone["grey"], ""),
        "set to 0 where negative": (tone["other"], "/"),
        "consistent count": (tone["accent"], "x"),
    }
    figure = go.Figure()
    for number, (colour, pattern) in looks.items():
        rows = errors[errors["number"] == number]
        figure.add_bar(
            x=rows["true size of the cell"],
            y=rows[column],
            name=number,
            marker={
                "color": colour,
                "pattern": {"shape": pattern, "fillmode": "overlay", "fgcolor": tone["ground"], "size": 6},
            },
            hovertemplate="%{x}: %{y:.2f}<extra>" + number + "</extra>",
        )
    figure.update_layout(barmode="group", bargap=0.25)
    figure.update_xaxes(title_text="true count of the cell (made-up table)", type="category")
    figure.update_yaxes(title_text=title, zeroline=True, zerolinecolor=tone["grey"])
    return figure


def meaning_figure(before: np.ndarray, most: np.ndarray, least: np.ndarray) -> go.Figure:
    """How far any belief can move: the band between the least and the most sure one can become."""
    tone = tones()
    figure = go.Figure()
    style = {"color": tone["accent"], "width": 2.5}
    hover = "before %{x:.0%}, after %{y:.0%}<extra></extra>"
    figure.add_scatter(
        x=before, y=least, name="at least", mode="lines", line=style | {"dash": "dash"}, hovertemplate=hover
    )
    figure.add_scatter(
        x=before,
        y=most,
        name="at most",
        mode="lines",
        line=style,
        fill="tonexty",
        fillcolor=tone["soft"],
        hovertemplate=hover,
    )
    figure.add_scatter(
        x=[0, 1],
        y=[0, 1],
        name="nothing learned",
        mode="lines",
        hoverinfo="skip",
        line={"color": tone["grey"], "width": 1.2, "dash": "dot"},
    )
    figure.update_xaxes(title_text="how sure someone was before", tickformat=".0%", range=[0, 1])
    figure.update_yaxes(title_text="how sure they can be after", tickformat=".0%", range=[0, 1])
    return figure


def spending_figure(paid: Sequence[tuple[str, float]], next_price: float | None, cap: float | None) -> go.Figure:
    """One bar from 0 to what was spent, a piece a release; hatched, what the current plan would add."""
    tone = tones()
    figure = go.Figure()
    for name, price in paid:
        figure.add_bar(
            x=[price],
            y=[""],
            orientation="h",
            name=name,
            marker={"color": tone["accent"], "line": {"color": tone["ground"], "width": 1.5}},
            hovertemplate="%{x:g}<extra>" + name + "</extra>",
        )
    if next_price is not None:
        figure.add_bar(
            x=[next_price],
            y=[""],
            orientation="h",
            name="the current plan",
            marker={
                "color": tone["soft"],
                "line": {"color": tone["accent"], "width": 1.5},
                "pattern": {"shape": "/", "fgcolor": tone["accent"], "size": 6},
            },
            hovertemplate="%{x:g}<extra>the current plan would add</extra>",
        )
    full = sum(price for _, price in paid) + (next_price or 0)
    if cap is not None:
        figure.add_vline(x=cap, line={"color": tone["other"], "width": 3, "dash": "dash"})
        figure.add_annotation(x=cap, y=1, yref="paper", yanchor="bottom", text=f"cap {cap:g}", showarrow=False)
    figure.update_layout(barmode="stack", showlegend=False, bargap=0.35)
    figure.update_xaxes(title_text="ε spent", range=[0, 1.06 * max(full, cap or 0, 1e-9)])
    return figure


def strategies_figure(numbers: pd.DataFrame) -> go.Figure:
    """Errors of each strategy, a column each beside ``ε``, on logarithmic axes."""
    shades, dark = tones(), is_dark()
    looks = (("grey", "dash", "square"), ("other", "dot", "diamond"), ("accent", "solid", "circle"))
    figure = go.Figure()
    names = [str(name) for name in numbers.columns[1:]]
    for name, (tone, dash, symbol) in zip(names, looks[-len(names) :], strict=True):
        figure.add_scatter(
            x=numbers["ε"],
            y=numbers[name],
            name=name,
            mode="lines+markers",
            line={"color": shades[tone], "dash": dash, "width": 2.5},
            marker={"symbol": symbol, "size": 8},
            hovertemplate="ε = %{x:g}: %{y:.1%}<extra>" + name + "</extra>",
        )
    figure.update_xaxes(type="log", title="privacy budget ε", tickvals=list(numbers["ε"]))
    figure.update_yaxes(type="log", title="errors in a table, part of all", tickformat=".3~%")
    return dressed(figure, "How wrong, for each ε", dark).update_layout(height=380)
