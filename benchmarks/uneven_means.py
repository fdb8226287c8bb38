"""Compare means by group with and without a signal that is weighted by its own precision (`estimate.amounts`).

    python benchmarks/bank.py save bank                            # writes public tables as arrays (see there)
    python benchmarks/uneven_means.py bank [--splits random,later,last] [--draws 8] [--seed 1]

From each table of a split of the bank, three times, three columns are drawn: two to group by and one as the amount. The
sums of its two ends get Laplace noise, at several ε, and means are fitted from equal noisy sums in both ways. Shown is
the root mean square error of a mean with weights as a multiple of that without: geometric means, and the extremes, for
cells, for people, and for the groups of the first column alone.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent.parent))  # the engine beside this folder, wherever this is run

from benchmarks.bank import SPLITS
from dpengine.array_types import Columns, Floats
from dpengine.estimate.amounts import fit_means

EPSILONS = (0.02, 0.1, 0.5, 2.0)
MAX_PEOPLE, MAX_CELLS = 20_000, 800
STAGES: list[Columns] = [("a",), ("b",), ("a", "b")]


def groups(folder: Path, splits: list[str], rng: np.random.Generator) -> Iterator[tuple[Floats, Floats]]:
    """Yield the people and the sum of an amount between 0 and 1, by two columns."""
    for name in sorted({each.split("/")[-1] for split in splits for each in SPLITS[split]}):
        if not (folder / f"{name}.npz").exists():
            continue
        with np.load(folder / f"{name}.npz") as read:
            codes, sizes = read["codes"], read["sizes"]
        if len(codes) > MAX_PEOPLE:
            codes = codes[rng.choice(len(codes), MAX_PEOPLE, replace=False)]
        usable = [k for k, size in enumerate(sizes) if 2 <= size <= 40]
        for _ in range(3 if len(usable) > 2 else 0):
            a, b, amount = rng.choice(usable, 3, replace=False)
            shape = sizes[a], sizes[b]
            if sizes[a] * sizes[b] <= MAX_CELLS:
                cells = codes[:, a] * sizes[b] + codes[:, b]
                weights = (None, codes[:, amount] / (sizes[amount] - 1))
                people, sums = (np.bincount(cells, each, sizes[a] * sizes[b]).reshape(shape) for each in weights)
                yield people.astype(np.float64), sums


def errors(people: Floats, sums: Floats, epsilon: float, rng: np.random.Generator) -> Floats:
    """Return mean squared errors of one draw: without and with weights; of cells, of people, of the first column."""
    high, low = (each + rng.laplace(0, 1 / epsilon, each.shape) for each in (sums, people - sums))
    start = min(max(float(high.sum() / max((high + low).sum(), 1.0)), 0.0), 1.0)
    centred, variance = high * (1 - start) - low * start, 2 / epsilon**2 * (start**2 + (1 - start) ** 2)
    known = np.maximum(high + low, 0)

    def observed(part: Columns) -> tuple[Floats, float]:
        others = tuple(axis for axis, name in enumerate(("a", "b")) if name not in part)
        return centred.sum(axis=others), variance * float(np.prod([people.shape[axis] for axis in others]))

    off = []
    for weighted in (False, True):
        means = fit_means(("a", "b"), known, start, observed, STAGES, weighted=weighted)
        squares = np.where(people > 0, means - sums / np.maximum(people, 1), 0) ** 2
        by_first = (means * known).sum(axis=1) / np.maximum(known.sum(axis=1), 1e-9)
        first = np.where(people.sum(axis=1) > 0, by_first - sums.sum(axis=1) / np.maximum(people.sum(axis=1), 1), 0)
        off.append([squares.sum() / (people > 0).sum(), (squares * people).sum() / people.sum(), (first**2).mean()])
    return np.array(off)


def main() -> None:
    """Compare at each ε."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bank", type=Path)
    parser.add_argument("--splits", default="random,later,last")
    parser.add_argument("--draws", type=int, default=8)
    parser.add_argument("--seed", type=int, default=1)
    chosen = parser.parse_args()
    rng = np.random.default_rng(chosen.seed)
    tables = list(groups(chosen.bank, chosen.splits.split(","), rng))
    for epsilon in EPSILONS:
        draws = [np.mean([errors(*table, epsilon, rng) for _ in range(chosen.draws)], axis=0) for table in tables]
        ratio = np.array([np.sqrt(each[1] / np.maximum(each[0], 1e-12)) for each in draws])
        means, least, most = np.exp(np.log(ratio).mean(axis=0)), ratio.min(axis=0), ratio.max(axis=0)
        shown = (f"{name} {mean:.3f} ({low:.2f} to {high:.2f})" for name, mean, low, high in
                 zip(("cells", "people", "first column"), means, least, most, strict=True))  # fmt: skip
        print(f"ε = {epsilon}, {len(tables)} plans: {', '.join(shown)}", flush=True)


if __name__ == "__main__":
    main()
