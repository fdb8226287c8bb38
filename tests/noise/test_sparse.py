"""The noisy histogram of a universe, drawn by its parts, has exactly the distribution of the whole one.

All possible draws in a tiny universe are enumerated, each with its exact probability, and what is shown is
compared with noise on every key and a threshold: so neither the threshold, nor the keys without people, nor what they
show can be off. The parts themselves are compared with their definitions by their bits.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterator
from decimal import Context, Decimal
from fractions import Fraction
from itertools import combinations, product
from typing import Any

import numpy as np
import pytest
from scipy import stats

from dpengine.array_types import Ints
from dpengine.noise import sparse
from dpengine.noise.sparse import sparse_histogram

DEEP = Context(prec=120)
SCALE, KEYS, LEAST = Fraction(1, 2), 3, 2
A = math.exp(-2)
FAR = 5  # numbers below are compared; those above have little chance, and are lumped together
Shown = tuple[tuple[int, int], ...]


def noise(k: int) -> float:
    return (1 - A) / (1 + A) * A ** abs(k)


def at_least(k: int) -> float:
    return A**k / (1 + A) if k > 0 else 1 - A ** (1 - k) / (1 + A)


def whole(counts: tuple[int, ...]) -> dict[Shown, float]:
    """Return the shown part of a noisy histogram by definition: each key's number from LEAST to FAR, or nothing."""
    each = [{None: 1 - at_least(LEAST - n)} | {v: noise(v - n) for v in range(LEAST, FAR)} for n in counts]
    distribution: dict[Shown, float] = {}
    for numbers in product(*each):
        shown = tuple((place, number) for place, number in enumerate(numbers) if number is not None)
        distribution[shown] = math.prod(law[number] for law, number in zip(each, numbers, strict=True))
    return distribution


class Walk:
    """Replaces the draws of the sampler and enumerates their outcomes with the probability of each.

    These are of the scale and the least number that the sampler was asked for, so it may draw with no others.
    """

    def __init__(self) -> None:
        self.script: list[int] = []
        self.chance = 1.0
        self._open: list[list[int]] = [[]]

    def runs(self) -> Iterator[None]:
        while self._open:
            self.script, self.chance, self._place = self._open.pop(), 1.0, 0
            yield

    def draw(self, law: dict[Any, float]) -> Any:
        """Return one outcome of a distribution, and leave the others for later runs."""
        values = list(law)
        if self._place == len(self.script):
            self._open += [[*self.script, other] for other in range(1, len(values))]
            self.script = [*self.script, 0]
        value = values[self.script[self._place]]
        self._place += 1
        self.chance *= law[value]
        return value

    def noise(self, scale: Fraction, shape: tuple[int, ...]) -> Ints:
        assert scale == SCALE
        law = {k: noise(k) for k in range(-FAR, FAR)} | {-FAR: at_least(FAR), FAR: at_least(FAR)}
        return np.array([self.draw(law) for _ in range(math.prod(shape))], dtype=np.int64)

    def passed(self, keys: int, scale: Fraction, least: int) -> int:
        assert (scale, least) == (SCALE, LEAST)
        q = at_least(least)
        return int(self.draw({k: math.comb(keys, k) * q**k * (1 - q) ** (keys - k) for k in range(keys + 1)}))

    def different(self, keys: int, size: int) -> Ints:
        sets = list(combinations(range(keys), size))
        return np.array(self.draw(dict.fromkeys(sets, 1 / len(sets))), dtype=np.int64)

    def geometric(self, scale: Fraction, size: int) -> Ints:
        assert scale == SCALE
        law = {g: (1 - A) * A**g for g in range(FAR)} | {FAR: A**FAR}
        return np.array([self.draw(law) for _ in range(size)], dtype=np.int64)


def drawn(counts: tuple[int, ...], patch: pytest.MonkeyPatch) -> dict[Shown, float]:
    """Return each possible output of the sampler for these counts, with its probability."""
    walk, distribution = Walk(), defaultdict[Shown, float](float)
    for name, stand_in in {"discrete_laplace": walk.noise, "_number_passed": walk.passed,
                           "_different": walk.different, "_geometric": walk.geometric}.items():  # fmt: skip
        patch.setattr(sparse, name, stand_in)
    occupied = np.flatnonzero(counts)
    for _run in walk.runs():
        places, numbers = sparse_histogram(occupied, np.array(counts)[occupied], KEYS, SCALE, LEAST)
        assert (np.diff(places) > 0).all(), "in the order of the universe"
        distribution[tuple(zip(places.tolist(), numbers.tolist(), strict=True))] += walk.chance
    return distribution


COUNTS = [(0, 0, 0), (0, 3, 0), (1, 0, 2), (0, 1, 4)]


