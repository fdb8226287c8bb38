"""The model of pairs: exact without noise, always consistent, and it recovers Markov chains."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest

from dpengine.marginals.latent_classes import fit_latent_classes
from dpengine.marginals.measurement import Allocation, Measurement
from dpengine.marginals.noisy_pair import merge
from dpengine.marginals.pairwise import Pairwise, fit, fit_one_table, refit_pairs
from dpengine.marginals.smoothing import smooth
from dpengine.quasi_random import golden_fractions

SIZES = {"a": 3, "b": 4, "c": 5}
EXACT = Fraction(10**6)


def joint(*, markov: bool) -> np.ndarray:
    """Counts over a × b × c, about 60,000; with ``markov``, c depends on a through b alone."""
    a = np.array([0.5, 0.3, 0.2])
    b_of_a = np.array([[0.7, 0.1, 0.1, 0.1], [0.1, 0.6, 0.2, 0.1], [0.1, 0.1, 0.2, 0.6]])
    c_of_b = np.array([[0.6, 0.1, 0.1, 0.1, 0.1], [0.1, 0.6, 0.1, 0.1, 0.1], [0.1, 0.1, 0.1, 0.1, 0.6], [0.2] * 5])
    table = a[:, None, None] * b_of_a[:, :, None] * c_of_b[None]
    if not markov:
        table = table * (1 + 0.5 * np.cos(np.arange(60).reshape(3, 4, 5)))
    return np.rint(60_000 * table / table.sum()).astype(np.int64)


def measured(table: np.ndarray, *marginals: str) -> list[Measurement]:
    """Marginals of ``table`` measured with hardly any noise."""
    measurements = []
    for names in marginals:
        others = tuple(k for k, name in enumerate("abc") if name not in names)
        measurements.append(Measurement(Allocation(tuple(names), EXACT, 1), np.asarray(table.sum(axis=others))))
    return measurements


def test_marginals_without_noise_are_returned_unchanged() -> None:
    table = joint(markov=False)
    model = fit(SIZES, measured(table, "", "a", "b", "c", "ab", "ac", "bc"))
    assert model.total == pytest.approx(table.sum())
    for a, b in combinations("abc", 2):
        gone = ({"a", "b", "c"} - {a, b}).pop()
        assert np.allclose(model.pair(a, b), table.sum(axis="abc".index(gone)), rtol=1e-3, atol=1)
        assert np.array_equal(model.pair(b, a), model.pair(a, b).T)


def test_a_pair_that_was_not_measured_is_composed_through_the_column_between() -> None:
    table = joint(markov=True)
    model = fit(SIZES, measured(table, "", "a", "b", "c", "ab", "bc"))
    truth = table.sum(axis=1)
    independent = np.outer(truth.sum(1), truth.sum(0)) / truth.sum()
    assert np.abs(model.pair("a", "c") - truth).sum() < 0.01 * np.abs(independent - truth).sum()


def test_a_pair_that_nothing_joins_is_compared_with_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr("dpengine.marginals.pairwise._Pairs.dependence")
    names = "abcdef"
    model = fit(
        dict.fromkeys(names, 2), [Measurement(Allocation((n,), Fraction(1), 1), np.array([400, 600])) for n in names]
    )
    assert np.allclose(model.pair("a", "f"), [[160, 240], [240, 360]])


def test_larger_tables_agree_with_the_pairs() -> None:
    model = fit(SIZES, measured(joint(markov=False), "", "a", "b", "c", "ab", "ac", "bc"))
    whole = model.table(("c", "a", "b"))
    assert whole.shape == (5, 3, 4)
    assert np.allclose(whole.sum(axis=2), model.pair("c", "a"), rtol=0.01, atol=5)
    assert model.table(()) == model.total


def test_pairs_agree_with_their_columns_whatever_the_noise() -> None:
    table = joint(markov=False)
    noisy = [
        Measurement(
            Allocation(one.allocation.columns, Fraction(1, 50), 1),
            one.values + (np.arange(one.values.size) * 37 % 101 - 50).reshape(one.values.shape),
        )
        for one in measured(table, "", "a", "b", "c", "ab", "ac", "bc")
    ]
    model = fit(SIZES, noisy)
    for a, b in combinations("abc", 2):
        assert (model.pair(a, b) >= 0).all()
        assert np.allclose(model.pair(a, b).sum(axis=0), model.one_way[b], rtol=0.02, atol=1)


def test_noise_that_the_columns_rule_out_is_no_part_of_a_pair() -> None:
    """Columns are known; the pair's whole noise is in the sum of one row, and is the same in all cells of it."""
    table = joint(markov=False)
    exact = table.sum(axis=2)
    noise = np.zeros_like(exact)
    noise[1] = 500
    noisy = Measurement(Allocation(("a", "b"), Fraction(1, 300), 1), exact + noise)
    model = fit(SIZES, [*measured(table, "", "a", "b", "c"), noisy])
    assert np.abs(model.pair("a", "b") - exact).sum() < 0.1 * noise.sum()


