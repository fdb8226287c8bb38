"""The cost of measurements: every part counts, exactly."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from dpengine.array_types import Ints
from dpengine.marginals.measurement import (
    DISCRETE_LAPLACE,
    PARTS,
    Allocation,
    Audit,
    Boxes,
    Choice,
    FoundKeys,
    Measurement,
    Measurements,
)
from dpengine.noise.threshold import release_threshold
from dpengine.spec.categories.universe import Universe
from tests.boxes import measured_boxes

EPSILON = Fraction(1, 3)


def measurement(epsilon: Fraction) -> Measurement:
    return Measurement(Allocation(("a",), epsilon, 1), np.zeros(3, dtype=np.int64))


def audit(epsilon: Fraction) -> Audit:
    return Audit((("a",),), epsilon, 256, 256, np.zeros(7, dtype=np.int64))


def boxes(counts: Ints) -> Boxes:
    return measured_boxes(counts, str(EPSILON))


def test_the_cost_is_the_sum_of_all_parts() -> None:
    """Each kind of share has a price that is no sum of the others, so an omitted one is noticed."""
    everything = Measurements(
        (measurement(Fraction(1, 7)), measurement(Fraction(1, 11))),
        (Choice("first", DISCRETE_LAPLACE, Fraction(1, 13), 1), Choice("second", DISCRETE_LAPLACE, Fraction(1, 17), 1)),
        audit(Fraction(1, 19)),
        boxes(np.full(40, 100, dtype=np.int64)),
    )
    prices = [Fraction(1, n) for n in (7, 11, 13, 17, 19)]
    assert everything.cost == sum(prices, EPSILON)
    assert replace(everything, marginals=everything.marginals[:1]).cost == sum(prices, EPSILON) - prices[1]
    assert replace(everything, choices=everything.choices[:1]).cost == sum(prices, EPSILON) - prices[3]
    assert replace(everything, audit=None).cost == sum(prices, EPSILON) - prices[4]
    assert replace(everything, boxes=None).cost == sum(prices, Fraction(0))


def test_nothing_costs_nothing() -> None:
    assert Measurements(()).cost == 0


@pytest.mark.parametrize("shape", [(1,), (40,), (12, 15)])
@pytest.mark.parametrize("people", [0, 3, 1000])
def test_boxes_cost_their_epsilon_whatever_was_split(shape: tuple[int, ...], people: int) -> None:
    counts = np.zeros(shape, dtype=np.int64)
    counts[(0,) * len(shape)] = people
    assert boxes(counts).cost == EPSILON


def test_one_cell_that_costs_more_than_another_is_noticed() -> None:
    measured = boxes(np.full((12, 15), 50, dtype=np.int64))
    for place in (0, measured.parts.size - 1):
        parts = measured.parts.copy()
        parts[place] += 1
        altered = replace(measured, parts=parts)
        if place == 0:  # the root holds every cell
            assert altered.cost == EPSILON * (PARTS + 1) / PARTS
        else:
            with pytest.raises(ValueError, match="different parts of epsilon"):
                _ = altered.cost


def test_boxes_that_overlap_are_noticed() -> None:
    """A child that reaches into its neighbour measures some cells twice."""
    measured = boxes(np.full(40, 1000, dtype=np.int64))
    last = measured.last.copy()
    last[np.flatnonzero(measured.last[:, 0] < 40)[0]] += 1
    with pytest.raises(ValueError, match="different parts of epsilon"):
        _ = replace(measured, last=last).cost


@pytest.mark.parametrize("free", [0, -1])
def test_boxes_that_cost_nothing_are_noticed_though_all_cells_cost_the_same(free: int) -> None:
    """Both halves of a table are measured beside the whole, for nothing or less."""
    first, last = np.array([[0], [0], [2]]), np.array([[4], [2], [4]])
    parts, values = np.array([PARTS - free, free, free]), np.zeros(3, dtype=np.int64)
    with pytest.raises(ValueError, match="different parts of epsilon"):
        _ = Boxes(("a",), (4,), EPSILON, 1, np.array([-1, 0, 0]), first, last, parts, values).cost


@pytest.mark.parametrize("rows", [1, 4])
def test_keys_are_shown_from_a_number_that_noise_for_all_rows_of_a_person_seldom_reaches(rows: int) -> None:
    among = Universe(pattern="@##")
    found = FoundKeys.none("word", among, Fraction(2), rows)
    assert found.scale == rows / (2 * among.share)
    assert found.least == release_threshold(among.keys, found.scale, among.chance)
