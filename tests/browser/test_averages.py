"""Mean income by state and sex, and counts by county: with the states from a codebook of levels."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.browser.actions import choose_all, press, publish, upload
from tests.browser.conftest import NewPage

PLACES = (("Kern", "CA"), ("Napa", "CA"), ("Travis", "TX"))
LEVELS = "county,state\n" + "".join(f"{county},{state}\n" for county, state in PLACES)


def people_csv(folder: Path) -> Path:
    path = folder / "incomes.csv"
    rows = (f"{PLACES[k % 3][0]},{('female', 'male')[k % 2]},{15_000 + 7 * k}\n" for k in range(3000))
    path.write_text("county,sex,income\n" + "".join(rows))
    return path


@pytest.mark.nightly
def test_an_average_by_state_and_sex_and_counts_by_county(new_page: NewPage, tmp_path: Path) -> None:
    page = new_page()
    upload(page, people_csv(tmp_path))
    choose_all(page, "Columns that matter", "county", "sex", "income")
    press(page.get_by_text("A list of my own"))
    press(page.get_by_role("button", name="Levels, such as ages in tens"))
    page.get_by_test_id("stFileUploader").locator("input[type=file]").set_input_files(
        {"name": "counties.csv", "mimeType": "text/csv", "buffer": LEVELS.encode()}
    )
    expect(page.get_by_text("The codebook filled in 1 column.")).to_be_visible()
    choose_all(page, "First table: also", "average of income")
    choose_all(page, "Table 1: counts by", "state (of county)", "sex")
    choose_all(page, "Another table: counts by", "county")
    expect(page.get_by_text("In no table")).to_have_count(0)
    press(page.get_by_role("button", name="Go on to what is known"))
    press(page.get_by_role("button", name="Confirm 2 suggestions"))
    press(page.get_by_role("button", name="Go on to whom it protects"))
    press(page.get_by_text("each row is a different person"))
    press(page.get_by_role("button", name="Go on to how private"))
    title = page.get_by_text("Mean income by state and sex").first
    expect(title).to_be_visible()
    publish(page)
    expect(title).to_be_visible()