@pytest.mark.parametrize("counts", COUNTS)
def test_what_is_shown_is_the_whole_noisy_histogram_above_the_threshold(
    counts: tuple[int, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    distribution = drawn(counts, monkeypatch)
    for shown, chance in whole(counts).items():
        assert distribution[shown] == pytest.approx(chance, rel=1e-9), shown


def test_no_person_makes_anything_more_likely_by_more_than_epsilon(monkeypatch: pytest.MonkeyPatch) -> None:
    """With one more person in any key, the probability of every output changes by a factor of at most e^ε."""
    furthest = 0.0
    for counts in ((0, 1, 0), (3, 0, 1)):
        here = drawn(counts, monkeypatch)
        for place in range(KEYS):
            there = drawn(tuple(n + (k == place) for k, n in enumerate(counts)), monkeypatch)
            compared = [shown for shown in here if all(number < FAR for _, number in shown)]
            furthest = max(furthest, *(abs(math.log(here[shown] / there[shown])) for shown in compared))
    assert furthest == pytest.approx(1 / SCALE)


def binomial(keys: int, q: Decimal) -> list[Decimal]:
    """The sums of the first probabilities of Binomial(keys, q), as many as matter here."""
    stay, sums = DEEP.subtract(Decimal(1), q), []
    mass = DEEP.power(stay, keys)
    for k in range(min(keys, 6)):
        sums.append(DEEP.add(sums[-1] if sums else Decimal(0), mass))
        mass = DEEP.divide(DEEP.multiply(DEEP.multiply(mass, Decimal(keys - k)), q), DEEP.multiply(stay, k + 1))
    return sums


def words(*answers: int) -> Callable[[int], Any]:
    given = iter(answers)
    return lambda size: np.array([next(given) for _ in range(size)], dtype=np.uint64)


@pytest.mark.parametrize(
    ("keys", "scale", "least"), [(1, "1", 1), (4, "1/2", 2), (99_000, "4", 72), (26**12, "4", 182), (2**62, "3", 130)]
)
def test_how_many_pass_is_decided_at_every_border_by_as_many_bits_as_it_takes(
    keys: int, scale: str, least: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    wide = Fraction(scale)
    a = DEEP.exp(DEEP.divide(Decimal(-wide.denominator), Decimal(wide.numerator)))
    sums = binomial(keys, DEEP.divide(DEEP.power(a, least), DEEP.add(Decimal(1), a)))
    compared = 0
    for border in sums:
        for depth in (64, 128, 192):
            edge = int(DEEP.multiply(border, Decimal(2**depth)))
            if not 0 < edge < 2**depth - 3:
                continue
            for word in (edge - 2, edge + 2):
                wanted = sum(each <= DEEP.divide(Decimal(word), Decimal(2**depth)) for each in sums)
                pieces = [word >> shift & (2**64 - 1) for shift in range(depth - 64, -1, -64)]
                monkeypatch.setattr(sparse, "random_words", words(*pieces))
                assert sparse._number_passed(keys, wide, least) == wanted
                compared += 1
    assert compared >= 6


def test_without_keys_none_passes() -> None:
    assert sparse._number_passed(0, Fraction(1), 1) == 0


def test_places_without_people_are_all_others_each_once() -> None:
    for occupied in ([], [0], [4], [0, 1, 4], [1, 2, 3], [0, 2, 4]):
        numbers = np.arange(5 - len(occupied))
        empty = sparse._without_people(numbers, np.array(occupied, dtype=np.int64)).tolist()
        assert empty == [place for place in range(5) if place not in occupied]


def test_sets_of_places_are_equally_likely() -> None:
    sets = list(combinations(range(5), 3))
    seen = [sets.index(tuple(sparse._different(5, 3).tolist())) for _ in range(3000)]
    assert stats.chisquare(np.bincount(seen, minlength=len(sets))).pvalue > 1e-9


def test_numbers_of_keys_without_people_are_geometric() -> None:
    a, numbers = math.exp(-1 / 3), sparse._geometric(Fraction(3), 50_000)
    law = [(1 - a) * a**g for g in range(20)]
    seen = np.bincount(np.minimum(numbers, 20), minlength=21)
    assert stats.chisquare(seen, 50_000 * np.array([*law, 1 - sum(law)])).pvalue > 1e-9
    assert sparse._geometric(Fraction(3), 0).size == 0


def test_a_universe_that_cannot_be_is_refused() -> None:
    none = np.empty(0, dtype=np.int64)
    for keys, least in ((0, 5), (2**62 + 1, 5), (10, 0)):
        with pytest.raises(ValueError, match="universe"):
            sparse_histogram(none, none, keys, Fraction(1), least)


def test_a_huge_universe_costs_what_is_found() -> None:
    places, numbers = sparse_histogram(np.array([5, 2**61]), np.array([500, 1]), 2**62, Fraction(1), 80)
    assert places.tolist() == [5], "false alarm below 1e-15"
    assert abs(numbers[0] - 500) < 60
