"""Find people in ratings without names by a few ratings known from elsewhere (as Netflix's by those on IMDb).

Each record is scored by its fit to the few films, stars and days that an attacker knows of a person; rare films count
more. The best record is claimed if its score stands out. The ratings here are made up, with a seed.

Source: Narayanan & Shmatikov 2008, "Robust De-anonymization of Large Sparse Datasets".
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
import pyarrow as pa

from dpengine.array_types import Floats, Ints
from dpengine.errors import PlanError
from dpengine.lessons.success_rate import Rate
from dpengine.release import release
from dpengine.spec.plan import Plan

__all__ = ["Ratings", "Search", "find_people", "made_up_ratings", "synthetic_ratings", "without_days"]

DAYS = 2_000
STARS = (1, 2, 3, 4, 5)
MAX_RATINGS = 40  # that the release counts of a person
STARS_SCALE, DAYS_SCALE, STANDS_OUT = 1.5, 30.0, 1.5  # ρ₀, d₀ and φ of the paper


@dataclass(frozen=True, slots=True)
class Ratings:
    """Ratings as parallel arrays, sorted by film: who rated which film, with how many stars, on which day.

    `days` is None if they are left out. `people` and `films` are their numbers.
    """

    person: Ints
    film: Ints
    stars: Ints
    days: Ints | None
    people: int
    films: int


def made_up_ratings(people: int = 2_000, films: int = 300, per_person: int = 40, seed: int = 0) -> Ratings:
    """Make up ratings: about `per_person` by each person, of films that are popular in proportion to rank^−0.6.

    Raises `PlanError` unless there are people and films, and no more ratings a person than films.
    """
    if min(people, films, per_person) < 1 or per_person > films:
        raise PlanError("there must be people and films, and no more ratings by a person than films")
    rng = np.random.default_rng(seed)
    popularity = 1 / np.arange(1, films + 1) ** 0.6
    keys = np.log(popularity) + rng.gumbel(size=(people, films))  # the largest are a draw without replacement
    wanted = np.clip(rng.poisson(per_person, people), 1, films)
    rank = np.argsort(np.argsort(-keys, axis=1), axis=1)
    film, person = np.nonzero((rank < wanted[:, None]).T)
    stars = np.clip(np.rint(rng.normal(3.6, 1.1, film.size)), 1, 5).astype(np.int64)
    return Ratings(person, film, stars, rng.integers(0, DAYS, film.size), people, films)


def without_days(ratings: Ratings) -> Ratings:
    """Leave out the days of the ratings."""
    return replace(ratings, days=None)


def synthetic_ratings(ratings: Ratings, epsilon: Fraction) -> Ratings:
    """Turn a differentially private release of `ratings` back into records, as a reader of it could.

    The release counts films by stars and protects a person with up to `MAX_RATINGS` ratings. It is drawn afresh each
    time, without a seed. It does not say which ratings belong together, so its synthetic rows are spread over as many
    records as there are people; any other way is as good.
    """
    films = [f"film {k + 1}" for k in range(ratings.films)]
    columns = [
        {"name": "film", "kind": "category", "values": films, "other": False, "missing": False},
        {"name": "stars", "kind": "category", "values": list(map(str, STARS)), "other": False, "missing": False},
    ]
    unit = {"id": "person", "rows": MAX_RATINGS}
    plan = Plan(dataset="lesson", epsilon=epsilon, columns=columns, tables=[["film", "stars"]], unit=unit)
    rows = pa.table({
        "person": list(map(str, ratings.person.tolist())),
        "film": [films[k] for k in ratings.film.tolist()],
        "stars": list(map(str, ratings.stars.tolist())),
    })  # fmt: skip
    counts = release(rows, plan).counts(("film", "stars"))
    film, stars = (axis.astype(np.int64) for axis in np.nonzero(counts))
    film, stars = np.repeat(film, counts[film, stars]), np.repeat(stars, counts[film, stars])
    person = np.arange(film.size, dtype=np.int64) * 7_919 % ratings.people
    return Ratings(person, film, stars + 1, None, ratings.people, ratings.films)


@dataclass(frozen=True, slots=True)
class Search:
    """Outcome of a search for `targets` people: the number of claimed records, and the number of right ones."""

    targets: int
    claimed: int
    correct: int

    @property
    def rate(self) -> Rate:
        """Share of the targets whose record was found."""
        return Rate(self.correct, self.targets)


def find_people(
    ratings: Ratings, published: Ratings, known: int, *, wrong: int = 0, targets: int = 200, seed: int = 0
) -> Search:
    """Search the `published` records for `targets` people of `ratings`, knowing `known` films of each.

    Stars are known to ±1 and days to ±14; `wrong` of the known films are drawn at random instead. As in the paper
    (Scoreboard-RH), the record with the best score is claimed if it beats the second by 1.5 standard deviations.

    Raises `PlanError` unless at least one film of at least one person is known, and no more are wrong than known.
    """
    if not 0 <= wrong <= known or known < 1 or not 1 <= targets <= ratings.people:
        raise PlanError("at least one film of at least one person must be known, and no more be wrong than are known")
    rng = np.random.default_rng(seed)
    film_starts = np.searchsorted(published.film, np.arange(published.films + 1))
    by_person = np.argsort(ratings.person, kind="stable")
    starts = np.searchsorted(ratings.person[by_person], np.arange(ratings.people + 1))
    claimed = correct = 0
    for target in rng.permutation(ratings.people)[:targets]:
        sample = rng.permutation(by_person[starts[target] : starts[target + 1]])[:known]
        films, stars = ratings.film[sample].copy(), ratings.stars[sample] + rng.integers(-1, 2, sample.size)
        days = (ratings.days[sample] if ratings.days is not None else 0) + rng.integers(-14, 15, sample.size)
        films[:wrong] = rng.integers(0, ratings.films, films[:wrong].size)
        scores = _scores(published, film_starts, (films, stars, days))
        second, best = np.partition(scores, -2)[-2:]
        spread = float(scores.std())
        if spread > 0 and (best - second) / spread >= STANDS_OUT:
            claimed += 1
            correct += int(scores.argmax() == target)
    return Search(targets, claimed, correct)


def _scores(published: Ratings, starts: Ints, known: tuple[Ints, Ints, Ints]) -> Floats:
    """Score the fit of each published record to the `known` films, stars and days; film f begins at ``first[f]``."""
    scores = np.zeros(published.people)
    for film, star, day in zip(*known, strict=True):
        of_film = slice(starts[film], starts[film + 1])
        fit = np.exp(-np.abs(published.stars[of_film] - star) / STARS_SCALE)
        if published.days is not None:
            fit = fit + np.exp(-np.abs(published.days[of_film] - day) / DAYS_SCALE)
        person, raters = published.person[of_film], max(starts[film + 1] - starts[film], 2)
        np.maximum.at(scores, person, scores[person] + fit / math.log(raters))
    return scores
