"""All local protocols: no report is more than e^ε times as likely under another answer; estimates are unbiased."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from itertools import permutations, product

import numpy as np
import pytest

from dpengine.errors import PlanError, TableError
from dpengine.mechanisms.local import frequency_oracles
from dpengine.mechanisms.local.coins import log_rounded_up
from dpengine.mechanisms.local.frequency_oracles import HadamardResponse, LocalHashing, UnaryEncoding
from dpengine.mechanisms.local.protocol import Estimate, PureProtocol
from dpengine.mechanisms.local.randomized_response import FAIR, KaryResponse, RandomizedResponse, pair_table
from dpengine.mechanisms.local.sketches import CountMeanSketch, HadamardSketch
from dpengine.noise.exact_exp import exp_bounds
from tests.mechanisms.local.distributions import distribution_of, p_value, sign, supports

ALPHA = 1e-9  # false alarms of each assertion about chance
SIGMAS = 6.2  # beyond which a normal number lies with half that chance on either side

SMALL = [
    FAIR,
    RandomizedResponse(Fraction(1, 3)),
    RandomizedResponse(Fraction(2, 5), Fraction(1, 7)),
    RandomizedResponse(Fraction(2, 5), Fraction(5, 6)),
    KaryResponse(2, Fraction(1, 2)),
    KaryResponse(5, Fraction(3, 7)),
    UnaryEncoding(2, Fraction(1, 4)),
    UnaryEncoding(4, Fraction(3, 11)),
    LocalHashing(3, 2, Fraction(1, 3)),
    LocalHashing(4, 3, Fraction(2, 5)),
    HadamardResponse(2, Fraction(1, 4)),
    HadamardResponse(5, Fraction(2, 7)),
    CountMeanSketch(3, Fraction(1, 3), functions=2, width=4),
    CountMeanSketch(5, Fraction(2, 5), functions=3, width=2),
    HadamardSketch(4, Fraction(2, 7), functions=3, width=4),
]
Maker = Callable[[Fraction], PureProtocol]
MADE: dict[str, Maker] = {
    "two coins": RandomizedResponse.of,
    "k-ary": lambda epsilon: KaryResponse.of(4, epsilon),
    "unary": lambda epsilon: UnaryEncoding.of(4, epsilon),
    "local hashing": lambda epsilon: LocalHashing.of(4, epsilon),
    "hadamard": lambda epsilon: HadamardResponse.of(4, epsilon),
    "sketch": lambda epsilon: CountMeanSketch.of(4, epsilon, 32, 16),
    "hadamard sketch": lambda epsilon: HadamardSketch.of(4, epsilon, 32, 16),
}
made = pytest.mark.parametrize("make", MADE.values(), ids=MADE)
small = pytest.mark.parametrize("protocol", SMALL, ids=lambda each: f"{type(each).__name__}-{each.answers}")


def answers_of(protocol: PureProtocol) -> range:
    return range(protocol.answers)


@small
def test_no_report_is_more_than_e_to_the_epsilon_times_as_likely_under_another_answer_and_one_is_just_that(
    protocol: PureProtocol,
) -> None:
    distributions = [distribution_of(protocol, x) for x in answers_of(protocol)]
    assert all(sum(each.values()) == 1 for each in distributions)
    worst = max(here[y] / there[y] for here, there in permutations(distributions, 2) for y in here)
    if isinstance(protocol, (CountMeanSketch, HadamardSketch)):  # hashes may give all answers the same bucket
        assert worst <= protocol.ratio
    else:
        assert worst == protocol.ratio
    _, most = exp_bounds(protocol.epsilon, 128)  # an upper bound on e^−ε
    assert Fraction(most, 2**128) * protocol.ratio <= 1


@pytest.mark.parametrize("kind", [CountMeanSketch, HadamardSketch])
def test_a_sketch_costs_all_of_its_epsilon_where_two_answers_have_different_buckets(
    kind: type[CountMeanSketch | HadamardSketch],
) -> None:
    while True:
        sketch = kind(2, Fraction(1, 3), functions=1, width=4)
        if sketch.table[0, 0] != sketch.table[1, 0]:
            break
    here, there = (distribution_of(sketch, x) for x in (0, 1))
    assert max(here[y] / there[y] for y in here) == sketch.ratio > 1


@pytest.mark.by_day(5)
@small
def test_reports_follow_their_distribution(protocol: PureProtocol) -> None:
    for answer in {0, protocol.answers - 1}:
        assert p_value(protocol, distribution_of(protocol, answer), answer, 60_000) > ALPHA


@pytest.mark.parametrize("answers", [2, 5, 7, 8, 20])
@pytest.mark.parametrize("flipped", [False, True])
def test_each_code_of_a_half_of_hadamard_response_is_drawn_from_two(
    answers: int, flipped: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Exactly: all codes are offered once. Those of the wrong half move to different ones of the right half."""
    protocol = HadamardResponse(answers, Fraction(1, 4))
    monkeypatch.setattr(frequency_oracles, "uniform_below", lambda bound, size: np.arange(bound))
    monkeypatch.setattr(frequency_oracles, "coins", lambda chance, size: np.full(size, flipped))
    for answer in range(answers):
        codes, times = np.unique(protocol.randomise([answer] * protocol.codes), return_counts=True)
        half = [code for code in range(protocol.codes) if (sign(answer + 1, code) == 1) != flipped]
        assert codes.tolist() == half
        assert (times == 2).all()


