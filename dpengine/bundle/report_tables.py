"""The tables of the report: their facts, figures and rows, as values of its template."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from markupsafe import Markup

from dpengine.array_types import Columns
from dpengine.charts import figures
from dpengine.charts.cells import ALL
from dpengine.charts.drawing import Drawing
from dpengine.charts.forms import forms
from dpengine.charts.grids import APART, facets_across
from dpengine.charts.heatmap import AXIS
from dpengine.charts.level_rows import level_rows
from dpengine.charts.levels import level_table, level_tree
from dpengine.results.interval_estimates import IntervalEstimates
from dpengine.results.published_columns import NUMBERS, Measure, measures, number_columns, published_name
from dpengine.results.result import Result
from dpengine.spec.counted_wording import counting_in_words
from dpengine.spec.plan import Plan
from dpengine.spec.wording import heading_of, label_words, people
from dpengine.translation.catalogue import _, number

__all__ = ["count_texts", "measure_texts", "script_json", "table_values"]

MAX_ROWS = 500
FIRST_ROWS = 25
MAX_CELLS_DRAWN = 4000
MAX_CELLS_DRAWN_IN_ALL = 20_000
MAX_ROWS_IN_ALL = 12_000

Texts = tuple[str, str, str]  # a number and the ends of its interval


def table_values(result: Result, tables: Sequence[Columns], files: Mapping[Columns, str]) -> list[dict[str, Any]]:
    """Return the template values of `tables`, with figures and rows as long as there is room for them."""
    descriptions, room, rows = [], MAX_CELLS_DRAWN_IN_ALL, MAX_ROWS_IN_ALL
    for place, table in enumerate(tables, start=1):
        drawn = []
        for measure in (*measures(result.plan, table), None):
            figure = _figure(result, table, measure, min(room, MAX_CELLS_DRAWN))
            if figure is not None:
                room -= figure["drawn"]
                drawn.append(figure | {"id": f"table-{place}-figure{figure['suffix']}"})
        values = _table(result, table, files[table], min(rows, MAX_ROWS))
        rows -= len(values["rows"])
        descriptions.append(values | {"figures": drawn, "id": f"table-{place}"})
    return descriptions


def count_texts(cells: Mapping[str, npt.NDArray[Any]]) -> list[dict[str, str]]:
    """Write the numbers of each cell; estimates have a decimal if any of them needs one."""
    estimates = np.round(cells["estimate"], 1) + 0.0  # no −0
    digits = 0 if (estimates % 1 == 0).all() else 1
    numbers = zip(cells["count"], cells["low"], cells["high"], estimates, strict=True)
    return [
        {
            "count": number(count),
            "low": number(low),
            "high": number(high),
            "estimate": number(estimate, f",.{digits}f").replace("-", "−"),
        }
        for count, low, high, estimate in numbers
    ]


def measure_texts(result: Result, table: Columns, rows: int | None) -> dict[str, list[Texts]]:
    """Write the numbers of a table's amounts in the first `rows` cells, or in all, by their headings."""
    texts: dict[str, list[Texts]] = {}
    for heading, interval in _interval_estimates(result, table).items():
        cells = zip(*(values.ravel()[:rows] for values in interval.numbers), strict=True)
        texts[heading] = [(_written(value, interval.digits), _written(low, interval.digits),
                           _written(high, interval.digits)) for value, low, high in cells]  # fmt: skip
    return texts


def _interval_estimates(result: Result, table: Columns) -> dict[str, IntervalEstimates]:
    """Return the numbers of a table's amounts, and then of pairs of them, by their headings."""
    plan = result.plan
    return {
        heading: interval
        for measure in measures(plan, table)
        for heading, interval in zip(measure.headings(plan), result.interval_estimates(table, measure), strict=True)
    }


def _written(value: float, digits: int) -> str:
    return number(value, f",.{digits}f").replace("-", "−")


def _amount_texts(result: Result, table: Columns, rows: int) -> dict[str, list[str]]:
    """Write the numbers of a table's amounts in the first `rows` cells with their intervals, by their headings."""
    texts = measure_texts(result, table, rows)
    noisy = {heading: interval.noisy.ravel() for heading, interval in _interval_estimates(result, table).items()}
    return {
        heading: [_with_interval(*each, noisy[heading][k]) for k, each in enumerate(written)]
        for heading, written in texts.items()
    }


def _with_interval(middle: str, low: str, high: str, noisy: bool) -> str:
    text = _("{middle} ({low} to {high})", middle=middle, low=low, high=high)
    return _("{number}, mostly noise", number=text) if noisy else text


