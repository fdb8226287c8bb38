"""Means and sums of amounts: right on average, in intervals that hold, and the same in every table.

Statistical tests: the bounds are those of a binomial at 1e-9, so that all of them together raise a false alarm less
than once in 10⁸ runs. Coverage tests see a loss of 3 points in 100 with probability above 0.999.
"""

from __future__ import annotations

import io
import zipfile
from collections.abc import Sequence
from contextlib import redirect_stdout
from dataclasses import replace
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from dpengine import Ledger, Plan, draw_replicates, release, verify
from dpengine.array_types import Columns, Floats, Ints
from dpengine.estimate import amounts
from dpengine.estimate.amounts import fit_amount, fit_means, mean_intervals, mean_reach, round_within
from dpengine.estimate.deviations import fit_deviations
from dpengine.estimate.error_distribution import _weighted_sum
from dpengine.estimate.estimates import derive_estimates
from dpengine.marginals.measurement import Measurements
from dpengine.measure.strategy import decide
from dpengine.noise import moments
from dpengine.replicates import pack
from dpengine.results.result import Result, conclude
from dpengine.spec.domain import Amount
from dpengine.spec.numeric.amount_steps import Stepped, at_steps
from tests.given_noise import noisy_measurement

PAY = {"name": "pay", "kind": "amount", "from": 0, "to": 1000, "step": 1, "missing": False}
SIZES = (30, 100, 300, 1000, 3000)


def plan_of(epsilon: object = 1, tables: Any = ({"columns": ["g"], "mean": ["pay"]},), **amount: Any) -> Plan:
    groups = [{"name": name, "kind": "category", "values": [f"{name}{k}" for k in range(size)], "other": False,
               "missing": False} for name, size in (("g", len(SIZES)), ("h", 3))]  # fmt: skip
    return Plan(dataset="d", epsilon=epsilon, columns=[*groups, PAY | amount], tables=list(tables))


def people(spread: str) -> tuple[Ints, Ints, Ints]:
    """Groups of five sizes, a second column, and what they are paid."""
    rng = np.random.default_rng(7)
    groups = np.repeat(np.arange(len(SIZES)), SIZES)
    pay = np.clip(rng.lognormal(5, 0.9, groups.size), 0, 1000)
    if spread == "two values":
        pay = np.where(rng.random(groups.size) < 0.1, 1000, 0)
    return groups, np.arange(groups.size) % 3, pay.astype(np.int64)


def counts_of(plan: Plan, columns: tuple[Ints, Ints, Ints], marginals: list[Columns]) -> list[Ints]:
    """Count marginals in units."""
    codes = dict(zip("gh", columns, strict=False))
    amount = plan.amount("pay")
    lower, units = amount.split(columns[2])
    found = []
    for marginal in marginals:
        if isinstance(marginal, Stepped):
            stepped = at_steps(amount)
            counts = np.zeros([*plan.shape(marginal[:-1]), stepped.size], dtype=np.int64)
            np.add.at(counts, (*(codes[name] for name in marginal[:-1]), stepped.split(columns[2])[0]), 1)
            found.append(counts)
            continue
        counts = np.zeros(plan.shape(marginal), dtype=np.int64)
        places = [lower if name == "pay" else codes[name] for name in marginal]
        if "pay" not in marginal:
            np.add.at(counts, tuple(places), 1)
        else:
            np.add.at(counts, tuple(places), amount.grain - units)
            axis = marginal.index("pay")
            places[axis] = np.minimum(lower + 1, plan.column("pay").size - 1)
            np.add.at(counts, tuple(places), units)
        found.append(counts)
    return found


def release_of(plan: Plan, columns: tuple[Ints, Ints, Ints]) -> Result:
    strategy = decide(plan)
    return conclude(strategy.plan, strategy.measure(lambda marginals: counts_of(plan, columns, list(marginals))))


def true_means(columns: tuple[Ints, Ints, Ints]) -> Floats:
    return np.bincount(columns[0], columns[2]) / np.bincount(columns[0])


