"""A ledger that is missing or replaced by another one is reported, and no new one is begun silently."""

from __future__ import annotations

import json
import os
import secrets
import shutil
import stat
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dpengine.accounting import upkeep, witness
from dpengine.accounting.database import public_address
from dpengine.accounting.ledger import Ledger
from dpengine.accounting.signing_key import keep_signing_key
from dpengine.errors import LedgerError
from tests.accounting.test_ledger import look
from tests.charges import charge
from tests.command import run
from tests.conftest import empty_schema


def remove(url: str) -> None:
    """Take away a ledger as a lost disk or an emptied database does."""
    if url.startswith("sqlite"):
        for end in ("", "-wal", "-shm"):
            Path(url.removeprefix("sqlite:///") + end).unlink(missing_ok=True)
    else:
        for (table,) in look(url, "SELECT tablename FROM pg_tables WHERE schemaname = current_schema()"):
            look(url, f"DROP TABLE {table} CASCADE")


def go_back(url: str, charges: Callable[[], object]) -> None:
    """Charge, and put back the copy of the ledger that was taken before."""
    old = Path(os.environ["PRIVATE_RELEASE_STATE"]).parent / f"old-{secrets.token_hex(4)}.db"
    upkeep.backup(url, old)
    charges()
    if url.startswith("sqlite"):
        remove(url)
        shutil.copy(old, url.removeprefix("sqlite:///"))
    else:  # another account, which knows of nothing, restores it
        seen = witness.seen(public_address(url))
        upkeep.restore(old, url, forget=True)
        assert seen is not None
        witness.note(public_address(url), seen)


def forget_in_this_process() -> None:
    """Forget all notes but those in files, as a new process would."""
    witness._noted.clear()
    witness._unwritten.clear()


def test_a_ledger_that_is_gone_is_reported_and_not_replaced(stored_url: str, state: Path) -> None:
    ledger = Ledger(stored_url)
    assert ledger.begun
    charge(ledger, "plan")
    remove(stored_url)
    forget_in_this_process()
    for use in (lambda: Ledger(stored_url), lambda: Ledger(stored_url, begin=False), lambda: upkeep.check(stored_url)):
        with pytest.raises(LedgerError, match=r"of 1 entry, is gone.*private-release ledger restore.*ledger begin"):
            use()
    with pytest.raises(LedgerError):
        charge(ledger, "plan")
    assert upkeep.begin(stored_url) == ledger.address
    again = Ledger(stored_url)
    assert (again.begun, again.history()) == (False, [])


