"""Who may talk to the server, and what every answer says to the browser: against the app as it is served."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from starlette.requests import Request
from streamlit import config
from websockets.exceptions import InvalidStatus

from pages.parts.access import settings
from pages.parts.server.request_guard import HEADERS, POLICY, RequestGuard, failure
from tests import serving
from tests.pages.bare_tab import Answer, ask, cookie_of, opened
from tests.serving import Served, served

EVIL = "http://evil.example"
pytestmark = pytest.mark.xdist_group("request guard")  # its server is started once


class Outside:
    """A proxy that all requests of the server to the world outside would pass; it notes them, and refuses."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        outside = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                outside.asked.append(self.path)
                self.send_error(503)

            do_CONNECT = do_GET

            def log_message(self, *_: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    @property
    def environment(self) -> dict[str, str]:
        address = f"http://127.0.0.1:{self.server.server_port}"
        names = ("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY")
        return dict.fromkeys(names, address) | {"no_proxy": "", "NO_PROXY": ""}


@pytest.fixture(scope="module")
def outside() -> Iterator[Outside]:
    listening = Outside()
    yield listening
    listening.server.shutdown()
    listening.server.server_close()


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory, outside: Outside) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("served")
    environment = outside.environment | {"STREAMLIT_SERVER_DISCONNECTED_SESSION_TTL": "1"}
    with served(folder, **environment) as running:
        yield running
        log = (folder / "log").read_text()
    assert "Traceback" not in log


# ---- other pages ----


def test_a_socket_of_another_page_is_refused_and_nothing_outside_is_asked(app: Served, outside: Outside) -> None:
    for origin in (EVIL, "null", "https://localhost.evil.example", f"{app.address}.evil.example"):
        with pytest.raises(InvalidStatus) as refused, opened(app, origin=origin):
            pass
        assert refused.value.response.status_code == 403
        assert refused.value.response.body == b"Only a page of this server may send this."
        assert refused.value.response.headers["Content-Security-Policy"] == HEADERS["Content-Security-Policy"]
    assert outside.asked == []


@pytest.mark.parametrize("path", ["/upload", "/tab", "/_stcore/upload_file/session/file", "/"])
@pytest.mark.parametrize("method", ["PUT", "POST", "DELETE"])
def test_what_another_page_sends_is_refused(app: Served, path: str, method: str) -> None:
    assert ask(app, path, method, {"Origin": EVIL}).status == 403


# ---- names that point here (DNS rebinding) ----


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:8501", "localhost.evil.example", "localhost@evil.example", "[::1", ""]
)
def test_under_a_foreign_name_nothing_is_served(app: Served, host: str) -> None:
    for path in ("/", "/health", "/_stcore/health", "/_stcore/host-config", "/static/x.js", "/media/x", "/upload"):
        refused = ask(app, path, "PUT" if path == "/upload" else "GET", {"Host": host, "Origin": f"http://{host}"})
        assert refused.status == 403
        assert "server.allowedHosts" in refused.text
        assert "set-cookie" not in refused.headers


def test_under_a_foreign_name_no_socket_opens(app: Served) -> None:
    with pytest.raises(InvalidStatus) as refused, opened(app, host="evil.example:8501", origin=f"{EVIL}:8501"):
        pass
    assert refused.value.response.status_code == 403


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST:80", "127.0.0.1:8501", "[::1]:8501", "localhost."])
def test_this_machine_has_its_usual_names(app: Served, host: str) -> None:
    assert ask(app, "/_stcore/health", headers={"Host": host}).status == 200


@pytest.mark.parametrize(
    ("options", "own", "foreign"),
    [
        ({}, ["localhost", "127.0.0.1:9", "[::1]"], ["release.example", "0.0.0.0"]),
        ({"server.address": "10.0.0.7"}, ["10.0.0.7:8501", "localhost"], ["10.0.0.8"]),
        ({"server.address": "0.0.0.0"}, ["localhost"], ["0.0.0.0", "10.0.0.7"]),
        ({"browser.serverAddress": "release.example"}, ["release.example", "localhost"], ["www.release.example"]),
        ({"server.allowedHosts": ["Release.example", "*.office.example"]},
         ["release.example", "a.office.example:443", "127.0.0.1"], ["office.example", "release.example.evil"]),
    ],
)  # fmt: skip
def test_the_operator_says_which_names_are_its_own(
    monkeypatch: pytest.MonkeyPatch, options: dict[str, Any], own: list[str], foreign: list[str]
) -> None:
    given = {
        "server.baseUrlPath": "",
        "server.allowedHosts": [],
        "server.address": None,
        "browser.serverAddress": "localhost",
    } | options
    monkeypatch.setattr(config, "get_option", given.__getitem__)
    monkeypatch.setattr(settings, "_read", settings.Access())

    async def application(*_: object) -> None:
        raise AssertionError

    guard = RequestGuard(application)
    for host in (*own, *foreign):
        scope = {"type": "http", "method": "GET", "path": "/", "headers": [(b"host", host.encode())]}
        scope["server"] = ("127.0.0.1", 8501)
        assert (guard._refusal(Request(scope)) is None) == (host in own), host


