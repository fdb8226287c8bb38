"""The person who is visiting: that of the running session, or of a request.

The cookie in which Streamlit keeps who signed in is internal to it, and may change with its version.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from ipaddress import ip_address
from typing import Any

import streamlit as st
from starlette.requests import HTTPConnection
from streamlit.auth_util import get_origin_from_redirect_uri
from streamlit.web.server.starlette import starlette_websocket
from streamlit.web.server.starlette.starlette_server_config import USER_COOKIE_NAME

from pages.parts.access import settings
from pages.parts.access.settings import Header, NoSignIn, Oidc

__all__ = ["LOCAL", "Person", "from_proxy", "of_request", "person"]


@dataclass(frozen=True, slots=True)
class Person:
    """Somebody who may use the server. `identity` never changes; `name` is what groups list and the page shows.

    A person without a name is signed in, but no name of theirs is verified, so they are in no group.
    """

    identity: str
    name: str


MAX_AHEAD = 300  # seconds by which the provider's clock may be ahead of this machine's
LOCAL = Person("", "")  # everybody who uses a server without sign-in


def person() -> Person | None:
    """Return the person whose session is running; None if nobody is signed in."""
    return _person(lambda: st.user.to_dict(), lambda name: st.context.headers.get_all(name))


def of_request(request: HTTPConnection) -> Person | None:
    """Return the person who sends a request or opens a connection; None if nobody is signed in there."""
    return _person(lambda: _cookie_claims(request), request.headers.getlist)


def _person(claims: Callable[[], Mapping[str, Any]], headers: Callable[[str], Sequence[str]]) -> Person | None:
    sign_in = settings.access().sign_in
    if isinstance(sign_in, NoSignIn):
        return LOCAL
    if isinstance(sign_in, Oidc):
        return _of_claims(claims(), sign_in)
    return _of_header(headers(sign_in.header))


def from_proxy(request: HTTPConnection, sign_in: Header) -> bool:
    """Whether a request comes from the proxy's own address, as its connection shows it.

    Uvicorn puts the address that X-Forwarded-For names in place of the connection's, if a program of this machine sent
    it, unless FORWARDED_ALLOW_IPS is empty. That header is believed from nobody here: then, the request is refused.
    """
    believed = os.environ.get("FORWARDED_ALLOW_IPS", "127.0.0.1") != ""
    if request.client is None or (believed and "x-forwarded-for" in request.headers):
        return False
    try:
        peer = ip_address(request.client.host)
    except ValueError:
        return False
    return any(peer in network for network in sign_in.proxies)


def _of_claims(claims: Mapping[str, Any], sign_in: Oidc) -> Person | None:
    """Return the person that a provider's claims describe, unless they signed in too long ago.

    A sign-in in the future counts as none: after the clock was set back, it would last until that time and longer.
    """
    issuer, subject, since = (claims.get(name) for name in ("iss", "sub", "iat"))
    if claims.get("is_logged_in") is not True or not isinstance(issuer, str) or not isinstance(subject, str):
        return None
    if not issuer or not subject or not isinstance(since, int | float):
        return None
    if not -MAX_AHEAD <= time.time() - since <= sign_in.lasts.total_seconds():  # NaN is refused too
        return None
    name = claims.get(sign_in.claim)
    certain = sign_in.claim != "email" or claims.get("email_verified") is True
    return Person(f"{issuer} {subject}", name if isinstance(name, str) and certain else "")


def _of_header(values: Sequence[str]) -> Person | None:
    """Return the person whom the proxy's header names; None if the header is missing, repeated or unusable."""
    if len(values) != 1 or not values[0].strip() or not values[0].isprintable():
        return None
    name = values[0].strip()
    return Person(name, name)


def _cookie_claims(request: HTTPConnection) -> Mapping[str, Any]:
    """Return the claims in Streamlit's signed cookie about the person who signed in in this browser."""
    raw = starlette_websocket._get_signed_cookie_with_chunks(request.cookies, USER_COOKIE_NAME)
    if raw is None:
        return {}
    return starlette_websocket._parse_decoded_user_cookie(raw, get_origin_from_redirect_uri() or "")
