"""Experts to learn from: a simulated market, real share prices, or an uploaded table of losses.

The simulation has a seed, so that everybody sees the same market; nothing here is published.
"""

from __future__ import annotations

import io
from dataclasses import dataclass

import numpy as np

from dpengine.array_types import Floats
from dpengine.errors import TableError

__all__ = ["MAX_LOSSES", "Market", "read_losses", "share_prices", "simulated_market"]

MAX_LOSSES = 500_000
MAX_BYTES = 20_000_000


@dataclass(frozen=True, slots=True)
class Market:
    """Losses from 0 to 1, one row a round and one column an expert, with the experts' names.

    `round` is what a round is called, such as "day"; `story` introduces the market to a reader.
    """

    names: tuple[str, ...]
    losses: Floats
    round: str
    story: str


def simulated_market(days: int = 5000, experts: int = 8, seed: int = 20) -> Market:
    """Simulate experts who predict every day whether the market rises: a loss of 1 for a wrong prediction, else 0.

    Expert i is right with probability 0.42 + 0.24·i/(k − 1). On two days in ten all repeat the newspapers instead, and
    are right or wrong together with probability one half. PCG64 with `seed` draws the days.

    >>> simulated_market(days=3, experts=2).names
    ('Expert A', 'Expert B')
    """
    rng = np.random.default_rng(seed)
    wrong = rng.random((days, experts)) >= np.linspace(0.42, 0.66, experts)
    together = rng.random(days) < 0.2
    wrong[together] = (rng.random(days) < 0.5)[together, None]
    order = rng.permutation(experts)  # so that the best is not the last one
    names = tuple(f"Expert {letter}" for letter in "ABCDEFGHIJKLMNOPQRSTUVWXYZ"[:experts])
    return Market(
        names,
        wrong[:, order].astype(np.float64),
        "day",
        f"A simulated market: {experts} experts make a prediction on each of {days:,} days, and lose 1 when they are "
        "wrong. The best is right on 62 days in 100, the worst on 43.",
    )


def share_prices(max_change: float = 0.10) -> Market:
    """Return six technology shares, weekly, 2018 to 2019; each expert always holds one of them.

    The prices are those that come with plotly (`plotly.data.stocks`). A week's loss is (1 − r/`max_change`)/2, with r
    the price change clipped to ±`max_change`: ½ for no change, 0 for a rise of `max_change` or more.
    """
    from plotly.data import stocks

    prices = stocks().drop(columns="date")
    change = prices.to_numpy()[1:] / prices.to_numpy()[:-1] - 1
    return Market(
        tuple(map(str, prices.columns)),
        (1 - np.clip(change, -max_change, max_change) / max_change) / 2,
        "week",
        f"Real prices of six shares in {len(change)} weeks of 2018 and 2019, as they come with plotly. Each expert "
        f"holds one share. A week in which its price stays the same costs ½; a rise of {100 * max_change:g} % or more "
        "costs 0.",
    )


def read_losses(content: bytes) -> Market:
    """Read a CSV file with a header: one column an expert, one row a round, losses from 0 to 1.

    A first column without numbers names the rounds and is left out. That losses lie within 0 and 1 is not checked
    here. Raises `TableError` if the file cannot be read, or is larger than the page can take.
    """
    import pandas as pd

    if len(content) > MAX_BYTES:
        raise TableError(
            f"the file is larger than {MAX_BYTES // 10**6} MB, the limit of this page; the library has none"
        )
    try:
        frame = pd.read_csv(io.BytesIO(content), skipinitialspace=True)
    except (ValueError, UnicodeError) as error:  # also a parser's and an empty file's
        raise TableError("this is no CSV file with a header, a column an expert and a row a round") from error
    if frame.empty:
        raise TableError("the file holds no rounds: add one row for each round below the header")
    if not pd.api.types.is_numeric_dtype(frame.iloc[:, 0]):
        frame = frame.iloc[:, 1:]
    if frame.size > MAX_LOSSES:
        raise TableError(f"there are more than {MAX_LOSSES:,} losses, the limit of this page; the library has none")
    wrong = [k for k, kind in enumerate(frame.dtypes, 1) if not pd.api.types.is_numeric_dtype(kind)]
    if wrong:
        raise TableError(f"column {wrong[0]} of the experts holds something that is no number")
    names = tuple(str(name) for name in frame.columns)
    story = f"Your table: {frame.shape[1]} experts, {len(frame):,} rounds. It is read here and not stored."
    return Market(names, frame.to_numpy(dtype=np.float64), "round", story)
