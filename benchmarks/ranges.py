"""How wrong ranges of a long table are: mean |error| over prefix sums (1-D) or random boxes (2-D), ÷ number of rows.

    python benchmarks/ranges.py [--draws 5] [--epsilon 0.1] [--rows 10000,1000000] [--peers DAWA,Hb] [--fresh]
        [--peer-draws 5]

Beside each other in one run, at ε-differential privacy: the product (``ranges: true``, whole counts as published), and
the published family (benchmarks/peers/range_methods.py): every cell by itself, Hb, Privelet, GreedyH, AHP, DAWA and
MWEM; EFPA and PHP in one dimension; QuadTree and the two grids in two. The last lines compare each method with the best
of all, and the product with the best of the others.

The tables are simulated shapes of 4096 and of 128 × 128 cells: others publish figures on none of them.
With ``ADULT`` naming its file (or in ``../shared/data``), capital gains of Adult are one of them. The parameters of the
product were set on these shapes; on those of ``--fresh`` none was. With ``--peer-draws`` the others, which take longer,
are drawn less often.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from fractions import Fraction
from pathlib import Path

import numpy as np
import pandas as pd

sys.path.insert(0, str(Path(__file__).parent.parent))

from benchmarks.peers.range_methods import ONE_AXIS, SIDE, TWO_AXES, answers, noise
from dpengine.estimate.consistency import round_boxes
from dpengine.marginals.box_tree import BoxTree
from dpengine.measure.hierarchical import measure_boxes

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


def ours(counts: np.ndarray, epsilon: float) -> np.ndarray:
    axes = [(0, size) for size in counts.shape]
    boxes = measure_boxes(("a", "b")[: counts.ndim], axes, counts, Fraction(str(epsilon)), 1)
    return round_boxes(BoxTree(boxes)).tables[0].values


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--draws", type=int, default=5)
    parser.add_argument("--epsilon", type=float, default=0.1)
    parser.add_argument("--rows", default="10000,1000000")
    parser.add_argument("--peers", default=",".join({**ONE_AXIS, **TWO_AXES}))
    parser.add_argument("--peer-draws", type=int, help="of the other methods; as many as of this one")
    parser.add_argument("--fresh", action="store_true", help="shapes on which no parameter was set")
    options = parser.parse_args()
    shapes_of = (fresh_1d, fresh_2d) if options.fresh else (shapes_1d, shapes_2d)
    tables = zip(("4096 cells", "128 × 128 cells"), shapes_of, (ONE_AXIS, TWO_AXES), strict=True)
    for title, shapes, peers in ((title, build(), peers) for title, build, peers in tables):
        methods = {"this": ours, **{name: run for name, run in peers.items() if name in options.peers.split(",")}}
        for rows in map(int, options.rows.split(",")):
            print(f"\n{title}, {rows:,} rows, ε = {options.epsilon:g}: mean error of a range ÷ rows, × 1000")
            print(f"{'':14}" + "".join(f"{name:>13}" for name in methods))
            table, seconds = [], dict.fromkeys(methods, 0.0)
            for name, shape in shapes.items():
                errors = dict.fromkeys(methods, 0.0)
                draws = dict.fromkeys(methods, options.peer_draws or options.draws) | {"this": options.draws}
                for draw in range(options.draws):
                    counts = noise.multinomial(rows, shape.ravel()).reshape(shape.shape)
                    for method, run in methods.items():
                        if draw >= draws[method]:
                            continue
                        started = time.process_time()
                        found = run(counts, options.epsilon)
                        seconds[method] += (time.process_time() - started) / (draws[method] * len(shapes))
                        off = np.abs(answers(found) - answers(counts)).mean() / rows
                        errors[method] += 1000 * off / draws[method]
                print(f"{name:14}" + "".join(f"{error:13.3f}" for error in errors.values()), flush=True)
                table.append([*errors.values()])
            every = np.array(table)
            means = np.exp(np.log(every / every.min(axis=1, keepdims=True)).mean(axis=0))
            print(f"{'ratio to best':14}" + "".join(f"{mean:13.2f}" for mean in means), "(geometric mean)")
            print(f"{'seconds':14}" + "".join(f"{each:13.3f}" for each in seconds.values()), "(of a processor)")
            if len(methods) > 1:
                against = every[:, 0] / every[:, 1:].min(axis=1)
                print(f"this ÷ best other: {np.exp(np.log(against).mean()):.2f} in the geometric mean,", end=" ")
                print(", ".join(f"{name} {ratio:.2f}" for name, ratio in zip(shapes, against, strict=True)))


if __name__ == "__main__":
    main()
