"""A demonstration: samples only, no file by any way, each visitor alone with a ledger that goes when they leave."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.testclient import TestClient

from dpengine import installed
from pages.parts.access import accounts, settings
from pages.parts.access.person import LOCAL
from pages.parts.server import health_route, session_resources, upload_route
from pages.parts.server.request_guard import RequestGuard
from pages.parts.shared import demo
from pages.parts.visit.plan.entries import Entries
from pages.parts.visit.project.history import History
from pages.parts.visit.state import VISIT
from tests.pages.people import PROVIDER, always_by_the_entry, set_rules
from tests.pages.visits import press, settled, texts, visit, visit_of

OTHERS = ("pages/accuracy.py", "pages/budget.py", "pages/ask.py", "pages/verify.py", "pages/labs/learn.py")


@pytest.fixture(autouse=True)
def demonstration(monkeypatch: pytest.MonkeyPatch) -> None:
    """The server is one."""
    monkeypatch.setenv(installed.DEMO, "1")
    always_by_the_entry(monkeypatch)


def test_it_says_so_on_every_page_and_takes_a_file_on_none() -> None:
    page = visit()
    for other in ("", *OTHERS):
        at = page.switch_page(other).run() if other else page
        assert not at.exception
        assert "Demonstration with public samples." in texts(at), other
        assert not at.get("file_uploader"), other
    visit_of(page).tour = 0
    assert "It takes no files." not in texts(page.run()), "one line, beside the tour's own box"
    visit_of(page).tour = None
    verify = page.switch_page("pages/verify.py").run()
    assert "takes no files" in texts(verify)
    assert "is read here" not in texts(verify)
    assert not verify.text_area, "there is no file whose key could be compared"


def test_visitors_do_not_see_each_others_spending_and_leave_nothing() -> None:
    ann, bea = visit(), visit()
    ann.button(key="sample_rand").click().run()
    settled(press(ann, "Publish once"))
    (entry,) = visit_of(ann).ledger.history()
    assert visit_of(bea).ledger.history() == []
    assert entry.dataset in texts(ann.switch_page("pages/budget.py").run())
    assert entry.dataset not in texts(bea.switch_page("pages/budget.py").run())
    assert visit_of(ann).ledger.address is None, "it is in memory alone"


@pytest.mark.nightly
def test_what_a_visitor_did_is_gone_once_they_have_left(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session_resources, "running_session", lambda: "of the visitor")
    page = visit()
    page.button(key="sample_rand").click().run()
    settled(press(page, "Publish once"))
    state: Any = page.session_state[VISIT]
    ledger, released = weakref.ref(state.ledger), state.release or state.ledger.history()
    assert released
    del released
    session_resources.clear("of the visitor")
    gc.collect()
    assert ledger() is None
    assert (state.table, state.release, state.plan) == (None, None, None)
    assert (state.entries, state.history) == (Entries(), History()), "nor what was decided"


def test_no_route_accepts_a_file() -> None:
    app = RequestGuard(Starlette(routes=upload_route.routes()))
    client = TestClient(app, base_url="http://localhost", client=("127.0.0.1", 1))
    refused = client.put(upload_route.ADDRESS, content=b"a,b\n1,2\n", headers={"X-File-Name": "a.csv"})
    assert (refused.status_code, demo.NO_FILES in refused.text) == (403, True)
    refused = client.put("/_stcore/upload_file/session/file", content=b"a")
    assert (refused.status_code, demo.NO_FILES in refused.text) == (403, True)
    assert [account.connections for account in accounts.accounts_of(LOCAL)] == [frozenset()], "no database either"


def test_it_is_healthy_without_a_ledger_and_has_no_sign_in(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PRIVATE_RELEASE_LEDGER", "sqlite:////nowhere/ledger.db")
    with TestClient(Starlette(routes=health_route.routes())) as client:
        assert client.get("/health").status_code == 200
    set_rules(monkeypatch, PROVIDER)
    with pytest.raises(settings.AccessError, match="without sign-in"):
        settings.check_start()


def test_the_command_serves_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(installed.DEMO)
    begun: list[Any] = []
    monkeypatch.setattr(installed.os, "execve", lambda *given: begun.append(given) or exit())
    with pytest.raises(SystemExit):
        installed.run_page(["--server.port", "8502"], demo=True)
    ((_, command, environment),) = begun
    assert command[-2:] == ["--server.port", "8502"]
    assert environment[installed.DEMO] == "1"
