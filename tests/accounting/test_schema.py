"""A ledger of version 1 is read as it is, upgraded by the first change in the same transaction, and never half."""

from __future__ import annotations

import json
import secrets
import shutil
from pathlib import Path
from typing import Any

import psycopg
import pytest
import sqlalchemy as sa

import dpengine as dpe
from dpengine.accounting.entry import Kind
from dpengine.accounting.ledger import Ledger
from dpengine.errors import BudgetError, LedgerError
from tests.accounting.test_ledger import look
from tests.accounting.test_ledger_faults import POINTS, run
from tests.charges import charge

OLD = Path(__file__).parents[1] / "earlier" / "v0_1_0"
EXPECTED: dict[str, Any] = json.loads((OLD / "expected.json").read_text(encoding="utf-8"))
KINDS = [Kind.RELEASE] * 10 + [Kind.ANSWER] * 6 + [Kind.CHOICE]


@pytest.fixture(params=["sqlite", "postgres"])
def old_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The address of a ledger that version 0.1.0 wrote, in a file and on a server."""
    if request.param == "sqlite":
        return f"sqlite:///{shutil.copy(OLD / 'ledger.sqlite', tmp_path / 'old.db')}"
    return on_a_server(request.getfixturevalue("postgres"))


def on_a_server(server: str) -> str:
    name = f"old_{secrets.token_hex(8)}"
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
    address = f"{server.rpartition('/')[0]}/{name}"
    with psycopg.connect(address) as connection:
        connection.execute((OLD / "ledger.postgresql.sql").read_bytes())
    return address


def version(url: str) -> int:
    [(number,)] = look(url, "SELECT version FROM ledger_meta")
    return int(number)


def has_kinds(url: str) -> bool:
    engine = sa.create_engine(url)
    names = [column["name"] for column in sa.inspect(engine).get_columns("ledger_charges")]
    engine.dispose()
    return "kind" in names


def read_all(url: str) -> list[Kind]:
    """Read everything; return the kinds of all entries."""
    ledger = Ledger(url)
    ledger.verify_chain()
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
    assert version(old_url) == 2
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


def test_an_upgraded_ledger_has_the_columns_of_a_new_one(old_url: str, tmp_path: Path) -> None:
    Ledger(old_url).set_cap("visits-2026", 9)
    new_url = f"sqlite:///{tmp_path / 'new.db'}"
    Ledger(new_url)
    found = []
    for url in (old_url, new_url):
        engine = sa.create_engine(url)
        inspected = sa.inspect(engine).get_columns("ledger_charges")
        found.append([(column["name"], column["nullable"]) for column in inspected])
        engine.dispose()
    assert found[0] == found[1]


def test_a_refused_charge_upgrades_nothing(old_url: str) -> None:
    with pytest.raises(BudgetError, match="does not allow"):
        charge(Ledger(old_url), "too much", dataset="visits-2026", epsilon=100)
    assert (version(old_url), has_kinds(old_url)) == (1, False)


@pytest.mark.parametrize("point", POINTS)
def test_death_at_any_point_of_an_upgrade_leaves_the_old_ledger_or_the_new_one(old_url: str, point: str) -> None:
    assert run("die", old_url, "plan", point) == []
    committed = point == "after_commit"
    assert (version(old_url), has_kinds(old_url)) == ((2, True) if committed else (1, False))
    ledger = Ledger(old_url)
    ledger.verify_chain()
    assert charge(ledger, "plan", payload=b"drawn again") == (b"numbers of plan" if committed else b"drawn again")
    assert [entry.kind for entry in ledger.history()] == [*KINDS, Kind.RELEASE]
    assert version(old_url) == 2


def test_processes_that_upgrade_at_once_charge_one_after_the_other(old_url: str) -> None:
    Ledger(old_url)
    assert sum(run("spend", old_url, 4, 3)) == 12
    ledger = Ledger(old_url)
    ledger.verify_chain()
    assert ledger.spent("clinic") == 12
    assert len(ledger.history()) == len(KINDS) + 12


def test_a_ledger_of_a_later_version_is_refused_and_says_so(stored_url: str) -> None:
    ledger = Ledger(stored_url)
    look(stored_url, "UPDATE ledger_meta SET version = 3")
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


def test_a_release_that_is_named_like_a_question_is_none() -> None:
    from dpengine.ask import history

    ledger = dpe.Ledger.in_memory()
    charge(ledger, "plan", summary="one question: count")
    assert history(ledger, "clinic") == []
