"""The route by which a browser tab sends the plan that it kept to the session that asks for it.

A widget cannot do this: what a widget sends makes the page run again, and names the page that the browser shows. While
a visitor changes pages, this is still the old page, and the click on the new one would be undone.
"""

from __future__ import annotations

import secrets
import threading
import weakref

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from pages.parts.server.upload_route import address, check_origin, is_live

__all__ = ["ADDRESS", "Question", "routes"]

ADDRESS = "/tab"
MAX_BYTES = 8_000_000  # no browser keeps more for a page, even if every letter takes the most bytes

_asked: weakref.WeakValueDictionary[str, Question] = weakref.WeakValueDictionary()


class Question:
    """A session's question to its tab, and the answer: a text, "" if the tab keeps nothing."""

    def __init__(self, session: str) -> None:
        self.token = secrets.token_urlsafe(32)
        self.session = session
        self.waited = False  # the wait is over; a later answer is used by the next run
        self._text: str | None = None
        self._came = threading.Event()
        _asked[self.token] = self

    @property
    def answer(self) -> str | None:
        """The text that the tab keeps; None until it has answered."""
        return self._text

    def put(self, text: str) -> None:
        """Take the tab's answer."""
        self._text = text
        self._came.set()

    def wait(self, seconds: float) -> bool:
        """Wait for the answer; return whether it comes within `seconds`."""
        return self._came.wait(seconds)


def routes() -> list[Route]:
    """Return the route of the answer."""
    return [Route(address(ADDRESS), receive, methods=["PUT"])]


async def receive(request: Request) -> Response:
    """Take the answer of the tab, which is the body of the request."""
    check_origin(request)
    question = _asked.get(request.headers.get("X-Tab-Token", ""))
    if question is None or not is_live(question.session, request):
        raise HTTPException(403, "This page is not connected any more.")
    body = bytearray()
    async for part in request.stream():
        body += part
        if len(body) > MAX_BYTES:
            raise HTTPException(413, "No plan is as long as this.")
    question.put(body.decode(errors="replace"))
    return Response(status_code=204)
