"""One joint table of all columns: whole counts whose tables come near to fitted ones."""

from itertools import combinations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from dpengine.estimate.joint_table import POWER, fit_joint, round_joint
from dpengine.marginals.fitting import round_to_total
from dpengine.marginals.marginal import Marginal

NAMES = ("a", "b", "c", "d")


def tables_of(joint: np.ndarray, width: int) -> dict[tuple[str, ...], np.ndarray]:
    whole = Marginal(NAMES[: joint.ndim], joint)
    return {table: whole.project(table).values for table in combinations(whole.columns, width)}


def off(counts: np.ndarray, fitted: dict[tuple[str, ...], np.ndarray]) -> float:
    """Σ weight · (count − fitted)² over the cells of all tables."""
    whole = Marginal(NAMES[: counts.ndim], counts)
    return sum(
        float(((1 + wanted) ** -POWER * (whole.project(table).values - wanted) ** 2).sum())
        for table, wanted in fitted.items()
    )


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(1, 5), min_size=2, max_size=4), st.integers(0, 400), st.integers(0, 2**32 - 1), st.data())
def test_whole_counts_add_up_and_are_never_farther_from_the_tables_than_rounded_ones(
    sizes: list[int], people: int, seed: int, data: st.DataObject
) -> None:
    chance = np.random.default_rng(seed)
    width = data.draw(st.integers(1, len(sizes)))
    joint = chance.dirichlet(np.full(np.prod(sizes), 0.3)).reshape(sizes) * people
    joint[chance.random(sizes) < 0.2] = 0
    fitted = {
        table: np.maximum(0, wanted + chance.normal(0, 2, wanted.shape))
        for table, wanted in tables_of(joint, width).items()
    }
    if joint.sum() > 0:
        joint *= people / joint.sum()
    counts = round_joint(joint, NAMES[: len(sizes)], fitted, people if joint.sum() > 0 else 0)
    assert counts.dtype == np.int64
    assert counts.min() >= 0
    assert counts.sum() == round(joint.sum())
    assert not counts[joint == 0].any(), "nobody moves where nobody is expected"
    assert off(counts, fitted) <= off(round_to_total(joint, round(joint.sum())), fitted) * 1.0001 + 1e-3
    assert (round_joint(joint, NAMES[: len(sizes)], fitted, counts.sum()) == counts).all()


def test_people_move_until_many_small_tables_are_near() -> None:
    """3,000 people in 10⁴ cells, placed at first as if their columns were independent."""
    chance = np.random.default_rng(8)
    truth = chance.multinomial(3000, chance.dirichlet(np.full(10**4, 0.05))).reshape(10, 10, 10, 10).astype(float)
    fitted, single = tables_of(truth, 3), tables_of(truth, 1)
    joint = fit_joint(NAMES, single, {table[0]: wanted for table, wanted in single.items()}, 3000)
    plain = off(round_to_total(joint, 3000), fitted)
    assert off(round_joint(joint, NAMES, fitted, 3000), fitted) < plain / 10


def test_tables_of_few_cells_are_met_even_if_convergence_is_slow() -> None:
    """Three columns that nearly determine each other: after 60 sweeps, 1,500 people would still be in wrong cells."""
    chance = np.random.default_rng(4)
    truth = chance.multinomial(10**6, chance.dirichlet(np.full(12**3, 0.02))).reshape(12, 12, 12).astype(float)
    fitted = tables_of(truth, 2)
    joint = fit_joint(NAMES[:3], fitted, {t[0]: wanted for t, wanted in tables_of(truth, 1).items()}, 10**6)
    apart = {t: np.abs(Marginal(NAMES[:3], joint).project(t).values - wanted).sum() for t, wanted in fitted.items()}
    assert sum(apart.values()) < 100


def test_many_people_at_a_time_are_not_moved_too_far() -> None:
    """All people are in one cell and have to move; each alone would move to the same cell."""
    fitted: dict[tuple[str, ...], np.ndarray] = {("a",): np.array([500.0, 500.0]), ("b",): np.array([250.0, 750.0])}
    start = np.array([[400.0, 300.0], [100.0, 200.0]])
    counts = round_joint(start, ("a", "b"), fitted, 1000)
    assert off(counts, fitted) < off(np.rint(start).astype(np.int64), fitted)
