"""The sketch of a table, by which the ledger recognises near copies of it; see `accounting.sketch`.

Local rows give one histogram of each column, whichever columns a plan uses, and two of whole rows, of which one does
not depend on the names of columns. Counted marginals give histograms of their cells, for local rows and in other
engines alike: cells are hashed by their labels, so neither names, nor types, nor changes within a cell matter.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

import numpy as np

from dpengine.accounting.sketch import BINS, NAMELESS, ROWS, VALUES, Histogram, Sketch
from dpengine.array_types import Columns, Ints
from dpengine.counting.fingerprint import Words, bins_of, words_of
from dpengine.marginals.marginal import Marginal
from dpengine.sources.table import Table
from dpengine.spec.domain import Amount
from dpengine.spec.numeric.amount_steps import Stepped
from dpengine.spec.plan import Plan

__all__ = ["of_table", "of_values"]

_MAX_COLUMNS = 64  # with a histogram in a sketch, which stays small
_MAX_MARGINALS, _MAX_CELLS = 8, 1 << 22  # the largest marginals that have a histogram too, and their most cells


def of_table(table: Table, plan: Plan, marginals: Sequence[Columns], counts: Sequence[Ints]) -> Sketch:
    """Return all histograms of a table that was counted for `plan`."""
    return Sketch((*of_values(table, plan.table_columns).histograms, *_of_cells(plan, marginals, counts)))


def of_values(table: Table, used: Sequence[str]) -> Sketch:
    """Return the histograms of whole rows and of columns, those in `used` first; none without rows, or elsewhere."""
    if table.histograms is None or len(table.histograms) == 1:
        return Sketch(())
    *columns, rows, nameless = table.histograms
    names = sorted(column.name for column in table.columns)
    values = [Histogram(VALUES, counts, name in used) for name, counts in zip(names, columns, strict=False)]
    values.sort(key=lambda each: not each.used)
    return Sketch((Histogram(ROWS, rows), Histogram(NAMELESS, nameless), *values[:_MAX_COLUMNS]))


def _of_cells(plan: Plan, marginals: Sequence[Columns], counts: Sequence[Ints]) -> list[Histogram]:
    """Return the histograms of each used column's cells, and of the largest of the counted marginals."""
    plain = ((each, cells) for each, cells in zip(marginals, counts, strict=True) if not isinstance(each, Stepped))
    rows = dict(_in_rows(plan, columns, cells) for columns, cells in plain)
    counted = sorted(rows.items(), key=lambda each: each[1].size)
    smallest: dict[str, tuple[Columns, Ints]] = {}  # the smallest marginal with each column
    for columns, cells in counted:
        smallest |= {name: (columns, cells) for name in columns if name not in smallest}
    single = [((name,), Marginal(*smallest[name]).project((name,)).values) for name in [*smallest][:_MAX_COLUMNS]]
    several = [each for each in counted if len(each[0]) > 1 and each[1].size <= _MAX_CELLS]
    shown = [*single, *several[-_MAX_MARGINALS:]]
    words = {name: words_of(plan.column(name).labels) for columns, _ in shown for name in columns}
    return [_histogram([words[name] for name in columns], cells) for columns, cells in shown]


def _in_rows(plan: Plan, columns: Columns, cells: Ints) -> tuple[Columns, Ints]:
    """Return a marginal without its amounts, in numbers of rows."""
    axes = tuple(axis for axis, name in enumerate(columns) if isinstance(plan.column(name), Amount))
    rows = cells.sum(axis=axes) // plan.grain(columns) if axes else cells
    return tuple(name for axis, name in enumerate(columns) if axis not in axes), rows


def _histogram(words: Sequence[Words], cells: Ints) -> Histogram:
    """Add up the cells of a marginal by a hash of their labels, whatever the order of its columns."""
    bins = bins_of(reduce(np.add.outer, words).reshape(-1))
    counts = np.bincount(bins, weights=cells.reshape(-1), minlength=BINS)
    return Histogram(f"cells of {len(words)} columns", counts.astype(np.int64))
