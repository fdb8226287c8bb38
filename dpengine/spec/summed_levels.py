"""Plans whose coarser levels are sums: only the finest level in use of each column is measured.

To measure a column at several levels, each is crossed with all other columns of its tables. That is good for a few
tables; of many, crossing has far more cells than the tables together. So *auto* may measure the tables at their finest
levels, like any other plan, and publish coarser ones as sums of these (`measure.at_levels`). It writes
`coarser_levels: summed` into the plan of the release.
"""

from __future__ import annotations

from decimal import Decimal
from functools import cached_property
from typing import TYPE_CHECKING, Literal, cast

from dpengine.array_types import Columns
from dpengine.spec.declared import changed
from dpengine.spec.limits import MAX_TABLE_CELLS
from dpengine.spec.published_table import PublishedTable, read_table
from dpengine.translation.catalogue import _

if TYPE_CHECKING:
    from dpengine.spec.plan import Plan

__all__ = ["CoarserLevels", "WithSummedLevels", "check_summed", "may_be_summed"]

CoarserLevels = Literal["summed"]


class WithSummedLevels:
    """The part of a `Plan` that knows whether its coarser levels are sums."""

    @property
    def _plan(self) -> Plan:
        return cast("Plan", self)

    @property
    def finest(self) -> Plan:
        """The plan of what is measured: each table at the finest levels in use, where coarser levels are their sums.

        It is the plan itself unless coarser levels are `summed`.
        """
        plan = self._plan
        if plan.coarser_levels is None or not plan.resolution.chains:
            return plan
        same = type(plan).model_fields.keys() - {"tables", "coarser_levels"}
        own = {name: getattr(plan, name) for name in same}
        if all(getattr(self._finest, name) is value for name, value in own.items()):
            return self._finest
        return self._finest.model_copy(update=own)  # a copy of a plan at another ε keeps what the old one made

    @cached_property
    def _finest(self) -> Plan:
        return _at_finest_levels(self._plan)

    @property
    def summed_payload(self) -> list[object]:
        """The part of a plan's identity that says how coarser levels are made: nothing if *auto* may decide."""
        return [] if self._plan.coarser_levels is None else [["coarser_levels", self._plan.coarser_levels]]

    def as_decided(self, decided: Plan) -> Plan:
        """Return the plan with the strategy, and the way to make coarser levels, of the `decided` one."""
        return changed(self._plan, strategy=decided.strategy, coarser_levels=decided.coarser_levels)


def may_be_summed(plan: Plan) -> bool:
    """Return whether the coarser levels of `plan` may be sums: it has some, and tables of plain counts alone.

    At the finest levels, none of these may be too large.
    """
    if not plan.resolution.chains or plan.ranged or plan.amounts(()) or plan.has_distinct or plan.found_columns:
        return False
    return all(plan.cells(plan.resolution.finest_columns(table)) <= MAX_TABLE_CELLS for table in plan.marginals)


def check_summed(plan: Plan) -> None:
    """Raise ValueError if `plan` asks for coarser levels as sums that cannot be made."""
    if plan.coarser_levels is not None and plan.resolution.chains and not may_be_summed(plan):
        raise ValueError(
            _(
                "coarser levels can be sums only of tables of counts that are not too large: leave 'coarser_levels' "
                "out, or publish ranges, means, found values and distinct persons by another plan"
            )
        )


def _at_finest_levels(plan: Plan) -> Plan:
    """Return the plan of what is measured for `plan`.

    A table is as important as the most important one among its sums.

    >>> from dpengine import Plan
    >>> age = {"name": "age", "kind": "number", "edges": list(range(0, 81, 5)), "levels": {"20-year": 20}}
    >>> ill = {"name": "ill", "kind": "yesno"}
    >>> plan = Plan(dataset="d", epsilon=1, columns=[age, ill], tables=[["age"], ["age@20-year", "ill"]],
    ...             coarser_levels="summed")
    >>> plan.finest.marginals
    (('age',), ('age', 'ill'))
    """
    weights: dict[frozenset[str], tuple[Columns, Decimal]] = {}
    for table, listed in zip(plan.marginals, plan.listed, strict=True):
        columns = plan.resolution.finest_columns(table)
        weight = listed.weight if isinstance(listed, PublishedTable) else Decimal(1)
        same, greatest = weights.get(frozenset(columns), (columns, weight))
        weights[frozenset(columns)] = same, max(greatest, weight)
    tables = tuple(read_table(PublishedTable(columns=columns, weight=weight)) for columns, weight in weights.values())
    return changed(plan, tables=tables, coarser_levels=None)
