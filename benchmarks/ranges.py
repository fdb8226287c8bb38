"""How wrong ranges of a long table are: mean |error| over prefix sums (1-D) or random boxes (2-D), ÷ number of rows.

    python benchmarks/ranges.py [--draws 5] [--epsilon 0.1] [--rows 10000,1000000]

Beside each other in one run, at ε-differential privacy: the product (``ranges: true``, whole counts as published), and
the published family, written here after its papers: every cell by itself; Hb (Qardaji, Yang & Li, PVLDB 2013); MWEM
(Hardt, Ligett & McSherry, NIPS 2012; it is given the number of rows, as by its authors); uniform and adaptive grids
(Qardaji, Yang & Li, ICDE 2013). Peers draw floating-point noise, as theirs is. DAWA, EFPA, PHP, Privelet, GreedyH and
QuadTree are not among them.

The tables are simulated shapes of 4096 and of 128 × 128 cells: others publish figures on none of them.
With ``ADULT`` naming its file (or in ``../shared/data``), capital gains of Adult are one of them.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable
from fractions import Fraction
from itertools import pairwise
from pathlib import Path

import numpy as np
import pandas as pd

sys.path.insert(0, str(Path(__file__).parent.parent))

from dpengine.estimate.consistency import round_boxes
from dpengine.marginals.box_tree import BoxTree
from dpengine.measure.hierarchical import measure_boxes

ROOT = Path(__file__).parent.parent
CELLS, SIDE, BOXES = 4096, 128, 2000
Method = Callable[[np.ndarray, float], np.ndarray]
chance = np.random.default_rng()


def shapes_1d() -> dict[str, np.ndarray]:
    """Probabilities of 4096 cells: heaped at one end, spiked, smooth, even, in bursts."""
    fixed, x = np.random.default_rng(5), np.arange(CELLS)
    incomes = np.exp(fixed.normal(np.log(150), 0.9, 400_000))
    incomes = np.where(fixed.random(incomes.size) < 0.7, np.round(incomes / 20) * 20, incomes)
    incomes[:90_000] = 0
    peaks = zip(fixed.integers(0, CELLS, 12), fixed.uniform(5, 120, 12), fixed.pareto(1, 12) + 0.1, strict=True)
    bursts = np.repeat(fixed.pareto(1.2, 64) + 0.05, 64) * fixed.gamma(1, 1, CELLS) * (fixed.random(CELLS) < 0.5)
    found = {
        "zipf": 1 / (x + 1.0) ** 2,
        "salaries": _counted(np.exp(fixed.normal(np.log(180), 0.7, 135_000))),
        "round incomes": _counted(incomes),
        "costs": _counted(fixed.exponential(150, 9415)),
        "even": fixed.gamma(20, 1, CELLS),
        "smooth": np.exp(-(((x / CELLS - 0.7) / 0.25) ** 2)) + 0.1,
        "bursts": bursts,
        "peaks": sum(weight * np.exp(-(((x - at) / wide) ** 2)) for at, wide, weight in peaks) + 1e-3,
    }
    adult = Path(os.environ.get("ADULT", ROOT.parent / "shared" / "data" / "adult.csv"))
    if adult.is_file():
        gains = pd.read_csv(adult).filter(like="gain").iloc[:, 0].to_numpy(dtype=float)
        found["capital gains"] = _counted(gains / max(gains.max(), 1) * (CELLS - 1))
    return {name: shape / shape.sum() for name, shape in found.items()}


def shapes_2d() -> dict[str, np.ndarray]:
    """Probabilities of 128 × 128 cells: towns, one heap, mostly zero in both, a line, half even."""
    fixed, people = np.random.default_rng(6), 200_000
    town = fixed.choice(300, people, p=fixed.dirichlet(fixed.pareto(1.1, 300) + 0.01))
    towns = fixed.random((300, 2))[town] + fixed.normal(0, 1, (people, 2)) * fixed.uniform(0.002, 0.03, 300)[town, None]
    zeros = np.c_[
        np.where(fixed.random(people) < 0.92, 0, fixed.beta(1, 8, people)),
        np.where(fixed.random(people) < 0.95, 0, fixed.normal(0.45, 0.08, people)),
    ]
    along = fixed.random(people)
    line = np.c_[0.1 + 0.05 * np.sin(9 * along) + fixed.normal(0, 0.01, people), 0.1 + 0.15 * along]
    half = np.concatenate([fixed.random((people // 2, 2)), fixed.normal([0.2, 0.7], [0.05, 0.1], (people // 2, 2))])
    clouds = {"towns": towns, "heap": fixed.normal(0.5, 0.15, (people, 2)), "zeros": zeros, "line": line, "half": half}
    return {name: _binned(cloud) for name, cloud in clouds.items()}


def _counted(values: np.ndarray) -> np.ndarray:
    return np.bincount(np.clip(values, 0, CELLS - 1).astype(int), minlength=CELLS).astype(float)


def _binned(cloud: np.ndarray) -> np.ndarray:
    x, y = np.clip(cloud, 0, 0.9999).T
    counts = np.histogram2d(x, y, bins=SIDE, range=[[0, 1], [0, 1]])[0]
    return counts / counts.sum()


def ours(counts: np.ndarray, epsilon: float) -> np.ndarray:
    axes = [(0, size) for size in counts.shape]
    boxes = measure_boxes(("a", "b")[: counts.ndim], axes, counts, Fraction(str(epsilon)), 1)
    return round_boxes(BoxTree(boxes)).tables[0].values


def identity(counts: np.ndarray, epsilon: float) -> np.ndarray:
    return counts + chance.laplace(0, 1 / epsilon, counts.shape)


def hb(counts: np.ndarray, epsilon: float) -> np.ndarray:
    """A full tree of fan-out 16 (4 × 4 in two dimensions), ε split evenly over levels, least squares."""
    per_axis = 16 if counts.ndim == 1 else 4
    levels = round(np.log(counts.shape[0]) / np.log(per_axis))
    size = per_axis**levels
    padded = np.pad(counts, [(0, size - n) for n in counts.shape])
    noisy, k = [], padded.astype(float)
    for _ in range(levels):
        noisy.append(k + chance.laplace(0, levels / epsilon, k.shape))
        k = _merged(k, per_axis)
    fan = per_axis**counts.ndim
    best = [noisy[0]]
    for level in range(1, levels):
        weight = (fan ** (level + 1) - fan**level) / (fan ** (level + 1) - 1)
        best.append(weight * noisy[level] + (1 - weight) * _merged(best[-1], per_axis))
    found = best[-1]
    for level in reversed(range(levels - 1)):
        gap = (found - _merged(best[level], per_axis)) / fan
        found = best[level] + np.kron(gap, np.ones((per_axis,) * counts.ndim))
    return found[tuple(slice(n) for n in counts.shape)]


def _merged(values: np.ndarray, by: int) -> np.ndarray:
    for axis in range(values.ndim):
        values = np.add.reduceat(values, np.arange(0, values.shape[axis], by), axis=axis)
    return values


def mwem(counts: np.ndarray, epsilon: float, rounds: int = 10) -> np.ndarray:
    """Prefix sums or boxes chosen where the model is worst, measured, and fitted by multiplicative weights."""
    rows, half = counts.sum(), epsilon / (2 * rounds)
    model, asked = np.full(counts.shape, rows / counts.size), []
    for _ in range(rounds):
        gaps = np.abs(_answers(counts) - _answers(model))
        pick = int(np.argmax(half / 2 * gaps + chance.gumbel(size=gaps.size)))
        mask = _mask(pick, counts.shape)
        asked.append((mask, float(counts[mask].sum()) + chance.laplace(0, 1 / half)))
        for _ in range(20):
            for where, noisy in asked:
                off = noisy - model[where].sum()
                model[where] *= np.exp(np.clip(off / (2 * rows), -5, 5))
                model *= rows / model.sum()
    return model


def _answers(values: np.ndarray) -> np.ndarray:
    if values.ndim == 1:
        return np.cumsum(values)
    sums = np.zeros((SIDE + 1, SIDE + 1))
    sums[1:, 1:] = values.cumsum(0).cumsum(1)
    (a, b), (c, d) = ROWS.T, COLUMNS.T
    return sums[b, d] - sums[a, d] - sums[b, c] + sums[a, c]


def _mask(query: int, shape: tuple[int, ...]) -> tuple[slice, ...]:
    return (slice(query + 1),) if len(shape) == 1 else (slice(*ROWS[query]), slice(*COLUMNS[query]))


def ugrid(counts: np.ndarray, epsilon: float) -> np.ndarray:
    return _grid(counts, epsilon, max(1, int(np.sqrt(counts.sum() * epsilon / 10))))


def agrid(counts: np.ndarray, epsilon: float) -> np.ndarray:
    """Two levels of grids, half of ε each; how fine the second is follows from the noisy counts of the first."""
    coarse = max(10, int(np.ceil(np.sqrt(counts.sum() * epsilon / 10) / 4)))
    cuts = np.unique(np.linspace(0, SIDE, coarse + 1).astype(int))
    found = np.zeros(counts.shape)
    for top, bottom in pairwise(cuts):
        for left, right in pairwise(cuts):
            block = counts[top:bottom, left:right]
            noisy = block.sum() + chance.laplace(0, 2 / epsilon)
            fine = max(1, int(np.ceil(np.sqrt(max(noisy, 0) * (epsilon / 2) / 5))))
            inner = _grid(block, epsilon / 2, fine)
            pieces = min(fine, block.shape[0]) * min(fine, block.shape[1])
            total = (noisy + inner.sum() / pieces) / (1 + 1 / pieces) if pieces > 1 else (noisy + inner.sum()) / 2
            found[top:bottom, left:right] = inner + (total - inner.sum()) / block.size
    return found


def _grid(counts: np.ndarray, epsilon: float, wanted: int) -> np.ndarray:
    rows, columns = (np.unique(np.linspace(0, n, min(wanted, n) + 1).astype(int)) for n in counts.shape)
    sums = np.add.reduceat(np.add.reduceat(counts, rows[:-1], axis=0), columns[:-1], axis=1)
    noisy = sums + chance.laplace(0, 1 / epsilon, sums.shape)
    share = noisy / np.outer(np.diff(rows), np.diff(columns))
    return np.repeat(np.repeat(share, np.diff(rows), axis=0), np.diff(columns), axis=1)


ROWS, COLUMNS = (np.sort(np.random.default_rng(seed).integers(0, SIDE + 1, (BOXES, 2)), axis=1) for seed in (1, 2))
PEERS_1D: dict[str, Method] = {"single cells": identity, "Hb": hb, "MWEM": mwem}
PEERS_2D: dict[str, Method] = {"single cells": identity, "Hb": hb, "UGrid": ugrid, "AGrid": agrid, "MWEM": mwem}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--draws", type=int, default=5)
    parser.add_argument("--epsilon", type=float, default=0.1)
    parser.add_argument("--rows", default="10000,1000000")
    options = parser.parse_args()
    for title, shapes, peers in (("4096 cells", shapes_1d(), PEERS_1D), ("128 × 128 cells", shapes_2d(), PEERS_2D)):
        for rows in map(int, options.rows.split(",")):
            print(f"\n{title}, {rows:,} rows, ε = {options.epsilon:g}: mean error of a range ÷ rows, × 1000")
            methods = {"this": ours, **peers}
            print(f"{'':14}" + "".join(f"{name:>13}" for name in methods))
            ratios, seconds = [], 0.0
            for name, shape in shapes.items():
                errors = dict.fromkeys(methods, 0.0)
                for _ in range(options.draws):
                    counts = chance.multinomial(rows, shape.ravel()).reshape(shape.shape)
                    for method, run in methods.items():
                        started = time.perf_counter()
                        found = run(counts, options.epsilon)
                        seconds += (time.perf_counter() - started) * (method == "this")
                        off = np.abs(_answers(found) - _answers(counts)).mean() / rows
                        errors[method] += 1000 * off / options.draws
                print(f"{name:14}" + "".join(f"{error:13.3f}" for error in errors.values()))
                best = min(errors.values())
                ratios.append([error / best for error in errors.values()])
            means = np.exp(np.log(ratios).mean(axis=0))
            print(f"{'ratio to best':14}" + "".join(f"{mean:13.2f}" for mean in means), "(geometric mean)")
            print(f"this: {seconds / (options.draws * len(shapes)):.3f} s each")


if __name__ == "__main__":
    main()
