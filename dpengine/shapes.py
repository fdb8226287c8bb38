"""Public shapes of regions, for maps: read from GeoJSON, thinned to what a figure can show, and kept as texts.

Only outlines are kept; of a feature's properties, only the one that names it is read. A text is a POLYGON or
MULTIPOLYGON in well-known text (WKT), with counter-clockwise outer rings and clockwise holes.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import Any

from dpengine.translation.catalogue import _, number

__all__ = ["MAX_BYTES", "Ring", "check", "from_geojson", "rings", "together"]

MAX_BYTES = 20_000_000  # of a GeoJSON file
MAX_REGIONS = 500  # that a map draws
MAX_LETTERS = 1_000_000  # of the texts of all regions of a column
MAX_POINTS = 30_000  # that are kept
STEPS = (2000, 1000, 500, 250)  # grid cells along the longer side of a map, as many as `MAX_POINTS` allow

_NUMBER = r"-?\d{1,9}(?:\.\d{1,9})?"
_RING = rf"\({_NUMBER} {_NUMBER}(?:, {_NUMBER} {_NUMBER}){{3,}}\)"
_POLYGON = rf"\({_RING}(?:, {_RING})*\)"
_TEXT = re.compile(rf"POLYGON {_POLYGON}|MULTIPOLYGON \({_POLYGON}(?:, {_POLYGON})*\)")

Point = tuple[float, float]
Ring = list[Point]
Polygon = list[Ring]


def check(texts: Mapping[str, str]) -> None:
    """Raise ValueError unless these are outlines of regions, few and short enough to draw."""
    if len(texts) > MAX_REGIONS:
        raise ValueError(
            _("these are {texts} shapes; a map draws at most {most}", texts=number(len(texts)), most=MAX_REGIONS)
        )
    if sum(map(len, texts.values())) > MAX_LETTERS:
        raise ValueError(_("these shapes are longer than {most} characters, the limit here", most=number(MAX_LETTERS)))
    for value, text in texts.items():
        if not _is_outline(text):
            raise ValueError(
                _("the shape of {value!r} is no POLYGON or MULTIPOLYGON in well-known text (WKT)", value=value)
            )


@lru_cache(maxsize=10_000)  # a page reads the same plan again at every step
def _is_outline(text: str) -> bool:
    return _TEXT.fullmatch(text) is not None


def rings(text: str) -> list[Ring]:
    """Return the closed rings of an outline.

    >>> rings("POLYGON ((0 0, 2 0, 2 1, 0 0))")
    [[(0.0, 0.0), (2.0, 0.0), (2.0, 1.0), (0.0, 0.0)]]
    """
    closed = []
    for ring in re.findall(r"\(([^()]+)\)", text):
        points = (point.split() for point in ring.split(","))
        closed.append([(float(x), float(y)) for x, y in points])
    return closed


def together(texts: Iterable[str]) -> str:
    """Return the joint outline of some areas: their borders, except those between two of them.

    Neighbours that were thinned on one grid share the points of their border; otherwise the border stays. Rings keep
    their direction, so that holes stay holes.

    >>> together(["POLYGON ((0 0, 1 0, 1 1, 0 1, 0 0))", "POLYGON ((1 0, 2 0, 2 1, 1 1, 1 0))"])
    'POLYGON ((0 0, 1 0, 2 0, 2 1, 1 1, 0 1, 0 0))'
    """
    return _outline(tuple(texts))


@lru_cache(maxsize=2_000)  # a page reads the same plan again at every step
def _outline(texts: tuple[str, ...]) -> str:
    steps: dict[tuple[str, str], int] = {}
    for text in texts:
        for ring in re.findall(r"\(([^()]+)\)", text):
            for step in pairwise(ring.split(", ")):
                if steps.get(step[::-1]):  # the way back along the same border
                    steps[step[::-1]] -= 1
                else:
                    steps[step] = steps.get(step, 0) + 1
    following: dict[str, list[str]] = {}
    for (start, end), times in steps.items():
        following.setdefault(start, []).extend([end] * times)
    closed = []
    while start := next((point for point, ends in following.items() if ends), ""):
        ring = [start]
        while ends := following.get(ring[-1]):
            ring.append(ends.pop())
        if len(ring) >= 4:
            closed.append("(" + ", ".join(ring) + ")")
    if len(closed) < 2:
        return f"POLYGON ({closed[0]})" if closed else ""
    return f"MULTIPOLYGON ({', '.join(f'({ring})' for ring in closed)})"


def from_geojson(text: str, values: Sequence[str], words: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return the outlines of the features that are named like one of `values`, or by its words.

    `words` maps the names of values to the values.

    The name of a feature is its id, or the property that fits the most values. Raises ValueError if this is no GeoJSON,
    or if no feature fits.
    """
    features = _features(text)
    named = _named(features, values, words or {})
    if not named:
        raise ValueError(_("no feature of this GeoJSON has an id or a property that is one of the column's values"))
    if len(named) > MAX_REGIONS:
        raise ValueError(
            _("{named} values have shapes; a map draws at most {most}", named=number(len(named)), most=MAX_REGIONS)
        )
    areas = {value: list(_polygons(geometry)) for value, geometry in named.items()}
    if not any(areas.values()):
        raise ValueError(_("the features of these values hold no polygons"))
    texts = _with_few_points(_across_the_date_line(areas))
    outlines = {value: each for value, each in texts.items() if each}
    check(outlines)
    return outlines


