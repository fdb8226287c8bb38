"""Figures of a release and of its error, shared by the pages and the report.

One accent colour stands for published numbers, grey for an owner's own. Nothing is said by colour
alone: whiskers, hatching, marks, dashes and hover texts say it too, and each figure has a table twin.
Backgrounds are transparent, so that a figure sits on a light or a dark page.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import numpy.typing as npt
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from dpengine.accuracy import predict
from dpengine.estimate import Columns
from dpengine.plan import Plan
from dpengine.result import Result
from dpengine.words import noun

__all__ = ["CONFIG", "MOST_FACETS", "alt_text", "comparison_figure", "error_curve", "needs_fixing", "release_figure"]

# Figures stay on this machine: no button sends one to anybody's server.
CONFIG = {
    "displaylogo": False,
    "showSendToCloud": False,
    "plotlyServerURL": "",
    "toImageButtonOptions": {"format": "svg", "filename": "private-release"},
}
MOST_FACETS = 12
MOST_LABEL = 24
ACCENT = {False: "#0b6e75", True: "#4fc3c7"}
GREY = {False: "#7b8789", True: "#97a3a5"}
INK = {False: "#1c2526", True: "#e8eeee"}
SCALE = {
    False: [[0, "#f2f7f7"], [0.3, "#cbe4e5"], [0.65, "#8ac4c7"], [1, "#0b6067"]],
    True: [[0, "#172123"], [0.4, "#1f4a4e"], [0.7, "#2b7f84"], [1, "#a6ecee"]],
}
DASHES = ("solid", "dash", "dot", "dashdot", "longdash")
SYMBOLS = ("circle", "square", "diamond", "triangle-up", "x")
CURVE = (0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10)

Ints = npt.NDArray[np.int64]


def release_figure(
    result: Result, table: Columns, *, fixed: Mapping[str, str] | None = None, dark: bool = False
) -> go.Figure:
    """The published counts of ``table``: bars for one column, a heatmap for two, small ones side by side for three.

    ``fixed`` holds one label for each column that is looked at one cell at a time (see :func:`needs_fixing`).
    """
    fixed = dict(fixed or {})
    shown = tuple(name for name in table if name not in fixed)
    if not shown or len(shown) > 3:
        raise ValueError("fix columns until one, two or three are left")
    cells = _Cells(result, table, shown, fixed)
    figure = {1: _bars, 2: _heatmap, 3: _facets}[len(shown)](cells, dark)
    where = "".join(f", {_cut(name)}: {_cut(label)}" for name, label in fixed.items())
    return _dressed(figure, f"{noun(result.plan).capitalize()} by {_listed(map(_cut, shown))}{where}", dark)


def needs_fixing(plan: Plan, table: Columns) -> Columns:
    """Columns of ``table`` that a figure has no room for: all past the third, and a third of many cells."""
    roomy = 3 if len(table) > 2 and plan.column(table[2]).size <= MOST_FACETS else 2
    return table[roomy:]


def alt_text(result: Result, table: Columns) -> str:
    """One sentence for those who do not see the figure."""
    counts = result.counts(table)
    if not table:
        return f"The published total is {int(counts):,}."
    largest = np.unravel_index(int(counts.argmax()), counts.shape)
    where = ", ".join(result.plan.column(n).labels[k] for n, k in zip(table, largest, strict=True))
    noisy = int(result.mostly_noise(table).sum())
    return (
        f"Published counts by {_listed(table)}, {counts.size} cells adding up to {int(counts.sum()):,}; "
        f"the largest is {where} with {int(counts.max()):,}; {noisy} cells are mostly noise."
    )


def error_curve(
    plan: Plan, *, epsilons: Sequence[float] = CURVE, table: Columns | None = None, dark: bool = False
) -> go.Figure:
    """How far 95 in 100 cells are within, over ε; the plan's own ε is marked. Needs no data."""
    here = float(plan.epsilon)
    frame = predict(plan, sorted({*epsilons, here}))
    wanted = [*[" × ".join(t) for t in ([table] if table else plan.marginals)][:4], "total"]
    figure = go.Figure()
    for k, name in enumerate(wanted):
        rows = frame[frame["table"] == name]
        colour = GREY[dark] if name == "total" else ACCENT[dark]
        label = "total" if name == "total" else f"a cell of {_short(name)}"
        figure.add_scatter(
            x=rows["epsilon"],
            y=np.maximum(rows["half_width_95"], 0.5),
            customdata=rows["half_width_95"],
            name=label,
            mode="lines",
            line={"color": colour, "dash": DASHES[k % len(DASHES)], "width": 2},
            hovertemplate=f"{label}<br>ε = %{{x:g}}: within ±%{{customdata:,.0f}}<extra></extra>",
        )
        now = rows[rows["epsilon"] == here]
        figure.add_scatter(
            x=now["epsilon"],
            y=np.maximum(now["half_width_95"], 0.5),
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
    figure.update_xaxes(type="log", title="privacy budget ε (more private ← → more exact)", tickvals=list(CURVE))
    figure.update_yaxes(type="log", title=f"{noun(plan)}, ± (95 in 100)", dtick=1)
    return _dressed(figure, "How wrong, for each ε", dark)


def comparison_figure(result: Result, table: Columns, exact: Ints, *, dark: bool = False) -> go.Figure:
    """Published against true counts, cell by cell; for the owner's own eyes."""
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
    figure.update_xaxes(title="true count (private)")
    figure.update_yaxes(title="published count")
    figure.update_layout(showlegend=False)
    return _dressed(figure, f"{' × '.join(table)}: published against true", dark)


class _Cells:
    """The cells of a table that a figure shows, each array with one axis for each column of ``shown``."""

    def __init__(self, result: Result, table: Columns, shown: Columns, fixed: Mapping[str, str]) -> None:
        self.result, self.shown = result, shown
        plan = result.plan
        cut = tuple(slice(None) if n in shown else plan.column(n).labels.index(fixed[n]) for n in table)
        cells = result.cells(table)
        shape = plan.shape(table)
        self.count = cells["count"].reshape(shape)[cut]
        self.low = cells["low"].reshape(shape)[cut]
        self.high = cells["high"].reshape(shape)[cut]
        self.estimate = cells["estimate"].reshape(shape)[cut]
        self.noun = noun(plan)
        self.noisy = result.mostly_noise(table)[cut]
        self.labels = [plan.column(name).labels for name in shown]
        self.hover = self._hover()

    def _hover(self) -> npt.NDArray[np.object_]:
        texts = np.empty(self.count.shape, dtype=object)
        for cell in np.ndindex(self.count.shape):
            named = zip(self.shown, self.labels, cell, strict=True)
            place = "<br>".join(f"{_plain(name)}: {_plain(labels[k])}" for name, labels, k in named)
            noise = "<br>mostly noise" if self.noisy[cell] else ""
            texts[cell] = (
                f"{place}<br><b>count {self.count[cell]:,}</b>, estimate {self.estimate[cell]:,.1f}"
                f"<br>95 %: {self.low[cell]:,} to {self.high[cell]:,}{noise}"
            )
        return texts


def _bars(cells: _Cells, dark: bool) -> go.Figure:
    labels = cells.labels[0]
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
    figure.update_xaxes(title=_short(cells.shown[0]), **_category_axis(labels))
    figure.update_yaxes(title=cells.noun, rangemode="tozero")
    return figure.update_layout(bargap=0.25, showlegend=bool(cells.noisy.any()))


def _heatmap(cells: _Cells, dark: bool) -> go.Figure:
    figure = go.Figure(_heat(cells.count, cells.hover, cells.labels, dark, int(cells.count.max()), cells.noun))
    figure.add_trace(_noise_marks(cells.noisy, cells.labels, dark))
    figure.update_xaxes(title=_short(cells.shown[1]), **_category_axis(cells.labels[1]))
    figure.update_yaxes(title=_short(cells.shown[0]), **_category_axis(cells.labels[0], downwards=True))
    height = min(900, 140 + max(18, 34 - len(cells.labels[0]) // 2) * len(cells.labels[0]))
    return figure.update_layout(height=max(320, height))


def _facets(cells: _Cells, dark: bool) -> go.Figure:
    third = cells.labels[2]
    across = min(3, len(third))
    down = -(-len(third) // across)
    figure = make_subplots(
        rows=down,
        cols=across,
        subplot_titles=[_short(label) for label in third],
        shared_xaxes=True,
        shared_yaxes=True,
        horizontal_spacing=0.03,
        vertical_spacing=0.12 / down + 0.02,
    )
    top = int(cells.count.max())
    for k in range(len(third)):
        place = {"row": k // across + 1, "col": k % across + 1}
        hover = cells.hover[:, :, k]
        heat = _heat(cells.count[:, :, k], hover, cells.labels[:2], dark, top, cells.noun, scale=k == 0)
        figure.add_trace(heat, **place)
        marks = _noise_marks(cells.noisy[:, :, k], cells.labels[:2], dark)
        figure.add_trace(marks.update(showlegend=k == 0 and bool(cells.noisy.any())), **place)
    figure.update_xaxes(tickangle=-45, **_category_axis(cells.labels[1]))
    figure.update_yaxes(**_category_axis(cells.labels[0], downwards=True))
    figure.update_yaxes(title=_short(cells.shown[0]), col=1)
    for column in range(across):  # the lowest of each column names the axis, also where the last row is not full
        lowest = (len(third) - 1 - column) // across + 1
        figure.update_xaxes(title=_short(cells.shown[1]), showticklabels=True, row=lowest, col=column + 1)
    figure.update_annotations(font_size=13)
    return figure.update_layout(height=max(360, down * (90 + 20 * len(cells.labels[0]))))


def _heat(
    counts: Ints,
    hover: npt.NDArray[np.object_],
    labels: Sequence[Sequence[str]],
    dark: bool,
    top: int,
    title: str,
    scale: bool = True,
) -> go.Heatmap:
    few = counts.size <= 120
    return go.Heatmap(
        z=counts,
        x=list(labels[1]),
        y=list(labels[0]),
        zmin=0,
        zmax=max(top, 1),
        colorscale=SCALE[dark],
        showscale=scale,
        colorbar={"title": title, "thickness": 10, "outlinewidth": 0},
        customdata=hover,
        hovertemplate="%{customdata}<extra></extra>",
        texttemplate="%{z:,}" if few else None,
        xgap=1,
        ygap=1,
    )


def _noise_marks(noisy: npt.NDArray[np.bool_], labels: Sequence[Sequence[str]], dark: bool) -> go.Scatter:
    """A slanted line through each cell that is mostly noise."""
    rows, columns = np.nonzero(noisy)
    few = noisy.size <= 400
    return go.Scatter(
        x=[labels[1][int(k)] for k in columns],
        y=[labels[0][int(k)] for k in rows],
        mode="markers",
        marker={
            "symbol": "line-ne-open",
            "size": 22 if few else 8,
            "color": GREY[dark],
            "line": {"width": 1.2},
            "opacity": 0.6 if few else 1,  # light enough to read the number through it
        },
        name="mostly noise",
        showlegend=bool(noisy.any()),
        hoverinfo="skip",
    )


def _category_axis(labels: Sequence[str], *, downwards: bool = False) -> dict[str, object]:
    """Labels in declared order, shortened where long, thinned where there are too many to read."""
    ends = [-0.5, len(labels) - 0.5]  # marks would widen an axis that finds its own ends
    step = max(1, -(-len(labels) // 40))
    shown = list(labels[::step])
    return {
        "type": "category",
        "categoryorder": "array",
        "categoryarray": list(labels),
        "range": ends[::-1] if downwards else ends,
        "tickvals": shown,
        "ticktext": [_short(label) for label in shown],
        "showgrid": False,
        "zeroline": False,
        "automargin": True,
    }


def _dressed(figure: go.Figure, title: str, dark: bool) -> go.Figure:
    grid = "rgba(128,140,142,0.25)"
    figure.update_layout(
        title={"text": _plain(title), "font": {"size": 15}, "x": 0, "xanchor": "left", "yref": "container"},
        template="none",
        paper_bgcolor="rgba(0,0,0,0)",
        plot_bgcolor="rgba(0,0,0,0)",
        font={"color": INK[dark], "size": 12, "family": "Source Sans, system-ui, sans-serif"},
        margin={"l": 10, "r": 10, "t": 66 if figure.layout.annotations else 44, "b": 10},
        legend={"orientation": "h", "yref": "container", "y": 0, "yanchor": "bottom", "x": 0},
        hoverlabel={"align": "left"},
        modebar={
            "bgcolor": "rgba(0,0,0,0)",
            "color": GREY[dark],
            "activecolor": ACCENT[dark],
            "remove": ["select2d", "lasso2d", "autoScale2d", "zoomIn2d", "zoomOut2d"],
        },
    )
    figure.update_xaxes(gridcolor=grid, linecolor=grid, automargin=True)
    figure.update_yaxes(gridcolor=grid, linecolor=grid, automargin=True, title_standoff=12)
    return figure


def _joined(result: Result, table: Columns, flat: int) -> str:
    cell = np.unravel_index(flat, result.plan.shape(table)) if table else ()
    return ", ".join(_plain(result.plan.column(n).labels[k]) for n, k in zip(table, cell, strict=True))


def _short(text: str) -> str:
    return _plain(_cut(text))


def _cut(text: str) -> str:
    return text if len(text) <= MOST_LABEL else f"{text[: MOST_LABEL - 1]}…"


def _listed(names: Iterable[str]) -> str:
    *others, last = names
    return f"{', '.join(others)} and {last}" if others else last


def _plain(text: str) -> str:
    """A label as text, not as the markup that figures understand."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
