"""The ledger under races, sudden death and failing disks: it never shows what it did not charge."""

from __future__ import annotations

import atexit
import json
import os
import secrets
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from functools import cache
from itertools import takewhile
from pathlib import Path
from typing import Any

import psycopg
import pytest
import sqlalchemy

from dpengine.accounting import database, hash_chain, upkeep
from dpengine.accounting import ledger as ledger_module
from dpengine.accounting.ledger import Ledger
from dpengine.accounting.signing_key import signing_key
from dpengine.errors import LedgerError
from tests import engines
from tests.charges import charge
from tests.conftest import EXAMPLES, empty_schema

JOBS = str(Path(__file__).with_name("ledger_jobs.py"))
BEFORE, AFTER = ["after_begin", "after_upgrade", "after_insert", "before_commit"], ["after_commit", "after_note"]
POINTS = [*BEFORE, *AFTER]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "secret folder" / "led%20ger?.db"


@pytest.fixture
def url(path: Path) -> str:
    path.parent.mkdir()
    return str(sqlalchemy.URL.create("sqlite", database=str(path)))


@cache
def _jobs() -> subprocess.Popen[str]:
    """One process for all jobs, which forks for each, since importing takes most of a start."""
    root = str(Path(ledger_module.__file__).parents[2])
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
    process = subprocess.Popen(
        [sys.executable, "-W", "error", JOBS], env={**os.environ, "PYTHONPATH": root}, text=True, **pipes
    )
    atexit.register(process.communicate)
    return process


def run(job: str, url: str, *arguments: object) -> list[Any]:
    requests, replies = _jobs().stdin, _jobs().stdout
    assert requests is not None
    assert replies is not None
    print(json.dumps([job, url, arguments]), file=requests, flush=True)
    lines = list(takewhile("done\n".__ne__, replies))  # ends too if the process does
    assert len(lines) == 1, "".join(lines)
    answer: list[Any] = json.loads(lines[0])
    return answer


def assert_closed(work: Callable[[], object], path: Path) -> None:
    with pytest.raises(LedgerError) as caught:
        work()
    assert path.name not in str(caught.value)
    assert path.parent.name not in str(caught.value)


def ids(ledger: Ledger) -> list[str]:
    return [entry.release_id for entry in ledger.history()]


def test_processes_that_open_a_new_ledger_at_once_get_the_same_one(stored_url: str) -> None:
    assert len(set(run("create", stored_url))) == 1


def test_processes_that_ask_for_a_signing_key_at_once_get_the_same_one(stored_url: str) -> None:
    Ledger(stored_url)
    (key,) = set(run("key", stored_url))
    known = signing_key(Ledger(stored_url))
    assert known is not None
    assert known.private_bytes_raw().hex() == key


def test_a_new_ledger_is_one_file(url: str, path: Path) -> None:
    run("create", url)
    # Two that close at once may both leave SQLite's own -wal and -shm to the next; no half-made ledger stays.
    assert {path.name} <= set(os.listdir(path.parent)) <= {path.name + end for end in ("", "-wal", "-shm")}


def test_four_processes_are_granted_exactly_what_the_cap_allows(stored_url: str) -> None:
    Ledger(stored_url).set_cap("clinic", 60)
    assert sum(run("spend", stored_url, 4, 50)) == 60
    assert Ledger(stored_url).spent("clinic") == 60
    Ledger(stored_url).verify_chain()


def test_one_of_four_processes_gets_the_last_unit(stored_url: str) -> None:
    Ledger(stored_url).set_cap("clinic", 1)
    assert sorted(run("spend", stored_url, 4, 1)) == [0, 0, 0, 1]


def test_two_processes_with_the_same_data_and_plan_pay_once_and_show_the_same(stored_url: str) -> None:
    first, second = run("same", stored_url, 20)
    assert first == second
    assert Ledger(stored_url).spent("clinic") == 20
    assert set(first) <= {"drawn by 0", "drawn by 1"}


