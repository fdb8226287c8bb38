"""The style of all figures of the pages: transparent, one accent colour, and nothing told by colour alone."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import plotly.graph_objects as go
import streamlit as st
from plotly.basedatatypes import BaseFigure

from dpengine.charts.drawing import Drawing
from dpengine.charts.style import ACCENT, CONFIG, GREY, GRID, NUMBERS_IN_FULL, look
from dpengine.translation.catalogue import ENGLISH, _, language, mark
from pages.parts.shared.epsilon_ladder import TICKS
from pages.parts.shared.picture_buttons import picture_buttons

if TYPE_CHECKING:
    from dpengine.lessons.success_rate import Rate

__all__ = [
    "FigureOfDrawing", "add_line", "buttons", "draw", "epsilon_axis", "hatched", "is_dark", "mark_current", "tones",
    "whiskers",
]  # fmt: skip

WORDS_OF_BUTTONS = (  # what Plotly says beside a chart
    mark("Download plot"),
    mark("Download plot as a PNG"),
    mark("Zoom"),
    mark("Zoom in"),
    mark("Zoom out"),
    mark("Pan"),
    mark("Reset"),
    mark("Reset axes"),
    mark("Double-click to zoom back out"),
    mark("Double-click on legend to isolate one trace"),
)
TITLE_LINE = 46  # letters of an axis' title that a phone shows in one line


def is_dark() -> bool:
    """Whether the reader sees the page on a dark background."""
    return st.context.theme.type == "dark"


def tones() -> dict[str, str]:
    """Return colours by role for the reader's background; they also differ in lightness."""
    dark = is_dark()
    shared = {"accent": ACCENT[dark], "grey": GREY[dark]}
    if dark:
        return shared | {"other": "#e0a458", "soft": "rgba(79,195,199,.18)", "ground": "#12181a"}
    return shared | {"other": "#a85a00", "soft": "rgba(11,110,117,.12)", "ground": "#ffffff"}


def buttons(*, shown: bool = True) -> dict[str, Any]:
    """Return Plotly's options for the buttons of a chart, which speak the visitor's language; or for a chart without.

    >>> sorted(buttons(shown=False))[:2]
    ['displayModeBar', 'displaylogo']
    """
    options = CONFIG if shown else CONFIG | {"displayModeBar": False}
    if language() == ENGLISH:
        return options
    words = {"dictionary": {text: _(text) for text in WORDS_OF_BUTTONS}}
    return options | {"locale": language(), "locales": {language(): words}}


def draw(
    figure: go.Figure, alt: str, key: str, height: int = 360, *, private: bool = False, zoom: bool = False
) -> None:
    """Show a figure in the style of all charts, with `alt` as its description for screen readers.

    Unless it is `private`, buttons save it as a picture. With `zoom`, dragging enlarges a part of the x axis.
    """
    dark = is_dark()
    figure.update_layout(
        **look(dark),
        height=height,
        margin={"l": 8, "r": 8, "t": 28, "b": 8},
        legend={"orientation": "h", "yanchor": "bottom", "y": 1.0, "x": 0},
    )
    figure.layout.template = {}  # an update would keep the template of the process
    axis = {"gridcolor": GRID, "linecolor": GRID, "zerolinecolor": GRID, "automargin": True, "title_standoff": 18,
            **NUMBERS_IN_FULL}  # fmt: skip
    figure.update_xaxes(**axis, fixedrange=not zoom)
    figure.for_each_xaxis(_wrap_title)
    figure.update_yaxes(**axis, fixedrange=True)
    if private:
        st.plotly_chart(figure, key=key, theme=None, alt=alt, config=buttons(shown=False))
        return
    with st.container(key=f"{key}-chart", gap="xxsmall"):
        st.plotly_chart(figure, key=key, theme=None, alt=alt, config=buttons())
        picture_buttons(f"{key}-chart", key)


def _wrap_title(axis: go.layout.XAxis) -> None:
    """Divide a title that a phone has no room for in one line."""
    if axis.title.text and len(axis.title.text) > TITLE_LINE:
        axis.title.text = "<br>".join(_even_lines(axis.title.text))


def _even_lines(title: str) -> list[str]:
    """Divide a title into lines of about the same length, as few as fit.

    >>> _even_lines("privacy budget ε (more private ← → less regret)")
    ['privacy budget ε (more', 'private ← → less regret)']
    """
    fewest = len(textwrap.wrap(title, TITLE_LINE))
    widths = range(-(-len(title) // fewest), TITLE_LINE + 1)
    return next(lines for width in widths if len(lines := textwrap.wrap(title, width)) == fewest)


def add_line(
    figure: go.Figure, x: Any, y: Any, name: str, hover: str, *, colour: str, dash: str = "solid", width: float = 2.5,
    symbol: str = "", size: int = 8, **more: Any,
) -> None:  # fmt: skip
    """Add a line whose hover text is `hover` with its name beside it; with a `symbol`, also a mark at each point.

    `more` goes to Plotly's trace.
    """
    marks = {"mode": "lines+markers", "marker": {"symbol": symbol, "size": size}} if symbol else {"mode": "lines"}
    line = {"color": colour, "dash": dash, "width": width}
    figure.add_scatter(x=x, y=y, name=name, line=line, hovertemplate=f"{hover}<extra>{name}</extra>", **marks, **more)


def whiskers(rates: Iterable[Rate], **look: Any) -> dict[str, Any]:
    """Return the error bars of rates with their 95 % intervals."""
    ends = [(rate.share, *rate.interval()) for rate in rates]
    above, below = [high - share for share, _, high in ends], [share - low for share, low, _ in ends]
    return {"array": above, "arrayminus": below, **look}


def hatched(colour: str, shape: str) -> dict[str, Any]:
    """Return the marker of a bar: `colour` under a pattern such as "/" or "x", or without one for ""."""
    pattern = {"shape": shape, "fillmode": "overlay", "fgcolor": tones()["ground"], "size": 6}
    return {"color": colour, "pattern": pattern}


def mark_current(figure: go.Figure, x: float) -> None:
    """Draw a thin dotted vertical line at `x`, the current value."""
    figure.add_vline(x=x, line={"color": tones()["grey"], "width": 1, "dash": "dot"})


class FigureOfDrawing(BaseFigure):  # type: ignore[misc]  # Plotly has no types
    """A figure from an unchanged drawing of `dpengine.charts`, since validating it takes Plotly most of a redraw."""

    def __init__(self, drawing: Drawing) -> None:
        self._drawing = drawing

    def to_dict(self) -> dict[str, Any]:
        """Return the drawing."""
        return self._drawing._asdict()


def epsilon_axis(figure: go.Figure, *now: float, right: str = "", span: Sequence[float] | None = None) -> None:
    """Make the x axis a logarithmic one for ε, with lines at `now`.

    `right` says what a larger ε gives, by default more exactness. `span` holds the ends of the axis as powers of ten;
    without it, they follow from the data.
    """
    figure.update_xaxes(
        title_text=_("privacy budget ε (more private ← → {right})", right=right or _("more exact")),
        type="log",
        tickvals=list(TICKS),
        tickformat="~g",
        range=span,
    )
    for epsilon in now:
        mark_current(figure, epsilon)
