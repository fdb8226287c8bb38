"""Write simulated tables of kinds that the bank of public tables lacks, for `bank.py`.

    python benchmarks/bank_simulated.py simulated
    python benchmarks/bank.py simulated --expected --draws 3 --tables independent,one_decides,wide,two,large,unequal
    python benchmarks/bank.py simulated --expected --draws 3 --tables constant,one_pair

Each has a fixed seed. Numbers are normal variables of given correlation, in cells of equal width unless said otherwise.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

SIZES = [2, 3, 4, 5, 6, 8, 10, 12, 15, 20, 30, 40]

Table = tuple[list[np.ndarray], list[int]]


def independent(chance: np.random.Generator) -> Table:
    """Simulate twelve independent columns, 20,000 people."""
    return [_category(chance, 20_000, size) for size in SIZES], SIZES


def one_decides(chance: np.random.Generator) -> Table:
    """Simulate a column of twenty values that decides ten others, 20,000 people."""
    first = _category(chance, 20_000, 20, even=0.8)
    others = SIZES[:-2]
    return [first, *(chance.permutation(20)[first] * size // 20 for size in others)], [20, *others]


def wide(chance: np.random.Generator) -> Table:
    """Simulate sixty columns of equally frequent values that follow three factors, 1,000 people."""
    sizes = [2, 3, 4, 5, 7, 10] * 10
    numbers = 0.6 * chance.normal(size=(1_000, 3)) @ chance.normal(size=(3, 60)) + chance.normal(size=(1_000, 60))
    ranks = numbers.argsort(axis=0).argsort(axis=0)
    return [ranks[:, k] * size // 1_000 for k, size in enumerate(sizes)], sizes


def two(chance: np.random.Generator) -> Table:
    """Simulate two columns, 20,000 people."""
    common = chance.normal(size=20_000)
    return [_width(common, 30), _width(0.6 * common + 0.8 * chance.normal(size=20_000), 40)], [30, 40]


def large(chance: np.random.Generator) -> Table:
    """Simulate eight columns of 75 values, a million people."""
    common, parts = chance.normal(size=10**6), (0.9, 0.7, 0.5, 0.3, 0.1, 0.0, 0.8, 0.6)
    return [_width(part * common + (1 - part**2) ** 0.5 * chance.normal(size=10**6), 75) for part in parts], [75] * 8


def unequal(chance: np.random.Generator) -> Table:
    """Simulate two columns of 500 values beside five small ones, 10,000 people."""
    number = chance.normal(size=10_000)
    columns = [
        (number > 0).astype(np.int64),
        (number + chance.normal(size=10_000) > 0.5).astype(np.int64),
        _width(number + 0.5 * chance.normal(size=10_000), 500),
        np.minimum(5 * chance.pareto(1.2, 10_000), 499).astype(np.int64),
        *(_category(chance, 10_000, size) for size in (2, 3)),
        _width(number + 2 * chance.normal(size=10_000), 10),
    ]
    return columns, [2, 2, 500, 500, 2, 3, 10]


def constant(chance: np.random.Generator) -> Table:
    """Simulate a column of four values, only one of which occurs, beside six others, 20,000 people."""
    common, sizes = chance.normal(size=20_000), [5, 8, 12, 20, 6, 4]
    others = [_width(0.5 * common + 0.9 * chance.normal(size=20_000), size) for size in sizes]
    return [np.zeros(20_000, dtype=np.int64), *others], [4, *sizes]


def one_pair(chance: np.random.Generator) -> Table:
    """Simulate two columns that are nearly the same beside 28 independent ones, 20,000 people."""
    first, sizes = _category(chance, 20_000, 12), chance.integers(2, 15, 28).tolist()
    second = np.where(chance.random(20_000) < 0.95, first, _category(chance, 20_000, 12))
    return [first, second, *(_category(chance, 20_000, size) for size in sizes)], [12, 12, *sizes]


def _category(chance: np.random.Generator, rows: int, size: int, even: float = 1.0) -> np.ndarray:
    return chance.choice(size, rows, p=chance.dirichlet(np.full(size, even)))


def _width(numbers: np.ndarray, size: int) -> np.ndarray:
    low, high = numbers.min(), numbers.max()
    return np.minimum((numbers - low) / (high - low) * size, size - 1).astype(np.int64)


def main() -> None:
    """Write one file for each kind of table."""
    folder = Path(sys.argv[1])
    folder.mkdir(exist_ok=True)
    for kind in (independent, one_decides, wide, two, large, unequal, constant, one_pair):
        columns, sizes = kind(np.random.default_rng(34))
        np.savez_compressed(folder / f"{kind.__name__}.npz", codes=np.stack(columns, axis=1), sizes=np.array(sizes))


if __name__ == "__main__":
    main()
