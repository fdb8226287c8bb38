"""Rows that are to keep some counts have exactly these, and no more people change than must."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from dpengine.array_types import Ints
from dpengine.estimate.agreement import FixedCounts
from dpengine.marginals.marginal import Domain, Marginal
from dpengine.marginals.pairwise import Pairwise
from dpengine.synthesis.generate_rows import SyntheticRows
from dpengine.synthesis.kept_counts import keep_counts

DOMAIN = Domain(("a", "b", "c"), (7, 3, 4))


def rows_of(seed: int, rows: int, most: int) -> SyntheticRows:
    chance = np.random.default_rng(seed)
    codes = np.stack([chance.integers(0, size, rows) for size in DOMAIN.sizes]).astype(np.int32)
    return SyntheticRows(DOMAIN, codes, chance.integers(1, most + 1, rows))


def model_of(rows: SyntheticRows) -> Pairwise:
    pairs = {(one, other): rows.table((one, other)) * 1.0 for one, other in (("a", "b"), ("a", "c"), ("b", "c"))}
    return Pairwise(float(rows.table(())), {name: rows.table((name,)) * 1.0 for name in DOMAIN.names}, pairs)


def kept(rows: SyntheticRows, *names: str, seed: int = 0) -> FixedCounts:
    order = np.random.default_rng(seed).permutation(rows.table(names).size)
    return FixedCounts(Marginal(names, rows.table(names)), order)


def keeping(rows: SyntheticRows, *tables: FixedCounts) -> SyntheticRows:
    return SyntheticRows(DOMAIN, *keep_counts(DOMAIN, rows.codes, rows.weights, tables, model_of(rows)))


def same_people(rows: SyntheticRows) -> SyntheticRows:
    """Return other rows of as many people."""
    turned = np.stack([np.roll(codes, k + 1) for k, codes in enumerate(rows.codes)])
    return SyntheticRows(DOMAIN, turned, rows.weights)


@given(st.integers(0, 2**20), st.integers(1, 60), st.sampled_from([1, 5]))
def test_counts_are_kept_and_as_few_people_as_possible_change(seed: int, rows: int, most: int) -> None:
    before, wanted = rows_of(seed, rows, most), same_people(rows_of(seed + 1, rows, most))
    people = int(before.weights.sum())
    table = wanted.table(("a", "c"))
    table.flat[0] += people - table.sum()
    if table.flat[0] < 0:
        return
    after = keeping(before, FixedCounts(Marginal(("a", "c"), table), np.arange(table.size)))
    assert (after.table(("a", "c")) == table).all()
    assert after.weights.min() > 0
    assert (after.table(("b",)) == before.table(("b",))).all()
    # People who stay are in the same cell of all columns, and no more leave than their cells have too many.
    surplus = np.maximum(before.table(("a", "c")) - table, 0).sum()
    stayed = np.minimum(before.table(DOMAIN.names), after.table(DOMAIN.names)).sum()
    assert stayed >= people - surplus


@given(st.integers(0, 2**20), st.integers(1, 60))
def test_tables_that_agree_are_all_kept(seed: int, rows: int) -> None:
    before, wanted = rows_of(seed, rows, 3), same_people(rows_of(seed, rows, 3))
    tables = kept(wanted, "a", "b", seed=seed), kept(wanted, "b", "c", seed=seed + 1)
    after = keeping(before, *tables)
    for each in tables:
        assert (after.table(each.counts.columns) == each.counts.values).all()


def test_people_go_no_farther_than_needed_along_the_order() -> None:
    codes = np.array([[0, 0, 0, 2, 5], [0, 1, 2, 0, 1], [0, 0, 0, 0, 0]], dtype=np.int32)
    rows = SyntheticRows(DOMAIN, codes, np.ones(5, dtype=np.int64))
    after = keeping(rows, FixedCounts(Marginal(("a",), np.array([2, 1, 1, 0, 1, 0, 0])), np.arange(7)))
    assert after.table(("a",)).tolist() == [2, 1, 1, 0, 1, 0, 0]
    assert (after.table(("b",)) == rows.table(("b",))).all()
    moved = after.table(("a", "b")) - rows.table(("a", "b"))
    assert sorted(np.argwhere(moved > 0)[:, 0].tolist()) == [1, 4]  # from 0 to 1, and from 5 to 4: not from 0 to 4


def test_who_leaves_stands_where_pairs_have_too_many() -> None:
    codes = np.array([[0, 0, 0, 0], [0, 1, 1, 2], [0, 0, 0, 0]], dtype=np.int32)
    rows = SyntheticRows(DOMAIN, codes, np.ones(4, dtype=np.int64))
    fewer = codes.copy()
    fewer[0, 1] = 3  # the model has one person fewer with b = 1 in the cell
    model = model_of(SyntheticRows(DOMAIN, fewer, rows.weights))
    wanted = FixedCounts(Marginal(("a",), np.array([3, 0, 0, 1, 0, 0, 0])), np.arange(7))
    after = SyntheticRows(DOMAIN, *keep_counts(DOMAIN, rows.codes, rows.weights, [wanted], model))
    assert after.table(("a", "b"))[3].tolist() == [0, 1, 0]


def test_the_order_of_rows_changes_nothing_of_the_counts() -> None:
    rows, wanted = rows_of(3, 40, 4), same_people(rows_of(3, 40, 4))
    places = np.random.default_rng(1).permutation(40)
    mixed = SyntheticRows(DOMAIN, rows.codes[:, places], rows.weights[places])
    counts: list[Ints] = [keeping(each, kept(wanted, "a", "c")).table(("a", "c")) for each in (rows, mixed)]
    assert (counts[0] == counts[1]).all()
