"""The style of every figure: colours, labels that fit, axes, titles.

The accent colour stands for published numbers, grey for the owner's own. Backgrounds are transparent, so that a figure
fits a light or a dark page. Colours come in pairs: `False` for a light page, `True` for a dark one.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from itertools import count
from typing import TYPE_CHECKING, Any

from dpengine.charts.drawing import Drawing
from dpengine.translation.catalogue import _, localised

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

__all__ = [
    "ACCENT", "CONFIG", "DASHES", "GREY", "GRID", "INK", "NUMBERS_IN_FULL", "SAVED_WIDTH", "SERIES", "SYMBOLS",
    "apply_style", "category_axis", "crowded", "cut", "escape", "join_names", "legend_entry", "line_name", "look",
    "middle", "noise_pattern", "room_below", "short_name", "shorten", "styled", "upright_name", "whiskers",
]  # fmt: skip

SAVED_WIDTH = 1000
# No button sends a figure to a server.
CONFIG = {
    "displaylogo": False,
    "showSendToCloud": False,
    "plotlyServerURL": "",
    # A saved picture has the same width on every screen, so that numbers too small on a screen are readable in it.
    "toImageButtonOptions": {"format": "svg", "filename": "private-release", "width": SAVED_WIDTH},
}
MAX_LABEL = 24
TITLE_LINE = 42  # letters that fit on a phone
LETTER, MIN_LETTERS = 8, 8  # pixels of a letter in the title of an axis, and its shortest line
ACCENT = {False: "#0b6e75", True: "#4fc3c7"}
GREY = {False: "#7b8789", True: "#97a3a5"}
GRID = "rgba(128,140,142,0.25)"
INK = {False: "#1c2526", True: "#e8eeee"}
# Lines of one chart, which also differ in lightness, dash and symbol.
SERIES = {False: ("#0b6e75", "#a85a00", "#6a3d9a", "#33475b"), True: ("#4fc3c7", "#e0a458", "#c6a5ea", "#b9c7d6")}
DASHES = ("solid", "dash", "dot", "dashdot", "longdash")
SYMBOLS = ("circle", "square", "diamond", "triangle-up", "x")
HOURS_OF_A_DAY = 24
HOUR = re.compile(r"\d\d:00–\d\d:59")  # the label of an hour
NUMBERS_IN_FULL = {"exponentformat": "none", "separatethousands": True}  # 20,000 on an axis as in a table, not 20k


def shorten(labels: Iterable[str]) -> list[str]:
    """Shorten labels for an axis: cut long ones in the middle, and keep all of them different.

    >>> shorten(["Hospital of the Holy Ghost, ward for children", "Home"])
    ['Hospital of…or children', 'Home']
    >>> shorten([f"A very long name with the number {k}, the same at both its ends" for k in (1, 2)])
    ['A very …1, the s…ts ends', 'A very …2, the s…ts ends']
    """
    labels = list(labels)
    short = [middle(label, MAX_LABEL) for label in labels]
    alike: dict[str, list[int]] = {}
    for k, label in enumerate(short):
        if label != labels[k]:
            alike.setdefault(label, []).append(k)
    for group in alike.values():
        if len(group) > 1:  # keep what follows their first difference
            side_by_side = enumerate(zip(*(labels[k] for k in group), strict=False))
            same = next((k for k, letters in side_by_side if len(set(letters)) > 1), 0)
            for k in group:
                short[k] = f"{labels[k][:7]}…{middle(labels[k][same:], MAX_LABEL - 8)}"
    seen: set[str] = set()
    for k, label in enumerate(short):
        free = (f"{label} ({number})" for number in count(2))
        short[k] = label if label not in seen else next(other for other in free if other not in seen)
        seen.add(short[k])
    return short


def middle(text: str, most: int) -> str:
    """Return `text` with at most `most` letters, cut in the middle."""
    half = (most - 1) // 2
    return text if len(text) <= most else f"{text[: most - 1 - half].rstrip()}…{text[-half:].lstrip()}"


def escape(text: str) -> str:
    """Escape the markup that figures understand, so that a label is shown as written.

    >>> escape("R&D <b>")
    'R&amp;D &lt;b&gt;'
    """
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def cut(text: str) -> str:
    """Return `text` as short as a label."""
    return shorten([text])[0]


def short_name(text: str) -> str:
    """Return `text` as a figure shows it: short, and without markup.

    >>> short_name("<b>")
    '&lt;b&gt;'
    """
    return escape(cut(text))


def upright_name(text: str, room: int) -> str:
    """Return `text` as it fits beside an axis of `room` pixels, where it is read upwards: in lines, without markup.

    >>> upright_name("Satisfied with buses", 100), upright_name("Sex", 100)
    ('Satisfied<br>with buses', 'Sex')
    """
    lines = textwrap.wrap(cut(text), max(MIN_LETTERS, room // LETTER), break_on_hyphens=False)
    return "<br>".join(map(escape, lines))


def line_name(text: str) -> str:
    """Return `text` as it fits below or beside a figure: a line of letters, without markup.

    >>> line_name("Mittelwert von Notendurchschnitt")
    'Mittelwert von Notendurchschnitt'
    """
    return escape(middle(text, TITLE_LINE))


def room_below(labels: Sequence[str]) -> int:
    """Return the height in pixels that labels need below a figure; many or long ones are rotated."""
    labels = [_beginning(label) for label in labels]
    return 6 * max(map(len, labels)) if crowded(labels) else 0


def crowded(labels: Sequence[str]) -> bool:
    """Whether labels have no room beside each other."""
    return max(map(len, labels)) * len(labels) > 40


def join_names(names: Iterable[str]) -> str:
    """Join names as in a sentence.

    >>> join_names(["age"]), join_names(["age", "sex", "region"])
    ('age', 'age, sex and region')
    """
    *others, last = names
    return _("{names} and {last}", names=", ".join(others), last=last) if others else last


def category_axis(labels: Sequence[str], *, downwards: bool = False, hours: int = 3) -> dict[str, object]:
    """Return an axis of `labels`, shortened and escaped, in declared order. Browsers omit labels without room.

    Across, where hours of the day have no room, every third one is named, or as `hours` says, by its beginning.

    >>> axis = category_axis([f"{hour:02}:00–{hour:02}:59" for hour in range(24)] + ["(missing)"], hours=12)
    >>> axis["ticktext"]
    ['00:00', '12:00', '(missing)']
    """
    ends = [-0.5, len(labels) - 0.5]  # marks would widen an axis whose ends are found automatically
    named = {} if downwards else _named_hours(labels, hours)
    return named | {
        "type": "category",
        "categoryorder": "array",
        "categoryarray": list(labels),
        "range": ends[::-1] if downwards else ends,
        "showgrid": False,
        "zeroline": False,
        "automargin": True,
    }


def _named_hours(labels: Sequence[str], every: int) -> dict[str, object]:
    """Return which labels an axis of the hours of a day names, and how; nothing for any other axis."""
    if sum(map(_is_hour, labels)) != HOURS_OF_A_DAY:
        return {}
    named = [label for k, label in enumerate(labels) if not _is_hour(label) or k % every == 0]
    # *Other* and *missing* are next to each other, and would overlap at an angle between these.
    return {"tickvals": named, "ticktext": [_beginning(label) for label in named], "autotickangles": [0, 90]}


def _is_hour(label: str) -> bool:
    return bool(HOUR.fullmatch(label))


def _beginning(label: str) -> str:
    """Return the beginning of an hour, or any other label as it is."""
    return label[:5] if _is_hour(label) else label


def whiskers(value: Any, low: Any, high: Any, colour: str, *, thickness: float = 1.2, width: int = 4) -> dict[str, Any]:
    """Return the error bars of values from the ends of their intervals."""
    return {
        "type": "data",
        "symmetric": False,
        "array": high - value,
        "arrayminus": value - low,
        "color": colour,
        "thickness": thickness,
        "width": width,
    }


def legend_entry(name: str, marker: dict[str, Any]) -> dict[str, Any]:
    """Return a trace without points, which explains a mark in the legend."""
    nowhere = {"type": "scatter", "x": [None], "y": [None], "mode": "markers"}
    return {**nowhere, "marker": marker, "name": name, "hoverinfo": "skip"}


def noise_pattern(noisy: bool, dark: bool) -> dict[str, Any]:
    """Return the hatching of bars that are mostly noise; none for others."""
    return {"shape": "/" if noisy else "", "fgcolor": INK[dark], "size": 6, "solidity": 0.2}


def look(dark: bool) -> dict[str, Any]:
    """Return the layout shared by all figures on a light or a dark page."""
    separators = localised(".,")  # of decimals and of thousands
    return {
        **({"separators": separators} if separators != ".," else {}),
        "template": {},  # the process's own, such as Streamlit's, would change the bytes of a release made on a page
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "font": {"color": INK[dark], "size": 12, "family": "Source Sans, system-ui, sans-serif"},
        "hoverlabel": {"align": "left"},
        "modebar": {
            "bgcolor": "rgba(0,0,0,0)",
            "color": GREY[dark],
            "activecolor": ACCENT[dark],
            "remove": ["select2d", "lasso2d", "autoScale2d", "zoomIn2d", "zoomOut2d"],
        },
    }


def apply_style(figure: Figure, title: str, dark: bool) -> Figure:
    """Give `figure` its title and the colours of a light or a dark page, and return it."""
    # All at once: one by one takes several times as long.
    figure.layout = _styled(figure.layout.to_plotly_json(), title, dark)
    return figure


def styled(drawing: Drawing, title: str, dark: bool) -> Drawing:
    """Return `drawing` with its title and the colours of a light or a dark page."""
    return drawing._replace(layout=_styled(drawing.layout, title, dark))


def _styled(given: Mapping[str, Any], title: str, dark: bool) -> dict[str, Any]:
    """Return a layout with a title and the colours of a light or a dark page."""
    layout = dict(given)
    lines = textwrap.wrap(title, TITLE_LINE, break_on_hyphens=False, break_long_words=False)
    top = 44 + 19 * (len(lines) - 1) + 22 * bool(layout.get("annotations"))
    defaults: dict[str, Any] = {
        "title": {
            "text": "<br>".join(map(escape, lines)),
            "font": {"size": 15},
            "x": 0,
            "xanchor": "left",
            "yref": "container",
            "y": 1,
            "yanchor": "top",
            "pad": {"t": 12},
        },
        "margin": {"l": 10, "r": 10, "t": top, "b": 10},
        "legend": {"orientation": "h", "yref": "container", "y": 0, "yanchor": "bottom", "x": 0},
        **look(dark),
    }
    axis = {"gridcolor": GRID, "linecolor": GRID, "automargin": True, **NUMBERS_IN_FULL}
    for name in {"xaxis", "yaxis", *layout}:
        if name.startswith("xaxis"):
            defaults[name] = axis
        elif name.startswith("yaxis"):
            defaults[name] = axis | {"title": layout.get(name, {}).get("title", {}) | {"standoff": 12}}
    for name, value in defaults.items():
        layout[name] = layout.get(name, {}) | value if isinstance(value, dict) and value else value
    return layout
