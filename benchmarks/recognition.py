"""Measure what it costs to recognise near copies of a table, and how often they are recognised.

    python benchmarks/recognition.py            # prints tables; status 1 if a limit is passed
    python benchmarks/recognition.py --rates    # only how often

Processor time of a whole release of 10^7 rows of Parquet, eight columns, is taken with and without the histograms of
the sketch, in turns, and the least of several runs counts. Rates are of made-up tables with known rows in common.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pandas as pd

sys.path.insert(0, str(Path(__file__).parent.parent))

from benchmarks.scale import PAIRS, TRIPLE, make
from dpengine import Category, Ledger, Number, Plan, release
from dpengine.accounting.sketch import BINS, FALSE_ALARM, chance

TABLE_ROWS, RUNS = 10**7, 4
LIMIT = 0.10  # of the time of a release
COMPARED, COMPARE_LIMIT = 200, 2.0  # earlier tables in the ledger, and seconds to compare with all of them
TIMES, OVERLAPS = 100, (0.99, 0.9, 0.75, 0.6, 0.5, 0.4)
PAIRS_OF_HISTOGRAMS = 50  # that are compared, of two tables of six columns


def processor_time(work: Callable[[], object]) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start


def without_sketches() -> ExitStack:
    """Publish as if there were no sketches, for comparison."""
    stack = ExitStack()
    nothing = np.zeros(BINS, dtype=np.int64)
    stack.enter_context(patch("dpengine.counting.fingerprint._histogram", lambda words, spare: nothing))
    stack.enter_context(patch("dpengine.counting.table_sketch.of_table", lambda *_: None))
    return stack


def cost_of_a_release(path: Path) -> bool:
    held = True
    print(f"{'release of 10^7 rows':<28} {'without':>8} {'with':>8} {'more':>7}   (seconds of processor time)")
    for name, plan in (("28 tables of two columns", PAIRS), ("one table of three columns", TRIPLE)):
        plain, sketched = [], []
        for _ in range(RUNS):
            with without_sketches():
                plain.append(processor_time(lambda plan=plan: release(path, plan)))
            sketched.append(processor_time(lambda plan=plan: release(path, plan)))
        more = min(sketched) / min(plain) - 1
        held &= more <= LIMIT
        late = "" if more <= LIMIT else f"  PASSED THE LIMIT OF {LIMIT:.0%}"
        print(f"{name:<28} {min(plain):>8.2f} {min(sketched):>8.2f} {more:>+7.1%}{late}", flush=True)
    return held


def people(seed: int, rows: int = 2_000) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    return pd.DataFrame({
        "age": rng.integers(0, 95, rows), "region": rng.choice(["N", "S", "E", "W"], rows),
        "income": rng.normal(3_000, 900, rows).round(2), "ward": rng.integers(1, 60, rows),
    })  # fmt: skip


def cost_of_comparing() -> bool:
    """Time a release beside many earlier tables of other people, all of which are compared with it."""
    ledger = Ledger.in_memory()
    columns = [Number(name="age", edges=[0, 18, 30, 45, 65, 100]), Category(name="region", values=["N", "S", "E", "W"])]
    alarms, took = 0, 0.0
    for seed in range(COMPARED + 1):
        plan = Plan(dataset=f"clinic {seed}", epsilon="1", columns=columns, tables=[["age", "region"]])
        took = processor_time(lambda plan=plan, seed=seed: release(people(seed), plan, ledger))
        alarms += len(ledger.history(plan.dataset)[-1].recognised)
    pairs = COMPARED * (COMPARED + 1) // 2
    print(f"\n{COMPARED} earlier tables: {took:.2f} s of processor time to publish one more of 2,000 rows")
    print(
        f"{pairs:,} pairs of tables of different people: {alarms} taken for the same; at most {FALSE_ALARM:g} of each"
    )
    return took <= COMPARE_LIMIT and alarms <= 20  # 20,100 pairs: 2 alarms on average at the stated level


def rates() -> None:
    """Print how often two tables with rows in common are recognised by one histogram, at a usual level."""
    rng = np.random.default_rng(7)
    shown = {"1 row": 0.0, **{f"{1 - overlap:.0%}": overlap for overlap in OVERLAPS}}
    print("\nrows of each that are not in the other:   " + "".join(f"{name:>7}" for name in shown))
    for rows, values in ((60, BINS), (300, BINS), (2_000, BINS), (10**6, BINS), (2_000, 100), (10**5, 20), (10**5, 6)):
        found = []
        for overlap in shown.values():
            hits = 0
            for _ in range(TIMES):
                shares = rng.dirichlet(np.ones(values)) if values < BINS else np.full(BINS, 1 / BINS)
                common = round(rows * overlap) if overlap else rows - 1
                both = rng.multinomial(common, shares)
                one, other = (both + rng.multinomial(rows - common, shares) for _ in range(2))
                hits += chance(one, other) <= FALSE_ALARM / PAIRS_OF_HISTOGRAMS
            found.append(hits / TIMES)
        kinds = f"{values:,} values" if values < BINS else "hundreds of values"
        print(f"{rows:>9,} rows, {kinds:<24}   " + "".join(f"{each:>7.0%}" for each in found), flush=True)


def main() -> int:
    held = True
    if "--rates" not in sys.argv:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "people.parquet"
            make(path, TABLE_ROWS)
            held = cost_of_a_release(path)
        held &= cost_of_comparing()
    rates()
    return 0 if held else 1


if __name__ == "__main__":
    sys.exit(main())
