"""A few films identify a person in ratings without names, and nobody in a release."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from dpengine.errors import PlanError
from dpengine.lessons import deanonymisation as lesson

SURE = 1 - 1e-9
RATINGS = lesson.made_up_ratings(people=800, films=200, seed=2)


def test_a_seed_makes_the_same_ratings_again() -> None:
    again = lesson.made_up_ratings(people=800, films=200, seed=2)
    assert (again.stars == RATINGS.stars).all()
    assert lesson.made_up_ratings(people=800, films=200, seed=5).film.size != RATINGS.film.size


def test_everyone_rates_a_film_once_and_few_films_are_rated_by_many() -> None:
    assert len(set(zip(RATINGS.person.tolist(), RATINGS.film.tolist(), strict=True))) == RATINGS.film.size
    assert (np.diff(RATINGS.film) >= 0).all()
    seen = np.bincount(RATINGS.film)
    assert seen[0] > 3 * np.median(seen)


def test_four_films_with_approximate_days_find_nearly_everybody() -> None:
    assert lesson.find_people(RATINGS, RATINGS, 4).rate.interval(SURE)[0] > 0.75


def test_two_wrong_films_of_eight_do_not_protect_the_person() -> None:
    assert lesson.find_people(RATINGS, RATINGS, 8, wrong=2).rate.interval(SURE)[0] > 0.75


def test_without_days_more_films_are_needed() -> None:
    bare = lesson.without_days(RATINGS)
    few, many = (lesson.find_people(RATINGS, bare, known).rate for known in (2, 12))
    assert few.interval(SURE)[1] < many.interval(SURE)[0]


def test_nobody_is_found_in_a_release() -> None:
    attack = lesson.find_people(RATINGS, lesson.synthetic_ratings(RATINGS, Fraction(10)), 12)
    assert attack.rate.interval(SURE)[0] <= 1 / RATINGS.people
    assert attack.rate.share < 0.1


def test_a_person_whose_record_is_left_out_cannot_be_found() -> None:
    remaining = RATINGS.person >= 400
    half = replace(
        RATINGS,
        person=RATINGS.person[remaining],
        film=RATINGS.film[remaining],
        stars=RATINGS.stars[remaining],
        days=None,
    )
    gone = lesson.find_people(RATINGS, half, 6, targets=800)
    assert 0 < gone.correct <= 400


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: lesson.find_people(RATINGS, RATINGS, 0),
        lambda: lesson.find_people(RATINGS, RATINGS, 2, wrong=3),
        lambda: lesson.find_people(RATINGS, RATINGS, 2, targets=0),
        lambda: lesson.made_up_ratings(people=0),
        lambda: lesson.made_up_ratings(films=10, per_person=11),
    ],
)
def test_searches_and_ratings_without_meaning_are_refused(wrong: object) -> None:
    with pytest.raises(PlanError, match="film"):
        wrong()  # type: ignore[operator]
