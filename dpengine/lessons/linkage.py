"""Linkage attacks in a made-up town: find names for a table without names, and guess medical conditions.

Sweeney (2000, "Simple demographics often identify people uniquely") linked a hospital table to a list of voters on
ZIP code, date of birth and sex. Here both are made up, with a seed, so that everyone can repeat it. Conditions are
independent of everything else, so all that an attacker learns about a person's condition beyond the town's averages
comes from that person's own row. The same attack without that row shows what chance gives.
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
    "CONDITIONS", "Guesses", "Linked", "Published", "Town", "composition_attack", "generalise", "guess_conditions",
    "link_names", "made_up_town", "publish_k_anonymous", "publish_raw", "publish_release",
]  # fmt: skip

ZIPS = ("02138", "02139", "02140", "02141", "02142", "02143", "02144", "02145")
CONDITIONS = (
    "Heart disease", "Viral infection", "Injury", "Diabetes", "Cancer", "Depression", "Asthma", "Stroke",
)  # fmt: skip
_FREQUENCY = (0.2, 0.17, 0.15, 0.13, 0.11, 0.1, 0.08, 0.06)
DAYS = 29_220  # in 80 years
DECADE = DAYS // 8


@dataclass(frozen=True, slots=True)
class Town:
    """Residents as parallel arrays.

    `zip`, `sex` and `condition` are codes, `birth` is in days. `voter` says who is on the public list,
    `patients_here` who was a patient of the hospital that publishes, `patients_elsewhere` who was a patient of another
    hospital.
    """

    zip: Ints
    birth: Ints
    sex: Ints
    condition: Ints
    voter: Bools
    patients_here: Bools
    patients_elsewhere: Bools

    @property
    def quasi_identifiers(self) -> Ints:
        """ZIP code, day of birth and sex, of shape (residents, 3)."""
        return np.stack([self.zip, self.birth, self.sex], axis=1)


def made_up_town(residents: int = 40_000, patients: int = 4_000, seed: int = 0) -> Town:
    """Make up a town with two hospitals of `patients` each, drawn at random; a tenth of the patients were in both.

    Raises `PlanError` unless there are at least twice as many residents as patients.
    """
    if not 0 < 2 * patients <= residents:
        raise PlanError("a town needs more residents than both its hospitals have patients")
    rng = np.random.default_rng(seed)
    order = rng.permutation(residents)
    both = patients // 10
    patients_here, patients_elsewhere = np.zeros(residents, dtype=np.bool_), np.zeros(residents, dtype=np.bool_)
    patients_here[order[:patients]] = True
    patients_elsewhere[order[patients - both : 2 * patients - both]] = True
    return Town(
        zip=rng.integers(0, len(ZIPS), residents),
        birth=rng.integers(0, DAYS, residents),
        sex=rng.integers(0, 2, residents),
        condition=rng.choice(len(CONDITIONS), residents, p=_FREQUENCY),
        voter=rng.random(residents) < 0.7,
        patients_here=patients_here,
        patients_elsewhere=patients_elsewhere,
    )


@dataclass(frozen=True, slots=True)
class Linked:
    """Outcome of a linkage: `claimed` of the `patients` in the table got a name, `correct` of them their own."""

    patients: int
    claimed: int
    correct: int

    @property
    def rate(self) -> Rate:
        """Share of the patients who got their own name."""
        return Rate(self.correct, self.patients)


def link_names(town: Town, *, days: int = 1, zips: int = 1) -> Linked:
    """Join the hospital's table to the list of voters; claim a name if a row and a voter fit each other and no other.

    `days` and `zips` are the widths of the groups of birth dates and ZIP codes in the table: 1 is exact, 3,652 days are
    a decade.
    """
    key = (town.zip // zips * (DAYS + 1) + town.birth // days) * 2 + town.sex
    rows, voters = np.flatnonzero(town.patients_here), np.flatnonzero(town.voter)
    row_keys, row_at, row_count = np.unique(key[rows], return_index=True, return_counts=True)
    voter_keys, voter_at, voter_count = np.unique(key[voters], return_index=True, return_counts=True)
    single_row, single_voter = row_count == 1, voter_count == 1
    _, row, voter = np.intersect1d(
        row_keys[single_row], voter_keys[single_voter], assume_unique=True, return_indices=True
    )
    claimed = rows[row_at[single_row][row]]
    correct = claimed == voters[voter_at[single_voter][voter]]
    return Linked(rows.size, claimed.size, int(np.count_nonzero(correct)))


def generalise(points: Ints, members: Bools, k: int) -> Ints:
    """Return for each of `points`, shape (people, columns), its box in a `k`-anonymous table of the `members`.

    Boxes are halved at the median of the members' widest column, as long as each half keeps `k` members. Raises
    `PlanError` if there are fewer than `k` members, or k < 1.

    Source: LeFevre, DeWitt & Ramakrishnan 2006, "Mondrian".
    """
    members_at = np.flatnonzero(members)
    if not 1 <= k <= members_at.size:
        raise PlanError(f"{members_at.size:,} people cannot be made {k:,}-anonymous")
    width = np.maximum(np.ptp(points[members_at], axis=0), 1)
    box, boxes = np.zeros(len(points), dtype=np.int64), 0
    waiting = [(members_at, np.arange(len(points)))]  # members, and all points, of each box that may be halved
    while waiting:
        released, everyone = waiting.pop()
        values = points[released]
        for axis in np.argsort(-np.ptp(values, axis=0) / width, kind="stable"):
            median = np.partition(values[:, axis], released.size // 2)[released.size // 2]
            below = values[:, axis] < median
            if k <= np.count_nonzero(below) <= released.size - k:
                all_below = points[everyone, axis] < median
                waiting += [(released[below], everyone[all_below]), (released[~below], everyone[~all_below])]
                break
        else:
            box[everyone] = boxes
            boxes += 1
    return box


@dataclass(frozen=True, slots=True)
class Published:
    """A published table: the group of each resident, as if all were counted, and the counts by group and condition.

    `noise` is the ε of the noise in the counts, or None if they are exact.
    """

    group: Ints
    counts: Floats
    noise: Fraction | None = None


def publish_raw(town: Town) -> Published:
    """Publish the table without names: one group for each ZIP code, day of birth and sex."""
    group = np.unique(town.quasi_identifiers, axis=0, return_inverse=True)[1].reshape(-1)
    return Published(group, _counts(town, town.patients_here, group))


def publish_k_anonymous(town: Town, k: int) -> Published:
    """Publish a `k`-anonymous table: one group for each equivalence class."""
    group = generalise(town.quasi_identifiers, town.patients_here, k)
    return Published(group, _counts(town, town.patients_here, group))


def publish_release(town: Town, epsilon: Fraction) -> Published:
    """Publish a release of this engine by ZIP code, decade of birth, sex and condition, with new noise each time."""
    decade = np.minimum(town.birth // DECADE, 7)
    values = {
        "zip": ZIPS,
        "decade": tuple(f"{1930 + 10 * k}s" for k in range(8)),
        "sex": ("F", "M"),
        "condition": CONDITIONS,
    }
    codes = {"zip": town.zip, "decade": decade, "sex": town.sex, "condition": town.condition}
    rows = {name: np.array(values[name])[codes[name][town.patients_here]].tolist() for name in values}
    columns = [
        {"name": name, "kind": "category", "values": list(labels), "other": False, "missing": False}
        for name, labels in values.items()
    ]
    plan = Plan(dataset="lesson", epsilon=epsilon, columns=columns, tables=[list(values)])
    estimates = release(pa.table(rows), plan).cells(tuple(values))["estimate"]
    group = (town.zip * 8 + decade) * 2 + town.sex
    return Published(group, estimates.reshape(-1, len(CONDITIONS)), epsilon)


@dataclass(frozen=True, slots=True)
class Guesses:
    """Rates of conditions guessed right: of people in the table, and of the same people if their row is left out."""

    inside: Rate
    outside: Rate


def guess_conditions(town: Town, published: Published, *, informed: bool = False) -> Guesses:
    """Guess the condition of every patient of our hospital from a published table, with their row in it and without.

    The guess is the commonest condition of the person's group, or of the town if the group is empty. An `informed`
    attacker knows the conditions of all others in the group, subtracts them, and guesses the most likely remaining
    condition, given the noise and the frequency of each condition in town (Bayes' rule: no guess is better).

    *Without* means that the person's own row is subtracted from the counts while groups and noise stay the same. Under
    ε a guess with the row is right with at most e^ε times the probability of one without it.
    """
    people = np.flatnonzero(town.patients_here)
    group, own_cell = published.group[people], (np.arange(people.size), town.condition[people])
    others = _counts(town, town.patients_here, published.group)[group]
    others[own_cell] -= 1
    log_frequency = np.log(np.array(_FREQUENCY))

    def rate(seen: Floats) -> Rate:
        score = seen + 1e-6 * log_frequency
        if informed:
            weight = 700.0 if published.noise is None else float(published.noise)  # exact counts leave no doubt
            unexplained = seen - others
            score = weight * (np.abs(unexplained) - np.abs(unexplained - 1)) + log_frequency
        return Rate.of(score.argmax(axis=1) == own_cell[1])

    present = published.counts[group]
    absent = present.copy()
    absent[own_cell] -= 1
    return Guesses(rate(present), rate(absent))


def composition_attack(town: Town, k: int) -> tuple[Rate, Rate]:
    """Return how often one `k`-anonymous table, and two together, reveal the condition of patients of both hospitals.

    One table reveals it if all people of the class have it; two tables reveal it if the person's two classes have only
    one condition in common.

    Source: Ganta, Kasiviswanathan & Smith 2008, "Composition attacks and auxiliary information in data privacy".
    """
    in_both = np.flatnonzero(town.patients_here & town.patients_elsewhere)
    possible = []
    for rows in (town.patients_here, town.patients_elsewhere):
        group = generalise(town.quasi_identifiers, rows, k)
        possible.append(_counts(town, rows, group)[group[in_both]] > 0)
    by_one, by_two = (Rate.of(sets.sum(axis=1) == 1) for sets in (possible[0], possible[0] & possible[1]))
    return by_one, by_two


def _counts(town: Town, rows: Bools, group: Ints) -> Floats:
    """Count rows by group and condition, shape (groups, conditions)."""
    groups = int(group.max()) + 1
    cells = group[rows] * len(CONDITIONS) + town.condition[rows]
    counts = np.bincount(cells, minlength=groups * len(CONDITIONS)).astype(np.float64)
    return counts.reshape(groups, len(CONDITIONS))
