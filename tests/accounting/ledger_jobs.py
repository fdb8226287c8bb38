"""Jobs for the ledger's fault tests, run in processes that race or die; each prints what it saw as JSON.

Run as a script, which reads lines of JSON: the name of a job, an address, and arguments. Each job has a process of its
own; a line "done" follows what it says.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import resource
import secrets
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import sqlalchemy

from dpengine.accounting import ledger_access, upkeep
from dpengine.accounting.ledger import Ledger
from dpengine.accounting.signing_key import keep_signing_key
from dpengine.accounting.sketch import BINS, ROWS, Histogram, Sketch
from dpengine.errors import BudgetError, LedgerError
from tests.charges import charge

fork = multiprocessing.get_context("fork")


def in_processes(count: int, work: Callable[[Any, int], Any]) -> list[Any]:
    """Start all at once and return what each of them answered."""
    barrier, answers = fork.Barrier(count), [fork.Pipe(duplex=False) for _ in range(count)]
    workers = [fork.Process(target=lambda i=i: answers[i][1].send(work(barrier, i))) for i in range(count)]
    for worker in workers:
        worker.start()
    results = [receiver.recv() for receiver, _ in answers]
    for worker in workers:
        worker.join()
    return results


def job_create(url: str) -> list[str]:
    def work(barrier: Any, _i: int) -> str:
        barrier.wait()
        return Ledger(url).fingerprint(b"rows").hex()

    return in_processes(4, work)


def job_key(url: str) -> list[str]:
    def work(barrier: Any, _i: int) -> str:
        ledger = Ledger(url)
        barrier.wait()
        return keep_signing_key(ledger).private_bytes_raw().hex()

    return in_processes(4, work)


def job_spend(url: str, processes: int, attempts: int, name: str = "") -> list[int]:
    def work(barrier: Any, i: int) -> int:
        ledger, granted = Ledger(url), 0
        barrier.wait()
        for attempt in range(attempts):
            try:
                charge(ledger, f"{name}{i}/{attempt}")
                granted += 1
            except LedgerError:
                raise
            except BudgetError:
                continue
        return granted

    return in_processes(processes, work)


def job_same(url: str, rounds: int) -> list[list[str]]:
    def work(barrier: Any, i: int) -> list[str]:
        ledger, shown = Ledger(url), []
        for number in range(rounds):
            barrier.wait()
            shown.append(charge(ledger, f"plan {number}", payload=b"drawn by %d" % i).decode())
        return shown

    return in_processes(2, work)


def job_near(url: str) -> list[list[str]]:
    """Charge near copies of one table, under two names, at once; each has looked for what it resembles before."""
    rows = np.arange(BINS, dtype=np.int64) % 11 + 20

    def work(barrier: Any, i: int) -> list[str]:
        ledger, counts = Ledger(url), rows.copy()
        counts[i] += 1
        sketch = Sketch((Histogram(ROWS, counts),))
        name, data = f"copy {i}", b"rows %d" % i
        assert ledger.resembling(name, ledger.fingerprint(data), sketch) == []
        barrier.wait()
        try:
            charge(ledger, f"plan {i}", name, data, sketch=sketch)
        except LedgerError:
            raise
        except BudgetError as error:
            return ["refused", str(error)]
        return ["charged", ""]

    return in_processes(2, work)


def die_at(point: str) -> Callable[[str], None]:
    return lambda name: os.kill(os.getpid(), signal.SIGKILL) if name == point else None


def shown_until_killed(
    work: Callable[[Callable[[str], None]], None], kill_after: tuple[int, float] | None
) -> list[str]:
    """Run work in a process that dies; return what it managed to show.

    It dies by itself, or is killed so many seconds after it has shown so many results, on a busy machine too.
    """
    receiver, sender = fork.Pipe(duplex=False)
    worker = fork.Process(target=lambda: work(sender.send))
    worker.start()
    sender.close()
    shown = []
    if kill_after is not None:
        receiver.recv()  # it is at work now
        results, seconds = kill_after
        shown += [receiver.recv() for _ in range(results)]
        time.sleep(seconds)
        worker.kill()
    worker.join()
    assert worker.exitcode == -signal.SIGKILL
    try:
        while True:
            shown.append(receiver.recv())
    except (EOFError, OSError):
        return shown


def job_approved(url: str, digest: str, turn: int) -> list[int]:
    """Charge one approved plan of four tables at once."""

    def work(barrier: Any, i: int) -> int:
        ledger = Ledger(url)
        barrier.wait()
        try:
            charge(ledger, f"{turn}/{i}", rows=b"rows %d" % i, plan_sha256=bytes.fromhex(digest))
        except LedgerError:
            raise
        except BudgetError:
            return 0
        return 1

    return in_processes(4, work)


def job_die(url: str, plan: str, point: str, digest: str = "") -> list[str]:
    def work(show: Callable[[str], None]) -> None:
        setattr(ledger_access, "crash_point", die_at(point))  # noqa: B010 (a type checker forbids the plain way)
        bystander = sqlalchemy.create_engine(url).connect()
        # Another open connection keeps the -wal beside the file when the ledger closes its own.
        bystander.exec_driver_sql("SELECT * FROM ledger_meta").fetchall()
        show(charge(Ledger(url), plan, plan_sha256=bytes.fromhex(digest)).decode())

    return shown_until_killed(work, None)


def job_kill(url: str, times: int) -> list[str]:
    shown: list[str] = []
    for number in range(times):

        def work(show: Callable[[str], None], number: int = number) -> None:
            ledger, step = Ledger(url), 0
            show("at work")
            while True:
                plan = f"{number}/{step}"
                show(f"{plan}={charge(ledger, plan, payload=secrets.token_hex(2000).encode()).decode()}")
                step += 1

        shown += shown_until_killed(work, (number % 3, secrets.randbelow(50_000) / 1e6))
    return shown


def job_backups(url: str, folder: str, times: int) -> list[int]:
    """Back up again and again while two processes charge; return how many entries each backup holds."""
    backups = Path(folder)

    def work(barrier: Any, i: int) -> list[int]:
        ledger, entries, step = Ledger(url), [], 0
        barrier.wait()
        if i == 2:
            for number in range(times):
                entries.append(upkeep.backup(url, backups / f"{number}.db"))
            (backups / "done").touch()
        while i < 2 and not (backups / "done").exists():
            charge(ledger, f"{i}/{step}", payload=secrets.token_bytes(20_000))
            step += 1
        return entries

    counts: list[int] = in_processes(3, work)[2]
    return counts


def attempt(work: Callable[[], object]) -> str:
    try:
        work()
    except LedgerError as error:
        return str(error)
    return "shown"


def job_full(url: str, room: int) -> list[str]:
    ledger = Ledger(url)
    resource.setrlimit(resource.RLIMIT_FSIZE, (room, room))
    return [attempt(lambda: charge(ledger, "big", payload=secrets.token_bytes(1_000_000)))]


def job_unprivileged(url: str) -> list[str]:
    if os.geteuid() == 0:
        os.setuid(65534)
    return [attempt(lambda: charge(Ledger(url), "plan"))]


def answer(line: str) -> None:
    job, url, arguments = json.loads(line)
    print(json.dumps(globals()[f"job_{job}"](url, *arguments)), flush=True)  # noqa: T201


if __name__ == "__main__":
    for line in sys.stdin:
        worker = fork.Process(target=answer, args=(line,))
        worker.start()
        worker.join()
        print("done", flush=True)  # noqa: T201
