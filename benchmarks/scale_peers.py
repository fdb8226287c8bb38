"""Compare counting with peers on the same job: one histogram and one three-way table, ε = 1, same rows.

    for peer in diffprivlib opendp smartnoise pipelinedp tumult; do
        python -m venv venvs/$peer && venvs/$peer/bin/pip install -r benchmarks/peers/$peer.txt
    done                                                  # Tumult needs Java as well
    python benchmarks/scale_peers.py venvs                # all, in some ten minutes; status 1 if a limit is passed
    python benchmarks/scale_peers.py venvs opendp codes   # those named alone; "release" and "codes" are named likewise

The peers need versions of the same packages that rule each other out, so each runs in an environment of its own
(``benchmarks/peers``), and this project in a process of its own likewise. Both do the job in turns, at least three
times each, so that other work on the machine slows both alike. Start-up is timed apart; the first time is shown, with
what Spark compiles in it, and the least counts. What a peer publishes must be the exact counts plus noise; otherwise
its time would be that of another task. Peers that are slower by far do it with a tenth of the rows, and so does this
project. A peer publishes with noise; ours is the time to count. *release* is ours as a whole, which fingerprints the
data, charges a ledger and stores what it publishes; *codes* is what is in memory already, as the number of each row's
cell.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

sys.path.insert(0, str(Path(__file__).parent))

from peers.task import Task
from scale import COLUMNS, ONE, ROWS, TRIPLE, make

SCRIPTS = Path(__file__).parent / "peers"
FEWER = ROWS // 10
PEERS = {"diffprivlib": ROWS, "opendp": ROWS, "tumult": ROWS, "smartnoise": FEWER, "pipelinedp": FEWER}
OURS, KINDS = ("release", "codes"), ("uint8", "int64", "dictionary")
JOBS = {"histogram": list(ONE.marginals[0]), "three-way": list(TRIPLE.marginals[0])}
LEAST = {"histogram": 1.0, "three-way": 5.0}  # times as fast as a peer
MOST = 3.0  # times as long as NumPy's bincount of codes in memory
TURNS, SECONDS = 3, 10
NOISE = 60  # more than this is no noise of scale 1 in a thousand cells


@dataclass(frozen=True, slots=True)
class Timed:
    startup: float
    seconds: list[float]
    counts: list[float]

    @property
    def least(self) -> float:
        return min(self.seconds)


class Worker:
    """A script of ``benchmarks/peers``, started, that does its task once for each request."""

    def __init__(self, command: list[str], errors: IO[str]) -> None:
        self._errors = errors
        self._process = subprocess.Popen(
            command, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors
        )
        self.timed = Timed(self._said(), [], [])

    def turn(self) -> None:
        self._process.stdin.write("\n")
        self._process.stdin.flush()
        seconds, self.timed.counts[:] = self._said()
        self.timed.seconds.append(seconds)

    def end(self) -> None:
        self._process.stdin.close()
        self._process.wait()

    def _said(self) -> Any:
        line = self._process.stdout.readline()
        if not line:
            self._errors.seek(0)
            sys.exit(f"{self._process.args} ended with status {self._process.wait()}:\n{self._errors.read()[-2000:]}")
        return json.loads(line)


def command(python: str | Path, script: str, task: Task, *more: str) -> list[str]:
    return [str(python), str(SCRIPTS / f"{script}.py"), json.dumps(asdict(task)), *more]


def ours(task: Task, *more: str) -> list[str]:
    return command(sys.executable, "ours", task, *more)


def in_turns(*commands: list[str]) -> list[Timed]:
    """At least three turns of each, and more where all take little time."""
    with ExitStack() as errors:
        workers = [Worker(one, errors.enter_context(tempfile.TemporaryFile("w+"))) for one in commands]
        began = time.perf_counter()
        while len(workers[0].timed.seconds) < TURNS or time.perf_counter() - began < SECONDS:
            for worker in workers:
                worker.turn()
        for worker in workers:
            worker.end()
    return [worker.timed for worker in workers]


def asked(path: Path, job: str, codes: bool = False) -> Task:
    own = [column for column in COLUMNS if column["name"] in JOBS[job]]
    texts, edges = ({column["name"]: column[key] for column in own if key in column} for key in ("values", "edges"))
    return Task(str(path), codes, JOBS[job], texts, edges)  # type: ignore[arg-type]


def make_codes(path: Path, kind: str) -> None:
    """The number of each row's cell in every column that is asked for, as integers or as a dictionary of texts."""
    draw, columns = np.random.default_rng(1), {}
    for job in JOBS:
        task = asked(path, job)
        for name, size in zip(task.columns, task.sizes, strict=True):
            codes = draw.integers(0, size, ROWS, dtype=np.uint8)
            texts = [str(code) for code in range(size)]
            whole = pa.array(codes if kind == "dictionary" else codes.astype(kind))
            columns[name] = pa.DictionaryArray.from_arrays(whole, texts) if kind == "dictionary" else whole
    pq.write_table(pa.table(columns), path)