@pytest.mark.parametrize(
    ("drawn", "other"),
    [
        (FAIR, RandomizedResponse(Fraction(9, 16))),
        (RandomizedResponse(Fraction(2, 5), Fraction(1, 7)), RandomizedResponse(Fraction(2, 5), Fraction(1, 5))),
        (KaryResponse(5, Fraction(3, 7)), KaryResponse(5, Fraction(1, 2))),
        (UnaryEncoding(4, Fraction(3, 11)), UnaryEncoding(4, Fraction(1, 4))),
        (LocalHashing(3, 2, Fraction(1, 3)), LocalHashing(3, 2, Fraction(2, 5))),
        (HadamardResponse(5, Fraction(2, 7)), HadamardResponse(5, Fraction(1, 4))),
    ],
    ids=lambda each: type(each).__name__,
)
def test_a_slightly_different_distribution_is_noticed(drawn: PureProtocol, other: PureProtocol) -> None:
    """Negative controls: the test above notices coins of a slightly different bias."""
    assert p_value(drawn, distribution_of(other, 1), 1, 60_000) < ALPHA


@pytest.mark.parametrize("kind", [CountMeanSketch, HadamardSketch])
def test_a_slightly_different_distribution_of_a_sketch_is_noticed(kind: type[CountMeanSketch | HadamardSketch]) -> None:
    sketch = kind(3, Fraction(1, 3), functions=2, width=4)
    other = kind(3, Fraction(2, 5), functions=2, width=4)
    object.__setattr__(other, "table", sketch.table)
    assert p_value(sketch, distribution_of(other, 1), 1, 60_000) < ALPHA


@pytest.mark.parametrize("protocol", [each for each in SMALL if not isinstance(each, CountMeanSketch | HadamardSketch)])
def test_a_report_supports_the_own_answer_with_probability_p_and_another_with_q(protocol: PureProtocol) -> None:
    """So each estimate is unbiased, and a person adds p(1−p) or q(1−q) to the variance: both exactly."""
    for x in answers_of(protocol):
        distribution = distribution_of(protocol, x)
        for answer in (1,) if isinstance(protocol, RandomizedResponse) else answers_of(protocol):
            probability = sum(chance for y, chance in distribution.items() if supports(protocol, y, answer))
            assert probability == (protocol.hit if answer == x else protocol.miss)


