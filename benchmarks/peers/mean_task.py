"""Define the tasks that benchmarks/means.py and quantiles.py give to scripts of this folder, and answers, in JSON.

It gives `answer` a function from the task to a job: one private release of the mean of each declared group, or of each
of its quantiles in turn.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class MeanTask:
    """The mean of the column ``amount``, between ``low`` and ``high``, in each of ``groups``, texts in ``group``.

    The rows are in the Parquet file ``path``; each is a person, added or removed. All of ``epsilon`` is for this. With
    ``parts``, quantiles at these parts of the people are asked for instead, on a grid of ``step``.
    """

    path: str
    group: str
    groups: list[str]
    amount: str
    low: float
    high: float
    epsilon: float
    runs: int
    parts: list[float] = field(default_factory=list)
    step: float = 1


def answer(start: Callable[[MeanTask], Callable[[], Sequence[float]]]) -> None:
    """Do the task of the first argument: write the means of each run, whatever else the peer prints."""
    said = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    task = MeanTask(**json.loads(sys.argv[1]))
    job = start(task)
    for _ in range(task.runs):
        print(json.dumps([float(mean) for mean in job()]), file=said, flush=True)
