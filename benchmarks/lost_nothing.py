"""Try to make a ledger lose something, in a file and on a server.

Processes that charge it are killed, at every named point and at random times; they race for the last unit of a cap;
another one holds it; its clock goes back; its file is cut, read-only, or on a full disk, and so is a server. Nothing
may be shown that was not charged, nothing charged twice, and every charge must be had again by its plan. Run with
`python benchmarks/lost_nothing.py --kills 200`; the tests do the same with fewer kills.
"""

from __future__ import annotations

import argparse
import os
import secrets
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import sqlalchemy as sa

sys.path.insert(0, str(Path(__file__).parent.parent))

from dpengine.accounting.ledger import Ledger
from dpengine.errors import LedgerError
from tests import engines
from tests.accounting.ledger_jobs import job_die, job_kill, job_spend
from tests.accounting.test_ledger_faults import AFTER, POINTS, ids, run
from tests.charges import charge
from tests.conftest import empty_schema

RACES, HELD, CUTS, FILLS = 20, 30.0, 200, 50  # HELD in seconds


def killed_at(url: str, point: str) -> str:
    """Kill a process at a named point, and say what was left of its charge."""
    Ledger(url)
    assert job_die(url, "plan", point) == [], "shown before the charge was told to be over"
    ledger = Ledger(url)
    spent = ledger.spent("clinic")
    assert spent == (point in AFTER)
    had = charge(ledger, "plan", payload=b"drawn again")
    assert had == (b"numbers of plan" if spent else b"drawn again")
    assert ledger.spent("clinic") == 1
    ledger.verify_chain()
    return "charged, and had again at no cost" if spent else "nothing charged, nothing shown"


def killed_at_random(url: str, kills: int) -> str:
    """Kill processes at random times, and count what they showed and what was charged."""
    Ledger(url)
    shown = dict(text.split("=") for text in job_kill(url, kills))
    ledger = Ledger(url)
    ledger.verify_chain()
    charged = ids(ledger)
    assert len(charged) == len(set(charged)) == ledger.spent("clinic")
    for plan, payload in shown.items():
        assert ledger.payload(f"id of {plan}") == payload.encode(), "shown and not charged, or another result"
    for release_id in charged:
        again = charge(ledger, release_id.removeprefix("id of "), payload=b"drawn again")
        assert again == ledger.payload(release_id) != b"drawn again"
    assert ids(ledger) == charged
    return (
        f"{kills} kills: {len(charged)} charged, {len(shown)} shown, 0 shown without a charge, 0 charged twice, "
        f"{len(charged) - len(shown)} charged and not shown, each had again"
    )


def raced(url: str, rounds: int) -> str:
    """Let four processes race for the last unit of a cap, again and again."""
    ledger = Ledger(url)
    for number in range(rounds):
        ledger.set_cap("clinic", number + 1)
        won = job_spend(url, 4, 1, f"round {number} ")
        assert sorted(won) == [0, 0, 0, 1], won
    assert ledger.spent("clinic") == rounds
    return f"{rounds} races of four processes for the last unit: one won each time"


def held(url: str, seconds: float) -> str:
    """Hold the ledger as a slow writer does, while another one waits to charge it."""
    ledger = Ledger(url)
    charge(ledger, "earlier")
    taken = threading.Event()

    def hold() -> None:
        engine = sa.create_engine(url, isolation_level="AUTOCOMMIT")
        with engine.connect() as holder:
            if holder.dialect.name == "sqlite":
                holder.exec_driver_sql("BEGIN IMMEDIATE")
            else:
                holder.exec_driver_sql("BEGIN")
                holder.exec_driver_sql("SELECT * FROM ledger_meta FOR UPDATE")
            taken.set()
            time.sleep(seconds)
            holder.exec_driver_sql("ROLLBACK")
        engine.dispose()

    holder = threading.Thread(target=hold)
    holder.start()
    taken.wait()
    began = time.monotonic()
    assert ledger.spent("clinic") == 1, "it can be read meanwhile"
    charge(ledger, "plan")
    waited = time.monotonic() - began
    holder.join()
    assert ledger.spent("clinic") == 2
    return f"held for {seconds:.0f} s: read meanwhile; a charge waited {waited:.0f} s and was made"


def clock_set_back(url: str) -> str:
    """Charge with a clock that goes backwards."""
    ledger = Ledger(url)
    for year in (2030, 2026, 1970):
        charge(ledger, f"{year}", created=f"{year}-01-01T00:00:00Z")
    assert [entry.created[:4] for entry in Ledger(url).history()] == ["2030", "2026", "1970"]
    return "clock set back from 2030 to 1970: entries stay in the order of their charges"


