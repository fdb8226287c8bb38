"""Figures of a release and of its error, shared by the pages and the report.

Nothing is shown by colour alone: whiskers, hatching, marks, dashes and hover texts show it too, and each figure is
shown beside a table of the same numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from dpengine.array_types import Columns, Floats, Ints
from dpengine.charts.bars import bar_chart
from dpengine.charts.cells import ALL, Cells, Fixed, shown_label
from dpengine.charts.drawable import Drawable
from dpengine.charts.drawing import Drawing
from dpengine.charts.forms import Form, forms, time_axis
from dpengine.charts.grids import facets_chart, heatmap_chart
from dpengine.charts.levels import level_tree, treemap_chart
from dpengine.charts.lines import line_chart, lines_chart
from dpengine.charts.maps import map_chart
from dpengine.charts.spans import measure_alt, span_chart
from dpengine.charts.style import (
    ACCENT,
    DASHES,
    GREY,
    INK,
    SYMBOLS,
    apply_style,
    cut,
    escape,
    join_names,
    short_name,
    styled,
)
from dpengine.results.predict import half_width_curves, measure_curves
from dpengine.results.published_columns import Measure, measures
from dpengine.results.spans import decimals_of
from dpengine.spec.plan import Plan
from dpengine.spec.wording import heading_of, name_of, noun, shown_labels
from dpengine.translation.catalogue import _, localised, mark, number, plural

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

__all__ = [
    "MAX_FACETS", "alt_text", "columns_to_fix", "comparison_figure", "curve_drawing", "error_curve_alt",
    "error_curve_numbers", "release_drawing", "release_figure",
]  # fmt: skip

Chart: TypeAlias = "Callable[[Cells, bool], Figure]"  # of the cells to draw, on a dark page or not
MAX_FACETS = 12
MAX_CURVES = 4
CURVE = (0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10)


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
        cells = Cells(result, table, shown, fixed, measure, len(measure.names) // 2 if measure else 0)
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
    title = title[:1].upper() + title[1:]
    return styled(figure, title, dark) if isinstance(figure, Drawing) else apply_style(figure, title, dark)


def _drawn(result: Drawable, table: Columns, shown: Columns, fixed: Fixed, form: Form, dark: bool) -> Drawing:
    if form == "facets":
        together = Cells(result, table, shown[:2], {**fixed, shown[2]: ALL})
        return facets_chart(Cells(result, table, shown, fixed), together, dark)
    if form == "lines" and len(shown) == 2:
        return lines_chart(Cells(result, table, _time_first(result.plan, shown), fixed), dark)
    if form == "treemap":
        return treemap_chart(level_tree(result, table, shown[0], fixed), noun(result.plan), dark)
    cells = Cells(result, table, shown, fixed)
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
        return lines_chart(Cells(result, table, _time_first(result.plan, shown), fixed, measure), dark)
    if len(shown) == 2 and result.plan.column(shown[1]).size > result.plan.column(shown[0]).size:
        shown = shown[::-1]  # a small chart for each cell of the shorter column
    parts = [Cells(result, table, shown, fixed, measure, place) for place in range(len(measure.names))]
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


def error_curve_numbers(
    plan: Plan,
    measure: Measure | None = None,
    *,
    epsilons: Sequence[float] = CURVE,
    known: Mapping[str, Sequence[float]] | None = None,
) -> dict[str, list[float]]:
    """Return the numbers of `curve_drawing`: half-widths at each ε, for a cell of each table and for the total.

    For a `measure`, they are those of groups of typical size, in its unit; for quantiles, of the middle one. `known` is
    an earlier result for the plan at another ε: then only the plan's own ε is computed.
    """
    if measure is not None:
        tables = [table for table in plan.marginals if measure in measures(plan, table)]
        name = _drawn_part(measure, measure.names)
        return measure_curves(plan, [*tables[:MAX_CURVES], ()], name, epsilons, known)
    return half_width_curves(plan, plan.marginals[:MAX_CURVES], epsilons, known)


def _drawn_part(measure: Measure, parts: Sequence[str]) -> str:
    """Return the index of the name or heading of a measure whose curve is drawn."""
    return parts[len(measure.names) // 2]


def curve_drawing(
    plan: Plan,
    *,
    numbers: Mapping[str, list[float]] | None = None,
    measure: Measure | None = None,
    dark: bool = False,
) -> Drawing:
    """Draw 95 % half-widths against ε, for counts or a `measure`, with the plan's own ε marked. Needs no data.

    `numbers` are the plan's `error_curve_numbers`, if they have been computed already.
    """
    here = float(plan.epsilon)
    curves = dict(numbers or error_curve_numbers(plan, measure))
    headings = {name_of(table): heading_of(plan, table) for table in plan.marginals}
    least, digits = (0.5, ",.0f") if measure is None else (1e-9, ",.3~r")
    epsilons = curves.pop("ε")
    traces: list[dict[str, Any]] = []
    for k, (name, half_widths) in enumerate(curves.items()):
        colour = GREY[dark] if name == "total" else ACCENT[dark]
        label = _("total") if name == "total" else _("a cell of {table}", table=short_name(headings[name]))
        drawn = np.maximum(half_widths, least)  # a logarithmic axis has no place for 0
        dash, symbol = DASHES[k % len(DASHES)], SYMBOLS[k % len(SYMBOLS)]
        traces.append(_curve(epsilons, half_widths, drawn, label, digits, {"color": colour, "dash": dash, "width": 2}))
        marker = {"color": colour, "size": 11, "symbol": symbol, "line": {"color": INK[dark], "width": 1}}
        traces.append(_point(here, drawn[epsilons.index(here)], marker))
    if measure is None:
        what = " / ".join(dict.fromkeys(noun(plan, table) for table in plan.marginals))
        title, up = _("Error of the published counts at each ε"), _("{what}, ± (95 in 100 counts)", what=what)
    else:
        what = _drawn_part(measure, measure.headings(plan))
        title = _("Error of {what} at each ε, in a group of typical size", what=what)
        up = _("± (95 in 100)")
    axes = {
        "xaxis": {"type": "log", "title": {"text": _("ε: more private ← → more exact")}, "tickvals": list(CURVE)},
        "yaxis": {"type": "log", "title": {"text": up}, "dtick": 1, "tickformat": ",~g"},
    }
    return styled(Drawing(traces, axes), title, dark)


def _curve(
    epsilons: Sequence[float],
    half_widths: Sequence[float],
    drawn: Floats,
    label: str,
    digits: str,
    line: dict[str, Any],
) -> dict[str, Any]:
    """Return the line of a table's half-widths; texts give them as they are, and not as `drawn`."""
    at = _("ε = {epsilon}: within ±{half_width}", epsilon="%{x:g}", half_width=f"%{{customdata:{digits}}}")
    return {
        "type": "scatter",
        "x": epsilons,
        "y": drawn,
        "customdata": half_widths,
        "name": label,
        "mode": "lines",
        "line": line,
        "hovertemplate": f"{label}<br>{at}<extra></extra>",
    }


