"""Codebooks as a sheet: one row per column, to fill in with any spreadsheet program.

The cells of a column stand in one text, as `notation` reads it. A list of codes with a row per value is read too.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias

from dpengine.errors import PlanError
from dpengine.safe_csv import guard, unguard
from dpengine.spec import notation
from dpengine.spec.codebook import Codebook, from_columns
from dpengine.spec.csv_rows import csv_rows
from dpengine.spec.declared import KINDS
from dpengine.translation.catalogue import _

__all__ = ["HEADER", "KIND_WORDS", "TextsForReaders", "csv_bytes", "from_csv", "from_rows", "to_rows", "words_of"]

HEADER = (
    "column", "kind", "values or bins", "other", "missing", "missing is written", "meaning", "name for readers",
    "words for codes", "beside the number",
)  # fmt: skip
KIND_WORDS = ("number", "category", "yes or no", "date", "time", "amount")
# Headings of a list of codes: of the column, of a value and of its words.
_LONG = (("column", "variable", "spalte"), ("value", "code", "wert"), ("label", "words", "meaning", "bezeichnung"))
TextsForReaders: TypeAlias = Mapping[str, Mapping[str, Any]]  # by column: texts for readers, as in a plan
_KINDS = {kind: kind for kind in KINDS} | {"yes or no": "yesno", "yes/no": "yesno"}
_YES_OR_NO = {"yes": True, "y": True, "true": True, "1": True, "no": False, "n": False, "false": False, "0": False}


def to_rows(columns: Iterable[Mapping[str, Any]], for_readers: TextsForReaders | None = None) -> list[tuple[str, ...]]:
    """Return the header and a row for each column, given as its entry in a plan; blanks wait to be filled in.

    `for_readers` holds texts for readers about columns, if their entries do not.

    >>> to_rows([{"name": "age", "kind": "number", "edges": ["0", "18", "65"]}])[1]
    ('age', 'number', '0, 18, 65', 'yes', 'yes', '', '', '', '', '')
    """
    return [HEADER, *(_row({**column, **(for_readers or {}).get(column["name"], {})}) for column in columns)]


def _row(column: Mapping[str, Any]) -> tuple[str, ...]:
    other, missing = ("yes" if column.get(key, True) else "no" for key in ("other", "missing"))
    marks, beside = (
        notation.write({"kind": "category", "values": column.get(key, ())}) for key in ("missing_as", "affixes")
    )
    kind = "yes or no" if column["kind"] == "yesno" else column["kind"]
    other = "no" if kind == "amount" else other
    cells = column.get("written") or notation.write(column)
    words = "\n".join(f"{value} = {word}" for value, word in column.get("words", {}).items())
    texts = column.get("description", ""), column.get("label", ""), words
    return column["name"], kind, cells, other, missing, marks, *texts, beside


def csv_bytes(columns: Iterable[Mapping[str, Any]], for_readers: TextsForReaders | None = None) -> bytes:
    """Write the sheet as CSV that a spreadsheet opens in UTF-8, and without running a formula."""
    text = io.StringIO(newline="")
    csv.writer(text).writerows([guard(cell) for cell in row] for row in to_rows(columns, for_readers))
    return text.getvalue().encode("utf-8-sig")


def from_csv(text: str) -> Codebook:
    """Read a sheet that was saved as CSV, with commas, semicolons or tabs. Raises `PlanError` with every fault.

    >>> [column.declared for column in from_csv("column;kind;values or bins\\nsex;;female, male\\n").columns]
    [('female', 'male')]
    """
    return from_rows([[unguard(cell) for cell in row] for row in csv_rows(text)])


def from_rows(rows: Iterable[Sequence[str]]) -> Codebook:
    """Read the rows of a sheet, its header first; rows without values are still to be filled in, and are left out.

    Without the headings `values or bins` and `kind`, a row holds a column, one of its values and the words for it; a
    row that names no column goes on with the one above. Raises `PlanError` with every fault, by row and column.

    >>> codes = from_rows([("variable", "code", "label"), ("sex", "1", "male"), ("", "2", "female")])
    >>> [(column.name, column.declared, column.shown[:2]) for column in codes.columns]
    [('sex', ('1', '2'), ('male', 'female'))]
    """
    numbered = [(number, [cell.strip() for cell in row]) for number, row in enumerate(rows, 1)]
    filled = [(number, row) for number, row in numbered if any(row)]
    places = {name.casefold(): index for index, name in enumerate(filled[0][1])} if filled else {}
    in_list = [next((places[each] for each in names if each in places), None) for names in _LONG]
    if not {HEADER[2], "kind"} & {*places} and None not in in_list[:2]:
        return _read_codes(filled[1:], in_list)
    if missing := [name for name in (HEADER[0], HEADER[2]) if name not in places]:
        raise PlanError(
            _(
                "the first row of a codebook sheet needs {listed}; a list of codes, with a row for each, needs "
                "'column', 'value' and 'label'",
                listed=_(" and ").join(map(repr, missing)),
            )
        )
    return _read_columns(filled[1:], places)


def _read_columns(rows: Iterable[tuple[int, Sequence[str]]], places: Mapping[str, int]) -> Codebook:
    """Read a row for each column; `places` are those of the headings."""
    columns, faults, about = [], [], {}
    for number, row in rows:
        cells = {name: row[index] if index < len(row) else "" for name, index in places.items()}
        name, kind = cells[HEADER[0]], cells.get("kind", "").casefold()
        if not cells[HEADER[2]] and _KINDS.get(kind) != "yesno":
            continue
        about[name] = cells.get("meaning", "")
        try:
            columns.append({"name": name} | _declared(cells, kind))
        except ValueError as error:
            faults.append(_("row {number}, {name}: {error}", number=number, name=name, error=error))
    if faults:
        raise PlanError(faults)
    return from_columns(columns, about)


def _read_codes(rows: Iterable[tuple[int, Sequence[str]]], places: Sequence[int | None]) -> Codebook:
    """Read a list of codes, with a row for each value; `places` are those of column, value and words."""
    words: dict[str, dict[str, str]] = {}
    faults, column = [], ""
    for number, row in rows:
        name, value, label = ("" if k is None or k >= len(row) else row[k] for k in places)
        column = name or column
        labels = words.setdefault(column, {})
        if value in labels:
            faults.append(_("row {number}, {name}: the value {value!r} is listed twice", number=number, name=column,
                            value=value))  # fmt: skip
        elif value:
            labels[value] = label
        elif label:
            faults.append(_("row {number}, {name}: no value stands before {label!r}; leave the row out if it is about "
                            "missing values, which have a cell of their own", number=number, name=column,
                            label=label))  # fmt: skip
    if faults:
        raise PlanError(faults)
    columns = [
        {
            "name": name, "kind": "category", "values": [*values],
            "words": {value: label for value, label in values.items() if label and label != value},
        }
        for name, values in words.items() if values
    ]  # fmt: skip
    return from_columns(columns, {})


def _declared(cells: Mapping[str, str], kind: str) -> dict[str, Any]:
    if kind not in ("", *_KINDS):
        raise ValueError(_("kind is one of {kinds}", kinds=", ".join(_KINDS)))
    fields = notation.read(cells[HEADER[2]], _KINDS.get(kind, "category"), strict=bool(kind))
    entry = {key: value for key, value in fields.items() if value != ""}
    if label := cells.get("name for readers", ""):
        entry["label"] = label
    if text := cells.get("words for codes", ""):
        entry["words"], unknown = words_of(text, fields.get("values", ()))
        if unknown:
            raise ValueError(
                _("{line!r} explains no value of this column: write value = words, one a line", line=unknown[0])
            )
    for key in ("other", "missing"):
        if (answer := cells.get(key, "").casefold()) and answer not in _YES_OR_NO:
            raise ValueError(_("{key} is yes or no", key=key))
        if key == "missing" or fields["kind"] != "amount":
            entry[key] = _YES_OR_NO.get(answer, True)
    for key, heading in (("missing_as", "missing is written"), ("affixes", "beside the number")):
        if text := cells.get(heading, ""):
            entry[key] = notation.read(text, "category", strict=True)["values"]
    return entry


def words_of(text: str, values: Sequence[str]) -> tuple[dict[str, str], list[str]]:
    """Return the words that `text` gives for each value, and the lines that do not begin with a value.

    >>> words_of("1 = male\\n2=female\\n3 =\\nx = y = z\\n4 = ?", ["1", "2", "3", "x = y"])
    ({'1': 'male', '2': 'female', 'x = y': 'z'}, ['4 = ?'])
    """
    names, words, unknown = set(values), dict[str, str](), list[str]()
    for line in filter(str.strip, text.splitlines()):
        if line.strip() in names:
            continue
        ends = (k for k, letter in enumerate(line) if letter == "=" and line[:k].strip() in names)
        end = max(ends, default=None)
        if end is None:
            unknown.append(line.strip())
        elif word := line[end + 1 :].strip():
            words[line[:end].strip()] = word
    return words, unknown
