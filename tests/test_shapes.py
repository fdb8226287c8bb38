"""Shapes come from a file of a stranger: only outlines of declared values are kept, few enough to draw."""

from __future__ import annotations

import json
import math
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from dpengine import Plan, PlanError, shapes
from dpengine.spec import codebook
from dpengine.spec.domain import Category


def collection(*features: dict[str, Any]) -> str:
    return json.dumps({"type": "FeatureCollection", "features": list(features)})


def feature(name: str, geometry: dict[str, Any] | None = None, **more: Any) -> dict[str, Any]:
    plain = {"type": "Polygon", "coordinates": [[[0, 0], [0, 2], [2, 2], [2, 0], [0, 0]]]}
    return {"type": "Feature", "properties": {"name": name, "people": 5}, "geometry": geometry or plain} | more


def circle(x: float, points: int) -> dict[str, Any]:
    turns = [2 * math.pi * k / points for k in range(points + 1)]
    return {"type": "Polygon", "coordinates": [[[x + math.cos(turn), math.sin(turn)] for turn in turns]]}


def area(ring: list[tuple[float, float]]) -> float:
    return sum(a * d - b * c for (a, b), (c, d) in pairwise(ring)) / 2


def test_features_are_found_by_id_or_by_the_property_that_fits_best() -> None:
    text = collection(feature("Nord", id="N"), feature("Süd", id="S"), feature("Sea", id="X"))
    assert set(shapes.from_geojson(text, ["N", "S"])) == {"N", "S"}
    assert set(shapes.from_geojson(text, ["Nord", "Süd", "West"])) == {"Nord", "Süd"}
    assert set(shapes.from_geojson(text, ["1", "2"], {"Nord": "1", "Süd": "2"})) == {"1", "2"}
    assert "people" not in str(shapes.from_geojson(text, ["N"]))


def test_outlines_turn_against_the_clock_and_holes_with_it() -> None:
    hole = {"type": "Polygon", "coordinates": [[[0, 0], [0, 9], [9, 9], [9, 0], [0, 0]],
                                               [[1, 1], [3, 1], [3, 3], [1, 3], [1, 1]]]}  # fmt: skip
    outer, inner = shapes.rings(shapes.from_geojson(collection(feature("a", hole)), ["a"])["a"])
    assert area(outer) == pytest.approx(81, rel=0.02)
    assert area(inner) == pytest.approx(-4, rel=0.02)


def test_shapes_are_thinned_until_they_are_few_and_stay_in_place() -> None:
    names = [f"r{k}" for k in range(300)]
    text = collection(*(feature(name, circle(3 * k, 500)) for k, name in enumerate(names)))
    thinned = shapes.from_geojson(text, names)
    assert sum(each.count(",") for each in thinned.values()) <= shapes.MAX_POINTS
    for place, name in ((0, names[0]), (897, names[-1])):
        (ring,) = shapes.rings(thinned[name])
        assert sum(x for x, _ in ring) / len(ring) == pytest.approx(place, abs=2)


