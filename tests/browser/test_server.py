"""The server as an operator meets it: is it well, can it be started again, does it leave anything behind."""

from __future__ import annotations

import http.client
from contextlib import closing
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, expect

from tests.browser.actions import PATIENCE, clinic_csv, follow, upload
from tests.serving import Served, served


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
