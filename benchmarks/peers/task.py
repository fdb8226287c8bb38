"""Define the tasks that benchmarks/scale_peers.py gives to scripts of this folder, and their answers, in JSON.

It gives `answer` a function that starts the peer (its imports, a session) and returns the job, which goes
from the file, or from codes in memory, to the noisy count of every declared cell. Start-up is timed apart.
"""

from __future__ import annotations

import json
import os
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

    @property
    def sizes(self) -> list[int]:
        """The number of declared cells of each column."""
        return [len(self.texts[name]) if name in self.texts else len(self.edges[name]) - 1 for name in self.columns]


def answer(start: Callable[[Task], Callable[[], Sequence[float]]]) -> None:
    """Do the task of the first argument: say how long start-up took, and for each line read how long a run took, and
    what it counted. Whatever else the peer prints goes where errors go."""
    said = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    task = Task(**json.loads(sys.argv[1]))
    began = time.perf_counter()
    job = start(task)
    print(json.dumps(time.perf_counter() - began), file=said, flush=True)
    for _ in sys.stdin:
        began = time.perf_counter()
        counts = [float(count) for count in job()]
        print(json.dumps([time.perf_counter() - began, counts]), file=said, flush=True)