@pytest.mark.parametrize("kind", [CountMeanSketch, HadamardSketch])
def test_the_variance_of_a_sketch_is_exact_over_all_draws_of_hashes(
    kind: type[CountMeanSketch | HadamardSketch],
) -> None:
    """One function into two buckets for four answers, eight keys in all: bias and variance by enumeration."""
    sketch = kind(4, Fraction(1, 3), functions=1, width=2)
    shares, people, answer = np.array([0.25, 0.5, 0.125, 0.125]), 8, 0
    whole = np.rint(shares * people).astype(int)
    means, within = [], []
    for key in product((0, 1), repeat=3):
        table = np.array([[(key[0] + (x & 1) * key[1] + (x >> 1) * key[2]) % 2] for x in range(4)], dtype=np.uint8)
        object.__setattr__(sketch, "table", table)
        chances = [
            sum(chance for y, chance in distribution_of(sketch, x).items() if supports(sketch, y, answer))
            for x in range(4)
        ]
        means.append(sum(c * int(n) for c, n in zip(chances, whole, strict=True)))
        within.append(sum(c * (1 - c) * int(n) for c, n in zip(chances, whole, strict=True)))
    middle = sum(means) / 8
    assert (middle / people - sketch.miss) / (sketch.hit - sketch.miss) == Fraction(1, 4)
    variance = sum(within) / 8 + sum((each - middle) ** 2 for each in means) / 8
    exact = float(variance / (people * (sketch.hit - sketch.miss)) ** 2)
    assert sketch.variance(shares, people)[answer] == pytest.approx(exact, rel=1e-12)


@made
@pytest.mark.parametrize("epsilon", ["1/1000", "1/3", "1", "11/10", "4", "20"])
def test_a_protocol_for_an_epsilon_costs_at_most_that_and_little_less(make: Maker, epsilon: str) -> None:
    wanted = Fraction(epsilon)
    protocol = make(wanted)
    assert wanted * Fraction(9999, 10_000) < protocol.epsilon <= wanted


@pytest.mark.by_day(1)
@made
def test_estimates_are_unbiased_and_have_the_variance_of_the_formula(make: Maker) -> None:
    runs, people, answer = 1000, 500, 1
    shares = np.array([0.6, 0.4]) if make(Fraction(1)).answers == 2 else np.array([0.5, 0.3, 0.2, 0.0])
    values = np.repeat(np.arange(shares.size), np.rint(people * shares).astype(int))
    errors, variances, wrong = [], [], []
    other = make(Fraction(1, 2))
    for _ in range(runs):
        protocol = SHARED[make]
        if isinstance(protocol, CountMeanSketch | HadamardSketch):  # the formula is over the draw of hashes
            protocol = type(protocol)(protocol.answers, protocol.flip, protocol.functions, protocol.width)
        reports = protocol.randomise(values)
        place = 0 if isinstance(protocol, RandomizedResponse) else answer
        estimate = protocol.estimate(reports)
        errors.append(estimate.shares[place] - shares[answer])
        variances.append(estimate.variances[place])
        rate = float((protocol.hit - protocol.miss) / (other.hit - other.miss))
        wrong.append((errors[-1] + shares[answer]) * rate - shares[answer])
    of_all = shares if protocol.answers > 2 else shares[1:]
    variance = protocol.variance(of_all, people)[place]
    assert abs(np.mean(errors)) < SIGMAS * math.sqrt(variance / runs)
    assert abs(np.mean(wrong)) > SIGMAS * math.sqrt(4 * variance / runs), "negative control: coins of another bias"
    reach = SIGMAS * math.sqrt(2.4 / runs)  # a mean of squares of nearly normal numbers, of kurtosis up to 3.4
    ratio = np.var(errors) / variance
    assert abs(ratio - 1) < reach
    assert abs(2 * ratio - 1) > reach, "negative control: half the variance"
    assert np.mean(variances) == pytest.approx(variance, rel=0.1), "the estimate's own, at estimated shares"


SHARED = {make: make(Fraction(1)) for make in MADE.values()}


def test_variances_of_rare_answers_are_those_of_the_literature() -> None:
    e, n, k = math.e, 1000, 16
    hadamard = ((e + 1) / (e - 1)) ** 2 / n
    formulas = {
        KaryResponse.of(k, Fraction(1)): (k - 2 + e) / ((e - 1) ** 2 * n),
        UnaryEncoding.of(k, Fraction(1)): 4 * e / ((e - 1) ** 2 * n),
        HadamardResponse.of(k, Fraction(1)): hadamard,
    }
    for protocol, formula in formulas.items():
        assert protocol.variance([0.0], n)[0] == pytest.approx(formula, rel=1e-6)
    hashed = LocalHashing.of(k, Fraction(1))
    assert hashed.buckets == 4
    assert hashed.variance([0.0], n)[0] == pytest.approx(4 * e / ((e - 1) ** 2 * n), rel=0.01)


