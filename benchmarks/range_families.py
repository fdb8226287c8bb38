"""Compare errors of ranges with published methods on families of shapes with random parameters.

    python benchmarks/range_families.py [--tables 4] [--draws 4] [--epsilon 0.1] [--rows 10000,1000000]
        [--peers DAWA,Hb] [--peer-draws 2] [--seed 1] [--kinds comb,stripes]

Each kind of shape is drawn `--tables` times with other parameters: eight kinds of 4096 cells, nine of 128 × 128. Errors
and methods are those of benchmarks/ranges.py. A line is a kind: the error of the product, and of the best of the others
in each table, geometric means over tables; their ratio; and the largest ratio of a table. The last lines are geometric
means over the kinds of a group. No constant is set on these; of two last candidates for `marginals.box_products`, the
one that was better here and on simulated mechanisms was kept.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent.parent))

from benchmarks.peers.range_methods import ONE_AXIS, SIDE, TWO_AXES, Method
from benchmarks.ranges import mean_errors, ours

__all__ = ["GROUPS", "KINDS", "tables_of"]

CELLS = 4096
Shape = np.ndarray
Random = np.random.Generator


def hills(random: Random, size: int, most: int = 6) -> Shape:
    """Return a smooth line: a few normal heaps of any width, on some ground."""
    x, line = np.arange(size) / size, np.full(size, random.uniform(0.02, 1))
    for _ in range(random.integers(1, most)):
        wide = np.exp(random.uniform(np.log(0.01), np.log(0.5)))
        line += random.gamma(1) * np.exp(-(((x - random.random()) / wide) ** 2)) / wide
    return line


def cuts(random: Random, size: int, pieces: int) -> np.ndarray:
    """Return for each cell of a line the number of its piece; pieces end anywhere."""
    ends = np.sort(random.choice(np.arange(1, size), pieces - 1, replace=False))
    return np.searchsorted(ends, np.arange(size), side="right")


def teeth(random: Random, size: int, least: int, most: int) -> Shape:
    """Return a line of low cells with one high cell in each period, of `least` to `most` cells."""
    period = random.integers(least, most + 1)
    return np.where(np.arange(size) % period == random.integers(period), 1.0, random.uniform(0, 0.3))


def heaped(random: Random, size: int) -> Shape:
    """Return a line heaped on multiples of ten, and less on those of five."""
    x, (tens, fives) = np.arange(size), random.uniform((2, 1), (12, 5))
    return np.where(x % 10 == 0, tens, np.where(x % 5 == 0, fives, 1.0))


# Lines


def steps(random: Random) -> Shape:
    pieces = random.integers(3, 80)
    return random.gamma(random.uniform(0.3, 2), 1, pieces)[cuts(random, CELLS, pieces)]


def comb(random: Random) -> Shape:
    return teeth(random, CELLS, 3, 60) * hills(random, CELLS)


def pattern(random: Random) -> Shape:
    """A few cells that repeat."""
    period = random.integers(2, 40)
    return random.gamma(random.uniform(0.3, 3), 1, period)[np.arange(CELLS) % period] * hills(random, CELLS, 3)


def ages(random: Random) -> Shape:
    return heaped(random, CELLS) * hills(random, CELLS)


def zipf(random: Random) -> Shape:
    line = np.arange(1, CELLS + 1) ** -random.uniform(0.7, 2.5)
    return random.permutation(line) if random.random() < 0.5 else line


def mixture(random: Random) -> Shape:
    return hills(random, CELLS, 20)


def spikes(random: Random) -> Shape:
    """Single cells with 5 to 95 % of all people, on smooth ground."""
    line, part = hills(random, CELLS), random.uniform(0.05, 0.95)
    line *= (1 - part) / line.sum()
    number = int(np.exp(random.uniform(0, np.log(100))))
    line[random.choice(CELLS, number, replace=False)] += part * random.dirichlet(np.full(number, 0.7))
    return line


def rough(random: Random) -> Shape:
    """Return a line with pieces that are rough within."""
    pieces = random.integers(2, 12)
    piece, shape = cuts(random, CELLS, pieces), random.uniform(0.1, 1)
    fine = np.where(random.random(pieces) < 0.5, 0.0, 1.0)[piece]
    return random.gamma(1, 1, pieces)[piece] * np.where(fine > 0, random.gamma(shape, 1 / shape, CELLS), 1.0)


# Squares


def heaps(random: Random) -> Shape:
    """Correlated normal heaps of any width."""
    table, places = np.full((SIDE, SIDE), random.uniform(0, 0.3)), np.stack(np.indices((SIDE, SIDE)), axis=-1) / SIDE
    for _ in range(random.integers(1, 10)):
        turn = np.linalg.qr(random.normal(size=(2, 2)))[0]
        wide = np.exp(random.uniform(np.log(0.01), np.log(0.4), 2))
        table += random.gamma(1) * np.exp(-((((places - random.random(2)) @ turn) / wide) ** 2).sum(axis=-1))
    return table


def blocks(random: Random) -> Shape:
    """Blocks between cuts that lie anywhere, each even."""
    across, down = random.integers(3, 20, 2)
    table = random.gamma(random.uniform(0.2, 1.5), 1, (across, down))
    return table[np.ix_(cuts(random, SIDE, across), cuts(random, SIDE, down))]


def checkerboard(random: Random) -> Shape:
    (x, y), size = np.indices((SIDE, SIDE)), random.integers(3, 33, 2)
    return np.where((x // size[0] + y // size[1]) % 2 == 0, 1.0, random.uniform(0, 0.3))


def stripes(random: Random) -> Shape:
    """Stripes along one axis or both, each of its own width."""
    lines = [
        np.where(np.arange(SIDE) // random.integers(2, 30) % 2 == 0, 1.0, random.uniform(0, 0.4)) for _ in range(2)
    ]
    return np.outer(lines[0], lines[1] if random.random() < 0.7 else np.ones(SIDE))


def amounts(random: Random) -> Shape:
    """Two independent columns of falling amounts, each in some order."""
    lines = [np.arange(1, SIDE + 1) ** -random.uniform(0.5, 2) for _ in range(2)]
    return np.outer(*[random.permutation(line) if random.random() < 0.5 else line for line in lines])


def heaped_pairs(random: Random) -> Shape:
    """Pairs of columns that go together, one or both heaped on fives and tens or on a comb."""
    x, y = np.indices((SIDE, SIDE)) / SIDE
    together = np.exp(-(((x - y * random.uniform(0.3, 1)) / random.uniform(0.05, 0.6)) ** 2)) + 0.02
    one = heaped(random, SIDE) if random.random() < 0.5 else teeth(random, SIDE, 2, 12)
    return together * np.outer(one, heaped(random, SIDE) if random.random() < 0.5 else hills(random, SIDE))


def single_cells(random: Random) -> Shape:
    """Single cells with 5 to 95 % of all people, on ground that is smooth along both axes."""
    table, part = np.outer(hills(random, SIDE), hills(random, SIDE)), random.uniform(0.05, 0.95)
    table *= (1 - part) / table.sum()
    number = int(np.exp(random.uniform(0, np.log(300))))
    flat = random.choice(table.size, number, replace=False)
    table.ravel()[flat] += part * random.dirichlet(np.full(number, 0.7))
    return table


def one_row(random: Random) -> Shape:
    """Nearly all people in one to three rows of cells, rough along them."""
    table = np.outer(hills(random, SIDE), hills(random, SIDE))
    table *= random.uniform(0.005, 0.2) / table.sum()
    for row in random.choice(SIDE, random.integers(1, 4), replace=False):
        line = hills(random, SIDE) * random.gamma(random.uniform(0.2, 3), 1, SIDE)
        table[row] += random.gamma(1) * line / line.sum()
    return table


def curves(random: Random) -> Shape:
    """Rings and waves of a few cells' width."""
    (x, y), table = np.indices((SIDE, SIDE)) / SIDE, np.full((SIDE, SIDE), random.uniform(0, 0.1))
    for _ in range(random.integers(1, 4)):
        wide = random.uniform(0.005, 0.04)
        ring = np.hypot(x - random.random(), y - random.random()) - random.uniform(0.1, 0.6)
        wave = y - 0.5 - random.uniform(0, 0.4) * np.sin(random.uniform(2, 15) * x + 6 * random.random())
        table += np.exp(-(((ring if random.random() < 0.5 else wave) / wide) ** 2))
    return table


