"""The health check, for the operator's monitoring."""

from __future__ import annotations

import logging

from anyio import to_thread
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from dpengine import Ledger, LedgerError
from pages.parts.server.upload_route import address
from pages.parts.shared.demo import is_demo, ledger_address

__all__ = ["routes"]

ADDRESS = "/health"
_log = logging.getLogger("private_release")


def routes() -> list[Route]:
    """Return the route of the health check."""
    return [Route(address(ADDRESS), answer, methods=["GET"])]


async def answer(_: Request) -> Response:
    """Answer 200 if the ledger can be read, since nothing can be published without it, else 503; the log says why.

    A check creates no ledger: if it is missing, the answer is 503.
    """
    try:
        await to_thread.run_sync(lambda: Ledger(ledger_address(), begin=is_demo()).spent("health"))
    except LedgerError as error:
        _log.warning("The ledger does not answer: %s", error)
        return PlainTextResponse("the ledger does not answer", status_code=503)
    return PlainTextResponse("ok")
