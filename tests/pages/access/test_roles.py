"""Groups and roles on the pages: what is offered, what acts, and whose part of the ledger is used."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from dpengine import BudgetError, Plan, open_table
from dpengine.accounting.approval.request import Actor, State
from pages.parts.access.accounts import Account, May, accounts_of
from pages.parts.access.person import Person
from pages.parts.publish import progress
from pages.parts.server import connections
from pages.parts.visit import samples, state
from pages.parts.visit.state import VISIT, VisitState
from tests.pages.people import PROVIDER, always_by_the_entry, set_rules, sign_in
from tests.pages.visits import ENTRY, ledger, press, texts, whole
from tests.plans import CLINIC, survey

ANN, SAM, VERA, BEA = (f"{name}@example.org" for name in ("ann", "sam", "vera", "bea"))
RULES = f"""{PROVIDER}
[groups.clinic]
owners = ["{ANN}"]
stewards = ["{SAM}"]
viewers = ["{VERA}"]
connections = ["registry"]
[groups.school]
owners = ["{ANN}", "{BEA}"]
[connections_for_release.registry]
url = "duckdb://"
[connections_for_release.archive]
url = "duckdb://"
"""


@pytest.fixture(autouse=True)
def rules(monkeypatch: pytest.MonkeyPatch) -> None:
    always_by_the_entry(monkeypatch)
    set_rules(monkeypatch, RULES)


def page_of(monkeypatch: pytest.MonkeyPatch, email: str | None, page: str = "", **address: str) -> AppTest:
    sign_in(monkeypatch, email)
    found = AppTest.from_file(str(ENTRY), default_timeout=60)
    for name, value in address.items():
        found.query_params[name] = value
    found.run()
    return whole(found.switch_page(f"pages/{page}.py").run() if page else found)


def accounts(email: str) -> dict[str, Account]:
    return {account.title: account for account in accounts_of(Person(f"provider {email}", email))}


# ---- who may do what ----


@pytest.mark.parametrize(
    ("email", "group", "may"),
    [
        (ANN, "clinic", {May.PUBLISH, May.APPROVE}),
        (SAM, "clinic", {May.CAP, May.APPROVE, May.RULE}),
        (VERA, "clinic", set()),
        (ANN, "school", {May.PUBLISH, May.CAP, May.APPROVE}),
        (BEA.upper(), "school", {May.PUBLISH, May.CAP, May.APPROVE}),
        ("zoe@example.org", "your own account", {May.PUBLISH, May.CAP}),
        ("", "your own account", {May.PUBLISH, May.CAP}),
    ],
)
def test_each_role_allows_what_its_name_says(email: str, group: str, may: set[May]) -> None:
    assert accounts(email)[group].may == may


def test_a_steward_who_also_publishes_does_not_say_what_needs_approval(monkeypatch: pytest.MonkeyPatch) -> None:
    """They could lift the rule, publish, and set it again."""
    set_rules(monkeypatch, f"{PROVIDER}\n[groups.clinic]\nowners = {[ANN]}\nstewards = {[ANN, SAM]}\n")
    assert accounts(ANN)["clinic"].may == {May.PUBLISH, May.CAP, May.APPROVE}
    assert accounts(SAM)["clinic"].may == {May.CAP, May.APPROVE, May.RULE}


def test_each_account_is_an_owner_of_its_own() -> None:
    assert [account.owner for account in accounts(ANN).values()] == ["group:clinic", "group:school"]
    assert accounts("zoe@example.org")["your own account"].owner == "person:provider zoe@example.org"
    assert list(accounts(BEA)) == ["school"]


def test_no_letter_of_another_script_passes_for_one_of_a_name(monkeypatch: pytest.MonkeyPatch) -> None:
    set_rules(monkeypatch, PROVIDER + "[groups.clinic]\nowners = ['kelly@example.org', 'Straße@example.org', 'Root']")
    for other in ("\N{KELVIN SIGN}elly@example.org", "strasse@example.org", "STRASSE@example.org", "root", "ROOT"):
        assert list(accounts(other)) == ["your own account"]
    assert list(accounts("KELLY@example.org")) == ["clinic"]
    assert list(accounts("Root")) == ["clinic"]


def test_a_person_in_no_group_is_refused_if_the_operator_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    set_rules(monkeypatch, RULES.replace('"oidc"', '"oidc"\npersonal = false'))
    assert accounts_of(Person("provider zoe", "zoe@example.org")) == []
    page = page_of(monkeypatch, "zoe@example.org")
    assert "in no group here" in texts(page)
    assert [button.label for button in page.button] == ["Sign out"]


# ---- what acts ----

ACTS: dict[str, tuple[May, Callable[[VisitState, Path], object]]] = {
    "open a table": (May.PUBLISH, lambda here, table: here.keep_table(open_table(table), "a table")),
    "take a file": (May.PUBLISH, lambda here, _: here.place),
    "charge": (May.PUBLISH, lambda here, _: here.ledger_to_charge),
    "set a cap": (May.CAP, lambda here, _: here.set_cap("clinic-2026", "2")),
    "send for approval": (May.PUBLISH, lambda here, _: here.send_for_approval(survey(), "", other_people=False)),
    "approve": (May.APPROVE, lambda here, _: here.decide(sent(), "", approve=True)),
    "decline": (May.APPROVE, lambda here, _: here.decide(sent(), "", approve=False)),
    "withdraw what another has sent": (May.APPROVE, lambda here, _: here.withdraw(sent())),
    "say what needs approval": (May.RULE, lambda here, _: here.set_rule("", needed=True)),
}


def sent() -> str:
    """The id of a plan that Ann has sent for approval."""
    return ledger().for_owner("group:clinic").approvals.send(survey(), Actor("provider ann", ANN)).request_id


ROLES = [frozenset[May](), *(frozenset({may}) for may in May), frozenset(May)]


@pytest.mark.by_day(18)
@pytest.mark.parametrize("role", ROLES)
@pytest.mark.parametrize("act", ACTS)
def test_every_action_checks_the_role(act: str, role: frozenset[May], tmp_path: Path) -> None:
    table = tmp_path / "t.csv"
    table.write_text("a,b\n1,2\n")
    needed, do = ACTS[act]
    here = VisitState(Person("provider bea", BEA), Account("group:clinic", "clinic", role))
    if needed in role:
        do(here, table)
    else:
        with pytest.raises(BudgetError, match="Your role in clinic"):
            do(here, table)
        clinic = ledger().for_owner("group:clinic")
        assert (clinic.cap("clinic-2026"), clinic.approvals.rules()) == (None, [])
        assert [each.state for each in clinic.approvals.requests() if each.state is not State.WAITING] == []


def test_publishing_and_samples_ask_for_the_role(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    here = VisitState(account=Account("group:clinic", "clinic", frozenset({May.CAP})))
    monkeypatch.setattr(progress, "visit", lambda: here)
    monkeypatch.setattr(samples, "visit", lambda: here)
    (tmp_path / "t.csv").write_text("age,region,visit\n1,North,2024-01-01\n")
    with open_table(tmp_path / "t.csv") as table, pytest.raises(BudgetError):
        progress.begin(table, Plan.loads(CLINIC))
    with pytest.raises(BudgetError):
        samples.load_sample("rand")
    assert here.table is None
    assert ledger().for_owner("group:clinic").history() == []


def test_nobody_changes_to_a_group_that_they_are_not_in(monkeypatch: pytest.MonkeyPatch) -> None:
    here = VisitState(Person("provider bea", BEA), accounts(BEA)["school"])
    monkeypatch.setattr(state, "visit", lambda: here)
    forged = [Account("group:school", "school", frozenset(May), None), Account("", "", frozenset(May))]
    for foreign in (accounts(ANN)["clinic"], *forged):
        with pytest.raises(BudgetError, match="not in this group"):
            state.change_account(foreign)


def test_a_group_uses_the_databases_that_it_is_given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections.st.secrets, "load_if_toml_exists", lambda: True)
    listed = {"registry": {"url": "duckdb://"}, "archive": {"url": "duckdb://"}}
    monkeypatch.setattr(type(connections.st.secrets), "get", lambda *_: listed)
    found = {name: set(connections.databases(account.connections)) for name, account in accounts(ANN).items()}
    assert found == {"clinic": {"registry"}, "school": set()}
    assert set(connections.databases()) == {"registry", "archive"}


# ---- what pages offer ----

OFFERED = {  # on which page which button or box is there, for whom
    ("publish", "Use this sample"): {ANN, BEA},
    ("ask", "Use this sample"): {ANN, BEA},
    ("budget", "Review the cap"): {SAM, BEA},
}


@pytest.mark.parametrize("email", [ANN, SAM, VERA, BEA])
@pytest.mark.by_day(1)
def test_pages_offer_what_the_role_allows_and_no_more(monkeypatch: pytest.MonkeyPatch, email: str) -> None:
    account = next(iter(accounts(email).values()))
    ledger().for_owner(account.owner).set_cap("of-the-group", "4")
    for (page, button), allowed in OFFERED.items():
        shown = page_of(monkeypatch, email, page)
        assert (button in [each.label for each in shown.button]) == (email in allowed), (page, email)
        if page == "budget":
            assert "of-the-group" in texts(shown)


def test_who_is_not_signed_in_sees_the_door_on_every_page(monkeypatch: pytest.MonkeyPatch) -> None:
    ledger().set_cap("of-the-local-person", "4")
    for page in ("publish", "accuracy", "budget", "ask", "verify", "labs/risk", "labs/attacks"):
        shown = page_of(monkeypatch, None, page)
        assert [button.label for button in shown.button] == ["Sign in"]
        assert [title.value for title in shown.title] == ["Private Release"]
        assert VISIT not in shown.session_state


def test_a_person_in_two_groups_takes_nothing_from_one_to_the_other(monkeypatch: pytest.MonkeyPatch) -> None:
    ledger().for_owner("group:clinic").set_cap("of-the-clinic", "4")
    ledger().for_owner("group:school").set_cap("of-the-school", "4")
    page = page_of(monkeypatch, ANN)
    press(page, "Use this sample")
    table = page.session_state[VISIT].table
    assert table is not None
    page.run()
    page.radio(key="group").set_value("school").run()
    press(page, "Change group")
    here = page.session_state[VISIT]
    assert (here.account.title, here.table, here.entries.chosen) == ("school", None, ())
    page.switch_page("pages/budget.py").run()
    assert "of-the-school" in texts(page)
    assert "of-the-clinic" not in texts(page)


def test_another_person_in_the_same_session_begins_with_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    page = page_of(monkeypatch, ANN)
    press(page, "Use this sample")
    sign_in(monkeypatch, BEA)
    page.run()
    here = page.session_state[VISIT]
    assert (here.person.name, here.account.title, here.table) == (BEA, "school", None)
    sign_in(monkeypatch, None)
    page.run()
    assert [button.label for button in page.button] == ["Sign in"]