def truncated(folder: Path, times: int) -> str:
    """Cut a ledger's file at random places, and try to charge it from an account that never saw it whole."""
    path = folder / "truncated.db"
    url = f"sqlite:///{path}"
    for number in range(20):
        charge(Ledger(url), f"{number}", payload=secrets.token_bytes(3000))
    whole, before, refused = path.read_bytes(), os.environ["PRIVATE_RELEASE_STATE"], 0
    for number in range(times):
        os.environ["PRIVATE_RELEASE_STATE"] = f"{folder}/account {number}"
        path.write_bytes(whole[: secrets.randbelow(len(whole))])
        for end in ("-wal", "-shm"):
            path.with_name(path.name + end).unlink(missing_ok=True)
        try:
            charge(Ledger(url), "plan")
        except LedgerError:
            refused += 1
        else:  # cut within the last page, which holds a part of a stored result
            assert Ledger(url).spent("clinic") == 21, "an entry was forgotten"
    os.environ["PRIVATE_RELEASE_STATE"] = before
    return f"cut at {times} random places: {refused} refused, {times - refused} charged with every entry still there"


def full_or_read_only(folder: Path) -> str:
    """Charge on a disk that is full, and as an account that may not write."""
    url = f"sqlite:///{folder / 'full.db'}"
    charge(Ledger(url), "earlier")
    (answer,) = run("full", url, (folder / "full.db").stat().st_size + 100_000)
    (other,) = run("unprivileged", url)
    assert "shown" not in (answer, other)
    assert Ledger(url).spent("clinic") == 1
    charge(Ledger(url), "plan")
    return "disk full, file read-only: refused, nothing charged; charged once there was room"


@contextmanager
def small_disk(folder: Path, megabytes: int) -> Iterator[Path]:
    """A disk of its own with little room, in memory. Raises OSError where this account may mount none."""
    (place := folder / "disk").mkdir()
    folder.chmod(0o711)  # a server that root starts has an account of its own, and has to reach its disk
    options = f"size={megabytes}m,mode=755"
    done = subprocess.run(["mount", "-t", "tmpfs", "-o", options, "tmpfs", place], capture_output=True, check=False)
    if done.returncode:
        raise OSError("no disk can be mounted here")
    try:
        yield place
    finally:
        subprocess.run(["umount", "-l", place], check=True)


def full_server(folder: Path, times: int) -> str:
    """Charge a server whose disk has room for a part of the change at most, again and again."""
    try:
        with small_disk(folder, 140) as disk, engines.postgres(disk) as url:
            return _fill_and_charge(disk, url, times)
    except OSError as error:
        return f"disk of the server full: not tried, {error}"


def _fill_and_charge(disk: Path, url: str, times: int) -> str:
    shown: dict[str, bytes] = {}
    said: Counter[str] = Counter()
    charge(Ledger(url), "earlier")
    for number in range(times):
        state, payload = os.statvfs(disk), secrets.token_bytes(1_500_000)
        room = state.f_bavail * state.f_frsize
        with suppress(OSError):  # the server may have taken some of the room meanwhile
            (disk / "filler").write_bytes(bytes(max(0, room - secrets.randbelow(3_000_000))))
        try:
            shown[f"id of {number}"] = charge(Ledger(url), str(number), payload=payload)
        except LedgerError as error:
            said[str(error)] += 1
        (disk / "filler").unlink()
        _await(url)
    ledger = Ledger(url)
    ledger.verify_chain()
    charged = set(ids(ledger))
    assert charged >= shown.keys(), "shown and not charged"
    assert all(ledger.payload(release_id) == payload for release_id, payload in shown.items())
    assert len(charged) == ledger.spent("clinic")
    return (
        f"disk of the server full {times} times: {len(shown)} charged and shown, {sum(said.values())} refused, "
        f"{len(charged) - 1 - len(shown)} of these charged, 0 shown without a charge; {dict(said)}"
    )


def _await(url: str) -> None:
    """Wait until a server whose disk was full is there again."""
    for _ in range(300):
        try:
            Ledger(url).spent("clinic")
            return
        except LedgerError:
            time.sleep(0.1)
    raise AssertionError("the server does not come back")


def main() -> None:
    """Print a line for each fault."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=200)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, engines.postgres() as server:
        os.environ["PRIVATE_RELEASE_STATE"] = f"{folder}/state"
        for kind in ("SQLite", "PostgreSQL"):
            for point in POINTS:
                left = killed_at(fresh(kind, folder, server), point)
                print(f"{kind}, killed {point.replace('_', ' ')}: {left}", flush=True)
            print(f"{kind}, {killed_at_random(fresh(kind, folder, server), options.kills)}", flush=True)
            print(f"{kind}, {raced(fresh(kind, folder, server), RACES)}", flush=True)
            print(f"{kind}, {held(fresh(kind, folder, server), HELD)}", flush=True)
            print(f"{kind}, {clock_set_back(fresh(kind, folder, server))}", flush=True)
        print(f"SQLite, {truncated(Path(folder), CUTS)}", flush=True)
        print(f"SQLite, {full_or_read_only(Path(folder))}", flush=True)
        print(f"PostgreSQL, {full_server(Path(folder), FILLS)}", flush=True)


def fresh(kind: str, folder: str, server: str) -> str:
    """Return the address of a ledger that is not there yet."""
    if kind == "PostgreSQL":
        return empty_schema(server)
    return f"sqlite:///{Path(folder) / secrets.token_hex(8)}.db"


if __name__ == "__main__":
    main()
