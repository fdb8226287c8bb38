"""Divide the tables of a plan into parts that are measured separately: ranges tables, tables at levels, and the rest.

A ranges table is measured in boxes, and includes all tables that are its sums. Tables at several levels of a column are
measured together, each level with all other columns of these tables. The rest is measured like a plan of its own. Each
part has a share of ε, and all tables agree in whole numbers (`measure.parts`, `estimate.parts`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, cast

from dpengine.array_types import Columns
from dpengine.spec.declared import changed
from dpengine.spec.published_table import PublishedTable, read_table

if TYPE_CHECKING:
    from dpengine.spec.plan import Plan

__all__ = ["Parts", "WithParts"]


@dataclass(frozen=True)
class Parts:
    """The parts of a plan: `ranged` tables, plans of tables at several levels of a column, and a plan of the rest."""

    ranged: tuple[Columns, ...]
    levels: tuple[Plan, ...]
    rest: Plan | None

    @property
    def several(self) -> bool:
        """Whether there is more than one."""
        return len(self.ranged) + len(self.levels) + (self.rest is not None) > 1


class WithParts:
    """The part of a `Plan` that divides its tables into `Parts`."""

    @property
    def _plan(self) -> Plan:
        return cast("Plan", self)

    @cached_property
    def ranged(self) -> tuple[Columns, ...]:
        """The columns, sorted, of each ranges table, except sums of another one."""
        wide = [tuple(sorted(table.columns)) for table in self._plan.listed
                if isinstance(table, PublishedTable) and table.ranges]  # fmt: skip
        finer = self._plan.resolution.finer_columns
        return tuple(one for one in wide if not any(one != other and finer(one, other) is not None for other in wide))

    @cached_property
    def parts(self) -> Parts:
        """The parts in which a plan is measured by the strategy *adaptive*."""
        return parts_of(self._plan)

    @property
    def in_parts(self) -> bool:
        """Whether a plan is measured in several parts, once its strategy is resolved."""
        plan = self._plan
        return plan.strategy == "adaptive" and bool(plan.ranged or plan.resolution.levels) and plan.parts.several


def parts_of(plan: Plan) -> Parts:
    """Return the parts of `plan`.

    >>> from dpengine import Plan
    >>> age = {"name": "age", "kind": "number", "edges": list(range(0, 81, 5)), "levels": {"20-year": 20}}
    >>> ill, pay = {"name": "ill", "kind": "yesno"}, {"name": "pay", "kind": "number", "edges": list(range(100))}
    >>> tables = [["age"], ["age@20-year", "ill"], {"columns": ["pay"], "ranges": True}]
    >>> plan = Plan(dataset="d", epsilon=1, columns=[age, ill, pay], tables=tables)
    >>> found = parts_of(plan)
    >>> found.ranged, [each.marginals for each in found.levels], found.rest
    ((('pay',),), [(('age',), ('age@20-year', 'ill'))], None)
    """
    finer = plan.resolution.finer_columns
    # Sums of a ranges table are free; amounts are measured separately.
    left = [table for table in plan.marginals
            if plan.amounts(table) or not any(finer(table, one) is not None for one in plan.ranged)]  # fmt: skip
    if not left:
        return Parts(plan.ranged, (), None)
    families = _families(_only(plan, left), left)
    rest = [table for table in left if not any(table in family for family in families)]
    for family in families:
        family += _sums_of(plan, family, rest)
        rest = [table for table in rest if table not in family]
    levels = (_only(plan, sorted(family, key=left.index)) for family in families)
    return Parts(plan.ranged, tuple(levels), _only(plan, rest) if rest else None)


def _families(plan: Plan, tables: Sequence[Columns]) -> list[list[Columns]]:
    """Return the tables with columns at several levels, together if they share such a column, directly or by others."""
    chains = plan.resolution.chains
    families: list[tuple[set[str], list[Columns]]] = []
    for table in tables:
        columns = {*plan.resolution.declared_columns(table)} & chains.keys()
        if not columns:
            continue
        sharing = [family for family in families if family[0] & columns]
        joined = columns.union(*(family[0] for family in sharing))
        members = [*(member for family in sharing for member in family[1]), table]
        families = [*(family for family in families if family not in sharing), (joined, members)]
    return [members for _columns, members in families]


def _sums_of(plan: Plan, family: Sequence[Columns], rest: Sequence[Columns]) -> list[Columns]:
    """Return the tables of the `rest` over columns of a family; one that is also a sum of the rest stays there."""
    known = {plan.resolution.finest_columns((name,))[0] for table in family for name in table}
    return [table for table in rest
            if {*table} <= known and not plan.amounts(table)
            and not any({*table} < {*other} for other in rest)]  # fmt: skip


def _only(plan: Plan, tables: Sequence[Columns]) -> Plan:
    """Return `plan` with only some of its tables, none for ranges, measured directly."""
    as_listed = dict(zip(plan.marginals, plan.listed or plan.marginals, strict=True))
    plain = (
        read_table(table.model_copy(update={"ranges": False})) if isinstance(table, PublishedTable) else table
        for table in map(as_listed.__getitem__, tables)
    )
    return changed(plan, tables=tuple(plain), strategy="direct")
