"""An audit of amounts, levels and distinct persons: one person costs exactly ε, and planted faults are found.

Exact tests have no false alarms. The nightly tests bound ε with a false alarm rate of 1e-9 for each of four settings.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from dpengine.array_types import Ints
from dpengine.audit import exact_checks
from dpengine.audit.bounds import least_epsilon
from dpengine.audit.neighbours import MOVES, NEIGHBOURS
from dpengine.audit.publications import empirical_bound, evidence
from dpengine.counting.contribution_bounding import RowLimit, bounded_rows
from dpengine.marginals.measurement import PERMUTE_AND_FLIP, Allocation, Choice, Measurement, Measurements
from dpengine.measure.allocation import allocate
from dpengine.measure.levels import allocate_levels
from dpengine.measure.quantile_choice import scores
from dpengine.measure.strategy import decide
from dpengine.spec.numeric.amount import Amount

EPSILON = Fraction(1, 3)
MonkeyPatch = pytest.MonkeyPatch


@pytest.mark.by_day(3)
@pytest.mark.parametrize("publication", MOVES)
def test_no_person_moves_all_that_is_measured_by_more_than_epsilon_and_the_audited_one_by_all_of_it(
    publication: str,
) -> None:
    costs = MOVES[publication](EPSILON).costs
    assert costs[0] == max(costs) == EPSILON


def test_all_levels_and_both_tallies_are_measured() -> None:
    measured = {
        publication: [each.columns for each in decide(of(EPSILON).plan).allocations]
        for publication, of in NEIGHBOURS.items()
    }
    assert sorted(measured["levels"]) == [("place",), ("place@county",), ("place@state",)]
    assert sorted(measured["distinct persons"]) == [("sex",), ("sex", "ward"), ("ward",)]
    assert [len(measured[publication]) for publication in ("amounts", "two amounts")] == [1, 1]


def test_evidence_is_the_log_of_how_many_times_as_likely_the_noisy_counts_are() -> None:
    """Computed by hand for one mean: twenty steps of pay, the person's all in the high end of the men."""
    neighbours = NEIGHBOURS["amounts"](Fraction(1))
    (allocation,) = decide(neighbours.plan).allocations
    assert (allocation.columns, allocation.scale_in_units) == (("pay", "sex"), 20)
    low, high, missing = [31, 0], [9, 27], [0, 20]  # of women and men: without the person, 31, 0; 9, 20; and 0, 20
    assert (
        neighbours.evidence(Measurements((Measurement(allocation, np.array([low, high, missing])),))) == (7 - 13) / 20
    )


# Planted faults, and the way that shows each


def heavy_weights(patch: MonkeyPatch) -> None:
    """Planted fault: the low end counts a whole row, whatever part of it the high end counts."""
    corners = Amount.corners

    def planted(self: Amount, cells: Ints, parts: Ints) -> list[tuple[Ints, Ints]]:
        (low, units), *others = corners(self, cells, parts)
        return [(low, units + parts), *others]

    patch.setattr(Amount, "corners", planted)


def scores_in_half_rows(patch: MonkeyPatch) -> None:
    """Planted fault: scores of a quantile change by twice the stated sensitivity."""
    patch.setattr("dpengine.measure.quantile_choice.scores", lambda counts, part: 2 * scores(counts, part))


def levels_for_nothing(patch: MonkeyPatch) -> None:
    """Planted fault: the finest level gets all of ε, and the others are measured without a charge."""

    def planted(plan: Any, epsilon: Fraction) -> tuple[Allocation, ...]:
        *coarse, finest = allocate_levels(plan, epsilon)
        return (*coarse, allocate(plan, finest.columns, epsilon))

    patch.setattr("dpengine.measure.level_strategies.allocate_levels", planted)
    patch.setattr(Measurements, "cost", property(lambda self: self.marginals[-1].allocation.epsilon))


def person_twice(patch: MonkeyPatch) -> None:
    """Planted fault: every row of a person counts in a table of distinct persons."""

    def unbounded(coded: str, columns: int, kept: RowLimit, key: bytes, dialect: Any, axes: Any = ()) -> str:
        return bounded_rows(coded, columns, RowLimit(kept.rows), key, dialect)

    for name, module in list(sys.modules.items()):
        if name.startswith("dpengine.counting") and getattr(module, "bounded_rows", None) is bounded_rows:
            patch.setattr(module, "bounded_rows", unbounded)


