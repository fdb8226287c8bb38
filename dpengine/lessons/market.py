"""Losses of experts to learn from: a simulated market, real share prices, or an uploaded table.

The simulation has a seed, so that everybody sees the same market; nothing here is published.
"""

from __future__ import annotations

import io
from dataclasses import dataclass

import numpy as np

from dpengine.array_types import Floats
from dpengine.errors import TableError
from dpengine.translation.catalogue import _, mark, number

__all__ = ["MAX_LOSSES", "Market", "read_losses", "share_prices", "simulated_market"]

MAX_LOSSES = 500_000
MAX_BYTES = 20_000_000
DAYS, EXPERTS = 5000, 8  # of the simulated market
MAX_CHANGE = 0.10  # of a share price in a week; larger changes count as this one


@dataclass(frozen=True, slots=True)
class Market:
    """Losses from 0 to 1, one row a round and one column an expert, with the experts' names.

    `round` is what a round is called, such as "day"; `story` introduces the market to a reader.
    """

    names: tuple[str, ...]
    losses: Floats
    round: str
    story: str


def simulated_market(seed: int = 20) -> Market:
    """Simulate experts who predict every day whether the market rises: a loss of 1 for a wrong prediction, else 0.

    Expert i of k is right with probability 0.42 + 0.24·i/(k − 1). On two days in ten all repeat the newspapers instead,
    and are right or wrong together with probability one half.

    >>> market = simulated_market()
    >>> market.names[:2], market.losses.shape
    (('Expert A', 'Expert B'), (5000, 8))
    """
    rng = np.random.default_rng(seed)
    wrong = rng.random((DAYS, EXPERTS)) >= np.linspace(0.42, 0.66, EXPERTS)
    together = rng.random(DAYS) < 0.2
    wrong[together] = (rng.random(DAYS) < 0.5)[together, None]
    order = rng.permutation(EXPERTS)  # so that the best is not the last one
    return Market(
        tuple(_("Expert {letter}", letter=letter) for letter in "ABCDEFGH"),
        wrong[:, order].astype(np.float64),
        mark("day"),
        _(
            "A simulated market: {experts} experts make a prediction on each of {days} days, and lose 1 when they are "
            "wrong. The best is right on 62 days in 100, the worst on 43.",
            experts=EXPERTS,
            days=number(DAYS),
        ),
    )


def share_prices() -> Market:
    """Return six technology shares, weekly, 2018 to 2019; each expert always holds one of them.

    The prices come with plotly (`plotly.data.stocks`). A week's loss is (1 − r/`MAX_CHANGE`)/2, with r the price change
    clipped to ±`MAX_CHANGE`: ½ for no change, 0 for a rise of `MAX_CHANGE` or more.
    """
    from plotly.data import stocks

    prices = stocks().drop(columns="date")
    change = prices.to_numpy()[1:] / prices.to_numpy()[:-1] - 1
    return Market(
        tuple(map(str, prices.columns)),
        (1 - np.clip(change, -MAX_CHANGE, MAX_CHANGE) / MAX_CHANGE) / 2,
        mark("week"),
        _(
            "Real prices of six shares in {weeks} weeks of 2018 and 2019, as they come with plotly. Each expert holds "
            "one share. A week in which its price stays the same costs ½; a rise of {rise} % or more costs 0.",
            weeks=len(change),
            rise=number(100 * MAX_CHANGE, "g"),
        ),
    )


def read_losses(content: bytes) -> Market:
    """Read a CSV file with a header: one column for each expert, one row for each round, losses from 0 to 1.

    A first column without numbers names the rounds and is left out. `online_learning.on_grid` checks the range of
    losses. Raises `TableError` if the file cannot be read, or is larger than the page allows.
    """
    import pandas as pd

    if len(content) > MAX_BYTES:
        raise TableError(
            _(
                "the file is larger than {most} MB, the limit of this page; the library has none",
                most=MAX_BYTES // 10**6,
            )
        )
    try:
        frame = pd.read_csv(io.BytesIO(content), skipinitialspace=True)
    except ValueError as error:  # also of a parser, of an empty file, of text in another encoding
        raise TableError(
            _("this is no CSV file with a header, a column for each expert and a row for each round")
        ) from error
    if frame.empty:
        raise TableError(_("the file holds no rounds: add one row for each round below the header"))
    if not pd.api.types.is_numeric_dtype(frame.iloc[:, 0]):
        frame = frame.iloc[:, 1:]
    if frame.size > MAX_LOSSES:
        raise TableError(
            _(
                "there are more than {most} losses, the limit of this page; the library has none",
                most=number(MAX_LOSSES),
            )
        )
    wrong = [k for k, dtype in enumerate(frame.dtypes, 1) if not pd.api.types.is_numeric_dtype(dtype)]
    if wrong:
        raise TableError(_("column {k} of the experts holds something that is no number", k=wrong[0]))
    names = tuple(str(name) for name in frame.columns)
    story = _(
        "Your table: {experts} experts, {rounds} rounds. It is read here and not stored.",
        experts=frame.shape[1],
        rounds=number(len(frame)),
    )
    return Market(names, frame.to_numpy(dtype=np.float64), mark("round"), story)
