"""The one function that adds noise: each call adds a fresh draw of the scale that it is given."""

from __future__ import annotations

import hashlib
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest

from dpengine import Plan
from dpengine.mechanisms.scalar_queries import add_noise
from dpengine.noise import laplace
from dpengine.noise.laplace import discrete_laplace, perturb
from tests.replay import recorded

SCALES = [Fraction(3), Fraction(1, 2), Fraction(40)]


class Streams:
    """Prepared bit sources: the k-th one that is opened gives the same bits in every test."""

    def __init__(self) -> None:
        self.opened = 0

    def __call__(self) -> Any:
        label = self.opened.to_bytes(4, "big")
        self.opened += 1
        blocks = iter(range(10**9))

        def fill(buffer: np.ndarray) -> None:
            octets = hashlib.shake_256(label + next(blocks).to_bytes(8, "big")).digest(buffer.nbytes)
            buffer.reshape(-1).view(np.uint8)[:] = np.frombuffer(octets, dtype=np.uint8)

        return fill


@pytest.fixture
def streams(monkeypatch: pytest.MonkeyPatch) -> Streams:
    opened = Streams()
    monkeypatch.setattr(laplace, "keystream", opened)
    return opened


@pytest.mark.parametrize("shape", [(7,), (2, 3), ()])
@pytest.mark.parametrize("scale", SCALES)
def test_noise_is_a_draw_of_that_scale_and_shape(scale: Fraction, shape: tuple[int, ...], streams: Streams) -> None:
    exact = np.asarray(np.arange(np.prod(shape, dtype=int)).reshape(shape) * 1000)
    noise = perturb(exact, scale) - exact
    streams.opened = 0
    assert (noise == discrete_laplace(scale, shape)).all()


def test_every_call_draws_afresh_also_for_the_same_scale_and_shape(streams: Streams) -> None:
    exact = np.zeros((4, 5), dtype=np.int64)
    noise = [perturb(exact, 20) for _ in range(6)]
    assert streams.opened == 6, "a source of bits of its own each time"
    assert len({each.tobytes() for each in noise}) == 6
    streams.opened = 0
    assert all((each == discrete_laplace(20, exact.shape)).all() for each in noise)


def test_the_two_numbers_of_an_average_get_noise_of_their_own(streams: Streams) -> None:
    first, second = add_noise([10**30, -(10**30)], Fraction(50))
    streams.opened = 0
    noise = discrete_laplace(50, 2).tolist()
    assert [first - 10**30, second + 10**30] == noise
    assert noise[0] != noise[1]


@pytest.mark.parametrize("strategy", ["direct", "adaptive"])
def test_a_release_opens_one_source_of_bits_for_every_table_that_gets_noise(strategy: str, streams: Streams) -> None:
    names = list("abcd")
    columns = [{"name": name, "kind": "yesno"} for name in names]  # tables of one shape, all of them
    plan = Plan(dataset="toy", epsilon="1", columns=columns, tables={"each": 2}, strategy=strategy)
    people = pd.DataFrame([["yes", "no", "no", "yes"]] * 30, columns=names)
    tape = recorded(people, plan)
    drawn = [draw for draw in tape.draws if draw.kind == "noise"]
    assert streams.opened == len(drawn) >= (1 if strategy == "direct" else 5)
