"""Linkage: names found again in a table without names, and conditions guessed, in a made-up town.

Sweeney (2000, "Simple demographics often identify people uniquely") linked a hospital table to a list of voters on
ZIP code, date of birth and sex. Here both are made up, with a seed, so that everyone can repeat it. Condition is
independent of all else: whatever an attacker learns of someone's condition beyond the town's averages comes from that
person's own row, and the same attack with that row taken out shows what chance gives.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pyarrow as pa

from dpengine.array_types import Bools, Floats, Ints
from dpengine.errors import PlanError
from dpengine.lessons.success_rate import Rate
from dpengine.release import release
from dpengine.spec.plan import Plan

__all__ = [
    "CONDITIONS", "Guesses", "Named", "Published", "Town", "composed", "generalised", "guessed", "k_anonymised",
    "made_up_town", "named", "raw", "released",
]  # fmt: skip


ZIPS = ("02138", "02139", "02140", "02141", "02142", "02143", "02144", "02145")
CONDITIONS = (
    "Heart disease", "Viral infection", "Injury", "Diabetes", "Cancer", "Depression", "Asthma", "Stroke",
)  # fmt: skip
_COMMON = (0.2, 0.17, 0.15, 0.13, 0.11, 0.1, 0.08, 0.06)
DAYS = 29_220  # in 80 years
DECADE = DAYS // 8


@dataclass(frozen=True, slots=True)
class Town:
    """Residents, one place each in every array.

    ``zip``, ``sex`` and ``condition`` are codes, ``birth`` is in days; ``voter`` says who stands on the public list,
    ``ours`` and ``other`` who was a patient of the hospital that publishes, and of another one.
    """

    zip: Ints
    birth: Ints
    sex: Ints
    condition: Ints
    voter: Bools
    ours: Bools
    other: Bools

    @property
    def looks(self) -> Ints:
        """ZIP code, day of birth and sex, of shape (residents, 3)."""
        return np.stack([self.zip, self.birth, self.sex], axis=1)


def made_up_town(residents: int = 40_000, patients: int = 4_000, seed: int = 0) -> Town:
    """A town of so many residents, of whom two hospitals have ``patients`` each, at random, 400 of them in common."""
    if not 0 < 2 * patients <= residents:
        raise PlanError("a town needs more residents than both its hospitals have patients")
    chance = np.random.default_rng(seed)
    order = chance.permutation(residents)
    both = patients // 10
    ours, other = np.zeros(residents, dtype=np.bool_), np.zeros(residents, dtype=np.bool_)
    ours[order[:patients]] = True
    other[order[patients - both : 2 * patients - both]] = True
    return Town(
        zip=chance.integers(0, len(ZIPS), residents),
        birth=chance.integers(0, DAYS, residents),
        sex=chance.integers(0, 2, residents),
        condition=chance.choice(len(CONDITIONS), residents, p=_COMMON),
        voter=chance.random(residents) < 0.7,
        ours=ours,
        other=other,
    )


@dataclass(frozen=True, slots=True)
class Named:
    """Of ``patients`` in the table, ``claimed`` got a name, and ``right`` the right one."""

    patients: int
    claimed: int
    right: int

    @property
    def found(self) -> Rate:
        return Rate(self.right, self.patients)


def named(town: Town, *, days: int = 1, zips: int = 1) -> Named:
    """Join the table to the list of voters: a name is claimed where a row fits one voter, and no other row does.

    ``days`` and ``zips`` say how coarse date of birth and ZIP code are in the table: 1 is exact, 3,652 days a decade.
    """
    key = (town.zip // zips * (DAYS + 1) + town.birth // days) * 2 + town.sex
    rows, voters = np.flatnonzero(town.ours), np.flatnonzero(town.voter)
    listed, at, times = np.unique(key[voters], return_index=True, return_counts=True)
    held, where, often = np.unique(key[rows], return_index=True, return_counts=True)
    _, mine, theirs = np.intersect1d(held[often == 1], listed[times == 1], assume_unique=True, return_indices=True)
    claimed = rows[where[often == 1][mine]]
    right = claimed == voters[at[times == 1][theirs]]
    return Named(rows.size, claimed.size, int(np.count_nonzero(right)))


def generalised(points: Ints, members: Bools, k: int) -> Ints:
    """The box of a ``k``-anonymous table that each of ``points``, shape (people, columns), falls into.

    All of space is halved at the median of the widest column of the ``members``, again and again, while each half
    keeps ``k`` of them. (LeFevre, DeWitt & Ramakrishnan 2006, "Mondrian".) Raises `PlanError` where there are
    fewer than ``k`` members, or k < 1.
    """
    inside = np.flatnonzero(members)
    if not 1 <= k <= inside.size:
        raise PlanError(f"{inside.size:,} people cannot be made {k:,}-anonymous")
    width = np.maximum(np.ptp(points[inside], axis=0), 1)
    box, boxes = np.zeros(len(points), dtype=np.int64), 0
    waiting = [(inside, np.arange(len(points)))]
    while waiting:
        held, all_within = waiting.pop()
        own = points[held]
        for axis in np.argsort(-np.ptp(own, axis=0) / width, kind="stable"):
            middle = np.partition(own[:, axis], held.size // 2)[held.size // 2]
            below = own[:, axis] < middle
            if k <= np.count_nonzero(below) <= held.size - k:
                under = points[all_within, axis] < middle
                waiting += [(held[below], all_within[under]), (held[~below], all_within[~under])]
                break
        else:
            box[all_within] = boxes
            boxes += 1
    return box


@dataclass(frozen=True, slots=True)
class Published:
    """What a reader has: for each resident the group they would be counted in, and by group and condition a count.

    ``noise`` is the ε of the noise in the counts, None where they are exact.
    """

    group: Ints
    counts: Floats
    noise: Fraction | None = None


def raw(town: Town) -> Published:
    """The table without names: a group for each ZIP code, day of birth and sex."""
    group = np.unique(town.looks, axis=0, return_inverse=True)[1].reshape(-1)
    return Published(group, _held(town, town.ours, group))


def k_anonymised(town: Town, k: int) -> Published:
    """A ``k``-anonymous table: a group for each class."""
    group = generalised(town.looks, town.ours, k)
    return Published(group, _held(town, town.ours, group))


def released(town: Town, epsilon: Fraction) -> Published:
    """Our own release by ZIP code, decade of birth, sex and condition: drawn afresh each time, without a seed."""
    decade = np.minimum(town.birth // DECADE, 7)
    values = {
        "zip": ZIPS,
        "decade": tuple(f"{1930 + 10 * k}s" for k in range(8)),
        "sex": ("F", "M"),
        "condition": CONDITIONS,
    }
    codes = {"zip": town.zip, "decade": decade, "sex": town.sex, "condition": town.condition}
    rows = {name: np.array(values[name])[codes[name][town.ours]].tolist() for name in values}
    declared = [
        {"name": name, "kind": "category", "values": list(labels), "other": False, "missing": False}
        for name, labels in values.items()
    ]
    plan = Plan(dataset="lesson", epsilon=epsilon, columns=declared, tables=[list(values)])
    estimates = release(pa.table(rows), plan).cells(tuple(values))["estimate"]
    group = (town.zip * 8 + decade) * 2 + town.sex
    return Published(group, estimates.reshape(-1, len(CONDITIONS)), epsilon)


@dataclass(frozen=True, slots=True)
class Guesses:
    """How often a condition was guessed right: of people in the table, and of the same had they not been in it."""

    inside: Rate
    outside: Rate

    @property
    def advantage(self) -> float:
        """What being in the table cost."""
        return self.inside.share - self.outside.share


def guessed(town: Town, published: Published, *, informed: bool = False) -> Guesses:
    """Guess the condition of every patient of our hospital from what was published, with their row in it and without.

    The guess is the commonest condition of the person's group, or of the town where there is nobody in it. An
    ``informed`` attacker knows the conditions of all others in the group: they take these away, and guess what is most
    likely to be left, given the noise and how common each condition is in town (Bayes' rule; no guess does better).

    Without the person means: their own row taken out of the counts, groups and noise staying as they are. Under ε the
    chance of being right with a row is at most e^ε that without it.
    """
    people = np.flatnonzero(town.ours)
    group, own = published.group[people], (np.arange(people.size), town.condition[people])
    others = _held(town, town.ours, published.group)[group]
    others[own] -= 1
    common = np.log(np.array(_COMMON))

    def rate(seen: Floats) -> Rate:
        score = seen + 1e-6 * common
        if informed:
            rate_of_noise = 700.0 if published.noise is None else float(published.noise)
            left = seen - others
            score = rate_of_noise * (np.abs(left) - np.abs(left - 1)) + common
        return Rate(int(np.count_nonzero(score.argmax(axis=1) == own[1])), people.size)

    present = published.counts[group]
    absent = present.copy()
    absent[own] -= 1
    return Guesses(rate(present), rate(absent))


def composed(town: Town, k: int) -> tuple[Rate, Rate]:
    """Of patients of both hospitals: how often one ``k``-anonymous table gives their condition away, and how often two.

    A table gives it away where all of the class have the same; two do where their classes have but one condition in
    common. (Ganta, Kasiviswanathan & Smith 2008, "Composition attacks and auxiliary information in data privacy".)
    """
    both = np.flatnonzero(town.ours & town.other)
    held = []
    for rows in (town.ours, town.other):
        group = generalised(town.looks, rows, k)
        held.append(_held(town, rows, group)[group[both]] > 0)
    one, two = (int(np.count_nonzero(sets.sum(axis=1) == 1)) for sets in (held[0], held[0] & held[1]))
    return Rate(one, both.size), Rate(two, both.size)


def _held(town: Town, rows: Bools, group: Ints) -> Floats:
    """Rows by group and condition, of shape (groups, conditions)."""
    groups = int(group.max()) + 1
    cells = group[rows] * len(CONDITIONS) + town.condition[rows]
    counts = np.bincount(cells, minlength=groups * len(CONDITIONS)).astype(np.float64)
    return counts.reshape(groups, len(CONDITIONS))
