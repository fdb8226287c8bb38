"""Plans whose coarser levels are sums: only the finest level in use of each column is measured.

To measure a column at several levels, each is crossed with all other columns of its tables. That is good for a few
tables; of many, crossing has far more cells than the tables together. So *auto* may measure the tables at their finest
levels, like any other plan, and publish coarser ones as sums of these (`measure.at_levels`). It writes
`coarser_levels: summed` into the plan of the release.
"""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING

from dpengine.array_types import Columns
from dpengine.spec.declared import changed
from dpengine.spec.limits import MAX_TABLE_CELLS
from dpengine.spec.published_table import PublishedTable, read_table
from dpengine.translation.catalogue import _

if TYPE_CHECKING:
    from dpengine.spec.plan import Plan

__all__ = ["check_summed", "finest_of", "may_be_summed"]


def may_be_summed(plan: Plan) -> bool:
    """Return whether the coarser levels of `plan` may be sums: it has some, and tables of plain counts alone.

    At the finest levels, none of these may be too large.
    """
    if not plan.resolution.chains or plan.ranged or plan.amounts(()) or plan.tallied or plan.finds:
        return False
    return all(plan.cells(plan.resolution.finest(table)) <= MAX_TABLE_CELLS for table in plan.marginals)


def check_summed(plan: Plan) -> None:
    """Raise ValueError if `plan` asks for coarser levels as sums that cannot be made."""
    if plan.coarser_levels is not None and plan.resolution.chains and not may_be_summed(plan):
        raise ValueError(
            _(
                "coarser levels can be sums only of tables of counts that are not too large: leave 'coarser_levels' "
                "out, or publish ranges, means, found values and distinct persons by another plan"
            )
        )


def finest_of(plan: Plan) -> Plan:
    """Return the plan of what is measured for `plan`: itself, unless its coarser levels are sums.

    A table is as important as the most important one among its sums.

    >>> from dpengine import Plan
    >>> age = {"name": "age", "kind": "number", "edges": list(range(0, 81, 5)), "levels": {"20-year": 20}}
    >>> ill = {"name": "ill", "kind": "yesno"}
    >>> plan = Plan(dataset="d", epsilon=1, columns=[age, ill], tables=[["age"], ["age@20-year", "ill"]],
    ...             coarser_levels="summed")
    >>> plan.finest.marginals
    (('age',), ('age', 'ill'))
    """
    if plan.coarser_levels is None or not plan.resolution.chains:
        return plan
    weights: dict[frozenset[str], tuple[Columns, Decimal]] = {}
    for table, listed in zip(plan.marginals, plan.listed, strict=True):
        columns = plan.resolution.finest(table)
        weight = listed.weight if isinstance(listed, PublishedTable) else Decimal(1)
        same, greatest = weights.get(frozenset(columns), (columns, weight))
        weights[frozenset(columns)] = same, max(greatest, weight)
    tables = tuple(read_table(PublishedTable(columns=columns, weight=weight)) for columns, weight in weights.values())
    return changed(plan, tables=tables, coarser_levels=None)
