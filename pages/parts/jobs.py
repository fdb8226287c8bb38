"""Work that takes longer than a page may: a few threads that all visitors share, so that none waits for another.

A job outlives the run of a page that began it, and the session too: whoever knows its token, as the
address of the page does after a reload, finds it again. It can be stopped until its last stage has begun.
"""

from __future__ import annotations

import os
import secrets
import threading
import time
from collections.abc import Callable
from concurrent.futures import CancelledError, ThreadPoolExecutor, wait
from typing import Generic, TypeVar

from dpengine.table import Table
from pages.parts import belongings

__all__ = ["Job", "Stopped", "end", "find", "start"]

T = TypeVar("T")
Tell = Callable[[str], None]  # takes the name of each stage as it begins; raises Stopped where no other may begin

WORKERS = max(4, os.cpu_count() or 4)
KEPT = 600.0  # seconds that the end of a job can be asked for


class Stopped(Exception):
    """The job was stopped before it had any effect."""


class Job(Generic[T]):
    """Something under way with a table. ``title`` says what, for the one who began it."""

    def __init__(self, work: Callable[[Tell], T], table: Table, title: str, session: str) -> None:
        self.token = secrets.token_urlsafe(16)
        self.title = title
        self.stages: list[tuple[str, float]] = []  # each stage so far, and when it began
        self._table = table
        self._stopping = threading.Event()
        self._ended: float | None = None
        self._future = _pool.submit(self._run, work, session)

    def _run(self, work: Callable[[Tell], T], session: str) -> T:
        try:
            with belongings.in_use(session):
                self._tell("starting")
                return work(self._tell)
        except Stopped:
            raise
        except BaseException:
            if self._stopping.is_set():
                raise Stopped from None  # a reader that was interrupted says that it cannot read
            raise
        finally:
            self._ended = time.monotonic()

    def _tell(self, stage: str) -> None:
        if self._stopping.is_set():
            raise Stopped
        self.stages.append((stage, time.monotonic()))

    @property
    def done(self) -> bool:
        return self._future.done()

    @property
    def stopping(self) -> bool:
        return self._stopping.is_set()

    @property
    def old(self) -> bool:
        return self._ended is not None and time.monotonic() - self._ended > KEPT

    def stop(self) -> None:
        """Begin no further stage, and break off what is being read. What has been recorded stays so."""
        self._stopping.set()
        if not self._future.cancel():
            self._table.interrupt()

    def wait(self, seconds: float) -> bool:
        """Whether the job ends within ``seconds``."""
        return not wait([self._future], timeout=seconds).not_done

    def result(self) -> T:
        """What came of the job, once it is done. Raises :class:`Stopped`, or what the work raised."""
        try:
            return self._future.result()
        except CancelledError:
            raise Stopped from None


_pool = ThreadPoolExecutor(WORKERS, thread_name_prefix="job")
_jobs: dict[str, Job[object]] = {}


def start(work: Callable[[Tell], T], table: Table, title: str = "") -> Job[T]:
    """Begin ``work`` as soon as a thread is free; it is given what to tell its stages to."""
    for token in [token for token, job in list(_jobs.items()) if job.old]:
        _jobs.pop(token, None)
    job = Job(work, table, title, belongings.here())
    _jobs[job.token] = job  # type: ignore[assignment]
    return job


def find(token: str) -> Job[object] | None:
    """The job of that token, while it goes on and for a while after."""
    return _jobs.get(token)


def end() -> None:
    """Stop every job, and wait for the threads that are at one."""
    for job in list(_jobs.values()):
        job.stop()
