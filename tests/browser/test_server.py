"""The server as an operator meets it: is it well, can it be started again, does it leave anything behind."""

from __future__ import annotations

import http.client
import os
from contextlib import closing
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, expect

from tests.browser.actions import PATIENCE, clinic_csv, follow, press, rest, upload
from tests.serving import ROOT, Served, served


def health(app: Served) -> tuple[int, str]:
    url = urlsplit(app.address)
    with closing(http.client.HTTPConnection(str(url.hostname), url.port, timeout=20)) as connection:
        connection.request("GET", "/health")
        with connection.getresponse() as answer:
            return answer.status, answer.read().decode()


def test_it_is_healthy_while_its_ledger_answers(app: Served) -> None:
    assert health(app) == (200, "ok")


@pytest.mark.nightly
def test_it_is_unhealthy_without_a_ledger_and_reveals_no_address(tmp_path: Path) -> None:
    (tmp_path / "no-ledger").write_text("not a database")
    with served(tmp_path, PRIVATE_RELEASE_LEDGER=f"sqlite:///{tmp_path / 'no-ledger'}") as app:
        assert health(app) == (503, "the ledger does not answer")


@pytest.mark.nightly
def test_nothing_is_left_when_it_stops_nor_when_it_was_killed(chromium: Browser, tmp_path: Path) -> None:
    for killed in (True, False):
        with served(tmp_path) as app:
            assert len(list(app.files.iterdir())) == 1, "what a killed server left is gone"
            page = chromium.new_page()
            follow(page)
            page.set_default_timeout(PATIENCE)
            page.goto(app.address)
            upload(page, clinic_csv(tmp_path, "clinic"))
            assert app.uploads()
            if killed:
                app.process.kill()
                away = page.get_by_role("dialog")
                expect(away).to_contain_text("reload the page once the server answers again")
                expect(away.get_by_text("yourscript.py")).to_be_hidden()
            page.close()
        assert len(list(app.files.iterdir())) == killed


# Loaded by the server's Python before anything else: no workbook can be made.
FULL = """
from dpengine.bundle import workbook
from dpengine.errors import ReleaseError

def refuse(*_given):
    raise ReleaseError("the disk is full")

workbook.workbook = refuse
"""


@pytest.mark.nightly
def test_a_file_that_cannot_be_made_says_why_beside_its_button(
    chromium: Browser, tmp_path: Path, bundle: bytes
) -> None:
    (tmp_path / "sitecustomize.py").write_text(FULL)
    with served(tmp_path, PYTHONPATH=f"{tmp_path}{os.pathsep}{ROOT}") as app:
        page = chromium.new_page()
        follow(page)
        page.set_default_timeout(PATIENCE)
        page.goto(f"{app.address}/verify")
        rest(page)
        page.locator("input[type=file]").first.set_input_files(
            {"name": "release.zip", "mimeType": "application/zip", "buffer": bundle}
        )
        button = page.get_by_role("button", name="All tables for a spreadsheet")
        press(button)
        expect(page.get_by_role("alert")).to_contain_text("could not be made. the disk is full")
        expect(page.get_by_text("Failed to generate")).to_have_count(0)
        expect(button).to_be_enabled()
        page.close()
