"""A heatmap and lines as plain HTML, which a browser shows without loading anything else.

They show the numbers of the same drawings in the same colours. The grid is a table, which needs no description. Their
CSS classes begin with "look-"; the page must supply the style sheet.
"""

from __future__ import annotations

import base64
import math
from collections.abc import Iterable, Mapping, Sequence
from html import unescape
from typing import Any

from markupsafe import Markup

from dpengine.array_types import Columns
from dpengine.charts import figures
from dpengine.charts.cells import Cells, CellsOfTable
from dpengine.charts.drawing import Drawing
from dpengine.charts.heatmap import SCALE, STOPS, TURN, WRITTEN
from dpengine.charts.style import GRID
from dpengine.results.result import Result
from dpengine.translation.catalogue import _, number

__all__ = ["curve", "grid"]

# Lines and points of a drawing as SVG dashes and as classes of the style sheet.
DASHES = {"solid": "none", "dash": "8 5", "dot": "2 4", "dashdot": "8 4 2 4", "longdash": "14 6"}


def grid(result: Result, table: Columns, *, dark: bool) -> Markup:
    """Return the counts of a table of two columns as an HTML table with coloured cells.

    >>> from dpengine import Plan, preview
    >>> columns = [{"name": name, "kind": "yesno", "missing": False} for name in ("smokes", "drinks")]
    >>> plan = Plan(dataset="demo", epsilon=1, columns=columns, tables=[["smokes", "drinks"]])
    >>> grid(preview(plan), ("smokes", "drinks"), dark=False).count("<td style=")
    9
    """
    cells = CellsOfTable(result, table, table, {})
    drawing = figures.release_drawing(result, table, form="heatmap")
    assert isinstance(drawing, Drawing)
    title = drawing.layout["title"]["text"]
    top = max(int(cells.value.max()), 1)
    rows = []
    for row, label in enumerate(cells.labels[0]):
        shown = (_cell(cells, (row, column), top, dark=dark) for column in range(len(cells.labels[1])))
        rows.append(Markup('<tr><th scope="row">{}</th>{}</tr>').format(label, Markup("").join(shown)))
    across = (Markup('<th scope="col">{}</th>').format(label) for label in cells.labels[1])
    head = Markup('<tr><td></td><th scope="colgroup" colspan="{}">{}</th></tr><tr><th scope="col">{}</th>{}</tr>')
    named = head.format(len(cells.labels[1]), cells.headings[1], cells.headings[0], Markup("").join(across))
    legend = Markup('<p class="look-legend"><i class="look-noise"></i> {}</p>').format(_("mostly noise"))
    return Markup('<table class="look-grid"><caption>{}</caption><thead>{}</thead><tbody>{}</tbody></table>{}').format(
        Markup(title.replace("<br>", " ")), named, Markup("").join(rows), legend if cells.noisy.any() else ""
    )  # fmt: skip


def _cell(cells: Cells, at: tuple[int, int], top: int, *, dark: bool) -> Markup:
    count, noisy = int(cells.value[at]), bool(cells.noisy[at])
    stop = round(STOPS * math.sqrt(count / top))
    style = f"background-color: {SCALE[dark][stop][1]}; color: {WRITTEN[dark][stop >= TURN * STOPS]}"
    words = unescape(cells.words(at).replace("<br>", "\n").replace("<b>", "").replace("</b>", ""))
    noise = Markup('<i class="look-noise"></i><span class="look-unseen"> {}</span>').format(_("mostly noise"))
    return Markup('<td style="{}" title="{}">{}{}</td>').format(
        style, words, number(count), noise if noisy else ""
    )  # fmt: skip


def curve(drawing: Drawing, alt: str) -> Markup:
    """Return a drawing of lines on logarithmic axes as HTML, with `alt` as its description.

    >>> from dpengine import Plan
    >>> from dpengine.charts.error_curve import curve_drawing
    >>> plan = Plan(dataset="demo", epsilon=1, columns=[{"name": "smokes", "kind": "yesno"}], tables=[["smokes"]])
    >>> curve(curve_drawing(plan), "Errors").count("look-point")
    2
    """
    lines = [trace for trace in drawing.data if trace["mode"] == "lines"]
    points = [trace for trace in drawing.data if trace["mode"] == "markers"]
    layout = drawing.layout
    left, right = _ends(line["x"] for line in lines)
    low, high = _ends(line["y"] for line in lines)
    low, high = math.floor(low), math.ceil(high)

    def place(x: float, y: float) -> tuple[float, float]:
        across, down = (math.log10(x) - left) / (right - left), (high - math.log10(y)) / (high - low)
        return round(100 * across, 2), round(100 * down, 2)

    ticks = layout["xaxis"]["tickvals"]
    decades = [10.0**power for power in range(low, high + 1)]
    inner = [_path(f"M{place(x, decades[0])[0]},0V100", GRID, "solid", 1) for x in ticks]
    inner += [_path(f"M0,{place(ticks[0], y)[1]}H100", GRID, "solid", 1) for y in decades]
    for line in lines:
        places = (place(x, y) for x, y in zip(line["x"], line["y"], strict=True))
        inner.append(_path("M" + "L".join(f"{x},{y}" for x, y in places), line["line"]["color"], line["line"]["dash"]))
    outer = [_text("look-x", f"left: {place(x, decades[0])[0]}%", number(x, "g")) for x in ticks]
    outer += [_text("look-y", f"top: {place(ticks[0], y)[1]}%", number(y, ",g")) for y in decades]
    for point in points:
        x, y = place(point["x"][0], point["y"][0])
        look = f"left: {x}%; top: {y}%; background: {point['marker']['color']}"
        outer.append(_text(f"look-point look-{point['marker']['symbol']}", look, ""))
    whole = Markup(
        '<div class="look-curve" role="img" aria-label="{}"><p>{}</p><p class="look-small">{}</p>'
        '<div class="look-plot">{}{}</div>'
        '<p class="look-small">{}</p><p class="look-legend">{}</p></div>'
    )
    title, along, up = (layout[part]["title"] if part else layout["title"] for part in ("", "xaxis", "yaxis"))
    return whole.format(
        alt, Markup(title["text"].replace("<br>", " ")), up["text"], _picture(inner),
        Markup("").join(outer), along["text"], Markup("").join(map(_of_legend, lines)),
    )  # fmt: skip


def _of_legend(line: Mapping[str, Any]) -> Markup:
    """Return the name of a line beside a piece of it."""
    sample = _path("M0,50H100", line["line"]["color"], line["line"]["dash"])
    return Markup("<span>{} {}</span>").format(_picture([sample]), Markup(line["name"]))


def _path(path: str, colour: str, dash: str, width: int = 2) -> str:
    return (
        f'<path d="{path}" fill="none" stroke="{colour}" stroke-width="{width}" stroke-dasharray="{DASHES[dash]}" '
        'vector-effect="non-scaling-stroke"/>'
    )


def _picture(paths: Sequence[str]) -> Markup:
    """Return a picture of paths in a stretched square; Streamlit does not accept plain SVG."""
    start = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 100 100" preserveAspectRatio="none">'
    encoded = base64.b64encode("".join([start, *paths, "</svg>"]).encode()).decode()
    return Markup('<img alt="" src="data:image/svg+xml;base64,{}">').format(encoded)


def _ends(rows: Iterable[Sequence[float]]) -> tuple[float, float]:
    values = [value for row in rows for value in row]
    return math.log10(min(values)), math.log10(max(values))


def _text(kind: str, look: str, words: Any) -> Markup:
    return Markup('<span class="{}" style="{}">{}</span>').format(kind, look, words)
