"""How ε was divided by a search, among levels, parts and kinds of tables: a file that says otherwise is refused.

Each forged file is what a faulty program would write: prices, scales, half-widths and intervals all follow from the
wrong shares.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest

from dpengine.bundle.verify import verify
from dpengine.errors import ReleaseError
from dpengine.marginals.box_strata import fewest_boxes, most_answers, most_boxes, strata
from dpengine.marginals.measurement import Allocation
from dpengine.measure import direct_strategy, levels, parts, tally_strategy
from dpengine.measure.allocation import allocate_optimally
from dpengine.measure.box_measurement import measure_boxes
from dpengine.release import release
from dpengine.spec.domain import Category, Column, Number
from dpengine.spec.plan import Plan

SEX = {"name": "sex", "kind": "category", "values": ["f", "m"]}
WARD = {"name": "ward", "kind": "category", "values": [f"w{k}" for k in range(20)]}
AGE = {"name": "age", "kind": "number", "edges": [*range(0, 100, 10)]}
PLACE = {"name": "place", "kind": "category", "values": {"n": ["n1", "n2"], "s": ["s1"]}, "levels": ["state", "town"]}
AREA = {"name": "area", "kind": "category", "values": {"a": ["a1", "a2"], "b": ["b1"]}, "levels": ["land", "spot"]}
ROWS = pd.DataFrame({
    "who": [*range(150)] * 2, "sex": ["f", "m", "m"] * 100, "ward": ["w1", "w2"] * 150, "age": [5, 25, 65] * 100,
    "place": ["n1", "n2", "s1"] * 100, "area": ["a1", "b1"] * 150,
})  # fmt: skip

OPTIMISED = {"tables": [["sex", "ward"], ["ward", "age"], ["sex"]], "strategy": "optimised"}
LEVELS = {"tables": [["place@state", "sex"], ["place", "sex"], ["sex"]]}
WITH_PERSONS = {"unit": {"id": "who", "rows": 2}, "tables": [["sex"], {"columns": ["ward"], "distinct": True}]}
RANGES = {"tables": [{"columns": ["age"], "ranges": True}, ["sex", "ward"]], "strategy": "adaptive"}
BESIDE_MODEL = {
    "tables": [{"columns": ["age"], "ranges": True}, ["sex", "ward"], ["ward", "age"], ["age", "sex"]],
    "strategy": "adaptive", "rows_about": 100, "epsilon": "1/10",
}  # fmt: skip
APART = {"tables": [{"columns": ["age"], "ranges": True}, ["ward"], ["sex"]], "strategy": "adaptive"}
UNEVEN = {
    "tables": [{"columns": ["ward", "age"], "weight": 1_000}, {"columns": ["sex"], "weight": "0.1"}],
    "strategy": "optimised",
}
IN_PARTS = {
    "tables": [["place@state", "sex"], ["place", "sex"], ["area@land"], ["area", "age"], ["sex", "ward"]],
    "strategy": "adaptive",
}


def bundle_of(fields: dict[str, Any]) -> bytes:
    plan = {"dataset": "demo", "epsilon": "2"} | fields
    used = str(plan["tables"])
    columns = [column for column in (SEX, WARD, AGE, PLACE, AREA) if any(
        f"'{column['name']}{end}" in used for end in ("'", "@"))]  # fmt: skip
    return release(ROWS, Plan(columns=columns, **plan)).bundle


def moved(epsilons: Sequence[Fraction], part: Fraction) -> list[Fraction]:
    """Move a part of the first share to the last."""
    first, *others, last = epsilons
    return [first * (1 - part), *others, last + first * part]


def optimal(part: Fraction) -> Callable[[Plan], tuple[Allocation, ...]]:
    def allocate(plan: Plan) -> tuple[Allocation, ...]:
        honest = allocate_optimally(plan)
        assert len(honest) > 1
        shares = moved([each.epsilon for each in honest], part)
        return tuple(
            Allocation(each.columns, share, each.sensitivity, each.grain, each.tally)
            for each, share in zip(honest, shares, strict=True)
        )

    return allocate


def of_levels(
    part: int | Fraction,
) -> Callable[[tuple[bytes, ...], tuple[tuple[float, ...], ...], range], tuple[Fraction, ...]]:
    honest = levels._least_loss

    def search(groups: tuple[bytes, ...], added: tuple[tuple[float, ...], ...], usable: range) -> tuple[Fraction, ...]:
        shares = [*map(Fraction, honest(groups, added, usable))]
        give = shares.index(max(shares))
        take = next(k for k in usable if k != give)
        shares[give], shares[take] = shares[give] - part, shares[take] + part
        return tuple(shares)

    return search


def of_parts(part: Fraction) -> Callable[..., list[Fraction]]:
    honest = parts.shares_of_parts

    return lambda *given: moved(honest(*given), part)


def of_tallies(part: Fraction) -> Callable[[Plan], tuple[Fraction, ...]]:
    honest = tally_strategy.divide_over_tallies
    return lambda plan: tuple(moved(honest(plan), part))


@pytest.mark.by_day(3)
@pytest.mark.parametrize("fields", [OPTIMISED, LEVELS, WITH_PERSONS, RANGES, IN_PARTS, APART, UNEVEN])
def test_honest_shares_are_taken(fields: dict[str, Any]) -> None:
    assert verify(bundle_of(fields))


@pytest.mark.parametrize("part", [Fraction(1, 10), Fraction(9, 10)])
@pytest.mark.parametrize(
    ("fields", "module", "name", "forged", "fault"),
    [
        (OPTIMISED, direct_strategy, "allocate_optimally", optimal, "among tables so that the error is least"),
        (
            LEVELS,
            levels,
            "_least_loss",
            lambda part: of_levels(int(1 + 20 * part)),
            "among levels of place so that",
        ),
        (
            IN_PARTS,
            levels,
            "_least_loss",
            lambda part: of_levels(int(1 + 20 * part)),
            "among levels of .* so that",
        ),
        (
            WITH_PERSONS,
            tally_strategy,
            "divide_over_tallies",
            of_tallies,
            "among tables of rows and of persons so that",
        ),
        (RANGES, parts, "shares_of_parts", of_parts, "the share of ε of age is .* in every version"),
        (IN_PARTS, parts, "shares_of_parts", of_parts, "the share of ε of levels of .* is .* in every version"),
        (BESIDE_MODEL, parts, "shares_of_parts", of_parts, "the share of ε of age is .* in every version"),
    ],
)
def test_other_shares_are_refused(
    fields: dict[str, Any],
    module: Any,
    name: str,
    forged: Callable[[Fraction], Any],
    fault: str,
    part: Fraction,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(module, name, forged(part))
        made = bundle_of(fields)
    with pytest.raises(ReleaseError, match=fault):
        verify(made)


def test_a_small_share_that_is_twice_as_large_is_no_result_of_a_search(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the others lack is little to each."""
    monkeypatch.setattr(direct_strategy, "allocate_optimally", optimal(Fraction(1, 50)))
    with pytest.raises(ReleaseError, match="among tables so that the error is least"):
        verify(bundle_of(UNEVEN))


