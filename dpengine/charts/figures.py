"""Figures of a release and of its error, shared by the pages and the report.

Nothing is shown by colour alone: whiskers, hatching, marks, dashes and hover texts show it too, and each figure stands
beside a table with the same numbers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from dpengine.array_types import Columns, Ints
from dpengine.charts.heatmap import Grid, traces
from dpengine.charts.style import ACCENT, GREY, INK, apply_style, category_axis, escape, join_names, shorten
from dpengine.marginals.marginal import Marginal
from dpengine.results.predict import half_width_curves
from dpengine.results.published_columns import NUMBERS
from dpengine.results.result import Result
from dpengine.spec.plan import Plan
from dpengine.spec.wording import noun

__all__ = [
    "MAX_FACETS", "alt_text", "columns_to_fix", "comparison_figure", "error_curve", "error_curve_numbers",
    "facets_across", "largest_label", "release_figure", "shown_label",
]  # fmt: skip

MAX_FACETS = 12
MAX_CURVES = 4
DASHES = ("solid", "dash", "dot", "dashdot", "longdash")
SYMBOLS = ("circle", "square", "diamond", "triangle-up", "x")
CURVE = (0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10)


def release_figure(
    result: Result, table: Columns, *, fixed: Mapping[str, str] | None = None, dark: bool = False
) -> go.Figure:
    """Draw the published counts of `table`: bars for one column, a heatmap for two, small heatmaps for three.

    `fixed` holds a label for each column of which only one cell is shown (see `columns_to_fix`). Raises ValueError
    unless one, two or three columns are left.
    """
    fixed = dict(fixed or {})
    shown = tuple(name for name in table if name not in fixed)
    if not shown or len(shown) > 3:
        raise ValueError("fix columns until one, two or three are left")
    cells = _Cells(result, table, shown, fixed)
    figure = {1: _bars, 2: _heatmap, 3: _facets}[len(shown)](cells, dark)
    plan = result.plan
    where = "".join(f", {_cut(plan.column(n).heading)}: {_cut(shown_label(plan, n, fixed[n]))}" for n in fixed)
    by = join_names(_cut(plan.column(name).heading) for name in shown)
    return apply_style(figure, f"{noun(plan).capitalize()} by {by}{where}", dark)


def shown_label(plan: Plan, name: str, label: str) -> str:
    """Return what readers see for one of the labels of a column."""
    column = plan.column(name)
    return column.shown[column.labels.index(label)]


def columns_to_fix(plan: Plan, table: Columns) -> Columns:
    """Return the columns of `table` that a figure has no room for: the third if it has many cells, and all after it."""
    roomy = 3 if len(table) > 2 and plan.column(table[2]).size <= MAX_FACETS else 2
    return table[roomy:]


def largest_label(result: Result, table: Columns, name: str) -> str:
    """Return the label of a column with the largest count, for a figure that has room for one label only."""
    counts = Marginal(table, result.counts(table)).project((name,)).values
    return result.plan.column(name).labels[int(counts.argmax())]


def alt_text(result: Result, table: Columns, *, made_up: bool = False) -> str:
    """Describe the published counts of `table` in one sentence, for readers who do not see the figure.

    With `made_up`, say that they are of no real release.
    """
    counts, numbers = result.counts(table), "Made-up" if made_up else "Published"
    if not table:
        return f"The {numbers.lower()} total is {int(counts):,}."
    largest = np.unravel_index(int(counts.argmax()), counts.shape)
    columns = [result.plan.column(name) for name in table]
    where = ", ".join(column.shown[k] for column, k in zip(columns, largest, strict=True))
    noisy = int(result.mostly_noise(table).sum())
    are = "cell is" if noisy == 1 else "cells are"
    by = join_names(column.heading for column in columns)
    return (
        f"{numbers} counts by {by}: {counts.size:,} cells that add up to {int(counts.sum()):,}. "
        f"The largest is {where} with {int(counts.max()):,}. {noisy:,} {are} mostly noise."
    )


def error_curve_numbers(plan: Plan, *, epsilons: Sequence[float] = CURVE) -> dict[str, list[float]]:
    """Return what `error_curve` draws: half-widths at each ε, of one cell of each table and of the total."""
    return half_width_curves(plan, plan.marginals[:MAX_CURVES], epsilons)


def error_curve(plan: Plan, *, numbers: Mapping[str, list[float]] | None = None, dark: bool = False) -> go.Figure:
    """Draw 95 % half-widths against ε, with the plan's own ε marked. Needs no data.

    `numbers` are the plan's `error_curve_numbers`, if they have been computed already.
    """
    here = float(plan.epsilon)
    curves = dict(numbers or error_curve_numbers(plan))
    epsilons = curves.pop("ε")
    figure = go.Figure()
    for k, (name, half_widths) in enumerate(curves.items()):
        colour = GREY[dark] if name == "total" else ACCENT[dark]
        label = "total" if name == "total" else f"a cell of {_short(name)}"
        drawn = np.maximum(half_widths, 0.5)  # a logarithmic axis has no place for 0
        figure.add_scatter(
            x=epsilons,
            y=drawn,
            customdata=half_widths,
            name=label,
            mode="lines",
            line={"color": colour, "dash": DASHES[k % len(DASHES)], "width": 2},
            hovertemplate=f"{label}<br>ε = %{{x:g}}: within ±%{{customdata:,.0f}}<extra></extra>",
        )
        figure.add_scatter(
            x=[here],
            y=[drawn[epsilons.index(here)]],
            mode="markers",
            marker={
                "color": colour,
                "size": 11,
                "symbol": SYMBOLS[k % len(SYMBOLS)],
                "line": {"color": INK[dark], "width": 1},
            },
            showlegend=False,
            hoverinfo="skip",
        )
    figure.update_xaxes(type="log", title="ε: more private ← → more exact", tickvals=list(CURVE))
    figure.update_yaxes(type="log", title=f"{noun(plan)}, ± (95 in 100 counts)", dtick=1, tickformat=",~g")
    return apply_style(figure, "Error of the published counts at each ε", dark)


def comparison_figure(result: Result, table: Columns, exact: Ints, *, dark: bool = False) -> go.Figure:
    """Draw published counts against `exact` ones: for the data owner only, never for publication."""
    published, true = result.counts(table).ravel(), exact.ravel()
    labels = [_joined(result, table, k) for k in range(true.size)]
    top = max(int(true.max(initial=1)), int(published.max(initial=1)))
    figure = go.Figure()
    figure.add_scatter(
        x=[0, top], y=[0, top], mode="lines", line={"color": GREY[dark], "dash": "dash"}, hoverinfo="skip"
    )
    figure.add_scatter(
        x=true,
        y=published,
        mode="markers",
        marker={"color": ACCENT[dark], "size": 7, "opacity": 0.75},
        text=labels,
        hovertemplate="%{text}<br>true %{x:,}<br>published %{y:,}<extra></extra>",
    )
    figure.update_xaxes(title="true count (private)", tickformat=",~d")
    figure.update_yaxes(title="published count", tickformat=",~d")
    figure.update_layout(showlegend=False)
    return apply_style(figure, f"Published against true: {' × '.join(table)}", dark)


class _Cells:
    """The cells of a table that a figure shows; each array has one axis for each column of `shown`."""

    def __init__(self, result: Result, table: Columns, shown: Columns, fixed: Mapping[str, str]) -> None:
        self.result, self.shown = result, shown
        plan = result.plan
        self.headings = [plan.column(name).heading for name in shown]
        cut = tuple(slice(None) if n in shown else plan.column(n).labels.index(fixed[n]) for n in table)
        cells, shape = result.cells(table), plan.shape(table)
        self.count, self.estimate, self.low, self.high = (cells[name].reshape(shape)[cut] for name in NUMBERS)
        self.noun = noun(plan)
        self.noisy = result.mostly_noise(table)[cut]
        self.labels = [plan.column(name).shown for name in shown]
        self.short = [list(map(escape, shorten(labels))) for labels in self.labels]
        self.hover = self._hover()

    def _hover(self) -> npt.NDArray[np.object_]:
        texts = np.empty(self.count.shape, dtype=object)
        for cell in np.ndindex(self.count.shape):
            named = zip(self.headings, self.labels, cell, strict=True)
            place = "<br>".join(f"{escape(name)}: {escape(labels[k])}" for name, labels, k in named)
            noise = "<br>mostly noise" if self.noisy[cell] else ""
            texts[cell] = (
                f"{place}<br><b>count {self.count[cell]:,}</b>, estimate {self.estimate[cell]:,.1f}"
                f"<br>95 %: {self.low[cell]:,} to {self.high[cell]:,}{noise}"
            )
        return texts


def _bars(cells: _Cells, dark: bool) -> go.Figure:
    """Draw a bar for each cell, with its interval as whiskers; cells that are mostly noise are hatched."""
    labels = cells.short[0]
    figure = go.Figure()
    for noisy in (False, True):
        chosen = cells.noisy == noisy
        if not chosen.any():
            continue
        figure.add_bar(
            x=np.array(labels, dtype=object)[chosen],
            y=cells.count[chosen],
            customdata=cells.hover[chosen],
            hovertemplate="%{customdata}<extra></extra>",
            name="mostly noise" if noisy else "count, with 95 % interval",
            marker={
                "color": GREY[dark] if noisy else ACCENT[dark],
                "pattern": {"shape": "/" if noisy else "", "fgcolor": INK[dark], "size": 6, "solidity": 0.2},
            },
            error_y={
                "type": "data",
                "symmetric": False,
                "array": (cells.high - cells.count)[chosen],
                "arrayminus": (cells.count - cells.low)[chosen],
                "color": INK[dark],
                "thickness": 1.2,
                "width": 4 if len(labels) < 60 else 0,
            },
        )
    figure.update_xaxes(title=_short(cells.headings[0]), **category_axis(labels))
    figure.update_yaxes(title=cells.noun, rangemode="tozero")
    figure.update_layout(bargap=0.25, showlegend=bool(cells.noisy.any()))
    return figure.update_layout(height=380 + _room_below(labels))


def _heatmap(cells: _Cells, dark: bool) -> go.Figure:
    """Draw a heatmap of two columns, the first one down and the second across."""
    down, across = cells.short
    grid = Grid(cells.count, cells.hover, cells.noisy, down, across)
    noisy = bool(cells.noisy.any())
    top = int(cells.count.max())
    figure = go.Figure(traces(grid, top=top, unit=cells.noun, dark=dark, scale=True, legend=noisy))
    figure.update_xaxes(title=_short(cells.headings[1]), **category_axis(across))
    figure.update_yaxes(title=_short(cells.headings[0]), **category_axis(down, downwards=True))
    rows = max(18, 34 - len(down) // 2) * len(down)
    return figure.update_layout(height=min(900, max(320, 140 + rows + _room_below(across))))


def _room_below(labels: Sequence[str]) -> int:
    """Return the height in pixels that labels need below a figure, where many or long ones are turned upright."""
    longest = max(map(len, labels))
    return 6 * longest if longest * len(labels) > 40 else 0


def facets_across(columns: int, facets: int) -> int:
    """Return how many of `facets` small heatmaps fit side by side, each with this number of `columns`.

    >>> facets_across(4, 5), facets_across(10, 5), facets_across(40, 5)
    (3, 2, 1)
    """
    return min(facets, 3 if columns <= 6 else 2 if columns <= 12 else 1)


def _facets(cells: _Cells, dark: bool) -> go.Figure:
    """Draw a small heatmap for each cell of the third column."""
    rows, columns, third = cells.short
    across = facets_across(len(columns), len(third))
    down = -(-len(third) // across)
    figure = make_subplots(
        rows=down,
        cols=across,
        subplot_titles=third,
        shared_xaxes=True,
        shared_yaxes=True,
        horizontal_spacing=0.03,
        vertical_spacing=0.12 / down + 0.02,
    )
    top, noisy = int(cells.count.max()), bool(cells.noisy.any())
    for k in range(len(third)):
        grid = Grid(cells.count[:, :, k], cells.hover[:, :, k], cells.noisy[:, :, k], rows, columns)
        for trace in traces(grid, top=top, unit=cells.noun, dark=dark, scale=k == 0, legend=noisy and k == 0):
            figure.add_trace(trace, row=k // across + 1, col=k % across + 1)
    figure.update_xaxes(tickangle=-45, **category_axis(columns))
    figure.update_yaxes(**category_axis(rows, downwards=True))
    figure.update_yaxes(title=_short(cells.headings[0]), col=1)
    for column in range(across):  # the lowest of each column names the axis, also where the last row is not full
        lowest = (len(third) - 1 - column) // across + 1
        figure.update_xaxes(title=_short(cells.headings[1]), showticklabels=True, row=lowest, col=column + 1)
    figure.update_annotations(font_size=13)
    each = 90 + (20 if down * len(rows) <= 60 else 14) * len(rows)
    return figure.update_layout(height=max(360, down * each + _room_below(columns) // 2))


def _joined(result: Result, table: Columns, flat: int) -> str:
    """Return the labels of the cell with a flat index, for a hover text."""
    cell = np.unravel_index(flat, result.plan.shape(table)) if table else ()
    return ", ".join(escape(result.plan.column(n).shown[k]) for n, k in zip(table, cell, strict=True))


def _cut(text: str) -> str:
    return shorten([text])[0]


def _short(text: str) -> str:
    return escape(_cut(text))