def test_one_of_two_processes_with_near_copies_gets_the_last_unit(stored_url: str) -> None:
    for name in ("copy 0", "copy 1"):
        Ledger(stored_url).set_cap(name, 1)
    (charged, _), (refused, why) = sorted(run("near", stored_url))
    assert (charged, refused) == ("charged", "refused")
    assert "The table looks like that of" in why
    assert len(ids(Ledger(stored_url))) == 1


@pytest.mark.parametrize("point", POINTS)
def test_death_at_any_point_leaves_charge_and_release_or_neither(stored_url: str, point: str) -> None:
    Ledger(stored_url).set_cap("clinic", 1)
    assert run("die", stored_url, "plan", point) == []
    ledger, committed = Ledger(stored_url), point in AFTER
    assert ledger.spent("clinic") == committed
    assert charge(ledger, "plan", payload=b"drawn again") == (b"numbers of plan" if committed else b"drawn again")
    assert ledger.spent("clinic") == 1
    ledger.verify_chain()


@pytest.mark.by_day(6)
@pytest.mark.parametrize("point", POINTS)
@pytest.mark.parametrize("lose_wal", [False, True])
def test_death_at_any_point_shows_nothing_and_leaves_charge_and_release_or_neither(
    url: str, path: Path, point: str, lose_wal: bool
) -> None:
    Ledger(url).set_cap("clinic", 2)
    assert charge(Ledger(url), "earlier") == b"numbers of earlier"
    assert run("die", url, "plan", point) == []
    wal = path.with_name(path.name + "-wal")
    assert wal.exists()
    if lose_wal:
        wal.unlink()
    ledger = Ledger(url)
    committed = point in AFTER
    assert ledger.spent("clinic") == 1 + committed
    assert ledger.payload("id of plan") == (b"numbers of plan" if committed else None)
    assert charge(ledger, "plan", payload=b"drawn again") == (b"numbers of plan" if committed else b"drawn again")
    assert ledger.spent("clinic") == 2
    ledger.verify_chain()


@pytest.mark.nightly
def test_death_at_random_times_never_leaves_a_shown_release_uncharged(stored_url: str) -> None:
    Ledger(stored_url)
    shown = dict(text.split("=") for text in run("kill", stored_url, 40))
    ledger = Ledger(stored_url)
    ledger.verify_chain()
    charged = ids(ledger)
    assert len(shown) > 0
    assert len(charged) == len(set(charged)) == ledger.spent("clinic")
    for plan, payload in shown.items():
        assert ledger.payload(f"id of {plan}") == payload.encode()
    for release_id in charged:
        stored = ledger.payload(release_id)
        assert stored is not None
        assert charge(ledger, release_id.removeprefix("id of "), payload=b"drawn again") == stored
    assert ids(ledger) == charged


def test_a_full_disk_charges_nothing_and_shows_nothing(url: str, path: Path) -> None:
    charge(Ledger(url), "earlier")
    [answer] = run("full", url, path.stat().st_size + 100_000)
    assert answer.startswith("The ledger cannot be used")
    assert path.parent.name not in answer
    assert Ledger(url).spent("clinic") == 1
    charge(Ledger(url), "big")
    assert Ledger(url).spent("clinic") == 2


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that an unprivileged account can reach, unlike pytest's own."""
    folder = Path(tempfile.mkdtemp())
    yield folder
    shutil.rmtree(folder)


@pytest.mark.parametrize("exists", [False, True])
def test_a_read_only_folder_is_refused(open_folder: Path, exists: bool) -> None:
    path = open_folder / "ledger.db"
    url = f"sqlite:///{path}"
    if exists:
        charge(Ledger(url), "earlier")
        path.chmod(0o666)
    open_folder.chmod(0o555)
    [answer] = run("unprivileged", url)
    assert answer.startswith("The ledger cannot be used")
    assert str(open_folder) not in answer
    open_folder.chmod(0o755)
    assert path.exists() == exists
    if exists:
        assert ids(Ledger(url)) == ["id of earlier"]


