"""Jobs that run until a test lets them end."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from dpengine.sources.table import Table
from pages.parts.server import jobs
from pages.parts.server.jobs import Job

SOON = 20.0  # seconds, on a busy machine


@contextmanager
def all_workers_busy() -> Iterator[None]:
    """Keep every thread for releases busy with another visitor's job."""
    go, ready = threading.Event(), threading.Barrier(jobs.MAX_RELEASING + 1)

    def work(_: jobs.Progress) -> None:
        ready.wait(SOON)
        go.wait(SOON)

    others = [jobs.start(work, None, findable=True) for _ in range(jobs.MAX_RELEASING)]
    ready.wait(SOON)
    try:
        yield
    finally:
        go.set()
        assert all(job.wait(SOON) for job in others)


def running_job(table: Table) -> tuple[Job[None], threading.Event]:
    """Start a job with `table` that runs until the returned event is set."""
    begun, go = threading.Event(), threading.Event()

    def work(_: jobs.Progress) -> None:
        begun.set()
        go.wait(SOON)

    job = jobs.start(work, table)
    assert begun.wait(SOON)
    return job, go
