"""k-anonymity, ℓ-diversity and t-closeness, for comparison: they describe a table and guarantee nothing.

All are functions of the equivalence classes of people with equal quasi-identifiers
(`counting.equivalence_classes.Classes`), and of the sensitive values in each class. They are exact: they cost no budget
as long as only the table's owner sees them; shown to others, each is a disclosure without noise.

Sources: Sweeney 2002 (k-anonymity); Machanavajjhala, Kifer, Gehrke & Venkitasubramaniam 2007 (ℓ-diversity);
Li, Li & Venkatasubramanian 2007 (t-closeness).
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from dpengine.array_types import Floats, Ints
from dpengine.counting.equivalence_classes import Classes
from dpengine.errors import PlanError

__all__ = [
    "BANDS", "Band", "Profile", "classes_of", "distinct_diversity", "entropy_diversity", "equal_distances",
    "k_anonymity", "ordered_distances", "profile", "recursive_diversity", "size_bands",
]  # fmt: skip

BANDS = (1, 2, 3, 5, 10, 20, 50, 100)


@dataclass(frozen=True, slots=True)
class Band:
    """Number of `classes` of `low` to `high` people (None: no upper limit), and of the `people` in them."""

    low: int
    high: int | None
    classes: int
    people: int


@dataclass(frozen=True, slots=True)
class Profile:
    """Worst class of a table: `k`, three definitions of ℓ, two of t; `unique` people are alone in their class.

    ℓ and t are None without a sensitive column.
    """

    people: int
    classes: int
    unique: int
    k: int
    distinct: int | None = None
    entropy: float | None = None
    recursive: int | None = None
    t_equal: float | None = None
    t_ordered: float | None = None


def classes_of(rows: Sequence[Hashable], values: Sequence[str] = ()) -> Classes:
    """Group `rows` of quasi-identifiers into equivalence classes, with their sensitive `values` if there are any.

    Raises `PlanError` unless there is one value for each row, or none at all.

    >>> classes_of("aab", ["x", "y", "x"]).size.tolist()
    [2, 1]
    """
    if values and len(values) != len(rows):
        raise PlanError(f"{len(rows)} rows cannot have {len(values)} sensitive values")
    number = {key: index for index, key in enumerate(dict.fromkeys(rows))}
    class_of = np.array([number[key] for key in rows], dtype=np.int64)
    labels = tuple(sorted(set(values)))
    size = np.bincount(class_of, minlength=len(number)).astype(np.int64)
    if not values:
        none = np.zeros(0, dtype=np.int64)
        return Classes(size, none, none, none, ())
    value = np.array([labels.index(text) for text in values], dtype=np.int64)
    entries, count = np.unique(class_of * len(labels) + value, return_counts=True)
    return Classes(size, entries // len(labels), entries % len(labels), count.astype(np.int64), labels)


def k_anonymity(classes: Classes) -> int:
    """Return k, the size of the smallest class. Source: Sweeney 2002, Definition 3.

    >>> k_anonymity(classes_of("aabbb"))
    2
    """
    _check(classes)
    return int(classes.size.min())


def distinct_diversity(classes: Classes) -> Ints:
    """Return distinct ℓ-diversity of each class: the number of different sensitive values."""
    _check(classes, sensitive=True)
    return np.bincount(classes.of, minlength=len(classes.size))


def entropy_diversity(classes: Classes) -> Floats:
    """Return entropy ℓ-diversity of each class: ℓ = exp(−Σ p ln p).

    Source: Machanavajjhala et al. 2007, Definition 4.1.
    """
    part = _shares_within_class(classes)
    spread = np.bincount(classes.of, weights=-part * np.log(part), minlength=len(classes.size))
    effective: Floats = np.exp(np.maximum(spread, 0.0))
    return effective


def recursive_diversity(classes: Classes, c: Fraction | int = 3) -> Ints:
    """Return recursive (c, ℓ)-diversity of each class: the largest ℓ with r₁ < c·(r_ℓ + … + r_m), or 0.

    r₁ ≥ r₂ ≥ … are the counts of the class's sensitive values, compared as whole numbers. Raises `PlanError` for
    c ≤ 0.

    Source: Machanavajjhala et al. 2007, Definition 4.2.
    """
    _check(classes, sensitive=True)
    ratio = Fraction(c)
    if ratio <= 0:
        raise PlanError("the c of recursive (c, ℓ)-diversity must be above 0")
    order = np.lexsort((-classes.count, classes.of))
    of, count = classes.of[order], classes.count[order]
    total = np.bincount(of, weights=count, minlength=len(classes.size)).astype(np.int64)
    first = np.searchsorted(of, np.arange(len(classes.size)))
    before = np.cumsum(count) - count
    left = total[of] - (before - before[first][of])  # r_ℓ + … + r_m, at the place of r_ℓ
    satisfied = count[first][of] * ratio.denominator < left * ratio.numerator
    return np.bincount(of, weights=satisfied, minlength=len(classes.size)).astype(np.int64)


def equal_distances(classes: Classes) -> Floats:
    """Return the distance ½ Σ |p − q| of each class's sensitive values from the whole table's.

    All values count as equally far apart. Source: Li, Li & Venkatasubramanian 2007, Section 4.1.
    """
    of_class, of_table = _shares_within_class(classes), _shares_of_table(classes)
    expected = of_table[classes.value]
    unseen = 1 - np.bincount(classes.of, weights=expected, minlength=len(classes.size))
    apart = np.bincount(classes.of, weights=np.abs(of_class - expected), minlength=len(classes.size))
    distances: Floats = (apart + unseen) / 2
    return distances


def ordered_distances(classes: Classes) -> Floats:
    """Return the distance (1/(m−1)) Σᵢ |Σ_{j≤i} (p_j − q_j)| of each class's ranked values from the whole table's.

    Neighbouring values count as equally far apart. Between two values of a class its cumulated share P is constant
    while the table's, Q, grows. So P − Q changes sign once, at a place that a binary search finds, and the running time
    grows with the number of entries but not with the number of values.

    Source: Li, Li & Venkatasubramanian 2007, Section 4.1, ordered distance.
    """
    of_class, of_table = _shares_within_class(classes), _shares_of_table(classes)
    size, scale = len(classes.size), len(of_table)
    if scale == 1:
        return np.zeros(size)
    cumulated = np.cumsum(of_table)
    area = np.concatenate([[0.0], np.cumsum(cumulated)])
    order = np.lexsort((classes.value, classes.of))
    of, value, of_class = classes.of[order], classes.value[order], of_class[order]
    first = np.searchsorted(of, np.arange(size))
    before = np.cumsum(of_class) - of_class
    reached = before - before[first][of] + of_class  # P from this value on
    end = np.append(value[1:], scale)
    end[np.append(of[1:] != of[:-1], True)] = scale
    turn = np.clip(np.searchsorted(cumulated, reached), value, end)
    apart = reached * (turn - value) - (area[turn] - area[value]) + (area[end] - area[turn]) - reached * (end - turn)
    total = np.bincount(of, weights=apart, minlength=size) + area[value[first]]
    distances: Floats = np.maximum(total, 0.0) / (scale - 1)
    return distances


def profile(classes: Classes, c: Fraction | int = 3) -> Profile:
    """Return the worst class by every definition; ordered t ranks the values in the order of `classes.values`.

    Raises `PlanError` for a table without people.
    """
    _check(classes)
    people, unique = int(classes.size.sum()), int(np.count_nonzero(classes.size == 1))
    if not classes.values:
        return Profile(people, len(classes.size), unique, k_anonymity(classes))
    return Profile(
        people=people,
        classes=len(classes.size),
        unique=unique,
        k=k_anonymity(classes),
        distinct=int(distinct_diversity(classes).min()),
        entropy=float(entropy_diversity(classes).min()),
        recursive=int(recursive_diversity(classes, c).min()),
        t_equal=float(equal_distances(classes).max()),
        t_ordered=float(ordered_distances(classes).max()),
    )


def size_bands(classes: Classes) -> list[Band]:
    """Count classes and people by size of class, for every band of `BANDS`, also empty ones."""
    bands = []
    for low, beyond in zip(BANDS, (*BANDS[1:], None), strict=True):
        within = (classes.size >= low) & (classes.size < (beyond or np.inf))
        high = None if beyond is None else beyond - 1
        bands.append(Band(low, high, int(np.count_nonzero(within)), int(classes.size[within].sum())))
    return bands


def _shares_within_class(classes: Classes) -> Floats:
    """Return each entry's share of its class."""
    _check(classes, sensitive=True)
    total = np.bincount(classes.of, weights=classes.count, minlength=len(classes.size))
    part: Floats = classes.count / total[classes.of]
    return part


def _shares_of_table(classes: Classes) -> Floats:
    """Return the sensitive values' shares of the whole table."""
    total = np.bincount(classes.value, weights=classes.count, minlength=len(classes.values))
    shares: Floats = total / total.sum()
    return shares


def _check(classes: Classes, *, sensitive: bool = False) -> None:
    if not len(classes.size):
        raise PlanError("there is nobody in the table, so there are no classes")
    if sensitive and not classes.values:
        raise PlanError("choose a sensitive column: ℓ and t are about its values")
