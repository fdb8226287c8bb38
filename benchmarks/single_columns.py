"""Compare published whole counts of single columns with the same noise projected on non-negative counts.

    python benchmarks/single_columns.py bank [--draws 3] [--every 2]     # the folder that `bank.py save bank` wrote

Every second column of the public tables, up to 200,000 rows, is published alone at ε = 0.01, 0.1 and 1. Errors are L1
distances to the truth, grouped by the noise in the table as a part of its rows and by the number of cells. Shown are
the mean ratio of both errors (geometric), and how many columns are 3 % farther off or nearer.
"""

from __future__ import annotations

import argparse
import sys
from collections import defaultdict
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent.parent))  # the engine beside this folder, wherever this is run

from dpengine import Plan
from dpengine.marginals.fitting import project, round_to_total
from dpengine.measure.strategy import decide
from dpengine.results.result import conclude

EPSILONS, MAX_ROWS = ("0.01", "0.1", "1"), 200_000
NOISE, CELLS = (0.02, 0.1, 0.5), (7, 19)  # the groups' limits


def compare(counts: np.ndarray, epsilon: str, draws: int) -> float:
    """Return the error of published counts as a multiple of that of the same noise, projected and rounded."""
    values = [str(k) for k in range(counts.size)]
    column = {"name": "a", "kind": "category", "values": values, "other": False, "missing": False}
    way = decide(Plan(dataset="x", epsilon=epsilon, columns=[column], tables=[["a"]], strategy="direct"))
    off = np.zeros(2)
    for _ in range(draws):
        measured = way.measure(lambda tables: [counts for _ in tables])
        noisy = measured.marginals[0].values.astype(np.float64)
        total = max(0, round(float(noisy.sum())))
        plain = round_to_total(project(noisy, total), total)
        off += [np.abs(each - counts).sum() for each in (conclude(way.plan, measured).counts(("a",)), plain)]
    return float((off[0] + 1) / (off[1] + 1))


def main() -> None:
    """Compare, and sum up."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--draws", type=int, default=3)
    parser.add_argument("--every", type=int, default=2)
    chosen = parser.parse_args()
    found: defaultdict[tuple[int, int], list[float]] = defaultdict(list)
    for path in sorted(chosen.folder.glob("*.npz")):
        with np.load(path) as read:
            codes, sizes = read["codes"], read["sizes"]
        for k in range(0, len(sizes), chosen.every) if len(codes) <= MAX_ROWS else ():
            counts = np.bincount(codes[:, k], minlength=sizes[k])
            for epsilon in EPSILONS if sizes[k] > 2 else ():
                noise = counts.size / float(epsilon) / len(codes)
                place = int(np.digitize(noise, NOISE)), int(np.digitize(counts.size, CELLS, right=True))
                found[place].append(compare(counts, epsilon, chosen.draws))
    for (noise, cells), ratios in sorted(found.items()):
        low, high = [0, *NOISE, "more"][noise : noise + 2]
        few, many = [3, *(each + 1 for each in CELLS)][cells], [*CELLS, "more"][cells]
        better, worse = (sum(map(test, ratios)) for test in ((lambda each: each < 0.97), (lambda each: each > 1.03)))
        mean = np.exp(np.mean(np.log(ratios)))
        print(f"noise {low} to {high} of the rows, {few} to {many} cells: {mean:.3f} ({len(ratios)}: {better} nearer, "
              f"{worse} farther)")  # fmt: skip


if __name__ == "__main__":
    main()
