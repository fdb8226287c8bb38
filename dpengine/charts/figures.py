"""Figures of a release, shared by the pages and the report.

Nothing is shown by colour alone: whiskers, hatching, marks, dashes and hover texts show it too, and each figure is
shown beside a table of the same numbers.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from dpengine.array_types import Columns, Floats, Ints
from dpengine.charts.bars import bar_chart
from dpengine.charts.cells import ALL, Cells, CellsOfTable, Fixed, shown_label
from dpengine.charts.drawable import Drawable
from dpengine.charts.drawing import Drawing
from dpengine.charts.forms import Form, forms, time_axis
from dpengine.charts.grids import facets_chart, heatmap_chart
from dpengine.charts.levels import level_tree, treemap_chart
from dpengine.charts.lines import line_chart, lines_chart
from dpengine.charts.maps import map_chart
from dpengine.charts.spans import measure_alt, span_chart
from dpengine.charts.style import ACCENT, GREY, apply_style, cut, escape, join_names, styled
from dpengine.results.published_columns import Measure
from dpengine.spec.counted_wording import noun
from dpengine.spec.plan import Plan
from dpengine.spec.wording import capitalised, heading_of, shown_labels
from dpengine.translation.catalogue import _, mark, number, plural

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

__all__ = [
    "MAX_FACETS", "alt_text", "columns_to_fix", "comparison_figure", "release_drawing", "release_figure",
]  # fmt: skip

Chart: TypeAlias = "Callable[[Cells, bool], Figure]"  # makes a figure of cells, for a dark page or a light one
MAX_FACETS = 12


def release_figure(
    result: Drawable,
    table: Columns,
    *,
    fixed: Fixed | None = None,
    form: Form | Chart | None = None,
    measure: Measure | None = None,
    dark: bool = False,
) -> Figure:
    """Draw the published counts of `table`, or a `measure` of it: see `release_drawing`."""
    drawn = release_drawing(result, table, fixed=fixed, form=form, measure=measure, dark=dark)
    return drawn.figure() if isinstance(drawn, Drawing) else drawn


def release_drawing(
    result: Drawable,
    table: Columns,
    *,
    fixed: Fixed | None = None,
    form: Form | Chart | None = None,
    measure: Measure | None = None,
    dark: bool = False,
) -> Drawing | Figure:
    """Draw the published counts of `table`, or a `measure` of it, in the first of its `forms` or the given one.

    `form` may be a custom chart: a function that draws `Cells`; for quantiles, those of the middle one. `fixed` holds a
    label, or `ALL`, for each column that is not drawn (see `columns_to_fix`). Raises ValueError unless one, two or
    three columns are left; for a measure, one or two.
    """
    fixed = dict(fixed or {})
    shown = tuple(name for name in table if name not in fixed)
    if not shown or len(shown) > (3 if measure is None else 2):
        raise ValueError("fix columns until one, two or three are left")
    plan = result.plan
    if callable(form):
        cells = CellsOfTable(result, table, shown, fixed, measure, len(measure.names) // 2 if measure else 0)
        figure: Drawing | Figure = form(cells, dark)
    else:
        chosen = form or forms(plan, shown, measure)[0]
        drawn = _drawn if measure is None else partial(_measured, measure=measure)
        figure = drawn(result, table, shown, fixed, chosen, dark)
    where = "".join(
        f", {cut(plan.column(n).heading)}: {cut(shown_label(plan, n, label))}"
        for n, label in fixed.items()
        if label is not ALL
    )
    by = join_names(cut(plan.column(name).heading) for name in shown)
    what = noun(plan, table) if measure is None else measure.heading(plan)
    title = _("{what} by {columns}{where}", what=what, columns=by, where=where)
    title = capitalised(title)
    return styled(figure, title, dark) if isinstance(figure, Drawing) else apply_style(figure, title, dark)


def _drawn(result: Drawable, table: Columns, shown: Columns, fixed: Fixed, form: Form, dark: bool) -> Drawing:
    if form == "facets":
        together = CellsOfTable(result, table, shown[:2], {**fixed, shown[2]: ALL})
        return facets_chart(CellsOfTable(result, table, shown, fixed), together, dark)
    if form == "lines" and len(shown) == 2:
        return lines_chart(CellsOfTable(result, table, _time_first(result.plan, shown), fixed), dark)
    if form == "treemap":
        return treemap_chart(level_tree(result, table, shown[0], fixed), noun(result.plan), dark)
    cells = CellsOfTable(result, table, shown, fixed)
    match form:
        case "lines":
            return line_chart(cells, dark)
        case "map":
            return map_chart(cells, dark)
        case "heatmap":
            return heatmap_chart(cells, dark)
        case _:
            return bar_chart(cells, dark, largest_first=form == "sorted")


def _measured(
    result: Drawable, table: Columns, shown: Columns, fixed: Fixed, form: Form, dark: bool, measure: Measure
) -> Drawing:
    """Draw means, sums or quantiles."""
    if form == "lines" and len(shown) == 2:
        return lines_chart(CellsOfTable(result, table, _time_first(result.plan, shown), fixed, measure), dark)
    if len(shown) == 2 and result.plan.column(shown[1]).size > result.plan.column(shown[0]).size:
        shown = shown[::-1]  # a small chart for each cell of the shorter column
    parts = [CellsOfTable(result, table, shown, fixed, measure, place) for place in range(len(measure.names))]
    match form:
        case "lines":
            return line_chart(parts[0], dark)
        case "map":
            return map_chart(parts[0], dark)
        case "bars" | "sorted" if len(shown) == 1:
            return bar_chart(parts[0], dark, largest_first=form == "sorted")
        case _:
            return span_chart(parts, dark, bars=measure.kind == "sum", largest_first=form == "ranked")


def _time_first(plan: Plan, shown: Columns) -> Columns:
    """Return the two columns of a chart of lines, that of time first."""
    return shown[::-1] if time_axis([plan.column(name) for name in shown]) else shown


def columns_to_fix(plan: Plan, table: Columns, measure: Measure | None = None) -> Columns:
    """Return the columns of `table` that do not fit into a figure: the third if it has many cells, and all after it.

    For a `measure`, also the second if neither of the first two has few cells.
    """
    if measure is not None:
        roomy = 2 if len(table) > 1 and min(plan.shape(table[:2])) <= MAX_FACETS else 1
        return table[roomy:]
    roomy = 3 if len(table) > 2 and plan.column(table[2]).size <= MAX_FACETS else 2
    return table[roomy:]


def alt_text(result: Drawable, table: Columns, measure: Measure | None = None, *, made_up: bool = False) -> str:
    """Describe the published counts of `table`, or a `measure`, for readers who do not see the figure.

    With `made_up`, say that they are of no real release.
    """
    if measure is not None:
        return measure_alt(result, table, measure, made_up=made_up)
    counts = result.counts(table)
    if not table:
        total = number(int(counts))
        return _("The made-up total is {n}.", n=total) if made_up else _("The published total is {n}.", n=total)
    largest = np.unravel_index(int(counts.argmax()), counts.shape)
    columns = [result.plan.column(name) for name in table]
    where = ", ".join(shown_labels(column)[k] for column, k in zip(columns, largest, strict=True))
    noisy = int(result.mostly_noise(table).sum())
    of_all = (
        mark("Made-up counts by {columns}: {cells} cells that add up to {sum}.")
        if made_up
        else mark("Published counts by {columns}: {cells} cells that add up to {sum}.")
    )
    by = join_names(column.heading for column in columns)
    return " ".join(
        [
            _(of_all, columns=by, cells=number(counts.size), sum=number(int(counts.sum()))),
            _("The largest is {cell} with {count}.", cell=where, count=number(int(counts.max()))),
            plural("{n} cell is mostly noise.", "{n} cells are mostly noise.", noisy),
        ]
    )


def comparison_figure(
    result: Drawable, table: Columns, exact: Ints | Floats, measure: Measure | None = None, *, dark: bool = False
) -> Figure:
    """Draw published counts, means or sums against `exact` ones: for the data owner only, never for publication."""
    from plotly.graph_objects import Figure  # only where it is drawn: it takes long to load

    published = result.counts(table) if measure is None else result.interval_estimates(table, measure)[0].value
    published, true = published.ravel(), exact.ravel()
    known = ~np.isnan(true)
    labels = [_joined(result, table, int(k)) for k in np.flatnonzero(known)]
    published, true = published[known], true[known]
    both = np.concatenate([true, published]) if true.size else np.array([0, 1])
    # Counts and sums begin at 0. An axis of means that did would show them all in one corner.
    low = float(both.min()) if measure is not None and measure.kind == "mean" else min(0, both.min())
    top = max(float(both.max()), low + 1) if measure is None else float(both.max())
    figure = Figure()
    figure.add_scatter(
        x=[low, top], y=[low, top], mode="lines", line={"color": GREY[dark], "dash": "dash"}, hoverinfo="skip"
    )
    figure.add_scatter(
        x=true,
        y=published,
        mode="markers",
        marker={"color": ACCENT[dark], "size": 7, "opacity": 0.75},
        text=labels,
        hovertemplate="%{text}<br>"
        + _("true {true}<br>published {published}", true="%{x:,}", published="%{y:,}")
        + "<extra></extra>",
    )
    if measure is None:
        titles = _("true count (private)"), _("published count")
        what = heading_of(result.plan, table)
    else:
        titles = _("true (private)"), _("published")
        what = f"{measure.heading(result.plan)}, {heading_of(result.plan, table)}"
    figure.update_xaxes(title=titles[0], tickformat=",~d" if measure is None else ",~r")
    figure.update_yaxes(title=titles[1], tickformat=",~d" if measure is None else ",~r")
    figure.update_layout(showlegend=False)
    return apply_style(figure, _("Published against true: {table}", table=what), dark)


def _joined(result: Drawable, table: Columns, flat: int) -> str:
    """Return the labels of the cell with a flat index, for a hover text."""
    cell = np.unravel_index(flat, result.plan.shape(table)) if table else ()
    return ", ".join(escape(shown_labels(result.plan.column(n))[k]) for n, k in zip(table, cell, strict=True))
