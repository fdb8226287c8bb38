"""Streamlit's own front end, served from memory, with hints in the page about the files that a browser needs first.

A first visit asks for about a hundred files. Streamlit looks each of them up on the disk in another thread, behind
several layers for other requests: most of a server's work for a visit. And a browser learns which files it needs only
once the first elements of a page have arrived. So the head of the page names the files of the first screen: the browser
fetches and compiles them while the server draws the page.

The largest file, which draws charts, is not named: with it, a page with a chart was drawn later on two busy processors.
It begins with a comment that makes Chromium compile all of it in the background; other browsers ignore it. The first
screen of Publish has no such chart: there, the file is fetched once the screen is drawn (`CHART_SCRIPTS`,
`page_script.js`).

All of these are files of the Streamlit package. None belongs to a visitor.

The front end looks for the server at the page's own address first. At the address of a lab there is none: two requests
fail before one succeeds. So the page also says where the server is, which is beside the files (`SERVER`).
"""

from __future__ import annotations

import mimetypes
import re
from collections.abc import Sequence
from pathlib import Path

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from streamlit import config, file_util
from streamlit.web.server.starlette.starlette_server_config import STATIC_ASSET_CACHE_MAX_AGE_SECONDS

__all__ = ["CHART", "CHART_SCRIPTS", "ELEMENTS", "SERVER", "FrontEnd", "scripts_of", "with_hints"]

# Streamlit's names for elements of a first screen other than texts, and for charts, whose script is the largest.
CHART, ELEMENTS = "PlotlyChart", ("BidiComponent", "Button", "TextInput", "NumberInput", "Checkbox", "Html")
# https://v8.dev/blog/explicit-compile-hints
COMPILED_AT_ONCE, HINT = CHART, b"//# allFunctionsCalledOnLoad\n"
SERVER = 'window.__streamlit = {BACKEND_BASE_URL: new URL("./", location.href).href}'  # a setting of the front end
ICONS = "MaterialSymbols-Rounded.*.woff2"
PIECE = 1 << 18  # bytes sent in one piece
# Streamlit answers requests for a part of a file, or for whether it has changed.
LEFT_TO_STREAMLIT = ("range", "if-none-match", "if-modified-since")
_IMPORTED = re.compile(r'(?:from|import)\s*"\./([\w.-]+\.js)"')
_HEAD = 50_000  # letters of a script, among which are all its imports


class FrontEnd:
    """Middleware that serves the files of the front end, and names those of the first screen in the page's head."""

    def __init__(self, app: ASGIApp, folder: Path | None = None) -> None:
        self._app = app
        folder = folder or Path(file_util.get_static_dir())
        base = str(config.get_option("server.baseUrlPath")).strip("/")
        self._root = root = f"/{base}/" if base else "/"
        self._paths = {root + file.relative_to(folder).as_posix(): file for file in folder.glob("static/*/*")}
        self._read: dict[str, bytes] = {}  # the files that were asked for
        self._index = (folder / "index.html").read_bytes()
        self._page = with_hints(self._index, folder)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a file, or pass the request on."""
        if scope["type"] != "http" or scope["method"] != "GET":
            await self._app(scope, receive, send)
        elif scope["path"] in self._paths and not any(name in Headers(scope=scope) for name in LEFT_TO_STREAMLIT):
            await self._send_file(scope["path"], send)
        elif "/" in scope["path"].removeprefix(self._root):
            await self._app(scope, receive, send)
        else:
            await self._app(_uncompressed(scope), receive, self._replacing_page(send))

    async def _send_file(self, path: str, send: Send) -> None:
        if path not in self._read:
            file = self._paths[path]
            hint = HINT if file.name.startswith(f"{COMPILED_AT_ONCE}.") else b""
            self._read[path] = hint + file.read_bytes()
        content = memoryview(self._read[path])
        kind = mimetypes.guess_type(path)[0] or "application/octet-stream"
        headers = {
            "content-type": f"{kind}; charset=utf-8" if kind.startswith("text/") else kind,
            "content-length": str(len(content)),
            "cache-control": f"public, immutable, max-age={STATIC_ASSET_CACHE_MAX_AGE_SECONDS}",
        }
        raw = [(name.encode(), value.encode()) for name, value in headers.items()]
        await send({"type": "http.response.start", "status": 200, "headers": raw})
        for place in range(0, len(content), PIECE):
            await send({"type": "http.response.body", "body": content[place : place + PIECE], "more_body": True})
        await send({"type": "http.response.body", "body": b""})

    def _replacing_page(self, send: Send) -> Send:
        """Return a `send` that replaces Streamlit's page by ours, and leaves every other answer as it is."""
        waiting: list[Message] = []
        body = bytearray()

        async def replaced(message: Message) -> None:
            if message["type"] == "http.response.start" and _may_be_page(message, len(self._index)):
                waiting.append(message)
                return
            if not waiting:
                await send(message)
                return
            body.extend(message.get("body", b""))
            if message.get("more_body"):
                return
            start, whole = waiting.pop(), bytes(body)
            if whole == self._index:
                whole = self._page
                MutableHeaders(raw=start["headers"])["content-length"] = str(len(whole))
            await send(start)
            await send({"type": "http.response.body", "body": whole})

        return replaced


def _uncompressed(scope: Scope) -> Scope:
    """Return a request that is not answered compressed: Streamlit compresses its page, except at the root."""
    headers = [pair for pair in scope["headers"] if pair[0].lower() != b"accept-encoding"]
    return {**scope, "headers": headers}


def _may_be_page(start: Message, size: int) -> bool:
    headers = Headers(raw=start["headers"])
    is_html = headers.get("content-type", "").startswith("text/html")
    return start["status"] == 200 and is_html and headers.get("content-length") == str(size)


def with_hints(page: bytes, folder: Path) -> bytes:
    """Return Streamlit's page with the server and the files of a first screen, in `folder`, named in its head."""
    lines = [f"<script>{SERVER}</script>"]
    lines += [f'<link rel="preload" as="font" type="font/woff2" crossorigin href="./static/media/{file.name}">'
             for file in folder.glob(f"static/media/{ICONS}")]  # fmt: skip
    lines += [
        f'<link rel="modulepreload" crossorigin href="./static/js/{name}">'
        for name in scripts_of(folder / "static" / "js", ELEMENTS)
        if f'/{name}"'.encode() not in page
    ]
    return page.replace(b"</head>", "\n".join([*lines, "</head>"]).encode(), 1)


def scripts_of(folder: Path, elements: Sequence[str]) -> list[str]:
    """Return the names of the scripts in `folder` that draw these elements, and of all that they import."""
    files: dict[str, None] = {}
    todo = [file.name for name in elements for file in sorted(folder.glob(f"{name}.*.js"))]
    while todo:
        name = todo.pop(0)
        if name not in files and (folder / name).is_file():
            files[name] = None
            with (folder / name).open(encoding="utf-8") as script:
                todo += _IMPORTED.findall(script.read(_HEAD))
    return list(files)


_SCRIPTS = Path(file_util.get_static_dir(), "static", "js")
_FIRST = frozenset(scripts_of(_SCRIPTS, ELEMENTS))
# The addresses of the scripts that draw charts, for a screen without one.
CHART_SCRIPTS = tuple(f"./static/js/{name}" for name in scripts_of(_SCRIPTS, (CHART,)) if name not in _FIRST)
