"""Measure time and memory of reading the odd, damaged and hostile files of the tests, and report the worst.

    python benchmarks/corpus.py             # status 1 if a file takes more than 10 s of processor time, or 1 GB
    python benchmarks/corpus.py bomb endless       # those with one of these words in their name

Each file is opened and released in a process of its own, which starts another one to read it.
"""

from __future__ import annotations

import multiprocessing
import resource
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from dpengine import Ledger, PrivateReleaseError
from dpengine.isolation import run
from tests.corpus.case import Case
from tests.corpus.test_corpus import CASES, publish

SECONDS, MEGABYTES = 10.0, 1024.0
SHOWN = 15


def read(path: Path, case: Case, answers: multiprocessing.SimpleQueue[tuple[str, float, float]]) -> None:
    run._HAS_FORK = False  # a process that is waited for, so that what it takes is known
    try:
        said = str(publish(path, case, Ledger.in_memory()))
    except PrivateReleaseError as error:
        said = str(error).partition("\n")[0]
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    answers.put(
        (said, sum(each.ru_utime + each.ru_stime for each in used), max(each.ru_maxrss for each in used) / 1024)
    )


def main() -> int:
    context = multiprocessing.get_context("fork")
    words = sys.argv[1:]
    names = [name for name in CASES if not words or any(word in name for word in words)]
    costs: list[tuple[str, str, float, float, int | None]] = []
    with tempfile.TemporaryDirectory() as folder:
        for name in names:
            path = Path(folder, CASES[name].file)
            path.write_bytes(CASES[name].bytes())
            answers: multiprocessing.SimpleQueue[tuple[str, float, float]] = context.SimpleQueue()
            process = context.Process(target=read, args=(path, CASES[name], answers))
            process.start()
            process.join()
            said, seconds, megabytes = ("the process ended", 0.0, 0.0) if process.exitcode else answers.get()
            costs.append((name, said, seconds, megabytes, process.exitcode))
    print(f"{len(costs)} files, {sum(cost[2] for cost in costs):.0f} s of processor time, starts of Python included")
    by_time, by_memory = sorted(costs, key=lambda cost: -cost[2]), sorted(costs, key=lambda cost: -cost[3])
    for what, ordered in (("seconds", by_time), ("megabytes", by_memory)):
        print(f"\nmost {what}:")
        for cost in ordered[:SHOWN]:
            print(f"{cost[2]:6.1f} s {cost[3]:6.0f} MB  {cost[0]:<55}{cost[1][:90]}")
    return int(any(cost[2] > SECONDS or cost[3] > MEGABYTES or cost[4] for cost in costs))


if __name__ == "__main__":
    sys.exit(main())