def test_shares_of_tables_that_are_measured_beside_boxes_follow_from_the_plan(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = parts.shares_of_parts

    def shares(*given: Any) -> list[Fraction]:
        boxes, *others = honest(*given)
        assert len(others) == 2
        return [boxes, *moved(others, Fraction(1, 10))]

    monkeypatch.setattr(parts, "shares_of_parts", shares)
    with pytest.raises(ReleaseError, match=r"the share of ε of (sex|ward) is .* in every version"):
        verify(bundle_of(APART))


def test_shares_of_levels_are_whole_thousandths(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a share that is hardly another one, too."""
    monkeypatch.setattr(levels, "_least_loss", of_levels(Fraction(1, 100)))
    with pytest.raises(ReleaseError, match="among levels of place so that"):
        verify(bundle_of(LEVELS))


def test_shares_of_rows_and_of_persons_are_taken_up_to_rounding_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tally_strategy, "divide_over_tallies", of_tallies(Fraction(1, 100)))
    with pytest.raises(ReleaseError, match="among tables of rows and of persons so that"):
        verify(bundle_of(WITH_PERSONS))


COLUMNS: list[list[Column]] = [
    [Number(name="age", edges=[*range(100)], other=True, missing=True)],
    [Number(name="a", edges=[*range(20)], other=False, missing=False)],
    [Number(name="a", edges=[*range(20)]), Number(name="b", edges=[*range(17)], missing=False)],
    [Number(name="a", edges=[*range(12)]), Category(name="c", values=["x", "y", "z"])],
    [Category(name="c", values=["x", "y", "z"]), Category(name="d", values=["x"], other=False, missing=False)],
]


@pytest.mark.parametrize("columns", COLUMNS)
@pytest.mark.parametrize("people", [0, 3, 10, 10**3, 10**5, 10**8])
def test_numbers_of_boxes_and_questions_lie_within_their_bounds(columns: list[Column], people: int) -> None:
    """Whatever the rows: nobody, few, all in one cell, even, heaped, and more than any noise."""
    shape = tuple(column.size for column in columns)
    draw = np.random.default_rng()
    heaped = np.arange(np.prod(shape)).reshape(shape) % 5 == 0
    one = np.zeros(shape, dtype=np.int64)
    one.flat[0] = people
    each = people // int(np.prod(shape))
    for counts in (one, np.full(shape, each), each * 5 * heaped, draw.poisson(each, shape)):
        made = measure_boxes(
            tuple(column.name for column in columns), [*map(strata, columns)], counts.astype(np.int64), Fraction(1), 1
        )
        answers = 0 if made.unevenness is None else made.unevenness.values.size
        assert fewest_boxes(columns) <= made.values.size <= most_boxes(columns)
        assert answers <= most_answers(columns)
