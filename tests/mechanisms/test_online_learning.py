"""Private online learning: exact probabilities of picks, privacy between neighbours, and bounds on regret."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from scipy import stats

from dpengine.accounting.composition import advanced_composition, selection_zcdp_rho, zcdp_epsilon
from dpengine.errors import PlanError, TableError
from dpengine.mechanisms import online_learning
from dpengine.mechanisms.online_learning import (
    GRID,
    advanced_rate,
    average_regret,
    best_expert,
    expected_loss,
    follow_the_leader,
    free_rate,
    on_grid,
    picked_loss,
    regret_bound,
    weighted_majority,
    zcdp_rate,
)

ALPHA = 1e-9  # false alarms of each test of a distribution
DELTA = Fraction(1, 10**6)


def chances(losses: np.ndarray, eta: float) -> np.ndarray:
    """Return the probability of each expert in each round by definition, for `losses` from 0 to 1."""
    sums = np.vstack([np.zeros(losses.shape[1]), np.cumsum(losses, axis=0)[:-1]])
    weights = np.exp(-eta * sums)
    return weights / weights.sum(axis=1, keepdims=True)


def sequence_probabilities(losses: np.ndarray, eta: float) -> np.ndarray:
    """Return the probability of every whole sequence of picks."""
    probabilities = np.ones(1)
    for row in chances(losses, eta):
        probabilities = np.outer(probabilities, row).ravel()
    return probabilities


@pytest.mark.parametrize("block", [2**20, 6], ids=["at once", "in blocks"])
def test_experts_are_picked_as_often_as_their_weights_say(block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(online_learning, "_BLOCK", block)
    losses = np.array([[0.0, 1.0, 0.5], [0.2, 1.0, 0.0], [1.0, 0.0, 0.0], [0.5, 0.5, 0.5]])
    draws, eta = 4000, Fraction(3, 2)
    picks = np.array([weighted_majority(on_grid(losses), eta) for _ in range(draws)])
    for t, wanted in enumerate(chances(losses, 1.5) * draws):
        assert stats.chisquare(np.bincount(picks[:, t], minlength=3), wanted).pvalue > ALPHA
    wrong = chances(losses, 2.5)[2] * draws
    assert stats.chisquare(np.bincount(picks[:, 2], minlength=3), wrong).pvalue < ALPHA, "negative control: another η"


def test_an_expert_far_behind_is_not_picked() -> None:
    losses = on_grid(np.tile([0.0, *[1.0] * 49], (2000, 1)))
    picks = weighted_majority(losses, Fraction(10))
    assert (picks[20:] == 0).all(), "a probability of exp(−200) is never seen"


def test_one_round_changes_the_log_probability_of_each_later_pick_by_at_most_two_eta() -> None:
    """All tables of 3 rounds and 2 experts with losses 0, ½ and 1, and all neighbours in their first round."""
    eta, furthest = 0.7, 0.0
    vectors = list(product((0.0, 0.5, 1.0), repeat=2))
    for first, other, second in product(vectors, vectors, vectors):
        here = sequence_probabilities(np.array([first, second, (0, 0)]), eta)
        there = sequence_probabilities(np.array([other, second, (0, 0)]), eta)
        furthest = max(furthest, float(np.abs(np.log(here / there)).max()))
    assert 0.5 * 4 * eta < furthest <= 2 * 2 * eta + 1e-12


@pytest.mark.parametrize("rate", [advanced_rate, zcdp_rate])
def test_whole_sequences_are_private_with_epsilon_and_delta(rate: object) -> None:
    """The worst neighbours, whose later sums differ by 2, exactly over all 2¹² sequences."""
    rounds, epsilon, delta = 12, Fraction(1), Fraction(1, 1000)
    eta = float(rate(epsilon, delta, rounds))  # type: ignore[operator]
    later = np.zeros((rounds - 1, 2))
    here = sequence_probabilities(np.vstack([[1, 0], later]), eta)
    there = sequence_probabilities(np.vstack([[0, 1], later]), eta)
    assert np.maximum(here - math.exp(epsilon) * there, 0).sum() <= delta
    here, there = (sequence_probabilities(np.vstack([row, later]), 8 * eta) for row in ([1, 0], [0, 1]))
    assert np.maximum(here - math.exp(epsilon) * there, 0).sum() > delta, "negative control: eight times the rate"


def test_the_zcdp_cost_of_a_pick_is_an_eighth_of_its_squared_epsilon() -> None:
    """Rényi divergence of order α between any neighbours is at most α·(2η)²/8, and comes near it."""
    eta, nearest = 0.2, 0.0
    rho = float(selection_zcdp_rho(Fraction(2, 5)))
    for before, step in product(product((0, 1, 2, 5), repeat=3), product((-1.0, 0.0, 1.0), repeat=3)):
        here, there = (np.exp(-eta * np.array(sums)) for sums in (before, np.add(before, step)))
        here, there = here / here.sum(), there / there.sum()
        for order in (1.01, 2.0, 8.0, 40.0):
            divergence = math.log((here**order * there ** (1 - order)).sum()) / (order - 1)
            assert divergence <= order * rho + 1e-12
            nearest = max(nearest, divergence / (order * rho))
    assert nearest > 0.9


@pytest.mark.parametrize(("epsilon", "rounds"), [("1/10", 10), ("1", 1), ("1", 1000), ("1/2", 10**5)])
def test_rates_spend_no_more_than_the_budget(epsilon: str, rounds: int) -> None:
    budget = Fraction(epsilon)
    eta, better = advanced_rate(budget, DELTA, rounds), zcdp_rate(budget, DELTA, rounds)
    assert advanced_composition(2 * eta, rounds, DELTA) <= budget
    assert zcdp_epsilon(selection_zcdp_rho(2 * better, rounds), DELTA) <= budget
    assert float(eta) == pytest.approx(float(budget) / math.sqrt(32 * rounds * math.log(1e6)), rel=1e-6)
    assert 3.5 * eta < better < 4.1 * eta


def test_the_rate_by_advanced_composition_is_refused_where_its_proof_ends() -> None:
    with pytest.raises(PlanError, match="smaller ε only"):
        advanced_rate(Fraction(100), DELTA, 10)
    assert zcdp_rate(Fraction(100), DELTA, 10) > 0


@pytest.mark.parametrize("eta", ["1/100", "1/10", "1"])
def test_expected_regret_is_within_its_bound_also_on_hard_losses(eta: str) -> None:
    rate, rounds, experts = Fraction(eta), 400, 8
    one_good = np.ones((rounds, experts))
    one_good[:, 3] = 0
    turns = np.eye(experts)[np.arange(rounds) % experts]
    for losses in map(on_grid, (one_good, turns, 1 - turns, np.vstack([one_good[:200], 1 - one_good[:200]]))):
        regret = average_regret(losses, expected_loss(losses, rate))[-1]
        assert regret <= regret_bound(rate, rounds, experts)


def test_the_bound_is_least_at_the_free_rate() -> None:
    eta = free_rate(1000, 10)
    assert regret_bound(eta, 1000, 10) == pytest.approx(2 * math.sqrt(math.log(10) / 1000))
    assert regret_bound(eta, 1000, 10) < min(regret_bound(other, 1000, 10) for other in (eta / 2, eta * 2))


def test_expected_loss_is_the_mean_under_the_weights() -> None:
    losses = np.array([[0.0, 1.0], [0.25, 0.5], [1.0, 1.0]])
    assert expected_loss(on_grid(losses), Fraction(1, 2)) == pytest.approx((chances(losses, 0.5) * losses).sum(axis=1))


def test_following_the_leader_can_lose_in_every_round() -> None:
    """The first expert loses ½, then the leader loses 1 in every round, and so does whoever follows the leader."""
    steps = np.array([[0.5, 0.0], *[[0.0, 1.0], [1.0, 0.0]] * 50])
    losses = on_grid(steps)
    met = picked_loss(losses, follow_the_leader(losses))
    assert met[1:].mean() == 1.0
    assert average_regret(losses, met)[-1] == pytest.approx(0.5, abs=0.01)
    assert average_regret(losses, expected_loss(losses, free_rate(101, 2)))[-1] < 0.1


def test_the_best_expert_has_no_regret() -> None:
    losses = on_grid([[0.5, 0.1, 1.0], [0.5, 0.0, 1.0]])
    assert best_expert(losses) == 1
    assert average_regret(losses, picked_loss(losses, np.array([1, 1])))[-1] == 0


def test_the_first_round_is_a_uniform_draw() -> None:
    seen = np.bincount([int(weighted_majority(on_grid([[0.0, 1.0]]), Fraction(5))[0]) for _ in range(400)], minlength=2)
    assert stats.binomtest(int(seen[0]), 400).pvalue > ALPHA


@pytest.mark.parametrize(
    ("losses", "message"),
    [
        ([[0.5, 1.2]], "expert 2 in round 1 is outside"),
        ([[0.5, 0.1], [-0.1, 0.5]], "expert 1 in round 2 is outside"),
        ([[0.5, math.nan]], "expert 2 in round 1 is missing"),
        ([[math.inf, 0.5]], "expert 1 in round 1 is missing"),
        ([[0.5], [0.1]], "two experts"),
        (np.zeros((0, 3)), "rounds"),
        ([0.5, 0.1], "must be a table"),
        (np.zeros((2, 2, 2)), "must be a table"),
        ([["a", "b"]], "must be numbers"),
        ([[0.1, 0.2], [0.3]], "must be numbers"),
    ],
)
def test_a_file_that_is_no_table_of_losses_is_refused_without_quoting_it(losses: object, message: str) -> None:
    with pytest.raises(TableError, match=message) as refused:
        on_grid(losses)  # type: ignore[arg-type]
    assert "1.2" not in str(refused.value)


def test_losses_off_the_grid_and_rates_of_zero_are_refused() -> None:
    with pytest.raises(TableError, match="on_grid"):
        weighted_majority(np.array([[0, GRID + 1]]), Fraction(1))
    with pytest.raises(TableError, match="on_grid"):
        weighted_majority(np.array([[0.0, 0.5]]), Fraction(1))  # type: ignore[arg-type]
    with pytest.raises(PlanError, match="above 0"):
        weighted_majority(on_grid([[0, 1]]), Fraction(0))
    with pytest.raises(PlanError, match="rounds"):
        zcdp_rate(Fraction(1), DELTA, 0)
    with pytest.raises(PlanError, match="above 0"):
        advanced_rate(Fraction(0), DELTA, 10)


@pytest.mark.parametrize("lanes", [1, 2**17])
def test_losses_of_all_rounds_before_count_however_rounds_are_divided(
    monkeypatch: pytest.MonkeyPatch, lanes: int
) -> None:
    """One expert loses in the first rounds alone. It is picked afterwards with a probability below 1e-15."""
    monkeypatch.setattr(online_learning, "_BLOCK", 8)
    monkeypatch.setattr(online_learning, "_LANES", lanes)
    losses = np.zeros((40, 2), dtype=np.int64)
    losses[:4, 0] = GRID
    assert (weighted_majority(losses, Fraction(10))[4:] == 1).all()
