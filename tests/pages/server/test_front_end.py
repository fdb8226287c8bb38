"""The front end from memory: the same files as Streamlit's, and a page that names what its first screen needs."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from starlette.types import Receive, Scope, Send
from streamlit import file_util

from pages.parts.server import front_end
from pages.parts.server.front_end import CHART_SCRIPTS, ELEMENTS, HINT, SERVER, FrontEnd, scripts_of

FOLDER = Path(file_util.get_static_dir())
INDEX = (FOLDER / "index.html").read_bytes()
CHART = next(FOLDER.glob("static/js/PlotlyChart.*.js"))
FONT = next(FOLDER.glob("static/media/SourceSansVF-Upright.*.woff2"))


class Behind:
    """The application behind the front end; it answers every request with `body`."""

    def __init__(self, body: bytes, kind: str = "text/html; charset=utf-8", status: int = 200) -> None:
        self.body, self.kind, self.status = body, kind, status
        self.asked: list[str] = []
        self.headers: list[bytes] = []

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.asked.append(scope["path"])
        self.headers += [name for name, _value in scope["headers"]]
        headers = [(b"content-type", self.kind.encode()), (b"content-length", str(len(self.body)).encode())]
        await send({"type": "http.response.start", "status": self.status, "headers": headers})
        await send({"type": "http.response.body", "body": self.body[:100], "more_body": True})
        await send({"type": "http.response.body", "body": self.body[100:]})


def get(behind: Behind, path: str, method: str = "GET", **headers: str) -> tuple[dict[str, str], bytes]:
    """Return the headers and the body of an answer."""
    sent: list[Any] = []

    async def send(message: Any) -> None:
        sent.append(message | {"body": bytes(message.get("body", b""))})

    raw = [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()]
    scope = {"type": "http", "method": method, "path": path, "headers": raw}
    receive: Any = None
    with ThreadPoolExecutor() as thread:  # a browser of other tests may have a loop of events running in this one
        thread.submit(lambda: asyncio.run(FrontEnd(behind)(scope, receive, send))).result()
    start, *parts = sent
    assert [bool(part.get("more_body")) for part in parts] == [True] * (len(parts) - 1) + [False]
    return {name.decode(): value.decode() for name, value in start["headers"]}, b"".join(p["body"] for p in parts)


@pytest.mark.parametrize("file", [CHART, FONT], ids=["chart", "font"])
def test_a_file_is_that_of_streamlit_except_for_a_comment(file: Path) -> None:
    headers, body = get(behind := Behind(b"another"), f"/{file.relative_to(FOLDER).as_posix()}")
    assert body == (HINT if file == CHART else b"") + file.read_bytes()
    assert HINT.startswith(b"//")
    assert HINT.count(b"\n") == 1
    assert headers["content-length"] == str(len(body))
    assert "immutable" in headers["cache-control"]
    assert behind.asked == []


@pytest.mark.parametrize(
    ("path", "more"),
    [
        ("/static/js/no.js", {}),
        ("/static/../index.html", {}),
        ("/static/js/../../index.html", {}),
        (f"/other/static/js/{CHART.name}", {}),
        (f"/static/js/{CHART.name}", {"range": "bytes=0-1"}),
        (f"/static/js/{CHART.name}", {"if_none_match": '"x"'}),
        (f"/static/js/{CHART.name}", {"method": "HEAD"}),
    ],
)
def test_all_else_is_left_to_streamlit(path: str, more: dict[str, str]) -> None:
    _headers, body = get(behind := Behind(b"answered"), path, **more)
    assert (behind.asked, body) == ([path], b"answered")


@pytest.mark.parametrize("path", ["/", "/publish", "/accuracy"])
def test_the_page_names_what_its_first_screen_needs(path: str) -> None:
    headers, body = get(Behind(INDEX), path)
    names = scripts_of(FOLDER / "static" / "js", ELEMENTS)
    assert [name.partition(".")[0] for name in names[: len(ELEMENTS)]] == list(ELEMENTS), "Streamlit renamed one"
    assert CHART.name.encode() not in body
    assert f"./static/js/{CHART.name}" in CHART_SCRIPTS
    assert all(body.count(f'/js/{name}"'.encode()) == 1 for name in names), "each once"
    assert headers["content-length"] == str(len(body))
    known = {line.strip() for line in INDEX.splitlines()}
    server, *new = [line for line in map(bytes.strip, body.splitlines()) if line not in known]
    assert server.endswith(f"<script>{SERVER}</script>".encode())
    assert new
    assert all(line.startswith(b'<link rel="') and b'href="./static/' in line for line in new), "and nothing else"


@pytest.mark.parametrize(("path", "compressed"), [("/", False), ("/accuracy", False), ("/media/file", True)])
def test_a_page_is_not_asked_for_compressed(path: str, compressed: bool) -> None:
    get(behind := Behind(INDEX), path, accept_encoding="gzip", accept="*/*")
    assert behind.headers == [*([b"accept-encoding"] if compressed else []), b"accept"]


@pytest.mark.parametrize(
    "behind",
    [
        Behind(INDEX[:-1] + b" "),
        Behind(INDEX, kind="application/octet-stream"),
        Behind(INDEX, status=404),
        Behind(b"<html></html>" * 30),
    ],
    ids=["another page", "a download", "a refusal", "a short page"],
)
def test_no_other_answer_is_touched(behind: Behind) -> None:
    for path in ("/media/file", "/file"):
        assert get(behind, path)[1] == behind.body


def test_a_front_end_without_these_scripts_is_served_as_it_is(tmp_path: Path) -> None:
    assert scripts_of(tmp_path, ELEMENTS) == []
    assert front_end.with_hints(INDEX, tmp_path).replace(f"<script>{SERVER}</script>\n".encode(), b"") == INDEX
