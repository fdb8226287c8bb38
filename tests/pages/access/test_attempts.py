"""Attempts to get at what belongs to another owner: each at something that is there, and each refused.

Ann's group has a release, an answer, a choice, a cap, a release under way, a place for uploads, a question to a tab and
a plan in a tab. Others try to read, spend, change or join them, as a browser could and in some ways that it could not.
Ann herself must succeed in each case: otherwise a refusal would prove nothing.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.responses import PlainTextResponse
from starlette.routing import Route
from streamlit import runtime
from streamlit.testing.v1 import AppTest

import dpengine as dpe
from dpengine import BudgetError, Ledger, Plan
from dpengine.accounting.approval.request import Actor
from dpengine.accounting.entry import Kind
from pages.parts.access.accounts import Account, May, accounts_of
from pages.parts.access.person import Person
from pages.parts.server import jobs, request_guard, session_resources, tab_route, upload_route, uploads
from pages.parts.server.request_guard import RequestGuard
from pages.parts.visit import saved_draft, state
from pages.parts.visit.plan import plan_form
from pages.parts.visit.plan.entries import Draft
from pages.parts.visit.state import VISIT, VisitState
from tests.charges import charge
from tests.pages.people import PROVIDER, always_by_the_entry, set_rules, sign_in
from tests.pages.visits import ENTRY, texts, whole
from tests.plans import CLINIC

ANN, VERA, BEA, ZOE = (f"{name}@example.org" for name in ("ann", "vera", "bea", "zoe"))
GROUPS = f"""
[groups.clinic]
owners = ["{ANN}"]
stewards = ["sam@example.org"]
viewers = ["{VERA}"]
[groups.school]
owners = ["{BEA}"]
"""
PROXY = '[sign_in]\nway = "header"\nheader = "X-Release-Person"\nproxies = ["10.0.0.5"]\n' + GROUPS
CLINIC_OWNER, TITLE, DATASET = "group:clinic", "Secret survey of the clinic", "secret-clinic"
PLAN = Plan.loads(CLINIC.replace("clinic-2026", DATASET).replace("Clinic survey 2026", TITLE))
ROWS = pa.table({"age": ["1", "40"], "region": ["North", "South"], "visit": ["2024-01-01", "2024-05-05"]})


@dataclass(frozen=True, slots=True)
class Belongings:
    """What Ann's group has in the ledger, by the ids that others may have got to know."""

    url: str
    release: str
    answer: str
    choice: str
    fingerprint: bytes
    plan_id: str
    request: str

    def of(self, owner: str) -> Ledger:
        return Ledger(self.url, owner)


@pytest.fixture(scope="module")
def hers(tmp_path_factory: pytest.TempPathFactory) -> Belongings:
    url = f"sqlite:///{tmp_path_factory.mktemp('attempts') / 'ledger.db'}"
    ledger = Ledger(url, CLINIC_OWNER)
    release = dpe.release(ROWS, PLAN, ledger).release_id
    for kind in (Kind.ANSWER, Kind.CHOICE):
        charge(ledger, kind.value, DATASET, b"her rows", Fraction(1, 2), kind=kind, title=TITLE)
    ledger.set_cap(DATASET, "7")
    ledger.approvals.set_rule(DATASET, needed=True)
    request = ledger.approvals.send(PLAN, Actor("provider ann", ANN))
    row = ledger.history()[0]
    assert row.release_id == release
    return Belongings(url, release, "id of answer", "id of choice", ledger.fingerprint(b"her rows"), "answer",
                      request.request_id)  # fmt: skip


@pytest.fixture(autouse=True)
def rules(monkeypatch: pytest.MonkeyPatch) -> None:
    always_by_the_entry(monkeypatch)
    set_rules(monkeypatch, PROVIDER + GROUPS)


def account(email: str) -> Account:
    return accounts_of(Person(f"provider {email}", email))[0]


def alien(ledger: Ledger, owner: str) -> VisitState:
    """The session of an account, with this ledger."""
    here = VisitState(Person("provider bea", BEA), Account(owner, owner, frozenset(May), None))
    here.__dict__["ledger"] = ledger
    return here


# ---- ledger entries, by what a session holds: 14 questions × 5 others ----

