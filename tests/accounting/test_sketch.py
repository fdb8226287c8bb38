"""Recognising tables of the same people: false alarms are as rare as stated, and copies are nearly always found."""

from __future__ import annotations

import itertools
import math
from collections import Counter

import numpy as np
import pytest

from dpengine.accounting import sketch
from dpengine.accounting.recognition import sealed
from dpengine.accounting.sketch import BINS, FALSE_ALARM, ROWS, VALUES, Histogram, Sketch, chance, resemblance
from dpengine.array_types import Ints
from dpengine.counting import fingerprint


def histogram(counts: list[int]) -> Ints:
    return np.array(counts + [0] * (BINS - len(counts)), dtype=np.int64)


def shared_rows(rng: np.random.Generator, mean: float, overlap: float, bins: int = BINS) -> tuple[Ints, Ints]:
    """Two tables of about `mean` rows a bin, of which the part `overlap` is in both."""
    both = rng.poisson(mean * overlap, bins)
    return tuple(histogram((both + rng.poisson(mean * (1 - overlap), bins)).tolist()) for _ in range(2))  # type: ignore[return-value]


@pytest.mark.parametrize(
    ("sums", "rows"), [((2, 2, 2), 3), ((6, 6), 6), ((1, 2, 3, 5), 4), ((9, 1), 5), ((7, 7, 7), 8)]
)
def test_the_chance_is_never_below_that_of_all_divisions_of_the_same_rows(sums: tuple[int, ...], rows: int) -> None:
    """Enumerate every division of the rows into two tables: the exact distribution of the statistic."""
    ways: Counter[float] = Counter()
    bounds: dict[float, float] = {}
    for counts in itertools.product(*(range(total + 1) for total in sums)):
        if sum(counts) != rows:
            continue
        one = histogram(list(counts))
        other = histogram([total - mine for total, mine in zip(sums, counts, strict=True)])
        distance = round(sketch._distance(one, other), 9)
        ways[distance] += math.prod(math.comb(total, mine) for total, mine in zip(sums, counts, strict=True))
        bounds[distance] = chance(one, other)
    every, met = sum(ways.values()), 0
    assert every == math.comb(sum(sums), rows)
    for distance in sorted(ways):
        met += ways[distance]
        assert met / every <= bounds[distance] * (1 + 1e-9)


@pytest.mark.parametrize("size", [65, 100, 1_000, 20_000])
@pytest.mark.parametrize("part", [0.5, 0.45, 0.1, 0.01, 0.001])
def test_large_bins_are_bounded_by_the_local_limit(size: int, part: float) -> None:
    counts = np.arange(size + 1)
    logs = np.array([sketch._log_binomial(size, count, part) for count in counts.tolist()])
    squares = (counts - size * part) ** 2 / (size * part * (1 - part))
    exact = np.exp(logs) @ np.exp(-np.outer(squares, sketch._THETAS[::6]))
    assert (np.log(np.maximum(exact, 1e-300)) <= sketch._log_transform(size, part)[::6] + 1e-12).all()


@pytest.mark.parametrize("mean", [1, 20, 2_000])
@pytest.mark.parametrize(("overlap", "found"), [(1, True), (0.9, True), (0.75, True), (0, False)])
def test_copies_are_found_and_others_are_not(mean: float, overlap: float, found: bool) -> None:
    """With ¾ of the rows in common, the statistic is ¼ of that of unrelated tables, ± 2 %; the limit is about ½."""
    rng = np.random.default_rng(11)
    for _ in range(10):
        one, other = shared_rows(rng, mean, overlap)
        assert (chance(one, other) <= 1e-7) == found


@pytest.mark.parametrize(("kind", "used", "found"), [(ROWS, False, True), (VALUES, True, True), (VALUES, False, False)])
def test_whole_rows_are_enough_and_one_column_is_only_if_it_is_read(kind: str, used: bool, found: bool) -> None:
    one, other = shared_rows(np.random.default_rng(13), 200, 1)
    new, old = (Sketch((Histogram(kind, counts, used),)) for counts in (one, other))
    assert (resemblance(new, old) is not None) == found


def test_about_half_of_the_rows_in_common_is_where_recognition_of_large_tables_ends() -> None:
    rng = np.random.default_rng(12)
    rates = {
        overlap: np.mean([chance(*shared_rows(rng, 200, overlap)) <= 1e-7 for _ in range(30)])
        for overlap in (0.6, 0.5, 0.3)
    }
    assert rates[0.6] > 0.9 > rates[0.5] > rates[0.3] == 0


@pytest.mark.parametrize("overlap", [1, 0.9, 0.7])
def test_the_statistic_estimates_the_rows_in_common(overlap: float) -> None:
    rng = np.random.default_rng(13)
    estimates = [1 - sketch._relative_to_chance(*shared_rows(rng, 40, overlap)) for _ in range(20)]
    assert np.mean(estimates) == pytest.approx(overlap, abs=0.03)