def test_a_country_across_the_date_line_stays_in_one_piece() -> None:
    east, west = ([[[x, 60], [x, 61], [x + 1, 61], [x + 1, 60], [x, 60]]] for x in (178.0, -179.0))
    text = collection(feature("a", {"type": "MultiPolygon", "coordinates": [east, west]}))
    longitudes = [x for ring in shapes.rings(shapes.from_geojson(text, ["a"])["a"]) for x, _ in ring]
    assert max(longitudes) - min(longitudes) == pytest.approx(4, abs=0.1)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{", "not readable JSON"),
        ("[" * 100_000, "nested too deeply"),
        ("[1]", "not GeoJSON with a list of features"),
        ('{"features": [{"geometry": {}}]}', "no feature of this GeoJSON"),
        (collection(feature("b")), "no feature of this GeoJSON"),
        (collection(feature("a", {"type": "Point", "coordinates": [1, 2]})), "hold no polygons"),
        (collection(feature("a", {"type": "Polygon", "coordinates": 3})), "no polygon"),
        (collection(feature("a", {"type": "Polygon", "coordinates": [[["x", 1]]]})), "no number"),
        (collection(feature("a")).replace("[0, 2]", "[NaN, 1]"), "no number"),
        (collection(feature("a")).replace("[0, 2]", "[1e300, 1]"), "no number"),
        (" " * (shapes.MAX_BYTES + 1), "larger than 20 MB"),
    ],
    ids=str.split("brace deep list feature other point coordinates text nan far long"),
)
def test_a_file_that_is_no_map_is_refused_in_plain_words(text: str, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        shapes.from_geojson(text, ["a"])


@pytest.mark.parametrize(
    ("outline", "said"),
    [
        ({"North": "POLYGON ((0 0, 1 0"}, "no POLYGON or MULTIPOLYGON"),
        ({"North": "<svg onload=alert(1)>"}, "no POLYGON or MULTIPOLYGON"),
        ({"West": "POLYGON ((0 0, 1 0, 1 1, 0 0))"}, "'West', which is not among the values"),
        ("shapes.geojson", "not at hand here"),
    ],
)
def test_a_plan_holds_nothing_but_outlines_of_its_values(outline: Any, said: str) -> None:
    column = {"name": "region", "kind": "category", "values": ["North", "South"], "shapes": outline}
    with pytest.raises(PlanError, match=said):
        Plan(dataset="d", epsilon=1, columns=[column], tables=[["region"]])


def test_a_plan_names_a_file_beside_it_and_keeps_the_outlines(tmp_path: Path) -> None:
    (tmp_path / "lands.geojson").write_text(collection(feature("North"), feature("South")), encoding="utf-8")
    column = "{name: region, kind: category, values: [North, South, West], shapes: lands.geojson}"
    text = f"dataset: d\nepsilon: 1\ncolumns:\n  - {column}\ntables: [[region]]\n"
    (tmp_path / "plan.yaml").write_text(text, encoding="utf-8")
    plan = Plan.load(tmp_path / "plan.yaml")
    assert set(plan.column("region").shapes) == {"North", "South"}  # type: ignore[union-attr]
    assert Plan.loads(plan.dumps()) == plan
    without = Plan.loads(text.replace(", shapes: lands.geojson", ""))
    assert without.key == plan.key, "a map changes nothing of what is measured"
    with pytest.raises(PlanError, match="must lie in the folder"):
        Plan.loads(text.replace("lands", "../lands"), folder=tmp_path)


def test_a_codebook_brings_its_shapes() -> None:
    text = "columns:\n  - {name: region, kind: category, values: [North], shapes: lands.geojson}\n"
    book = codebook.loads(text, {"lands.geojson": collection(feature("North"))})
    assert set(book.columns[0].shapes) == {"North"}  # type: ignore[union-attr]
    with pytest.raises(PlanError, match=r"lands\.geojson.*no feature"):
        codebook.loads(text, {"lands.geojson": collection(feature("South"))})
    with pytest.raises(PlanError, match="not at hand"):
        codebook.loads(text)


def test_parts_are_drawn_as_the_group_that_they_make_up() -> None:
    """Three squares in a row and one apart: the borders between them go, the hole of one stays."""
    row = ["POLYGON ((0 0, 1 0, 1 1, 0 1, 0 0))", "POLYGON ((1 0, 2 0, 2 1, 1 1, 1 0))",
           "POLYGON ((2 0, 3 0, 3 1, 2 1, 2 0), (2.2 0.2, 2.2 0.8, 2.8 0.8, 2.8 0.2, 2.2 0.2))"]  # fmt: skip
    apart = "POLYGON ((9 0, 10 0, 10 1, 9 1, 9 0))"
    joined = shapes.together([*row, apart])
    shapes.check({"group": joined})
    found = shapes.rings(joined)
    assert sorted(round(area(ring), 6) for ring in found) == [-0.36, 1, 3]
    assert len(max(found, key=area)) == 9, "the corners of the row, and the first of them again"
    assert shapes.together(row[:1]) == row[0]


def test_a_coarser_level_has_the_shapes_of_its_parts_if_all_of_them_have_one() -> None:
    square = "POLYGON (({x} 0, {y} 0, {y} 1, {x} 1, {x} 0))"
    outlined = {name: square.format(x=k, y=k + 1) for k, name in enumerate(("Kern", "Napa", "Hays"))}
    county = {"name": "county", "kind": "category", "values": {"CA": ["Kern", "Napa"], "TX": ["Hays", "Travis"]},
              "levels": ["state", "county"], "shapes": outlined}  # fmt: skip
    plan = Plan(dataset="d", epsilon=1, columns=[county], tables=[["county"], ["county@state"]])
    state = plan.column("county@state")
    assert isinstance(state, Category)
    assert set(state.shapes) == {"CA"}, "of TX one part has no shape"
    assert area(shapes.rings(state.shapes["CA"])[0]) == 2
    assert plan.key == plan.model_copy(update={"columns": (plan.columns[0].model_copy(update={"shapes": {}}),)}).key
