"""Accessibility: the whole job without a mouse, with each state of the page checked by axe and at 200 %."""

from __future__ import annotations

import time
import zipfile
from pathlib import Path

import pytest
from playwright.sync_api import Browser, FileChooser, Page, expect
from playwright.sync_api import TimeoutError as NotInTime

import dpengine as dpe
from dpengine import Ledger, Plan
from tests.browser import accessibility
from tests.browser.actions import PATIENCE, REOPEN, clinic_csv, rest
from tests.browser.conftest import NewPage, wait_until

MANY = 40  # presses of Tab from the heading of a step to any of its controls, at most
# What names the control that has the focus; the help beside a control has a name of its own.
AT = """() => { let at = document.activeElement; while (at.shadowRoot?.activeElement) at = at.shadowRoot.activeElement;
  const names = [at.ariaLabel, at.closest("label")?.textContent, at.textContent].filter(name => name);
  return !at.matches("a, button, input, textarea") ? "" : names.join(" | ").replace(/^Help for .*/, "?"); }"""


def go_to(page: Page, name: str) -> None:
    """Press Tab until the control whose name has `name` in it has the focus."""
    rest(page)
    passed = []
    while name not in (at := page.evaluate(AT)):
        assert len(passed) < MANY, (name, passed)
        passed.append(at[:60])
        page.keyboard.press("Tab")


def press(page: Page, name: str) -> None:
    go_to(page, name)
    page.keyboard.press("Enter")


def chooser(page: Page) -> FileChooser:
    """Open the window for a file; a box that is just drawn anew may miss a press."""
    until = time.monotonic() + PATIENCE / 1000
    while True:
        go_to(page, "Upload")
        try:
            with page.expect_file_chooser(timeout=REOPEN) as event:
                page.keyboard.press("Enter")
            return event.value
        except NotInTime:
            assert time.monotonic() < until, "no window for a file opens"


@pytest.mark.nightly
def test_the_main_job_by_keyboard_alone_and_each_of_its_states_for_everybody(new_page: NewPage, tmp_path: Path) -> None:
    page, keys = new_page(stranger=True), "document.activeElement.textContent === '{}'"
    expect(page.locator(".st-key-consequence .look-curve img").first).to_be_visible()
    rest(page)
    accessibility.check(page)
    chooser(page).set_files(clinic_csv(tmp_path, "keys", 700, age=lambda k: (k * 13) % 90))
    wait_until(page, keys.format("2 · What to publish"))
    accessibility.check_by_night(page)
    go_to(page, "Columns that matter")
    for column in ("age", "region"):
        page.keyboard.type(column)
        expect(page.get_by_role("option", name=column, exact=True)).to_be_visible()
        page.keyboard.press("Enter")
    page.keyboard.press("Escape")
    press(page, "Go on to what is known")
    wait_until(page, keys.format("3 · What is publicly known"))
    accessibility.check(page)
    go_to(page, "Values, one a line")
    page.keyboard.insert_text("North\nSouth\nParis, TX")
    page.keyboard.press("Control+Enter")
    press(page, "Confirm 1 suggestion")
    press(page, "Go on to whom it protects")
    wait_until(page, keys.format("4 · Whom it protects"))
    accessibility.check_by_night(page)
    go_to(page, "each row is a different person")
    page.keyboard.press("Space")
    press(page, "Go on to how private")
    wait_until(page, keys.format("5 · How private"))
    page.get_by_text("Show me this as code").click()
    page.get_by_role("button", name="Project").click()  # what opens above the page is checked with it
    rest(page)
    accessibility.check(page)
    page.keyboard.press("Escape")
    press(page, "Publish once")
    expect(page.get_by_role("button", name="Download everything")).to_be_visible()
    rest(page)
    accessibility.check(page)
    go_to(page, "Download everything")
    with page.expect_download() as waiting:
        page.keyboard.press("Enter")
    waiting.value.save_as(tmp_path / "keys.zip")
    assert dpe.verify(tmp_path / "keys.zip")["guarantee"]["epsilon"] == "1"


@pytest.mark.nightly
def test_a_closed_menu_is_not_walked_through_by_keyboard(new_page: NewPage) -> None:
    """Its links are out of sight, so Tab must not stop at them."""
    page = new_page("/verify", width=390)
    expect(page.get_by_role("heading", name="Verify")).to_be_visible()
    rest(page)
    left = "document.activeElement.getBoundingClientRect().left"
    for _press in range(8):
        page.keyboard.press("Tab")
        assert page.evaluate(left) >= 0
    page.get_by_test_id("stExpandSidebarButton").click()
    page.get_by_role("link", name="Budget").first.click()
    expect(page.get_by_role("heading", name="Budget")).to_be_visible()


@pytest.mark.nightly
@pytest.mark.usefixtures("plotly_in_reports")
def test_a_report_of_many_tables_is_for_everybody(chromium: Browser, tmp_path: Path) -> None:
    table = tmp_path / "many.csv"
    table.write_text("a,b,c\n" + "x,1,u\ny,2,v\n" * 30)
    columns = [{"name": name, "kind": "category", "values": values} for name, values in
               (("a", ["x", "y"]), ("b", ["1", "2"]), ("c", ["u", "v"]))]  # fmt: skip
    plan = Plan(
        dataset="many", epsilon=1, columns=columns, tables=[["a"], ["b"], ["a", "b"], ["b", "c"], ["a", "b", "c"]]
    )
    dpe.release(dpe.open_table(table), plan, Ledger.in_memory()).save(tmp_path / "many.zip")
    with zipfile.ZipFile(tmp_path / "many.zip") as bundle:
        report = Path(bundle.extract("report.html", tmp_path))
    page = chromium.new_page()
    page.goto(report.as_uri())
    expect(page.locator(".main-svg").first).to_be_visible()
    accessibility.check(page)
    page.close()
