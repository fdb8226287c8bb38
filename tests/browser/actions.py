"""Actions of a person on the page: press, choose, upload, plan, publish, download.

A person waits until a page stands still. A program does not: a button that it presses while the page is drawn anew may
be gone before the press is over. So each action first waits until every run that the page asked its server for has
ended and is drawn. No action relies on how long that takes.
"""

from __future__ import annotations

import csv
import re
import time
from collections.abc import Callable
from pathlib import Path
from weakref import WeakKeyDictionary

from playwright.sync_api import Locator, Page, WebSocket, expect
from playwright.sync_api import TimeoutError as NotInTime
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg

from dpengine import Plan

PATIENCE = 60_000  # milliseconds: a busy machine is slow to draw, and that is no fault of the page
REOPEN = 2_000  # milliseconds after which a menu without the option is taken for one that a redraw has closed
SENT = 300  # milliseconds after which a browser has sent what was typed into a grid; it waits for more
BUY = re.compile("Publish once|Show it again|Send for approval")  # the table and plan may be published already
Draw = Callable[[int], int]
CANARY = "ZZ_CANARY_7f3a"
STILL = "[data-test-script-state='notRunning'][data-test-connection-state='CONNECTED']"
FRAMELESS = 10_000  # milliseconds after which a frame is not waited for: a new size or theme may bring none at all
DRAWN = f"""() => new Promise(drawn => {{
  requestAnimationFrame(() => requestAnimationFrame(drawn)); setTimeout(drawn, {FRAMELESS}); }})"""

_awaited: WeakKeyDictionary[Page, bool] = WeakKeyDictionary()  # whether a page waits for a run to begin


def follow(page: Page) -> None:
    """Record the messages between `page` and its server, for `rest`; call this before the page is opened."""

    def sent(frame: bytes | str) -> None:
        if isinstance(frame, bytes) and BackMsg.FromString(frame).WhichOneof("type") == "rerun_script":
            _awaited[page] = True

    def received(frame: bytes | str) -> None:
        if isinstance(frame, bytes) and ForwardMsg.FromString(frame).WhichOneof("type") == "new_session":
            _awaited[page] = False

    def opened(socket: WebSocket) -> None:
        _awaited[page] = False
        socket.on("framesent", sent)
        socket.on("framereceived", received)

    page.on("websocket", opened)


def rest(page: Page) -> None:
    """Wait until `page` is drawn and no run is under way or asked for."""
    until = time.monotonic() + PATIENCE / 1000
    page.locator(STILL).wait_for(state="attached")
    page.evaluate(DRAWN)  # what a press sends, it sends before the next frame
    while _awaited[page] or not page.locator(STILL).count():
        assert time.monotonic() < until, "the page does not come to rest"
        page.wait_for_timeout(20)
        page.evaluate(DRAWN)


def press(what: Locator) -> None:
    """Click on `what` once its page is at rest."""
    rest(what.page)
    what.click()


def choose(box: Locator, option: str) -> None:
    """Choose an option of a box, by keyboard; a menu that a redraw has closed is opened again."""
    wanted = box.page.get_by_role("option", name=option, exact=True)
    tag = box.locator("..").get_by_label(option, exact=True)  # how a box for several shows what is chosen
    until = time.monotonic() + PATIENCE / 1000
    rest(box.page)
    while not tag.count():
        box.click()
        box.fill(option)
        try:
            return wanted.click(timeout=REOPEN)
        except NotInTime:
            assert time.monotonic() < until, f"no option {option}"
            rest(box.page)


def open_box(button: Locator, inside: Locator) -> None:
    """Open a box that the server fills, until `inside` is seen; a box that a redraw has closed is opened again."""
    until = time.monotonic() + PATIENCE / 1000
    while True:
        press(button)
        rest(button.page)
        try:
            return expect(inside).to_be_visible(timeout=REOPEN)
        except AssertionError:
            assert time.monotonic() < until, "the box does not open"


def open_help(button: Locator) -> None:
    """Open a help by a tap, and tap again if a late redraw has moved its button from under the pointer."""
    until = time.monotonic() + PATIENCE / 1000
    while True:
        button.page.mouse.move(0, 0)
        press(button)
        try:
            return expect(button.page.get_by_test_id("stTooltipContent").last).to_be_visible(timeout=REOPEN)
        except AssertionError:
            assert time.monotonic() < until, "the help does not open"


