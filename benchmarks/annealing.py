"""Find by long simulated annealing how near whole counts of tables of three columns can come to the truth.

    python benchmarks/annealing.py bank/Kakadu.npz [--epsilon 10] [--sweeps 100] [--from 1.6] [--to 0.05]

Single values of the engine's rows are drawn afresh, a few rows at a time, with probabilities exp(−change of the
objective / temperature), while the temperature falls (Kirkpatrick et al. 1983). The objective is that of the end of
`dpengine.synthesis.by_columns`. Prints the error as a multiple of that of the estimates, first of the engine's rows.
"""

from __future__ import annotations

import argparse
import sys
import time
from itertools import combinations
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent.parent))

from benchmarks.accuracy import SOURCES, Coded, counts, of_bank, plan_of
from dpengine.estimate.estimates import derive_estimates
from dpengine.estimate.moves import Tables
from dpengine.measure.strategy import decide
from dpengine.synthesis.by_columns import BELOW_MEAN, LIMIT, POWER
from dpengine.synthesis.generate_rows import generate_rows

AT_ONCE = 4  # rows
chance = np.random.default_rng(1)


def sweep(places: np.ndarray, shape: list[int], tables: Tables, temperature: float) -> None:
    """Draw each value of each row afresh; `places` and the prices in `tables` are updated."""
    for batch in np.array_split(chance.permutation(places.shape[1]), max(1, places.shape[1] // AT_ONCE)):
        people = places[:, batch]
        for column, size in enumerate(shape):
            some, apart = tables.having(column)
            cells, own = tables.cells(people, some), people[column]
            first, along = cells - apart * own, apart * np.arange(size)
            cost = tables.up_to_limit(tables.price.take(first[:, :, None] + along[:, None])).sum(axis=0)
            leaving = tables.up_to_limit(tables.price.take(cells) - tables.cell_weights.take(cells)).sum(axis=0)
            cost[np.arange(own.size), own] = leaving
            drawn = (cost - temperature * chance.gumbel(size=cost.shape)).argmin(axis=1)
            now = first + apart * drawn
            np.subtract.at(tables.price, cells, tables.cell_weights.take(cells))
            np.add.at(tables.price, now, tables.cell_weights.take(now))
            people[column] = drawn
        places[:, batch] = people


def anneal(coded: Coded, epsilon: str, sweeps: int, hot: float, cold: float) -> None:
    """Print the errors of rows while they are annealed."""
    codes, sizes = coded
    way = decide(plan_of(sizes, epsilon, 3, len(codes)))
    measured = way.measure(lambda wanted: [counts(codes, sizes, t) if t else np.array(len(codes)) for t in wanted])
    model = derive_estimates(way.plan, measured).fitted
    places = generate_rows(model, round(model.total), list(way.plan.marginals))[0].astype(np.int64)
    names = list(model.one_way)
    shape = [model.one_way[name].size for name in names]
    triples = list(combinations(names, 3))
    truth = [counts(codes, sizes, triple) for triple in triples]
    expected = [model.table(triple) for triple in triples]
    rounded = dict(zip(names, places, strict=True))
    tables = Tables.over(list(combinations(range(len(names)), 3)), shape, LIMIT)

    def held(triple: tuple[str, ...]) -> np.ndarray:
        return counts(np.stack([rounded[name] for name in sizes], axis=1), sizes, triple)

    def error() -> float:
        return sum(float(np.abs(held(t) - exact).sum()) for t, exact in zip(triples, truth, strict=True))

    estimates = sum(float(np.abs(one - exact).sum()) for one, exact in zip(expected, truth, strict=True))
    for k, (triple, wanted) in enumerate(zip(triples, expected, strict=True)):
        tables.fill(k, held(triple) - wanted + BELOW_MEAN, wanted, POWER)
    print(f"rows of the engine: {error() / estimates:.4f}", flush=True)
    start = time.process_time()
    for number in range(sweeps):
        sweep(places, shape, tables, hot * (cold / hot) ** (number / max(1, sweeps - 1)))
        if (number + 1) % 10 == 0:
            seconds = time.process_time() - start
            print(f"after {number + 1} sweeps, {seconds:.0f} s: {error() / estimates:.4f}", flush=True)


def main() -> None:
    """Read the arguments and anneal."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("table", help="a table of benchmarks/accuracy.py, or a path to one of the bank")
    parser.add_argument("--epsilon", default="10")
    parser.add_argument("--sweeps", type=int, default=100)
    parser.add_argument("--from", type=float, default=1.6, dest="hot")
    parser.add_argument("--to", type=float, default=0.05, dest="cold")
    asked = parser.parse_args()
    source = SOURCES[asked.table]() if asked.table in SOURCES else of_bank(Path(asked.table))
    anneal(source, asked.epsilon, asked.sweeps, asked.hot, asked.cold)


if __name__ == "__main__":
    main()
