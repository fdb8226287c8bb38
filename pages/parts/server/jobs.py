"""Work that takes too long for one run of a page, in threads that all visitors share.

Jobs with the same table run one after another, so that stopping one stops no other. Readings begin at once; releases,
which need most memory, run a few at a time. A job outlives the run of the page that began it. A release also outlives
the session: a session of its owner that knows its token finds it again, as the address of the page does after a reload.
A job can be stopped until its last stage begins; a release, until noise is drawn.
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
from dpengine.translation.catalogue import language, speaking
from pages.parts.server import session_resources

__all__ = ["Job", "Progress", "Stopped", "close", "find", "start", "stop_all"]

T = TypeVar("T")

MAX_RELEASING = max(4, os.cpu_count() or 4)  # releases that run at once
MAX_READING = 32  # readings that run at once; most wait for a disk or a database
KEPT = 600.0  # seconds for which the result of a release is kept


class Progress(Protocol):
    """A function that work calls with the name of each stage as it begins, and the part of it that is done.

    Raises `Stopped` if the job is to end.
    """

    def __call__(self, stage: str, part: float | None = None) -> None: ...


class Stopped(Exception):
    """The job was stopped before it had any effect."""


class Job(Generic[T]):
    """Work in progress, with a table or to open one; `title` is its name for the visitor who began it.

    Once the stage named `binding` begins, it can no longer be stopped.
    """

    def __init__(
        self,
        work: Callable[[Progress], T],
        table: Table | None,
        title: str,
        *,
        findable: bool,
        binding: str = "",
        owner: str = "",
    ) -> None:
        self.token = secrets.token_urlsafe(16)
        self.title = title
        self.owner = owner
        self.bound = False  # whether its binding stage has begun
        self.begun = time.monotonic()
        self.stages: list[tuple[str, float]] = []  # each stage so far, and when it began
        self.part: float | None = None  # how much of the last stage is done, from 0 to 1, if known
        self.findable = findable
        self._work: Callable[[Progress], T] | None = work
        self._table = table
        self._session = session_resources.running_session()
        self._language = language()  # the visitor's, as threads have none
        self._binding = binding
        self._reading = threading.Lock()  # makes a stop reach this job and not the next one
        self._stopping = threading.Event()
        self._ended: float | None = None
        self._given_up = False  # it was stopped but could not be interrupted: its result is dropped
        self._future: Future[T] = Future()

    def run(self) -> None:
        """Do the work in the calling thread, unless it was stopped before."""
        work, self._work = self._work, None  # frees what the work holds
        if work is None or not self._future.set_running_or_notify_cancel():
            return
        try:
            with session_resources.in_use(self._session), speaking(self._language):
                self._progress("starting")
                result = work(self._progress)
        except BaseException as error:
            self._end()  # an interrupted reader only says that it cannot read
            self._future.set_exception(Stopped() if self._stopping.is_set() else error)
            raise
        else:
            self._end()
            self._future.set_result(result)

    def _end(self) -> None:
        with self._reading:
            self._table, self._ended = None, time.monotonic()

    def _progress(self, stage: str, part: float | None = None) -> None:
        with self._reading:  # a stop takes effect only before the binding stage
            if self._stopping.is_set():
                raise Stopped
            self.bound = self.bound or stage == self._binding
        if not self.stages or self.stages[-1][0] != stage:
            self.stages.append((stage, time.monotonic()))
        self.part = part

    @property
    def done(self) -> bool:
        """Whether the job has ended, or was stopped without waiting for its end."""
        return self._given_up or self._future.done()

    @property
    def failure(self) -> BaseException | None:
        """The exception that ended the job, if any."""
        return self._future.exception() if self._future.done() and not self._future.cancelled() else None

    @property
    def stopping(self) -> bool:
        """Whether the job has been asked to stop."""
        return self._stopping.is_set()

    @property
    def old(self) -> bool:
        """Whether the job ended so long ago that its result may be forgotten."""
        return self._ended is not None and time.monotonic() - self._ended > KEPT

    def stop(self) -> None:
        """Begin no further stage, and interrupt a reading. This has no effect once the job is bound."""
        with self._reading:
            if self.bound:
                return
            self._stopping.set()
        if not self._future.cancel():
            with self._reading:
                if self._table is not None:
                    self._table.interrupt()
                elif self._ended is None:
                    self._given_up = True

    @property
    def last_stage_took(self) -> float:
        """Seconds that the last stage has taken so far, or took."""
        began = self.stages[-1][1] if self.stages else self.begun
        return (self._ended or time.monotonic()) - began

    def wait(self, seconds: float) -> bool:
        """Wait for the end of the job; return whether it came within `seconds`."""
        return self.done or not wait([self._future], timeout=seconds).not_done

    def result(self) -> T:
        """Return the result of a job that is done. Raises `Stopped`, or what the work raised."""
        if self._given_up:
            raise Stopped
        try:
            return self._future.result()
        except CancelledError:
            raise Stopped from None


_releasing = ThreadPoolExecutor(MAX_RELEASING, thread_name_prefix="release")
_reading = ThreadPoolExecutor(MAX_READING, thread_name_prefix="reading")
_lock = threading.Lock()
_queues: weakref.WeakKeyDictionary[Table, deque[Job[Any]]] = weakref.WeakKeyDictionary()  # the first one runs
_live: weakref.WeakSet[Job[Any]] = weakref.WeakSet()
_findable: dict[str, Job[Any]] = {}


def start(
    work: Callable[[Progress], T],
    table: Table | None,
    title: str = "",
    *,
    findable: bool = False,
    binding: str = "",
    owner: str = "",
) -> Job[T]:
    """Begin `work` as soon as its table and a thread are free; it is called with a `Progress` to report to.

    A `findable` job is a release: for a while, `find` returns it to sessions of its owner that know its token. Once
    `work` reports the stage `binding`, the job can no longer be stopped.
    """
    job = Job(work, table, title, findable=findable, binding=binding, owner=owner)
    _live.add(job)
    if findable:
        for token in [token for token, other in list(_findable.items()) if other.old]:
            _findable.pop(token, None)
        _findable[job.token] = job
    if table is None:
        _submit(job, None)
        return job
    with _lock:
        queue = _queues.setdefault(table, deque())
        queue.append(job)
        first = len(queue) == 1
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
    """Return the next job for `table`, now that the one before has ended."""
    with _lock:
        queue = _queues[table]
        queue.popleft()
        return queue[0] if queue else None


def find(token: str, owner: str = "") -> Job[Any] | None:
    """Return the owner's findable job with this token, while it runs and for a while after."""
    job = _findable.get(token)
    return job if job is not None and job.owner == owner else None


def close(table: Table) -> None:
    """Stop all jobs with `table`, and close it once the running one has ended."""
    with _lock:
        under_way = list(_queues.get(table, ()))
    for job in under_way:
        job.stop()
    if under_way:
        start(lambda _: table.close(), table)
    else:
        table.close()


def stop_all() -> None:
    """Stop every job, as the server stops."""
    for job in list(_live):
        job.stop()
