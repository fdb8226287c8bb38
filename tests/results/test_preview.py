"""The preview is a release of the mock table: same shape, same measuring, same error, and no table of rows."""

from __future__ import annotations

import inspect
import math

import numpy as np
import pytest
from hypothesis import given, settings

from dpengine import Plan
from dpengine.array_types import Ints
from dpengine.estimate import error_distribution
from dpengine.marginals.measurement import Allocation, Measurement
from dpengine.measure.measure import add_noise
from dpengine.measure.strategy import decide
from dpengine.results import mock_table
from dpengine.results import preview as preview_module
from dpengine.results.alternatives import mostly_noise_shares
from dpengine.results.mock_table import mock_counts
from dpengine.results.predict import predict
from dpengine.results.preview import preview, preview_table
from dpengine.results.result import EXACT
from tests.plans import CLINIC, letters_plan, plans


@settings(max_examples=30)
@given(plans())
def test_a_preview_has_the_shape_of_the_release(plan: Plan) -> None:
    result = preview(plan)
    for table in plan.marginals:
        frame = result.tables[table]
        assert list(frame.columns) == [*table, "count", "estimate", "low", "high"]
        assert len(frame) == plan.cells(table)
        assert ((frame["low"] <= frame["count"]) & (frame["count"] <= frame["high"])).all()


def test_a_preview_is_drawn_afresh_each_time() -> None:
    plan = Plan.loads(CLINIC)
    draws = [preview(plan).tables[("age", "region")]["estimate"] for _ in range(3)]
    assert not draws[0].equals(draws[1])
    assert not draws[1].equals(draws[2])


@pytest.mark.nightly
@settings(max_examples=30)
@given(plans())
def test_a_table_drawn_alone_has_the_errors_that_it_has_among_all(plan: Plan) -> None:
    strategy, widths = decide(plan), predict(plan).set_index("table")
    for table in plan.marginals:
        result = preview_table(plan, table)
        frame = result.tables[table]
        assert list(frame.columns) == [*table, "count", "estimate", "low", "high"]
        assert len(frame) == plan.cells(table)
        assert ((frame["low"] <= frame["count"]) & (frame["count"] <= frame["high"])).all()
        if not strategy.closed_form:
            continue
        assert result.half_width(table) == widths.loc[" × ".join(table), "half_width_95"]
        drawn, whole = (
            error_distribution.least_squares(plan, allocations).variance(table)
            for allocations in ([one.allocation for one in result.measurements], strategy.allocations)
        )
        assert drawn == pytest.approx(whole, rel=1e-4)


def test_a_table_drawn_alone_has_the_errors_of_persons_with_several_rows() -> None:
    """Also where the total, which two tables tell, is drawn as one number of a scale of its own."""
    plan = letters_plan([4, 5, 6], {"each": 1}, unit={"id": "who", "rows": 3})
    drawn, whole = (
        error_distribution.least_squares(plan, allocations).variance(("a",))
        for allocations in (
            [one.allocation for one in preview_table(plan, ("a",)).measurements],
            decide(plan).allocations,
        )
    )
    assert drawn == pytest.approx(whole, rel=1e-4)


def test_noise_is_drawn_for_the_shown_table_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn: list[tuple[str, ...]] = []

    def watched(exact: Ints, allocation: Allocation) -> Measurement:
        drawn.append(allocation.columns)
        return add_noise(exact, allocation)

    monkeypatch.setattr(preview_module, "add_noise", watched)
    singles = letters_plan([4, 5, 6, 7, 3, 4, 5, 6], {"each": 1})
    preview_table(singles, ("c",))
    assert sorted(drawn) == [(), ("c",)], "the others tell of it by the total alone"
    drawn.clear()
    pairs = letters_plan([4, 5, 6, 7, 3, 4, 5, 6], {"each": 2}, strategy="direct")
    preview_table(pairs, ("b", "d"))
    assert sorted(drawn) == [(), ("b",), ("b", "d"), ("d",)]


def test_a_table_of_a_model_is_shown_without_synthetic_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr("dpengine.synthesis.generate_rows.generate_rows")
    plan = letters_plan([4, 5, 6, 3], {"each": 2}, strategy="adaptive")
    result = preview_table(plan, ("a", "b"))
    for table in (*plan.marginals, ("a",), ()):
        assert result.counts(table).shape == plan.shape(table)
        assert result.counts(table).sum() == result.counts(())
        assert np.abs(result.counts(table) - result.estimates.estimate(table)).max() < 2


