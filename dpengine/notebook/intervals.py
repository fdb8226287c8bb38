"""A chart of numbers with their intervals, one below the other, as SVG."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from dpengine.translation.catalogue import number

__all__ = ["Interval", "chart", "round_step"]

WIDTH, ROW, LEFT, RIGHT, TOP = 680, 22, 210, 24, 8
MAX_LABEL = 30
TICKS = 5


@dataclass(frozen=True, slots=True)
class Interval:
    """A number of a chart with the ends of its interval; a `faint` one is drawn pale."""

    label: str
    middle: float
    low: float
    high: float
    faint: bool = False


def chart(intervals: Sequence[Interval], *, title: str, axis: str) -> dict[str, Any]:
    """Return the values from which the template `intervals.svg.j2` draws at least one interval.

    Coordinates are in pixels. `title` is the description for people who do not see the picture.
    """
    low, high = min(each.low for each in intervals), max(each.high for each in intervals)
    ticks = axis_ticks(low, high)
    first, span = min(low, ticks[0]), max(high, ticks[-1]) - min(low, ticks[0])

    def across(value: float) -> float:
        return round(LEFT + (value - first) / span * (WIDTH - LEFT - RIGHT), 1)

    return {
        "title": title,
        "axis": axis,
        "width": WIDTH,
        "left": LEFT,
        "height": TOP + ROW * len(intervals) + 40,
        "bottom": TOP + ROW * len(intervals) + 4,
        "top": TOP,
        "ticks": [(across(tick), number(tick, ",.10g").replace("-", "−")) for tick in ticks],
        "intervals": [
            {
                "label": _cut(each.label),
                "whole": each.label,
                "y": TOP + ROW * k + ROW // 2,
                "low": across(each.low),
                "high": across(each.high),
                "middle": across(each.middle),
                "faint": each.faint,
            }
            for k, each in enumerate(intervals)
        ],
    }


def axis_ticks(low: float, high: float) -> list[float]:
    """Return round numbers for an axis, so that most of it from `low` to `high` lies between them.

    >>> axis_ticks(0, 93), axis_ticks(-5, 5), axis_ticks(7, 7)
    ([0, 20, 40, 60, 80], [-4, -2, 0, 2, 4], [7, 8])
    """
    span = high - low
    if not span > 0:
        return [low, low + 1]
    step = round_step(span / TICKS)
    ticks = [k * step for k in range(math.ceil(low / step), math.floor(high / step) + 1)]
    return [int(tick) if step >= 1 else float(f"{tick:.10g}") for tick in ticks]


def round_step(least: float) -> float:
    """Return the smallest round step that is no smaller than `least`.

    >>> round_step(230_000), round_step(0.07)
    (500000, 0.1)
    """
    power: float = 10 ** math.floor(math.log10(least))
    return power * next(times for times in (1, 2, 5, 10) if times * power >= least)


def _cut(label: str) -> str:
    return label if len(label) <= MAX_LABEL else f"{label[: MAX_LABEL - 1]}…"
