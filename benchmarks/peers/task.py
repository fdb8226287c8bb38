"""What a script of this folder is asked by benchmarks/scale_peers.py, and how it answers: a line of JSON each way.

It gives :func:`answer` a function that starts the peer (its imports, a session) and returns the job, which goes
from the file, or from codes in memory, to the noisy count of every declared cell. Start-up is timed apart.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Task:
    """One table to publish at ε = 1, of the rows in the Parquet file ``path``: its ``columns``, in this order.

    ``texts`` and ``edges`` declare the cells of columns by name. Where ``codes``, the file holds the number of each
    row's cell as an integer, or these numbers as a dictionary of texts, and to read it is start-up.
    """

    path: str
    codes: bool
    columns: list[str]
    texts: dict[str, list[str]]
    edges: dict[str, list[float]]
    times: int

    @property
    def sizes(self) -> list[int]:
        """The number of declared cells of each column."""
        return [len(self.texts[name]) if name in self.texts else len(self.edges[name]) - 1 for name in self.columns]


def answer(start: Callable[[Task], Callable[[], Sequence[float]]]) -> None:
    """Do the task of the first argument: print the seconds of start-up and of each run, and the last one's counts."""
    task = Task(**json.loads(sys.argv[1]))
    began = time.perf_counter()
    job = start(task)
    startup = time.perf_counter() - began
    seconds: list[float] = []
    counts: list[float] = []
    for _ in range(task.times):
        began = time.perf_counter()
        counts = [float(count) for count in job()]
        seconds.append(time.perf_counter() - began)
    print(json.dumps({"startup": startup, "seconds": seconds, "counts": counts}), flush=True)
