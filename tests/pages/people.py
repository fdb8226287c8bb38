"""People for tests of the pages: an operator's settings for sign-in, and somebody who is signed in."""

from __future__ import annotations

import time
import tomllib
from collections.abc import Mapping
from typing import Any

import pytest
from streamlit.runtime.pages_manager import PagesManager
from streamlit.user_info import UserInfoProxy

from pages.parts.access import settings
from pages.parts.access.settings import Access

__all__ = ["PROVIDER", "always_by_the_entry", "claims", "set_rules", "sign_in"]

ISSUER = "https://provider.example"
PROVIDER = f"""
[sign_in]
way = "oidc"
[auth]
redirect_uri = "http://localhost:8501/oauth2callback"
cookie_secret = "{"0123456789abcdef" * 2}"
client_id = "release"
client_secret = "of the test"
server_metadata_url = "{ISSUER}/.well-known/openid-configuration"
"""


def set_rules(monkeypatch: pytest.MonkeyPatch, secrets: str) -> Access:
    """Have the app use the settings in this text of a secrets file."""
    rules = settings.read(tomllib.loads(secrets))
    monkeypatch.setattr(settings, "_read", rules)
    return rules


def claims(email: str, **others: Any) -> dict[str, Any]:
    """Return the claims of a provider about somebody who has just signed in."""
    values = {"iss": ISSUER, "sub": f"subject of {email}", "iat": time.time(), "is_logged_in": True}
    return values | {"email": email, "email_verified": True} | others


def sign_in(monkeypatch: pytest.MonkeyPatch, email: str | None, **others: Any) -> None:
    """Have Streamlit say that this person is signed in, or nobody for None."""
    values: Mapping[str, Any] = {"is_logged_in": False} if email is None else claims(email, **others)
    monkeypatch.setattr(UserInfoProxy, "to_dict", lambda _: dict(values))


def always_by_the_entry(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have each run of a test's app begin with app.py, as on a server; otherwise files of pages run by themselves."""
    begin = PagesManager.__init__

    def begun(self: PagesManager, *given: Any, **named: Any) -> None:
        begin(self, *given, **named)
        PagesManager.uses_pages_directory = False

    monkeypatch.setattr(PagesManager, "__init__", begun)
