"""Intervals of the cells of a fitted model, from the noise of single columns and an audit of the model.

The half-width of a cell is the root of a sum of squares, one for each column of the table and one for the model:

* Noise of scale λ in a column changes a cell by λ times the fraction of all rows with its values in the other columns.
  This is known from the plan, and with few people it is nearly all of the error. The fitted counts of a column add up
  to all rows and are never negative, so a fitted count that is small beside the noise, or under noise that is wide
  beside the column's mean, is off by less than the noise.
* A model misses how counts vary around their expectations, and dependences that were not measured. No theory says by
  how much, so it follows from the audit (`marginals.measurement.Audit`). With few people, the audit is mostly noise,
  and the most that models miss of public tables is a better bound.

Take a cell in a table of two columns, with expected count m, whose values have the fractions p and q of all rows. Given
the counts of the columns, its count has variance m·(1 − p)·(1 − q) if m is right: hardly any if p or q is near 1. So
errors of a model are taken to be c·m^g·√((1 − p)·(1 − q)) on average; in tables of more columns, p and q are the two
smallest fractions. The audit covers measured tables too, where errors are small; so in a table that was not measured,
c·m^g is at least the mean error of a model that is right, with counts that vary like Poisson variables.

Source: the variance of adjusted residuals, Haberman 1973, "The analysis of residuals in cross-classified tables",
Biometrics 29. The powers, and what multiple of a mean error holds 95 %, were set on public tables
(benchmarks/intervals.py).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import combinations

import numpy as np

from dpengine.array_types import Floats
from dpengine.marginals.measurement import AUDIT_EDGES, Audit

__all__ = [
    "POWERS",
    "believed_error",
    "error_by_size",
    "mean_errors",
    "min_believed_error",
    "min_factor",
    "min_half_widths",
    "model_half_widths",
    "of_95_in_100",
    "shape_of",
    "usual_error",
]

TAIL = 3.7  # 95 % of a model's errors are within this multiple of their mean
NOISE_TAIL = 3.0  # 95 % of Laplace noise is within this multiple of its mean, the scale
SMALL_COUNT = 2.0, 1.0  # 95 % of errors of small fitted counts are within this · scale of the noise + this · count
WIDE_NOISE = 1.0, 2.5  # under wide noise, they are within this · mean of the column + this · count
EARLIER_WIDE = 3.0  # factor on both in releases of earlier versions, whose intervals stay as they were stated
BOTH_TAIL = 0.25  # share of the product of two columns' half-widths: both are seldom far off at once
MEASURED_TAIL = 5.0  # in a table that was measured, no half-width of a model exceeds this multiple of the noise scale
POISSON = math.sqrt(2 / math.pi)  # mean distance of a Poisson variable from its mean, as a part of the mean's root
MIN_HALF_WIDTH = 1.0  # a cell that a model expects to hold less than one half may hold one
EMPTY = 0.05  # smaller expected counts have the error of this one
POWERS = np.linspace(0.5, 1.0, 5)  # g, the grid of `error_by_size`
USUAL, VARIES = 0.75, 0.1  # the power where sums of errors say nothing of it, and by how much it differs
UNEVEN = 0.2  # part of a sum of errors by which sizes differ beyond any power
MISSED, MEASURED_FROM, AUDIT_NOISE = 0.14, 20_000, 4_000  # what c usually is: see `usual_error`
CLEAR = 3.0  # multiple of the noise beyond which a sum of one size is evidence by itself
MAX_MISSED = 3.0  # multiple of a model's usual error: more is believed only of sums that are clear of noise


def model_half_widths(
    expected: Floats,
    scales: Sequence[float | Floats],
    error: tuple[float, float],
    own_scale: float | Floats | None = None,
    people: float | None = None,
) -> Floats:
    """Return the 95 % half-width of each cell of a table of `expected` counts.

    `scales` are those of the noise of its columns, one for each axis, and `error` is the result of
    `believed_error`. There are at most so many `people`; by default, those expected. `own_scale` is that of the
    noise in the table itself, if it was measured. The model follows its noisy counts, so half-widths are at most
    `MEASURED_TAIL` times that scale, and at least `NOISE_TAIL` times it for expected counts that exceed it. Each scale
    may be an array, where cells add up different numbers of measured ones.

    >>> model_half_widths(np.array([[40.0, 40.0], [10.0, 10.0]]), [1.0, 2.0], (0.0, 0.75)).round(2)
    array([[7.76, 7.76],
           [6.21, 6.21]])
    """
    parts, errors = _parts(expected), mean_errors(expected, *error)
    if own_scale is None:
        errors = np.maximum(errors, mean_errors(expected, POISSON, 0.5))
    squares = (TAIL * errors * _freedom(parts)) ** 2 + _column_squares(expected, parts, scales, people)
    return _within_own(np.maximum(MIN_HALF_WIDTH, np.sqrt(squares)), expected, own_scale)


def min_half_widths(
    expected: Floats,
    scales: Sequence[float | Floats],
    own_scale: float | Floats | None = None,
    people: float | None = None,
    error: tuple[float, float] = (0.0, USUAL),
) -> Floats:
    """Return at most `model_half_widths`; by default what the noise of single columns alone gives, whatever the error.

    It is also at most what earlier versions gave, whose counts did not grow with the uncertainty of the total.

    >>> min_half_widths(np.array([[40.0, 40.0], [10.0, 10.0]]), [1.0, 2.0]).round(2)
    array([[5.03, 5.03],
           [1.92, 1.92]])
    """
    parts, (total, most) = _parts(expected), _totals(expected, people)
    off = [
        np.minimum(now, EARLIER_WIDE * (part * total + most / part.size))
        for now, part in zip(_off(parts, total, most, scales), parts, strict=True)
    ]
    errors = TAIL * mean_errors(expected, *error) * _freedom(parts)
    squares = sum(_squares_of_each(parts, off), errors**2)
    return _within_own(np.maximum(MIN_HALF_WIDTH, np.sqrt(squares)), expected, own_scale)


def _within_own(half_widths: Floats, expected: Floats, own_scale: float | Floats | None) -> Floats:
    """Return half-widths between the least and the greatest of a table that was measured with noise of `own_scale`."""
    if own_scale is None:
        return half_widths
    least = np.where(expected >= own_scale, NOISE_TAIL * own_scale, MIN_HALF_WIDTH)
    return np.clip(half_widths, least, np.maximum(MEASURED_TAIL * own_scale, MIN_HALF_WIDTH))


def mean_errors(expected: Floats, factor: float, power: float) -> Floats:
    """Return the mean absolute error of a model's cells of the `expected` counts, in columns of many small cells.

    >>> mean_errors(np.array([0.0, 100.0]), 2.0, 0.5).round(2)
    array([ 0.45, 20.  ])
    """
    mean: Floats = factor * np.maximum(expected, EMPTY) ** power
    return mean


def error_by_size(audit: Audit, tables: Sequence[Floats]) -> tuple[float, float]:
    """Return c and g such that cells of expected count m are off by about c·m^g·√((1 − p)·(1 − q)) on average.

    `tables` are the expected counts of the audited tables. The possibly very many cells that are expected to hold less
    than one person are taken to be off by c·m: nearly all of them are off by m, and a few by one. The power g is near
    the usual one, and fits the sums of errors by size best. Then c is such that all errors add up to the audited sum
    plus the scale of its noise, so that intervals are wide enough on average over the noise. It is larger if the sum of
    one size is clearly larger than that; but no cell is off by more than all of them together, which matters where a
    model expects hardly anybody.
    """
    sums, noise = audit.sums / audit.grain, float(audit.scale) / audit.grain
    size = np.concatenate([np.digitize(each, AUDIT_EDGES[sums.size]).ravel() for each in tables])
    expected = np.concatenate([each.ravel() for each in tables])
    freedom = np.concatenate([_freedom(_parts(each)).ravel() for each in tables])
    weight = 1 / (2 * noise**2 + (UNEVEN * np.maximum(sums, 0)) ** 2)
    total = max(float(sums.sum()), 0.0) + noise * math.sqrt(sums.size)
    fits = []
    for power in POWERS:
        mean = np.where(expected < 1, expected, expected**power)
        shape = np.bincount(size, freedom * mean, minlength=sums.size) + 1e-9
        c = max(float((weight * shape) @ sums) / float((weight * shape) @ shape), 0.0)
        misfit = float(weight @ (sums - c * shape) ** 2) + ((power - USUAL) / VARIES) ** 2
        of_all = total / shape.sum()
        of_each = (sums - CLEAR * noise) / np.maximum(shape, noise / of_all)  # a size of few cells has noise alone
        fits.append((misfit, min(max(of_all, float(of_each.max())), total / EMPTY**power), float(power)))
    return min(fits)[1:]


def believed_error(error: tuple[float, float], audit: Audit, people: float, epsilon: float) -> tuple[float, float]:
    """Return the `error` of `error_by_size` without most of the audit's own noise, which widens it.

    With few people, that noise is many times what any model misses. Then the error is the most that a model of so many
    `people`, each with this ε, misses, unless the sums clear of their noise show more. The noise of columns, which the
    sums hold too, counts by itself.
    """
    factor, power = error
    noise = float(audit.scale) / audit.grain * math.sqrt(audit.sums.size)
    total = max(float(audit.sums.sum()) / audit.grain, 0.0)
    surely = factor * max(total - CLEAR * noise, 0.0) / (total + noise)
    return min(factor, max(MAX_MISSED * _missed(people, epsilon), surely)), power


def min_believed_error(error: tuple[float, float], people: float, epsilon: float) -> tuple[float, float]:
    """Return the least that `believed_error` may be, whatever sums an audit has."""
    factor, power = error
    return min(factor, MAX_MISSED * _missed(people, epsilon)), power


def min_factor(shape: float, power: float, noise: float) -> float:
    """Return the least factor of `error_by_size`: if all sums of an audit are 0, given the `noise` in all of them.

    `shape` is at least the sum of `shape_of` all audited tables.
    """
    factor: float = noise / max(shape, EMPTY**power)
    return factor


def shape_of(expected: Floats, power: float) -> float:
    """Return the sum of `expected` counts to a power, below 1 of these themselves: of errors, if no column has all."""
    expected = np.maximum(expected, 0)
    return float(np.where(expected < 1, expected, expected**power).sum())


def usual_error(rows: float, epsilon: float) -> tuple[float, float]:
    """Predict the result of `believed_error` from the number of rows and the ε of a row, as in public tables.

    The noise of the audit is added to what a model misses, as far as it is believed.

    >>> [round(usual_error(rows, 1.0)[0], 2) for rows in (1_600, 50_000)]
    [1.79, 1.03]
    """
    missed = _missed(rows, epsilon)
    return min(math.sqrt(missed**2 + AUDIT_NOISE / max(rows * epsilon, 1.0)), MAX_MISSED * missed), USUAL


def _missed(rows: float, epsilon: float) -> float:
    """Return the factor c of a model of public tables with this many `rows` and this ε per row, without any noise.

    The dependence that a model misses grows with the rows, and falls as more pairs are measured.
    """
    missed: float = MISSED * max(rows, 1.0) ** 0.25 * (1 + max(rows * epsilon, 1.0) / MEASURED_FROM) ** -0.6
    return missed


def _column_squares(
    expected: Floats, parts: Sequence[Floats], scales: Sequence[float | Floats], people: float | None
) -> Floats:
    """Return the squared half-width of each cell by the noise of its columns, of which two may be off at once."""
    total, most = _totals(expected, people)
    off = _off(parts, total, most, scales)
    squares = np.zeros(expected.shape)
    for square in _squares_of_each(parts, off):
        squares += square
    for both in combinations(range(len(parts)), 2):
        product = math.prod(np.minimum(off[k] / most, 1.0) if k in both else part for k, part in enumerate(parts))
        squares += (BOTH_TAIL * most * product) ** 2
    return squares


def _squares_of_each(parts: Sequence[Floats], off: Sequence[Floats]) -> Iterator[Floats]:
    """Yield the squared half-width of each cell by the noise of each of its columns alone."""
    for axis, one in enumerate(off):
        yield (one * math.prod(part for k, part in enumerate(parts) if k != axis)) ** 2


def _off(parts: Sequence[Floats], total: float, most: float, scales: Sequence[float | Floats]) -> list[Floats]:
    """Return by how much the fitted counts of each column may be off, if there are `total` people, or `most`."""
    return [
        _column_error(part * (total + most) / 2, most / part.size, scale)
        for part, scale in zip(parts, scales, strict=True)
    ]


def _totals(expected: Floats, people: float | None) -> tuple[float, float]:
    """Return how many people are expected, and how many there are at most."""
    total = max(float(expected.sum()), 1e-9)
    return total, max(people or total, total)


def _column_error(counts: Floats, mean: float, scale: float | Floats) -> Floats:
    """Return what 95 % of the errors of a column's fitted `counts` are within; `scale` is that of its noise.

    >>> _column_error(np.array([0.0, 50.0, 1_000.0]), 350.0, 100.0)
    array([200., 250., 300.])
    >>> _column_error(np.array([0.0, 50.0, 1_000.0]), 350.0, 1_000.0)
    array([ 350.,  475., 2850.])
    """
    small = SMALL_COUNT[0] * scale + SMALL_COUNT[1] * counts
    wide = WIDE_NOISE[0] * mean + WIDE_NOISE[1] * counts
    return np.minimum(NOISE_TAIL * scale, np.minimum(small, wide))


def of_95_in_100(half_widths: Floats) -> float:
    """Return the half-width that 95 in 100 cells do not exceed."""
    place = math.ceil(0.95 * (half_widths.size - 1))
    return float(np.partition(half_widths, place, axis=None)[place])  # np.quantile takes several times as long


def _parts(expected: Floats) -> list[Floats]:
    """Return for each axis the fraction of all rows at each of its places, shaped to be multiplied with the others."""
    axes, total = range(expected.ndim), max(float(expected.sum()), 1e-9)
    return [expected.sum(axis=tuple(k for k in axes if k != axis), keepdims=True) / total for axis in axes]


def _freedom(parts: Sequence[Floats]) -> Floats:
    """Return √((1 − p)·(1 − q)) of every cell, where p and q are the two smallest of its `parts`."""
    first = second = np.zeros(np.broadcast_shapes(*(part.shape for part in parts)))
    for part in parts:
        free = np.clip(1 - part, 0, 1)
        first, second = np.maximum(first, free), np.maximum(second, np.minimum(first, free))
    product: Floats = np.sqrt(first * second)
    return product
