"""Bins, values and bounds that nobody can state, found privately: from a table to a bundle that verifies."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

import dpengine as dpe
from tests.browser.actions import choose, choose_all, download, press, publish, rest, upload
from tests.browser.conftest import NewPage

PLACES = ("01067", "10115", "80331")


def waits_csv(folder: Path) -> Path:
    """People who waited, most of them not long, in three places; nothing random."""
    path = folder / "waits.csv"
    rows = (f"{(k % 40) ** 3},{PLACES[k % 3]}\n" for k in range(3000))
    path.write_text("waited,place code\n" + "".join(rows))
    return path


def fill(page: Page, card: Locator, texts: dict[str, str]) -> None:
    """Type the texts into the boxes with these labels, one after the other."""
    for label, text in texts.items():
        box = card.get_by_role("textbox", name=label)
        rest(page)
        box.fill(text)
        box.press("Enter")


@pytest.mark.nightly
def test_bins_and_values_are_found_in_a_table_and_the_bundle_verifies(new_page: NewPage, tmp_path: Path) -> None:
    page = new_page()
    upload(page, waits_csv(tmp_path))
    choose_all(page, "Columns that matter", "waited", "place code")
    press(page.get_by_text("Each by itself"))
    press(page.get_by_role("button", name="Go on to what is known"))
    card = page.locator(".st-key-column-card")
    press(card.get_by_role("radio", name="number"))
    press(card.get_by_role("button", name="find bins privately"))
    fill(page, card, {"From": "0", "To": "60000", "In steps of": "100"})
    expect(card.get_by_text("of ε finds the bins")).to_be_visible()
    if not card.get_by_role("button", name="find them privately").count():
        choose(page.get_by_role("combobox", name="One column in detail"), "place code")
    press(card.get_by_role("button", name="find them privately"))
    expect(card.get_by_text("of ε finds the values")).to_be_visible()
    expect(card.get_by_role("textbox", name="Found among")).to_have_value("#####")
    press(page.get_by_role("button", name="Go on to whom it protects"))
    press(page.get_by_text("each row is a different person"))
    press(page.get_by_role("button", name="Go on to how private"))
    publish(page)
    bundle = download(page, tmp_path, "waits.zip")
    dpe.verify(bundle)
    tables = dpe.published(bundle).tables
    assert 3 < len(tables["waited",]) <= 22, "up to twenty bins, other and missing"
    assert set(PLACES) <= set(tables["place code",]["place code"])


@pytest.mark.nightly
def test_an_upper_bound_is_found_and_the_page_and_the_bundle_name_it(new_page: NewPage, tmp_path: Path) -> None:
    path = tmp_path / "pay.csv"
    path.write_text("pay,smokes\n" + "".join(f"{1000 + k % 5000},{'yn'[k % 2]}\n" for k in range(3000)))
    page = new_page()
    upload(page, path)
    choose_all(page, "Columns that matter", "pay", "smokes")
    press(page.get_by_role("button", name="Go on to what is known"))
    choose(page.get_by_role("combobox", name="One column in detail"), "pay")
    card = page.locator(".st-key-column-card")
    press(card.get_by_text("Find the upper bound"))
    fill(page, card, {"Lowest value": "0", "Surely not above": "1000000", "Rounded to": "1"})
    expect(card.get_by_text("of ε finds the bound")).to_be_visible()
    press(page.get_by_role("button", name="Confirm 1 suggestion"))
    press(page.get_by_role("button", name="Go on to whom it protects"))
    press(page.get_by_text("each row is a different person"))
    press(page.get_by_role("button", name="Go on to how private"))
    publish(page)
    expect(page.get_by_text("found privately: larger values count as it")).to_be_visible()
    bundle = download(page, tmp_path, "pay.zip")
    dpe.verify(bundle)
    assert 5_000 <= dpe.published(bundle).plan.column("pay").high < 100_000
