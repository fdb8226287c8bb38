"""A ledger of an earlier version is read as it is; the first change upgrades it within the same transaction."""

from __future__ import annotations

import hashlib
import json
import secrets
from fractions import Fraction
from typing import Any

import psycopg
import pytest
import sqlalchemy as sa

import dpengine as dpe
from dpengine.accounting.entry import Kind
from dpengine.accounting.ledger import Ledger
from dpengine.accounting.schema import VERSION
from dpengine.errors import BudgetError, LedgerError
from tests.accounting.test_ledger import look
from tests.accounting.test_ledger_faults import AFTER, POINTS, run
from tests.charges import charge
from tests.conftest import empty_schema
from tests.earlier.ledgers import FOLDER, on_a_server

EXPECTED: dict[str, Any] = json.loads((FOLDER / "expected.json").read_text(encoding="utf-8"))
KINDS = [Kind.RELEASE] * 10 + [Kind.ANSWER] * 6 + [Kind.CHOICE]


@pytest.fixture
def second_url(old_url: str) -> str:
    """The same ledger as version 2 left it: with a column for kinds, and one more charge, which seals its kind."""
    look(old_url, "ALTER TABLE ledger_charges ADD COLUMN kind TEXT")
    [(head,)] = look(old_url, "SELECT head FROM ledger_meta")
    fields = ["18", "an id", "visits-2026", b"print", "plan", "2026-02-02", "1/2", "title", "summary", b"sha", "answer"]
    parts = [part if isinstance(part, bytes) else part.encode() for part in (bytes(head), *fields)]
    sealed = hashlib.sha256(b"".join(len(part).to_bytes(8, "big") + part for part in parts)).digest()
    blob = "CAST(:value AS bytea)" if old_url.startswith("postgresql") else ":value"
    columns = "release_id, dataset, plan_key, created, epsilon, title, summary, kind"
    values = "'an id', 'visits-2026', 'plan', '2026-02-02', '1/2', 'title', 'summary', 'answer'"
    look(
        old_url,
        f"INSERT INTO ledger_charges (number, fingerprint, payload_sha256, {columns}, hash) "
        f"SELECT 18, {literal(old_url, b'print')}, {literal(old_url, b'sha')}, {values}, {blob}",
        sealed,
    )
    look(old_url, f"UPDATE ledger_meta SET version = 2, entries = 18, head = {blob}", sealed)
    return old_url


@pytest.fixture
def third_url(stored_url: str) -> str:
    """A ledger as version 3 left it: without rules and requests of approval; with a cap, a charge and a key."""
    ledger = Ledger(stored_url)
    ledger.set_cap("visits-2026", 3)
    charge(ledger, "plan", "visits-2026")
    ledger.keep_key("signing", lambda: b"key")
    for table in ("ledger_rules", "ledger_requests"):
        look(stored_url, f"DROP TABLE {table}")
    look(stored_url, "UPDATE ledger_meta SET version = 3")
    return stored_url


def literal(url: str, blob: bytes) -> str:
    return f"'\\x{blob.hex()}'::bytea" if url.startswith("postgresql") else f"x'{blob.hex()}'"


def version(url: str) -> int:
    [(number,)] = look(url, "SELECT version FROM ledger_meta")
    return int(number)


def has_kinds(url: str) -> bool:
    return "kind" in layout(url)["ledger_charges"][0]


def layout(url: str) -> dict[str, Any]:
    """The columns of all tables, with whether they may be NULL, their keys, and what is unique in them."""
    engine = sa.create_engine(url)
    inspector = sa.inspect(engine)
    tables = {
        name: (
            {column["name"]: column["nullable"] for column in inspector.get_columns(name)},
            inspector.get_pk_constraint(name)["constrained_columns"],
            sorted(each["column_names"] for each in inspector.get_unique_constraints(name)),
            [each["referred_table"] for each in inspector.get_foreign_keys(name)],
        )
        for name in inspector.get_table_names()
    }
    engine.dispose()
    return tables


def read_all(url: str) -> list[Kind]:
    """Read everything, check that other owners see nothing of it, and return the kinds of all entries."""
    ledger = Ledger(url)
    ledger.verify_chain()
    assert ledger.for_owner("ann").history() == ledger.for_owner("ann").datasets() == []
    history = ledger.history()
    assert [entry.release_id for entry in history] == [entry["release_id"] for entry in EXPECTED["history"]]
    assert all(ledger.entry(entry.release_id) == entry for entry in history)
    assert {name: str(ledger.spent(name)) for name in ledger.datasets()} == {
        name: spent for name, (spent, _cap, _left) in EXPECTED["accounts"].items()
    }
    return [entry.kind for entry in history]