class OneScale:
    """Noise of a table of cells that are measured by themselves."""

    def noise_along(self, table: Columns, coefficients: Sequence[float]) -> tuple[float, float]:
        scale = Fraction(20)
        error = _weighted_sum(tuple((abs(each), 1, scale) for each in coefficients if each))
        return sum(each**2 for each in coefficients) * moments.variance(scale), error.half_width()


@pytest.mark.parametrize("knots", [[], [0, 100, 400, 1000]])
def test_the_reach_of_a_mean_is_that_of_the_noise_there(knots: list[int]) -> None:
    """It is computed at a few means; between these, it must not be less."""
    amount = Amount(name="pay", low="0", high="1000", knots=knots)
    at = np.linspace(0, 1, 41)
    exact = [OneScale().noise_along(("g", "pay"), [*(np.array(amount.knot_fractions) - mean), 0.0])[1] for mean in at]
    ratios = mean_reach(amount, ("g",), OneScale())(at) / exact
    assert 0.99 < ratios.min() <= ratios.max() < 1.1
    assert ratios[::10].min() > 1 - 1e-9, "at the means at which it is computed it is no less at all"


@pytest.mark.parametrize("spread", ["skewed", "two values"])
@pytest.mark.parametrize("epsilon", ["0.1", "1", "10"])
@pytest.mark.by_day(1)
def test_intervals_hold_the_true_mean(epsilon: str, spread: str) -> None:
    columns, runs = people(spread), 120
    plan = plan_of(epsilon)
    true, covered = true_means(columns), 0
    strategy = decide(plan)
    exact = counts_of(plan, columns, [("g", "pay")])
    for _ in range(runs):
        estimates = derive_estimates(plan, strategy.measure(lambda marginals: exact))
        low, high = mean_intervals(plan.amount("pay"), ("g",), estimates.soft)
        covered += int(((1000 * low <= true) & (true <= 1000 * high)).sum())
    assert covered >= stats.binom.ppf(1e-9, runs * len(SIZES), 0.95)


@pytest.mark.by_day(3)
@pytest.mark.parametrize("strategy", ["direct", "optimised", "adaptive"])
@pytest.mark.parametrize(
    "amount", [{}, {"missing": True}, {"knots": [0, 100, 300, 1000]}], ids=["ends", "missing", "knots"]
)
def test_tables_agree_and_means_stay_within_the_bounds(strategy: str, amount: dict[str, Any]) -> None:
    tables = [{"columns": ["g"], "mean": ["pay"]}, {"columns": ["h"], "mean": ["pay"], "sum": ["pay"]}]
    plan = plan_of("0.5", tables, **amount).model_copy(update={"strategy": strategy})
    result = release_of(plan, people("skewed"))
    total = result.amount_table((), "pay")
    for name in "gh":
        table, cells = result.amount_table((name,), "pay"), result.cells((name,))
        assert (table.known <= result.counts((name,))).all()
        assert (table.steps <= 1000 * table.known).all()
        assert (table.known.sum(), table.steps.sum()) == (total.known, total.steps)
        mean, low, high = (cells[f"mean_pay{end}"] for end in ("", "_low", "_high"))
        assert ((low >= 0) & (low <= mean) & (mean <= high) & (high <= 1000)).all()
    rows = result.synthetic()
    assert rows.groupby("h")["pay"].sum().tolist() == pytest.approx(result.cells(("h",))["sum_pay"], rel=0.02, abs=40)


def test_a_mean_without_noise_is_the_mean() -> None:
    columns = people("skewed")
    means = release_of(plan_of(1000), columns).tables["g",]
    assert means["mean_pay"].to_numpy() == pytest.approx(true_means(columns), abs=0.5)
    assert (means["mean_pay_high"] - means["mean_pay_low"]).max() < 2