@made
def test_a_share_beyond_what_shares_can_be_has_the_variance_of_the_nearest_that_can(make: Maker) -> None:
    """Estimates lie below 0 for many of the rare answers; by the formula, their variance could do so, too."""
    protocol = SHARED[make]
    shares = np.zeros(protocol.answers)
    shares[:2] = [1.4, -0.4]
    assert protocol.variance(shares, 100) == pytest.approx(protocol.variance(shares.clip(0, 1), 100))
    assert (protocol.variance(shares, 100) > 0).all()


@pytest.mark.parametrize(
    ("shares", "fitted"),
    [
        ([0.5, 0.5], [0.5, 0.5]),
        ([1.2, -0.2], [1, 0]),
        ([0.6, 0.6, -0.3], [0.5, 0.5, 0]),
        ([0.1, 0.1], [0.5, 0.5]),
        ([-3.0, -3.0, -2.5], [0.5 / 3, 0.5 / 3, 2 / 3]),
    ],
)
def test_fitted_shares_are_not_negative_and_add_up_to_one(shares: list[float], fitted: list[float]) -> None:
    assert estimate_of(shares).fitted == pytest.approx(fitted)


def test_fitted_shares_are_the_nearest_ones() -> None:
    """In a convex set, the angle at the nearest point between the given point and any corner is not acute."""
    estimate = estimate_of([[0.7, -0.2], [0.35, 0.4]])
    fitted = estimate.fitted
    assert fitted.sum() == pytest.approx(1)
    for corner in np.eye(4):
        assert ((estimate.shares - fitted).ravel() * (corner - fitted.ravel())).sum() < 1e-12


def estimate_of(shares: object) -> Estimate:
    array = np.array(shares, dtype=float)
    return Estimate(array, np.full(array.shape, 0.04), 100)


def test_intervals_are_normal() -> None:
    estimate = estimate_of([0.5])
    assert estimate.half_widths() == pytest.approx([1.959964 * 0.2])
    with pytest.raises(PlanError, match="between 0 and 1"):
        estimate.half_widths(1)


@made
@pytest.mark.parametrize(
    ("values", "said"),
    [
        ([], "at least one"),
        ([[0, 1]], "in one row"),
        (0, "in one row"),
        ([0.5], "whole numbers"),
        (["0"], "whole numbers"),
        ([0, 99], "not on the list"),
        ([-1], "not on the list"),
    ],
)
def test_values_that_are_no_answers_are_refused_without_quoting_them(make: Maker, values: object, said: str) -> None:
    with pytest.raises(TableError, match=said) as refused:
        SHARED[make].randomise(values)  # type: ignore[arg-type]
    assert "99" not in str(refused.value)


@pytest.mark.parametrize("answers", [1, 0, -3, True, 2.5, 2**30])
def test_a_question_needs_two_answers(answers: int) -> None:
    epsilon = Fraction(1)
    for kind in (KaryResponse, UnaryEncoding, LocalHashing, HadamardResponse, CountMeanSketch, HadamardSketch):
        with pytest.raises(PlanError, match="needs from 2"):
            kind.of(answers, epsilon)


@made
@pytest.mark.parametrize("epsilon", [0, -1, Fraction(1, 2000), 21, 0.5, True])
def test_an_epsilon_out_of_range_is_refused(make: Maker, epsilon: Fraction) -> None:
    with pytest.raises(PlanError, match="ε of a survey"):
        make(epsilon)


@pytest.mark.parametrize("chance", [Fraction(0), Fraction(-1, 2), Fraction(3, 2), 0.5, Fraction(1)])
def test_a_coin_without_a_probability_or_without_information_is_refused(chance: Fraction) -> None:
    makers: list[Callable[[Fraction], PureProtocol]] = [
        lambda chance: KaryResponse(3, chance),
        lambda chance: UnaryEncoding(3, chance),
        lambda chance: LocalHashing(3, 2, chance),
        lambda chance: HadamardResponse(3, chance),
        lambda chance: CountMeanSketch(3, chance, 2, 4),
        lambda chance: HadamardSketch(3, chance, 2, 4),
        lambda chance: RandomizedResponse(Fraction(1, 2), chance),
    ]
    for make in makers:
        with pytest.raises(PlanError):
            make(chance)
    for nothing in (UnaryEncoding, HadamardResponse):
        with pytest.raises(PlanError, match="nothing can be learned"):
            nothing(3, Fraction(1, 2))
    with pytest.raises(PlanError, match="must lie below 1: at 1 nothing can be learned"):
        RandomizedResponse(Fraction(1))


