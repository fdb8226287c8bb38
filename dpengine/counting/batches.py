"""Batches of rows that stream by are worked on by several threads."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

__all__ = ["worked_through"]

_WORKERS = 4  # each holds a few batches


def worked_through(batches: Iterable[Any], work: Callable[[Any], None], tell: Callable[[int], None]) -> None:
    """``work`` is done on each batch, in several threads at a time.

    ``tell`` is told the number of rows that are done; what it raises ends this.
    """
    workers = min(_WORKERS, os.cpu_count() or 1)

    def worked(batch: Any) -> int:
        work(batch)
        return int(batch.num_rows)

    with ThreadPoolExecutor(workers) as pool:
        begun: deque[Future[int]] = deque()
        done = 0
        for batch in batches:
            begun.append(pool.submit(worked, batch))
            if len(begun) > 2 * workers:
                done += begun.popleft().result()
                tell(done)
        for ended in begun:
            done += ended.result()
            tell(done)
