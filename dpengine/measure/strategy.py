"""Strategies: which marginals of a plan are measured, by which mechanism, and why. Functions of the plan alone.

*direct* measures the requested tables (`measure.allocation`); *optimised* divides ε by a numerical search; *adaptive*
chooses privately, while measuring, which pairs of columns to measure (`measure.adaptive`), or, for a table whose ranges
matter, how finely to measure it (`measure.box_strategy`).

*auto* is *direct*, unless (`measure.rows_and_noise`, `measure.at_levels`)

* ranges of many cells matter: they are measured in boxes;
* tables at several levels are better sums of the finest ones (then the plan says so), or, with the others, better
  measured in parts;
* a single table has so many cells for its rows that its columns and pairs are better evidence than its noisy counts;
* several tables can agree only through a model, or measuring each of them is predicted to have more noise than a model
  has error.
"""

from __future__ import annotations

from numbers import Rational

from dpengine.errors import PlanError
from dpengine.marginals.graphs import maximal
from dpengine.marginals.measurement import Measurements
from dpengine.marginals.plan_levels import measures_levels
from dpengine.measure.adaptive_strategy import Adaptive
from dpengine.measure.at_levels import is_better_apart, is_better_in_parts, is_better_summed
from dpengine.measure.box_strategy import Hierarchical
from dpengine.measure.direct_strategy import Direct, Optimised
from dpengine.measure.level_strategies import Levels, LevelsApart
from dpengine.measure.parts import InParts
from dpengine.measure.rows_and_noise import has_large_ranges, is_sparse, noise_is_too_much
from dpengine.measure.strategy_base import Strategy
from dpengine.measure.summed_strategy import summed
from dpengine.measure.tables_or_model import TablesOrModel
from dpengine.measure.tally_strategy import ByTally
from dpengine.spec.declared import changed
from dpengine.spec.plan import Plan
from dpengine.translation.catalogue import _

__all__ = ["check_given", "decide", "decided_by_size", "identities", "resolved"]

SIZES = (1_000, 10_000, 100_000, 1_000_000, 10_000_000)  # rows that are tried where a plan states no number


def decide(plan: Plan) -> Strategy:
    """Return the strategy by which `plan` is measured, resolving *auto*. Raises `PlanError` for what is no plan.

    >>> plan = Plan(dataset="demo", epsilon="1", tables=[["smokes"]], columns=[{"name": "smokes", "kind": "yesno"}])
    >>> decide(plan).why
    'Direct: the tables can be measured and made to agree as they are.'
    """
    check_given(plan)
    if plan.finest is not plan:
        return summed(plan, decide(plan.finest))
    if plan.strategy != "auto" or plan.has_distinct:
        return resolved(plan)
    adaptive = plan.model_copy(update={"strategy": "adaptive"})
    if plan.resolution.levels:
        if has_large_ranges(plan):
            return resolved(adaptive)
        as_sums = changed(plan, coarser_levels="summed")
        if is_better_summed(adaptive, as_sums):
            return decide(as_sums)
        return resolved(adaptive if is_better_in_parts(adaptive) else plan)
    tables = maximal(plan.estimated_tables)
    if not (has_large_ranges(plan) or is_sparse(plan, tables) or noise_is_too_much(plan, tables)):
        return Direct(plan)
    return resolved(adaptive) if plan.ranged else Adaptive(adaptive, decided=True)


def identities(published: Plan) -> tuple[str, ...]:
    """Return the identities under which a release of this plan may be in a ledger (`Strategy.plan_id`).

    It is charged for as it was asked: before its cells were found, and before a private answer made it *direct*.
    """
    asked = published.as_written
    may_be_answered = asked.strategy == "direct" and TablesOrModel.of(asked.finest) is not None
    before = [asked.model_copy(update={"strategy": "adaptive"})] if may_be_answered else []
    return tuple(decide(each).plan_id for each in (asked, *before))


def decided_by_size(plan: Plan) -> dict[int, str]:
    """Return how *auto* would measure `plan` at several rough numbers of rows, if it states none and that matters.

    Empty otherwise. The values are names of strategies, *auto* where it means *direct*.
    """
    if plan.strategy != "auto" or plan.rows_about is not None:
        return {}
    by_size: dict[int, str] = {rows: decide(changed(plan, rows_about=rows)).plan.strategy for rows in SIZES}
    return by_size if {*by_size.values()} != {decide(plan).plan.strategy} else {}


def check_given(plan: object) -> None:
    """Refuse a path, or anything else in place of a plan, and an inexact ε. Raises `PlanError`."""
    if not isinstance(plan, Plan):
        raise PlanError(_("a plan is given as a Plan; Plan.load reads it from a file"))
    if not isinstance(plan.epsilon, Rational):  # `model_copy` checks nothing
        raise PlanError(_("ε of this plan is not exact: make the copy by plan.at(epsilon)"))


def resolved(plan: Plan, measured: Measurements | None = None) -> Strategy:
    """Return the strategy by which the plan of a release was measured; there, *auto* means *direct*.

    No decision is made again, so a release of an earlier version stays what it was. Only whether levels are crossed
    with other columns is decided by the plan, or follows from what was `measured`, as does a private answer.
    """
    if plan.finest is not plan:
        return summed(plan, resolved(plan.finest, measured))
    if plan.has_distinct:
        return ByTally(plan)
    if plan.in_parts:
        return InParts(plan)
    if plan.strategy == "adaptive" and plan.ranged:
        return Hierarchical(plan)
    if plan.resolution.levels:
        given = None if measured is None else [one.allocation for one in measured.marginals]
        apart = is_better_apart(plan) if given is None else not measures_levels(plan, given)
        return LevelsApart(plan) if apart else Levels(plan)
    if plan.strategy == "adaptive":
        return Adaptive(plan)
    if plan.strategy == "optimised":
        return Optimised(plan)
    return Direct(plan, answered=measured is not None and measured.chose_tables)
