"""A browser's tab without a browser: Streamlit's protocol, spoken over its WebSocket and its routes.

It keeps what the page shows as protobuf messages, sets widgets found by their labels, asks for the reruns that
fragments want, answers the question that the page asks its tab, uploads and downloads. It draws nothing, so that many
tabs cost little beside the server that they try.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from itertools import islice
from pathlib import Path
from types import TracebackType
from typing import Any
from urllib.parse import quote, urlsplit

import requests
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ClientState_pb2 import ClientState
from streamlit.proto.Element_pb2 import Element
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.proto.WidgetStates_pb2 import WidgetState
from websockets.sync.client import connect
from websockets.typing import Origin, Subprotocol

__all__ = ["PageError", "Tab"]

PATIENCE = 120.0  # seconds
XSRF = "_streamlit_xsrf"


class PageError(Exception):
    """The page showed an error, or did not come to show what was waited for."""


class Tab:
    """One visitor's tab on the app at `address`, closed at the end of its ``with`` block."""

    def __init__(self, address: str) -> None:
        self._address, self._http = address, requests.Session()
        self._http.trust_env = False  # no proxy knows this machine's localhost
        self._http.get(f"{address}/_stcore/health", timeout=PATIENCE).raise_for_status()
        self._token = self._http.cookies[XSRF]
        host = urlsplit(address).netloc
        self._open = ExitStack()
        self._open.enter_context(self._http)
        self._socket = self._open.enter_context(
            connect(
                f"ws://{host}/_stcore/stream",
                origin=Origin(address),
                subprotocols=[Subprotocol("streamlit"), Subprotocol(self._token)],
                additional_headers={"Cookie": f"{XSRF}={self._token}"},
                max_size=None,
                proxy=None,
            )
        )
        self._shown: dict[tuple[int, ...], Element] = {}
        self._next: dict[tuple[int, ...], Element] = {}
        self._widgets: dict[str, WidgetState] = {}
        self._timers: dict[str, tuple[float, float]] = {}  # fragment: when it is due, and how often, in seconds
        self._pages: dict[str, str] = {}
        self._page = self._query = self._session = ""
        self._answers: dict[str, Any] = {}
        self._running = False
        self._rerun()

    def __enter__(self) -> Tab:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._open.close()

    # ---- what is shown ----

    def find(self, kind: str, label: str, place: int = 0) -> Any:
        """Return the first element of a kind (``"button"``) whose label contains a text, or the one at another place.

        None if there is none.
        """
        matching = (getattr(each, kind) for each in self._shown.values() if each.WhichOneof("type") == kind)
        return next(islice((each for each in matching if label in each.label), place, None), None)

    def zone(self) -> dict[str, Any] | None:
        """Return what the drop zone was given: its address and its token."""
        return next((data for data in self._components() if "arrivals" in data), None)

    def content(self) -> bytes:
        """Return all that the page shows, as it was sent."""
        return b"".join(each.SerializeToString() for each in self._shown.values())

    def texts(self) -> str:
        """Return the Markdown and the alerts of the page."""
        bodies = [getattr(each, kind).body for each in self._shown.values()
                  if (kind := each.WhichOneof("type")) in ("markdown", "alert")]  # fmt: skip
        return "\n".join(bodies)

    def wait_for(self, what: str, look: Callable[[], Any], patience: float = PATIENCE) -> Any:
        """Return what `look` finds as soon as it finds something between two runs of the page.

        Raises PageError if the page shows an exception, or if nothing is found in time.
        """
        until = time.monotonic() + patience
        while self._running or not (result := look()):
            if time.monotonic() > until:
                raise PageError(f"no {what}; the page shows:\n{self.texts()[:2000]}")
            self._step(until)
        return result

    def rest(self, seconds: float) -> None:
        """Pause like a visitor; reruns that the page asks for meanwhile are done."""
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            self._step(until)

    # ---- what a visitor does ----

    def click(self, label: str, place: int = 0) -> None:
        """Click a button, once it can be clicked; the first with this label, or the one at another place."""
        button = self.wait_for(
            f"button {label!r}", lambda: (b := self.find("button", label, place)) and not b.disabled and b
        )
        self._rerun(WidgetState(id=button.id, trigger_value=True))

    def enter(self, kind: str, label: str, value: str | list[str]) -> None:
        """Set a widget: a text, an option, or a list of options."""
        widget = self.wait_for(f"{kind} {label!r}", lambda: self.find(kind, label))
        state = WidgetState(id=widget.id)
        if isinstance(value, str):
            state.string_value = value
        else:
            state.string_array_value.data[:] = value
        self._widgets[widget.id] = state
        self._rerun()

    def visit(self, page: str) -> None:
        """Go to another page, by its name in the address."""
        self._page, self._query = self.wait_for(f"page {page!r}", lambda: self._pages.get(page)), ""
        self._rerun()

    def drop(self, path: Path) -> None:
        """Upload a file to the drop zone."""
        zone = self.wait_for("drop zone", self.zone)
        headers = {"X-Upload-Token": zone["token"], "X-Xsrftoken": self._token, "X-File-Name": quote(path.name)}
        with path.open("rb") as file:
            self._http.put(
                self._address + zone["address"],
                data=file,
                headers={**headers, "Origin": self._address},
                timeout=PATIENCE,
            ).raise_for_status()
        self._rerun()

    def choose_file(self, label: str, name: str, content: bytes) -> None:
        """Give a file to one of Streamlit's own uploaders."""
        uploader = self.wait_for(f"uploader {label!r}", lambda: self.find("file_uploader", label))
        message = BackMsg()
        message.file_urls_request.request_id = "urls"
        message.file_urls_request.session_id = self._session
        message.file_urls_request.file_names.append(name)
        urls = self._ask(message, "urls").file_urls[0]
        self._http.put(
            self._address + urls.upload_url,
            files={"file": (name, content)},
            headers={"X-Xsrftoken": self._token, "Origin": self._address},
            timeout=PATIENCE,
        ).raise_for_status()
        state = WidgetState(id=uploader.id)
        state.file_uploader_state_value.uploaded_file_info.add(
            name=name, size=len(content), file_id=urls.file_id, file_urls=urls
        )
        self._widgets[uploader.id] = state
        self._rerun()

    def ask_for_file(self, label: str) -> str:
        """Click a download button, and return where the file is that is made for it."""
        button = self.wait_for(f"download {label!r}", lambda: self.find("download_button", label))
        if not button.deferred_file_id:
            return str(button.url)
        message = BackMsg()
        message.backend_operation_request.request_id = "file"
        message.backend_operation_request.session_id = self._session
        message.backend_operation_request.deferred_file.file_id = button.deferred_file_id
        return str(self._ask(message, "file").deferred_file.url)

    def fetch(self, place: str) -> bytes:
        """Return the file at a place of the server."""
        answer = self._http.get(self._address + place, timeout=PATIENCE)
        answer.raise_for_status()
        return answer.content

    # ---- the protocol ----

    def _rerun(self, trigger: WidgetState | None = None, fragment: str = "") -> None:
        state = ClientState(query_string=self._query, page_script_hash=self._page, fragment_id=fragment)
        state.is_auto_rerun = bool(fragment)
        state.widget_states.widgets.extend(self._widgets.values())
        if trigger is not None:
            state.widget_states.widgets.append(trigger)
        self._socket.send(BackMsg(rerun_script=state).SerializeToString())
        self._running = True

    def _ask(self, message: BackMsg, request: str) -> Any:
        self._answers.pop(request, None)
        self._socket.send(message.SerializeToString())
        until = time.monotonic() + PATIENCE
        while request not in self._answers:
            if time.monotonic() > until:
                raise PageError(f"no answer to {request}")
            self._step(until)
        return self._answers[request]

    def _step(self, until: float) -> None:
        """Take one message, or wait for what is due next, but no longer than `until`."""
        due = min([until, *(at for at, _ in self._timers.values())])
        try:
            received = self._socket.recv(timeout=max(0.0, due - time.monotonic()))
        except TimeoutError:
            for fragment, (at, every) in list(self._timers.items()):
                if at <= time.monotonic():
                    self._timers[fragment] = time.monotonic() + every, every
                    self._rerun(fragment=fragment)
            return
        assert isinstance(received, bytes)
        self._take(ForwardMsg.FromString(received))

    def _take(self, message: ForwardMsg) -> None:
        match message.WhichOneof("type"):
            case "new_session":
                self._running = True
                if message.new_session.initialize.session_id:
                    self._session = message.new_session.initialize.session_id
                if message.metadata.run.fragment_ids:
                    self._next = self._shown
                else:
                    self._next, self._timers, self._page = {}, {}, message.new_session.page_script_hash
            case "delta":
                self._draw(message)
            case "script_finished":
                if message.script_finished == ForwardMsg.FINISHED_EARLY_FOR_RERUN:
                    return
                if message.script_finished == ForwardMsg.FINISHED_WITH_COMPILE_ERROR:
                    raise PageError("the script of the page cannot be compiled")
                self._running, self._shown = False, self._next
            case "auto_rerun":
                every = message.auto_rerun.interval
                self._timers[message.auto_rerun.fragment_id] = time.monotonic() + every, every
            case "stop_auto_rerun":
                for fragment in message.stop_auto_rerun.fragment_ids:
                    self._timers.pop(fragment, None)
            case "navigation":
                self._pages = {page.url_pathname: page.page_script_hash for page in message.navigation.app_pages}
            case "page_info_changed":
                self._query = message.page_info_changed.query_string
            case "file_urls_response":
                self._answers[message.file_urls_response.response_id] = message.file_urls_response
            case "backend_operation_response":
                self._answers[message.backend_operation_response.request_id] = message.backend_operation_response

    def _draw(self, message: ForwardMsg) -> None:
        if message.delta.WhichOneof("type") != "new_element":
            return
        element = message.delta.new_element
        if element.WhichOneof("type") == "exception":
            raise PageError(f"{element.exception.type}: {element.exception.message}")
        self._next[tuple(message.metadata.delta_path)] = element
        if element.WhichOneof("type") == "bidi_component":
            data = _data(element)
            if data.get("todo") == "send":  # the page asks what this tab has kept: nothing
                headers = {"X-Tab-Token": data["token"], "X-Xsrftoken": self._token, "Origin": self._address}
                self._http.put(self._address + data["address"], data=b"", headers=headers, timeout=PATIENCE)

    def _components(self) -> Iterator[dict[str, Any]]:
        return (_data(each) for each in self._shown.values() if each.WhichOneof("type") == "bidi_component")


def _data(element: Element) -> dict[str, Any]:
    component = element.bidi_component
    data = json.loads(component.json or component.mixed.json or "{}")
    return data if isinstance(data, dict) else {}