def test_small_groups_are_drawn_towards_the_others_only_as_far_as_the_noise_calls_for() -> None:
    """Five similar groups gain a fifth or more from each other; groups that differ lose next to nothing."""
    rng = np.random.default_rng(3)
    groups = np.repeat(np.arange(5), 60)

    def root_mean_squares(pay: Ints) -> tuple[float, float]:
        columns, plan = (groups, groups * 0, pay), plan_of("0.3")
        exact, strategy = counts_of(plan, columns, [("g", "pay")]), decide(plan)
        true, drawn, plain = true_means(columns), [], []
        for _ in range(60):
            estimates = derive_estimates(
                plan, Measurements((noisy_measurement(strategy.allocations[0], exact[0], rng),))
            )
            fitted = estimates.fitted.table  # type: ignore[union-attr]
            (table,) = fit_amount(plan.amount("pay"), [("g",)], fitted, estimates.soft, lambda _name: len(SIZES))
            drawn.append(table.steps / np.maximum(table.known, 1) - true)
            soft = estimates.estimate(("g", "pay"))
            plain.append(1000 * np.clip(soft[:, 1] / np.maximum(soft.sum(axis=1), 1), 0, 1) - true)
        return float(np.sqrt(np.mean(np.square(drawn)))), float(np.sqrt(np.mean(np.square(plain))))

    alike, plain = root_mean_squares(rng.integers(290, 310, groups.size))
    assert alike < 0.8 * plain
    apart, plain = root_mean_squares(200 * groups + rng.integers(0, 100, groups.size))
    assert apart < 1.1 * plain


@given(
    st.lists(st.tuples(st.floats(-5, 50), st.integers(0, 30)), min_size=1, max_size=8),
    st.fractions(0, 1),
)
def test_rounding_keeps_totals_and_limits(cells: list[tuple[float, int]], part: Fraction) -> None:
    wanted, limits = np.array([[value for value, _ in cells]]), np.array([[limit for _, limit in cells]])
    total = np.array([int(part * int(limits.sum()))])
    rounded = round_within(wanted, limits, total)
    assert rounded.sum() == total
    assert ((rounded >= 0) & (rounded <= limits)).all()


def test_a_group_of_whom_nobody_is_counted_has_the_mean_of_those_beside_it() -> None:
    """Means rise by age, and some ages are so rare that none is counted: they do not get the mean of all people."""
    size = 30
    ages = np.repeat(np.arange(size), [1] * 5 + [4000] * (size - 5))
    pay = (100 + 25 * ages).astype(np.int64)
    columns = [{"name": "g", "kind": "category", "values": [f"g{k}" for k in range(size)], "other": False,
                "missing": False}, {"name": "h", "kind": "yesno"}, PAY]  # fmt: skip
    plan = Plan(dataset="d", epsilon="0.5", columns=columns, tables=[{"columns": ["g"], "mean": ["pay"]}])
    rng, strategy = np.random.default_rng(2), decide(plan)
    exact = counts_of(plan, (ages, ages * 0, pay), list(strategy.marginals))
    measured = Measurements((noisy_measurement(strategy.allocations[0], exact[0], rng),))
    result = conclude(strategy.plan, measured)
    cells, nobody = result.cells(("g",)), result.counts(("g",)) == 0
    assert nobody[:5].any()
    assert np.abs(cells["mean_pay"] - (100 + 25 * np.arange(size)))[nobody].max() < 120, "the mean of all is 500 or so"
    reopened = Result.from_bytes(result.to_bytes())
    assert reopened.cells(("g",))["mean_pay"].tolist() == cells["mean_pay"].tolist()
    early = replace(result, amounts=tuple(replace(each, expected=None) for each in result.amounts))
    again = Result.from_bytes(early.to_bytes()).cells(("g",))["mean_pay"]
    everybody = result.amount_table((), "pay")
    assert again[nobody] == pytest.approx(float(everybody.steps / everybody.known), abs=0.1), "as it was published"
    assert again[~nobody].tolist() == cells["mean_pay"][~nobody].tolist()


