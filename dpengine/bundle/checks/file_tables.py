"""Read the tables and the synthetic rows of a release file as numbers and cells; refuse anything else."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from dpengine import safe_csv
from dpengine.array_types import Columns, Floats, Ints
from dpengine.errors import ReleaseError
from dpengine.results.published_columns import INTEGERS, NUMBERS, header, number_columns
from dpengine.spec.domain import Amount, Column
from dpengine.spec.plan import Plan
from dpengine.synthesis import cell_values
from dpengine.translation.catalogue import _, mark, number

__all__ = ["Codes", "Numbers", "read_rows", "read_table"]

Codes = npt.NDArray[np.unsignedinteger[Any]]

MAX_CODES_BYTES = 200_000_000  # limit for the cells of all rows, at one to four bytes each: about 10 s
ROWS_FOR_CELLS = mark("has {rows} rows, not one for each of {cells} cells")


@dataclass(frozen=True, slots=True)
class Numbers:
    """The numbers of one table file; each array has one axis for each column."""

    file: str
    count: Ints
    estimate: Floats
    low: Ints
    high: Ints
    amounts: dict[str, Floats]  # by the names of `number_columns`


def read_rows(pieces: Iterable[bytes], plan: Plan) -> dict[str, Codes]:
    """Read the synthetic rows as cells of each column, in the smallest type that holds them.

    Raises ValueError with what is wrong with the file, and `ReleaseError` if it has too many rows to be checked.
    """
    released = plan.of_rows.released
    readers = {name: cell_values.reader(plan.column(name)) for name in released}
    types = {name: np.min_scalar_type(_max_code(plan.column(name))) for name in released}
    most = MAX_CODES_BYTES // sum(kind.itemsize for kind in types.values())
    parts: dict[str, list[Codes]] = {name: [] for name in released}
    rows = 0
    for columns in safe_csv.read_blocks(pieces, released):
        rows += len(columns[0])
        if rows > most:
            raise ReleaseError(
                _(
                    "synthetic.csv has more than {most} rows, the most that are checked for a plan of these "
                    "columns; check it by means of your own, or ask for a release of fewer columns",
                    most=number(most),
                )
            )
        for (name, read), column in zip(readers.items(), columns, strict=True):
            codes = read(column)
            if (codes < 0).any():
                raise ValueError(_("has a text in the column {name} that is no declared cell", name=name))
            parts[name].append(codes.astype(types[name]))
    return {name: np.concatenate(parts.pop(name)) for name in released}


def _max_code(column: Column) -> int:
    """Return the greatest code of a column in the rows: a place on the grid of an amount, or otherwise a cell."""
    return column.grid.steps + 1 if isinstance(column, Amount) else column.size


def read_table(pieces: Iterable[bytes], file: str, table: Columns, plan: Plan) -> Numbers:
    """Read the numbers of a table whose labels are the declared cross-product in declared order.

    Raises ValueError with what is wrong with the file.
    """
    cells, names = plan.cells(table), number_columns(plan, table)
    numbers: dict[str, npt.NDArray[Any]] = {
        name: np.empty(cells, dtype=np.int64 if name in INTEGERS else np.float64) for name in names
    }
    check_labels = _label_check(plan, table)
    blocks = safe_csv.read_blocks(pieces, header(plan, table))
    start = 0
    for block in blocks:
        stop = start + len(block[0])
        if stop > cells:
            rows = stop + sum(len(later[0]) for later in blocks)
            raise ValueError(_(ROWS_FOR_CELLS, rows=rows, cells=cells))
        check_labels(block[: len(table)], start, stop)
        for name, column in zip(names, block[len(table) :], strict=True):
            numbers[name][start:stop] = _read_numbers(column, name)
        start = stop
    if start != cells:
        raise ValueError(_(ROWS_FOR_CELLS, rows=start, cells=cells))
    shaped = {name: values.reshape(plan.shape(table)) for name, values in numbers.items()}
    return Numbers(file, **{name: shaped.pop(name) for name in NUMBERS}, amounts=shaped)


def _label_check(plan: Plan, table: Columns) -> Callable[[Sequence[Any], int, int], None]:
    """Return a function that raises ValueError unless labels are those of the cells from one place to another."""
    readers = [safe_csv.label_reader(plan.column(name).labels) for name in table]

    def check(labels: Sequence[Any], start: int, stop: int) -> None:
        places = np.unravel_index(np.arange(start, stop), plan.shape(table)) if table else ()
        for name, read, column, place in zip(table, readers, labels, places, strict=True):
            wrong = read(column) != place
            if wrong.any():
                line = start + int(np.argmax(wrong)) + 2
                raise ValueError(
                    _("line {line}, column {name}: this is not the cell declared for this place", line=line, name=name)
                )

    return check


def _read_numbers(column: Any, name: str) -> npt.NDArray[Any]:
    """Read texts as the numbers of the column `name` of a table. Raises ValueError."""
    try:
        return safe_csv.read_numbers(column, pa.int64() if name in INTEGERS else pa.float64())
    except ValueError:
        if name in INTEGERS:
            raise ValueError(_("has a count, low or high that is not a whole number")) from None
        if name == "estimate":
            raise ValueError(_("has an estimate that is not a number")) from None
        raise ValueError(_("has a value of {name} that is not a number", name=name)) from None
