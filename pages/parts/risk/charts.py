"""Figures of the Risk lab: people by size of class, which columns single people out, and how often attacks succeed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import plotly.graph_objects as go

from dpengine.charts.style import escape, shorten
from dpengine.lessons.success_rate import Rate
from dpengine.lessons.syntactic import Band
from dpengine.translation.catalogue import _, number
from pages.parts.shared.figures import add_line, hatched, mark_current, tones, whiskers

__all__ = ["alone_figure", "band_name", "bands_figure", "curve_figure", "rates_figure"]


def band_name(band: Band) -> str:
    """Return the sizes of a band of classes as a label.

    >>> band_name(Band(1, 1, 0, 0)), band_name(Band(3, 4, 0, 0)), band_name(Band(100, None, 0, 0))
    ('1', '3–4', '100 +')
    """
    if band.high is None:
        return f"{band.low} +"
    return str(band.low) if band.low == band.high else f"{band.low}–{band.high}"


def bands_figure(bands: Sequence[Band], people: int) -> go.Figure:
    """Draw the number of people over the size of their class; those who are alone are hatched, in another colour.

    A person with several rows may be in several classes: then all bands together hold more than `people`.
    """
    tone = tones()
    figure = go.Figure()
    for alone in (True, False):
        chosen = [band for band in bands if (band.low == 1) == alone]
        figure.add_bar(
            x=[band_name(band) for band in chosen],
            y=[band.people for band in chosen],
            customdata=[band.classes for band in chosen],
            name=_("alone") if alone else _("not alone"),
            marker=hatched(tone["other"], "/") if alone else hatched(tone["accent"], ""),
            hovertemplate=_("%{y:,} people in %{customdata:,} classes of %{x}") + "<extra></extra>",
        )
    figure.update_layout(showlegend=any(band.people for band in bands if band.low == 1))
    figure.update_xaxes(title_text=_("people who agree on these columns"), type="category")
    repeated = sum(band.people for band in bands) > people
    title = _("people, once in each class") if repeated else _("people")
    figure.update_yaxes(title_text=title, rangemode="tozero", tickformat=",~d")
    return figure


def alone_figure(names: Sequence[str], shares: Sequence[float]) -> go.Figure:
    """Draw the share of people who are alone, for each set of columns, largest at the top."""
    tone = tones()
    short = [escape(name) for name in shorten(names)]
    figure = go.Figure()
    figure.add_bar(
        x=list(shares),
        y=short,
        orientation="h",
        text=[number(share, ".1%") for share in shares],
        textposition="outside",
        cliponaxis=False,
        marker=hatched(tone["other"], "/"),
        customdata=[escape(name) for name in names],
        hovertemplate=_("%{customdata}: %{x:.2%} alone") + "<extra></extra>",
    )
    figure.update_xaxes(title_text=_("people alone"), tickformat=".2~%", rangemode="tozero")
    figure.update_xaxes(range=[0, 1.18 * max(0.01, *shares)])
    figure.update_yaxes(autorange="reversed")
    return figure


def rates_figure(places: Sequence[str], rates: Mapping[str, Sequence[Rate]], axis: str) -> go.Figure:
    """Draw success rates with 95 % intervals: a group of bars for each of `places`, with a bar for each of `rates`."""
    tone = tones()
    looks = ((tone["accent"], ""), (tone["grey"], "/"), (tone["other"], "x"))
    figure = go.Figure()
    for (name, each), (colour, pattern) in zip(rates.items(), looks, strict=False):
        ends = [rate.interval() for rate in each]
        figure.add_bar(
            x=list(places),
            y=[rate.share for rate in each],
            name=name,
            marker=hatched(colour, pattern),
            error_y=whiskers(each, thickness=1.2, width=4),
            customdata=[_("{low} to {high}", low=number(low, ".1%"), high=number(high, ".1%")) for low, high in ends],
            hovertemplate="%{y:.1%} (95 %: %{customdata})<extra>" + name + "</extra>",
        )
    figure.update_layout(barmode="group", bargap=0.3)
    figure.update_yaxes(title_text=axis, tickformat=".0%", range=[0, 1.05])
    figure.update_xaxes(type="category")
    return figure


def curve_figure(x: Sequence[int], rates: Mapping[str, Sequence[Rate]], now: int, axes: tuple[str, str]) -> go.Figure:
    """Draw success rates over a number with 95 % intervals, one line for each of `rates`."""
    tone = tones()
    looks = (("accent", "solid", "circle"), ("other", "dash", "diamond"), ("grey", "dot", "square"))
    figure = go.Figure()
    for (name, each), (colour, dash, symbol) in zip(rates.items(), looks, strict=False):
        shares, ends = [rate.share for rate in each], whiskers(each, thickness=1.2, width=4)
        add_line(
            figure, list(x), shares, name, "%{x}: %{y:.1%}", colour=tone[colour], dash=dash, symbol=symbol,
            error_y=ends,
        )  # fmt: skip
    mark_current(figure, now)
    figure.update_xaxes(title_text=axes[0])
    figure.update_yaxes(title_text=axes[1], tickformat=".0%", range=[-0.03, 1.05])
    return figure
