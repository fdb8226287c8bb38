"""Tables for benchmarks/ranges.py: probabilities of 4096 cells, or of 128 × 128.

Most parameters of the product were set on the first group. The second and the third were looked at while rules were
chosen, and the constant `NOISE` of `measure.box_questions` was set on these and on real columns
(benchmarks/range_columns.py). No constant is set on `mechanisms`; of two last candidates for
`marginals.box_products`, the one that was better on it was kept.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd

from benchmarks.peers.range_methods import SIDE
from benchmarks.range_columns import columns_1d, columns_2d

__all__ = ["GROUPS"]

ROOT = Path(__file__).parent.parent
CELLS = 4096


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


def fresh_1d() -> dict[str, np.ndarray]:
    """Probabilities of 4096 cells on which no parameter was set."""
    fixed, x = np.random.default_rng(17), np.arange(CELLS)
    found = {
        "five heaps": _heaps(fixed, x[:, None]),
        "zipf shuffled": fixed.permutation(1 / (x + 1.0)),
        "blocks": (x // 128 % 2).astype(float),
        "hole": np.where(abs(x - 1500) < 400, 0.0, 1.0),
        "weeks": np.array([9, 10, 10, 10, 11, 3, 1])[x % 7] * (1 + 0.5 * np.sin(x / 58)) * (1 + x / CELLS),
    }
    return {name: shape / shape.sum() for name, shape in found.items()}


def fresh_2d() -> dict[str, np.ndarray]:
    """Probabilities of 128 × 128 cells on which no parameter was set."""
    fixed, (x, y) = np.random.default_rng(18), np.indices((SIDE, SIDE))
    lines = np.exp(-(((x - y) / 2.0) ** 2)) + np.exp(-(((x + 0.4 * y - 80) / 1.5) ** 2))
    ranks = [1 / (1.0 + fixed.permutation(SIDE)) for _ in range(2)]
    found = {
        "five heaps": _heaps(fixed, np.stack([x, y], axis=-1).reshape(-1, 2) * 32).reshape(SIDE, SIDE),
        "zipf shuffled": np.outer(*ranks),
        "checkerboard": ((x // 16 + y // 16) % 2).astype(float),
        "hole": np.where(np.hypot(x - 50, y - 70) < 30, 0.0, 1.0),
        "cross": lines,
        "ring": np.exp(-(((np.hypot(x - 60, y - 64) - 40) / 2) ** 2)),
    }
    return {name: shape / shape.sum() for name, shape in found.items()}


def held_out_1d() -> dict[str, np.ndarray]:
    """Probabilities of 4096 cells that were held out at first."""
    fixed, x = np.random.default_rng(29), np.arange(CELLS)
    ends = np.sort(fixed.choice(CELLS, 24, replace=False))
    drift = np.cumsum(fixed.normal(0, 0.03, CELLS))
    found = {
        "eleven cells": fixed.gamma(1, 1, 11)[x % 11],
        "stripes of 100": np.where(x // 100 % 3 == 0, 1.0, 0.15),
        "sparse cells": np.where(fixed.random(CELLS) < 0.01, fixed.gamma(0.5, 1, CELLS), 0.0),
        "steps": fixed.gamma(0.6, 1, 25)[np.searchsorted(ends, x, side="right")],
        "heaped ages": np.exp(-(((x - 1500) / 900) ** 2)) * np.where(x % 10 == 0, 6.0, np.where(x % 5 == 0, 3.0, 1.0)),
        "wandering": np.exp(2 * (drift - drift.mean())),
        "mixture": np.exp(-(((x - 900) / 60) ** 2)) + 0.05 + 40.0 * (fixed.random(CELLS) < 0.002) + (x > 3100) * 0.3,
        "even and odd": np.where(x % 2 == 0, 1.0, 0.4) * (1 + 0.3 * np.sin(x / 400)),
        "prices": np.exp(-x / 1200) * np.where(x % 100 == 99, 30.0, np.where(x % 10 == 9, 6.0, 1.0)),
        "half rough": np.where(x < 2048, 1.0, fixed.gamma(0.3, 1, CELLS) / 0.3),
        "sawtooth": x % 60 + 5.0,
        "runs": fixed.permutation(np.repeat([0.0, 0.0, 1.0, 4.0], 64)).repeat(16),
    }
    return {name: shape / shape.sum() for name, shape in found.items()}


def held_out_2d() -> dict[str, np.ndarray]:
    """Probabilities of 128 × 128 cells that were held out at first."""
    fixed, (x, y) = np.random.default_rng(30), np.indices((SIDE, SIDE))
    cuts = [np.sort(fixed.choice(SIDE, 6, replace=False)) for _ in range(2)]
    rows, columns = (np.searchsorted(cut, each, side="right") for cut, each in zip(cuts, (x, y), strict=True))
    heap = np.exp(-(((x - 90) / 9) ** 2) - ((y - 30) / 14) ** 2)
    found = {
        "squares of 11": ((x // 11 + y // 11) % 2).astype(float),
        "sparse cells": np.where(fixed.random((SIDE, SIDE)) < 0.01, fixed.gamma(0.5, 1, (SIDE, SIDE)), 0.0),
        "stripes": np.where(x // 9 % 2 == 0, 1.0, 0.2) * np.where(y // 23 % 2 == 0, 1.0, 0.1),
        "one axis": np.exp(-(((x - 40) / 12) ** 2)) + 0.02 + 0 * y,
        "steps": fixed.gamma(0.4, 1, (7, 7))[rows, columns],
        "mixture": heap + 0.03 + 20.0 * (fixed.random((SIDE, SIDE)) < 0.001) + 0.2 * (y > 100),
        "disc": np.where(np.hypot(x - 77, y - 50) < 37, 1.0, 0.05),
        "hours of days": (np.array([9, 10, 10, 10, 11, 3, 1])[x % 7] * (1 + np.sin(y / 128 * 4 * np.pi) ** 2)).astype(
            float
        ),
        "diagonals": np.where((x + y) % 7 == 0, 6.0, 1.0),
        "half rough": np.where(x < 64, 1.0, fixed.gamma(0.3, 1, (SIDE, SIDE)) / 0.3),
        "heaps on fives": np.where(x % 5 == 0, 5.0, 1.0)
        * np.where(y % 10 == 0, 5.0, 1.0)
        * np.exp(-(((x - y) / 50) ** 2)),
        "blocks": fixed.permutation(np.repeat([0.0, 0.0, 1.0, 3.0], 64)).reshape(16, 16).repeat(8, 0).repeat(8, 1),
    }
    return {name: shape / shape.sum() for name, shape in found.items()}


def mechanisms_1d() -> dict[str, np.ndarray]:
    """Probabilities of 4096 cells, as people, machines and forms would give them."""
    fixed, x, people = np.random.default_rng(41), np.arange(CELLS), 300_000
    wages = np.minimum(np.exp(fixed.normal(np.log(700), 0.6, people)), 3000)
    step = fixed.choice([1, 10, 50, 100], people, p=[0.4, 0.25, 0.2, 0.15])
    costs = np.where(fixed.random(people) < 0.95, 0, np.exp(fixed.normal(4.5, 1.4, people)))
    flows = np.where(fixed.random(CELLS) < 0.15, fixed.pareto(0.7, CELLS), 0.0)
    day = x % 1024 / 1024
    codes = fixed.permutation(np.repeat(fixed.pareto(1, 40), 100)) * (fixed.random(4000) < 0.3)
    bursts = sum(np.where(x >= at, np.exp(-(x - at) / 30), 0.0) * size for at, size in zip(fixed.integers(0, CELLS, 9),
                 fixed.pareto(1, 9), strict=True))  # fmt: skip
    found = {
        "heaped wages": _counted(np.round(wages / step) * step),
        "medical costs": _counted(costs),
        "traffic": flows,
        "searches": np.exp(x / 3000) * (1 + 0.8 * np.sin(x / 12)) + 5 * bursts,
        "patents": 1 / (1 + np.exp(-(x - 3000) / 500)) + 0.02,
        "post codes": np.r_[codes, np.zeros(CELLS - codes.size)],
        "arrivals": np.exp(-(((day - 0.35) / 0.05) ** 2)) + np.exp(-(((day - 0.7) / 0.1) ** 2)) + 0.03,
        "loans": np.exp(-x / 900) * np.where(x % 400 == 0, 60.0, np.where(x % 40 == 0, 8.0, 0.05)),
    }
    return {name: shape / shape.sum() for name, shape in found.items()}


def mechanisms_2d() -> dict[str, np.ndarray]:
    """Probabilities of 128 × 128 cells, as places, pairs of amounts and ways between places would give them."""
    fixed, people, (x, y) = np.random.default_rng(42), 200_000, np.indices((SIDE, SIDE))
    junctions = fixed.random((40, 2))
    start, end = junctions[fixed.integers(0, 40, (2, 60))]
    road = fixed.choice(60, people, p=fixed.dirichlet(np.full(60, 0.5)))
    along = fixed.beta(0.5, 0.5, (people, 1))
    roads = start[road] + (end - start)[road] * along + fixed.normal(0, 2e-3, (people, 2))
    centres = fixed.normal(fixed.random((6, 2))[fixed.integers(0, 6, 900)], 0.08)
    ranks = 1 / np.arange(1, 901) ** 1.1
    checked = fixed.normal(centres[fixed.choice(900, people, p=ranks / ranks.sum())], 0.003)
    either, both = fixed.random((2, people))
    gains = np.where((either < 0.08)[:, None] & np.c_[both < 0.65, both > 0.6], fixed.beta(1, 9, (people, 2)), 0)
    age = np.where(both < 0.3, fixed.integers(18, 80, people) // 5 * 5, fixed.integers(18, 80, people))
    wage = np.exp(fixed.normal(-2.2 + 0.012 * np.minimum(age, 50), 0.5, people))
    sizes, places = fixed.pareto(1.2, SIDE) + 0.05, np.sort(fixed.random(SIDE))
    streets = np.where((x % 5 == 0) | (y % 7 == 0), 1.0, 0.08) * np.exp(-((x - 70) ** 2 + (y - 55) ** 2) / 900)
    found = {
        "roads": _binned(roads),
        "check-ins": _binned(checked),
        "gains and losses": _binned(gains),
        "ages and wages": _binned(np.c_[age / 100, wage]),
        "commuters": np.outer(sizes, sizes) / (0.1 + np.abs(places[:, None] - places)) ** 2,
        "streets": streets,
        "strokes": np.exp(-(((x - 90) / 14) ** 2) - y / 9),
        "loans by term": np.exp(-x / 40) * np.where(x % 8 == 0, 9.0, 1.0) * np.isin(y, [36, 60, 120]),
    }
    return {name: shape / shape.sum() for name, shape in found.items()}


def _heaps(fixed: np.random.Generator, cells: np.ndarray) -> np.ndarray:
    """Return the density at each of the cells, of places from 0 to 4096, of five normal heaps of different width."""
    found = np.zeros(len(cells))
    for wide in (20, 60, 150, 300, 700):
        off = (cells - fixed.uniform(600, 3500, cells.shape[1])) / wide
        found += np.exp(-(off**2).sum(axis=1) / 2) / wide ** cells.shape[1]
    return found


def _counted(values: np.ndarray) -> np.ndarray:
    return np.bincount(np.clip(values, 0, CELLS - 1).astype(int), minlength=CELLS).astype(float)


def _binned(cloud: np.ndarray) -> np.ndarray:
    x, y = np.clip(cloud, 0, 0.9999).T
    counts = np.histogram2d(x, y, bins=SIDE, range=[[0, 1], [0, 1]])[0]
    return counts / counts.sum()


GROUPS: dict[str, tuple[Callable[[], dict[str, np.ndarray]], Callable[[], dict[str, np.ndarray]]]] = {
    "set": (shapes_1d, shapes_2d),
    "seen": (fresh_1d, fresh_2d),
    "held-out": (held_out_1d, held_out_2d),
    "mechanisms": (mechanisms_1d, mechanisms_2d),
    "columns": (columns_1d, columns_2d),
}
