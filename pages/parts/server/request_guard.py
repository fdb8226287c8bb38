"""The checks that every request passes before Streamlit sees it, and the headers that every answer has.

- **Host**: only the names of this server. A page that makes its own name point to this machine (DNS rebinding) would
  otherwise be served as if it were ours.
- **Origin**: a WebSocket, or a request that may change something, comes from a page of this server or from no page at
  all. Streamlit's own check comes too late: to learn its public address, it asks an outside server while all wait.
- **Person**: without sign-in, only this machine is served. With a proxy that signs people in, each request comes from
  its address and names a person. With sign-in of our own, files of visitors are taken from, and served to, people who
  are signed in.
- **Session**: who joins a session that exists, or sends something to it, is the person who began it, at the browser
  where they did. The id of a session is no secret: it stands in the address of Streamlit's own uploads, and so in the
  log of a proxy.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import HTTPConnection, Request
from starlette.responses import PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from streamlit import config, file_util
from streamlit.web.server.starlette.starlette_app_utils import decode_xsrf_token_string

from pages.parts.access import settings
from pages.parts.access.person import Person, from_proxy, of_request
from pages.parts.access.settings import Header, NoSignIn, Oidc, is_loopback
from pages.parts.server import session_resources
from pages.parts.server.front_end import SERVER
from pages.parts.shared.demo import NO_FILES, is_demo

__all__ = [
    "HEADERS", "XSRF_COOKIE", "RequestGuard", "claim_session", "failure", "is_same_origin", "may_join",
    "sessions_of_this_browser",
]  # fmt: skip

XSRF_COOKIE = "_streamlit_xsrf"
LOOPBACK = ("localhost", "127.0.0.1", "::1")
EVERYWHERE = ("", "0.0.0.0", "::")  # addresses to listen at that are no host name
SAFE_METHODS = ("GET", "HEAD", "OPTIONS")
UPLOAD = re.compile(r"/_stcore/upload_file/([^/]+)/")
# Addresses below the root of the app: of what visitors bring and get, and of the health checks.
OF_PEOPLE = re.compile(r"/+(media|upload|tab|_stcore/(upload_file|metrics|agent))(/|$)")
HEALTH = re.compile(r"/(health|_stcore/health)$")
SUBPROTOCOLS = b"sec-websocket-protocol"  # Streamlit sends three texts in it: a name, the XSRF token, a session to join


def _inline_scripts() -> str:
    """Return the hashes of the inline scripts of the page, as sources for the content security policy."""
    page = Path(file_util.get_static_dir(), "index.html").read_bytes()
    scripts = [*re.findall(rb"<script>(.*?)</script>", page, re.DOTALL), SERVER.encode()]
    digests = [hashlib.sha256(script).digest() for script in scripts]
    return " ".join(f"'sha256-{base64.b64encode(digest).decode()}'" for digest in digests)


# As strict as Streamlit allows. docs/deploy.md gives the reason for each exception.
POLICY = {
    "default-src": "'none'",
    "script-src": f"'self' blob: {_inline_scripts()}",
    "style-src": "'self' 'unsafe-inline'",
    "img-src": "'self' data: blob:",
    "font-src": "'self' data:",
    "connect-src": "'self'",
    "manifest-src": "'self'",
    "frame-src": "'none'",
    "object-src": "'none'",
    "base-uri": "'none'",
    "form-action": "'none'",
    "frame-ancestors": "'none'",
}
HEADERS = {
    "Content-Security-Policy": "; ".join(f"{kind} {sources}" for kind, sources in POLICY.items()),
    "X-Frame-Options": "DENY",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",  # an address may hold the token of a release
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), microphone=(), geolocation=()",
}


class RequestGuard:
    """Middleware that refuses foreign requests and adds `HEADERS` to every answer."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._hosts = _own_hosts()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or answer it with a refusal."""
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return

        async def with_headers(message: Message) -> None:
            if message["type"] in ("http.response.start", "websocket.http.response.start"):
                MutableHeaders(scope=message).update(HEADERS)
            await send(message)

        refusal = self._refusal(HTTPConnection(scope))
        if refusal is None:
            await self._app(_without_foreign_session(scope), receive, with_headers)
        else:
            await PlainTextResponse(refusal, status_code=403)(scope, receive, with_headers)

    def _refusal(self, request: HTTPConnection) -> str | None:
        """Return why a request is refused, as a sentence; None if it is not."""
        host = request.headers.get("host", "")
        if not _is_among(host, self._hosts):
            return (
                "This server does not answer to this name. If it should, whoever runs it adds the name to "
                "server.allowedHosts (see docs/deploy.md)."
            )
        changes = request.scope["type"] == "websocket" or request.scope["method"] not in SAFE_METHODS
        if changes and "origin" in request.headers and not is_same_origin(request.headers):
            return "Only a page of this server may send this."
        if (stranger := _refusal_of_strangers(request)) is not None:
            return stranger
        upload = UPLOAD.search(request.scope["path"])
        if upload and is_demo():
            return NO_FILES
        if upload and not may_join(upload[1], request):
            return "This page is not connected any more. Reload it, and try again."
        return None


