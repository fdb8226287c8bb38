"""Markets are the same for everybody, have losses from 0 to 1, and are as described."""

from __future__ import annotations

import numpy as np
import pytest

from dpengine.errors import TableError
from dpengine.lessons.market import MAX_LOSSES, read_losses, share_prices, simulated_market
from dpengine.mechanisms.online_learning import on_grid


def test_the_simulated_market_is_reproducible_and_as_described() -> None:
    market = simulated_market()
    assert (market.losses == simulated_market().losses).all()
    assert market.losses.shape == (5000, 8) == (5000, len(market.names))
    assert set(np.unique(market.losses)) == {0.0, 1.0}
    wrong = market.losses.mean(axis=0)
    assert wrong.min() == pytest.approx(0.378, abs=0.001)
    assert wrong.max() == pytest.approx(0.572, abs=0.001)
    assert (simulated_market(seed=21).losses != market.losses).any(), "another seed is another market"


def test_the_shares_are_real_prices_scaled_to_losses() -> None:
    market = share_prices()
    assert market.names == ("GOOG", "AAPL", "AMZN", "FB", "NFLX", "MSFT")
    assert market.losses.shape == (104, 6)
    assert market.losses[0, 0] == pytest.approx((1 - 0.018172 / 0.1) / 2, abs=1e-4)
    assert on_grid(market.losses).shape == (104, 6)


@pytest.mark.parametrize(
    "text", ["a,b\n0,1\n0.5,1\n", "day,a,b\nMon,0,1\nTue,0.5,1\n", "day, a, b\n2026-01-01, 0, 1\n2026-01-02, 0.5, 1\n"]
)
def test_a_table_is_read_and_names_of_rounds_are_left_out(text: str) -> None:
    market = read_losses(text.encode())
    assert market.names == ("a", "b")
    assert market.losses.tolist() == [[0, 1], [0.5, 1]]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "no CSV"),
        (b"\xff\xfe\x00\x81", "no CSV"),
        (b'a,b\n"0,1', "no CSV"),
        (b"a,b\n0,1,2,3\n0\n1,2,3,4,5", "no CSV"),
        (b"a,b\n0,secret\n1,1\n", "column 2 of the experts"),
        (b"a,b\n" + b"0,1\n" * (MAX_LOSSES // 2 + 1), "more than"),
    ],
)
def test_a_file_that_is_no_table_is_refused_without_quoting_it(content: bytes, said: str) -> None:
    with pytest.raises(TableError, match=said) as refused:
        read_losses(content)
    assert "secret" not in str(refused.value)


def test_a_table_of_names_alone_has_no_experts() -> None:
    with pytest.raises(TableError, match="two experts"):
        on_grid(read_losses(b"day\nMon\nTue\n").losses)
    with pytest.raises(TableError, match="missing"):
        on_grid(read_losses(b"a,b\n0,1\n1,\n").losses)
