"""Means and quantiles as dots with their intervals, and sums as bars with theirs: by one column, or two side by side.

Covariances, correlations and slopes are dots too, with a line at 0: if their interval contains 0, they are mostly
noise.

Groups are drawn one below the other, so that their names have room and intervals can be compared along one axis. Hollow
dots and hatched bars are mostly noise.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from dpengine.array_types import Columns, Ints
from dpengine.charts.bars import by_size
from dpengine.charts.cells import Cells, CellsOfTable
from dpengine.charts.drawable import Drawable
from dpengine.charts.drawing import Drawing
from dpengine.charts.panels import Panels
from dpengine.charts.style import (
    GREY,
    INK,
    SERIES,
    SYMBOLS,
    category_axis,
    join_names,
    line_name,
    noise_pattern,
    short_name,
    whiskers,
)
from dpengine.notebook.intervals import round_step
from dpengine.results.published_columns import Measure
from dpengine.translation.catalogue import _, mark, number, plural

__all__ = ["interval_facts", "measure_alt", "span_chart"]

MAX_TOGETHER = 4  # quantiles that can be distinguished in one chart
ROW, DODGE = 26, 16  # pixels of a group, and of each further quantile in it
MAX_HEIGHT = 2400
FIVE_DIGITS = 1e4  # eight such numbers do not fit below a chart on a phone
MILLION = 1_000_000  # from here on numbers below a chart are written in millions
LONG = 1e5  # only a few numbers as long as this one fit below a small chart
WIDE_LABELS = 14  # letters: where names of groups are longer, fewer charts fit side by side


def span_chart(parts: Sequence[Cells], dark: bool, *, bars: bool = False, largest_first: bool = False) -> Drawing:
    """Draw the values of one measure by one column, or by two: then a small chart for each cell of the second.

    `parts` are the same cells for each quantile, or for the one mean or sum. Groups are in declared order, or the
    largest value comes first.
    """
    first, chosen = parts[0], parts[:MAX_TOGETHER]
    single = first.value.ndim == 1
    order = by_size(first) if largest_first and single else np.arange(first.value.shape[0])
    titles = [""] if single else first.short[1]
    across = 1 if len(titles) == 1 else 2 if max(map(len, first.short[0])) > WIDE_LABELS else min(3, len(titles))
    down = -(-len(titles) // across)
    panels = Panels(titles, across, 0.03, 0.16 / down + 0.02)
    data = [
        trace | panels.axes(k)
        for k in range(len(titles))
        for place, cells in enumerate(chosen)
        for trace in _traces(cells, () if single else (k,), order, dark, place, len(chosen), bars=bars, legend=k == 0)
    ]
    noisy = any(bool(cells.noisy.any()) for cells in chosen)
    if noisy:
        data.append(_explained(first.noise, dark, bars=bars))
    labels = [first.short[0][k] for k in order]
    # Side by side, titles have no room; the title of the figure says the same.
    layout = panels.layout(
        _value_axis(chosen, dark, bars=bars, across=across),
        {**category_axis(labels, downwards=True), "showgrid": True},
        line_name(first.noun) if single else "",
        short_name(first.headings[0]),
    )
    height = 64 + (ROW + DODGE * (len(chosen) - 1)) * len(labels)
    return Drawing(
        data,
        layout
        | {
            "height": min(MAX_HEIGHT, max(220, 110 + height * down)),
            "scattermode": "group",
            "scattergap": 0.35,
            "bargap": 0.3,
            "showlegend": noisy or len(chosen) > 1,
        },
    )


def _ticks(low: float, high: float, across: int) -> dict[str, Any]:
    """Return how many numbers fit below a chart on a phone, where `across` charts share its width, or which ones."""
    if high < MILLION:
        most = (8 if high < FIVE_DIGITS else 5) if across == 1 else 4 if high < LONG else max(2, 5 - across)
        step = round_step((high - low) / most)
        if step < 10 or high >= 2 * step:
            return {"nticks": most}
        # Plotly would take this step, and hide the 0 at the edge of a small chart: one number makes no scale.
        while high < 2 * step:
            step /= 2
        return {"tickvals": [step * k for k in range(math.ceil(low / step), math.floor(high / step) + 1)]}
    step = round_step((high - low) / 4)
    values = [step * k for k in range(math.ceil(low / step), math.floor(high / step) + 1)]
    written = [_("{n} M", n=number(value / MILLION, ",.6g")) if value else "0" for value in values]
    return {"tickvals": values, "ticktext": written}


def _value_axis(parts: Sequence[Cells], dark: bool, *, bars: bool, across: int) -> dict[str, Any]:
    """Return the axis of the values, the same for all charts of a row with `across` charts."""
    low, high = zip(*(cells.axis_range for cells in parts), strict=True)
    of_pair = parts[0].of_pair
    return {
        "range": [min(low), max(high)],
        "zeroline": bars or of_pair,
        "zerolinecolor": INK[dark] if of_pair else GREY[dark],
        **_ticks(min(low), max(high), across),
        "tickangle": 0,
        "ticklabeloverflow": "allow" if across == 1 else "hide past domain",  # not into the numbers of the next chart
    }


def _traces(
    cells: Cells, panel: tuple[Any, ...], order: Ints, dark: bool, place: int, places: int, *, bars: bool, legend: bool
) -> list[dict[str, Any]]:
    """Return the cells of one small chart: those that are more than noise, then the others."""
    at = (order, *panel)
    value, low, high, noisy = cells.value[at], cells.low[at], cells.high[at], cells.noisy[at]
    names = np.array(cells.short[0], dtype=object)[order]
    hover = cells.hover(["y", *(["meta"] if panel else [])], "x")
    drawn = []
    for noise in (False, True):
        chosen = noisy == noise
        if not chosen.any() and (noise or not legend):
            continue
        ends = GREY[dark] if noise else INK[dark] if bars else SERIES[dark][place]
        drawn.append({
            "type": "bar" if bars else "scatter",
            **({"meta": cells.short[1][panel[0]]} if panel else {}),
            "x": value[chosen],
            "y": names[chosen],
            "orientation": "h",
            "customdata": cells.details()[at][chosen],
            "hovertemplate": hover,
            "name": cells.legend if places == 1 else cells.measure.part_names()[place] if cells.measure else "",
            "legendgroup": f"part-{place}",
            "offsetgroup": f"part-{place}",
            "showlegend": legend and not noise,
            "error_x": whiskers(value[chosen], low[chosen], high[chosen], ends, thickness=1.2 if noise else 1.8),
            **({} if bars else {"mode": "markers"}),
            "marker": _bar(noise, place, dark) if bars else _dot(noise, SYMBOLS[place], SERIES[dark][place]),
        })  # fmt: skip
    return drawn


def _bar(noise: bool, place: int, dark: bool) -> dict[str, Any]:
    return {"color": GREY[dark] if noise else SERIES[dark][place], "pattern": noise_pattern(noise, dark)}


def _dot(noise: bool, symbol: str, colour: str) -> dict[str, Any]:
    shape = f"{symbol}-open" if noise else symbol
    return {"symbol": shape, "size": 9, "color": colour, "line": {"width": 2, "color": colour}}


def _explained(noise: str, dark: bool, *, bars: bool) -> dict[str, Any]:
    """Explain the mark of noise in the legend."""
    words = {"name": noise, "hoverinfo": "skip", "x": [None], "y": [None], "showlegend": True}
    if bars:
        return {"type": "bar", **words, "marker": _bar(True, 0, dark)}
    words["name"] = _("{noise}; interval may be cut", noise=noise)
    return {"type": "scatter", **words, "mode": "markers", "marker": _dot(True, "circle", GREY[dark])}


def measure_alt(result: Drawable, table: Columns, measure: Measure, *, made_up: bool) -> str:
    """Say which groups have the smallest and the largest value, the typical error, and how many are noise."""
    plan = result.plan
    sentences = []
    for place, name in enumerate(measure.headings(plan)):
        cells = CellsOfTable(result, table, table, {}, measure, place)
        words = mark("Made-up {what} by {columns}:") if made_up else mark("Published {what} by {columns}:")
        by = join_names(column.heading for column in cells.columns) if table else _("total")
        sentences += [_(words, what=name, columns=by), interval_facts(cells)]
    return " ".join(sentences)


def interval_facts(cells: Cells) -> str:
    noisy = int(cells.noisy.sum())
    noise = plural("{n} group is mostly noise.", "{n} groups are mostly noise.", noisy)
    if noisy == cells.value.size:
        return noise
    known = np.where(cells.noisy, np.nan, cells.value)
    least, most = (np.unravel_index(int(find(known)), known.shape) for find in (np.nanargmin, np.nanargmax))
    width = float(np.median(((cells.high - cells.low) / 2)[~cells.noisy]))
    facts = _(
        "{least} ({group}) to {most} ({other_group}); a typical interval is ±{width}.",
        least=cells.text(cells.value[least]),
        group=cells.place(tuple(map(int, least))),
        most=cells.text(cells.value[most]),
        other_group=cells.place(tuple(map(int, most))),
        width=cells.text(width),
    )
    return f"{facts} {noise}" if noisy else facts
