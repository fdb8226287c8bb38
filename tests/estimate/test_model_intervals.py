"""Intervals of a model's tables hold at their level, are not far too wide, and follow from what was measured."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest

from dpengine import Plan, preview
from dpengine.array_types import Columns, Floats, Ints
from dpengine.bundle.read import ModelErrorEntry
from dpengine.estimate import estimates as estimates_of
from dpengine.estimate.estimates import Estimates, ModelledEstimates, derive_estimates
from dpengine.estimate.model_intervals import (
    believed_error,
    error_by_size,
    mean_errors,
    model_half_widths,
    of_95_in_100,
)
from dpengine.marginals.measurement import AUDIT_EDGES, Audit
from dpengine.measure.strategy import decide
from dpengine.results.predict import predict
from dpengine.spec.wording import name_of
from tests.plans import letters_plan

CHANCE = np.random.default_rng(7)
SIZES = [2, 2, 3, 4, 6, 9, 12, 20]
RELEASES = 30


def plan_of(rows: int, epsilon: str) -> Plan:
    return letters_plan(SIZES, {"each": 2}, epsilon=epsilon, rows_about=rows, strategy="adaptive")


def people(rows: int) -> Ints:
    """Codes of so many people of four kinds, one column each; columns depend on each other through the kinds alone."""
    kind = CHANCE.choice(4, rows, p=[0.4, 0.3, 0.2, 0.1])
    columns = []
    for size in SIZES:
        parts = CHANCE.dirichlet(np.full(size, 0.5), 4).cumsum(axis=1)
        columns.append(np.minimum((CHANCE.random(rows)[:, None] > parts[kind]).sum(axis=1), size - 1))
    return np.stack(columns, axis=1)


def counted(codes: Ints, table: Columns) -> Ints:
    shape = tuple(SIZES["abcdefgh".index(name)] for name in table)
    cells = np.zeros(len(codes), dtype=np.int64)
    for name, size in zip(table, shape, strict=True):
        cells = cells * size + codes[:, "abcdefgh".index(name)]
    return np.bincount(cells, minlength=int(np.prod(shape))).reshape(shape)


def released(plan: Plan, codes: Ints) -> Estimates:
    measured = decide(plan).measure(lambda tables: [counted(codes, table) for table in tables])
    return derive_estimates(plan, measured)


def pairs(estimates: Estimates, codes: Ints) -> Iterator[tuple[Floats, Floats]]:
    """Yield how far the cells of each pair of columns are off, and their half-widths."""
    for table in combinations("abcdefgh", 2):
        middle, half_width = estimates.intervals(table)
        yield np.abs(middle - counted(codes, table)).ravel(), np.broadcast_to(half_width, middle.shape).ravel()


@pytest.mark.by_day(1)
@pytest.mark.parametrize(("rows", "epsilon"), [(1_600, "1"), (500, "0.3"), (1_600, "10"), (20_000, "1")])
def test_intervals_hold_at_their_level_and_are_not_far_too_wide(rows: int, epsilon: str) -> None:
    """Cells of one release hang together, so releases are what is counted: of intervals that hold 95 times in 100 on
    average, five standard errors make a false alarm of one in a million runs.
    """
    holds, half_widths, errors = [], [], []
    for _ in range(RELEASES):
        codes = people(rows)
        off, half_width = map(np.concatenate, zip(*pairs(released(plan_of(rows, epsilon), codes), codes), strict=True))
        holds.append((off <= half_width + 0.5).mean())  # the ends are whole numbers
        half_widths.append(half_width)
        errors.append(off)
    assert np.mean(holds) + 5 * np.std(holds) / RELEASES**0.5 > 0.95
    widest, largest = (np.quantile(np.concatenate(each), 0.95) for each in (half_widths, errors))
    assert widest < 8 * largest


def test_a_cell_is_off_by_its_columns_noise_as_far_as_they_overlap() -> None:
    """With column noise as the only error: 95 % of Laplace noise is within 3 times its scale."""
    expected = 100 * np.array([[600.0, 200.0], [150.0, 50.0]])
    half_widths = model_half_widths(expected, [2_000.0, 0.0], (0.0, 0.75))
    np.testing.assert_allclose(half_widths, 3 * 2_000 * np.array([[0.75, 0.25], [0.75, 0.25]]), rtol=0.02)
    noise = CHANCE.laplace(0, 2_000, 100_000)
    assert (np.abs(noise * 0.75) <= half_widths[0, 0]).mean() == pytest.approx(0.95, abs=0.005)


def test_noise_beyond_all_counts_of_a_column_widens_intervals_no_further() -> None:
    """Fitted counts of a column add up to the people and are not negative, however large its noise."""
    expected = 1_000 * np.outer([0.7, 0.2, 0.1, 0.0], [0.5, 0.5])
    error = 0.0, 0.75
    large, huge = (model_half_widths(expected, [scale, 0.0], error) for scale in (5_000.0, 1e9))
    np.testing.assert_allclose(huge, large)
    moderate = model_half_widths(expected, [1.0, 0.0], error)
    assert (moderate < large).all()
    more = model_half_widths(expected, [1e9, 0.0], error, people=5_000.0)
    # The mean of four counts grows by 1,000, a count by half of its part of 4,000; the other column halves both.
    np.testing.assert_allclose(
        more[:, 0] - huge[:, 0], (1_000 + 2.5 * 2_000 * np.array([0.7, 0.2, 0.1, 0.0])) / 2, rtol=0.01
    )


def test_fitted_counts_that_are_small_beside_the_noise_are_off_by_less_than_it() -> None:
    """Counts are never negative, so noise that would push a small one below 0 does not move it."""
    expected = 10_000 * np.outer([0.0, 0.05, 0.95], [0.5, 0.5])
    half_widths = model_half_widths(expected, [1_000.0, 0.0], (0.0, 0.75))[:, 0]
    np.testing.assert_allclose(half_widths, [2 * 1_000 / 2, (2 * 1_000 + 500) / 2, 3 * 1_000 / 2], rtol=0.01)


def test_cells_without_people_in_two_noisy_columns_may_hold_some() -> None:
    """Neither column alone lets the cell hold anybody, whatever its noise; but both may be off."""
    expected = 1_000 * np.outer([1.0, 0.0], [1.0, 0.0])
    alone = model_half_widths(expected, [100.0, 0.0], (0.0, 0.75))[1, 1]
    both = model_half_widths(expected, [100.0, 100.0], (0.0, 0.75))[1, 1]
    assert alone == 1.0
    np.testing.assert_allclose(both, 0.25 * 200 * 200 / 1_000, rtol=0.01)


def test_a_measured_table_has_no_interval_narrower_than_its_noise_where_counts_stand_above_it() -> None:
    expected = np.array([[600.0, 200.0], [150.0, 5.0]])
    with_noise = model_half_widths(expected, [2.0, 2.0], (0.0, 0.75), 20.0)
    np.testing.assert_allclose(with_noise.ravel()[:3], 60)
    assert with_noise[1, 1] < 2, "from the columns alone"
    codes = people(20_000)
    estimates = released(plan_of(20_000, "1"), codes)
    for one in estimates.measured.marginals:
        table = one.allocation.columns
        if len(table) == 2 and not one.merged:
            middle, half_width = estimates.intervals(table)
            assert (half_width[middle >= float(one.allocation.scale)] >= 3 * float(one.allocation.scale)).all()


def test_intervals_of_a_measured_table_of_three_columns_follow_its_own_noise() -> None:
    plan = letters_plan([5, 6, 4], [["a", "b", "c"]], epsilon="3", rows_about=20_000, strategy="adaptive")
    estimates = preview(plan).estimates
    assert isinstance(estimates, ModelledEstimates)
    whole = max(estimates.measured.marginals, key=lambda one: len(one.allocation.columns))
    assert whole.allocation.columns == ("a", "b", "c")
    assert estimates.intervals(("a", "b", "c"))[1].max() <= max(5 * float(whole.allocation.scale), 1.0)


def test_cells_determined_by_their_columns_have_narrow_intervals() -> None:
    """Where nearly everybody has one value, a count hardly varies given the counts of the columns."""
    expected = 10_000 * np.outer([0.99, 0.01], [0.5, 0.5])
    narrow, wide = model_half_widths(expected, [0.0, 0.0], (1.0, 0.5))[:, 0]
    assert narrow == pytest.approx(wide), "of two cells with one sum, one is off by as much as the other"
    drawn = CHANCE.hypergeometric(5_000, 5_000, 9_900, 100_000)
    np.testing.assert_allclose(narrow, 3.7 * drawn.std(), rtol=0.02)
    three = model_half_widths(np.multiply.outer(expected, [0.5, 0.5]), [0.0] * 3, (1.0, 0.5))
    np.testing.assert_allclose(three[0, 0, 0], 3.7 * np.sqrt(2475 * 0.5 * 0.5), err_msg="the two smallest parts count")


def test_counts_vary_around_a_model_that_is_right_unless_their_table_was_measured() -> None:
    """An audit of mostly measured tables may find hardly any error, and says little of the others then."""
    drawn = CHANCE.hypergeometric(200, 800, 300, 100_000)
    expected = 1_000 * np.outer([0.2, 0.8], [0.3, 0.7])
    half_width = model_half_widths(expected, [0.0, 0.0], (0.01, 0.75))[0, 0]
    np.testing.assert_allclose(half_width, 3.7 * np.sqrt(2 / np.pi) * drawn.std(), rtol=0.02)
    assert (np.abs(drawn - 60) <= half_width).mean() > 0.95
    assert model_half_widths(expected, [0.0, 0.0], (0.01, 0.75), 1.0)[0, 0] == 3.0


def audit_of(sums: Floats, scale: Fraction) -> Audit:
    return Audit((("a", "b"),), 1 / scale, 1, 1, np.rint(sums).astype(np.int64))


@pytest.mark.parametrize("sizes", sorted(AUDIT_EDGES))
def test_factor_and_power_are_found_from_exact_sums(sizes: int) -> None:
    """Audits of present releases have one or three size classes of cells, those of earlier ones seven."""
    expected = 1e6 * np.outer(CHANCE.dirichlet(np.full(40, 0.3)), CHANCE.dirichlet(np.full(30, 0.3)))
    part = [expected.sum(axis=k, keepdims=True) / 1e6 for k in (0, 1)]
    off = 2 * np.where(expected < 1, expected, expected**0.75) * np.sqrt((1 - part[0]) * (1 - part[1]))
    sums = np.bincount(np.digitize(expected, AUDIT_EDGES[sizes]).ravel(), off.ravel(), minlength=sizes)
    factor, power = error_by_size(audit_of(sums, Fraction(1)), [expected])
    assert power == 0.75
    assert factor == pytest.approx(2, rel=0.01)


def test_noise_in_a_size_class_without_cells_hardly_matters() -> None:
    expected = np.full((4, 5), 100.0)
    usual = error_by_size(audit_of(np.array([0.0, 4_000, 0]), Fraction(100)), [expected])[0]
    assert error_by_size(audit_of(np.array([450.0, 4_000, 0]), Fraction(100)), [expected])[0] < 2 * usual


def test_the_noise_of_the_audit_widens_intervals_and_never_narrows_them() -> None:
    expected = np.full((4, 5), 100.0)
    factors = [error_by_size(audit_of(np.array([3_000.0]), Fraction(n)), [expected])[0] for n in (1, 1000, 3000)]
    assert factors == sorted(factors)
    assert factors[2] / factors[0] == pytest.approx(2, rel=0.01), "once the noise is added"
    assert error_by_size(audit_of(np.array([-5_000.0]), Fraction(1000)), [expected])[0] > 0


def test_an_audit_that_is_mostly_noise_widens_intervals_no_more_than_what_models_miss() -> None:
    """With a clear sum, its own error is believed, however large."""
    expected = np.full((4, 5), 100.0)
    audits = [audit_of(np.array([total]), Fraction(noise)) for total, noise in ((1e3, 1), (1e3, 1e5), (3e5, 1e3))]
    clear, noisy, large = (believed_error(error_by_size(one, [expected]), one, 2_000, 0.1) for one in audits)
    assert clear[0] == pytest.approx(error_by_size(audits[0], [expected])[0], rel=0.01), "the audit tells"
    assert clear[0] < noisy[0] < error_by_size(audits[1], [expected])[0] / 10
    assert large[0] > 0.98 * error_by_size(audits[2], [expected])[0]
    assert believed_error((0.1, 0.75), audits[1], 2_000, 0.1)[0] == 0.1, "never wider than before"


@pytest.mark.parametrize("sizes", sorted(AUDIT_EDGES))
def test_a_model_that_expects_nobody_is_off_by_no_more_than_the_audit_in_any_cell(sizes: int) -> None:
    """Else the factor has no bound: bundles of earlier versions, of few people, had one that their reader refused."""
    sums = np.zeros(sizes)
    sums[0] = 12_000
    factor, power = error_by_size(audit_of(sums, Fraction(4_000)), [np.zeros((2, 30))])
    assert 0 < mean_errors(np.zeros(1), factor, power)[0] <= 12_000 + 4_000 * np.sqrt(sizes) + 1e-6
    assert ModelErrorEntry(factor=factor, power=power).factor < 1e6
    assert ModelErrorEntry(factor=1e17, power=power), "as earlier versions may have recorded it"


def test_what_is_predicted_is_about_what_is_published() -> None:
    """A release falls short of half of it by chance in fewer than 5 of 100; eight of fifteen, in fewer than 10^-6."""
    rows = 1_600
    plan, codes = plan_of(rows, "1"), people(rows)
    predicted = predict(plan).set_index("table")["half_width_95"]
    pairs = list(combinations("abcdefgh", 2))
    stated = [
        [estimates.half_width(pair) for pair in pairs] for estimates in (released(plan, codes) for _ in range(15))
    ]
    ratios = np.array(stated) / [predicted[name_of(pair)] for pair in pairs]
    assert 1 / 2 < np.median(np.median(ratios, axis=1)) < 2


def test_intervals_follow_from_the_stored_audit() -> None:
    """They follow from the stored measurements: with larger sums they are wider, and the estimates stay."""
    plan, codes = plan_of(1_600, "1"), people(1_600)
    measured = decide(plan).measure(lambda tables: [counted(codes, table) for table in tables])
    assert measured.audit is not None
    larger = replace(measured, audit=replace(measured.audit, sums=measured.audit.sums + 10**7))
    one, other = derive_estimates(plan, measured), derive_estimates(plan, larger)
    for table in (("a",), ("d", "h")):
        np.testing.assert_array_equal(one.estimate(table), other.estimate(table))
        assert (other.half_width(table) > one.half_width(table)) == (len(table) > 1)


def test_measurements_are_added_up_once_for_the_intervals_of_all_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    added, total_of = [], estimates_of.total_of
    monkeypatch.setattr(estimates_of, "total_of", lambda one: added.append(one) or total_of(one))
    estimates = released(plan_of(1000, "1"), people(1000))
    assert isinstance(estimates, ModelledEstimates)
    for name in "abcdefgh":
        estimates.half_width((name,))
    assert len(added) == len(estimates.measured.marginals), "and not for each column again"


def test_the_total_beside_a_model_varies_by_the_noise_of_all_that_adds_up_to_it() -> None:
    estimates = released(plan_of(1_600, "1"), people(1_600))
    assert isinstance(estimates, ModelledEstimates)
    known = estimates.measured.marginals
    variances = [2 * float(one.allocation.scale) ** 2 * one.values.size for one in known]  # of large scales
    assert estimates.total[1] == pytest.approx(1 / sum(1 / each for each in variances))


def test_the_half_width_of_a_table_is_exceeded_by_one_cell_in_twenty_at_most() -> None:
    for cells in (1, 2, 19, 20, 21, 1000):
        half_widths = CHANCE.permutation(np.arange(1.0, cells + 1)).reshape(1, cells)
        stated = of_95_in_100(half_widths)
        assert cells - 1 - cells / 20 <= (half_widths <= stated).sum() - 1, "95 in 100 do not exceed it"
        assert (half_widths < stated).sum() <= 0.95 * cells, "and it is the least"
    estimates = released(plan_of(1_600, "1"), people(1_600))
    assert estimates.half_width(("g", "h")) == of_95_in_100(estimates.intervals(("g", "h"))[1])


def test_where_noise_is_wide_a_total_that_is_less_sure_widens_intervals(monkeypatch: pytest.MonkeyPatch) -> None:
    """There may be three standard deviations of it more people, who would be in all cells in proportion."""
    estimates = released(plan_of(500, "0.05"), people(500))
    assert isinstance(estimates, ModelledEstimates)
    (total, variance), pair = estimates.total, ("g", "h")
    widths = []
    for known in (0.0, variance):
        monkeypatch.setattr(ModelledEstimates, "total", (total, known))
        widths.append(replace(estimates).intervals(pair)[1])
        assert replace(estimates)._max_people == pytest.approx(estimates.fitted.total + 3 * known**0.5)
    assert (widths[1] > widths[0]).mean() > 0.9


def test_intervals_of_a_model_follow_the_epsilon_of_a_row_in_the_tables() -> None:
    """So they are the same for two rows a person at twice the ε, and where a tenth of ε has found the cells."""
    estimates = released(plan_of(1_600, "1"), people(1_600))
    assert isinstance(estimates, ModelledEstimates)
    given = plan_of(1_600, "2").to_dict()
    of_two = Plan(**given | {"unit": {"id": "who", "rows": 2}})
    bins = SIZES[-1] - 2  # beside these, a column has a cell for other values, and one for missing ones
    *others, last = given["columns"]
    found = {
        "name": last["name"],
        "kind": "number",
        "low": 0,
        "high": bins,
        "step": 1,
        "bins": {"count": bins, "share": "1/10"},
    }
    asked = Plan(**given | {"columns": [*others, found], "epsilon": "10/9"})
    with_cells = asked.with_columns({last["name"]: asked.column(last["name"]).with_edges(tuple(range(bins + 1)))})
    assert with_cells.column(last["name"]).size == SIZES[-1], "the measured tables are those of this plan"
    pair = ("g", "h")
    expected = estimates.estimate(pair)
    for plan in (of_two, with_cells):
        other = replace(estimates, plan=plan)
        assert other.half_width(pair) == estimates.half_width(pair)
        assert other.usual_half_width(pair, expected) == estimates.usual_half_width(pair, expected)