def _refusal_of_strangers(request: HTTPConnection) -> str | None:
    """Return why a request is refused for its person or its origin; None if it is not."""
    sign_in, root = settings.access().sign_in, str(config.get_option("server.baseUrlPath")).strip("/")
    path = request.scope["path"].removeprefix(f"/{root}") if root else request.scope["path"]
    if isinstance(sign_in, NoSignIn):
        here, _ = request.scope.get("server") or ("", None)
        if sign_in.way == "none" and not is_loopback(here):
            return "Without sign-in, this server answers to its own machine only (see docs/deploy.md)."
    elif isinstance(sign_in, Header):
        if not HEALTH.fullmatch(path) and (not from_proxy(request, sign_in) or of_request(request) is None):
            return "This server is reached through the proxy that signs people in, and in no other way."
    elif request.scope["type"] == "http" and (request.scope["method"] not in SAFE_METHODS or OF_PEOPLE.match(path)):
        assert isinstance(sign_in, Oidc)
        if of_request(request) is None:
            return "Sign in first: reload the page."
    return None


async def failure(_request: Request, _error: Exception) -> Response:
    """Answer a request that failed, with the headers but without the reason, which is in the log."""
    return PlainTextResponse("This did not work. The log of the server says why.", status_code=500, headers=HEADERS)


def is_same_origin(headers: Headers) -> bool:
    """Whether the request was sent by a page from the same host."""
    return urlsplit(headers.get("origin", "")).netloc == headers.get("host", "") != ""


def _own_hosts() -> list[str]:
    """Return the host names of this server: the operator's list, or its addresses, and always those of this machine."""
    named: list[str] = config.get_option("server.allowedHosts")
    if not named:
        addresses = [config.get_option(option) or "" for option in ("browser.serverAddress", "server.address")]
        named = [address for address in addresses if address not in EVERYWHERE]
    return [*(name.strip().lower().rstrip(".") for name in named), *LOOPBACK]


def _is_among(host: str, names: list[str]) -> bool:
    """Whether a `Host` header names one of these hosts; as in Streamlit's own list, ``*.name`` is any below `name`."""
    try:
        parts = urlsplit(f"//{host}")
        name, _ = parts.hostname, parts.port
    except ValueError:
        return False
    if not name or parts.netloc != host or "@" in host:
        return False
    name = name.rstrip(".")
    return any(
        name == allowed or allowed == "*" or (allowed.startswith("*.") and name.endswith(allowed[1:]))
        for allowed in names
    )


# ---- sessions and the browsers that began them ----

_owners: dict[str, _Owner] = {}


class _Owner:
    """The browser that began a session, by its XSRF token, and the person; kept as long as the session's resources."""

    def __init__(self, session: str, browser: bytes, person: Person | None) -> None:
        self.session, self.browser, self.person = session, browser, person

    def close(self) -> None:
        _owners.pop(self.session, None)


def claim_session(cookies: Mapping[str, str], person: Person | None) -> None:
    """Assign the running session to this person at the browser with these cookies, unless it belongs to somebody."""
    session = session_resources.running_session()
    if session not in _owners:
        _owners[session] = _Owner(session, _browser(cookies), person)
        session_resources.keep(_owners[session], session)


def may_join(session: str, request: HTTPConnection) -> bool:
    """Whether a request comes from the person whose session this is, at the browser that began it."""
    owner = _owners.get(session)
    if owner is None or not hmac.compare_digest(owner.browser, _browser(request.cookies)):
        return False
    return owner.person == of_request(request)


def sessions_of_this_browser(cookies: Mapping[str, str]) -> list[str]:
    """Return all sessions that were begun at the browser with these cookies."""
    browser = _browser(cookies)
    return [owner.session for owner in list(_owners.values()) if hmac.compare_digest(owner.browser, browser)]


def _browser(cookies: Mapping[str, str]) -> bytes:
    return decode_xsrf_token_string(cookies.get(XSRF_COOKIE, ""))[0] or b""


def _without_foreign_session(scope: Scope) -> Scope:
    """Return a WebSocket's scope without the session to join if that is somebody else's, so that a new one begins."""
    if scope["type"] != "websocket":
        return scope
    request = HTTPConnection(scope)
    given = request.headers.get(SUBPROTOCOLS.decode(), "")
    name, token, session, *_ = [*(part.strip() for part in given.split(",")), "", "", ""]
    if not session or may_join(session, request):
        return scope
    headers: list[tuple[bytes, Any]] = [pair for pair in scope["headers"] if pair[0].lower() != SUBPROTOCOLS]
    return {**scope, "headers": [*headers, (SUBPROTOCOLS, f"{name}, {token}".encode("latin-1"))]}