FAULTS: dict[str, Callable[[MonkeyPatch], None]] = {
    "amounts": heavy_weights,
    "quantiles": scores_in_half_rows,
    "two amounts": heavy_weights,
    "adaptive, amounts": heavy_weights,
    "upper bounds that are found": heavy_weights,
    "levels": levels_for_nothing,
    "distinct persons": person_twice,
}


@pytest.mark.by_day(3)
@pytest.mark.parametrize("publication", MOVES)
def test_a_fault_in_what_a_person_moves_is_found_without_chance(publication: str, monkeypatch: MonkeyPatch) -> None:
    FAULTS[publication](monkeypatch)
    check = exact_checks._moves(EPSILON, publication)
    assert not check.holds
    assert check.largest > 1.1 * EPSILON


@pytest.mark.by_day(1)
@pytest.mark.parametrize("publication", NEIGHBOURS)
def test_a_tenth_of_the_noise_is_detected_from_outcomes(publication: str, monkeypatch: MonkeyPatch) -> None:
    """A miss has a probability below 1e-15: at worst, 98 % of outcomes with the person are evidence, 2 % without."""
    monkeypatch.setattr(Allocation, "scale", property(lambda self: self.sensitivity / self.epsilon / 10))
    assert not empirical_bound(publication, Fraction(1), *outcomes(publication, Fraction(1), 100)).holds


def outcomes(publication: str, epsilon: Fraction, runs: int) -> list[np.ndarray]:
    """The evidence in what is measured with the first person, and without: counted once, measured often."""
    neighbours = NEIGHBOURS[publication](epsilon)
    return [
        np.array([neighbours.evidence(neighbours.measured(present=present)) for _ in range(runs)])
        for present in (True, False)
    ]


@pytest.mark.nightly
@pytest.mark.parametrize(
    "publication", [publication for publication in NEIGHBOURS if "adaptive" not in publication]
)  # there choices cost a part
def test_many_outcomes_give_a_bound_near_epsilon_and_not_above(publication: str) -> None:
    """Negative control: the same audit rejects half of the true ε, by at least ten standard errors."""
    epsilon, runs = Fraction(2), 40_000
    surely = bound(epsilon, *outcomes(publication, epsilon, runs))
    assert epsilon / 2 < surely <= epsilon


@pytest.mark.nightly
@pytest.mark.parametrize("publication", NEIGHBOURS)
def test_complete_releases_give_a_bound_of_at_most_epsilon(publication: str, monkeypatch: MonkeyPatch) -> None:
    """Negative control: with a hundredth of the noise, the same audit gives a bound above ε."""
    epsilon, runs = Fraction(1), 100
    assert (
        bound(epsilon, *(evidence(publication, epsilon, present=each, runs=runs) for each in (True, False))) <= epsilon
    )
    monkeypatch.setattr(Allocation, "scale", property(lambda self: self.sensitivity / self.epsilon / 100))
    assert (
        bound(epsilon, *(evidence(publication, epsilon, present=each, runs=runs) for each in (True, False))) > epsilon
    )


def bound(epsilon: Fraction, with_one: np.ndarray, without: np.ndarray) -> float:
    """A lower bound on ε that is wrong with a probability of 1e-9 at most."""
    result = empirical_bound("", epsilon, with_one, without)
    return least_epsilon(result.hits, result.runs, result.hits_without, result.runs, 1e-9)


def test_private_choices_cost_what_was_charged_for_them() -> None:
    neighbours = NEIGHBOURS["adaptive, amounts"](EPSILON)
    measured = decide(neighbours.plan).measure(lambda marginals: neighbours.without)
    choices = tuple(Choice("a pair", PERMUTE_AND_FLIP, Fraction(1, part), 1) for part in (7, 11))
    before, after = (
        neighbours._cost(each, neighbours.persons[0])
        for each in (measured, replace(measured, choices=(*measured.choices, *choices)))
    )
    assert after - before == Fraction(1, 7) + Fraction(1, 11)
