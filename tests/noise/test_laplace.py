"""Noise is exactly discrete Laplace: by enumeration of its bits, then by statistics on fresh randomness.

Every statistical assertion raises a false alarm with probability ALPHA at most; there are fewer than 100.
"""

from __future__ import annotations

import ast
import bisect
import math
import os
import pickle
import subprocess
import sys
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from decimal import ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from scipy import stats

from dpengine.array_types import Ints
from dpengine.errors import NoiseError, PrivateReleaseError
from dpengine.noise import bits, exact_exp
from dpengine.noise import laplace as noise
from dpengine.noise.bits import keystream
from dpengine.noise.laplace import _CHUNK, _fill, _levels, _refine, discrete_laplace

ALPHA = 2e-9
DRAWS = 10**6
MASK = 2**64 - 1
EXACT = Context(prec=160, rounding=ROUND_FLOOR)


# Tier 0: the bits are ours, so all that follows is certain.


class Script:
    """A bit source that replays prepared words: words for each lane, or one word for all."""

    def __init__(self, *answers: Iterable[int] | int) -> None:
        self.answers = list(answers)
        self.asked: list[int] = []

    def __call__(self, buffer: npt.NDArray[Any]) -> None:
        answer = self.answers.pop(0)
        assert isinstance(answer, int) or len(list(answer)) == buffer.size
        buffer[:] = np.array(answer, dtype=buffer.dtype)
        self.asked.append(buffer.size)


def drawn(levels: tuple[noise._Level, ...], size: int, *answers: Iterable[int] | int) -> Ints:
    out, script = np.empty(size, dtype=np.int64), Script(*answers)
    _fill(out, levels, script)
    assert not script.answers
    return out


def q_to(scale: Fraction, times: int) -> Decimal:
    return EXACT.exp(EXACT.divide(Decimal(-scale.denominator * times), Decimal(scale.numerator)))


def cumulative(scale: Fraction, k: int) -> Decimal:
    """P(X ≤ k) = Σ_{j≤k} (1−q)/(1+q)·q^|j|, summed term by term."""
    one_and_q = EXACT.add(Decimal(1), q_to(scale, 1))
    if k < 0:
        return EXACT.divide(q_to(scale, -k), one_and_q)
    return EXACT.subtract(Decimal(1), EXACT.divide(q_to(scale, k + 1), one_and_q))


@cache
def breakpoints(distribution: noise._Distribution) -> dict[int, Decimal]:
    """The distribution function of a level from what its values mean: ⌊X/unit⌋, or digits weighted by q^g."""
    scale = 1 / distribution.rate
    if not distribution.span:
        reach = int(140 * scale / distribution.unit) + 4
        return {y: cumulative(scale, distribution.unit * (y + 1) - 1) for y in range(-reach, reach)}
    sums = [Decimal(0)]
    for digit in range(distribution.span):
        sums.append(EXACT.add(sums[-1], q_to(scale, distribution.unit * digit)))
    return {digit: EXACT.divide(part, sums[-1]) for digit, part in enumerate(sums[1:-1])}


def floors(distribution: noise._Distribution, depth: int) -> dict[int, int]:
    power = Decimal(2**depth)
    return {k: int(EXACT.multiply(value, power)) for k, value in breakpoints(distribution).items()}


def expected(distribution: noise._Distribution, depth: int, words: Iterable[int]) -> list[int]:
    """The values of draws whose first bits are ``words``: the least k with U < F(k)."""
    known = floors(distribution, depth)
    ks, points = [*known, distribution.span - 1], list(known.values())
    return [ks[bisect.bisect_left(points, word)] for word in words]


LEVELS = [level for scale in ("1/2", "1", "3/7", "10", "12", "20", "1536") for level in _levels(Fraction(scale))]
LEVEL_NAMES = [
    f"{float(1 / level.distribution.rate):.3g}-{level.distribution.unit}-{level.distribution.span}" for level in LEVELS
]
each_level = pytest.mark.parametrize("level", LEVELS, ids=LEVEL_NAMES)


