"""Figures of the Budget page: what was spent, and what each of many releases may cost."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd
import plotly.graph_objects as go

from dpengine.translation.catalogue import _, number
from pages.parts.shared.figures import add_line, mark_current, tones

__all__ = ["allowance_figure", "spending_figure"]


def spending_figure(paid: Sequence[tuple[str, float]], next_price: float | None, cap: float | None) -> go.Figure:
    """Draw the spent ε as one bar with a piece for each release; the price of the current plan is a hatched piece."""
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
            name=_("the current plan"),
            marker={
                "color": tone["soft"],
                "line": {"color": tone["accent"], "width": 1.5},
                "pattern": {"shape": "/", "fgcolor": tone["accent"], "size": 6},
            },
            hovertemplate="%{x:g}<extra>" + _("the current plan would add") + "</extra>",
        )
    full = sum(price for _name, price in paid) + (next_price or 0)
    if cap is not None:
        figure.add_vline(x=cap, line={"color": tone["other"], "width": 3, "dash": "dash"})
        text = _("cap {cap}", cap=number(cap, "g"))
        figure.add_annotation(x=cap, y=1, yref="paper", yanchor="bottom", text=text, showarrow=False)
    figure.update_layout(barmode="stack", showlegend=False, bargap=0.35)
    figure.update_xaxes(title_text=_("ε spent"), range=[0, 1.06 * max(full, cap or 0, 1e-9)])
    return figure


def allowance_figure(rows: pd.DataFrame, now: int) -> go.Figure:
    """Draw what each release may cost over the number of releases, a line for each rule, a column of `rows`."""
    tone = tones()
    figure = go.Figure()
    looks = (("accent", "solid", "circle"), ("grey", "dot", "diamond"), ("other", "dash", "square"))
    for name, (colour, dash, symbol) in zip(rows.columns[1:], looks, strict=True):
        each, hover = rows[name].where(rows[name] > 0).tolist(), _("%{x:,} releases: ε = %{y:.3~g} each")
        add_line(
            figure, rows["releases"].tolist(), each, name, hover, colour=tone[colour], dash=dash, width=2.2,
            symbol=symbol, size=6,
        )  # fmt: skip
    mark_current(figure, now)
    figure.update_xaxes(title_text=_("number of releases"), type="log", dtick=1, tickformat=",~g")
    figure.update_yaxes(title_text=_("ε that each may cost"), type="log", dtick=1, tickformat="~g")
    return figure
