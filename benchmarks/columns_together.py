"""Compare estimates of columns under wide noise: each by its order and sizes, and all columns of a table together.

    python benchmarks/columns_together.py bank [--draws 2]     # the folder that `bank.py save bank` wrote

Seven tenths of ε = 0.05, 0.2 and 1 are divided over the columns of a table by the square roots of their cells, as if
no pair were measured. Noise is continuous and seeded; the number of people is given. Up to 25 columns of each table, of
up to 100 cells, are counted. Errors are L1 distances to the truth, as a part of all people, in the mean over columns
and draws; columns are grouped by the noise of a cell, as a multiple of the mean count.
"""

from __future__ import annotations

import argparse
import sys
from collections import defaultdict
from collections.abc import Iterator
from itertools import pairwise, product
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent.parent))  # the engine beside this folder, wherever this is run

from dpengine.marginals.fitting import project
from dpengine.marginals.smoothing import smooth_by_order_and_size, smooth_columns

EPSILONS, SHARE = (0.05, 0.2, 1.0), 0.7
MAX_COLUMNS, MAX_CELLS = 25, 100
NOISE = (0.0, 0.1, 0.2, 0.4, 0.7, 1.5, 4.0, np.inf)  # the groups' limits


def errors(codes: np.ndarray, sizes: np.ndarray, draws: int) -> Iterator[tuple[float, list[float]]]:
    """Yield the noise of each column and draw, and three errors: projected, by order and sizes, and together."""
    chance = np.random.default_rng(1)
    kept = chance.permutation(np.flatnonzero((sizes > 1) & (sizes <= MAX_CELLS)))[:MAX_COLUMNS]
    truth = {str(k): np.bincount(codes[:, k], minlength=sizes[k]).astype(np.float64) for k in kept}
    people = float(len(codes))
    for epsilon, _ in product(EPSILONS, range(draws)):
        scales = {name: np.sqrt(sizes).sum() / (SHARE * epsilon * truth[name].size ** 0.5) for name in truth}
        noisy = {name: (counts + chance.laplace(0, scales[name], counts.size), scales[name])
                 for name, counts in truth.items()}  # fmt: skip
        together = smooth_columns(noisy, people)
        for name, (values, scale) in noisy.items():
            estimates = project(values, people), smooth_by_order_and_size(values, scale, people)[1], together[name]
            off = [float(np.abs(each - truth[name]).sum()) / people for each in estimates]
            yield scale * values.size / people, off


def main() -> None:
    """Compare, and sum up."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--draws", type=int, default=2)
    chosen = parser.parse_args()
    found: defaultdict[int, list[list[float]]] = defaultdict(list)
    for path in sorted(chosen.folder.glob("*.npz")):
        with np.load(path) as read:
            codes, sizes = read["codes"], read["sizes"]
        for noise, off in errors(codes, sizes, chosen.draws):
            found[int(np.digitize(noise, NOISE))].append(off)
    print("noise of a mean count   columns  projected  by order and sizes  together")
    for group, (low, high) in enumerate(pairwise(NOISE), start=1):
        if group in found:
            projected, alone, together = np.mean(found[group], axis=0)
            print(f"{low:>8} to {high:<8} {len(found[group]):>12}  {projected:>9.3f}  {alone:>18.3f}  {together:>8.3f}"
                  f"  ({together / alone:.3f})")  # fmt: skip


if __name__ == "__main__":
    main()