OTHERS = ["", "group:school", f"person:provider {ZOE}", "group:Clinic", "clinic"]
QUESTIONS: dict[str, Callable[[Ledger, Belongings], object]] = {
    "the release by its id": lambda ledger, hers: ledger.entry(hers.release),
    "the answer by its id": lambda ledger, hers: ledger.entry(hers.answer),
    "the choice by its id": lambda ledger, hers: ledger.entry(hers.choice),
    "the bytes of the release": lambda ledger, hers: ledger.payload(hers.release),
    "the bytes of the answer": lambda ledger, hers: ledger.payload(hers.answer),
    "the history of the dataset": lambda ledger, _: ledger.history(DATASET),
    "the whole history": lambda ledger, _: ledger.history(),
    "the names of datasets": lambda ledger, _: ledger.datasets(),
    "what was spent": lambda ledger, _: ledger.spent(f" {DATASET.upper()} "),
    "the cap": lambda ledger, _: ledger.cap(DATASET),
    "the result of her plan and data": lambda ledger, hers: ledger.find(hers.fingerprint, hers.plan_id),
    "whether she published a plan": lambda ledger, hers: ledger.holds(hers.plan_id),
    "what she sent for approval": lambda ledger, _: ledger.approvals.requests(),
    "whether she needs approval": lambda ledger, _: ledger.approvals.needed(DATASET),
}


@pytest.mark.by_day(20)
@pytest.mark.parametrize("owner", OTHERS)
@pytest.mark.parametrize("question", QUESTIONS)
def test_no_other_owner_learns_what_is_in_the_ledger(hers: Belongings, question: str, owner: str) -> None:
    ask = QUESTIONS[question]
    nothing = ask(Ledger.in_memory(), hers)
    assert ask(hers.of(CLINIC_OWNER), hers) != nothing, "it is there, for her"
    assert ask(alien(hers.of(owner), owner).ledger, hers) == nothing


# ---- ledger entries, by what a session does: 5 attempts × 5 others ----