def _features(text: str) -> list[dict[str, Any]]:
    """Return the features of a GeoJSON text. Raises ValueError."""
    if len(text) > MAX_BYTES:
        raise ValueError(_("this GeoJSON is larger than {most} MB", most=MAX_BYTES // 10**6))
    try:
        content = json.loads(text)
    except json.JSONDecodeError as error:
        raise ValueError(_("line {line}: this is not readable JSON", line=error.lineno)) from None
    except (ValueError, RecursionError):
        raise ValueError(_("this JSON is nested too deeply, or holds too long a number")) from None
    listed = content.get("features") if isinstance(content, dict) else None
    if not isinstance(listed, list):
        raise ValueError(_("this is not GeoJSON with a list of features"))
    return [one for one in listed if isinstance(one, dict) and isinstance(one.get("geometry"), dict)]


def _named(
    features: Sequence[dict[str, Any]], values: Sequence[str], words: Mapping[str, str]
) -> dict[str, dict[str, Any]]:
    """Return the geometry of each value that names a feature."""
    known = {value: value for value in values}
    known = {word: value for word, value in words.items() if value in known} | known
    geometries: dict[object, dict[str, dict[str, Any]]] = {}
    for feature in features:
        properties = feature.get("properties")
        names = {("id",): feature.get("id")} | (properties if isinstance(properties, dict) else {})
        for key, name in names.items():
            called = str(name) if isinstance(name, str | int) and not isinstance(name, bool) else ""
            if called in known:
                geometries.setdefault(key, {}).setdefault(known[called], feature["geometry"])
    return max(geometries.values(), key=len, default={})


def _polygons(geometry: Mapping[str, Any]) -> Iterator[Polygon]:
    """Yield the polygons of a geometry; other kinds have none. Raises ValueError for an invalid polygon."""
    coordinates = geometry.get("coordinates")
    shape = geometry.get("type")
    listed: Any = [coordinates] if shape == "Polygon" else coordinates if shape == "MultiPolygon" else []
    try:
        for polygon in listed:
            yield [[_point(point) for point in ring] for ring in polygon]
    except (TypeError, IndexError, KeyError):
        raise ValueError(_("the coordinates of a feature are no polygon")) from None


def _point(point: Any) -> Point:
    x, y = point[0], point[1]
    if not all(isinstance(part, int | float) and math.isfinite(part) and abs(part) < 1e9 for part in (x, y)):
        raise ValueError(_("a coordinate of a feature is no number"))
    return float(x), float(y)


def _across_the_date_line(areas: dict[str, list[Polygon]]) -> dict[str, list[Polygon]]:
    """Move areas west of Greenwich to the far east if that makes the map narrower, as for Fiji or Alaska."""
    east = [x for area in areas.values() for polygon in area for ring in polygon for x, _ in ring]
    moved = [x % 360 for x in east]
    if max(map(abs, east)) > 180 or max(moved) - min(moved) >= max(east) - min(east):
        return areas
    return {
        value: [[[(x % 360, y) for x, y in ring] for ring in polygon] for polygon in area]
        for value, area in areas.items()
    }


def _with_few_points(areas: Mapping[str, list[Polygon]]) -> dict[str, str]:
    """Return areas as texts, on the finest grid on which they have few enough points, or else on the coarsest."""
    points = [point for area in areas.values() for polygon in area for ring in polygon for point in ring]
    width = max(max(end) - min(end) for end in zip(*points, strict=True)) or 1.0
    for steps in STEPS:
        texts = {value: _written(area, width / steps) for value, area in areas.items()}
        if sum(each.count(",") for each in texts.values()) <= MAX_POINTS:
            break
    return texts


def _written(area: Iterable[Polygon], step: float) -> str:
    """Return an area as text, with its points rounded to a grid of this step; parts that vanish are left out."""
    digits = max(0, math.ceil(-math.log10(step)))
    polygons = []
    for polygon in area:
        outer, *holes = [_thinned(ring, step) for ring in polygon] or [[]]
        if len(outer) < 4:
            continue
        turned = [_turned(outer, 1), *(_turned(hole, -1) for hole in holes if len(hole) >= 4)]
        texts = (", ".join(f"{_number(x, digits)} {_number(y, digits)}" for x, y in ring) for ring in turned)
        polygons.append("(" + ", ".join(f"({each})" for each in texts) + ")")
    if len(polygons) < 2:
        return f"POLYGON {polygons[0]}" if polygons else ""
    return f"MULTIPOLYGON ({', '.join(polygons)})"


def _thinned(ring: Ring, step: float) -> Ring:
    """Return a closed ring on a grid, without points that repeat; neighbours stay neighbours there."""
    thin: Ring = []
    for x, y in ring:
        point = round(x / step) * step, round(y / step) * step
        if not thin or point != thin[-1]:
            thin.append(point)
    if thin and thin[0] != thin[-1]:
        thin.append(thin[0])
    return thin


def _turned(ring: Ring, direction: int) -> Ring:
    """Return a ring that runs counter-clockwise for direction 1, and clockwise for −1."""
    twice = sum(x1 * y2 - x2 * y1 for (x1, y1), (x2, y2) in pairwise(ring))
    return ring if twice * direction >= 0 else ring[::-1]


def _number(value: float, digits: int) -> str:
    text = f"{value:.{digits}f}"
    text = text.rstrip("0").rstrip(".") if "." in text else text
    return "0" if text == "-0" else text