def test_the_model_agrees_with_merged_bins() -> None:
    table = joint(markov=False)
    bins = (np.array([0, 1, 1]), np.array([0, 0, 1, 1]))
    coarse = merge(table.sum(axis=2), bins)
    assert coarse.shape == (2, 2)
    assert coarse.sum() == table.sum()
    merged = Measurement(Allocation(("a", "b"), EXACT, 1), coarse, bins)
    model = fit(SIZES, [*measured(table, "", "a", "b", "c"), merged])
    assert np.allclose(merge(model.pair("a", "b"), bins), coarse, rtol=0.02)


def test_merged_bins_of_pairs_make_single_columns_more_exact() -> None:
    """Bins of two cells are off by 1,800 in the column itself, and measured with hardly any noise in a pair."""
    table = joint(markov=False)
    off = np.array([900, 900, -900, -900, 0])
    vague = Measurement(Allocation(("c",), Fraction(1, 900), 1), table.sum(axis=(0, 1)) + off)
    bins = (np.array([0, 1, 2, 3]), np.array([0, 0, 1, 1, 2]))
    merged = Measurement(Allocation(("b", "c"), EXACT, 1), merge(table.sum(axis=0), bins), bins)
    model = fit(SIZES, [*measured(table, "", "a", "b"), vague, merged])
    truth = table.sum(axis=(0, 1))
    assert merge(model.one_way["c"], bins[1:]) == pytest.approx(merge(truth, bins[1:]), abs=200)
    wide = dict.fromkeys("bc", 600) | {"a": 3}  # too wide for equations: the column's own counts alone
    few = Measurement(Allocation(("b",), EXACT, 1), np.full(600, 100))
    halves = np.arange(600) // 300
    coarse = Measurement(Allocation(("b", "c"), EXACT, 1), np.diag([59_000, 1_000]), (halves, halves))
    singles = [few, replace(few, allocation=Allocation(("c",), EXACT, 1))]
    assert fit(wide, [*measured(table, "a"), *singles, coarse]).one_way["c"] == pytest.approx(np.full(600, 100), abs=1)


def test_mostly_empty_pairs_make_single_columns_more_exact() -> None:
    """Columns have noise of 200, and sums of 40 noisy cells of 80; all but one of these cells are empty."""
    counts = np.diag(100 * (np.arange(40) % 7) + 50)
    column = counts.sum(axis=0)
    singles = [Measurement(Allocation((name,), Fraction(1, 200), 1), (column + noise_of(200, column.shape)).astype(int))
               for name in "ab"]  # fmt: skip
    pair = Measurement(Allocation(("a", "b"), Fraction(1, 9), 1), (counts + noise_of(9, counts.shape)).astype(int))
    total = Measurement(Allocation((), EXACT, 1), np.asarray(column.sum()))
    model = fit({"a": 40, "b": 40}, [total, *singles, pair])
    assert all(np.abs(model.one_way[name] - column).mean() < 25 for name in "ab")


def test_cells_of_a_pair_may_follow_what_is_around_them() -> None:
    """Two columns of 30 cells whose strength of dependence changes slowly; the noise is given, of scale 30."""
    steps = np.linspace(-1, 1, 30)
    truth = np.rint(60 * np.exp(np.multiply.outer(steps, steps) * 1.5)).astype(np.int64)
    places = 2 * golden_fractions(np.arange(1, 901)) - 1
    noise = np.rint(-30 * np.sign(places) * np.log(1 - np.abs(places))).astype(np.int64).reshape(30, 30)
    allocation = Allocation(("a", "b"), Fraction(1, 30), 1)
    known = [Measurement(Allocation((name,), EXACT, 1), truth.sum(axis=1 - axis)) for axis, name in enumerate("ab")]
    seen = [*known, Measurement(allocation, truth + noise)]
    plain, better = (fit({"a": 30, "b": 30}, seen, nearby=nearby).pair("a", "b") for nearby in (False, True))
    assert np.abs(better - truth).sum() < 0.8 * np.abs(plain - truth).sum()


def test_a_column_must_be_measured_with_all_of_its_cells() -> None:
    with pytest.raises(KeyError):
        fit(SIZES, measured(joint(markov=True), "", "a", "b"))


