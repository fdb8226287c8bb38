"""Limits on the size of a plan, checked before anything large is made.

A plan may come from a stranger, and a few bytes can declare millions of cells. So the declared cells are added up
before any edge or label is made.
"""

from __future__ import annotations

from collections.abc import Iterable, Sized
from typing import Any

from dpengine.exact import rational
from dpengine.spec.standard_lists import standard_lists
from dpengine.translation.catalogue import _, number

__all__ = [
    "MAX_COLUMN_CELLS", "MAX_FOUND", "MAX_JOINT_CELLS", "MAX_TABLES", "MAX_TABLE_CELLS", "MAX_TABLE_COLUMNS",
    "check_column_size", "check_columns", "check_declared",
]  # fmt: skip

MAX_COLUMNS = 5_000
MAX_COLUMN_CELLS = 1_000_000
MAX_DECLARED_CELLS = 2_000_000  # limit for all columns together
MAX_FOUND = 10_000  # values of a column that are found privately
MAX_TABLES = 10_000
MAX_TABLE_CELLS = 4_000_000
MAX_JOINT_CELLS = 2_000_000  # limit for a table of all columns, through which others are made to agree
MAX_TABLE_COLUMNS = 32


def check_columns(columns: Any) -> Any:
    """Return the entry `columns` of a plan unchanged. Raises ValueError for too many columns or cells.

    Anything that is not a list of columns passes here, and is reported when columns are read.
    """
    if not isinstance(columns, list | tuple):
        return columns
    if len(columns) > MAX_COLUMNS:
        raise ValueError(
            _(
                "these are {columns} columns; a plan has at most {most}",
                columns=number(len(columns)),
                most=number(MAX_COLUMNS),
            )
        )
    check_declared(map(_stated_cells, columns))
    return columns


def check_column_size(cells: int) -> None:
    """Raise ValueError if one column declares too many cells."""
    if cells > MAX_COLUMN_CELLS:
        raise ValueError(
            _(
                "{cells} cells in one column are too many (at most {most})",
                cells=number(cells),
                most=number(MAX_COLUMN_CELLS),
            )
        )


def check_declared(sizes: Iterable[int]) -> None:
    """Raise ValueError if all columns together declare too many cells; `sizes` has one number for each."""
    if (cells := sum(sizes)) > MAX_DECLARED_CELLS:
        raise ValueError(
            _(
                "the columns declare {cells} cells in all, above the limit of {most}: use wider bins, or leave "
                "out columns that no table needs",
                cells=number(cells),
                most=number(MAX_DECLARED_CELLS),
            )
        )


def _stated_cells(column: Any) -> int:
    """Return the number of cells that the entry of a column states; 0 if only reading it can tell."""
    if not isinstance(column, dict):
        return 0
    edges, values, among = column.get("edges"), column.get("values"), column.get("among")
    if values == "found":
        most = among.get("most", 1_000) if isinstance(among, dict) else 0
        return most if isinstance(most, int) and 0 <= most <= MAX_FOUND else 0  # others are refused by the column
    if isinstance(edges, dict):
        try:
            bins = int(rational(str(edges.get("bins"))))
        except ValueError:
            return 0
        return bins if 0 <= bins <= MAX_COLUMN_CELLS else 0  # others are refused by the column itself
    listed = edges if values is None else values
    if not listed and isinstance(column.get("codebook"), str):
        listed = standard_lists().get(column["codebook"])
    return len(listed) if isinstance(listed, Sized) and not isinstance(listed, str) else 0
