"""Predict the errors of a release before anything is spent: functions of the plan alone.

Under *direct* and *optimised* the distribution of every error follows from the noise (`estimate.error_distribution`).
Under *adaptive* it depends on what will be chosen, so releases of the mock table (`results.mock_table`) are simulated.
The mock table does not depend on the owner's table, whose errors may be smaller or larger.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from functools import cache, lru_cache, partial
from numbers import Real
from typing import TYPE_CHECKING

import numpy as np

from dpengine.array_types import Columns, Floats
from dpengine.errors import PlanError
from dpengine.estimate.amounts import mean_half_widths, sum_intervals
from dpengine.estimate.associations import half_widths
from dpengine.estimate.error_distribution import CONFIDENCE, ErrorDistribution
from dpengine.estimate.estimates import Estimates, ModelledEstimates, derive_estimates
from dpengine.estimate.parts import EstimatesOfParts
from dpengine.estimate.quantiles import quantile_half_widths
from dpengine.estimate.summed import SummedEstimates
from dpengine.estimate.table_errors import table_errors
from dpengine.exact import exact_text
from dpengine.measure.strategy import check_given, decide
from dpengine.measure.strategy_base import Strategy
from dpengine.results.mock_table import mock_counts, mock_rows
from dpengine.results.published_columns import quantile_kind
from dpengine.spec.counted_wording import counted_noun, counting_in_words
from dpengine.spec.plan import MAX_EPSILON, MIN_EPSILON, Plan
from dpengine.spec.wording import name_of
from dpengine.translation.catalogue import _, number

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "epsilon_for", "errors_of", "half_width_curves", "measure_curves", "measure_half_widths", "predict",
    "predict_by_trials",
]  # fmt: skip

COLUMNS = ("table", "cells", "mean_abs_error", "half_width_95", "total_half_width_95")
MIN_TRIALS, MAX_TRIALS = 4, 16  # of a plan whose errors are simulated
MAX_SIMULATED_CELLS = 800_000  # limit for all trials together, unless these are `MIN_TRIALS`: more take seconds
FEW_EPSILONS = 8  # values of ε whose errors are cached during the search: most tables are looked at for two of them
MAX_SIMULATED_TABLES = 1_600  # limit for all trials together: with 200 tables, each takes most of a second


def predict(plan: Plan, epsilons: Iterable[object] | None = None) -> pd.DataFrame:
    """Predict the errors of a release of `plan`; no data is needed and nothing is spent.

    Returns a data frame with a row for each published table, and a last one for the total. Its columns are:

    - `table`: the names of the table's columns, joined by ` × `, or `total`; `cells`: how many it has;
    - `counts`: what it counts, only if some tables count persons who may have several rows;
    - `mean_abs_error`, `half_width_95`: of `estimate` in a cell, in rows or persons;
    - `total_half_width_95`: of the grand total;
    - `mean_…_half_width_95`, `sum_…` and `quantile_0.5_…`: of the requested numbers of each amount, in its unit,
      averaged over the people of the mock table's cells of declared values;
    - the same of each standard deviation, covariance, correlation and slope, in the cell of the median person, since
      nothing is known about the smallest cells.

    With `epsilons`, there are these rows for each of them, and a first column `epsilon`. Errors are exact, or simulated
    under the strategy *adaptive*; `frame.attrs["simulated"]` says which. Raises `PlanError` for an unusable ε.
    """
    import pandas as pd

    from dpengine.results.views.prediction import Prediction

    check_given(plan)
    if epsilons is None:
        frame = predict_by_trials(plan)
        prediction = Prediction(frame)
        prediction.attrs |= frame.attrs | {"epsilon": exact_text(plan.epsilon), "dataset": plan.dataset}
        return prediction
    if isinstance(epsilons, str) or not isinstance(epsilons, Iterable):
        raise PlanError(_("values of ε are given as a list, such as [0.1, 1, 10]"))
    frames = []
    for epsilon in epsilons:
        at = plan.at(epsilon)
        frame = predict_by_trials(at)
        frame.insert(0, "epsilon", float(at.epsilon))
        frames.append(frame)
    if not frames:
        raise PlanError(_("give at least one ε"))
    joined = Prediction(pd.concat(frames, ignore_index=True))
    joined.attrs["simulated"] = any(frame.attrs["simulated"] for frame in frames)
    return joined


def predict_by_trials(
    plan: Plan, trials: int | None = None, before_each: Callable[[], None] = lambda: None
) -> pd.DataFrame:
    """Return `predict(plan)`, from this number of `trials` if errors can only be simulated.

    One trial is off by 8 to 17 % in a table's mean error, and by 1 to 3 % in its half-width; with many tables few
    trials are enough. `before_each` is called before each; if it raises, this ends.
    """
    import pandas as pd

    strategy = decide(plan)
    errors = _exact_errors(strategy) if strategy.closed_form else _simulated_errors(strategy, trials, before_each)
    rows = [(name_of(table), plan.cells(table), *error) for table, error in errors.items()]
    frame = pd.DataFrame(rows, columns=list(COLUMNS))
    if plan.has_distinct:
        frame.insert(1, "counts", [counting_in_words(plan, table) or counted_noun(plan) for table in errors])
    measures = [measure_half_widths(strategy, table) for table in errors]
    for name in dict.fromkeys(name for each in measures for name in each):
        frame[f"{name}_half_width_95"] = [each.get(name, math.nan) for each in measures]
    frame.attrs["simulated"] = not strategy.closed_form
    return frame


def measure_half_widths(strategy: Strategy, table: Columns) -> dict[str, float]:
    """Return the half-widths of a table's numbers of amounts, averaged over the people of the mock table's cells.

    Cells of *other* and *missing* values are left out. A half-width falls as its cell grows, so these few people would
    count as much as those of a large cell, and most tables have nobody there. Names are those of the published columns.
    Every amount that is measured in the table has an entry for its mean.
    """
    plan = strategy.plan
    declared = tuple(slice(plan.column(name).declared_size) for name in table)
    averages: dict[str, float] = {}
    for name in plan.amounts(table):
        amount, soft = plan.amount(name), derive_estimates(plan, strategy.blank()).soft
        rows = mock_rows(plan, (*table, name))
        parts = plan.quantiles(table, name)
        widths = {f"mean_{name}": mean_half_widths(amount, rows, table, soft)}
        if name in plan.sums(table):
            widths[f"sum_{name}"] = np.full(rows.shape[:-1], sum_intervals(amount, table, soft)[1])
        widths |= {
            f"{quantile_kind(part)}_{name}": each
            for part, each in zip(parts, quantile_half_widths(amount, rows, table, parts, soft), strict=True)
        }
        people = rows.sum(axis=-1)[declared]
        averages |= {label: float(np.average(each[declared], weights=people)) for label, each in widths.items()}
    for pair in plan.associations(table):
        soft, rows = derive_estimates(plan, strategy.blank()).soft, mock_rows(plan, (*table, *pair.amounts))
        wide = half_widths(pair, plan.amount(pair.of), plan.amount(pair.on), rows, table, soft)
        averages[pair.column] = _median_over_people(wide, rows.sum(axis=tuple(range(len(table), rows.ndim))))
    return averages


def _median_over_people(widths: Floats, people: Floats) -> float:
    """Return the median half-width over people; that of small cells may be unbounded.

    >>> _median_over_people(np.array([60000.0, 20.0, 30.0]), np.array([10.0, 100.0, 50.0]))
    20.0
    """
    order = np.argsort(widths, axis=None)
    up_to = people.ravel()[order].cumsum()
    return float(widths.ravel()[order][np.searchsorted(up_to, up_to[-1] / 2)])


def errors_of(strategy: Strategy) -> Callable[[Columns], ErrorDistribution]:
    """Return a function that gives the error of a table's cells, and of the total, in closed form."""
    return table_errors(strategy.plan, strategy.allocations)