def test_nothing_that_previews_or_predicts_can_be_handed_a_table() -> None:
    for room in (mock_table, error_distribution):
        for name in room.__all__:
            if callable(thing := getattr(room, name)) and not inspect.isclass(thing):
                assert not {"table", "counts", "source", "frame", "data", "rows", "ledger"} & {
                    parameter.name
                    for parameter in inspect.signature(thing).parameters.values()
                    if "Columns" not in str(parameter.annotation)
                }


@pytest.mark.parametrize(
    ("sizes", "tables", "epsilon"),
    [
        ([12, 8], [["a", "b"]], "1"),
        ([12, 8], [["a"], ["b"], ["a", "b"]], "0.1"),
        ([20, 10, 8], [["a", "b"], ["b", "c"]], "0.5"),
        pytest.param([12, 10, 8, 6], {"each": 2}, "1", marks=pytest.mark.nightly),
    ],
)
@pytest.mark.by_day(1)
def test_predicted_error_is_observed_and_intervals_cover(sizes: list[int], tables: object, epsilon: str) -> None:
    """150 previews against the mock counts; each assertion's false alarm is below 1e-9.

    Student's t with 149 degrees of freedom exceeds 7 with probability 8e-11. The total has a single error a preview,
    which is exponentially distributed, so a few small ones make both mean and spread small. Its spread is therefore
    taken from the distribution: the mean is too large by 7 of it with probability 4e-10.
    """
    plan = letters_plan(sizes, tables, epsilon=epsilon, rows_about=20_000)
    allocations = decide(plan).allocations
    # Each measured marginal is rounded by itself, so the truth of a table is their least-squares estimate.
    exact = [mock_counts(plan, allocation.columns) for allocation in allocations]
    squares = error_distribution.least_squares(plan, allocations)
    names = {table: " × ".join(table) or "total" for table in (*plan.marginals, ())}
    predicted = predict(plan).set_index("table")["mean_abs_error"]
    errors: dict[object, list[float]] = {table: [] for table in names}
    covered: dict[object, list[float]] = {table: [] for table in names}
    truths = {table: np.maximum(squares.estimate(table, exact).ravel(), 0) for table in names}
    for _ in range(150):
        result = preview(plan)
        for table, truth in truths.items():
            frame = result.tables[table]
            errors[table].append(float(np.abs(frame["estimate"] - truth).mean()))
            inside = (frame["low"] - 0.51 <= truth) & (truth <= frame["high"] + 0.51)
            covered[table].append(float(inside.mean()))
    for table, name in names.items():
        spread = (np.std(errors[table], ddof=1) if table else predicted[name]) / math.sqrt(150)
        assert abs(np.mean(errors[table]) - predicted[name]) < 7 * spread + 0.02 * predicted[name], name
        rate = np.std(covered[table], ddof=1) / math.sqrt(150)
        assert np.mean(covered[table]) > 0.95 - 7 * rate, name


def test_the_share_of_mostly_noise_falls_with_epsilon_and_size() -> None:
    plan = Plan.loads(CLINIC)
    table = ("age", "region")
    shares = [mostly_noise_shares(plan.at(epsilon), [table])[table] for epsilon in ("0.01", "0.1", "1", "10")]
    assert shares == sorted(shares, reverse=True)
    assert shares[0] > shares[-1]
    smaller = plan.model_copy(update={"rows_about": 100})
    assert mostly_noise_shares(smaller, [table])[table] > mostly_noise_shares(plan, [table])[table]


def test_a_table_without_noise_has_no_cell_that_is_mostly_noise() -> None:
    plan = Plan.loads(CLINIC.replace("rows_about: 5000", "rows_about: 50")).at(100)
    result = preview(plan)
    for table in plan.marginals:
        assert result.half_width(table) < EXACT
        assert (result.counts(table) == 0).any(), "there are cells that a careless comparison would mark"
        assert not result.mostly_noise(table).any()
        assert mostly_noise_shares(plan, [table])[table] == 0


def test_a_cell_is_mostly_noise_where_its_interval_reaches_0() -> None:
    result = preview(Plan.loads(CLINIC))
    for table in result.plan.marginals:
        low = result.cells(table)["low"].reshape(result.plan.shape(table))
        assert ((low == 0) == result.mostly_noise(table)).all()
        assert (low == 0).any()
        assert (low > 0).any()