def _point(x: float, y: float, marker: dict[str, Any]) -> dict[str, Any]:
    """Return the mark of the plan's own ε on a line."""
    return {
        "type": "scatter",
        "x": [x],
        "y": [y],
        "mode": "markers",
        "marker": marker,
        "showlegend": False,
        "hoverinfo": "skip",
    }


def error_curve_alt(plan: Plan, numbers: Mapping[str, list[float]], measure: Measure | None = None) -> str:
    """Say what `curve_drawing` shows, for readers who do not see it: the errors at the plan's own ε and at both ends.

    >>> column = {"name": "region", "kind": "category", "values": ["North", "South"]}
    >>> plan = Plan(dataset="clinic", epsilon=1, columns=[column], tables=[["region"]])
    >>> print(error_curve_alt(plan, error_curve_numbers(plan, epsilons=[0.1])))
    95 in 100 counts are within, at ε = 1: region ±3, total ±5; at ε = 0.1: region ±30, total ±57.
    """
    epsilons = numbers["ε"]
    named = [name for name in numbers if name != "ε"]
    headings = {name_of(table): heading_of(plan, table) for table in (*plan.marginals, ())}
    shown = dict.fromkeys(epsilons.index(epsilon) for epsilon in (float(plan.epsilon), epsilons[0], epsilons[-1]))
    at = []
    for k in shown:
        widths = {name: numbers[name][k] for name in named}
        digits = {name: 0 if measure is None else decimals_of(width) for name, width in widths.items()}
        words = (f"{headings[name]} ±{number(width, f',.{digits[name]}f')}" for name, width in widths.items())
        at.append(
            _("at ε = {epsilon}: {half_widths}", epsilon=localised(f"{epsilons[k]:g}"), half_widths=", ".join(words))
        )
    if measure is None:
        return _("95 in 100 counts are within, {half_widths}.", half_widths="; ".join(at))
    what = _drawn_part(measure, measure.headings(plan))
    return _("{what}: 95 in 100 are within, {half_widths}.", what=what, half_widths="; ".join(at))


def comparison_figure(
    result: Drawable, table: Columns, exact: Ints | Floats, measure: Measure | None = None, *, dark: bool = False
) -> Figure:
    """Draw published counts, means or sums against `exact` ones: for the data owner only, never for publication."""
    from plotly.graph_objects import Figure  # only where it is drawn: it takes long to load

    published, true = (result.counts(table) if measure is None else result.spans(table, measure)[0].middle), exact
    published, true = published.ravel(), true.ravel()
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
