"""The route for large files: it writes what arrives to disk, piece by piece.

Streamlit's own uploader holds each file in memory, twice. This route has the same protections as that one: a token of
the session (see `uploads`), the token against requests forged by other sites, and a limit of size; it also checks the
origin that browsers send. What arrives is never run, nor served to anyone.
"""

from __future__ import annotations

import asyncio
import shutil
import tempfile
from typing import BinaryIO
from urllib.parse import unquote

from anyio import to_thread
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route
from streamlit import config, runtime
from streamlit.web.server.server_util import is_xsrf_enabled
from streamlit.web.server.starlette.starlette_app_utils import validate_xsrf_token

from dpengine.translation.catalogue import ENGLISH, _, languages, mark, speaking
from pages.parts.server import uploads
from pages.parts.server.request_guard import XSRF_COOKIE, is_same_origin, may_join
from pages.parts.shared.demo import NO_FILES, is_demo

__all__ = ["ADDRESS", "address", "check_origin", "is_live", "routes"]

ADDRESS = "/upload"
PIECE = 1 << 20  # bytes written in one piece
STALL = 120.0  # seconds without a byte after which the sender counts as gone
SPARE = 256 << 20  # bytes of the disk that uploads leave free
XSRF_HEADER = "X-Xsrftoken"


def address(path: str = ADDRESS) -> str:
    """Return the path of a route from the root of the host."""
    base = str(config.get_option("server.baseUrlPath")).strip("/")
    return f"/{base}{path}" if base else path


def routes() -> list[Route]:
    """Return the route of uploads."""
    return [Route(address(), receive, methods=["PUT"])]


async def receive(request: Request) -> Response:
    """Take one file, the body of the request. Answers 204, or a sentence in the language of the page that sent it."""
    wanted = request.headers.get("Accept-Language", ENGLISH)
    try:
        return await _receive(request)
    except HTTPException as refused:
        with speaking(wanted if wanted in languages() else ENGLISH):
            raise HTTPException(refused.status_code, _(refused.detail)) from None


async def _receive(request: Request) -> Response:
    if is_demo():
        raise HTTPException(403, NO_FILES)
    place = _place_of(request)
    name = "".join(filter(str.isprintable, unquote(request.headers.get("X-File-Name", ""))))[-255:]
    if not uploads.ending(name):
        raise HTTPException(415, mark("Files of this kind are not known here."))
    _check_size(request)
    try:
        with place.receiving(name) as file:
            await _write(request, place, file)
    except uploads.Busy:
        raise HTTPException(409, mark("Another file is just arriving here. Wait for it, or cancel it.")) from None
    except uploads.Closed:
        raise HTTPException(410, mark("This page has moved on. Reload it, and try again.")) from None
    except TimeoutError:
        raise HTTPException(408, mark("Nothing more arrived. Nothing was kept; try again.")) from None
    except ClientDisconnect:
        return Response(status_code=400)  # nobody is there to read an answer
    except OSError:
        raise HTTPException(507, mark("There is no room for this file on the server. Nothing was kept.")) from None
    return Response(status_code=204)


def _place_of(request: Request) -> uploads.Place:
    """Return the place whose token the request carries, after checking that a page of this server sent it."""
    check_origin(request)
    place = uploads.find(request.headers.get("X-Upload-Token", ""))
    if place is None or not is_live(place.session, request):
        raise HTTPException(403, mark("This page is not connected any more. Reload it, and try again."))
    return place


def is_live(session: str, request: Request) -> bool:
    """Whether a tab of this session is open and the request comes from the person and browser that began it."""
    return runtime.get_instance().is_active_session(session) and may_join(session, request)


def check_origin(request: Request) -> None:
    """Refuse, with status 403, a request that no page of this server sent."""
    ours = is_same_origin(request.headers)
    ours &= request.headers.get("sec-fetch-site", "same-origin") == "same-origin"
    if is_xsrf_enabled():
        ours &= validate_xsrf_token(request.headers.get(XSRF_HEADER), request.cookies.get(XSRF_COOKIE))
    if not ours:
        raise HTTPException(403, mark("Only a page of this server may send files to it."))


def _check_size(request: Request) -> None:
    stated = request.headers.get("content-length", "")
    if not stated.isascii() or not stated.isdigit():
        raise HTTPException(411, mark("The request must state the size of the file."))
    if int(stated) > uploads.limit():
        raise HTTPException(413, mark("The file is larger than this server takes."))
    if int(stated) + SPARE > shutil.disk_usage(tempfile.gettempdir()).free:
        raise HTTPException(507, mark("There is no room for this file on the server."))


async def _write(request: Request, place: uploads.Place, file: BinaryIO) -> None:
    """Write the body to `file`, up to the limit, with at most one piece of it in memory."""
    piece, left, body = bytearray(), uploads.limit(), aiter(request.stream())
    while True:
        async with asyncio.timeout(STALL):
            part = await anext(body, None)
        if place.closed:
            raise uploads.Closed
        if part is None or len(piece) + len(part) > PIECE:
            await to_thread.run_sync(file.write, bytes(piece))
            piece.clear()
        if part is None:
            return
        left -= len(part)
        if left < 0:
            raise HTTPException(413, mark("The file is larger than this server takes."))
        piece += part
