"""The grid of columns in a browser: typed by keyboard, pasted from a spreadsheet, confirmed by one click."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import expect

from dpengine import Plan
from tests.browser.actions import BUY, press, type_into_grid, upload
from tests.browser.conftest import NewPage

COLUMNS = ["age", "region", "income", "smoker", "visit"]
NAME, KIND, CELLS = range(3)  # from left to right: the name stays in sight


# By day: tests/pages/publish/test_grid.py, with what a browser sends of a grid.
@pytest.mark.nightly
@pytest.mark.parametrize(("width", "height", "dark"), [(1280, 800, False), (390, 844, True)])
def test_a_table_is_declared_by_keyboard_and_paste(
    new_page: NewPage, tmp_path: Path, width: int, height: int, dark: bool
) -> None:
    page = new_page(width=width, height=height, dark=dark, stranger=True)
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    path = tmp_path / "clinic.csv"
    path.write_text(",".join(COLUMNS) + "\n30,North,10,yes,1\n40,South,20,no,2\n")
    upload(page, path)
    box = page.get_by_role("combobox", name=re.compile("Columns that matter"))
    press(box)
    page.get_by_role("option", name=re.compile("Select all")).click()
    page.keyboard.press("Escape")
    press(page.get_by_text("Each by itself"))
    press(page.get_by_role("button", name="Go on to what is known"))
    expect(page.get_by_text("Still to fill in: age, region, income, smoker, visit.")).to_be_visible()

    type_into_grid(page, 1, CELLS, "North, South")
    expect(page.get_by_text("Still to fill in: age, income, smoker, visit.")).to_be_visible()
    type_into_grid(page, 4, CELLS, "1 to 5")
    expect(page.get_by_text("Still to fill in: age, income, smoker, visit.")).to_be_visible()
    page.evaluate("text => navigator.clipboard.writeText(text)", "number\t0 to 100 by 10\nyes or no\t\nnumber\t0, 1, 5")
    type_into_grid(page, 2, KIND, None)
    page.keyboard.press("Control+V")
    expect(page.get_by_text("Still to fill in: age.")).to_be_visible()
    press(page.get_by_role("button", name="Confirm 1 suggestion"))
    press(page.get_by_role("button", name="Go on to whom it protects"))
    press(page.get_by_text("each row is a different person"))
    press(page.get_by_role("button", name="Go on to how private"))
    expect(page.get_by_role("button", name=BUY)).to_be_visible()
    with page.expect_download() as waiting:
        press(page.get_by_role("button", name="Save this plan"))
    plan = Plan.load(waiting.value.path())
    assert [len(plan.column(name).declared) for name in COLUMNS] == [5, 2, 10, 2, 2]
    assert [plan.column(name).kind for name in COLUMNS] == ["number", "category", "number", "yesno", "number"]