def _table(result: Result, table: Columns, file: str, room: int) -> dict[str, Any]:
    """Return the values of one table of the page: its facts, and its rows or, without `room` for them, the first."""
    noisy = result.mostly_noise(table)
    columns = [result.plan.column(name) for name in table]
    names = [published_name(name, number_columns(result.plan, table)) for name in table]
    whole = noisy.size <= max(room, FIRST_ROWS)
    rows = noisy.size if whole else FIRST_ROWS
    shown = {name: cells[:rows] for name, cells in result.cells(table).items()}
    amounts = _amount_texts(result, table, rows)
    return {
        "name": heading_of(result.plan, table),
        "how": counting_in_words(result.plan, table),
        "file": file,
        "cells": noisy.size,
        "typical": people(result.estimates.mean_abs_error(table)),
        "within": people(result.half_width(table)),
        "noisy": int(noisy.sum()),
        "header": [*(column.heading for column in columns), *map(_, NUMBERS), *(f"{name} (95 %)" for name in amounts)],
        "number_columns": len(NUMBERS) + len(amounts),
        "rows": [
            {"labels": texts, "noisy": bool(mark), "amounts": written, **numbers}
            for *texts, mark, numbers, written in zip(
                *(
                    map(label_words(column).__getitem__, shown[name])
                    for column, name in zip(columns, names, strict=True)
                ),
                noisy.ravel()[:rows],
                count_texts(shown),
                [[texts[k] for texts in amounts.values()] for k in range(rows)],
                strict=True,
            )
        ],
        "whole": whole,
        "levels": _levels(result, table),
        "alt": figures.alt_text(result, table),
    }


def _levels(result: Result, table: Columns) -> Markup | None:
    """Return the table of levels, summed over all other columns; None if there are no levels, or too many groups."""
    name = level_table(result.plan, table)
    if name is None:
        return None
    fixed = dict.fromkeys((each for each in table if each != name), ALL)
    return level_rows(level_tree(result, table, name, fixed), heading_of(result.plan, (name,)))


def _figure(result: Result, table: Columns, measure: Measure | None, room: int) -> dict[str, Any] | None:
    """Return the figure of a table's counts or of a measure; None if it has more cells than `room`."""
    plan = result.plan
    fixed = dict.fromkeys(figures.columns_to_fix(plan, table, measure), ALL)
    drawn = tuple(name for name in table if name not in fixed)
    cells = plan.cells(drawn)
    if cells > room:
        return None
    figure = figures.release_drawing(result, table, fixed=fixed, measure=measure)
    return {
        "json": script_json(figure.to_json()),
        "drawn": cells,
        "alt": figures.alt_text(result, table, measure),
        "name": heading_of(plan, table) if measure is None else f"{measure.heading(plan)}, {heading_of(plan, table)}",
        "suffix": "" if measure is None else f"-{measure.kind}-{_figure_name(plan, measure)}",
        "fixed": [plan.column(name).heading for name in fixed],
        "wide": min(900, _width(plan, drawn, measure, _cell_width(figure))),
        "high": figure.layout["height"] or 380,
    }


def _figure_name(plan: Plan, measure: Measure) -> str:
    """Return the places of a measure's amounts in the plan, such as 1 or 1-2, for the name of its figure."""
    return "-".join(str(plan.amounts(()).index(name) + 1) for name in (measure.amount, measure.on) if name)


def _cell_width(figure: Drawing) -> int:
    """Return the width in pixels of a cell of heatmaps in which the widest number is readable."""
    widest = max((len(number(int(trace["z"].max()))) for trace in figure.data if "z" in trace), default=0)
    return max(26, 6 * widest + 2)  # Plotly wants 0.65 of the height of a digit, which is at least 9 pixels


def _width(plan: Plan, drawn: Columns, measure: Measure | None, cell: int) -> int:
    """Return the width in pixels below which a chart scrolls sideways; `cell` is the width of a readable cell."""
    if measure is not None:
        return 140 + 150 * min(3, *plan.shape(drawn)) if len(drawn) > 1 else 0
    form = forms(plan, drawn)[0]
    if form not in ("bars", "heatmap", "facets"):
        return 0
    across = plan.column(drawn[min(1, len(drawn) - 1)]).size
    if form == "bars":
        return 140 + across * 22 if plan.column(drawn[0]).kind != "category" else 0  # bars of categories may lie
    if form == "facets":
        beside = facets_across(across, plan.column(drawn[2]).size + 1)
        return AXIS + 80 + math.ceil(cell * across * beside / (1 - APART * (beside - 1)))
    return AXIS + across * (22 if plan.cells(drawn) > 120 else cell)


def script_json(text: str) -> Markup:
    """Escape JSON for a script element, so that no text in it can end the element."""
    safe = text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")
    return Markup(safe)
