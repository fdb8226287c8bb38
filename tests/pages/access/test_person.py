"""Identities of people, from a sign-in provider or a proxy, each trusted only as far as the settings allow."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from typing import Any

import pytest
from starlette.requests import HTTPConnection, Request
from streamlit import config
from streamlit.web.server.starlette.starlette_app_utils import create_signed_value
from streamlit.web.server.starlette.starlette_server_config import USER_COOKIE_NAME

from pages.parts.access import person, settings
from pages.parts.access.accounts import May, accounts_of
from pages.parts.access.person import LOCAL, Person, of_request
from pages.parts.access.settings import Header, Oidc
from pages.parts.server import request_guard
from pages.parts.server.request_guard import RequestGuard
from tests.pages.people import PROVIDER, claims, set_rules

ANN = "ann@example.org"
HEADER = '[sign_in]\nway = "header"\nheader = "X-Release-Person"\nproxies = ["10.0.0.5", "fd00::/64"]\n'


def oidc(**changes: Any) -> Oidc:
    return Oidc.model_validate({"way": "oidc", **changes})


def request(
    *headers: tuple[str, str],
    client: str = "10.0.0.5",
    kind: str = "http",
    method: str = "GET",
    path: str = "/",
    server: str = "127.0.0.1",
) -> HTTPConnection:
    """A request as the server gets it: from which address, with which headers, to which of its own addresses."""
    raw = [(name.lower().encode(), value.encode()) for name, value in (("Host", "localhost"), *headers)]
    scope = {"type": kind, "path": path, "headers": raw, "client": (client, 4711), "server": (server, 8501)}
    return HTTPConnection(scope | ({"method": method} if kind == "http" else {}))


@pytest.fixture(autouse=True)
def own_name(monkeypatch: pytest.MonkeyPatch) -> None:
    given = {"server.allowedHosts": [], "server.address": "localhost", "server.baseUrlPath": "",
             "browser.serverAddress": "localhost"}  # fmt: skip
    real = config.get_option
    monkeypatch.setattr(config, "get_option", lambda name: given[name] if name in given else real(name))


def refused(asked: HTTPConnection) -> bool:
    async def application(*_: object) -> None:
        raise AssertionError

    return RequestGuard(application)._refusal(asked) is not None


# ---- what a provider says ----


def test_a_person_is_known_by_issuer_and_subject_and_named_by_a_verified_address() -> None:
    assert person._of_claims(claims(ANN), oidc()) == Person(f"https://provider.example subject of {ANN}", ANN)
    moved = person._of_claims(claims("new@example.org", sub=f"subject of {ANN}"), oidc())
    assert moved is not None
    assert moved.identity == f"https://provider.example subject of {ANN}", "another address, the same person"
    reassigned = person._of_claims(claims(ANN, sub="another"), oidc())
    assert reassigned is not None
    assert reassigned.identity != moved.identity, "the same address, another person"


@pytest.mark.parametrize("verified", [False, None, "true", 1])
def test_an_address_that_is_not_verified_names_nobody(verified: object) -> None:
    found = person._of_claims(claims(ANN, email_verified=verified), oidc())
    assert found is not None
    assert found.name == ""


def test_an_operator_may_name_people_by_another_claim() -> None:
    found = person._of_claims(claims(ANN, oid="7"), oidc(claim="oid"))
    assert found is not None
    assert found.name == "7"


@pytest.mark.parametrize(
    "changes",
    [
        {"is_logged_in": False}, {"is_logged_in": "true"}, {"is_logged_in": None}, {"iss": ""}, {"iss": None},
        {"sub": ""}, {"sub": 7}, {"iat": None}, {"iat": "now"}, {"iat": 0}, {"iat": time.time() - 13 * 3600},
        {"iat": time.time() + 3600}, {"iat": float("nan")}, {"iat": float("inf")},
    ],
)  # fmt: skip
def test_without_a_recent_sign_in_a_visitor_is_nobody(changes: dict[str, Any]) -> None:
    assert person._of_claims(claims(ANN, **changes), oidc()) is None


def test_a_clock_that_is_set_back_prolongs_no_sign_in(monkeypatch: pytest.MonkeyPatch) -> None:
    signed_in, clock = claims(ANN), time.time
    monkeypatch.setattr(person.time, "time", lambda: clock() - 60)
    assert person._of_claims(signed_in, oidc()) is not None, "clocks differ by a minute"
    for off in (-40 * 86400, 40 * 86400):
        monkeypatch.setattr(person.time, "time", lambda off=off: clock() + off)
        assert person._of_claims(signed_in, oidc()) is None


def signed(monkeypatch: pytest.MonkeyPatch, secret: str = "0123456789abcdef" * 2, **changes: Any) -> HTTPConnection:
    """A request with the cookie that Streamlit gives to who has signed in."""
    monkeypatch.setattr(person.starlette_websocket, "get_cookie_secret", lambda: "0123456789abcdef" * 2)
    monkeypatch.setattr(person, "get_origin_from_redirect_uri", lambda: "http://localhost:8501")
    value = json.dumps(claims(ANN, **{"origin": "http://localhost:8501", **changes}))
    cookie = create_signed_value(secret, USER_COOKIE_NAME, value).decode()
    return request(("Cookie", f"{USER_COOKIE_NAME}={cookie}"), path="/media/a.csv")


def test_the_cookie_of_a_signed_in_person_identifies_them(monkeypatch: pytest.MonkeyPatch) -> None:
    set_rules(monkeypatch, PROVIDER)
    asked = signed(monkeypatch)
    found = of_request(asked)
    assert found is not None
    assert found.name == ANN
    assert not refused(asked)


def test_a_cookie_that_is_forged_old_or_foreign_identifies_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    set_rules(monkeypatch, PROVIDER)
    bad = [
        signed(monkeypatch, secret="f" * 32),
        signed(monkeypatch, origin="http://evil.example"),
        signed(monkeypatch, iat=0),
        request(("Cookie", f"{USER_COOKIE_NAME}=e30.x.y"), path="/media/a.csv"),
        request(("Cookie", f"{USER_COOKIE_NAME}="), path="/media/a.csv"),
        request(path="/media/a.csv"),
    ]
    for asked in bad:
        assert of_request(asked) is None
        assert refused(asked)


@pytest.mark.parametrize(
    ("method", "path"),
    [("PUT", "/upload"), ("PUT", "/tab"), ("GET", "/media/0.csv"), ("GET", "//media/0.csv"), ("HEAD", "/media/0.csv"),
     ("GET", "/upload"), ("PUT", "/_stcore/upload_file/s/f"), ("DELETE", "/_stcore/upload_file/s/f"), ("POST", "/"),
     ("GET", "/_stcore/metrics"), ("POST", "/_stcore/agent/run"), ("GET", "/_stcore/agent"), ("PUT", "/anything")],
)  # fmt: skip
def test_nothing_of_visitors_is_served_or_taken_without_sign_in(
    monkeypatch: pytest.MonkeyPatch, method: str, path: str
) -> None:
    set_rules(monkeypatch, PROVIDER)
    assert refused(request(method=method, path=path))


@pytest.mark.parametrize("path", ["/", "/budget", "/static/js/index.js", "/static/media/icons.woff2", "/health",
                                  "/_stcore/health", "/auth/login", "/oauth2callback"])  # fmt: skip
def test_the_door_itself_is_open(monkeypatch: pytest.MonkeyPatch, path: str) -> None:
    set_rules(monkeypatch, PROVIDER)
    assert not refused(request(path=path))


# ---- what a proxy says ----


@pytest.mark.parametrize("kind", ["http", "websocket"])
@pytest.mark.parametrize("client", ["10.0.0.5", "fd00::7"])
def test_the_proxy_names_the_person(monkeypatch: pytest.MonkeyPatch, kind: str, client: str) -> None:
    set_rules(monkeypatch, HEADER)
    asked = request(("X-Release-Person", ANN), client=client, kind=kind)
    assert not refused(asked)
    assert of_request(asked) == Person(ANN, ANN)


SPOOFS: list[tuple[Sequence[tuple[str, str]], str]] = [
    ([("X-Release-Person", ANN)], "10.0.0.6"),
    ([("X-Release-Person", ANN)], "127.0.0.1"),
    ([("X-Release-Person", ANN)], "fd00:0:0:1::7"),
    ([("X-Release-Person", ANN)], "::ffff:10.0.0.5"),
    ([("X-Release-Person", ANN)], "10.0.0.5.evil.example"),
    ([("X-Release-Person", ANN), ("X-Forwarded-For", "10.0.0.5")], "127.0.0.1"),
    ([("X-Release-Person", ANN), ("X-Forwarded-For", "10.0.0.5")], "10.0.0.5"),
    ([("X-Release-Person", ANN), ("Forwarded", "for=10.0.0.5")], "10.0.0.6"),
    ([("X-Release-Person", ANN), ("X-Real-IP", "10.0.0.5")], "10.0.0.6"),
    ([("X-Release-Person", ANN), ("X-Release-Person", "bea@example.org")], "10.0.0.5"),
    ([("X-Release-Person", ANN), ("x-release-person", ANN)], "10.0.0.5"),
    ([("X-Release-Person", "")], "10.0.0.5"),
    ([("X-Release-Person", "  ")], "10.0.0.5"),
    ([("X-Release-Person", "ann\x00@example.org")], "10.0.0.5"),
    ([("X_Release_Person", ANN)], "10.0.0.5"),
    ([("X-Forwarded-User", ANN)], "10.0.0.5"),
    ([], "10.0.0.5"),
]


@pytest.mark.parametrize("kind", ["http", "websocket"])
@pytest.mark.parametrize(("headers", "client"), SPOOFS)
def test_only_the_proxy_identifies_people(
    monkeypatch: pytest.MonkeyPatch, headers: Sequence[tuple[str, str]], client: str, kind: str
) -> None:
    monkeypatch.delenv("FORWARDED_ALLOW_IPS", raising=False)
    set_rules(monkeypatch, HEADER)
    for path in ("/", "/upload", "/media/0.csv", "/_stcore/stream", "/static/x.js", "/_stcore/host-config"):
        assert refused(request(*headers, client=client, kind=kind, path=path))


def test_the_address_that_a_request_tells_is_passed_over_where_the_server_does_not_believe_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    set_rules(monkeypatch, HEADER)
    monkeypatch.setenv("FORWARDED_ALLOW_IPS", "")
    told = [("X-Release-Person", ANN), ("X-Forwarded-For", "10.0.0.5")]
    assert not refused(request(*told, client="10.0.0.5"))
    assert refused(request(*told, client="127.0.0.1"))


def test_the_health_check_answers_anybody_at_any_address(monkeypatch: pytest.MonkeyPatch) -> None:
    set_rules(monkeypatch, HEADER)
    assert not refused(request(client="127.0.0.1", path="/health"))
    assert not refused(request(client="127.0.0.1", path="/_stcore/health"))
    assert refused(request(client="127.0.0.1", path="/health/../upload"))


def test_a_proxy_of_several_addresses_is_a_setting() -> None:
    proxy = Header.model_validate({"way": "header", "header": "X-Who", "proxies": ["10.0.0.0/24"]})
    assert person.from_proxy(request(client="10.0.0.200"), proxy)
    assert not person.from_proxy(request(client="10.0.1.1"), proxy)
    nowhere = Request({"type": "http", "headers": [], "client": None})
    assert not person.from_proxy(nowhere, proxy)


# ---- nobody ----


@pytest.mark.parametrize("server", ["10.0.0.7", "0.0.0.0", "192.168.1.2", ""])
@pytest.mark.parametrize("kind", ["http", "websocket"])
def test_without_sign_in_another_machine_is_refused(monkeypatch: pytest.MonkeyPatch, server: str, kind: str) -> None:
    set_rules(monkeypatch, "")
    assert refused(request(server=server, kind=kind))
    set_rules(monkeypatch, '[sign_in]\nway = "open"')
    assert not refused(request(server=server, kind=kind))


def test_without_sign_in_all_are_the_local_person_who_may_all(monkeypatch: pytest.MonkeyPatch) -> None:
    set_rules(monkeypatch, "")
    assert of_request(request(("X-Release-Person", ANN))) == LOCAL
    (account,) = accounts_of(LOCAL)
    assert (account.owner, account.may, account.connections) == ("", {May.PUBLISH, May.CAP}, None)
    assert accounts_of(Person(ANN, ANN)) == []


# ---- sessions ----


def test_a_session_is_joined_by_the_person_who_began_it_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    set_rules(monkeypatch, HEADER)
    monkeypatch.setattr(request_guard, "_owners", {})
    monkeypatch.setattr(request_guard.session_resources, "running_session", lambda: "the session")
    cookie = "2|5f5f5f5f|5f5f5f5f|1700000000"
    request_guard.claim_session({"_streamlit_xsrf": cookie}, Person(ANN, ANN))
    mine = ("Cookie", f"_streamlit_xsrf={cookie}")
    assert request_guard.may_join("the session", request(("X-Release-Person", ANN), mine))
    assert not request_guard.may_join("the session", request(("X-Release-Person", "bea@example.org"), mine))
    assert not request_guard.may_join("the session", request(("X-Release-Person", ANN)))
    assert not request_guard.may_join("another", request(("X-Release-Person", ANN), mine))
    request_guard.claim_session({"_streamlit_xsrf": cookie}, Person("bea", "bea"))
    assert request_guard._owners["the session"].person == Person(ANN, ANN), "it stays whose it was"


def test_settings_are_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    first = set_rules(monkeypatch, "")
    monkeypatch.setattr(settings, "_secrets", lambda: pytest.fail("read again"))
    assert settings.access() is first
