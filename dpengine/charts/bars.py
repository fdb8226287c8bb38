"""Bars for the cells of one column, with their intervals as whiskers; cells that are mostly noise are hatched."""

from __future__ import annotations

from typing import Any

import numpy as np

from dpengine.array_types import Ints
from dpengine.charts.cells import Cells
from dpengine.charts.drawing import Drawing
from dpengine.charts.style import (
    ACCENT,
    GREY,
    INK,
    category_axis,
    crowded,
    noise_pattern,
    room_below,
    short_name,
    upright_name,
    whiskers,
)
from dpengine.spec.domain import Category
from dpengine.translation.catalogue import _

__all__ = ["bar_chart", "by_size"]

MAX_HEIGHT = 1400
ROW = 22  # pixels of a lying bar


def bar_chart(cells: Cells, dark: bool, *, largest_first: bool = False) -> Drawing:
    """Draw a bar for each cell, in declared order or with the `largest_first`.

    Bars of categories are horizontal if their labels have no room side by side.
    """
    order = by_size(cells) if largest_first else np.arange(cells.value.size)
    labels = [cells.short[0][k] for k in order]
    lying = isinstance(cells.columns[0], Category) and crowded(labels)
    along, up = ("y", "x") if lying else ("x", "y")
    details, hover = cells.details(), cells.hover([along], up)
    data: list[dict[str, Any]] = []
    wide = 4 if len(labels) < 60 else 0  # pixels across the end of a whisker
    for noisy in (False, True):
        chosen = order[cells.noisy[order] == noisy]
        if not chosen.size:
            continue
        value = cells.value[chosen]
        bars: dict[str, Any] = {
            "type": "bar",
            along: [cells.short[0][k] for k in chosen],
            up: value,
            f"error_{up}": whiskers(value, cells.low[chosen], cells.high[chosen], INK[dark], width=wide),
            "orientation": "h" if lying else "v",
            "customdata": details[chosen],
            "hovertemplate": hover,
            "name": _("mostly noise") if noisy else cells.legend,
            "marker": {"color": (GREY if noisy else ACCENT)[dark], "pattern": noise_pattern(noisy, dark)},
        }
        data.append(bars)
    named = upright_name(cells.headings[0], ROW * len(labels)) if lying else short_name(cells.headings[0])
    names = {"title": {"text": named}, **category_axis(labels, downwards=lying)}
    values = {"title": {"text": cells.noun}, "rangemode": "tozero"}
    layout: dict[str, Any] = {
        "xaxis": values if lying else names,
        "yaxis": names if lying else values,
        "height": min(MAX_HEIGHT, 130 + ROW * len(labels)) if lying else 380 + room_below(labels),
        "bargap": 0.25,
        "showlegend": bool(cells.noisy.any()),
    }
    return Drawing(data, layout)


def by_size(cells: Cells) -> Ints:
    """Return the order of the cells by their published numbers, the largest first; *other* and *missing* stay last."""
    declared = cells.columns[0].declared_size
    largest = np.argsort(-cells.value[:declared], kind="stable")
    return np.concatenate([largest, np.arange(declared, cells.value.size)]).astype(np.int64)
