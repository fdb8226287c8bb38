"""The way of a plan from the tab that kept it into the session that asks for it.

Not by a widget: what a widget sends makes the page run again, and names the page that the browser shows. While the
visitor is on the way to another, that is the old one, and the click that leads to the other would be undone.
"""

from __future__ import annotations

import secrets
import threading
import weakref

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from streamlit import runtime

from pages.parts.server.upload_route import address, check_origin

__all__ = ["ADDRESS", "Question", "routes"]

ADDRESS = "/tab"
MOST = 8_000_000  # bytes: what a browser keeps for a page, in the longest of letters

_asked: weakref.WeakValueDictionary[str, Question] = weakref.WeakValueDictionary()


class Question:
    """What a session asks of its tab, and what the tab answers: text, "" where it keeps nothing."""

    def __init__(self, session: str) -> None:
        self.token = secrets.token_urlsafe(32)
        self.session = session
        self.waited = False  # long enough: the answer is taken up by the next run after it came
        self._text: str | None = None
        self._came = threading.Event()
        _asked[self.token] = self

    @property
    def answer(self) -> str | None:
        """What the tab keeps; None before it has said."""
        return self._text

    def put(self, text: str) -> None:
        self._text = text
        self._came.set()

    def wait(self, seconds: float) -> bool:
        """Whether the answer comes within ``seconds``."""
        return self._came.wait(seconds)


def routes() -> list[Route]:
    return [Route(address(ADDRESS), receive, methods=["PUT"])]


async def receive(request: Request) -> Response:
    """Take the answer of the tab that was asked, sent as the body."""
    check_origin(request)
    question = _asked.get(request.headers.get("X-Tab-Token", ""))
    if question is None or not runtime.get_instance().is_active_session(question.session):
        raise HTTPException(403, "This page is not connected any more.")
    said = bytearray()
    async for part in request.stream():
        said += part
        if len(said) > MOST:
            raise HTTPException(413, "No plan is as long as this.")
    question.put(said.decode(errors="replace"))
    return Response(status_code=204)
