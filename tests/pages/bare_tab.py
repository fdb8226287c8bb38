"""A tab without a browser for tests of single requests: a test may forge their headers, cookies and session."""

from __future__ import annotations

import http.client
import re
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from socket import create_connection
from urllib.parse import quote, urlsplit

from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from websockets.sync.client import ClientConnection, connect
from websockets.typing import Origin, Subprotocol

from tests.serving import Served

__all__ = ["Answer", "Tab", "ask", "cookie_of", "opened"]

PATIENCE = 60.0  # seconds
HERE = "127.0.0.1"


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer of the server; the names of its headers are in lower case."""

    status: int
    headers: dict[str, str]
    text: str


def ask(
    app: Served,
    path: str,
    method: str = "GET",
    headers: Mapping[str, str] | None = None,
    body: bytes = b"",
    *,
    sender: str = HERE,
) -> Answer:
    """Send one request from a loopback address; `headers` may hold a `Host` of the test's choice."""
    url = urlsplit(app.address)
    connection = http.client.HTTPConnection(str(url.hostname), url.port, PATIENCE, (sender, 0))
    with closing(connection):
        connection.request(method, path, body or None, dict(headers or {}))
        with connection.getresponse() as answer:
            found = {name.lower(): value for name, value in answer.getheaders()}
            return Answer(answer.status, found, answer.read().decode(errors="replace"))


def cookie_of(app: Served) -> str:
    """Return the XSRF token that a new browser is given as a cookie."""
    return ask(app, "/_stcore/health").headers["set-cookie"].partition(";")[0].partition("=")[2]


@dataclass
class Tab:
    """An open tab: its session, and what the page has sent to it, as text."""

    app: Served
    socket: ClientConnection
    cookie: str
    headers: Mapping[str, str] = field(default_factory=dict)
    session: str = ""
    received: list[str] = field(default_factory=list)

    def run(self) -> Tab:
        """Run the page, as a browser does when it opens, and wait until it is drawn."""
        request = BackMsg()
        request.rerun_script.query_string = ""
        self.socket.send(request.SerializeToString())
        while True:
            payload = self.socket.recv(timeout=PATIENCE)
            assert isinstance(payload, bytes)
            message = ForwardMsg.FromString(payload)
            kind = message.WhichOneof("type")
            if kind == "new_session":
                self.session = message.new_session.initialize.session_id
            if kind == "script_finished":
                return self
            text = payload.decode(errors="replace")
            self.received.append(text)
            match = re.search(r'"todo": "send".*"token": "([\w-]{43})"', text)
            if match:
                self.put("/tab", {"X-Tab-Token": match[1]})  # this tab keeps no plan

    def upload(self, name: str, content: bytes) -> Answer:
        """Send a file to the drop zone of the page that was run."""
        token = re.findall(r'"address": "/upload", "token": "([\w-]{43})"', "".join(self.received))[-1]
        return self.put("/upload", {"X-Upload-Token": token, "X-File-Name": quote(name)}, content)

    def put(self, path: str, headers: dict[str, str], body: bytes = b"") -> Answer:
        """Send something to a route, as a script of the page would."""
        own = {
            "Origin": self.app.address,
            "Cookie": f"_streamlit_xsrf={self.cookie}",
            "X-Xsrftoken": self.cookie,
            "Content-Length": str(len(body)),
            **self.headers,
        }
        return ask(self.app, path, "PUT", own | headers, body)


@contextmanager
def opened(
    app: Served,
    *,
    cookie: str = "",
    session: str = "",
    origin: str = "",
    host: str = "",
    headers: Mapping[str, str] | None = None,
    sender: str = HERE,
) -> Iterator[Tab]:
    """Open a tab from a loopback address; with a `cookie`, in the browser that has it, else in a new one.

    `session` is one that the tab asks to join. `headers` are added to all requests, as a proxy does.

    Raises `websockets.exceptions.InvalidStatus` if the server refuses it.
    """
    cookie_sent = cookie or cookie_of(app)
    url = urlsplit(app.address)
    with connect(
        f"ws://{host or url.netloc}/_stcore/stream",
        origin=Origin(origin or app.address),
        subprotocols=[Subprotocol(text) for text in ("streamlit", cookie_sent, session) if text],
        additional_headers={"Cookie": f"_streamlit_xsrf={cookie_sent}", **(headers or {})},
        sock=create_connection((str(url.hostname), url.port), source_address=(sender, 0)),  # wherever `host` may point
        max_size=None,
        proxy=None,
    ) as socket:
        yield Tab(app, socket, cookie_sent, headers or {})