def choose_all(page: Page, label: str, *options: str) -> None:
    """Choose several options of the box whose name has `label` in it, and close its menu."""
    for option in options:
        choose(page.get_by_role("combobox", name=re.compile(label)), option)
    page.keyboard.press("Escape")


def clinic_csv(
    folder: Path, name: str, people: int = 900, age: Draw = lambda k: k % 90, region: Draw = lambda k: k % 3
) -> Path:
    """Write a CSV file of people with an age and a region, and return its path; nothing in it is random.

    Files with the same `age` and `region` are taken for the same people, and share an account in the ledger.
    """
    path = folder / f"{name}.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, delimiter=";")
        writer.writerow(["age", "region", "note"])
        for k in range(people):
            writer.writerow([age(k), ("North", "South", "Paris, TX")[region(k)], CANARY if k == 0 else ""])
    return path


def upload(page: Page, path: Path) -> None:
    """Upload a file, and wait for the choice of its columns."""
    rest(page)
    page.locator("input[type=file]").first.set_input_files(path)
    # There are two for a moment if the page is drawn anew.
    expect(page.get_by_text("Columns that matter").first).to_be_visible()


def plan_clinic(page: Page) -> None:
    """Fill in all steps for the uploaded table, up to the button to publish."""
    choose_all(page, "Columns that matter", "age", "region")
    press(page.get_by_role("button", name="Go on to what is known"))
    values = page.get_by_role("textbox", name="Values, one a line")
    values.wait_for()
    rest(page)
    values.fill("North\nSouth\nParis, TX")
    values.press("Control+Enter")
    press(page.get_by_role("button", name="Confirm 1 suggestion"))  # the bins of ages
    press(page.get_by_role("button", name="Go on to whom it protects"))
    press(page.get_by_text("each row is a different person"))
    press(page.get_by_role("button", name="Go on to how private"))
    expect(page.get_by_role("button", name=BUY)).to_be_visible()


def type_into_grid(page: Page, row: int, column: int, text: str | None) -> None:
    """Type into a cell of the grid of columns, by keyboard from its first row; None only goes there.

    `column` counts from the left, where the names stand.
    """
    until, cell = time.monotonic() + PATIENCE / 1000, page.locator("#portal textarea")
    while True:
        rest(page)
        page.locator(".stDataFrameGlideDataEditor").first.click(position={"x": 60, "y": 52})
        try:  # while a grid is drawn anew, a click on it may choose nothing
            page.locator("canvas td[aria-selected=true]").first.wait_for(state="attached", timeout=REOPEN)
            page.keyboard.press("Control+Home")
            for key, times in (("ArrowDown", row), ("ArrowRight", column)):
                for _ in range(times):
                    page.keyboard.press(key)
            if text is None:
                return
            page.keyboard.press("Enter")  # a program types faster than the cell opens
            cell.fill(text, timeout=REOPEN)
            break
        except NotInTime:
            assert time.monotonic() < until, "the cell does not open"
    cell.press("Enter")
    page.wait_for_timeout(SENT)
    rest(page)


def load_plan(page: Page, dataset: str) -> None:
    """Load the plan that `plan_clinic` makes from a file, up to the button to publish."""
    plan = Plan(
        title=dataset,
        dataset=dataset,
        epsilon=1,
        columns=[
            {"name": "age", "kind": "number", "edges": [0, 18, 30, 45, 65, 120]},
            {"name": "region", "kind": "category", "values": ["North", "South", "Paris, TX"]},
        ],
        tables=[["age", "region"]],
    )
    load(page, plan)


def load(page: Page, plan: Plan) -> None:
    """Load a plan from a file for the uploaded table, up to the button to publish."""
    press(page.get_by_role("button", name="Load a plan"))
    rest(page)  # opening it draws the page anew, and a file that is dropped before that is gone
    page.get_by_test_id("stFileUploader").locator("input[type=file]").set_input_files(
        {"name": "plan.yaml", "mimeType": "text/yaml", "buffer": plan.dumps().encode()}
    )
    expect(page.get_by_role("button", name=BUY)).to_be_visible()


def publish(page: Page) -> None:
    """Publish, and wait for the release."""
    press(page.get_by_role("button", name=BUY))
    expect(page.get_by_role("button", name="Download everything")).to_be_visible()


def download(page: Page, folder: Path, name: str, button: str = "Download everything") -> Path:
    """Download the bundle of the release that is shown, as `name` in `folder`."""
    with page.expect_download() as waiting:
        press(page.get_by_role("button", name=button))
    path = folder / name
    waiting.value.save_as(path)
    return path