class Lines:
    """Lines of figures, and whether all limits were kept."""

    def __init__(self) -> None:
        self.held = True

    def report(self, who: str, job: str, rows: int, theirs: Timed, mine: Timed, least: float | None) -> None:
        """``least``: how many times as fast as ``theirs`` ours must be."""
        if np.abs(np.subtract(theirs.counts, mine.counts)).max() > NOISE:
            sys.exit(f"{who} has counted something else")
        faster = theirs.least / mine.least
        verdict = ""
        if least is not None:
            self.held &= faster >= least
            verdict = f"  (limit {least:.3g}){'' if faster >= least else '  PASSED'}"
        figures = f"{theirs.startup:8.1f} {theirs.seconds[0]:8.3f} {theirs.least:8.3f} {mine.least:8.3f}"
        print(f"{who:<24} {job:<10} {rows:>10,} {figures} {faster:8.2f}{verdict}", flush=True)


def installed(venvs: Path, name: str) -> Path | None:
    python = venvs / name / "bin" / "python"
    if python.exists():
        return python
    print(f"*** {name} IS NOT INSTALLED IN {venvs}: NOT RUN. ***", flush=True)
    return None


def from_the_file(name: str, path: Path, venvs: Path, lines: Lines) -> None:
    if (python := installed(venvs, name)) is not None:
        for job, least in LEAST.items():
            task = asked(path, job)
            mine, theirs = in_turns(ours(task), command(python, f"peer_{name}", task))
            lines.report(name, job, PEERS[name], theirs, mine, least)


def whole_release(path: Path, lines: Lines) -> None:
    for job in JOBS:
        task = asked(path, job)
        mine, whole = in_turns(ours(task), ours(task, "release"))
        lines.report("our whole release", job, ROWS, whole, mine, None)


def in_memory(kind: str, path: Path, venvs: Path, lines: Lines) -> None:
    make_codes(path, kind)
    for job in JOBS:
        task = asked(path, job, codes=True)
        mine, bare = in_turns(ours(task), command(sys.executable, "bincount", task))
        lines.report(f"bincount, {kind}", job, ROWS, bare, mine, 1 / MOST)
        for name in ("diffprivlib", "opendp") if kind == "uint8" else ():
            if (python := installed(venvs, name)) is not None:
                mine, theirs = in_turns(ours(task), command(python, f"peer_{name}", task))
                lines.report(f"{name}, {kind}", job, ROWS, theirs, mine, None)


def main() -> int:
    venvs, chosen = Path((sys.argv[1:] or ["venvs"])[0]), sys.argv[2:] or [*PEERS, *OURS]
    if unknown := set(chosen) - {*PEERS, *OURS}:
        sys.exit(f"there is no {', '.join(sorted(unknown))}; there are {', '.join([*PEERS, *OURS])}")
    lines = Lines()
    print(f"{'':<24} {'':<10} {'rows':>10} {'start s':>8} {'first s':>8} {'least s':>8} {'ours s':>8} {'x ours':>8}")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.parquet"
        for rows in (ROWS, FEWER):
            make(path, rows)
            for name in (name for name in chosen if PEERS.get(name) == rows):
                from_the_file(name, path, venvs, lines)
            if "release" in chosen and rows == ROWS:
                whole_release(path, lines)
        for kind in KINDS if "codes" in chosen else ():
            in_memory(kind, path, venvs, lines)
    return 0 if lines.held else 1


if __name__ == "__main__":
    sys.exit(main())
