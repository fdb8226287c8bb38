"""A backup is one complete file even while others write, and never replaces a ledger that has more entries."""

from __future__ import annotations

import os
import shutil
import stat
from fractions import Fraction
from pathlib import Path

import psycopg
import pytest
import sqlalchemy as sa

from dpengine.accounting import upkeep
from dpengine.accounting.approval.request import Actor
from dpengine.accounting.ledger import Ledger
from dpengine.accounting.schema import VERSION
from dpengine.errors import LedgerError
from tests.accounting.test_ledger import look
from tests.accounting.test_ledger_faults import ids, run
from tests.accounting.test_schema import EXPECTED, layout, read_all
from tests.accounting.test_witness import forget_in_this_process, remove
from tests.charges import charge
from tests.conftest import empty_schema
from tests.plans import survey

pytestmark = pytest.mark.usefixtures("state")


def filled(url: str) -> Ledger:
    """A ledger of two owners, with caps, results, a key, and a request for approval."""
    ledger = Ledger(url)
    ledger.set_cap("clinic", "9/2")
    charge(ledger, "first", epsilon="1/3")
    charge(ledger.for_owner("ann"), "second", "school", rows=b"pupils")
    charge(ledger, "third")
    ledger.keep_key("signing", lambda: b"key")
    ledger.approvals.set_rule("wages", needed=True)
    ledger.approvals.send(survey(dataset="wages"), Actor("ann"), "a note")
    return ledger


def everything(url: str) -> list[object]:
    """All that a ledger holds, row by row; the layout's version apart."""
    tables = ["caps", "charges", "payloads", "sketches", "keys", "rules", "requests", "meta"]
    return [
        [dict(sorted(row._mapping.items())) for row in look(url, f"SELECT * FROM ledger_{name}")] for name in tables
    ]


@pytest.mark.by_day(1)
def test_a_backup_is_the_same_ledger_in_one_private_file(stored_url: str, tmp_path: Path) -> None:
    ledger = filled(stored_url)
    (folder := tmp_path / "backups").mkdir()
    assert upkeep.backup(stored_url, folder / "b.db") == 3
    assert os.listdir(folder) == ["b.db"]
    assert stat.S_IMODE((folder / "b.db").stat().st_mode) == 0o600
    copy = f"sqlite:///{folder}/b.db"
    assert everything(copy) == everything(stored_url)
    assert Ledger(copy).history() == ledger.history()
    assert Ledger(copy).fingerprint(b"rows") == ledger.fingerprint(b"rows")
    assert upkeep.check(copy) == upkeep.check(stored_url) == 3


def test_a_backup_overwrites_nothing(stored_url: str, tmp_path: Path) -> None:
    filled(stored_url)
    (tmp_path / "b.db").write_bytes(b"mine")
    for place in (tmp_path / "b.db", tmp_path):
        with pytest.raises(LedgerError, match="is there already, and was not overwritten"):
            upkeep.backup(stored_url, place)
    assert (tmp_path / "b.db").read_bytes() == b"mine"
    with pytest.raises(LedgerError, match="The backup cannot be written"):
        upkeep.backup(stored_url, tmp_path / "nowhere" / "b.db")


@pytest.mark.by_day(1)
def test_a_damaged_ledger_gives_no_backup(stored_url: str, tmp_path: Path) -> None:
    filled(stored_url)
    look(stored_url, "UPDATE ledger_payloads SET payload = :value WHERE number = 2", b"\0")
    with pytest.raises(LedgerError, match="Entry 2 "):  # of another owner
        upkeep.backup(stored_url, tmp_path / "b.db")
    with pytest.raises(LedgerError, match="Entry 2 "):
        upkeep.check(stored_url)
    assert not (tmp_path / "b.db").exists()


def test_backups_during_charges_are_complete_and_each_continues_the_one_before(stored_url: str, tmp_path: Path) -> None:
    (folder := tmp_path / "backups").mkdir()
    counts = run("backups", stored_url, str(folder), 6)
    assert counts == sorted(counts)
    whole = ids(Ledger(stored_url))
    for number, entries in enumerate(counts):
        assert ids(Ledger(f"sqlite:///{folder}/{number}.db")) == whole[:entries]
    assert upkeep.check(stored_url) == len(whole) > counts[0]


