"""No person moves what an audit adds up, or the scores of two models, by more than the noise is calibrated to."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any, cast

import numpy as np
import pytest

from dpengine.array_types import Columns, Floats, Ints
from dpengine.marginals.pairwise import Pairwise
from dpengine.measure import model_error
from dpengine.measure.model_error import GRAIN, measure_audit, with_classes
from dpengine.measure.workload import Run, Workload

TABLES = [("a", "b"), ("a", "b", "c"), ("a", "c", "d")]
SIZES = {"a": 2, "b": 3, "c": 2, "d": 2}
RNG = np.random.default_rng(7)
ROWS = RNG.integers(0, 2, (40, 4))
EPSILON = Fraction(1, 3)


class Given:
    """A model of given tables, which depends on no rows."""

    def __init__(self, seed: int) -> None:
        rng = np.random.default_rng(seed)
        self.total = 1e6  # so many that small and large cells have separate sums
        self.tables: Mapping[Columns, Floats] = {
            each: rng.choice([0.3, 4.1, 15.0, 300.7], [SIZES[name] for name in each]) for each in TABLES
        }

    def table(self, columns: Columns) -> Floats:
        return self.tables[columns]

    def with_classes(self) -> Given:
        return Given(99)


def run_on(rows: Ints, sensitivity: int) -> Run:
    counts = {}
    for table in TABLES:
        counts[table] = np.zeros([SIZES[name] for name in table], dtype=np.int64)
        np.add.at(counts[table], tuple(rows[:, "abcd".index(name)] for name in table), 1)
    return Run(Workload(SIZES, [], TABLES), counts, EPSILON, sensitivity)


@pytest.mark.parametrize("person", [1, 3])
def test_a_person_moves_an_audit_and_the_scores_of_models_by_no_more_than_is_paid_for(
    person: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[tuple[Ints, Fraction]] = []  # exact numbers, and what they may move by
    monkeypatch.setattr(
        model_error, "perturb", lambda exact, scale: seen.append((exact.copy(), scale * EPSILON)) or exact
    )

    def choose(scores: Ints, epsilon: Fraction, sensitivity: int) -> int:
        seen.append((scores, sensitivity * EPSILON / epsilon))
        return 0

    monkeypatch.setattr(model_error, "permute_and_flip", choose)

    def numbers(rows: Ints) -> tuple[tuple[Ints, Fraction], tuple[Ints, Fraction]]:
        seen.clear()
        model = cast(Pairwise, cast(Any, Given(1)))
        measure_audit(run_on(rows, person), model, EPSILON)
        with_classes(run_on(rows, person), model, EPSILON)
        audit, scores = seen
        return audit, scores

    (audit, paid), (scores, paid_for_scores) = numbers(ROWS)
    assert (len(audit), paid) == (3, GRAIN * len(TABLES) * person)
    assert paid_for_scores == GRAIN * 2 * person, "two tables have three columns"
    most = most_of_scores = 0
    for row in np.ndindex(2, 3, 2, 2):
        other, other_scores = numbers(np.concatenate([ROWS, [row] * person]))
        most = max(most, int(np.abs(other[0] - audit).sum()))
        most_of_scores = max(most_of_scores, int(np.abs(other_scores[0] - scores).max()))
    assert 0.5 * paid < most <= paid
    assert 0.5 * paid_for_scores < most_of_scores <= paid_for_scores
