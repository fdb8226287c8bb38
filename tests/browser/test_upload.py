"""A large file's way into the server, as a browser sends it and as someone who should not might try."""

from __future__ import annotations

import http.client
import re
import time
from contextlib import closing
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Page, expect

from tests.browser.actions import clinic_csv, press, upload
from tests.browser.conftest import NewPage
from tests.serving import Served

SLOW = {"offline": False, "latency": 0, "downloadThroughput": -1, "uploadThroughput": 2_000_000}


def stored(app: Served) -> list[Path]:
    """Uploaded files that lie on the server."""
    return [path for path in app.uploads() if not path.is_symlink()]


def gone(app: Served, before: list[Path], patience: float = 20) -> bool:
    until = time.monotonic() + patience
    while set(stored(app)) - set(before) and time.monotonic() < until:
        time.sleep(0.2)
    return not set(stored(app)) - set(before)


def large(folder: Path) -> Path:
    path = folder / "large.csv"
    path.write_text("age,region\n" + "30,North\n" * 3_000_000)
    return path


def keys(page: Page) -> dict[str, str]:
    """What the page itself would send with a file."""
    with page.expect_request("**/upload") as waiting:
        page.locator("input[type=file]").first.set_input_files(
            files=[{"name": "empty.csv", "mimeType": "text/csv", "buffer": b""}]
        )
    return {name: value for name, value in waiting.value.all_headers().items() if not name.startswith(":")}


def ask(
    app: Served, method: str, headers: dict[str, str], body: bytes = b"", path: str = "/upload"
) -> tuple[int, str, str | None]:
    """Status, text and cross-site leave of an answer to a request."""
    url = urlsplit(app.address)
    with closing(http.client.HTTPConnection(str(url.hostname), url.port, timeout=20)) as connection:
        connection.request(method, path, body, headers)
        with connection.getresponse() as answer:
            return answer.status, answer.read().decode(), answer.getheader("access-control-allow-origin")


def put(app: Served, headers: dict[str, str], size: int = 8) -> tuple[int, str]:
    return ask(app, "PUT", headers | {"content-length": str(size)}, b"a,b\n1,2\n")[:2]


@pytest.mark.nightly
def test_a_file_lies_in_a_private_folder_and_goes_with_its_table(
    new_page: NewPage, app: Served, tmp_path: Path
) -> None:
    page, before = new_page(), stored(app)
    upload(page, clinic_csv(tmp_path, "first"))
    (path,) = set(stored(app)) - set(before)
    assert path.stat().st_mode & 0o777 == 0o600
    assert all(folder.stat().st_mode & 0o077 == 0 for folder in (path.parent, path.parent.parent))
    press(page.get_by_role("button", name="Change").first)
    press(page.locator(".st-key-sample_rand button"))
    expect(page.get_by_text("How private").first).to_be_visible()
    assert gone(app, before)


@pytest.mark.nightly
def test_a_cancelled_or_interrupted_upload_leaves_nothing(new_page: NewPage, app: Served, tmp_path: Path) -> None:
    page, before = new_page(width=390, height=844, dark=True), stored(app)
    slow = page.context.new_cdp_session(page)
    slow.send("Network.enable")
    slow.send("Network.emulateNetworkConditions", SLOW)
    box = page.locator("input[type=file]").first
    box.set_input_files(large(tmp_path))
    expect(page.get_by_role("status")).to_have_text(re.compile(r"^[1-9][\d.]* MB of 27 MB$"))
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    assert set(stored(app)) - set(before), "it is on its way"
    page.keyboard.press("Enter")  # Cancel has the keyboard
    expect(page.get_by_role("button", name="Upload")).to_be_visible()
    assert gone(app, before)
    box.set_input_files(tmp_path / "large.csv")
    expect(page.get_by_role("status")).to_have_text(re.compile("^[1-9]"))
    page.close()
    assert gone(app, before)


@pytest.mark.nightly
def test_a_second_file_replaces_the_first(new_page: NewPage, tmp_path: Path) -> None:
    page = new_page()
    (tmp_path / "bad.csv").write_text("a,a\n1,2\n")
    (tmp_path / "song.mp3").write_text("la")
    box = page.locator("input[type=file]").first
    box.set_input_files(tmp_path / "song.mp3")
    expect(page.get_by_role("alert").filter(has_text="not known here")).to_be_visible()
    box.set_input_files(tmp_path / "bad.csv")
    expect(page.get_by_text("named 'a'").first).to_be_visible()
    upload(page, clinic_csv(tmp_path, "good"))


@pytest.mark.nightly
def test_a_closed_tab_leaves_no_file(new_page: NewPage, app: Served, tmp_path: Path) -> None:
    page, before = new_page(), stored(app)
    upload(page, clinic_csv(tmp_path, "left"))
    assert set(stored(app)) - set(before)
    page.close()
    assert gone(app, before, patience=40)


def test_only_the_page_that_holds_the_token_may_send(new_page: NewPage, app: Served) -> None:
    page = new_page()
    tokens = keys(page)
    expect(page.get_by_text("Nothing was spent").first).to_be_visible()
    before = stored(app)
    for change, status in [
        ({"origin": "https://elsewhere.example"}, 403),
        ({"origin": ""}, 403),
        ({"sec-fetch-site": "cross-site"}, 403),
        ({"x-xsrftoken": ""}, 403),
        ({"x-xsrftoken": "2|00000000|00000000000000000000000000000000|0"}, 403),
        ({"cookie": ""}, 403),
        ({"x-upload-token": ""}, 403),
        ({"x-upload-token": tokens["x-upload-token"][:-1]}, 403),
        ({"x-file-name": "run.py"}, 415),
        ({"x-file-name": "..%2F..%2Fapp.csv%00.py"}, 415),
    ]:
        assert put(app, tokens | change)[0] == status, change
    answers = {
        "en": "The file is larger than this server takes.",
        "de": "Die Datei ist größer, als dieser Server annimmt.",
        "de-AT, x": "The file is larger than this server takes.",
    }
    for language, sentence in answers.items():
        assert put(app, tokens | {"accept-language": language}, size=10**12) == (413, sentence)
    assert stored(app) == before
    assert put(app, tokens | {"x-file-name": "..%2F..%2Fb.csv"})[0] == 204, "a name is no path"
    assert all(path.name == "table.csv" and len(path.relative_to(app.files).parts) == 3 for path in stored(app))


def test_uploads_are_not_served_back_and_not_available_to_other_sites(app: Served) -> None:
    assert [ask(app, method, {})[0] for method in ("POST", "DELETE", "OPTIONS")] == [405] * 3
    status, text, leave = ask(app, "GET", {"origin": "https://elsewhere.example"})
    assert status == 200
    assert "<!doctype html>" in text.lower(), "the page itself, as at any other address"
    assert leave is None