def test_a_ledger_of_version_1_is_read_and_left_as_it_is(old_url: str) -> None:
    assert read_all(old_url) == KINDS
    assert (version(old_url), has_kinds(old_url)) == (1, False)


def test_the_first_change_upgrades_and_every_sealed_charge_stays_as_it_was(old_url: str) -> None:
    before = look(old_url, "SELECT number, hash FROM ledger_charges ORDER BY number")
    Ledger(old_url).set_cap("visits-2026", 9)
    assert version(old_url) == VERSION
    assert read_all(old_url) == KINDS
    assert look(old_url, "SELECT number, hash FROM ledger_charges ORDER BY number") == before
    assert look(old_url, "SELECT count(*) FROM ledger_charges WHERE kind IS NOT NULL") == [(0,)]


def test_a_new_charge_goes_on_the_old_chain_and_seals_its_kind(old_url: str) -> None:
    ledger = Ledger(old_url)
    charge(ledger, "a new question", kind=Kind.ANSWER)
    assert [entry.kind for entry in Ledger(old_url).history()] == [*KINDS, Kind.ANSWER]
    ledger.verify_chain()
    look(old_url, "UPDATE ledger_charges SET kind = 'choice' WHERE number = 18")
    with pytest.raises(LedgerError, match="Entry 18 "):
        ledger.verify_chain()


def test_a_kind_that_is_written_over_an_old_charge_breaks_the_chain(old_url: str) -> None:
    Ledger(old_url).set_cap("visits-2026", 9)
    look(old_url, "UPDATE ledger_charges SET kind = 'release' WHERE number = 1")
    with pytest.raises(LedgerError, match="Entry 1 "):
        Ledger(old_url).history()


def test_an_upgraded_ledger_is_laid_out_as_a_new_one(old_url: str, request: pytest.FixtureRequest) -> None:
    Ledger(old_url).set_cap("visits-2026", 9)
    server = None if old_url.startswith("sqlite") else request.getfixturevalue("postgres")
    new_url = f"{old_url}.new" if server is None else empty_schema(server)
    Ledger(new_url)
    assert layout(old_url) == layout(new_url)


def test_a_ledger_of_version_2_is_read_and_then_upgraded(second_url: str) -> None:
    ledger = Ledger(second_url)
    kinds = [entry.kind for entry in ledger.history()]
    assert (kinds, version(second_url)) == ([*KINDS, Kind.ANSWER], 2)
    assert ledger.spent("visits-2026") == Fraction(341, 60) + Fraction(1, 2)
    assert ledger.named_key("signing") is None
    sealed = look(second_url, "SELECT number, hash FROM ledger_charges ORDER BY number")
    charge(ledger, "plan 3", "visits-2026", epsilon="1/100")
    assert version(second_url) == VERSION
    assert [entry.kind for entry in Ledger(second_url).history()] == [*KINDS, Kind.ANSWER, Kind.RELEASE]
    assert look(second_url, "SELECT number, hash FROM ledger_charges WHERE number < 19 ORDER BY number") == sealed
    assert look(second_url, "SELECT count(*) FROM ledger_charges WHERE owner IS NULL") == [(18,)]


def test_a_ledger_of_version_3_is_read_and_then_upgraded(third_url: str, request: pytest.FixtureRequest) -> None:
    ledger = Ledger(third_url)
    ledger.verify_chain()
    assert (ledger.spent("visits-2026"), ledger.cap("visits-2026"), ledger.named_key("signing")) == (1, 3, b"key")
    assert (ledger.approvals.rules(), ledger.approvals.requests(), ledger.approvals.needed("x")) == ([], [], False)
    with pytest.raises(BudgetError, match="does not allow"):
        charge(ledger, "too much", dataset="visits-2026", epsilon=100)
    assert version(third_url) == 3
    ledger.approvals.set_rule("visits-2026", needed=True)
    assert version(third_url) == VERSION
    with pytest.raises(BudgetError, match="needs the approval"):
        charge(Ledger(third_url), "plan 2", "visits-2026")
    charge(Ledger(third_url), "plan 2", "wages", b"other rows")
    Ledger(third_url).verify_chain()
    server = None if third_url.startswith("sqlite") else request.getfixturevalue("postgres")
    new_url = f"{third_url}.new" if server is None else empty_schema(server)
    Ledger(new_url)
    assert layout(third_url) == layout(new_url)