@pytest.mark.by_day(3)
@each_level
def test_every_16_bits_give_the_value_of_their_interval_or_ask_for_more(level: noise._Level) -> None:
    indices, ends, requests = np.arange(2**16), [], 0
    for more in (2**20, 2**48 - 2**20):  # near either end of each interval
        out = np.empty(2**16, dtype=np.int64)
        source = Script(*[answer for chunk in np.split(indices, 2**16 // _CHUNK) for answer in (chunk, more << 16)])
        _fill(out, (level,), source)
        assert out.tolist() == expected(level.distribution, 64, [(i << 48) + more for i in range(2**16)])
        ends.append(out)
        requests += sum(source.asked[1::2])
    doubtful = ends[0] != ends[1]
    if not level.distribution.span:
        doubtful |= (indices == 0) | (indices == 2**16 - 1)
    assert requests == 2 * doubtful.sum()
    below = floors(level.distribution, 16)
    mass = dict(zip(*np.unique(ends[0][~doubtful], return_counts=True), strict=True))
    for k in list(below)[1:]:
        assert mass.get(k, 0) == max(0, below[k] - below[k - 1] - 1), "sixteen bits decide all that they can"


@pytest.mark.by_day(3)
@each_level
def test_64_bits_fall_on_the_right_side_of_every_breakpoint(level: noise._Level) -> None:
    points = {point for point in floors(level.distribution, 64).values() if 0 < point < MASK}
    assert set(level.floors.tolist()) == points
    words = sorted({point + side for point in points for side in (-1, 1)} - points - {0, MASK})
    values = drawn((level,), len(words), [w >> 48 for w in words], [w << 16 & MASK for w in words])
    assert values.tolist() == expected(level.distribution, 64, words)


@pytest.mark.by_day(6)
@each_level
@pytest.mark.parametrize("depth", [128, 192])
def test_ties_are_decided_by_further_bits(level: noise._Level, depth: int) -> None:
    points = list(floors(level.distribution, depth).values())
    chosen = [point for point in points if 0 < point >> (depth - 64) < MASK]
    chosen = chosen[:: len(chosen) // 12 + 1]
    words = [point + side for point in chosen for side in (-1, 1)]
    rest = [word >> shift & MASK for word in words for shift in range(depth - 128, -1, -64)]
    first = [word >> (depth - 64) for word in words]
    values = drawn((level,), len(words), [w >> 48 for w in first], [w << 16 & MASK for w in first], *rest)
    assert values.tolist() == expected(level.distribution, depth, words)


@pytest.mark.parametrize("scale", ["1/100", "3/7", "1", "10"])
@pytest.mark.parametrize("zeros", [1, 2, 5, 9])
def test_both_tails_are_reached_at_any_depth(scale: str, zeros: int) -> None:
    (level,), last = _levels(Fraction(scale)), 0x123456789ABCDEF0
    tail, q = last / 2 ** (64 * zeros + 64), math.exp(-level.distribution.rate)
    away = int(-math.log(tail * (1 + q)) / level.distribution.rate)  # q^away/(1+q) > tail > q^(away+1)/(1+q)
    low = drawn((level,), 1, 0, 0, *[0] * (zeros - 1), last)
    high = drawn((level,), 1, 2**16 - 1, MASK, *[MASK] * (zeros - 1), MASK + 1 - last)
    assert (low[0], high[0]) == (-away, away)


def test_a_draw_beyond_reach_is_refused_not_wrapped(monkeypatch: pytest.MonkeyPatch) -> None:
    distribution = _levels(Fraction(1))[0].distribution
    assert _refine(distribution, 0, Script(2**60)) == -46  # 68·ln 2 − ln(1 + 1/e) = 46.8
    assert _refine(distribution, MASK, Script(MASK + 1 - 2**60)) == 46
    monkeypatch.setattr(noise, "_LIMIT", 40)
    for known, more in ((0, 2**60), (MASK, MASK + 1 - 2**60)):
        with pytest.raises(OverflowError):
            _refine(distribution, known, Script(more))


@pytest.mark.parametrize("scale", [12, 13, 1000, 10**6, 10**9, 2**40])
def test_parts_are_adjacent_and_small(scale: int) -> None:
    coarse, *fine = (level.distribution for level in _levels(Fraction(scale)))
    assert 1 / coarse.step <= 12
    assert coarse.unit == np.prod([distribution.span for distribution in fine], dtype=object)
    for higher, lower in pairwise([coarse, *fine]):
        assert higher.unit == lower.unit * lower.span


@pytest.mark.parametrize("scale", ["13", "20", "200", "1000", "30000"])
def test_parts_compose_to_the_discrete_laplace_distribution(scale: str) -> None:
    coarse, *fine = _levels(Fraction(scale))
    most = min(15, _CHUNK // coarse.distribution.unit // 2)
    grids, probability = [], np.ones(())
    for level in (coarse, *fine):
        values = np.arange(-most, most) if level is coarse else np.arange(level.distribution.span)
        grids.append([int(np.flatnonzero(level.guide == value)[0]) for value in values])
        mass = np.diff([0.0, *(level.floors / 2.0**64), 1.0])[values - level.first]
        probability = np.multiply.outer(probability, mass)
    words = [axis.ravel() for axis in np.meshgrid(*grids, indexing="ij")]
    values = drawn((coarse, *fine), probability.size, *[answer for word in words for answer in (word, [])])
    assert sorted(values) == list(range(-most * coarse.distribution.unit, most * coarse.distribution.unit)), (
        "every integer, once"
    )
    np.testing.assert_allclose(probability.ravel(), stats.dlaplace(1 / float(scale)).pmf(values), rtol=1e-10, atol=0)


@pytest.mark.parametrize("scale", ["20", "1536"])
def test_parts_that_needed_more_bits_join_like_the_others(scale: str) -> None:
    coarse, fine = _levels(Fraction(scale))
    high, low = ([point for point in level.floors.tolist() if 2**48 < point < MASK - 2**48] for level in (coarse, fine))
    tops = [point + side for point in high for side in (-1, 1)]
    tails = [low[k % len(low)] + 1 for k in range(len(tops))]
    answers = [half for words in (tops, tails) for half in ([w >> 48 for w in words], [w << 16 & MASK for w in words])]
    y, digits = np.array(expected(coarse.distribution, 64, tops)), np.array(expected(fine.distribution, 64, tails))
    values = drawn((coarse, fine), len(tops), *answers)
    assert (values == coarse.distribution.unit * y + np.where(y < 0, fine.distribution.span - 1 - digits, digits)).all()


@pytest.mark.by_day(3)
@each_level
def test_precision_is_raised_until_it_suffices(level: noise._Level, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(noise, "_GUARD", 2)
    known = {k: point for k, point in floors(level.distribution, 64).items() if 0 < point < MASK}
    assert {k: level.distribution.floor(k, 64) for k in known} == known


@pytest.mark.parametrize("scale", ["1/2", "3/7", "1", "10"])
def test_neighbouring_outcomes_differ_by_exp_epsilon_and_no_more(scale: str) -> None:
    (level,) = _levels(Fraction(scale))
    ratio = Fraction(EXACT.divide(Decimal(1), q_to(Fraction(scale), 1)))
    point = {k: level.distribution.floor(k, 400) for k in range(-31, 31)}
    mass = {k: point[k] - point[k - 1] for k in range(-30, 31)}  # in 2^-400, right to within 1 either way
    for k in range(30):
        assert abs(mass[k] - mass[-k]) <= 2
        for near, far in ((k, k + 1), (-k, -k - 1)):
            least, most = Fraction(mass[near] - 1, mass[far] + 1), Fraction(mass[near] + 1, mass[far] - 1)
            assert least <= ratio <= most <= least * (1 + Fraction(1, 2**200))


def test_bits_are_aes_256_in_counter_mode_under_a_key_of_the_system(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    monkeypatch.setattr(os, "urandom", lambda size: asked.append(size) or bytes(range(size)))
    sizes = [(5, np.uint16), (9, np.uint64), (0, np.uint64), (70_001, np.uint64)]  # the last takes several steps
    fill, parts = keystream(), [np.empty(size, dtype=kind) for size, kind in sizes]
    for part in parts:
        fill(part)
    block = Cipher(algorithms.AES(bytes(range(32))), modes.ECB()).encryptor()
    stream = block.update(b"".join(counter.to_bytes(16, "big") for counter in range(36_000)))
    assert b"".join(part.tobytes() for part in parts) == stream[: 82 + 8 * 70_001]
    assert asked == [32]


# Tier 1: the bits are the system's.


def rejections(first: Ints, second: Ints, scale: float) -> set[str]:
    """Return the names of the tests, each at ALPHA, that reject independent discrete Laplace noise for two tables."""
    distribution, n, squares = stats.dlaplace(1 / scale), first.size, first.astype(float) ** 2
    z_scores = {
        "variance": (squares.mean() - 1 / (2 * np.sinh(1 / (2 * scale)) ** 2)) / (squares.std() / n**0.5),
        "lag": np.corrcoef(first[1:], first[:-1])[0, 1] * n**0.5,
        "independence": np.corrcoef(first, second)[0, 1] * n**0.5,
    }
    p_values = {name: 2 * stats.norm.sf(abs(z)) for name, z in z_scores.items()} | {
        "shape": chi_square(first, scale),
        "zero": stats.binomtest(int((first == 0).sum()), n, np.tanh(1 / (2 * scale))).pvalue,
        "symmetry": stats.binomtest(int((first > 0).sum()), int((first != 0).sum())).pvalue,
        "repeat": (distribution.pmf(np.arange(-50, 51)) ** 2).sum() ** 200 if (first == second)[:200].all() else 1.0,
        "digits": residues(first, scale) if scale >= 100 else 1.0,
    }
    return {name for name, p in p_values.items() if p < ALPHA}


def chi_square(values: Ints, scale: float) -> float:
    """Over bins that hold 25 draws or more on average: single integers where these are so likely."""
    distribution, least = stats.dlaplace(1 / scale), 25 / values.size
    edges, reached, fine = [], 0.0, np.unique(np.rint(np.linspace(-16 * scale - 3, 16 * scale + 3, 2001)))
    for edge, here in zip(fine, distribution.cdf(fine), strict=True):
        if here - reached >= least and 1 - here >= least:
            edges.append(edge)
            reached = here
    share = np.diff([0.0, *distribution.cdf(edges), 1.0])
    seen = np.bincount(np.searchsorted(edges, values), minlength=len(share))
    return float(stats.chisquare(seen, share * values.size).pvalue)


def residues(values: Ints, scale: float, modulus: int = 64) -> float:
    """χ² of X mod 64, the digits that tables of wide noise draw apart: Σ_{k ≡ j} P(X=k) in closed form."""
    j, q = np.arange(1, modulus), np.exp(-1 / scale)
    share = np.concatenate([[1 + q**modulus], q**j + q ** (modulus - j)])
    seen = np.bincount(values % modulus, minlength=modulus)
    return float(stats.chisquare(seen, share / share.sum() * values.size).pvalue)


SCALES = ["1/2", "1", "3/7", "10", "13", "200", "1000", "1000000", "1000000000", str(2**40)]


@pytest.mark.parametrize("scale", SCALES)
def test_draws_follow_the_distribution(scale: str) -> None:
    exact = Fraction(scale)
    assert not rejections(discrete_laplace(scale, DRAWS), discrete_laplace(exact, DRAWS), float(exact))


def test_noise_of_tiny_scale_is_almost_never_there() -> None:
    assert not discrete_laplace(Fraction(1, 10**30), DRAWS).any()
    assert not discrete_laplace("1/100", DRAWS).any(), "false alarm 1e-37"


def double_zero() -> Ints:
    """A sign and a magnitude at scale 1, without refusing −0."""
    rng = np.random.default_rng()
    return (rng.geometric(1 - np.exp(-1), DRAWS) - 1) * rng.choice([-1, 1], DRAWS)


# name, claimed scale, what is drawn instead, tests that must notice
WRONG: list[tuple[str, int, Callable[[], Ints], set[str]]] = [
    ("scale x 0.9", 10, lambda: discrete_laplace(9, DRAWS), {"shape", "variance", "zero"}),
    ("scale x 1.1", 10, lambda: discrete_laplace(11, DRAWS), {"shape", "variance", "zero"}),
    ("scale x 1.1, wide", 10**6, lambda: discrete_laplace(1100000, DRAWS), {"shape", "variance"}),
    ("double zero", 1, double_zero, {"shape", "zero"}),
    ("cut at 20", 10, lambda: discrete_laplace(10, DRAWS).clip(-20, 20), {"shape", "variance"}),
    ("clipped at 0", 10, lambda: discrete_laplace(10, DRAWS).clip(0), {"shape", "symmetry", "zero"}),
    ("rounded Laplace", 1, lambda: np.rint(np.random.laplace(0, 1, DRAWS)).astype(np.int64), {"shape", "zero"}),
    ("reused noise", 10, cache(lambda: discrete_laplace(10, DRAWS)), {"independence", "repeat"}),
    ("constant seed", 10, lambda: np.random.default_rng(7).integers(-30, 30, DRAWS), {"independence", "repeat"}),
    ("each drawn twice", 10, lambda: discrete_laplace(10, DRAWS // 2).repeat(2), {"lag"}),
    ("a lost digit", 1000, lambda: discrete_laplace(1000, DRAWS) & ~1, {"digits"}),
]


@pytest.mark.parametrize(("scale", "draw", "reasons"), [w[1:] for w in WRONG], ids=[w[0] for w in WRONG])
def test_wrong_noise_is_detected(scale: int, draw: Callable[[], Ints], reasons: set[str]) -> None:
    assert reasons <= rejections(draw(), draw(), float(scale))


# What surrounds the draw: forks, threads, state, inputs.

FORKS = """
import os
from dpengine.noise import discrete_laplace
discrete_laplace(1000, 5)  # whatever state there is, the children now inherit
for child in range(2):
    if os.fork() == 0:
        print(discrete_laplace(1000, 20).tolist(), flush=True)
        os._exit(0)
    os.wait()
print(discrete_laplace(1000, 20).tolist())
"""


def test_a_process_and_its_forks_draw_different_noise() -> None:
    done = subprocess.run([sys.executable, "-c", FORKS], capture_output=True, text=True, check=True)
    draws = done.stdout.splitlines()
    assert len(draws) == len(set(draws)) == 3


def test_threads_draw_different_noise() -> None:
    with ThreadPoolExecutor(8) as pool:
        draws = np.concatenate(list(pool.map(lambda _: discrete_laplace(10**6, (4096, 4)), range(24))))
    assert len(np.unique(draws, axis=0)) == len(draws), "four equal draws in a row have a chance below 1e-15"


def test_nothing_random_is_kept_between_calls() -> None:
    discrete_laplace(10, 100)
    assert not [name for name, value in vars(noise).items() if isinstance(value, np.ndarray)]
    assert not any(bits._ZEROS)
    assert pickle.loads(pickle.dumps(discrete_laplace)) is discrete_laplace  # noqa: S301
    for level in _levels(Fraction(1000)):
        assert not level.floors.flags.writeable
        assert not level.guide.flags.writeable


def test_no_other_randomness_is_imported() -> None:
    for module in (noise, bits, exact_exp):
        tree = ast.parse(Path(module.__file__).read_text(encoding="utf-8"))
        imported = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
        imported |= {node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
        assert not {name for name in imported if {"random", "secrets", "uuid", "time", "scipy"} & set(name.split("."))}
        assert "random" not in {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}


@pytest.mark.parametrize("size", [0, 1, 7, _CHUNK - 1, _CHUNK, _CHUNK + 1, 3 * _CHUNK, (), (0, 3), (2, 3, 4)], ids=str)
def test_draws_fill_an_int64_array_of_any_shape(size: int | tuple[int, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    word = 50_000  # U = 0.763, and at scale 2: F(0) = 0.622, F(1) = 0.771
    monkeypatch.setattr(noise, "keystream", lambda: Script(*[word] * 8))
    values = discrete_laplace(2, size)
    assert type(values) is np.ndarray
    assert values.dtype == np.int64
    assert values.shape == np.empty(size).shape
    assert (values == 1).all()


@pytest.mark.parametrize("whole", [1, 12_345, 24_109, 40_961, 65_535])
@pytest.mark.parametrize("beside", [-1, 1])
def test_bounds_on_an_exponential_hold_however_near_it_is_to_a_whole_number(whole: int, beside: int) -> None:
    """Any rounding to the digits in which it is computed would give the whole number itself."""
    exact = Context(prec=60)
    near = exact.divide(exact.add(whole, Decimal(beside).scaleb(-30)), 2**16)
    low, high = exact_exp.exp_bounds(Fraction(exact.minus(exact.ln(near))), 16)
    true = exact.multiply(near, 2**16)
    assert low <= true <= high


@pytest.mark.parametrize("scale", ["10", 10, Fraction(10), "10/1", "10.0"])
def test_a_scale_has_many_spellings_and_one_meaning(scale: Fraction | int | str) -> None:
    assert noise._exact(scale) == 10


@pytest.mark.parametrize("scale", [0.5, 1.0, True, None, np.float64(1), Decimal(1), b"1", [1]])
def test_an_inexact_scale_is_refused(scale: Any) -> None:
    with pytest.raises(NoiseError, match="must be exact"):
        discrete_laplace(scale, 1)


@pytest.mark.parametrize(
    "scale", [0, -1, Fraction(-1, 2), "0", "-1", "", "ten", "inf", "nan", "1e3", "1/0", " 1", "1_0", "٣", 2**40 + 1]
)
def test_an_unusable_scale_is_refused(scale: Any) -> None:
    with pytest.raises(NoiseError, match="scale"):
        discrete_laplace(scale, 1)


def test_an_unusable_size_is_refused() -> None:
    for size in (-1, 1.5, "3", (2, -1), None):
        with pytest.raises(NoiseError, match="size"):
            discrete_laplace(1, size)  # type: ignore[arg-type]


def test_an_error_of_noise_is_one_of_this_program_and_the_built_in_ones_that_it_was() -> None:
    assert issubclass(NoiseError, PrivateReleaseError)
    assert issubclass(NoiseError, ValueError)
    assert issubclass(NoiseError, TypeError)