def _exact_errors(strategy: Strategy) -> dict[Columns, tuple[float, float, float]]:
    """Return the predicted errors of each table, the last three of `COLUMNS`, in closed form."""
    error = errors_of(strategy)
    total = error(()).half_width()
    distributions = {table: error(table) for table in strategy.plan.published}
    return {table: (each.mean_abs, each.half_width(), total) for table, each in distributions.items()}


def _simulated_errors(
    strategy: Strategy, trials: int | None, before_each: Callable[[], None]
) -> dict[Columns, tuple[float, float, float]]:
    """Simulate the predicted errors of each table, the last three of `COLUMNS`, by releases of the mock table.

    The half-width of a table is the one that a release would state. That of a model's table has errors as they are in
    public tables: columns of the mock table hardly depend on each other.
    """
    plan = strategy.plan
    counted = cache(partial(mock_counts, plan))
    truth = {table: counted(table) for table in plan.published}
    cells = sum(counts.size for counts in truth.values())
    errors: dict[Columns, list[Floats]] = {table: [] for table in truth}
    stated: dict[Columns, list[float]] = {table: [] for table in truth}
    totals = []
    if trials is None:
        many = max(MIN_TRIALS, MAX_SIMULATED_CELLS // cells)
        trials = max(1, min(many, MAX_TRIALS, MAX_SIMULATED_TABLES // len(plan.marginals)))
    for _trial in range(trials):
        before_each()
        try:
            measured = strategy.measure(lambda marginals: [counted(each) for each in marginals])
        except ValueError:  # noise of a scale that is beyond all counts: a release is refused
            strategy.check()
            raise
        estimates = derive_estimates(plan, measured)
        totals.append(estimates.half_width(()))
        for table, counts in truth.items():
            expected = estimates.estimate(table)
            errors[table].append(np.abs(counts - expected))
            stated[table].append(_stated_half_width(estimates, table, expected))
    return {
        table: (float(np.mean(each)), float(np.mean(stated[table])), float(np.mean(totals)))
        for table, each in errors.items()
    }


def _stated_half_width(estimates: Estimates, table: Columns, expected: Floats) -> float:
    """Return the half-width that a release states; of a model's table, with errors as they are in public tables."""
    if isinstance(estimates, EstimatesOfParts) and estimates.model is not None and table:
        estimates = estimates.model if estimates.source_part(table)[0] == "model" else estimates
    if isinstance(estimates, ModelledEstimates) or (isinstance(estimates, SummedEstimates) and estimates.model):
        return estimates.usual_half_width(table, expected)
    return estimates.half_width(table)


def epsilon_for(plan: Plan, half_width: float, confidence: float = CONFIDENCE) -> Fraction:
    """Return the least ε, in millionths, at which every cell of every published table is within ±`half_width`.

    "Within" holds with probability `confidence` for each cell by itself. Raises `PlanError` if no ε in range is enough,
    or if the plan is adaptive, or *auto* would be at that ε: errors can only be simulated then, so try some values with
    `predict`.

    >>> plan = Plan(dataset="demo", epsilon="1", tables=[["smokes"]], columns=[{"name": "smokes", "kind": "yesno"}])
    >>> float(epsilon_for(plan, half_width=10))
    0.284349
    """
    strategy = decide(plan)
    if not strategy.closed_form:  # with more ε, every table may be measured
        strategy = decide(plan.at(MAX_EPSILON))
    _check_closed_form(strategy)
    if not isinstance(half_width, Real) or not 0 <= half_width < math.inf:
        raise PlanError(_("a half-width is a number, 0 or more"))
    if not isinstance(confidence, Real) or not 0 < confidence < 1:
        raise PlanError(_("a confidence lies between 0 and 1, such as 0.95"))

    @lru_cache(FEW_EPSILONS)
    def errors(millionths: int) -> Callable[[Columns], ErrorDistribution]:
        return errors_of(strategy.at(Fraction(millionths, 10**6)))

    def width(table: Columns, millionths: int) -> float:
        return errors(millionths)(table).half_width(confidence)

    low, high = int(MIN_EPSILON * 10**6), int(MAX_EPSILON * 10**6)
    # The widest table decides: look for its ε, then raise that only for tables that still fall short.
    tables = sorted(plan.marginals, key=lambda table: width(table, int(plan.epsilon * 10**6) or 1), reverse=True)
    for table in tables:
        if width(table, low) <= half_width:
            continue
        if width(table, high) > half_width:
            raise PlanError(
                _(
                    "no ε up to {most} brings every cell within ±{half_width}",
                    most=MAX_EPSILON,
                    half_width=number(half_width, "g"),
                )
            )
        least, enough = low, high
        while enough - least > 1:
            middle = math.isqrt(least * enough) if enough > 2 * least else (least + enough) // 2
            least, enough = (least, middle) if width(table, middle) <= half_width else (middle, enough)
        low = enough
    epsilon = Fraction(low, 10**6)
    _check_closed_form(decide(plan.at(epsilon)))
    return epsilon


def _check_closed_form(strategy: Strategy) -> None:
    """Refuse a strategy whose errors can only be simulated. Raises `PlanError`."""
    if not strategy.closed_form:
        raise PlanError(
            _(
                "for an adaptive plan, ε cannot be worked out from an error: "
                "try some values of ε, and see the error of each"
            )
        )


def half_width_curves(
    plan: Plan, tables: Sequence[Columns], epsilons: Sequence[float], earlier: Mapping[str, Sequence[float]] | None
) -> dict[str, list[float]]:
    """Predict 95 % half-widths of a cell of each of `tables`, and of the total, over ε.

    Returns lists of equal length: `ε`, increasing, with the plan's own among `epsilons`, and one for each table, by
    name. `earlier` is the result for the plan at another ε, which is reused.
    """
    strategy = decide(plan)

    def widths(epsilon: object) -> list[float]:
        if strategy.closed_form:
            error = errors_of(strategy.at(epsilon))
            return [error(table).half_width() for table in (*tables, ())]
        predicted = predict(plan.at(epsilon)).set_index("table")["half_width_95"]
        return [float(predicted[name_of(table)]) for table in (*tables, ())]

    return _curves(plan, [name_of(table) for table in (*tables, ())], epsilons, earlier, widths)


def measure_curves(
    plan: Plan,
    tables: Sequence[Columns],
    name: str,
    epsilons: Sequence[float],
    earlier: Mapping[str, Sequence[float]] | None,
) -> dict[str, list[float]]:
    """Predict half-widths, like `half_width_curves`, of a mean, sum or quantile in `tables` with its column, `name`."""
    strategy = decide(plan)

    def widths(epsilon: object) -> list[float]:
        strategy_at = strategy.at(epsilon)
        return [measure_half_widths(strategy_at, table)[name] for table in tables]

    return _curves(plan, [name_of(table) for table in tables], epsilons, earlier, widths)


def _curves(
    plan: Plan,
    names: Sequence[str],
    epsilons: Sequence[float],
    earlier: Mapping[str, Sequence[float]] | None,
    widths: Callable[[object], list[float]],
) -> dict[str, list[float]]:
    own = float(plan.epsilon)
    by_epsilon: dict[float, list[float]] = {}
    if earlier is not None:
        by_epsilon = dict(
            zip(earlier["ε"], map(list, zip(*(earlier[name] for name in names), strict=True)), strict=True)
        )
        by_epsilon.pop(own, None)
    for epsilon in {*epsilons, own} - by_epsilon.keys():
        # The plan's own ε stays exact: as a float it may be another number.
        by_epsilon[epsilon] = widths(plan.epsilon if epsilon == own else str(epsilon))
    ordered = sorted({*epsilons, own})
    columns = zip(*(by_epsilon[epsilon] for epsilon in ordered), strict=True)
    return {"ε": ordered} | dict(zip(names, map(list, columns), strict=True))
