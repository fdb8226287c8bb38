"""How many pairs are measured: as many as gain most, and all at once where the strongest say that all are worth it."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest

from dpengine.measure.how_many_pairs import NOISE_OF_A_PICK, all_pairs_gain, later_picks
from dpengine.measure.pair_selection import Candidate
from dpengine.measure.workload import Run, Workload


def test_as_many_pairs_are_picked_as_gain_most() -> None:
    """More if the model is more wrong or noise is smaller, until another pair would add more noise than it corrects.

    Of 100 pairs of nine large cells each, of which the worst K are wrong by K·(1 + ln(100/K)) times the mean.
    """
    flat = np.full((3, 3), 10_000)
    pairs = [Candidate((f"a{k}", f"b{k}"), (), flat, flat.astype(float)) for k in range(100)]

    def gain(picks: int, wrong: float, scale: float) -> float:
        noise = (9 * NOISE_OF_A_PICK[0] + NOISE_OF_A_PICK[1]) * picks * scale
        return picks * ((1 + np.log(100 / picks)) * wrong - noise)

    numbers = []
    for wrong, scale in [(300, 1), (1000, 1), (3000, 1), (3000, 0.3), (90_000, 0.3)]:
        run = Run(Workload({}, []), {}, Fraction(1), 1)
        picks, most = later_picks(run, pairs, wrong, round(10**6 / scale))
        assert most == pytest.approx(gain(picks, wrong, scale), rel=1e-4)
        assert most >= 0.999 * max(gain(each, wrong, scale) for each in range(1, 101))
        numbers.append(picks)
    assert numbers == sorted(set(numbers))
    assert 1 < numbers[0] < 30
    assert numbers[-1] > 90
    assert later_picks(run, pairs, -5.0, 10**6)[0] == 1


def test_all_pairs_are_measured_at_once_where_the_strongest_gain_much_beside_the_noise_of_all() -> None:
    """Six pairs of 100 cells have noise of 600 cells each in all, at ε = 1: of 3,600 rows, of which 0.33 are needed.

    Three of them are asked about, whatever their number. Where the question was not asked, nothing is known.
    """
    run = Run(Workload(dict.fromkeys("abcd", 10), [*combinations("abcd", 2)]), {}, Fraction(1), 1)
    assert [all_pairs_gain(run, asked, 1100 / 3 * each, 700.0) for asked, each in ((3, 1), (9, 1), (9, 1.2))] == [
        False, False, True,
    ]  # fmt: skip
    assert not all_pairs_gain(run, 2, 1.2 * 1100 / 3, 700.0), "two gain less than three"
    assert [all_pairs_gain(run, 3, 400.0 * part, 250.0 * part) for part in (0.2, 0.3)] == [False, True], "mostly empty"
    assert not all_pairs_gain(run, 3, math.inf, 700.0)
    run.left //= 2
    assert not all_pairs_gain(run, 3, 1.2 * 1100 / 3, 700.0), "twice the noise"


@pytest.mark.parametrize(
    ("pairs", "weights"),
    [([("a", "b")], {}), ([*combinations("abcd", 2)][:-1], {}), ([*combinations("abcd", 2)], {("a",): Fraction(1, 4)})],
    ids=["columns without a pair", "a pair that nobody asked for", "more important tables"],
)
def test_columns_keep_their_part_of_epsilon_where_pairs_do_not_tell_all_of_them(
    pairs: list[tuple[str, str]], weights: dict[tuple[str, ...], Fraction]
) -> None:
    """A column without a pair would have 3 % of ε: errors were seven times as large."""
    run = Run(Workload(dict.fromkeys("abcd", 10), pairs, weights=weights), {}, Fraction(1), 1)
    assert not all_pairs_gain(run, 3, 650.0, 700.0)
    run.workload = Workload(run.workload.sizes, [*combinations("abcd", 2)])
    assert all_pairs_gain(run, 3, 650.0, 700.0)
