"""The amounts of a plan: in which tables their means, sums, quantiles and associations are published."""

from __future__ import annotations

import math
from collections.abc import Iterable
from decimal import Decimal
from functools import cached_property
from typing import TYPE_CHECKING, Any, cast

from dpengine.array_types import Columns
from dpengine.spec.domain import Amount
from dpengine.spec.numeric.association import Association
from dpengine.spec.published_table import PublishedTable

if TYPE_CHECKING:
    from dpengine.spec.plan import Plan

__all__ = ["WithAmounts"]

_NO_AMOUNTS = PublishedTable(columns=())


class WithAmounts:
    """The part of a `Plan` that knows its amounts."""

    @property
    def _plan(self) -> Plan:
        return cast("Plan", self)

    @cached_property
    def _measures(self) -> dict[Columns, PublishedTable]:
        """The tables with statistics of amounts, by their columns, and the total, which has all of these."""
        listed = [table for table in self._plan.listed if isinstance(table, PublishedTable) and table.amounts]
        if not listed:
            return {}
        kinds = ("mean", "sum", "standard_deviation", "covariance", "correlation", "slope")
        all_of: Any = {kind: tuple(dict.fromkeys(name for table in listed for name in getattr(table, kind)))
                       for kind in kinds}  # fmt: skip
        parts: dict[str, tuple[Decimal, ...]] = {}
        for name, more in (each for table in listed for each in table.quantiles.items()):
            parts[name] = tuple(sorted({*parts.get(name, ()), *more}))
        total = PublishedTable.model_construct(columns=(), quantiles=parts, **all_of)
        return {table.columns: table for table in listed} | {(): total}

    def _of(self, table: Columns) -> PublishedTable:
        return self._measures.get(table, _NO_AMOUNTS)

    def means(self, table: Columns) -> tuple[str, ...]:
        """Return the amounts whose means are published in `table`, or in the total of no columns."""
        return tuple(self._of(table).mean)

    def sums(self, table: Columns) -> tuple[str, ...]:
        """Return the amounts whose sums are published in `table`, or in the total of no columns."""
        return tuple(self._of(table).sum)

    def quantiles(self, table: Columns, amount: str) -> tuple[Decimal, ...]:
        """Return the fractions at which quantiles of an amount are published in `table`, or in the total."""
        return self._of(table).quantiles.get(amount, ())

    def associations(self, table: Columns) -> tuple[Association, ...]:
        """Return the published associations of amounts in `table`, or in the total of no columns."""
        return self._of(table).associations

    def amounts(self, table: Columns) -> tuple[str, ...]:
        """Return the amounts that are measured in `table`, or in any table for the total of no columns."""
        return self._of(table).amounts

    @cached_property
    def estimated_tables(self) -> tuple[Columns, ...]:
        """The tables to estimate: each published one, or it with each of its amounts, or those of an association."""
        wanted: list[Columns] = []
        for table in self._plan.marginals:
            pairs = dict.fromkeys(tuple(sorted(each.amounts)) for each in self.associations(table))
            paired = {name for pair in pairs for name in pair}
            alone = [(name,) for name in self.amounts(table) if name not in paired]
            wanted += [(*table, *amounts) for amounts in (*alone, *pairs)] or [table]
        return tuple(wanted)

    def has_amount(self, table: Iterable[str]) -> bool:
        """Return whether one of the columns is an amount, whose cells share rows."""
        return not self._grains.keys().isdisjoint(table)

    def grain(self, table: Iterable[str]) -> int:
        """Return the number of units in a row of a table over columns and amounts: all counts are whole in these."""
        grains = self._grains
        return math.prod(grains[name] for name in table if name in grains)

    @cached_property
    def _grains(self) -> dict[str, int]:
        """The units in a row of each amount."""
        amounts = (each.name for each in self._plan.columns if isinstance(each, Amount))
        return {name: self.amount(name).grain for name in amounts}

    def amount(self, name: str) -> Amount:
        """Return the amount of this name."""
        column = self._plan.column(name)
        assert isinstance(column, Amount), "the name of an amount"
        return column