def columns(*every: Ints, used: int = 0) -> Sketch:
    return Sketch(tuple(Histogram(VALUES, counts, k < used) for k, counts in enumerate(every)))


def crowd(rng: np.random.Generator, times: int) -> list[Ints]:
    return [histogram(rng.poisson(9, BINS).tolist()) for _ in range(times)]


def test_one_column_in_common_is_a_coincidence_unless_it_is_read() -> None:
    """Row numbers agree in tables of different people."""
    numbers, *rest = crowd(np.random.default_rng(14), 9)
    old = columns(numbers, *rest[:4])
    assert resemblance(columns(numbers, *rest[4:]), old) is None
    assert resemblance(columns(numbers, *rest[4:], used=1), old) == 1
    assert resemblance(columns(*rest[4:], numbers, used=1), old) is None


def test_most_columns_in_common_are_enough_in_any_order_and_beside_any_others() -> None:
    first, second, third, *new = crowd(np.random.default_rng(15), 9)
    old = columns(first, second, third)
    assert resemblance(columns(third, first), old) == 1
    assert resemblance(columns(*new, second, third), old) == 1
    assert resemblance(columns(first, *new), old) is None


def test_columns_of_few_values_are_ignored() -> None:
    first, second = crowd(np.random.default_rng(16), 2)
    yes_no = [histogram([30 + k, 31 - k]) for k in range(8)]
    assert resemblance(columns(*yes_no), columns(*yes_no)) is None
    assert resemblance(columns(first, second, *yes_no), columns(first, second, *yes_no)) == 1


def test_a_sketch_is_read_back_as_it_was() -> None:
    one = Sketch((Histogram(ROWS, histogram([3, 2**40])), Histogram(VALUES, histogram([5]), used=True)))
    again = Sketch.from_bytes(one.to_bytes())
    assert [(h.kind, h.used, h.counts.tolist()) for h in again.histograms] == [
        (h.kind, h.used, h.counts.tolist()) for h in one.histograms
    ]


def test_each_charge_has_a_key_of_its_own_for_its_sketch() -> None:
    """All are sealed with one nonce, so two under one key would show where they differ."""
    kept = Sketch((Histogram(ROWS, np.arange(BINS)),))
    one, other, elsewhere = (sealed(key, charge, kept) for key, charge in ((b"k", "1"), (b"k", "2"), (b"l", "1")))
    assert len({one[:64], other[:64], elsewhere[:64]}) == 3
    assert sealed(b"k", "1", kept) == one


def test_a_table_without_rows_resembles_nothing() -> None:
    rows, none = histogram([50] * 60), histogram([])
    assert chance(rows, none) == chance(none, none) == 1
    assert resemblance(Sketch((Histogram(ROWS, none),)), Sketch((Histogram(ROWS, rows),))) is None


def test_the_level_is_shared_by_all_comparisons(monkeypatch: pytest.MonkeyPatch) -> None:
    """The levels of all pairs of histograms add up to the stated one, so the alarms of all together are as stated."""
    levels: list[float] = []
    monkeypatch.setattr(sketch, "_best", lambda counts, others, level: levels.extend([level] * len(others)))
    resemblance(columns(*crowd(np.random.default_rng(17), 3)), columns(*crowd(np.random.default_rng(18), 5)))
    assert sum(levels) == pytest.approx(FALSE_ALARM)


def sample(rng: np.random.Generator, rows: int, column: Ints) -> Sketch:
    """A table of a used column of hashed values, and of whole rows that no other table shares."""
    rest = np.bincount(rng.integers(0, BINS, rows), minlength=BINS)
    return Sketch((Histogram(ROWS, rest), Histogram(VALUES, column, used=True)))


def test_a_running_number_is_not_taken_for_people_of_another_table() -> None:
    """Its bins are equal, as those of any large table nearly are; identifiers given at random still tell."""
    rng = np.random.default_rng(14)
    numbers = fingerprint._histogram(np.arange(6_000, dtype=np.uint64), np.empty(6_000, dtype=np.uint64))
    incomes = np.bincount(rng.integers(0, BINS, 50_000), minlength=BINS)
    assert chance(numbers, incomes) < FALSE_ALARM / 4  # as if chance had divided one crowd into these two tables
    assert resemblance(sample(rng, 6_000, numbers), sample(rng, 50_000, incomes)) is None
    assert resemblance(sample(rng, 50_000, incomes), sample(rng, 6_000, numbers)) is None
    identifiers = np.bincount(rng.integers(0, BINS, 6_000), minlength=BINS)
    assert resemblance(sample(rng, 6_000, identifiers), sample(rng, 6_000, identifiers)) is not None
