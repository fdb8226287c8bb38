"""The guarantee, attacked: exact exponents on a toy universe, audits of the noise and of the whole release.

False alarms: each audit has alpha = 1e-9, three in all. Power: at 40,000 runs an ε overspent by 10 % is caught with
probability above 0.99 at ε = 1; at 200 runs of the whole way with two tables, an ε overspent fourfold with 0.999.
That is for what is published at the end. What leads to it is bounded exactly, draw by draw, by `tests/test_replay.py`,
and the evidence in the outputs of every strategy by `tests/audit/test_publications.py`.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np
import pandas as pd
import pytest

from dpengine import Plan, open_table, release
from dpengine.audit.bounds import least_epsilon
from dpengine.counting import count as counting
from dpengine.marginals.measurement import Allocation
from dpengine.measure.measure import add_noise
from dpengine.measure.strategy import decide
from tests.plans import letters_plan

ALPHA = 1e-9
UNIVERSE = [(a, b) for a in ("a0", "a1", "odd", None) for b in ("b0", "b1", "b2")]


def counts_of(plan: Plan, rows: list[tuple[object, ...]], names: list[str]) -> list[np.ndarray]:
    with open_table(pd.DataFrame(rows, columns=names, dtype=object)) as table:
        return counting.count(table, plan, [s.columns for s in decide(plan).allocations], truncation_key=b"k" * 32)


def exponent(plan: Plan, here: list[np.ndarray], there: list[np.ndarray]) -> Fraction:
    """log of the greatest probability ratio of any output of the composed release, exactly.

    For discrete Laplace noise of scale s it is |c − c′|/s in each cell, reached by every output on the
    far side; so it is a sum of rationals, with no sampling and no rounding.
    """
    return sum(
        (
            int(np.abs(x - y).sum()) / allocation.scale
            for allocation, x, y in zip(decide(plan).allocations, here, there, strict=True)
        ),
        Fraction(0),
    )


@pytest.mark.parametrize("tables", [[["a", "b"]], [["a"], ["b"]], {"each": 1}])
@pytest.mark.by_day(1)
def test_no_neighbour_moves_the_composed_release_by_more_than_epsilon(tables: object) -> None:
    plan = Plan(
        dataset="toy",
        epsilon="1/3",
        columns=[
            {"name": "a", "kind": "category", "values": ["a0", "a1"]},
            {"name": "b", "kind": "category", "values": ["b0", "b1", "b2"], "other": False, "missing": False},
        ],
        tables=tables,
    )
    for base in [[], [("a0", "b1")], [("a0", "b1"), ("odd", "b2"), ("a1", "zzz")]]:
        here = counts_of(plan, base, ["a", "b"])
        spent = {exponent(plan, here, counts_of(plan, [*base, row], ["a", "b"])) for row in UNIVERSE}
        assert spent == {plan.epsilon}, "each row counts once in each table: the bound is met, and never passed"


def test_a_person_of_many_rows_moves_it_by_no_more_than_epsilon() -> None:
    plan = letters_plan([2, 2], [["a"], ["b"]], unit={"id": "who", "rows": 2}, epsilon="1")
    names = ["who", "a", "b"]
    base = [("p", "a0", "b0"), ("p", "a1", "b1"), ("q", "a0", "b1")]
    here = counts_of(plan, base, names)
    for rows in product(product(["a0", "a1"], ["b0", "b1"]), repeat=3):
        there = counts_of(plan, [*base, *(("new", *row) for row in rows)], names)
        assert exponent(plan, here, there) <= plan.epsilon


@pytest.mark.parametrize("epsilon", [Fraction(1), Fraction(2)])
def test_the_noise_gives_a_bound_of_at_most_epsilon(epsilon: Fraction) -> None:
    runs = 200_000
    allocation = Allocation(("a",), epsilon, 1)
    count, neighbour = (add_noise(np.full(runs, c, dtype=np.int64), allocation).values for c in (5, 6))
    shown = least_epsilon(int((count <= 5).sum()), runs, int((neighbour <= 5).sum()), runs, ALPHA)
    assert 0.9 * epsilon < shown <= epsilon
    half = add_noise(np.full(runs, 6, dtype=np.int64), Allocation(("a",), 2 * epsilon, 1)).values
    faulty = add_noise(np.full(runs, 5, dtype=np.int64), Allocation(("a",), 2 * epsilon, 1)).values
    caught = least_epsilon(int((faulty <= 5).sum()), runs, int((half <= 5).sum()), runs, ALPHA)
    assert caught > epsilon, "negative control: half the noise is caught"


@pytest.mark.nightly
def test_a_release_from_rows_gives_a_bound_of_at_most_epsilon() -> None:
    runs = 200
    plan = letters_plan([2, 2], [["a"], ["b"]], epsilon="1")
    here = pd.DataFrame([("a0", "b0")] * 3 + [("a1", "b1")] * 2, columns=["a", "b"])
    there = pd.concat([here, pd.DataFrame([("a0", "b0")], columns=["a", "b"])])
    hits = []
    for frame in (here, there):
        with open_table(frame) as table:
            hits.append(
                sum(
                    all(
                        estimates["estimate"].iloc[0] <= 3
                        for name, estimates in release(table, plan).tables.items()
                        if name
                    )
                    for _ in range(runs)
                )
            )
    assert least_epsilon(hits[0], runs, hits[1], runs, ALPHA) <= plan.epsilon
