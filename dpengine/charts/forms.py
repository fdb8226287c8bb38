"""Choose the best chart for a table from the plan alone, so that page and report agree."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise
from typing import Literal

from dpengine.array_types import Columns
from dpengine.charts.levels import level_table
from dpengine.results.published_columns import Measure
from dpengine.spec.domain import Category, Column, Date, Number, Time
from dpengine.spec.plan import Plan

__all__ = ["Form", "forms", "time_axis"]

Form = Literal["bars", "sorted", "lines", "map", "heatmap", "facets", "dots", "ranked", "treemap", "levels"]
MAX_LINES = 12  # categories that have a line each
MIN_PERIODS = 3  # a line between only two points suggests a trend
MAX_PERIODS = 4_000
MIN_SPANNED = 4  # declared cells of a column, of which several but not all are a span
MIN_UNORDERED = 5  # a shorter list may be in alphabetical order by chance
YEARS = (1000, 2200)
# Names of columns that count time, and the numbers that it may take; "hours" would be a duration.
PARTS = {"month": (1, 13), "quarter": (1, 5), "week": (0, 54), "weekday": (0, 8), "day": (0, 367), "hour": (0, 24)}
YEAR_STEPS = {1, 2, 5, 10}


def forms(plan: Plan, shown: Columns, measure: Measure | None = None) -> tuple[Form, ...]:
    """Return the charts that can show one, two or three columns, the default first.

    A `measure` is shown by one or two columns: sums as bars, all else as dots.
    """
    columns = [plan.column(name) for name in shown]
    if measure is not None:
        return _forms_of_measure(columns, measure)
    if len(columns) == 1:
        of_one = _forms_of_column(columns[0])
        if level_table(plan, shown) is None:
            return of_one
        return ("map", "treemap", *of_one[1:]) if of_one[0] == "map" else ("treemap", *of_one)
    if len(columns) == 2:
        return ("lines", "heatmap") if time_axis(columns) is not None else ("heatmap",)
    return ("facets",)


def _forms_of_measure(columns: Sequence[Column], measure: Measure) -> tuple[Form, ...]:
    over_time: tuple[Form, ...] = ()
    if measure.kind in ("mean", "sum") and (
        is_time(columns[0]) if len(columns) == 1 else time_axis(columns) is not None
    ):
        over_time = ("lines",)
    if len(columns) > 1:
        return (*over_time, "bars" if measure.kind == "sum" else "dots")
    if measure.kind == "sum":
        return tuple(dict.fromkeys([*over_time, *_forms_of_column(columns[0])]))
    column = columns[0]
    if measure.kind == "quantile":
        return ("dots",)
    mapped: tuple[Form, ...] = ("map",) if isinstance(column, Category) and column.shapes and not measure.on else ()
    dots: tuple[Form, ...] = ("dots", "ranked") if isinstance(column, Category) else ("dots",)
    return (*over_time, *dots, *mapped) if not mapped else (*mapped, *dots)


def _forms_of_column(column: Column) -> tuple[Form, ...]:
    if is_time(column):
        return "lines", "bars"
    if not isinstance(column, Category):
        return ("bars",)
    bars: tuple[Form, ...] = ("bars", "sorted") if has_order(column) else ("sorted", "bars")
    return ("map", *bars) if column.shapes else bars


def time_axis(columns: Sequence[Column]) -> int | None:
    """Return which of two columns is the time of a chart with a line for each cell of the other; None if none is."""
    for k, column in enumerate(columns):
        if is_time(column) and columns[1 - k].size <= MAX_LINES:
            return k
    return None


def is_time(column: Column) -> bool:
    """Whether the cells of a column follow each other in time, in steps of one length.

    Numbers are years if they look like years or are named so, and other parts of time if they are named so.

    >>> is_time(Number(name="born", edges=[1950, 1960, 1970, 1980]))
    True
    >>> is_time(Number(name="income", edges=[0, 20, 40, 60])), is_time(Number(name="hour", edges=[0, 8, 16, 24]))
    (False, True)
    """
    if not MIN_PERIODS <= column.declared_size <= MAX_PERIODS:
        return False
    if isinstance(column, Date) or (isinstance(column, Time) and column.by == "hour"):
        return True
    if not isinstance(column, Number):
        return False
    edges = column.edges
    steps = {after - before for before, after in pairwise(edges)}
    if any(edge % 1 for edge in edges) or len(steps) > 1:
        return False
    words = set(re.findall("[a-z]+", re.sub("([a-z])([A-Z])", r"\1 \2", f"{column.name} {column.label}").lower()))
    first, last, step = edges[0], edges[-1], min(steps)
    if YEARS[0] <= first and last <= YEARS[1]:
        return bool(words & {"year", "yr", "jahr", "decade"}) or (first >= 1800 and last <= 2100 and step in YEAR_STEPS)
    return any(word in words and low <= first and last <= high for word, (low, high) in PARTS.items())


def makes_spans(column: Column) -> bool:
    """Whether neighbouring cells of a column form a range that people name by its ends, as ages and months do.

    >>> makes_spans(Category(name="grade", values=["1", "2", "3", "4", "5"]))
    True
    >>> makes_spans(Category(name="size", values=["small", "medium", "large", "huge", "other size"]))
    False
    """
    if column.declared_size < MIN_SPANNED:
        return False
    if not isinstance(column, Category):
        return True
    codes = not column.words and all(re.search(r"\d", value) for value in column.values)
    return has_order(column) and (codes or column.source == "standard")


def has_order(column: Column) -> bool:
    """Whether the order of a column's values is, or may be, meaningful.

    An alphabetical list of texts has no such order; any other order was chosen by somebody. Codes with digits may be
    ordered, and so may single letters.

    >>> has_order(Category(name="size", values=["small", "medium", "large", "huge", "other size"]))
    True
    >>> has_order(Category(name="land", values=["Austria", "Belgium", "Cyprus", "Denmark", "Spain"]))
    False
    """
    if not isinstance(column, Category) or len(column.values) < MIN_UNORDERED:
        return True
    texts = [text.casefold() for text in column.words_of_declared]
    if any(re.search(r"\d", text) for text in texts) or all(len(text) == 1 for text in texts):
        return True
    return texts != sorted(texts) and list(column.values) != sorted(column.values)