@pytest.mark.parametrize("buckets", [0, 1, 2**16, 2.5, True])
def test_a_number_of_buckets_is_whole_and_within_bounds(buckets: int) -> None:
    with pytest.raises(PlanError, match="buckets"):
        LocalHashing.of(4, Fraction(1), buckets)
    with pytest.raises(PlanError, match="buckets"):
        LocalHashing(4, buckets, Fraction(1, 2))


@pytest.mark.parametrize("sizes", [(0, 4), (2, 3), (2, 1), (2, 2**16), (2**26, 4), (2**27, 4), (1.5, 4), (2, 4.0)])
def test_a_sketch_of_impossible_size_is_refused(sizes: tuple[int, int]) -> None:
    with pytest.raises(PlanError, match="sketch"):
        HadamardSketch.of(4, Fraction(1), *sizes)


def test_reports_of_another_shape_are_refused() -> None:
    kary, unary = KaryResponse(4, Fraction(1, 2)), UnaryEncoding(9, Fraction(1, 4))
    with pytest.raises(TableError, match="no reports"):
        kary.estimate(np.array([], dtype=np.uint8))
    with pytest.raises(TableError, match="from 0 to 3"):
        kary.estimate(np.array([4], dtype=np.uint8))
    with pytest.raises(TableError, match="packed"):
        unary.estimate(np.zeros((5, 1), dtype=np.uint8))
    with pytest.raises(TableError, match="keys"):
        LocalHashing(4, 2, Fraction(1, 2)).estimate(LocalHashing(9, 2, Fraction(1, 2)).randomise([0, 1]))
    for kind in (CountMeanSketch, HadamardSketch):
        with pytest.raises(TableError):
            kind(4, Fraction(1, 4), 2, 4).estimate(kind(4, Fraction(1, 4), 2, 16).randomise([3] * 400))
    with pytest.raises(TableError, match="from 0 to 1"):
        pair_table(FAIR, [0, 1], [0, 2])
    with pytest.raises(TableError, match="same people"):
        pair_table(FAIR, [0, 1], [0])


def test_any_number_of_answers_and_people_works() -> None:
    """Sizes that do not fill a byte, a block or a power of two."""
    for answers, people in product((2, 3, 8, 9, 255, 256, 257, 1000), (1, 2)):
        for kind in (KaryResponse, UnaryEncoding, LocalHashing, HadamardResponse):
            protocol = kind.of(answers, Fraction(20))
            estimate = protocol.estimate(protocol.randomise(np.full(people, answers - 1)))
            assert estimate.shares.shape == estimate.variances.shape == (answers,)
            assert estimate.people == people


def test_people_of_different_blocks_have_coins_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """With the same coins in each of 32 blocks, reports would be alike; by chance they are with probability 4^-31."""
    monkeypatch.setattr(frequency_oracles, "_BLOCK", 16)
    bits = frequency_oracles.noisy_bits(np.zeros(64, dtype=np.int64), 8, Fraction(1, 2), Fraction(0))
    assert len({tuple(block) for block in (bits[:, 0] >> 7).reshape(32, 2).tolist()}) > 1


def test_nearly_no_privacy_gives_nearly_the_truth() -> None:
    """At ε = 20 every protocol finds the shares; so codes, hashes and bits are read as they were written.

    Reports hardly ever differ from the truth, and one that does is off by many standard deviations: k-ary response
    changes one of all answers with probability 0.004, and more than three with less than 1e-10.
    """
    values = np.repeat(np.arange(100), np.arange(1, 101) * 4)
    true = np.bincount(values) / values.size
    for kind in (KaryResponse, UnaryEncoding, LocalHashing, HadamardResponse, CountMeanSketch, HadamardSketch):
        protocol = kind.of(100, Fraction(20))
        estimate = protocol.estimate(protocol.randomise(values))
        off = np.abs(estimate.shares - true) - 3.5 / values.size
        assert (off < (SIGMAS + 1) * np.sqrt(protocol.variance(true, values.size))).all(), kind
    assert log_rounded_up(KaryResponse.of(100, Fraction(20)).ratio) <= 20
