"""Codebooks as a sheet: one row a column, to be filled in with a colleague in any spreadsheet and brought back.

The cells of a column stand in one text, as `notation` reads it.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from dpengine.errors import PlanError
from dpengine.safe_csv import guard, unguard
from dpengine.spec import notation
from dpengine.spec.codebook import Codebook, from_columns
from dpengine.spec.declared import KINDS

__all__ = ["HEADER", "csv_bytes", "from_csv", "from_rows", "to_rows"]

HEADER = ("column", "kind", "values or bins", "other", "missing", "missing is written", "meaning")
_KINDS = {kind: kind for kind in KINDS} | {"yes or no": "yesno", "yes/no": "yesno"}
_TRUTHS = {"yes": True, "y": True, "true": True, "1": True, "no": False, "n": False, "false": False, "0": False}
_DELIMITERS = ",;\t"


def to_rows(columns: Iterable[Mapping[str, Any]], meanings: Mapping[str, str] | None = None) -> list[tuple[str, ...]]:
    """Return the header and a row for each column, given as its entry in a plan; blanks wait to be filled in.

    >>> to_rows([{"name": "age", "kind": "number", "edges": ["0", "18", "65"]}])[1]
    ('age', 'number', '0, 18, 65', 'yes', 'yes', '', '')
    """
    return [HEADER, *(_row(column, (meanings or {}).get(column["name"], "")) for column in columns)]


def _row(column: Mapping[str, Any], meaning: str) -> tuple[str, ...]:
    other, missing = ("yes" if column.get(key, True) else "no" for key in ("other", "missing"))
    marks = notation.write({"kind": "category", "values": column.get("missing_as", ())})
    kind = "yes or no" if column["kind"] == "yesno" else column["kind"]
    return column["name"], kind, column.get("written") or notation.write(column), other, missing, marks, meaning


def csv_bytes(columns: Iterable[Mapping[str, Any]], meanings: Mapping[str, str] | None = None) -> bytes:
    """Write the sheet as CSV that a spreadsheet opens in UTF-8, and without running a formula."""
    text = io.StringIO(newline="")
    csv.writer(text).writerows([guard(cell) for cell in row] for row in to_rows(columns, meanings))
    return text.getvalue().encode("utf-8-sig")


def from_csv(text: str) -> Codebook:
    """Read a sheet that was saved as CSV, with commas, semicolons or tabs. Raises `PlanError` with every fault.

    >>> [column.declared for column in from_csv("column;kind;values or bins\\nsex;;female, male\\n").columns]
    [('female', 'male')]
    """
    text = text.removeprefix("\N{ZERO WIDTH NO-BREAK SPACE}")
    head = text.split("\n", 1)[0]
    delimiter = max(_DELIMITERS, key=head.count)
    try:
        rows = list(csv.reader(io.StringIO(text), delimiter=delimiter))
    except csv.Error:
        raise PlanError("this is not readable CSV") from None
    return from_rows([[unguard(cell) for cell in row] for row in rows])


def from_rows(rows: Iterable[Sequence[str]]) -> Codebook:
    """Read the rows of a sheet, its header first; rows without values are still to be filled in, and are left out.

    Raises `PlanError` with every fault, by row and column.
    """
    numbered = [(number, [cell.strip() for cell in row]) for number, row in enumerate(rows, 1)]
    filled = [(number, row) for number, row in numbered if any(row)]
    places = {name.casefold(): place for place, name in enumerate(filled[0][1])} if filled else {}
    if missing := [name for name in (HEADER[0], HEADER[2]) if name not in places]:
        raise PlanError(f"the first row of a codebook sheet needs {' and '.join(map(repr, missing))}")
    columns, faults, about = [], [], {}
    for number, row in filled[1:]:
        cells = {name: row[place] if place < len(row) else "" for name, place in places.items()}
        name, kind = cells[HEADER[0]], cells.get("kind", "").casefold()
        if not cells[HEADER[2]] and _KINDS.get(kind) != "yesno":
            continue
        about[name] = cells.get("meaning", "")
        try:
            columns.append({"name": name} | _declared(cells, kind))
        except ValueError as error:
            faults.append(f"row {number}, {name}: {error}")
    if faults:
        raise PlanError(faults)
    return from_columns(columns, about)


def _declared(cells: Mapping[str, str], kind: str) -> dict[str, Any]:
    if kind not in ("", *_KINDS):
        raise ValueError(f"kind is one of {', '.join(_KINDS)}")
    fields = notation.read(cells[HEADER[2]], _KINDS.get(kind, "category"), strict=bool(kind))
    marks = cells.get("missing is written", "")
    found = {key: value for key, value in fields.items() if value != ""}
    for key in ("other", "missing"):
        if (said := cells.get(key, "").casefold()) and said not in _TRUTHS:
            raise ValueError(f"{key} is yes or no")
        found[key] = _TRUTHS.get(said, True)
    return found | ({"missing_as": notation.read(marks, "category", strict=True)["values"]} if marks else {})
