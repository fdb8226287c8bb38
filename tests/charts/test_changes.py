"""A chart of changes shows the largest beside their noise, and tells apart what is beyond it without colours."""

from __future__ import annotations

import pandas as pd
import pytest

import dpengine as dpe
from dpengine.charts.changes import MAX_ROWS, changes_drawing
from dpengine.translation.catalogue import speaking

TOWN = dpe.Category(name="town", values=["A&B", *(f"t{k}" for k in range(50))], words={"t1": "Köln"}, label="Town")
ILL = dpe.YesNo(name="ill", other=False, missing=False)
PLAN = dpe.Plan(dataset="d", epsilon=1, columns=[TOWN, ILL], tables=[["town", "ill"]])
TABLE = ("town", "ill")


def changes(*rows: tuple[str, float, float, float]) -> pd.DataFrame:
    frame = pd.DataFrame([(town, "yes", *numbers) for town, *numbers in rows],
                         columns=["town", "ill", "change", "low", "high"])  # fmt: skip
    return frame.assign(beyond_noise=(frame["low"] > 0) | (frame["high"] < 0))


FEW = changes(("t1", 50, 40, 60), ("A&B", -20, -30, -10), ("t2", 3, -900, 900))


@pytest.mark.parametrize("dark", [False, True])
def test_each_dot_is_a_change_in_the_given_order_and_hollow_within_the_noise(dark: bool) -> None:
    drawing, alt = changes_drawing(PLAN, TABLE, FEW, "count", digits=0, dark=dark)
    beyond, within, explained = drawing.data
    assert [*beyond["x"]] == [50, -20]
    assert [*beyond["y"]] == ["Köln, yes", "A&amp;B, yes"]
    assert [*beyond["error_x"]["array"]] == [*beyond["error_x"]["arrayminus"]] == [10, 10]
    assert [*within["x"]] == [3]
    symbols = [each["marker"]["symbol"] for each in (beyond, within, explained)]
    assert symbols == ["circle", "circle-open", "circle-open"]
    assert explained["name"] == "within the noise; interval may be cut"
    assert drawing.layout["yaxis"]["categoryarray"] == ["Köln, yes", "A&amp;B, yes", "t2, yes"]
    assert drawing.layout["xaxis"]["zeroline"]
    low, high = drawing.layout["xaxis"]["range"]
    assert -40 < low < -30 < 60 < high < 70, "an interval that says nothing does not hide the others"
    assert alt == (
        "Town × ill: change in count. 2 changes are beyond the noise. "
        "Köln, yes: +50 (+40 to +60). A&B, yes: -20 (-30 to -10)."
    )


def test_no_more_rows_are_drawn_than_can_be_read_and_the_title_says_so() -> None:
    many = changes(*((f"t{k}", 1.0, -1.0, 3.0) for k in range(50)))
    drawing, alt = changes_drawing(PLAN, TABLE, many, "count", digits=1)
    assert len(drawing.layout["yaxis"]["categoryarray"]) == MAX_ROWS
    assert f"the first {MAX_ROWS} of 50" in drawing.layout["title"]["text"].replace("<br>", " ")
    assert alt.endswith("0 changes are beyond the noise."), "what may be nothing is not named"
    low, high = drawing.layout["xaxis"]["range"]
    assert low < -1 < 3 < high


def test_it_speaks_german() -> None:
    with speaking("de"):
        drawing, alt = changes_drawing(PLAN, TABLE, FEW, "Anzahl", digits=1)
    assert "Änderung: Anzahl" in drawing.layout["title"]["text"]
    assert "Köln, ja: +50,0 (+40,0 bis +60,0)." in alt
