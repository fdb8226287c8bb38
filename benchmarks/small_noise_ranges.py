"""Compare measured cells with boxes for tables for ranges of up to 1,024 cells, where these have little noise.

    python benchmarks/small_noise_ranges.py bank [--draws 3]             # the folder that `bank.py save bank` wrote

For each public table of up to 100,000 rows, plans are drawn at random: one table for ranges of 25 to 1,024 cells, alone
or beside one to three other tables, at an ε such that cells measured directly would have noise of a scale from 0.1 to
4. Shown are the errors of *adaptive* (boxes) as multiples of those of *direct* (cells): of whole counts of all tables,
and of the sums from the first cell to any other of the table for ranges. In both, a thousandth of a person is added for
each cell, as there may be no error at all. The lines are geometric means, by the columns of the table for ranges.
"""

from __future__ import annotations

import argparse
import sys
import zlib
from collections import defaultdict
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent.parent))  # the engine beside this folder, wherever this is run

import dpengine as dpe
from benchmarks.accuracy import counts
from dpengine.measure.allocation import allocate_directly
from dpengine.measure.strategy import decide
from dpengine.results.result import conclude

MAX_ROWS, TRIALS, NOISE, FEW = 100_000, 60, (0.5, 1.0, 2.0, 4.0), 150
Tables = list[tuple[str, ...]]


def draw_plan(rng: np.random.Generator, sizes: dict[str, int], rows: int, beside: int) -> tuple[dpe.Plan, float] | None:
    """Return a random plan, and the scale of the noise in its table for ranges; None if it is not of the kind."""
    tables: Tables = []
    for _ in range(1 + beside):
        places = np.sort(rng.choice(len(sizes), min(int(rng.integers(1, 3)), len(sizes)), replace=False))
        tables.append(tuple(list(sizes)[place] for place in places))
    if not 25 <= np.prod([sizes[name] for name in tables[0]]) <= 1024:
        return None
    columns = [
        {"name": name, "kind": "number", "edges": list(range(size + 1)), "other": False, "missing": False}
        for name, size in sizes.items()
        if any(name in table for table in tables)
    ]
    ranged = {"columns": list(tables[0]), "ranges": True}
    others = [list(table) for table in dict.fromkeys(tables[1:]) if table != tables[0]]
    plan = dpe.Plan(dataset="x", epsilon=str(rng.choice(["0.5", "1", "2", "3", "6", "10"])), columns=columns,
                    rows_about=max(100, round(rows, -2)), tables=[ranged, *others])  # fmt: skip
    scales = {each.columns: float(each.scale) for each in allocate_directly(plan)}
    scale = scales.get(tuple(sorted(tables[0])), np.inf)
    return (plan, scale) if 0.1 <= scale < NOISE[-1] else None


def errors(plan: dpe.Plan, strategy: str, codes: np.ndarray, sizes: dict[str, int], draws: int) -> np.ndarray:
    """Return the mean L1 error of all tables, and that of sums from the first cell of the table for ranges."""
    way, ranged, off = decide(plan.model_copy(update={"strategy": strategy})), plan.ranged[0], np.zeros(2)

    def exact(table: tuple[str, ...]) -> np.ndarray:
        return counts(codes, sizes, table) if table else np.array(len(codes))

    for _ in range(draws):
        result = conclude(way.plan, way.measure(lambda tables: list(map(exact, tables))))
        wrong = {table: result.counts(table) - exact(table) for table in plan.marginals if table}
        off[0] += np.mean([np.abs(each).sum() + 0.001 * each.size for each in wrong.values()])
        sums = wrong[ranged]
        for axis in range(sums.ndim):
            sums = np.cumsum(sums, axis=axis)
        off[1] += np.abs(sums).mean() + 0.001
    return off


def main() -> None:
    """Compare, and sum up."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--draws", type=int, default=3)
    chosen = parser.parse_args()
    found: defaultdict[tuple[str, str, int], list[np.ndarray]] = defaultdict(list)
    for path in sorted(chosen.folder.glob("*.npz")):
        with np.load(path) as read:
            codes, sizes = read["codes"], {f"c{k:02}": int(size) for k, size in enumerate(read["sizes"])}
        rng = np.random.default_rng(zlib.crc32(path.stem.encode()))
        for beside in (0, 0, 1, 2, 3) if len(codes) <= MAX_ROWS else ():
            for _ in range(TRIALS):
                try:
                    drawn = draw_plan(rng, sizes, len(codes), beside)
                except dpe.PlanError:
                    continue
                if drawn is not None:
                    plan, scale = drawn
                    boxes, cells = (errors(plan, each, codes, sizes, chosen.draws) for each in ("adaptive", "direct"))
                    kind = "one column" if len(plan.ranged[0]) == 1 else "two columns"
                    kind += ", few cells" if len(plan.ranged[0]) == 2 and plan.cells(plan.ranged[0]) <= FEW else ""
                    found["beside" if beside else "alone", kind, int(np.digitize(scale, NOISE))].append(boxes / cells)
                    break
    for (where, kind, place), ratios in sorted(found.items()):
        low, high = [0.1, *NOISE][place : place + 2]
        whole, sums = np.exp(np.log(ratios).mean(axis=0))
        print(
            f"{where}, {kind}, noise {low} to {high}: whole counts {whole:.2f}, sums {sums:.2f} ({len(ratios)} plans)"
        )


if __name__ == "__main__":
    main()