def test_the_error_names_the_absolute_address(tmp_path: Path, state: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    ledger = Ledger("sqlite:///budget.db")
    assert ledger.address == f"sqlite:///{tmp_path}/budget.db"
    remove(ledger.address)
    with pytest.raises(LedgerError) as caught:
        Ledger("sqlite:///budget.db")
    assert str(caught.value).startswith(f"sqlite:///{tmp_path}/budget.db: The ledger that was used here")
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert Ledger("sqlite:///budget.db").begun, "another folder, another ledger"


def test_an_old_copy_put_back_is_reported_even_to_processes_that_have_it_open(stored_url: str, state: Path) -> None:
    ledger = Ledger(stored_url)
    charge(ledger, "first")
    go_back(stored_url, lambda: charge(ledger, "second"))
    forget_in_this_process()
    uses: list[Callable[[], object]] = [
        lambda: Ledger(stored_url), lambda: ledger.spent("clinic"), lambda: charge(ledger, "third"),
        lambda: ledger.named_key("signing"), lambda: ledger.set_cap("clinic", 3), lambda: upkeep.check(stored_url),
    ]  # fmt: skip
    for use in uses:
        with pytest.raises(LedgerError, match=r"has 1 entry, but 2 were seen there.*private-release ledger accept"):
            use()
    assert upkeep.accept(stored_url) == 1
    charge(ledger, "third")
    assert Ledger(stored_url).spent("clinic") == 2


def test_an_old_copy_with_charges_of_its_own_is_reported(stored_url: str, state: Path, monkeypatch: Any) -> None:
    ledger = Ledger(stored_url)
    charge(ledger, "first")
    go_back(stored_url, lambda: charge(ledger, "second"))
    monkeypatch.setenv("PRIVATE_RELEASE_STATE", str(state.with_name("another account")))
    for plan in ("other second", "other third"):
        charge(Ledger(stored_url), plan)
    monkeypatch.setenv("PRIVATE_RELEASE_STATE", str(state))
    with pytest.raises(LedgerError, match="its entry 2 is not the one that was seen there"):
        Ledger(stored_url)


def test_another_ledger_in_its_place_is_reported(stored_url: str, state: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    charge(Ledger(stored_url), "plan")
    remove(stored_url)
    monkeypatch.setenv("PRIVATE_RELEASE_STATE", str(state.with_name("another account")))
    for plan in ("first", "second"):
        charge(Ledger(stored_url), plan)
    monkeypatch.setenv("PRIVATE_RELEASE_STATE", str(state))
    with pytest.raises(LedgerError, match="another one than that of 1 entry"):
        Ledger(stored_url)
    assert upkeep.accept(stored_url) == 2


def test_charges_by_others_are_seen_and_noted(stored_url: str, state: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mine = Ledger(stored_url)
    monkeypatch.setenv("PRIVATE_RELEASE_STATE", str(state.with_name("another account")))
    charge(Ledger(stored_url, "ann"), "plan")
    monkeypatch.setenv("PRIVATE_RELEASE_STATE", str(state))
    forget_in_this_process()
    assert witness.seen(mine.address).entries == 0
    mine.history()
    assert witness.seen(mine.address).entries == 1, "of all owners"


def test_a_note_holds_no_name_amount_or_address_and_is_for_its_owner_alone(stored_url: str, state: Path) -> None:
    charge(Ledger(stored_url), "plan", dataset="zebra clinic", epsilon="7/13", title="A title", summary="A summary")
    [file] = [path for path in state.rglob("*") if path.is_file()]
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700
    note = json.loads(file.read_text())
    [(secret, head)] = look(stored_url, "SELECT secret, head FROM ledger_meta")
    assert note == {"identity": note["identity"], "entries": 1, "head": bytes(head).hex(), "keys": []}
    assert bytes(secret).hex() not in file.read_text()
    assert "ledger" not in file.name


LOST_KEY = r"its signing key is gone or was replaced.*private-release ledger restore.*private-release ledger accept"


@pytest.mark.by_day(3)
@pytest.mark.parametrize("entries", [0, 1])
@pytest.mark.parametrize("change", ["DELETE FROM ledger_keys", "UPDATE ledger_keys SET name = 'other'"])
def test_a_missing_signing_key_is_reported_and_not_replaced(
    stored_url: str, state: Path, tmp_path: Path, change: str, entries: int
) -> None:
    ledger = Ledger(stored_url)
    key = keep_signing_key(ledger).private_bytes_raw()
    for _ in range(entries):
        charge(ledger, "plan")
    upkeep.backup(stored_url, tmp_path / "backup.db")
    look(stored_url, change)
    forget_in_this_process()
    uses: list[Callable[[], object]] = [
        lambda: keep_signing_key(ledger), lambda: Ledger(stored_url), lambda: charge(ledger, "another"),
        lambda: upkeep.backup(stored_url, tmp_path / "late.db"),
    ]  # fmt: skip
    for use in uses:
        with pytest.raises(LedgerError, match=LOST_KEY):
            use()
    with pytest.raises(LedgerError, match=LOST_KEY if change.startswith("DELETE") else "was changed from outside"):
        upkeep.check(stored_url)
    upkeep.restore(tmp_path / "backup.db", stored_url)
    assert keep_signing_key(Ledger(stored_url)).private_bytes_raw() == key


def test_a_signing_key_that_is_gone_is_missed_though_another_key_is_there(stored_url: str, state: Path) -> None:
    ledger = Ledger(stored_url)
    keep_signing_key(ledger)
    ledger.keep_key("another", lambda: bytes(32))
    look(stored_url, "DELETE FROM ledger_keys WHERE name <> 'another'")
    with pytest.raises(LedgerError, match=LOST_KEY):
        Ledger(stored_url)


def test_a_ledger_without_its_signing_key_is_used_again_once_that_is_confirmed(stored_url: str, state: Path) -> None:
    ledger = Ledger(stored_url)
    keep_signing_key(ledger)
    look(stored_url, "DELETE FROM ledger_keys")
    assert upkeep.accept(stored_url) == 0
    fresh = keep_signing_key(ledger).private_bytes_raw()
    assert keep_signing_key(Ledger(stored_url)).private_bytes_raw() == fresh


def test_a_key_that_another_account_made_is_seen_and_noted(
    stored_url: str, state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mine = Ledger(stored_url)
    monkeypatch.setenv("PRIVATE_RELEASE_STATE", str(state.with_name("another account")))
    keep_signing_key(Ledger(stored_url))
    monkeypatch.setenv("PRIVATE_RELEASE_STATE", str(state))
    mine.history()
    look(stored_url, "DELETE FROM ledger_keys")
    with pytest.raises(LedgerError, match=LOST_KEY):
        keep_signing_key(mine)


def test_a_password_is_no_part_of_an_address() -> None:
    url = "postgresql+psycopg://ann:{}@db.example.org/ledger?password={}&options=-csearch_path%3Da"
    first, second = (public_address(url.format(word, word)) for word in ("secret", "changed"))
    assert first == second
    assert "secret" not in str(first)
    assert public_address(url.replace("search_path%3Da", "search_path%3Db")) != first


def test_if_no_note_can_be_written_results_are_returned_and_this_process_remembers(
    stored_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("PRIVATE_RELEASE_STATE", str(tmp_path / "file" / "state"))
    assert charge(Ledger(stored_url), "plan") == b"numbers of plan"
    assert f"cannot be noted in {tmp_path / 'file' / 'state'}" in str(witness.unwritten(public_address(stored_url)))
    assert "let this account write there, or set PRIVATE_RELEASE_STATE" in run("ledger", "--ledger", stored_url).stderr
    remove(stored_url)
    with pytest.raises(LedgerError, match="is gone"):
        Ledger(stored_url)
    forget_in_this_process()
    assert Ledger(stored_url).begun, "a new process knows of nothing: docs/deploy.md says so"
    monkeypatch.setenv("PRIVATE_RELEASE_STATE", str(tmp_path / "state"))
    charge(Ledger(stored_url), "plan")
    assert witness.unwritten(public_address(stored_url)) is None


@pytest.mark.parametrize("content", ["", "{", "[]", '{"identity": 1, "entries": 1, "head": ""}', '{"entries": "x"}'])
def test_a_damaged_note_still_shows_that_there_was_a_ledger(stored_url: str, state: Path, content: str) -> None:
    charge(Ledger(stored_url), "plan")
    [file] = (state / "ledgers").iterdir()
    file.write_text(content)
    forget_in_this_process()
    assert Ledger(stored_url).spent("clinic") == 1
    assert json.loads(file.read_text())["entries"] == 1, "noted again"
    file.write_text(content)
    forget_in_this_process()
    remove(stored_url)
    with pytest.raises(LedgerError, match="is gone"):
        Ledger(stored_url)


def test_a_ledger_without_charges_may_be_replaced(
    stored_url: str, state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A server that began an empty ledger before its disk was mounted continues with the ledger on the disk."""
    Ledger(stored_url)
    remove(stored_url)
    monkeypatch.setenv("PRIVATE_RELEASE_STATE", str(state.with_name("another account")))
    charge(Ledger(stored_url), "plan")
    monkeypatch.setenv("PRIVATE_RELEASE_STATE", str(state))
    assert Ledger(stored_url).spent("clinic") == 1


def test_a_moved_ledger_works_at_its_new_place_and_is_reported_missing_at_the_old_one(
    tmp_path: Path, state: Path
) -> None:
    old, new = f"sqlite:///{tmp_path}/old.db", f"sqlite:///{tmp_path}/new.db"
    charge(Ledger(old), "plan")
    (tmp_path / "old.db").rename(tmp_path / "new.db")
    charge(Ledger(new), "second")
    assert Ledger(new).spent("clinic") == 2
    with pytest.raises(LedgerError, match="is gone"):
        Ledger(old)


def test_a_copy_that_was_used_is_said_at_both_places_and_a_ledger_that_was_moved_or_linked_is_not(
    tmp_path: Path, state: Path
) -> None:
    """A copy forgets nothing that it knows, so nothing is refused; but what is spent there is not in it."""
    first, link, copied = (f"sqlite:///{tmp_path}/{name}.db" for name in ("first", "link", "copied"))
    said = "a copy of this ledger was used at another address"
    charge(Ledger(first), "plan")
    (tmp_path / "link.db").symlink_to(tmp_path / "first.db")
    charge(Ledger(link), "second")
    charge(Ledger(first), "third")
    assert said not in run("ledger", "--ledger", first).stderr + run("ledger", "--ledger", link).stderr
    shutil.copy(tmp_path / "first.db", tmp_path / "copied.db")
    charge(Ledger(copied), "fourth")
    assert said not in run("ledger", "--ledger", copied).stderr, "it has all that was spent"
    assert said in run("ledger", "--ledger", first).stderr
    charge(Ledger(first), "fifth")
    assert said in run("ledger", "--ledger", copied).stderr


def test_no_ledger_is_created_unless_that_is_asked_for(stored_url: str, state: Path) -> None:
    for use in (lambda: Ledger(stored_url, begin=False), lambda: upkeep.check(stored_url)):
        with pytest.raises(LedgerError, match="There is no ledger here"):
            use()
    assert Ledger(stored_url).begun
    with pytest.raises(LedgerError, match="There is a ledger here"):
        upkeep.begin(stored_url)


def test_ledgers_in_memory_are_not_noted(state: Path) -> None:
    for _ in range(2):
        ledger = Ledger.in_memory()
        charge(ledger, "plan")
        assert ledger.address is None
    assert not state.exists()


def test_other_schemas_of_one_server_are_other_ledgers(postgres: str, state: Path) -> None:
    for _ in range(2):
        charge(Ledger(empty_schema(postgres)), "plan")
    assert len(list((state / "ledgers").iterdir())) == 2


def test_a_folder_that_is_not_there_is_a_ledger_that_is_gone(tmp_path: Path, state: Path) -> None:
    (disk := tmp_path / "disk").mkdir()
    charge(Ledger(f"sqlite:///{disk}/ledger.db"), "plan")
    disk.rename(tmp_path / "unmounted")
    with pytest.raises(LedgerError, match="mount its disk"):
        Ledger(f"sqlite:///{disk}/ledger.db")
    disk.mkdir()
    with pytest.raises(LedgerError, match="mount its disk"):
        Ledger(f"sqlite:///{disk}/ledger.db")
    assert list(disk.iterdir()) == []


def test_a_file_in_the_temporary_folder_may_go_and_one_elsewhere_may_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PRIVATE_RELEASE_STATE")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    for folder, is_told in (("temporary", False), ("kept", True)):
        (tmp_path / folder).mkdir()
        url = f"sqlite:///{tmp_path / folder / 'ledger.db'}"
        charge(Ledger(url), "clinic", "1")
        remove(url)
        if is_told:
            with pytest.raises(LedgerError, match="is gone"):
                Ledger(url)
        else:
            assert Ledger(url).datasets() == []