def test_a_ledger_that_cannot_be_a_file_is_refused(tmp_path: Path) -> None:
    for place in (tmp_path, tmp_path / "missing" / "l.db", tmp_path / "file" / "l.db"):
        (tmp_path / "file").touch()
        assert_closed(lambda place=place: Ledger(f"sqlite:///{place}"), tmp_path)


@pytest.mark.parametrize("address", ["l.db", "sqlite:///l.db?mode=memory", "nosuch://x/y", "sqlite+nosuch:///l.db"])
def test_an_invalid_address_is_refused(address: str) -> None:
    with pytest.raises(LedgerError):
        Ledger(address)


def test_a_ledger_held_by_another_connection_is_refused_in_time_and_read_meanwhile(
    url: str, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database, "_BUSY_SECONDS", 0.2)
    ledger = Ledger(url)
    charge(ledger, "earlier")
    holder = sqlite3.connect(path, isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    assert_closed(lambda: charge(ledger, "plan"), path)  # comes back while the other still holds it
    assert_closed(lambda: ledger.set_cap("clinic", 9), path)
    assert ledger.spent("clinic") == 1
    holder.close()
    charge(ledger, "plan")
    assert ledger.spent("clinic") == 2


def test_a_ledger_held_on_a_server_is_refused_in_time_and_read_meanwhile(
    postgres: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database, "_BUSY_SECONDS", 0.2)
    url = empty_schema(postgres)
    ledger = Ledger(url)
    charge(ledger, "earlier")
    with psycopg.connect(url) as holder:
        holder.execute("SELECT * FROM ledger_meta FOR UPDATE")
        with pytest.raises(LedgerError, match="another process has held it for too long"):
            charge(ledger, "plan")
        assert ledger.spent("clinic") == 1
    charge(ledger, "plan")
    assert ledger.spent("clinic") == 2


def test_a_writer_waits_for_others_for_more_than_half_a_minute(stored_url: str) -> None:
    statement = "PRAGMA busy_timeout"
    if not stored_url.startswith("sqlite"):
        statement = "SELECT setting::int FROM pg_settings WHERE name = 'lock_timeout'"
    with database.Store(stored_url, hash_chain.build).writing() as connection:
        assert connection.exec_driver_sql(statement).scalar_one() > 30_000  # milliseconds


def test_a_charge_is_in_the_file_itself_when_it_is_committed(tmp_path: Path) -> None:
    """Not in the system's memory, nor for long in a log beside the file, which a copy may leave behind."""
    store = database.Store(f"sqlite:///{tmp_path / 'ledger.db'}", hash_chain.build)
    with store.writing() as connection:
        said = [connection.exec_driver_sql(f"PRAGMA {name}").scalar_one()
                for name in ("synchronous", "wal_autocheckpoint", "journal_mode")]  # fmt: skip
    full = 2
    assert said == [full, 1, "wal"]


def test_a_charge_is_on_the_disk_when_it_is_committed_whatever_the_server_is_set_to(postgres: str) -> None:
    url = empty_schema(postgres)
    statement = "SELECT setting FROM pg_settings WHERE name = 'synchronous_commit'"
    for setting, expected in (("off", "on"), ("local", "local"), ("on", "on")):  # others are as strong, or stronger
        with database.Store(f"{url}%20-csynchronous_commit%3D{setting}", hash_chain.build).writing() as connection:
            assert connection.exec_driver_sql(statement).scalar_one() == expected


def test_a_server_that_restarts_is_found_again_and_one_that_is_gone_is_refused() -> None:
    with engines.postgres() as address:
        ledger = Ledger(address)
        charge(ledger, "earlier")
        with psycopg.connect(address, autocommit=True) as other:  # as a restart does to all that are connected
            other.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid()")
        charge(ledger, "plan")
        assert ledger.spent("clinic") == 2
    with pytest.raises(LedgerError, match="cannot be reached") as caught:
        charge(ledger, "late")
    assert "127.0.0.1" not in str(caught.value)


FULL = """
CREATE FUNCTION full_disk() RETURNS trigger LANGUAGE plpgsql AS
$$ BEGIN RAISE EXCEPTION 'could not extend file' USING ERRCODE = 'disk_full'; END $$
"""


def test_a_server_whose_disk_is_full_charges_nothing_and_says_what_to_do(postgres: str) -> None:
    url = empty_schema(postgres)
    ledger = Ledger(url)
    charge(ledger, "earlier")
    with psycopg.connect(url) as server:
        server.execute(FULL)
        server.execute("CREATE TRIGGER no_room BEFORE INSERT ON ledger_payloads EXECUTE FUNCTION full_disk()")
    with pytest.raises(LedgerError, match="the disk is full; make room and try again"):
        charge(ledger, "plan")
    assert ids(Ledger(url)) == ["id of earlier"]
    with psycopg.connect(url) as server:
        server.execute("DROP TRIGGER no_room ON ledger_payloads")
    charge(ledger, "plan")
    assert ledger.spent("clinic") == 2


def test_a_server_that_takes_no_changes_is_refused(postgres: str) -> None:
    url = empty_schema(postgres)
    charge(Ledger(url), "earlier")
    reader = f"{url} -cdefault_transaction_read_only%3Don"
    with pytest.raises(LedgerError, match="read-only"):
        charge(Ledger(reader), "plan")
    assert ids(Ledger(url)) == ["id of earlier"]


def test_a_missing_ledger_is_not_replaced_by_a_new_one(url: str, path: Path) -> None:
    ledger = Ledger(url)
    path.unlink()
    assert_closed(lambda: charge(ledger, "plan"), path)
    assert not path.exists()


def test_a_ledger_exchanged_while_in_use_is_refused(url: str, path: Path) -> None:
    ledger = Ledger(url)
    path.unlink()
    upkeep.begin(url)
    assert_closed(lambda: charge(ledger, "plan"), path)


def test_a_file_that_is_no_ledger_is_refused(url: str, path: Path) -> None:
    other = sqlite3.connect(path)
    other.execute("CREATE TABLE patients (name)")
    other.commit()
    other.close()
    assert_closed(lambda: Ledger(url), path)


@pytest.mark.by_day(2)
@pytest.mark.parametrize("keep", [0, 1, 100, 4096, 0.5, 0.95])
def test_a_truncated_ledger_is_refused(url: str, path: Path, keep: float) -> None:
    for number in range(20):
        charge(Ledger(url), f"{number}", payload=secrets.token_bytes(3000))
    size = path.stat().st_size
    os.truncate(path, keep if isinstance(keep, int) else int(keep * size))
    assert_closed(lambda: charge(Ledger(url), "plan"), path)


def answers(url: str) -> list[object]:
    """Query everything of a ledger, opened anew for each query; an error counts as an answer."""
    questions: list[Callable[[Ledger], object]] = [
        lambda ledger: ledger.history(),
        lambda ledger: (ledger.spent("clinic"), ledger.cap("clinic"), ledger.datasets()),
        lambda ledger: [ledger.payload(f"id of {number}") for number in range(3)],
    ]
    result: list[object] = []
    for ask in questions:
        try:
            result.append(ask(Ledger(url)))
        except LedgerError:
            result.append(LedgerError)
    return result


@pytest.mark.nightly
def test_a_damaged_byte_never_changes_an_answer(url: str, path: Path) -> None:
    for number in range(3):
        charge(Ledger(url), f"{number}", payload=secrets.token_bytes(2000))
    Ledger(url).set_cap("clinic", 5)
    whole, truth = path.read_bytes(), answers(url)
    assert LedgerError not in truth
    noticed = 0
    places = [secrets.randbelow(len(whole)) for _ in range(80 * EXAMPLES // 20)]
    places += [page + secrets.randbelow(16) for page in range(0, len(whole), 4096)]
    for place in places:
        damaged = bytearray(whole)
        damaged[place] ^= 1 + secrets.randbelow(255)
        path.write_bytes(damaged)
        for side in ("-wal", "-shm"):
            path.with_name(path.name + side).unlink(missing_ok=True)
        for answer, true in zip(answers(url), truth, strict=True):
            assert answer in (true, LedgerError), place
            noticed += answer is LedgerError
    assert noticed > 0