@pytest.mark.by_day(8)
@pytest.mark.parametrize("owner", OTHERS)
@pytest.mark.parametrize("attempt", [
    "raise her cap", "spend her budget", "publish her plan on her data", "approve her plan", "withdraw her plan",
])  # fmt: skip
def test_no_other_owner_changes_what_is_hers(hers: Belongings, attempt: str, owner: str, tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    path.write_bytes(Path(hers.url.removeprefix("sqlite:///")).read_bytes())
    own, here = Ledger(f"sqlite:///{path}", CLINIC_OWNER), alien(Ledger(f"sqlite:///{path}", owner), owner)
    before = own.history(), own.cap(DATASET), own.left(DATASET), own.approvals.requests()
    if attempt == "raise her cap":
        here.set_cap(DATASET, "1000")
    elif attempt == "approve her plan":
        with pytest.raises(BudgetError, match="no request with this id"):
            here.decide(hers.request, "", approve=True)
    elif attempt == "withdraw her plan":
        with pytest.raises(BudgetError, match="no request with this id"):
            here.withdraw(hers.request)
    elif attempt == "spend her budget":
        charge(here.ledger_to_charge, "another", DATASET, b"her rows", Fraction(7))
    else:
        drawn = dpe.release(ROWS, PLAN, here.ledger_to_charge)
        assert drawn.release_id != hers.release, "a draw of their own, which their own budget pays"
        assert here.ledger.spent(DATASET) == PLAN.epsilon
    assert (own.history(), own.cap(DATASET), own.left(DATASET), own.approvals.requests()) == before


# ---- addresses of pages: 4 addresses × 5 targets, and those who are not signed in ----

ADDRESSES = [("", "release"), ("ask", "answer"), ("", "publishing"), ("budget", "dataset")]


def page_of(email: str | None, page: str, monkeypatch: pytest.MonkeyPatch, **address: str) -> AppTest:
    sign_in(monkeypatch, email)
    found = AppTest.from_file(str(ENTRY), default_timeout=60)
    for name, value in address.items():
        found.query_params[name] = value
    if page:
        found.switch_page(f"pages/{page}.py")
    return whole(found.run())


@pytest.fixture
def under_way() -> str:
    """The token of a release of hers that is under way."""
    job = jobs.start(lambda _: None, None, TITLE, findable=True, owner=CLINIC_OWNER)
    assert jobs.find(job.token, CLINIC_OWNER) is job
    return job.token


@pytest.mark.parametrize("email", [BEA, None])
@pytest.mark.parametrize(("page", "name"), ADDRESSES)
@pytest.mark.parametrize("target", ["release", "answer", "choice", "token", "dataset"])
@pytest.mark.by_day(6)
def test_no_address_shows_what_is_hers(
    hers: Belongings,
    under_way: str,
    target: str,
    page: str,
    name: str,
    email: str | None,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("PRIVATE_RELEASE_LEDGER", hers.url)
    ids = {"release": hers.release, "answer": hers.answer, "choice": hers.choice, "token": under_way,
           "dataset": DATASET}  # fmt: skip
    shown = page_of(email, page, monkeypatch, **{name: ids[target]})
    assert TITLE not in texts(shown)
    assert DATASET not in texts(shown)
    assert (VISIT in shown.session_state) == (email is not None)
    if email is not None:
        here = shown.session_state[VISIT]
        assert (here.account.owner, here.release, here.publishing) == ("group:school", None, None)


@pytest.mark.parametrize(("email", "page"), [(ANN, ""), (VERA, ""), (VERA, "budget")])
def test_her_group_sees_it(hers: Belongings, email: str, page: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PRIVATE_RELEASE_LEDGER", hers.url)
    if page == "budget":
        assert DATASET in texts(page_of(email, page, monkeypatch))
    else:
        assert TITLE in texts(page_of(email, page, monkeypatch, release=hers.release))


# ---- widgets: boxes that choose by name or id hold nothing of hers, whatever is put there ----


@pytest.mark.by_day(3)
@pytest.mark.parametrize("key", ["budget_dataset", "budget_release", "group", "choose_dataset"])
@pytest.mark.parametrize("page", ["budget", "labs/choose"])
def test_no_box_takes_what_is_hers(hers: Belongings, key: str, page: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PRIVATE_RELEASE_LEDGER", hers.url)
    sign_in(monkeypatch, BEA)
    found = AppTest.from_file(str(ENTRY), default_timeout=60)
    found.session_state[key] = {"budget_release": hers.release, "group": "clinic"}.get(key, DATASET)
    shown = whole(found.switch_page(f"pages/{page}.py").run())
    assert TITLE not in texts(shown)
    assert shown.session_state[VISIT].account.owner == "group:school"
    assert "7" not in {metric.value for metric in shown.metric}, "her cap"


# ---- tokens of releases under way: 5 others × 3 spellings ----


@pytest.mark.parametrize("owner", OTHERS)
@pytest.mark.parametrize("spelt", [str, lambda token: f" {token}", lambda token: f"{CLINIC_OWNER}/{token}"])
def test_a_release_under_way_is_followed_by_its_owner_alone(
    under_way: str, owner: str, spelt: Callable[[str], str]
) -> None:
    assert jobs.find(spelt(under_way), owner) is None


# ---- routes and sockets: 10 kinds of senders × 4 requests, × 3 places of the session's id ----

COOKIE, OTHER_COOKIE = "2|5f5f5f5f|5f5f5f5f|1700000000", "2|5f5f5f5f|60606060|1700000000"
SESSION = "the-session-of-ann"
Sent = tuple[list[tuple[str, str]], str, str]  # headers, cookie, address
WHO = "X-Release-Person"
SENDERS: dict[str, Sent] = {
    "another person at their own browser": ([(WHO, BEA)], OTHER_COOKIE, "10.0.0.5"),
    "another person with her cookie": ([(WHO, BEA)], COOKIE, "10.0.0.5"),
    "she at another browser": ([(WHO, ANN)], OTHER_COOKIE, "10.0.0.5"),
    "nobody": ([], COOKIE, "10.0.0.5"),
    "who names her but is not the proxy": ([(WHO, ANN)], COOKIE, "10.0.0.6"),
    "who tells the proxy's address": ([(WHO, ANN), ("X-Forwarded-For", "10.0.0.5")], COOKIE, "127.0.0.1"),
    "two people at once": ([(WHO, BEA), (WHO, ANN)], COOKIE, "10.0.0.5"),
    "two people in one header": ([(WHO, f"{BEA}, {ANN}")], COOKIE, "10.0.0.5"),
    "she in capitals": ([(WHO, ANN.upper())], COOKIE, "10.0.0.5"),
    "without a cookie": ([(WHO, ANN)], "", "10.0.0.5"),
}


@dataclass(slots=True)
class Open:
    """Her open session: the place where it takes a file, and the question that it asked its tab."""

    place: uploads.Place
    question: tab_route.Question


@pytest.fixture
def session(monkeypatch: pytest.MonkeyPatch) -> Iterator[Open]:
    set_rules(monkeypatch, PROXY)
    monkeypatch.delenv("FORWARDED_ALLOW_IPS", raising=False)
    monkeypatch.setattr(request_guard, "_owners", {})
    monkeypatch.setattr(session_resources, "running_session", lambda: SESSION)
    request_guard.claim_session({"_streamlit_xsrf": COOKIE}, Person(ANN, ANN))
    monkeypatch.setattr(runtime, "get_instance", lambda: type("Live", (), {"is_active_session": lambda *_: True})())
    place = uploads.Place(SESSION)
    yield Open(place, tab_route.Question(SESSION))
    place.close()


def scope(sent: Sent, kind: str, **more: Any) -> dict[str, Any]:
    headers, cookie, client = sent
    own = [("Host", "localhost"), ("Origin", "http://localhost"), ("Cookie", f"_streamlit_xsrf={cookie}"),
           ("X-Xsrftoken", cookie), *headers]  # fmt: skip
    raw = [(name.lower().encode(), value.encode()) for name, value in own]
    basis = {"type": kind, "headers": raw, "client": (client, 4711), "server": ("127.0.0.1", 8501), "query_string": b"",
             "http_version": "1.1", "scheme": "http", "path": "/", "root_path": ""}  # fmt: skip
    more["headers"] = [*raw, *more.get("headers", [])]
    return basis | more


def put(session: Open, sent: Sent, path: str, method: str) -> int:
    """Send a request through the guard to the real routes; the rest of the server answers 200."""
    others = Route("/{rest:path}", lambda _: PlainTextResponse("taken"), methods=["PUT", "DELETE"])
    app = Starlette(routes=[*upload_route.routes(), *tab_route.routes(), others], middleware=[Middleware(RequestGuard)])
    tokens = [(b"x-upload-token", session.place.token.encode()), (b"x-file-name", b"a.csv"),
              (b"x-tab-token", session.question.token.encode()), (b"content-length", b"4")]  # fmt: skip
    said: list[int] = []

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": b"a\n1\n", "more_body": False}

    async def send(message: Any) -> None:
        if message["type"] == "http.response.start":
            said.append(message["status"])

    with ThreadPoolExecutor(1) as pool:  # a thread of its own: a browser's driver may run a loop in this one
        asked = scope(sent, "http", method=method, path=path, headers=tokens)
        pool.submit(lambda: asyncio.run(app(asked, receive, send))).result()
    return said[0]


REQUESTS = [("PUT", "/upload"), ("PUT", "/tab"), ("PUT", f"/_stcore/upload_file/{SESSION}/f"),
            ("DELETE", f"/_stcore/upload_file/{SESSION}/f")]  # fmt: skip
HERSELF: Sent = ([(WHO, ANN)], COOKIE, "10.0.0.5")


@pytest.mark.parametrize(("method", "path"), REQUESTS)
@pytest.mark.parametrize("sender", SENDERS)
def test_nobody_sends_anything_to_her_session(session: Open, sender: str, method: str, path: str) -> None:
    assert put(session, SENDERS[sender], path, method) == 403
    assert session.place.path is None
    assert session.question.answer is None


@pytest.mark.parametrize(("method", "path"), REQUESTS)
def test_she_sends_files_to_her_own_session(session: Open, method: str, path: str) -> None:
    assert put(session, HERSELF, path, method) in (200, 204)


@pytest.mark.parametrize("protocols", [f"streamlit, x, {SESSION}", f"streamlit,x,{SESSION}", f"a, b, {SESSION}, c"])
@pytest.mark.parametrize("sender", SENDERS)
def test_nobody_joins_her_session(session: Open, sender: str, protocols: str) -> None:
    asked = [(b"sec-websocket-protocol", protocols.encode())]
    assert opened_with(scope(HERSELF, "websocket", headers=asked)) == [protocols], "she may"
    assert not any(SESSION in each for each in opened_with(scope(SENDERS[sender], "websocket", headers=asked)))


def opened_with(asked: dict[str, Any]) -> list[str]:
    """Return what Streamlit is told of the session to join; nothing if the socket is refused."""
    told: list[str] = []

    async def application(scope: Any, _receive: Any, _send: Any) -> None:
        told.extend(value.decode() for name, value in scope["headers"] if name == b"sec-websocket-protocol")

    async def nothing(*_: Any) -> Any:
        return {"type": "websocket.connect"}

    with ThreadPoolExecutor(1) as pool:
        pool.submit(lambda: asyncio.run(RequestGuard(application)(asked, nothing, nothing))).result()
    return told


# ---- plans that a tab kept: 5 others × 3 forms ----


@pytest.mark.parametrize("owner", OTHERS)
@pytest.mark.parametrize("form", ["as it was kept", "for nobody", "with an owner beside"])
def test_a_plan_that_a_tab_kept_is_taken_up_by_its_owner_alone(owner: str, form: str) -> None:
    draft = Draft("secret.csv", "", ("table",), plan_form.from_plan(PLAN), CLINIC_OWNER)
    text = saved_draft.to_text(draft)
    assert text is not None
    assert saved_draft.from_text(text, CLINIC_OWNER) is not None
    kept = json.loads(text)
    if form == "with an owner beside":
        kept["entries"]["owner"] = owner
    if form == "for nobody":
        kept["owner"] = None
    assert saved_draft.from_text(json.dumps(kept), owner) is None


# ---- accounts that are claimed: 6 forgeries × 4 people ----

FORGED = [
    Account(CLINIC_OWNER, "clinic", frozenset(May)),
    Account(CLINIC_OWNER, "clinic", frozenset(May), None),
    Account(CLINIC_OWNER, "school", frozenset({May.PUBLISH, May.CAP})),
    Account("", "this server", frozenset(May), None),
    Account("group:school", "school", frozenset(May), None),
    Account(f"person:provider {ANN}", "your own account", frozenset(May)),
]


@pytest.mark.parametrize("email", [BEA, ZOE, VERA, ANN])
@pytest.mark.parametrize("forged", FORGED, ids=lambda each: f"{each.owner} as {each.title}")
def test_nobody_changes_to_an_account_that_is_not_theirs(
    monkeypatch: pytest.MonkeyPatch, email: str, forged: Account
) -> None:
    here = VisitState(Person(f"provider {email}", email), account(email))
    monkeypatch.setattr(state, "visit", lambda: here)
    with pytest.raises(BudgetError, match="not in this group"):
        state.change_account(forged)


# ---- roles within her group: 3 acts × 2 who may not ----

ACTS: dict[str, tuple[May, Callable[[VisitState], object]]] = {
    "spend": (May.PUBLISH, lambda here: charge(here.ledger_to_charge, "viewer's", DATASET, b"x", Fraction(1))),
    "raise the cap": (May.CAP, lambda here: here.set_cap(DATASET, "100")),
    "bring rows": (May.PUBLISH, lambda here: here.place),
}


@pytest.mark.parametrize("act", ACTS)
@pytest.mark.parametrize("email", [VERA, "sam@example.org", ANN])
def test_nobody_of_her_group_does_more_than_their_role(hers: Belongings, act: str, email: str) -> None:
    needed, do = ACTS[act]
    here = replace(alien(hers.of(CLINIC_OWNER), CLINIC_OWNER), account=account(email))
    here.__dict__["ledger"] = hers.of(CLINIC_OWNER)
    if needed in here.account.may:
        return
    before = here.ledger.history(), here.ledger.cap(DATASET)
    with pytest.raises(BudgetError, match="Your role"):
        do(here)
    assert (here.ledger.history(), here.ledger.cap(DATASET)) == before