def test_a_lost_ledger_is_restored_and_goes_on(stored_url: str, tmp_path: Path) -> None:
    ledger = filled(stored_url)
    before = everything(stored_url)
    upkeep.backup(stored_url, tmp_path / "b.db")
    remove(stored_url)
    forget_in_this_process()
    assert upkeep.restore(tmp_path / "b.db", stored_url) == 3
    assert everything(stored_url) == before
    assert charge(ledger, "first", payload=b"drawn again") == b"numbers of first"
    charge(ledger, "fourth")
    assert Ledger(stored_url).spent("clinic") == Fraction(7, 3)


def test_a_backup_moves_between_a_file_and_a_server(tmp_path: Path, postgres: str) -> None:
    file, server = f"sqlite:///{tmp_path}/ledger.db", empty_schema(postgres)
    filled(file)
    upkeep.backup(file, tmp_path / "b.db")
    assert upkeep.restore(tmp_path / "b.db", server) == 3
    charge(Ledger(server), "on the server")
    upkeep.backup(server, tmp_path / "back.db")
    assert upkeep.restore(tmp_path / "back.db", file) == 4
    assert everything(file) == everything(server)


@pytest.mark.by_day(1)
def test_a_restore_that_would_lose_entries_is_refused_unless_confirmed(stored_url: str, tmp_path: Path) -> None:
    ledger = filled(stored_url)
    upkeep.backup(stored_url, tmp_path / "b.db")
    charge(ledger, "fourth")
    with pytest.raises(LedgerError, match="it has 3 entries, but 4 were seen there, and what was spent since"):
        upkeep.restore(tmp_path / "b.db", stored_url)
    assert len(ids(ledger)) == 3, "of this owner; nothing was changed"
    assert upkeep.restore(tmp_path / "b.db", stored_url, forget=True) == 3
    assert ids(Ledger(stored_url)) == ["id of first", "id of third"]
    charge(ledger, "another fourth")


TABLES = ["caps", "payloads", "sketches", "keys", "charges", "meta"]


def empty(url: str, tables: list[str], drop: bool = False) -> None:
    for name in tables:
        look(url, f"DROP TABLE ledger_{name}" if drop else f"DELETE FROM ledger_{name}")


@pytest.mark.parametrize(
    ("tables", "drop"), [(TABLES, False), (["meta"], False), (["meta"], True), (["keys", "caps"], True)]
)
@pytest.mark.by_day(4)
def test_a_ledger_that_lost_rows_or_tables_is_restored(
    stored_url: str, tmp_path: Path, tables: list[str], drop: bool
) -> None:
    ledger = filled(stored_url)
    before = everything(stored_url)
    upkeep.backup(stored_url, tmp_path / "b.db")
    empty(stored_url, tables, drop)
    with pytest.raises(LedgerError):
        Ledger(stored_url).history()
    assert upkeep.restore(tmp_path / "b.db", stored_url) == 3
    assert everything(stored_url) == before
    charge(ledger, "fourth")


@pytest.mark.by_day(1)
def test_a_restore_does_not_lose_the_charges_that_a_damaged_ledger_still_has(
    stored_url: str, tmp_path: Path, state: Path
) -> None:
    ledger = filled(stored_url)
    upkeep.backup(stored_url, tmp_path / "b.db")
    charge(ledger, "fourth")
    empty(stored_url, ["meta"])
    shutil.rmtree(state)
    forget_in_this_process()
    with pytest.raises(LedgerError, match="it has 3 entries, but 4 were seen there"):
        upkeep.restore(tmp_path / "b.db", stored_url)
    assert upkeep.restore(tmp_path / "b.db", stored_url, forget=True) == 3


@pytest.mark.by_day(1)
def test_an_emptied_ledger_of_an_earlier_version_is_restored_in_today_s_layout(old_url: str, tmp_path: Path) -> None:
    upkeep.backup(old_url, tmp_path / "b.db")
    empty(old_url, ["caps", "payloads", "charges", "meta"])
    assert upkeep.restore(tmp_path / "b.db", old_url) == len(EXPECTED["history"])
    assert look(old_url, "SELECT version FROM ledger_meta") == [(VERSION,)]
    read_all(old_url)
    charge(Ledger(old_url), "plan")


def test_noted_entries_count_even_if_the_ledger_is_gone(stored_url: str, tmp_path: Path) -> None:
    ledger = filled(stored_url)
    upkeep.backup(stored_url, tmp_path / "b.db")
    charge(ledger, "fourth")
    remove(stored_url)
    with pytest.raises(LedgerError, match="4 were seen there"):
        upkeep.restore(tmp_path / "b.db", stored_url)
    with pytest.raises(LedgerError, match="is gone"):
        Ledger(stored_url)
    assert upkeep.restore(tmp_path / "b.db", stored_url, forget=True) == 3
    assert Ledger(stored_url).spent("clinic") == Fraction(4, 3)