def test_very_large_sums_are_exact() -> None:
    limits = np.array([[10**15 + k for k in range(50)]])
    total = np.array([int(limits.sum()) * 2 // 3])
    rounded = round_within(limits * 0.5, limits, total)
    assert rounded.sum() == total
    assert ((rounded >= 0) & (rounded <= limits)).all()


def test_a_group_of_nobody_has_the_whole_range() -> None:
    """Given numbers instead of noise: no people, many people with one mean, and counts that no mean explains."""
    plan = plan_of("0.5")
    (drawn,) = decide(plan).measure(lambda marginals: [np.zeros((len(SIZES), 2), dtype=np.int64)]).marginals
    values = np.zeros_like(drawn.values)
    values[1], values[2] = 500_000_000, (1_000_000, -1_000_000)
    soft = derive_estimates(plan, Measurements((replace(drawn, values=values),))).soft
    low, high = mean_intervals(plan.amount("pay"), ("g",), soft)
    assert (low[0], high[0]) == (0, 1)
    assert 0.49 < low[1] < 0.5 < high[1] < 0.51
    assert (low[2], high[2]) == (0, 1)


def test_an_amount_is_shared_exactly() -> None:
    amount = Amount(name="pay", low="0", high="12", knots=["0", "4", "10", "12"], missing=True)
    assert amount.grain == 12
    cells, units = amount.split(np.array([0, 1, 4, 7, 12, 13]))
    assert cells.tolist() == [0, 0, 1, 1, 2, 4]
    assert units.tolist() == [0, 3, 0, 6, 12, 0]


@pytest.mark.parametrize("strategy", ["direct", "adaptive"])
@pytest.mark.by_day(1)
def test_plans_that_measure_the_same_are_one_release_whichever_comes_first(strategy: str) -> None:
    """Margins of a measured table are free: the same payload serves a plan of other tables."""
    rng = np.random.default_rng(1)
    rows = pd.DataFrame(
        {"g": rng.choice(["g0", "g1"], 200), "h": rng.choice(["h0", "h2"], 200), "pay": rng.integers(0, 9, 200)}
    )
    whole = [{"columns": ["g", "h"], "mean": ["pay"]}]
    parts = [{"columns": ["g"], "mean": ["pay"]}, {"columns": ["h"], "sum": ["pay"]}, *whole]
    for first, second in [(whole, parts), (parts, whole)]:
        ledger = Ledger.in_memory()
        for tables in (first, second):
            plan = plan_of(1, tables).model_copy(update={"strategy": strategy})
            assert verify(release(rows, plan, ledger).bundle)
        assert ledger.spent("d") == 1


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("strategy", ["direct", "optimised", "adaptive"])
@pytest.mark.by_day(1)
def test_replicates_have_the_noise_of_units_and_carry_means_and_sums(
    strategy: str, missing: bool, tmp_path: Path
) -> None:
    """The spread of 50 normal draws and more exceeds 2.2 times the expected one less than once in 10²⁰ runs."""
    tables = [{"columns": ["g", "h"], "mean": ["pay"]}, {"columns": ["h"], "sum": ["pay"]}]
    plan = plan_of(5, tables, missing=missing).model_copy(update={"strategy": strategy})
    rows = pd.DataFrame({"g": ["g0", "g1"] * 50, "h": ["h0"] * 100, "pay": [*range(98), None, 5]})
    result = release(rows, plan)
    ours, theirs = draw_replicates(result), draw_replicates(result.bundle)
    assert all(ours[table].equals(theirs[table]) for table in ours)
    if strategy != "adaptive":
        drawn = ours["g", "h"].filter(regex="^r[1-9]").to_numpy() - ours["g", "h"]["r0"].to_numpy()[:, None]
        error = drawn.std() / (result.estimates.half_width(("g", "h")) / 2)
        assert 0.5 < error < 2
    cells = {table: result.cells(table) for table in ours}
    means = ours["g", "h"]["sum_pay_r0"] / ours["g", "h"]["known_pay_r0"]
    some = cells["g", "h"]["known_pay" if missing else "count"] > 0  # a cell may hold people of whom no pay is known
    assert means[some].tolist() == pytest.approx(cells["g", "h"]["mean_pay"][some], abs=0.02)
    assert ours["h",]["sum_pay_r0"].tolist() == cells["h",]["sum_pay"].tolist()
    assert ours["h",]["known_pay_r0"].tolist() == cells["h",]["known_pay" if missing else "count"].tolist()
    moved = {table: frame.filter(like="sum_pay_r").sub(frame["sum_pay_r0"], axis=0) for table, frame in ours.items()}
    for table in moved:  # the noise in the sums is that of the release, and adds up
        assert np.allclose(moved[table].sum(), moved[()].iloc[0], atol=0.2)
        wide = amounts.sum_intervals(plan.amount("pay"), table, result.estimates.soft)[1] / 2
        assert 0.4 < moved[table].to_numpy()[:, 1:].std() / wide < 2.2
    if strategy == "direct":
        with zipfile.ZipFile(io.BytesIO(pack(result))) as packed:
            packed.extractall(tmp_path)
        guide = (tmp_path / "README.txt").read_text()
        assert max(map(len, guide.splitlines())) <= 120
        recipe = guide[guide.index("mean = lambda") :].split("\n\n")[0]
        names = {"pd": pd, "table": pd.read_csv(tmp_path / "01-g-x-h.csv")}
        with redirect_stdout(io.StringIO()) as output:
            exec(recipe, names)
        assert float(output.getvalue().split(" ± ")[0]) == pytest.approx(result.cells(())["mean_pay"][0], abs=0.1)


def test_small_groups_are_not_shrunk_because_large_ones_are_close_to_all_people() -> None:
    """Two large groups have the common mean, forty small ones do not, far beyond their noise of 3."""
    people, true = np.array([1e4, 1e4] + [50.0] * 40), np.array([0.5, 0.5] + [0.1, 0.9] * 20)
    noisy = people * (true - 0.5) + np.tile([2.0, -3.0, 1.0, 4.0, -3.0, -2.0], 7)
    fit = partial(fit_deviations, ordered=[42])
    means = fit_means(("group",), people, 0.5, lambda _columns: (noisy, 9.0), [("group",)], fit)
    assert np.abs(means - true)[2:].mean() < 0.06


def test_ages_are_fitted_with_those_beside_them_and_missing_ones_are_not() -> None:
    """Noise of 14 in sums over 30 people a year of age: means along ages have half the noise of single ones."""
    rng, size = np.random.default_rng(8), 50
    ages = np.repeat(np.arange(size + 1), [30] * size + [300])
    pay = np.where(ages < size, 300 + 8 * ages, 100).astype(np.int64)
    columns = [{"name": "g", "kind": "category", "values": [f"g{k}" for k in range(size)], "other": False},
               {"name": "h", "kind": "category", "values": ["h0"], "other": False, "missing": False}, PAY]  # fmt: skip
    plan = Plan(dataset="d", epsilon="0.1", columns=columns, tables=[{"columns": ["g"], "mean": ["pay"]}])
    strategy = decide(plan)
    exact = counts_of(plan, (ages, ages * 0, pay), list(strategy.marginals))
    off, alone = [], []
    for _ in range(20):
        measured = Measurements((noisy_measurement(strategy.allocations[0], exact[0], rng),))
        means = conclude(strategy.plan, measured).amount_table(("g",), "pay")
        off.append(means.steps / np.maximum(means.known, 1) - np.append(300 + 8 * np.arange(size), 100))
        sums = derive_estimates(strategy.plan, measured).soft.estimate(("g", "pay"))
        alone.append(1000 * sums[:, 1] / 30 - np.append(300 + 8 * np.arange(size), 100))
    some = slice(0, size)
    assert np.sqrt(np.square(np.array(off)[:, some]).mean()) < 0.5 * np.sqrt(np.square(np.array(alone)[:, some]).mean())
    assert np.abs(np.array(off)[:, -1]).mean() < 60


def test_cells_of_odd_and_missing_values_have_no_order(monkeypatch: pytest.MonkeyPatch) -> None:
    ordered: list[int] = []

    def fit(*given: Any) -> Any:
        ordered.append(given[-1]("g"))
        return fit_amount(*given)

    monkeypatch.setattr("dpengine.results.result.fit_amount", fit)
    groups = {"name": "g", "kind": "category", "values": ["g0", "g1", "g2"]}  # then (other) and (missing)
    plan = Plan(dataset="d", epsilon=1, columns=[groups, PAY], tables=[{"columns": ["g"], "mean": ["pay"]}])
    result = release(pd.DataFrame({"g": ["g0", None, "g2", "?"] * 9, "pay": range(36)}), plan)
    assert (result.plan.shape(("g",)), {*ordered}) == ((5,), {3})