# ---- headers ----


def answers(app: Served) -> Iterator[Answer]:
    index = ask(app, "/")
    yield index
    script = index.text.partition('type="module" crossorigin src=".')[2].partition('"')[0]
    for path in (script, "/accuracy", "/health", "/_stcore/health", "/_stcore/host-config", "/favicon.png"):
        found = ask(app, path)
        assert found.status == 200, path
        yield found
    yield ask(app, "/", headers={"Host": "evil.example"})
    yield ask(app, "/upload", "PUT")
    yield ask(app, "/media/nothing")
    yield ask(app, "/%2e%2e/%2e%2e/etc/passwd")
    yield ask(app, "/_stcore/stream", "POST")


def test_every_answer_carries_the_headers(app: Served) -> None:
    for answer in answers(app):
        for name, value in HEADERS.items():
            assert answer.headers.get(name.lower()) == value


def test_an_answer_to_a_request_that_failed_carries_them_too_and_tells_nothing() -> None:
    with ThreadPoolExecutor(1) as pool:  # a thread of its own: a browser's driver may run a loop in this one
        answer = pool.submit(lambda: asyncio.run(failure(Request({"type": "http"}), RuntimeError("a row")))).result()
    assert answer.status_code == 500
    assert dict(answer.headers).items() >= {name.lower(): value for name, value in HEADERS.items()}.items()
    assert b"a row" not in answer.body


def test_the_policy_lets_nothing_in_from_elsewhere() -> None:
    assert POLICY["default-src"] == POLICY["frame-ancestors"] == POLICY["object-src"] == POLICY["base-uri"] == "'none'"
    sources = {source for listed in POLICY.values() for source in listed.split()}
    local = {source for source in sources if not source.startswith("'sha256-")}
    assert local == {"'none'", "'self'", "'unsafe-inline'", "data:", "blob:"}
    assert "'unsafe-inline'" not in POLICY["script-src"]
    assert "data:" not in POLICY["script-src"]


def test_the_guide_for_operators_gives_every_header_and_every_exception_a_reason() -> None:
    guide = (serving.ROOT / "docs" / "deploy.md").read_text(encoding="utf-8")
    assert [name for name in HEADERS if f"`{name}" not in guide] == []
    assert [word for word in ("`blob:`", "`'unsafe-inline'`", "`data:`", "frame-ancestors") if word not in guide] == []


# ---- sessions ----


def test_a_session_is_joined_only_from_the_browser_that_began_it(app: Served) -> None:
    with opened(app) as own:
        session = own.run().session
        with opened(app, session=session) as thief:
            assert thief.run().session != session
        for method in ("PUT", "DELETE"):
            path, forged = f"/_stcore/upload_file/{session}/file", cookie_of(app)
            headers = {"Cookie": f"_streamlit_xsrf={forged}", "X-Xsrftoken": forged}
            assert ask(app, path, method, headers).status == 403
    with opened(app, cookie=own.cookie, session=session) as again:
        assert again.run().session == session, "a connection that broke off is taken up again"


def test_a_session_that_nobody_knows_is_not_joined(app: Served) -> None:
    with opened(app, session="00000000-0000-0000-0000-000000000000") as tab:
        assert tab.run().session != "00000000-0000-0000-0000-000000000000"


# ---- files ----


@pytest.mark.parametrize(
    "name", ["a.\0.csv", "\0.csv", "a\r\nb.csv", "../../x.csv", "a.\u202egz.csv", "." * 300 + "csv"]
)
def test_no_name_of_a_file_is_a_fault_of_the_server(app: Served, name: str) -> None:
    with opened(app) as tab:
        assert tab.run().upload(name, b"a,b\n1,2\n").status == 204
        assert [path.name for path in app.uploads()].count("table.csv") >= 1


@pytest.mark.nightly
def test_uploads_go_with_their_visitors_also_while_others_come(app: Served) -> None:
    for number in range(4):
        with opened(app) as tab:
            assert tab.run().upload(f"{number}.csv", b"a,b\n1,2\n").status == 204
    assert len(app.uploads()) >= 4
    for _ in range(6):  # each of them makes Streamlit drop the sessions that have expired
        time.sleep(0.4)
        with opened(app) as other:
            other.run()
    until = time.monotonic() + 60
    while app.uploads() and time.monotonic() < until:
        time.sleep(0.1)
    assert app.uploads() == []