def test_latent_classes_find_what_pairs_have_in_common() -> None:
    """Two classes, six columns: the pair left out is guessed far better than by independence."""
    classes = np.array([[0.9, 0.05, 0.05], [0.05, 0.05, 0.9]])
    table = 5000 * (np.outer(classes[0], classes[0]) + np.outer(classes[1], classes[1]))
    names = "abcdef"
    one = {name: table.sum(axis=1) for name in names}
    two = dict.fromkeys(combinations(names, 2), table)
    two["a", "b"] = np.outer(one["a"], one["b"]) / 10_000
    weights = dict.fromkeys(two, 1.0) | {("a", "b"): 0.01}
    model = fit_latent_classes(one, two, weights)
    assert np.abs(model["a", "b"] - table).sum() < 0.1 * np.abs(two["a", "b"] - table).sum()
    assert model["a", "b"].sum() == pytest.approx(10_000, rel=1e-6)


def noise_of(scale: float, shape: tuple[int, ...]) -> np.ndarray:
    """Laplace noise, the same in every run."""
    return np.rint(np.random.default_rng(8).laplace(0, scale, shape))


def test_pairs_fitted_again_follow_what_other_pairs_say() -> None:
    """A chain of columns: the pairs of neighbours say what the pair of its ends is, up to little noise."""
    table, scale = joint(markov=True), 300
    exact = {(a, b): table.sum(axis="abc".index(({*"abc"} - {a, b}).pop())) for a, b in combinations("abc", 2)}
    one = {name: table.sum(axis=tuple(k for k in range(3) if "abc"[k] != name)).astype(float) for name in "abc"}
    values = {pair: counts + noise_of(scale, counts.shape) * (pair == ("a", "c")) for pair, counts in exact.items()}
    alone = {pair: fit_one_table(values[pair], pair, scale) for pair in exact}
    again = refit_pairs(float(table.sum()), one, alone, {pair: (values[pair], scale) for pair in exact})
    off = [np.abs(tables["a", "c"] - exact["a", "c"]).sum() for tables in (alone, again)]
    assert off[1] < 0.6 * off[0]


def test_a_mostly_empty_pair_is_not_fitted_again() -> None:
    """Its own cells, of which nearly all lose their noise, tell its sums better than columns do."""
    counts = np.zeros((40, 40))
    np.fill_diagonal(counts, 500)
    noisy, one = counts + noise_of(10, counts.shape), {name: np.full(40, 500.0) for name in "ab"}
    tables = {("a", "b"): fit_one_table(noisy, ("a", "b"), 10)}
    assert refit_pairs(20_000.0, one, tables, {("a", "b"): (noisy, 10.0)}) == {}
    full = {("a", "b"): (np.full((40, 40), 12.5) + noise_of(10, (40, 40)), 10.0)}
    assert [*refit_pairs(20_000.0, one, tables, full)] == [("a", "b")]


def test_a_table_tells_its_columns_once() -> None:
    """The sums of its pairs are no more evidence of a column, which is smoothed as widely as its noise is."""
    scale, shape = 20.0, (24, 3, 2)
    noisy = np.resize([100.0, 500, 300], 24)[:, None, None] + noise_of(scale, shape)
    fitted = fit_one_table(noisy, ("a", "b", "c"), scale)
    column = smooth(noisy.sum(axis=(1, 2)), scale * np.sqrt(6), noisy.sum())
    assert np.allclose(fitted.sum(axis=(1, 2)), column, rtol=1e-6), "columns are independent, so this is all of it"


def test_few_cells_under_wide_noise_also_follow_how_unequal_their_counts_are() -> None:
    """Ten draws of fixed noise: 0.90 times the error in the mean of 60 such tens, with standard deviation 0.03."""
    counts = np.zeros((6, 5))
    counts[[0, 3, 5, 1], [0, 2, 4, 1]] = 900, 400, 150, 50
    chance, off = np.random.default_rng(0), np.zeros(2)
    for _ in range(10):
        noisy = np.rint(counts + chance.laplace(0, 60, counts.shape))
        both = [fit_one_table(noisy, ("a", "b"), 60.0, by_size=by_size) for by_size in (True, False)]
        assert both[0].sum() == pytest.approx(noisy.sum())
        assert (both[0] >= 0).all()
        off += [np.abs(each - counts).sum() for each in both]
    assert off[0] < 0.97 * off[1]


def test_many_cells_or_little_noise_are_left_to_the_sums() -> None:
    for cells, scale in (((13, 10), 60.0), ((6, 5), 2.0)):
        noisy = np.resize([900.0, -20, 35, 0, -40, 10], cells)
        both = [fit_one_table(noisy, ("a", "b"), scale, by_size=by_size) for by_size in (True, False)]
        assert np.array_equal(*both)


def test_a_model_of_nobody_has_tables_of_zeros() -> None:
    pairs = {pair: np.zeros([SIZES[name] for name in pair]) for pair in combinations(SIZES, 2)}
    nobody = Pairwise(0.0, {name: np.zeros(size) for name, size in SIZES.items()}, pairs)
    wide = replace(nobody, wide={("a", "b", "c"): np.ones((3, 4, 5))})
    assert (wide.table(("a", "b", "c")) == 0).all()
