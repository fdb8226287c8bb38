"""Read values from a CSV file with a line for each, and a column for each coarser level, if there are any."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from dpengine.errors import PlanError
from dpengine.spec.categories import tree as trees
from dpengine.spec.csv_rows import csv_rows
from dpengine.translation.catalogue import _

__all__ = ["from_csv", "from_rows", "rows_of"]


def rows_of(text: str) -> list[list[str]]:
    """Return the rows of a CSV file that are not blank, without blanks around their cells. Raises `PlanError`.

    >>> rows_of("county; state\\nKern; CA\\n")
    [['county', 'state'], ['Kern', 'CA']]
    """
    return _tidy(csv_rows(text))


def _tidy(rows: Iterable[Iterable[str]]) -> list[list[str]]:
    return [cells for row in rows if any(cells := [cell.strip() for cell in row])]


def from_csv(text: str, names: Iterable[str]) -> dict[str, Any]:
    """Return the category column that a CSV file declares, as `from_rows` does.

    >>> from_csv("county,state\\nKern,CA\\nNapa,CA\\nTravis,TX\\n", ["age", "County"])["levels"]
    ['state', 'County']
    >>> from_csv("county\\nKern\\nNapa\\n", ["county"])["values"]
    ['Kern', 'Napa']
    """
    return from_rows(csv_rows(text), names)


def from_rows(cells: Iterable[Iterable[str]], names: Iterable[str]) -> dict[str, Any]:
    """Return the category column that the rows of a file declare for one of a table's `names`, with its levels.

    It is the file's column with the most values that the table has too; columns with fewer values are its levels,
    coarsest first. Their order in the file does not matter. A file without levels is a list of the values. Raises
    `PlanError` naming the line or value that fits in no tree.
    """
    header, *rows = _tidy(cells) or [[]]
    by_folded = {name.strip().casefold(): name for name in names}
    header = [by_folded.get(cell.casefold(), cell) for cell in header]
    values = {name: len({row[k] for row in rows if k < len(row)} - {""}) for k, name in enumerate(header)}
    finest = max((name for name in header if name in by_folded.values()), key=values.__getitem__, default=None)
    if finest is None or not rows:
        raise PlanError(
            _(
                "none of its columns {listed} is a column of your table; the first line of a codebook of levels names "
                "the levels, one of them like the column, such as county,state",
                listed=", ".join(header[:5]),
            )
        )
    column = header.index(finest)
    levels = [*_coarser(header, rows, column, values), finest]
    if len(levels) == 1:
        return {"name": finest, "kind": "category", "values": _list([row[column] for row in rows if column < len(row)])}
    try:
        tree = trees.from_rows(header, rows, levels)
        trees.check_tree(levels, tree["values"], tree["parents"])
    except ValueError as error:
        raise PlanError(str(error)) from None
    return {"name": finest, "kind": "category", **tree, "levels": levels}


def _coarser(header: Sequence[str], rows: Sequence[Sequence[str]], column: int, values: Mapping[str, int]) -> list[str]:
    """Return the levels of the values in a `column`, coarsest first, given how many `values` each column has."""
    most = values[header[column]]
    complete = [row for row in rows if len(row) == len(header)]
    places = {name: place for place, name in enumerate(header) if name and name != header[column]}
    pairs = {name: len({(row[place], row[column]) for row in complete}) for name, place in places.items()}
    # With as many values and pairs, a column has another name for each value.
    levels = [name for name in places if values[name] <= most and not values[name] == most == pairs[name]]
    return sorted(levels, key=lambda name: (values[name], -places[name]))


def _list(cells: list[str]) -> list[str]:
    """Return the values that a file lists. Raises `PlanError` if one stands there twice: rows are no list."""
    values = [*filter(None, cells)]
    if len({*values}) < len(values):
        raise PlanError(
            _("a value stands there several times: a list of values names each once; rows of a table are no codebook")
        )
    return values