@pytest.mark.by_day(4)
@pytest.mark.parametrize("point", POINTS)
def test_death_at_any_point_of_an_upgrade_from_version_3_leaves_that_or_the_new_one(third_url: str, point: str) -> None:
    assert run("die", third_url, "plan 2", point) == []
    committed = point in AFTER
    assert version(third_url) == (VERSION if committed else 3)
    assert ("ledger_requests" in layout(third_url)) == committed
    charge(Ledger(third_url), "plan 2")
    Ledger(third_url).verify_chain()
    assert version(third_url) == VERSION


def test_old_entries_stay_the_local_owner_s_and_their_caps_too(second_url: str) -> None:
    ann = Ledger(second_url, "ann")
    charge(ann, "plan", "visits-2026", epsilon=100)
    ann.set_cap("visits-2026", 1)
    ledger = Ledger(second_url)
    assert (ledger.cap("visits-2026"), len(ledger.history())) == (Fraction(13, 2), 18)
    assert (ann.cap("visits-2026"), len(ann.history()), ann.spent("visits-2026")) == (1, 1, 100)
    assert ledger.keep_key("signing", lambda: b"key") == b"key"


def test_an_owner_that_is_written_over_an_old_charge_breaks_the_chain(second_url: str) -> None:
    Ledger(second_url).set_cap("visits-2026", 9)
    look(second_url, "UPDATE ledger_charges SET owner = 'ann' WHERE number = 18")
    with pytest.raises(LedgerError, match="Entry 18 "):
        Ledger(second_url).history()


def test_a_refused_charge_upgrades_nothing(old_url: str) -> None:
    with pytest.raises(BudgetError, match="does not allow"):
        charge(Ledger(old_url), "too much", dataset="visits-2026", epsilon=100)
    assert (version(old_url), has_kinds(old_url)) == (1, False)


@pytest.mark.by_day(4)
@pytest.mark.parametrize("point", POINTS)
def test_death_at_any_point_of_an_upgrade_leaves_the_old_ledger_or_the_new_one(old_url: str, point: str) -> None:
    assert run("die", old_url, "plan", point) == []
    committed = point in AFTER
    assert (version(old_url), has_kinds(old_url)) == ((VERSION, True) if committed else (1, False))
    ledger = Ledger(old_url)
    ledger.verify_chain()
    assert charge(ledger, "plan", payload=b"drawn again") == (b"numbers of plan" if committed else b"drawn again")
    assert [entry.kind for entry in ledger.history()] == [*KINDS, Kind.RELEASE]
    assert version(old_url) == VERSION


def test_processes_that_upgrade_at_once_charge_one_after_the_other(old_url: str) -> None:
    Ledger(old_url)
    assert sum(run("spend", old_url, 4, 3)) == 12
    ledger = Ledger(old_url)
    ledger.verify_chain()
    assert ledger.spent("clinic") == 12
    assert len(ledger.history()) == len(KINDS) + 12


def test_a_ledger_of_a_later_version_is_refused_and_says_so(stored_url: str) -> None:
    ledger = Ledger(stored_url)
    look(stored_url, f"UPDATE ledger_meta SET version = {VERSION + 1}")
    for use in (lambda: Ledger(stored_url), lambda: ledger.spent("clinic"), lambda: charge(ledger, "plan")):
        with pytest.raises(LedgerError, match="later version of this program"):
            use()


def test_an_old_ledger_that_takes_no_changes_is_read_and_refuses_charges(postgres: str) -> None:
    url = on_a_server(postgres)
    reader = f"{url}?options=-cdefault_transaction_read_only%3Don"
    assert read_all(reader) == KINDS
    with pytest.raises(LedgerError, match="read-only"):
        charge(Ledger(reader), "plan")
    assert version(url) == 1


def test_an_account_that_may_not_change_tables_is_told_what_to_do(postgres: str) -> None:
    url = on_a_server(postgres)
    clerk = f"clerk_{secrets.token_hex(4)}"
    with psycopg.connect(url, autocommit=True) as owner:
        owner.execute(f"CREATE ROLE {clerk} LOGIN")
        owner.execute(f"GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO {clerk}")
    as_clerk = str(sa.make_url(url).set(username=clerk).render_as_string(hide_password=False))
    assert read_all(as_clerk) == KINDS
    with pytest.raises(LedgerError, match="earlier version, and this account may not bring it up to date"):
        charge(Ledger(as_clerk), "plan")
    Ledger(url).set_cap("visits-2026", 9)
    charge(Ledger(as_clerk), "plan")
    assert Ledger(as_clerk).keep_key("signing", lambda: b"key") == b"key"


def test_a_release_titled_like_a_question_stays_a_release() -> None:
    from dpengine.ask import history

    ledger = dpe.Ledger.in_memory()
    charge(ledger, "plan", summary="one question: count")
    assert history(ledger, "clinic") == []
