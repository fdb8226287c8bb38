"""How counting compares with peers on the same job: one histogram and one three-way table, ε = 1, same rows.

    for peer in diffprivlib opendp smartnoise pipelinedp tumult; do
        python -m venv venvs/$peer && venvs/$peer/bin/pip install -r benchmarks/peers/$peer.txt
    done                                                  # Tumult needs Java as well
    python benchmarks/scale_peers.py venvs                # all, in some ten minutes; status 1 if a limit is passed
    python benchmarks/scale_peers.py venvs opendp codes   # those named alone; "codes" is what is in memory already

The peers need versions of the same packages that rule each other out, so each runs in an environment of its own
(``benchmarks/peers``), and this project in a process of its own likewise, right after it. Both do the job three times
there. Start-up is timed apart; the first time, which holds what Spark compiles and pyarrow loads, is shown, and the
least counts. What a peer publishes must be the exact counts but for noise, or its time is of something else.
A peer publishes with noise; ours is the time to count, and the release as a whole, which recognises the data,
charges a ledger and stores what it publishes, stands in a line of its own.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

sys.path.insert(0, str(Path(__file__).parent))

from peers.task import Task
from scale import COLUMNS, ONE, ROWS, TRIPLE, make

SCRIPTS = Path(__file__).parent / "peers"
FEWER = ROWS // 10
PEERS = {"diffprivlib": ROWS, "opendp": ROWS, "tumult": ROWS, "smartnoise": FEWER, "pipelinedp": FEWER}
JOBS = {"histogram": list(ONE.marginals[0]), "three-way": list(TRIPLE.marginals[0])}
LEAST = {"histogram": 1.0, "three-way": 5.0}  # times as fast as a peer
MOST = 3.0  # times as long as NumPy's bincount of codes in memory
RUNS, SECONDS = 3, 600
NOISE = 60  # more than this is no noise of scale 1 in a thousand cells


@dataclass(frozen=True, slots=True)
class Timed:
    startup: float
    seconds: list[float]
    counts: list[float]

    @property
    def least(self) -> float:
        return min(self.seconds)


def run(python: str | Path, script: str, asked: Task, *more: str) -> Timed:
    command = [str(python), str(SCRIPTS / f"{script}.py"), json.dumps(asdict(asked)), *more]
    done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS)
    if done.returncode:
        sys.exit(f"{script} ended with status {done.returncode}:\n{done.stderr[-2000:]}")
    return Timed(**json.loads(done.stdout.splitlines()[-1]))


def asked(path: Path, job: str, codes: bool = False) -> Task:
    own = [column for column in COLUMNS if column["name"] in JOBS[job]]
    texts, edges = ({column["name"]: column[key] for column in own if key in column} for key in ("values", "edges"))
    return Task(str(path), codes, JOBS[job], texts, edges, RUNS)  # type: ignore[arg-type]


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
    """Lines of figures, and whether all limits held."""

    def __init__(self) -> None:
        self.held = True

    def tell(self, who: str, job: str, rows: int, theirs: Timed, mine: Timed, least: float | None) -> None:
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


def main() -> int:
    venvs, chosen = Path((sys.argv[1:] or ["venvs"])[0]), sys.argv[2:] or [*PEERS, "codes"]
    if unknown := set(chosen) - {*PEERS, "codes"}:
        sys.exit(f"there is no peer {', '.join(sorted(unknown))}; there are {', '.join(PEERS)}, and codes")
    lines = Lines()
    print(f"{'':<24} {'':<10} {'rows':>10} {'start s':>8} {'first s':>8} {'least s':>8} {'ours s':>8} {'x ours':>8}")

    def peer(name: str) -> Path | None:
        python = venvs / name / "bin" / "python"
        if python.exists():
            return python
        print(f"*** {name} IS NOT INSTALLED IN {venvs}: NOT RUN. ***", flush=True)
        return None

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "people.parquet"
        for rows in sorted({PEERS[name] for name in chosen if name in PEERS}, reverse=True):
            make(path, rows)
            for name in (name for name in chosen if PEERS.get(name) == rows):
                if (python := peer(name)) is not None:
                    for job in JOBS:
                        theirs = run(python, f"peer_{name}", asked(path, job))
                        lines.tell(name, job, rows, theirs, run(sys.executable, "ours", asked(path, job)), LEAST[job])
            for job in JOBS:
                whole = run(sys.executable, "ours", asked(path, job), "release")
                mine = run(sys.executable, "ours", asked(path, job))
                lines.tell("our whole release", job, rows, whole, mine, None)
        for kind in ("uint8", "int64", "dictionary") if "codes" in chosen else ():
            make_codes(path, kind)
            for job in JOBS:
                task = asked(path, job, codes=True)
                mine = run(sys.executable, "ours", task)
                bare = run(sys.executable, "bincount", task)
                lines.tell(f"bincount, {kind}", job, ROWS, bare, mine, 1 / MOST)
                for name in ("diffprivlib", "opendp") if kind == "uint8" else ():
                    if (python := peer(name)) is not None:
                        lines.tell(f"{name}, {kind}", job, ROWS, run(python, f"peer_{name}", task), mine, None)
    return 0 if lines.held else 1


if __name__ == "__main__":
    sys.exit(main())