EVERY = (
    *(steps, comb, pattern, ages, zipf, mixture, spikes, rough),
    *(heaps, blocks, checkerboard, stripes, amounts, heaped_pairs, single_cells, one_row, curves),
)
KINDS: dict[str, Callable[[Random], Shape]] = {each.__name__: each for each in EVERY}
GROUPS = {
    "lines, smooth or in steps": ("steps", "mixture", "zipf"),
    "lines with fine patterns": ("comb", "pattern", "ages"),
    "lines with single cells": ("spikes", "rough"),
    "squares, smooth or curved": ("heaps", "curves", "amounts"),
    "squares of blocks": ("blocks", "checkerboard", "stripes"),
    "squares with fine patterns": ("heaped_pairs", "single_cells", "one_row"),
}


def tables_of(kind: str, number: int, seed: int) -> list[Shape]:
    """Return the probabilities of `number` tables of a kind; the same ones for the same seed."""
    random = np.random.default_rng([seed, *kind.encode()])
    shapes = (KINDS[kind](random) for _ in range(number))
    return [shape / shape.sum() for shape in shapes]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--tables", type=int, default=4, help="of each kind")
    parser.add_argument("--draws", type=int, default=4)
    parser.add_argument("--epsilon", type=float, default=0.1)
    parser.add_argument("--rows", default="10000,1000000")
    parser.add_argument("--peers", default=",".join({**ONE_AXIS, **TWO_AXES}))
    parser.add_argument("--peer-draws", type=int, help="of the other methods; as many as of this one")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--kinds", default=",".join(KINDS))
    options = parser.parse_args()
    for rows in map(int, options.rows.split(",")):
        print(f"\n{rows:,} rows, ε = {options.epsilon:g}: mean error of a range ÷ rows, × 1000")
        print(f"{'':14}{'this':>12}{'best other':>12}{'ratio':>8}{'worst':>8}")
        ratios: dict[str, np.ndarray] = {}
        for kind in options.kinds.split(","):
            errors = []
            for shape in tables_of(kind, options.tables, options.seed):
                methods: dict[str, Method] = {"this": ours}
                named = (ONE_AXIS if shape.ndim == 1 else TWO_AXES).items()
                methods |= {name: run for name, run in named if name in options.peers.split(",")}
                draws = dict.fromkeys(methods, options.peer_draws or options.draws) | {"this": options.draws}
                found, _ = mean_errors(shape, rows, methods, options.epsilon, draws)
                errors.append([found.pop("this"), min(found.values(), default=np.nan)])
            this, best = np.log(errors).T
            ratios[kind] = this - best
            every = np.exp([this.mean(), best.mean(), ratios[kind].mean(), ratios[kind].max()])
            print(f"{kind:14}{every[0]:12.3f}{every[1]:12.3f}{every[2]:8.2f}{every[3]:8.2f}", flush=True)
        for group, kinds in GROUPS.items():
            if here := [ratios[kind].mean() for kind in kinds if kind in ratios]:
                print(f"{group}: {np.exp(np.mean(here)):.2f}")
        within = np.concatenate([*ratios.values()]) <= np.log(1.15)
        print(f"all kinds: {np.exp(np.mean([each.mean() for each in ratios.values()])):.2f}", end="; ")
        print(f"within 1.15: {within.sum()} of {within.size} tables")


if __name__ == "__main__":
    main()
