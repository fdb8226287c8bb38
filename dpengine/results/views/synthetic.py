"""The synthetic rows of a release: made a block at a time, since all of them may be more than memory holds."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from dpengine.array_types import Columns, Ints
from dpengine.errors import ReleaseError
from dpengine.estimate.amounts import AmountTable, join
from dpengine.measure.direct_strategy import MAX_SYNTHETIC
from dpengine.spec.domain import Column
from dpengine.spec.limits import MAX_JOINT_CELLS
from dpengine.spec.plan import Plan
from dpengine.synthesis import cell_values, resample
from dpengine.synthesis.amount_values import AmountValues
from dpengine.synthesis.blocks import blocks
from dpengine.synthesis.csv_lines import is_spread, lines
from dpengine.synthesis.generate_rows import WholeCounts
from dpengine.translation.catalogue import _, number

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["SyntheticView"]

MAX_BLOCK_VALUES = 2**21  # limit for the synthetic rows in memory at a time, all columns together: about 40 bytes each


class SyntheticView(ABC):
    """The synthetic rows of `plan`, which follow from the consistent tables, or rows, of its `model`."""

    plan: Plan
    model: WholeCounts
    amounts: tuple[AmountTable, ...]

    @abstractmethod
    def counts(self, table: Columns) -> Ints:
        """Return the consistent counts of `table`, one axis a column."""

    def rows(self, count: int | None = None) -> dict[str, Ints]:
        """Return synthetic rows as cells of each used column: counted, they give every published table exactly.

        If persons are counted beside rows, these are the tables, and the columns, of the plan's first tally.
        With `count`, that number of rows, whose tables are the published ones scaled and rounded
        (`synthesis.resample`). Raises `ReleaseError` if there are no rows to scale, or too many are asked for.
        """
        blocks = [{name: cells[index] for name, cells in unique.items()} for unique, index in self.row_blocks(count)]
        return {name: np.concatenate([part[name] for part in blocks]) for name in self.plan.of_rows.counted}

    def row_blocks(self, count: int | None = None) -> Iterator[tuple[dict[str, Ints], Ints]]:
        """Yield the rows a block at a time, each as unique rows and one index per output row.

        All published rows may be more than memory holds. Raises `ReleaseError` as `rows` does.
        """
        used = self.plan.of_rows.counted
        if count is None:
            cells = sum(table.values.size for table in getattr(self.model, "tables", ()))  # a block needs all rows
            people = max(1, MAX_BLOCK_VALUES // len(used), cells)
            for part in blocks(self.model, people, self.plan.resolution):
                rows, times = resample.unique_rows(part, self.plan.resolution)
                rows = self.plan.resolution.with_coarser(rows)
                yield {name: rows[name] for name in used}, resample.expand(times)
            return
        rows, times = resample.unique_rows(self.model, self.plan.resolution)
        rows = self.plan.resolution.with_coarser(rows)
        if isinstance(count, bool) or not isinstance(count, int | np.integer) or not 0 <= count <= MAX_SYNTHETIC:
            raise ReleaseError(_("a number of synthetic rows is whole, from 0 to {most}", most=number(MAX_SYNTHETIC)))
        if count and not times.size:
            raise ReleaseError(_("the published total is 0: there are no synthetic rows to scale"))
        sizes = {name: self.plan.column(name).size for name in used}
        tables = self.plan.of_rows.marginals
        times = resample.rescale(rows, times, int(count), tables, sizes) if count else 0 * times
        yield {name: rows[name] for name in used}, resample.expand(times)

    def synthetic(self, rows: int | None = None) -> pd.DataFrame:
        """Return synthetic rows typed like the declared columns; counted, they give every published table exactly.

        Whole numbers are Int64, other numbers float64, dates datetime64, categories texts; missing values are NA, and a
        column in which `(other)` occurs holds Python objects. Numbers and dates are spread evenly within their bin or
        period by a fixed rule. With `rows`, that number of rows: see the method `rows`. `synthetic_blocks` needs less
        memory.
        """
        import pandas as pd

        first, *others = self.synthetic_blocks(rows)
        return pd.concat([first, *others], ignore_index=True) if others else first

    def synthetic_blocks(self, rows: int | None = None) -> Iterator[pd.DataFrame]:
        """Yield the rows of `synthetic` a block at a time."""
        import pandas as pd

        for block in self.value_blocks(rows):
            yield pd.DataFrame({name: cell_values.series(self.plan.column(name), *block[name]) for name in block})

    def value_blocks(self, rows: int | None = None) -> Iterator[dict[str, tuple[Any, Ints]]]:
        """Yield the rows a block at a time: by column an Arrow array of values, and their cells.

        Raises `ReleaseError` as `rows` does.
        """
        for _unique, _index, block in self._valued_blocks(rows, lambda column: True):
            yield block

    def line_blocks(self, rows: int | None = None) -> Iterator[memoryview]:
        """Yield the rows a block at a time as lines of CSV. Raises `ReleaseError` as `rows` does."""
        released = [self.plan.column(name) for name in self.plan.of_rows.released]
        for unique, index, spread in self._valued_blocks(rows, is_spread):
            yield lines(released, unique, index, spread)

    def _valued_blocks(
        self, rows: int | None, wanted: Callable[[Column], bool]
    ) -> Iterator[tuple[dict[str, Ints], Ints, dict[str, tuple[Any, Ints]]]]:
        """Yield the blocks of `row_blocks`, each with values and cells of the columns that are `wanted`."""
        counted = [self.plan.column(name) for name in self.plan.of_rows.counted]
        sources: dict[str, AmountValues] = {}
        for unique, index in self.row_blocks(rows):
            sources = sources or {name: self._amount_values(name, rows) for name in self.plan.amounts(())}
            block = {}
            for salt, column in enumerate(counted):
                if wanted(column):
                    codes = unique[column.name][index]
                    block[column.name] = cell_values.values(column, codes, salt), codes
            for name, source in sources.items():
                places = source.next([unique[each][index] for each in source.columns])
                block[name] = cell_values.amounts(self.plan.amount(name), places)
            yield unique, index, {name: block[name] for name in self.plan.of_rows.released if name in block}

    def _amount_values(self, name: str, rows: int | None) -> AmountValues:
        """Return the source of an amount's values in the published rows, or in that number of rows."""
        top, tables = self.plan.amount(name).grid.steps, [each for each in self.amounts if each.amount == name]
        table = tables[0]
        if len(tables) > 1:
            columns = tuple(sorted({name for each in tables for name in each.columns}))
            few = self.plan.cells(columns) <= MAX_JOINT_CELLS
            largest = max(tables, key=lambda each: each.known.size)
            table = join(tables, self._people(columns, None), top) if few else largest
        people = self._people(table.columns, rows)
        counts = people if rows is None else self._people(table.columns, None)
        return AmountValues(table, counts, people, top)

    def _people(self, columns: Columns, rows: int | None) -> Ints:
        """Count the published rows, or that number of rows, by `columns`, which may be in no published table."""
        if rows is None and any({*columns} <= {*table} for table in self.plan.of_rows.marginals):
            return self.counts(columns)
        counts = np.zeros(self.plan.shape(columns), dtype=np.int64)
        for unique, index in self.row_blocks(rows):
            weights = np.bincount(index, minlength=len(unique[columns[0]]))
            np.add.at(counts, tuple(unique[name] for name in columns), weights)
        return counts
