"""Whether this server can be of use: asked by whoever keeps it running."""

from __future__ import annotations

from anyio import to_thread
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from dpengine import Ledger, LedgerError
from pages.parts.server.upload_route import address

__all__ = ["routes"]

ADDRESS = "/health"


def routes() -> list[Route]:
    return [Route(address(ADDRESS), answer, methods=["GET"])]


async def answer(_: Request) -> Response:
    """200 where the ledger answers, since nothing can be published without it; else 503. Says no more than that."""
    try:
        await to_thread.run_sync(lambda: Ledger().spent("health"))
    except LedgerError:
        return PlainTextResponse("the ledger does not answer", status_code=503)
    return PlainTextResponse("ok")
