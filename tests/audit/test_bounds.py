"""An audit from outside finds the promised ε, catches a broken promise, and is rarely wrong."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from dpengine.audit.bounds import audit, least_epsilon
from dpengine.audit.publications import released_counts
from dpengine.errors import PlanError

ALPHA = 2e-9
RUNS = 4000


@pytest.mark.by_day(1)
@pytest.mark.parametrize("epsilon", [Fraction(1), Fraction(2)])
def test_releases_of_neighbouring_tables_give_a_bound_of_at_most_epsilon(epsilon: Fraction) -> None:
    bound = audit(released_counts(5, epsilon, RUNS), released_counts(6, epsilon, RUNS), ALPHA)
    assert 0 < bound.least_epsilon <= epsilon


def test_a_release_with_half_the_noise_it_needs_is_caught() -> None:
    sold = Fraction(1)
    assert audit(released_counts(5, 2 * sold, RUNS), released_counts(6, 2 * sold, RUNS), ALPHA).least_epsilon > sold


@pytest.mark.nightly
def test_equal_tables_give_no_bound() -> None:
    assert audit(released_counts(5, Fraction(1), RUNS), released_counts(5, Fraction(1), RUNS), ALPHA).least_epsilon <= 0


def test_an_answer_that_only_one_table_gives_shows_that_epsilon_is_large() -> None:
    bound = audit(np.zeros(400), np.ones(400), 0.05)
    assert (bound.frequent.share, bound.rare.share) == (1, 0)
    assert bound.least_epsilon > 3.5


def test_an_event_is_counted_on_other_runs_than_those_that_chose_it() -> None:
    assert audit(np.repeat([1.0, 0.0], 500), np.zeros(1000), 0.05).least_epsilon <= 0


def test_an_event_is_chosen_on_other_runs_than_those_that_count_it() -> None:
    """What tells the tables apart in the second half would be another event, which nobody has chosen before."""
    assert audit(np.repeat([1.0, 0.0], 500), np.repeat([0.0, 1.0], 500), 0.05).least_epsilon <= 0


def test_an_event_that_was_never_seen_shows_nothing() -> None:
    assert least_epsilon(0, 100, 50, 100, 0.05) == -math.inf


def test_too_few_runs_are_refused() -> None:
    with pytest.raises(PlanError, match="at least four"):
        audit(np.zeros(3), np.zeros(9))
