"""Linkage in a simulated town defeats tables without names; a release limits it to e^ε."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from dpengine.errors import PlanError
from dpengine.lessons import linkage as lesson

SURE = 1 - 1e-9
TOWN = lesson.made_up_town(seed=3)


def test_a_seed_makes_the_same_town_again() -> None:
    again, other = lesson.made_up_town(seed=3), lesson.made_up_town(seed=4)
    assert (TOWN.quasi_identifiers == again.quasi_identifiers).all()
    assert (TOWN.quasi_identifiers != other.quasi_identifiers).any()
    assert TOWN.patients_here.sum() == TOWN.patients_elsewhere.sum() == 4_000
    assert (TOWN.patients_here & TOWN.patients_elsewhere).sum() == 400


def test_zip_code_birth_date_and_sex_give_most_patients_their_name_back() -> None:
    links = lesson.link_names(TOWN)
    assert links.rate.interval(SURE)[0] > 0.55
    assert links.correct / links.claimed > 0.95
    listed = np.count_nonzero(TOWN.patients_here & TOWN.voter)
    assert links.correct / listed > 0.85, "nearly all who can be found are"


def test_names_are_linked_as_by_a_loop_over_people() -> None:
    town = lesson.made_up_town(400, 100, seed=1)
    keys = [(int(z), int(b) // 4_000, int(s)) for z, b, s in zip(town.zip, town.birth, town.sex, strict=True)]
    claimed = right = 0
    for key in set(keys):
        rows = [k for k in range(400) if keys[k] == key and town.patients_here[k]]
        voters = [k for k in range(400) if keys[k] == key and town.voter[k]]
        if len(rows) == len(voters) == 1:
            claimed += 1
            right += rows == voters
    assert lesson.link_names(town, days=4_000) == lesson.Linked(100, claimed, right)
    assert claimed > 0


def test_coarser_columns_leave_no_names_to_find() -> None:
    assert lesson.link_names(TOWN, days=3_652, zips=8).correct == 0


@pytest.mark.by_day(2)
@pytest.mark.parametrize("k", [1, 2, 5, 60])
def test_generalised_tables_are_k_anonymous(k: int) -> None:
    box = lesson.generalise(TOWN.quasi_identifiers, TOWN.patients_here, k)
    sizes = np.bincount(box[TOWN.patients_here])
    assert sizes.min() >= k
    assert np.median(sizes) < 4 * k, "and no coarser than they must be"


def test_everyone_falls_into_the_box_of_the_patients_around_them() -> None:
    box = lesson.generalise(TOWN.quasi_identifiers, TOWN.patients_here, 20)
    for each in range(0, int(box.max()), 29):
        within, members = (
            TOWN.quasi_identifiers[box == each],
            TOWN.quasi_identifiers[(box == each) & TOWN.patients_here],
        )
        assert (np.ptp(within, axis=0) >= np.ptp(members, axis=0)).all()
    assert np.bincount(box, minlength=int(box.max()) + 1).min() >= 20


def test_a_table_without_names_still_reveals_conditions() -> None:
    guesses = lesson.guess_conditions(TOWN, lesson.publish_raw(TOWN))
    assert guesses.inside.interval(SURE)[0] > 0.98
    assert guesses.outside.interval(SURE)[1] < 0.3


def test_a_5_anonymous_table_reveals_more_than_chance() -> None:
    guesses = lesson.guess_conditions(TOWN, lesson.publish_k_anonymous(TOWN, 5))
    assert guesses.inside.interval(SURE)[0] > guesses.outside.interval(SURE)[1]


@pytest.mark.parametrize("k", [5, 500])
def test_who_knows_all_others_learns_the_last_condition_from_any_k_anonymous_table(k: int) -> None:
    guesses = lesson.guess_conditions(TOWN, lesson.publish_k_anonymous(TOWN, k), informed=True)
    assert guesses.inside.share == 1
    assert guesses.outside.interval(SURE)[1] < 0.25


@pytest.mark.parametrize("informed", [False, True])
@pytest.mark.parametrize("epsilon", ["1/10", "1"])
def test_being_in_a_release_helps_an_attacker_at_most_as_epsilon_allows(epsilon: str, informed: bool) -> None:
    guesses = lesson.guess_conditions(TOWN, lesson.publish_release(TOWN, Fraction(epsilon)), informed=informed)
    assert guesses.inside.interval(SURE)[0] <= math.exp(Fraction(epsilon)) * guesses.outside.interval(SURE)[1]


def test_a_k_anonymous_table_breaks_that_bound() -> None:
    guesses = lesson.guess_conditions(TOWN, lesson.publish_k_anonymous(TOWN, 50), informed=True)
    assert guesses.inside.interval(SURE)[0] > math.exp(1) * guesses.outside.interval(SURE)[1]


def test_at_a_small_epsilon_the_attack_does_no_better_than_chance() -> None:
    guesses = lesson.guess_conditions(TOWN, lesson.publish_release(TOWN, Fraction(1, 100)))
    assert guesses.inside.share - guesses.outside.share < 0.05
    assert guesses.inside.share < 0.3, "the commonest condition alone would be right for 1 in 5"


def test_a_guess_is_the_commonest_condition_of_the_group() -> None:
    counts = np.zeros((2, len(lesson.CONDITIONS)))
    counts[0, 3], counts[1, 5], counts[1, 2] = 4, 2, 1.5
    group = np.where(TOWN.condition == 3, 0, 1)
    guesses = lesson.guess_conditions(TOWN, lesson.Published(group, counts))
    conditions = np.bincount(TOWN.condition[TOWN.patients_here])
    assert guesses.inside.successes == conditions[3] + conditions[5]
    assert guesses.outside.successes == conditions[3], "without the person, 5 is no longer the commonest"


def test_an_empty_group_is_guessed_by_what_is_common_in_town() -> None:
    nobody = lesson.Published(np.zeros_like(TOWN.zip), np.ones((1, len(lesson.CONDITIONS))))
    assert lesson.guess_conditions(TOWN, nobody).inside.successes == (TOWN.condition[TOWN.patients_here] == 0).sum()


def test_two_4_anonymous_tables_reveal_more_than_one() -> None:
    one, two = lesson.composition_attack(TOWN, 4)
    assert one.tries == 400
    assert one.interval(SURE)[1] < two.interval(SURE)[0]


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (lambda: lesson.made_up_town(100, 60), "more residents"),
        (
            lambda: lesson.generalise(TOWN.quasi_identifiers, TOWN.patients_here, 4_001),
            "cannot be made 4,001-anonymous",
        ),
        (lambda: lesson.generalise(TOWN.quasi_identifiers, TOWN.patients_here, 0), "cannot be made"),
    ],
)
def test_settings_without_meaning_are_refused(wrong: object, said: str) -> None:
    with pytest.raises(PlanError, match=said):
        wrong()  # type: ignore[operator]
