"""Experts to learn from: a simulated market, real share prices, or anybody's table of losses.

A lesson: the simulation has a seed, so that everybody sees the same market, and nothing here is published.
"""

from __future__ import annotations

import io
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dpengine.errors import TableError

__all__ = ["MAX_LOSSES", "Market", "shares", "simulated", "uploaded"]

MAX_LOSSES = 500_000
MAX_BYTES = 20_000_000


@dataclass(frozen=True, slots=True)
class Market:
    """Names of the experts and their losses, a row a round and a column an expert; ``round`` names a round."""

    names: tuple[str, ...]
    losses: npt.NDArray[np.float64]
    round: str
    story: str


def simulated(days: int = 5000, experts: int = 8, seed: int = 20) -> Market:
    """Experts who call every day whether the market will rise: a loss of 1 where the call is wrong, else 0.

    Expert i is right with probability 0.42 + 0.24·i/(k − 1), but on two days in ten all say what most of the
    newspapers say, and are right or wrong together with probability one half. PCG64 with ``seed`` draws the days.
    """
    chance = np.random.default_rng(seed)
    alone = chance.random((days, experts)) >= np.linspace(0.42, 0.66, experts)
    together = chance.random(days) < 0.2
    alone[together] = (chance.random(days) < 0.5)[together, None]
    order = chance.permutation(experts)  # the best is not the last one
    names = tuple(f"Expert {letter}" for letter in "ABCDEFGHIJKLMNOPQRSTUVWXYZ"[:experts])
    return Market(
        names,
        alone[:, order].astype(np.float64),
        "day",
        f"A simulated market: {experts} experts call each of {days:,} days, and lose 1 where they are wrong. "
        "The best is right on 62 days in 100, the worst on 43.",
    )


def shares(reach: float = 0.10) -> Market:
    """Six technology shares, by the week, 2018 to 2019; an expert always holds one of them.

    The prices are those that come with plotly (``plotly.data.stocks``). A week's loss is (1 − r/``reach``)/2, where
    r is the change of the price within ±``reach``: ½ for none, 0 for a rise of ``reach`` or more.
    """
    from plotly.data import stocks

    prices = stocks().drop(columns="date")
    change = prices.to_numpy()[1:] / prices.to_numpy()[:-1] - 1
    return Market(
        tuple(map(str, prices.columns)),
        (1 - np.clip(change, -reach, reach) / reach) / 2,
        "week",
        f"Real prices of six shares in {len(change)} weeks of 2018 and 2019, as they come with plotly. An expert holds "
        f"one; a week that leaves its price as it was costs ½, one that adds {100 * reach:g} % or more costs 0.",
    )


def uploaded(content: bytes) -> Market:
    """A CSV file with a header: a column an expert, a row a round, losses from 0 to 1.

    A first column that holds no numbers names the rounds and is left out. What the numbers are is not looked at
    here. Raises `TableError` where it cannot be read, or is larger than the page can take.
    """
    import pandas as pd

    if len(content) > MAX_BYTES:
        raise TableError(f"the file is larger than {MAX_BYTES // 10**6} MB; the library takes more")
    try:
        frame = pd.read_csv(io.BytesIO(content), skipinitialspace=True)
    except (ValueError, UnicodeError) as error:  # also a parser's and an empty file's
        raise TableError("this is no CSV file with a header: a column an expert, a row a round") from error
    if frame.empty:
        raise TableError("the file holds no rounds: a row a round is wanted below the header")
    if not pd.api.types.is_numeric_dtype(frame.iloc[:, 0]):
        frame = frame.iloc[:, 1:]
    if frame.size > MAX_LOSSES:
        raise TableError(f"there are more than {MAX_LOSSES:,} losses, which this page can take; the library takes more")
    wrong = [k for k, kind in enumerate(frame.dtypes, 1) if not pd.api.types.is_numeric_dtype(kind)]
    if wrong:
        raise TableError(f"column {wrong[0]} of the experts holds something that is no number")
    names = tuple(str(name) for name in frame.columns)
    story = f"Your table: {frame.shape[1]} experts, {len(frame):,} rounds. It is read here and not kept."
    return Market(names, frame.to_numpy(dtype=np.float64), "round", story)
