"""Quantiles of amounts in each cell of a table, from the noisy tables that give their means (`spec.numeric.amount`).

Each row is shared between the two knots around its value. So the weights at the knots up to the k-th, added up, are
the average of F, the number of people with at most a value, over the values from knot k to the next one: people up to
knot k count as 1, those from the next one on as 0, and in between the weight falls evenly. Nothing more is measured
than for means, so nothing more is spent. All of this is post-processing of noisy numbers (Dwork & Roth 2014,
Proposition 2.1), in which a row, whose weights add up to 1, is protected as in any table.

The estimate takes each cell's distribution, from noisy sums, as one whose group differs smoothly from all people
(`estimate.distributions`), and reads quantiles from a curve with the same averages between knots. Releases made before
that took each sum by itself, and straight lines between the middles of intervals; theirs stay as they were published.

An interval needs no assumption. Let S_k be the exact sum, n the people and p the requested fraction. If S_k ≥ p·n, then
p·n people lie below knot k + 1; if S_k < p·n, fewer than p·n lie at knot k or below. For the first k with S_k ≥ p·n,
the quantile is therefore between the knots k − 1 and k + 1. The interval covers all k that the noisy values of S_k −
p·n, whose noise has a known distribution, do not contradict at 2.5 % on each side. For a group too small for its noise,
that is the whole range; without any noise, it reaches over two intervals between knots.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from decimal import Decimal

import numpy as np

from dpengine.array_types import Columns, Floats, Ints
from dpengine.estimate.amounts import SoftEstimates, means_of
from dpengine.estimate.distributions import fit_distributions, reach, rising
from dpengine.spec.domain import Amount

__all__ = ["fit_quantiles", "legacy_fit", "legacy_quantiles", "quantile_half_widths", "quantile_intervals"]

LEGACY_KURTOSIS = 5.0  # less 1, of Laplace noise: it bounds how far its squares vary


def fit_quantiles(
    amount: Amount, table: Columns, known: Ints, parts: Sequence[Decimal], soft: SoftEstimates
) -> list[Ints]:
    """Return the quantiles at `parts` in each cell of `table`, in steps above the amount's low end.

    `known` are the people of each cell whose amount is known. Quantiles increase with their fraction.
    """
    knots, fractions = np.array(amount.knot_places, dtype=np.float64), list(map(float, parts))
    reached = reach(fractions, knots, fit_distributions(amount, table, known, soft))
    return [np.rint(places).astype(np.int64) for places in reached]


def legacy_quantiles(
    amount: Amount, table: Columns, known: Ints, parts: Sequence[Decimal], soft: SoftEstimates
) -> list[Ints]:
    """Return quantiles by the rule of earlier releases, from before distributions were estimated as a whole.

    Each sum, as a fraction of the people, is shrunk towards that of all people as far as it is noise, like means
    (`estimate.amounts.means_of`); then the sums are made increasing.
    """
    knots, missing = len(amount.all_knots), [0.0] if amount.missing else []
    stages = [stage for stage in dict.fromkeys([*((name,) for name in table), table]) if stage]
    among = [1.0] * knots + missing
    sums = np.stack([
        means_of(
            amount, table, known, [1.0] * (k + 1) + [0.0] * (knots - k - 1) + missing, stages, soft, legacy_fit, among
        )
        for k in range(knots - 1)
    ])  # fmt: skip
    at = np.array(amount.knot_places, dtype=np.float64)
    places, heights = _with_ends(at, rising(sums))
    return [np.rint(_reaching(float(part), places, heights)).astype(np.int64) for part in parts]


def legacy_fit(sums: Floats, people: Floats, variance: float) -> Floats:
    """Return means as in earlier releases: the part of each noisy sum that is expected not to be noise, ÷ people.

    The expected square of a cell's sum is a·people² + b·people, a and b ≥ 0 fitted to the noisy squares. Source: the
    estimator of James & Stein 1961, as Efron & Morris 1975 state it.
    """
    squares = (sums**2 - variance * max(0.0, 1 - math.sqrt(LEGACY_KURTOSIS / people.size))).ravel()
    scale = max(float(people.max(initial=0)), 1.0)
    x = np.stack([(people.ravel() / scale) ** 2, people.ravel() / scale])
    both = np.linalg.lstsq(x.T, squares, rcond=None)[0]
    if both.min() < 0:
        alone = np.maximum(x @ squares, 0) / np.maximum((x**2).sum(axis=1), 1e-300)
        errors = [((squares - alone[k] * x[k]) ** 2).sum() for k in (0, 1)]
        both = np.where(np.arange(2) == int(np.argmin(errors)), alone, 0.0)
    signal = (both @ x).reshape(people.shape)
    fitted: Floats = signal / (signal + variance) * sums / np.maximum(people, 1e-300)
    return fitted


def _with_ends(knots: Floats, sums: Floats) -> tuple[Floats, Floats]:
    """Return places, which are the middles between `knots` and both ends, and the fractions of people up to them.

    Straight lines are extended to the ends. The parts that then remain to 0 and to 1 are people at the bounds
    themselves, such as those without income.
    """
    middles = (knots[:-1] + knots[1:]) / 2
    low = sums[0] - (sums[1] - sums[0]) * (middles[0] - knots[0]) / (middles[1] - middles[0])
    high = sums[-1] + (sums[-1] - sums[-2]) * (knots[-1] - middles[-1]) / (middles[-1] - middles[-2])
    ends = np.clip(low, 0.0, sums[0]), np.clip(high, sums[-1], 1.0)
    return np.array([knots[0], *middles, knots[-1]]), np.concatenate([ends[0][None], sums, ends[1][None]])


def _reaching(part: float, places: Floats, heights: Floats) -> Floats:
    """Return where `heights`, increasing along the first axis, reach `part`, on straight lines between `places`.

    >>> _reaching(0.5, np.array([0.0, 10.0, 20.0]), np.array([0.0, 0.25, 1.0]))
    array(13.33333333)
    """
    first = np.asarray((heights < part).sum(axis=0))
    after, before = np.clip(first, 1, len(places) - 1), np.clip(first, 1, len(places) - 1) - 1
    high, low = (np.take_along_axis(heights, each[None], axis=0)[0] for each in (after, before))
    share = np.clip(np.divide(part - low, high - low, out=np.zeros(low.shape), where=high > low), 0.0, 1.0)
    between = places[before] + share * (places[after] - places[before])
    crossings: Floats = np.where(first == 0, places[0], np.where(first == len(places), places[-1], between))
    return crossings


def quantile_intervals(
    amount: Amount, table: Columns, parts: Sequence[Decimal], soft: SoftEstimates
) -> list[tuple[Ints, Ints]]:
    """Return the ends of the 95 % interval of each quantile in each cell of `table`, in steps above the low end.

    Both ends increase with the fraction of people: if noise makes them decrease, intervals are widened.
    """
    running = _running(amount, soft.estimate((*table, amount.name)))
    at, pieces = np.array(amount.knot_places), [_pieces(running, part, amount, table, soft) for part in parts]
    low = np.minimum.accumulate(np.stack([at[first] for first, _ in pieces])[::-1])[::-1]
    return list(zip(low, np.maximum.accumulate(np.stack([at[last] for _, last in pieces])), strict=True))


def quantile_half_widths(
    amount: Amount, rows: Floats, table: Columns, parts: Sequence[Decimal], soft: SoftEstimates
) -> list[Floats]:
    """Predict the half-widths of intervals of quantiles, in the amount's own unit.

    `rows` are the expected rows of each cell of `table` with the amount as last axis.
    """
    running, at = _running(amount, rows), np.array(amount.knot_values)
    pieces = (_pieces(running, part, amount, table, soft) for part in parts)
    return [(at[last] - at[first]) / 2 for first, last in pieces]


def _running(amount: Amount, rows: Floats) -> Floats:
    """Return the rows at the knots up to each one, along the first axis."""
    sums: Floats = np.moveaxis(rows[..., : len(amount.all_knots)], -1, 0).cumsum(axis=0)
    return sums


def _pieces(running: Floats, part: Decimal, amount: Amount, table: Columns, soft: SoftEstimates) -> tuple[Ints, Ints]:
    """Return the first and the last knot of the 95 % interval of a quantile in each cell of `table`."""
    missing, share, last = [0.0] if amount.missing else [], float(part), len(running) - 1
    excess = running[:-1] - share * running[-1]
    coefficients = [[1 - share] * (k + 1) + [-share] * (last - k) + missing for k in range(last)]
    widths = [soft.noise_along((*table, amount.name), each)[1] for each in coefficients]
    width = np.array(widths).reshape(-1, *[1] * len(table))
    always = np.ones((1, *excess.shape[1:]), dtype=bool)
    reached, not_before = np.concatenate([excess >= -width, always]), np.concatenate([always, excess <= width])
    fits = reached & not_before
    fits |= ~fits.any(axis=0)  # with unbounded noise, nothing is known
    first, beyond_last = np.maximum(fits.argmax(axis=0) - 1, 0), np.minimum(last - fits[::-1].argmax(axis=0) + 1, last)
    return first, beyond_last