def test_present_entries_count_even_for_an_account_that_never_used_the_ledger(
    stored_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger = filled(stored_url)
    upkeep.backup(stored_url, tmp_path / "b.db")
    charge(ledger, "fourth")
    monkeypatch.setenv("PRIVATE_RELEASE_STATE", str(tmp_path / "another account"))
    with pytest.raises(LedgerError, match="4 were seen there"):
        upkeep.restore(tmp_path / "b.db", stored_url)
    filled(other := f"sqlite:///{tmp_path}/other.db")
    with pytest.raises(LedgerError, match="another one"):
        upkeep.restore(tmp_path / "b.db", other)


@pytest.mark.parametrize("damage", ["UPDATE ledger_charges SET epsilon = '1/9' WHERE number = 2",
                                    "DELETE FROM ledger_payloads WHERE number = 1",
                                    "UPDATE ledger_keys SET value = x'00'"])  # fmt: skip
def test_a_damaged_backup_is_not_restored(tmp_path: Path, damage: str) -> None:
    url = f"sqlite:///{tmp_path}/ledger.db"
    filled(url)
    upkeep.backup(url, tmp_path / "b.db")
    look(f"sqlite:///{tmp_path}/b.db", damage)
    remove(url)
    with pytest.raises(LedgerError):
        upkeep.restore(tmp_path / "b.db", url)
    assert not (tmp_path / "ledger.db").exists()


def test_a_file_that_is_not_a_backup_is_not_restored(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("no backup")
    for source in (tmp_path / "text", tmp_path / "nowhere", tmp_path):
        with pytest.raises(LedgerError, match="The copy cannot be used"):
            upkeep.restore(source, f"sqlite:///{tmp_path}/ledger.db")
    assert not (tmp_path / "ledger.db").exists()


def test_a_restore_is_complete_or_changes_nothing(
    stored_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    filled(stored_url)
    upkeep.backup(stored_url, tmp_path / "b.db")
    charge(Ledger(stored_url), "fourth")
    before = everything(stored_url)

    def crash(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(upkeep, "_copy", crash)
    with pytest.raises(KeyboardInterrupt):
        upkeep.restore(tmp_path / "b.db", stored_url, forget=True)
    assert everything(stored_url) == before
    assert upkeep.check(stored_url) == 4


@pytest.mark.by_day(1)
def test_stored_results_that_were_lost_come_back(stored_url: str, tmp_path: Path) -> None:
    filled(stored_url)
    upkeep.backup(stored_url, tmp_path / "b.db")
    look(stored_url, "DELETE FROM ledger_payloads WHERE number = 1")
    with pytest.raises(LedgerError, match="Entry 1 "):
        upkeep.check(stored_url)
    assert upkeep.restore(tmp_path / "b.db", stored_url) == upkeep.check(stored_url) == 3


@pytest.mark.by_day(1)
def test_a_ledger_of_an_earlier_version_is_backed_up_in_today_s_layout(old_url: str, tmp_path: Path) -> None:
    assert upkeep.backup(old_url, tmp_path / "b.db") == len(EXPECTED["history"])
    assert look(old_url, "SELECT version FROM ledger_meta") == [(1,)]
    copy = f"sqlite:///{tmp_path}/b.db"
    assert look(copy, "SELECT version FROM ledger_meta") == [(VERSION,)]
    read_all(copy)
    Ledger(fresh := f"sqlite:///{tmp_path}/fresh.db")
    assert layout(copy) == layout(fresh)
    remove(fresh)
    charge(Ledger(copy), "plan")
    assert upkeep.restore(tmp_path / "b.db", old_url) == len(EXPECTED["history"]) + 1


def test_a_backup_is_taken_of_one_moment_and_locks_nobody_out(postgres: str, tmp_path: Path) -> None:
    url = empty_schema(postgres)
    ledger = filled(url)
    with psycopg.connect(url) as writer:
        writer.execute("SELECT * FROM ledger_meta FOR UPDATE")
        assert upkeep.backup(url, tmp_path / "b.db") == 3
    charge(ledger, "fourth")


def test_a_schema_without_a_ledger_is_not_touched_by_a_backup(postgres: str, tmp_path: Path) -> None:
    url = empty_schema(postgres)
    with pytest.raises(LedgerError, match="There is no ledger here"):
        upkeep.backup(url, tmp_path / "b.db")
    engine = sa.create_engine(url)
    assert sa.inspect(engine).get_table_names() == []
    engine.dispose()
