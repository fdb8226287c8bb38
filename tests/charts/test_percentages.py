"""Percentages as bars: every number in its place, hatched where noise explains it, and never more than can be read."""

from __future__ import annotations

import io

import numpy as np
import openpyxl
import pandas as pd
import pytest

import dpengine as dpe
from dpengine.bundle.percentages_workbook import percentages_workbook
from dpengine.bundle.workbook import MAX_CELLS
from dpengine.charts.percentages import MAX_BARS, MAX_ROWS, PercentCells, group_in_words, percentages_drawing
from dpengine.percentages import percentages_of
from dpengine.translation.catalogue import speaking

TOWN = dpe.Category(name="town", values=["A&B", "C", "D"], words={"C": "Köln"}, label="Town", missing=False)
ILL = dpe.YesNo(name="ill", missing=True)
PLAN = dpe.Plan(dataset="d", epsilon=1, columns=[TOWN, ILL], tables=[["town", "ill"], ["ill"]])


def cells_of(table: tuple[str, ...], *within: str, missing: bool = True) -> tuple[PercentCells, pd.DataFrame]:
    frame = percentages_of(dpe.preview(PLAN), table, within=within, missing=missing)
    return PercentCells(PLAN, table, within, frame, digits=1), frame


@pytest.mark.parametrize("missing", [True, False])
@pytest.mark.parametrize("within", [(), ("town",), ("ill",)])
def test_each_bar_is_the_percentage_of_its_cell_and_group(within: tuple[str, ...], missing: bool) -> None:
    cells, frame = cells_of(("town", "ill"), *within, missing=missing)
    of_groups = within[0] if within else "town" if frame["town"].nunique() <= frame["ill"].nunique() else "ill"
    rows = "ill" if of_groups == "town" else "town"
    wide = frame.pivot(index=rows, columns=of_groups, values="percent")
    order = [list(dict.fromkeys(frame[name])) for name in (rows, of_groups)]
    np.testing.assert_array_equal(cells.value, wide.loc[order[0], order[1]])
    drawn = percentages_drawing(cells, PLAN)
    assert drawn is not None
    bars = [trace for trace in drawn[0].data if trace["type"] == "bar" and trace["x"][0] is not None]
    assert sorted(value for trace in bars for value in trace["x"]) == pytest.approx(sorted(frame["percent"]))
    widths = [sum(map(sum, (trace["error_x"]["array"], trace["error_x"]["arrayminus"]))) for trace in bars]
    assert sum(widths) == pytest.approx((frame["high"] - frame["low"]).sum())


def test_what_noise_explains_is_hatched_and_hidden_groups_do_not_stretch_the_axis() -> None:
    numbers = {"count": [5, 90, 0], "percent": [5.0, 90.0, np.nan], "low": [0, 80, 0], "high": [20.0, 95, 100]}
    frame = pd.DataFrame({"ill": list(ILL.labels)[:3], **numbers})
    cells = PercentCells(PLAN, ("ill",), (), frame, digits=0)
    assert cells.noisy.tolist() == [True, False, True]
    assert cells.axis_range == (0, pytest.approx(95 * 1.04))
    wide = PercentCells(PLAN, ("ill",), (), frame.assign(low=[0, 60, 0], high=[20, 100, 100]), digits=0)
    assert wide.axis_range == (0, pytest.approx(90 * 1.04)), "a bar is whole, its interval is too wide"
    drawn = percentages_drawing(cells, PLAN)
    assert drawn is not None
    assert {trace["marker"]["pattern"]["shape"] for trace in drawn[0].data} == {"", "/"}
    assert "2 groups are mostly noise" in drawn[1]
    assert "null" in drawn[0].to_json(), "a group whose count is 0 has no bar"


def test_labels_are_those_of_readers_and_hold_no_markup() -> None:
    drawn = percentages_drawing(cells_of(("town", "ill"), "town")[0], PLAN)
    assert drawn is not None
    titles = {each["text"] for each in drawn[0].layout["annotations"]}
    assert titles == {"A&amp;B", "Köln", "D", "(other)"}
    assert drawn[1].startswith("Town × ill: percent of each group of Town. ")
    with speaking("de"):
        again = percentages_drawing(cells_of(("town", "ill"), "town")[0], PLAN)
    assert again is not None
    assert "Prozent, bezogen auf jede Gruppe nach Town" in again[1]


def test_more_bars_than_can_be_read_are_not_drawn() -> None:
    for many in (MAX_ROWS, MAX_BARS):
        column = dpe.Category(name="town", values=[f"t{k}" for k in range(many + 1)], other=False, missing=False)
        plan = dpe.Plan(dataset="d", epsilon=1, columns=[column], tables=[["town"]])
        frame = percentages_of(dpe.preview(plan), ["town"])
        assert percentages_drawing(PercentCells(plan, ("town",), (), frame, digits=1), plan) is None


def test_a_workbook_holds_the_percentages_in_full_and_says_what_they_are() -> None:
    cells, frame = cells_of(("town", "ill"), "town")
    frame.loc[0, ["percent"]] = np.nan
    content = percentages_workbook(PLAN, ("town", "ill"), ("town",), frame, "42", digits=1)
    book = openpyxl.load_workbook(io.BytesIO(content))
    assert book.sheetnames == ["Read this first", "Percentages"]
    notes = {row[0]: row[1] for row in book["Read this first"].iter_rows(values_only=True) if row[0]}
    assert notes["Percentages"] == "each group of Town"
    assert "95 times in 100" in notes["Intervals"]
    assert notes["Release"] == "42"
    head, *rows = book["Percentages"].iter_rows(values_only=True)
    assert head == ("Town", "ill", "count", "percent", "low", "high")
    assert rows[0][3] is None
    assert [row[4] for row in rows] == pytest.approx((frame["low"] / 100).tolist())
    assert book["Percentages"]["D3"].number_format == "0.0 %"
    assert {row[0] for row in rows} == {"A&B", "Köln", "D", "(other)"}
    assert content == percentages_workbook(PLAN, ("town", "ill"), ("town",), frame, "42", digits=1)
    assert cells.text(5.25).endswith(" %")


def test_a_workbook_of_more_percentages_than_a_sheet_can_hold_is_refused() -> None:
    _cells, frame = cells_of(("town", "ill"), "town")
    many = frame.loc[np.zeros(MAX_CELLS + 1, dtype=int)]
    with pytest.raises(dpe.ReleaseError, match="too many for a workbook"):
        percentages_workbook(PLAN, ("town", "ill"), ("town",), many, "42", digits=1)


def test_percentages_of_a_table_of_persons_are_of_persons_beside_tables_of_rows() -> None:
    """They were said to be of all visits."""
    plan = dpe.Plan(
        dataset="d", epsilon=1, columns=[{"name": "sex", "kind": "yesno"}, {"name": "ill", "kind": "yesno"}],
        tables=[{"columns": ["sex"], "distinct": True}, ["ill"]], unit={"id": "who", "rows": 3},
        nouns={"rows": "visits", "people": "patients"},
    )  # fmt: skip
    assert group_in_words(plan, ("sex",), ()) == "all patients"
    assert group_in_words(plan, ("ill",), ()) == "all kept visits"
