"""Work that takes longer than a page may: threads that all visitors share, so that none waits for another.

Jobs with one table follow each other, so that who breaks one off breaks off no other. All that is read for a page
goes ahead at once; of releases, which need most memory, only so many are drawn up at a time. A job outlives the run
of a page that began it, and a release the session too: whoever knows its token, as the address of the page does after
a reload, finds it again. A job can be stopped until its last stage has begun.
"""

from __future__ import annotations

import os
import secrets
import threading
import time
import weakref
from collections import deque
from collections.abc import Callable
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor, wait
from typing import Any, Generic, Protocol, TypeVar

from dpengine.sources.table import Table
from pages.parts.server import session_resources

__all__ = ["Job", "Stopped", "Tell", "close", "end", "find", "start"]

T = TypeVar("T")

WORKERS = max(4, os.cpu_count() or 4)  # releases at a time
READERS = 32  # that read for a page at a time, most of them waiting for a disk or an engine
KEPT = 600.0  # seconds that the end of a release can be asked for


class Tell(Protocol):
    """Takes the name of each stage as it begins, and then which part of it is done; raises Stopped where none may."""

    def __call__(self, stage: str, part: float | None = None) -> None: ...


class Stopped(Exception):
    """The job was stopped before it had any effect."""


class Job(Generic[T]):
    """Something under way, with a table or to open one. ``title`` says what, for the one who began it."""

    def __init__(self, work: Callable[[Tell], T], table: Table | None, title: str, *, findable: bool) -> None:
        self.token = secrets.token_urlsafe(16)
        self.title = title
        self.begun = time.monotonic()
        self.stages: list[tuple[str, float]] = []  # each stage so far, and when it began
        self.part: float | None = None  # of the last stage that is done, where that can be told
        self.findable = findable
        self._work: Callable[[Tell], T] | None = work
        self._table = table
        self._session = session_resources.here()
        self._reading = threading.Lock()  # so that a stop meets this job, and not one that follows it
        self._stopping = threading.Event()
        self._ended: float | None = None
        self._given_up = False  # stopped where nothing can be broken off: its end is of no interest
        self._future: Future[T] = Future()

    def run(self) -> None:
        """Do the work, in the thread that calls this; nothing where it was stopped before."""
        work, self._work = self._work, None  # what it has at hand is let go of with its end
        if work is None or not self._future.set_running_or_notify_cancel():
            return
        try:
            with session_resources.in_use(self._session):
                self._tell("starting")
                result = work(self._tell)
        except BaseException as error:
            self._end()  # a reader that was interrupted says that it cannot read
            self._future.set_exception(Stopped() if self._stopping.is_set() else error)
            raise
        else:
            self._end()
            self._future.set_result(result)

    def _end(self) -> None:
        with self._reading:
            self._table, self._ended = None, time.monotonic()

    def _tell(self, stage: str, part: float | None = None) -> None:
        if self._stopping.is_set():
            raise Stopped
        if not self.stages or self.stages[-1][0] != stage:
            self.stages.append((stage, time.monotonic()))
        self.part = part

    @property
    def done(self) -> bool:
        return self._given_up or self._future.done()

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
            with self._reading:
                if self._table is not None:
                    self._table.interrupt()
                elif self._ended is None:
                    self._given_up = True

    def wait(self, seconds: float) -> bool:
        """Whether the job ends within ``seconds``."""
        return self.done or not wait([self._future], timeout=seconds).not_done

    def result(self) -> T:
        """What came of the job, once it is done. Raises `Stopped`, or what the work raised."""
        if self._given_up:
            raise Stopped
        try:
            return self._future.result()
        except CancelledError:
            raise Stopped from None


_releasing = ThreadPoolExecutor(WORKERS, thread_name_prefix="release")
_reading = ThreadPoolExecutor(READERS, thread_name_prefix="reading")
_lock = threading.Lock()
_lines: weakref.WeakKeyDictionary[Table, deque[Job[Any]]] = weakref.WeakKeyDictionary()  # the first is under way
_live: weakref.WeakSet[Job[Any]] = weakref.WeakSet()
_findable: dict[str, Job[Any]] = {}


def start(work: Callable[[Tell], T], table: Table | None, title: str = "", *, findable: bool = False) -> Job[T]:
    """Begin ``work`` as soon as its table and a thread are free; it is given what to tell its stages to.

    ``findable``: its end can be asked for by its token, for a while, by who began it or anyone who knows that.
    """
    job = Job(work, table, title, findable=findable)
    _live.add(job)
    if findable:
        for token in [token for token, other in list(_findable.items()) if other.old]:
            _findable.pop(token, None)
        _findable[job.token] = job
    if table is None:
        _submit(job, None)
        return job
    with _lock:
        line = _lines.setdefault(table, deque())
        line.append(job)
        first = len(line) == 1
    if first:
        _submit(job, table)
    return job


def _submit(job: Job[Any], table: Table | None) -> None:
    def work() -> None:
        try:
            job.run()
        finally:
            following = None if table is None else _next(table)
            if table is not None and following is not None:
                _submit(following, table)

    (_releasing if job.findable else _reading).submit(work)


def _next(table: Table) -> Job[Any] | None:
    """The job with ``table`` whose turn it is, now that the one under way has ended."""
    with _lock:
        line = _lines[table]
        line.popleft()
        return line[0] if line else None


def find(token: str) -> Job[Any] | None:
    """The findable job of that token, while it goes on and for a while after."""
    return _findable.get(token)


def close(table: Table) -> None:
    """Stop all jobs with ``table``, and close it once the one that is under way has ended."""
    with _lock:
        under_way = list(_lines.get(table, ()))
    for job in under_way:
        job.stop()
    if under_way:
        start(lambda _: table.close(), table)
    else:
        table.close()


def end() -> None:
    """Stop every job, and wait for the threads that are at one."""
    for job in list(_live):
        job.stop()
