"""k-anonymity, ℓ-diversity and t-closeness: properties of a table's form, for comparison; none is a guarantee.

All are functions of the classes of people who look alike on the quasi-identifiers
(`counting.equivalence_classes.Classes`) and of who has which sensitive value in each. They are exact: computing them
spends nothing as long as nobody but the table's owner sees them, and shown to others each is a disclosure without
noise.

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
    "BANDS", "Band", "Profile", "by_size", "classes_of", "distances_equal", "distances_ordered", "distinct", "entropy",
    "k_anonymity", "profile", "recursive",
]  # fmt: skip


BANDS = (1, 2, 3, 5, 10, 20, 50, 100)


@dataclass(frozen=True, slots=True)
class Band:
    """Classes of ``low`` to ``high`` people (None: any number more), and the people in them."""

    low: int
    high: int | None
    classes: int
    people: int


@dataclass(frozen=True, slots=True)
class Profile:
    """What a table's worst class allows: ``k``, three readings of ℓ, two of t, and who is alone in their class.

    The readings of ℓ and t are None without a sensitive column.
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
    """The classes of rows of a lesson, given by how each looks and, where there is one, by its sensitive value."""
    if values and len(values) != len(rows):
        raise PlanError(f"{len(rows)} rows cannot have {len(values)} sensitive values")
    look = {key: place for place, key in enumerate(dict.fromkeys(rows))}
    own = np.array([look[key] for key in rows], dtype=np.int64)
    labels = tuple(sorted(set(values)))
    size = np.bincount(own, minlength=len(look)).astype(np.int64)
    if not values:
        none = np.zeros(0, dtype=np.int64)
        return Classes(size, none, none, none, ())
    value = np.array([labels.index(text) for text in values], dtype=np.int64)
    entries, count = np.unique(own * len(labels) + value, return_counts=True)
    return Classes(size, entries // len(labels), entries % len(labels), count.astype(np.int64), labels)


def k_anonymity(classes: Classes) -> int:
    """k: each person looks like at least k − 1 others (Sweeney 2002, Definition 3)."""
    _check(classes)
    return int(classes.size.min())


def distinct(classes: Classes) -> Ints:
    """Distinct ℓ-diversity, class by class: the number of different sensitive values."""
    _check(classes, sensitive=True)
    return np.bincount(classes.of, minlength=len(classes.size))


def entropy(classes: Classes) -> Floats:
    """Entropy ℓ-diversity, class by class: ℓ = exp(−Σ p ln p) (Machanavajjhala et al. 2007, Definition 4.1)."""
    part = _part(classes)
    spread = np.bincount(classes.of, weights=-part * np.log(part), minlength=len(classes.size))
    effective: Floats = np.exp(np.maximum(spread, 0.0))
    return effective


def recursive(classes: Classes, c: Fraction | int = 3) -> Ints:
    """Recursive (c, ℓ)-diversity, class by class: the largest ℓ with r₁ < c·(r_ℓ + … + r_m), 0 where there is none.

    r₁ ≥ r₂ ≥ … are the counts of the class's sensitive values (Machanavajjhala et al. 2007, Definition 4.2).
    Compared in whole numbers. Raises `PlanError` for c ≤ 0.
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
    kept = count[first][of] * ratio.denominator < left * ratio.numerator
    return np.bincount(of, weights=kept, minlength=len(classes.size)).astype(np.int64)


def distances_equal(classes: Classes) -> Floats:
    """How far each class's sensitive values are from the whole table's, all values equally far apart: ½ Σ |p − q|.

    (Li, Li & Venkatasubramanian 2007, section 4.1.)
    """
    part, whole = _part(classes), _whole(classes)
    own = whole[classes.value]
    unseen = 1 - np.bincount(classes.of, weights=own, minlength=len(classes.size))
    apart = np.bincount(classes.of, weights=np.abs(part - own), minlength=len(classes.size))
    distances: Floats = (apart + unseen) / 2
    return distances


def distances_ordered(classes: Classes) -> Floats:
    """The same for values on a scale, ranked: (1/(m−1)) Σᵢ |Σ_{j≤i} (p_j − q_j)|, a value's distance to the next alike.

    (Li, Li & Venkatasubramanian 2007, section 4.1, ordered distance.) Costs as much as there are entries, however many
    values: between two that a class has, its cumulated share P stands still while the table's, Q, grows, so the sign
    of P − Q changes once, where a search finds it.
    """
    part, whole = _part(classes), _whole(classes)
    size, scale = len(classes.size), len(whole)
    if scale == 1:
        return np.zeros(size)
    cumulated = np.cumsum(whole)
    area = np.concatenate([[0.0], np.cumsum(cumulated)])
    order = np.lexsort((classes.value, classes.of))
    of, value, part = classes.of[order], classes.value[order], part[order]
    first = np.searchsorted(of, np.arange(size))
    before = np.cumsum(part) - part
    reached = before - before[first][of] + part  # P from this value on
    end = np.append(value[1:], scale)
    end[np.append(of[1:] != of[:-1], True)] = scale
    turn = np.clip(np.searchsorted(cumulated, reached), value, end)
    apart = reached * (turn - value) - (area[turn] - area[value]) + (area[end] - area[turn]) - reached * (end - turn)
    total = np.bincount(of, weights=apart, minlength=size) + area[value[first]]
    distances: Floats = np.maximum(total, 0.0) / (scale - 1)
    return distances


def profile(classes: Classes, c: Fraction | int = 3) -> Profile:
    """The worst class in every reading; t ordered ranks the values in the order of ``classes.values``."""
    _check(classes)
    people, unique = int(classes.size.sum()), int(np.count_nonzero(classes.size == 1))
    if not classes.values:
        return Profile(people, len(classes.size), unique, k_anonymity(classes))
    return Profile(
        people=people,
        classes=len(classes.size),
        unique=unique,
        k=k_anonymity(classes),
        distinct=int(distinct(classes).min()),
        entropy=float(entropy(classes).min()),
        recursive=int(recursive(classes, c).min()),
        t_equal=float(distances_equal(classes).max()),
        t_ordered=float(distances_ordered(classes).max()),
    )


def by_size(classes: Classes) -> list[Band]:
    """Classes and people by size of class; all bands from 1 on are there, also empty ones."""
    found = []
    for low, beyond in zip(BANDS, (*BANDS[1:], None), strict=True):
        within = (classes.size >= low) & (classes.size < (beyond or np.inf))
        high = None if beyond is None else beyond - 1
        found.append(Band(low, high, int(np.count_nonzero(within)), int(classes.size[within].sum())))
    return found


def _part(classes: Classes) -> Floats:
    """Each entry's part of its class."""
    _check(classes, sensitive=True)
    total = np.bincount(classes.of, weights=classes.count, minlength=len(classes.size))
    part: Floats = classes.count / total[classes.of]
    return part


def _whole(classes: Classes) -> Floats:
    """The sensitive values' parts of the whole table."""
    total = np.bincount(classes.value, weights=classes.count, minlength=len(classes.values))
    whole: Floats = total / total.sum()
    return whole


def _check(classes: Classes, *, sensitive: bool = False) -> None:
    if not len(classes.size):
        raise PlanError("there is nobody in the table, so there are no classes to look at")
    if sensitive and not classes.values:
        raise PlanError("choose a sensitive column: ℓ and t are about its values")
