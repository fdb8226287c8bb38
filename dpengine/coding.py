"""The SQL that turns one cell of a table into the index of its declared cell.

Each value is looked at alone: what one row holds cannot change how another is read. A column of the
table becomes two texts, its *own* and a *loose* one (without outer blanks, composed Unicode, whole
numbers without a point), and from these, by its declared kind, a code: the index of its cell, or -1
for a row that is to be left out.

Missing is: null, NaN (also the text ``nan`` in a number column), blank text, and what the column's
``missing_as`` lists. All else that is not declared is *other*: infinities, ``1e400``, ``1,234``,
dates that do not exist or lie outside of the span.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

from dpengine import arrays
from dpengine.domain import Category, Column, Date, Number, YesNo
from dpengine.relation import literal
from dpengine.steps import NO, NUMERAL, YES, Family, Scalar, Steps, family_of, lookups, loosened, steps_of, tree

__all__ = ["Coding", "Family", "binning", "code_of", "family_of", "identity", "loosened"]

_DEEP = 1000  # cells; beyond, looking a value up costs less than comparing it with cuts
_BLANKS = literal("".join(chr(i) for i in range(0x3001) if chr(i).isspace()))
_ISO_DAY = "[0-9]{4}-[0-9]{2}-[0-9]{2}"
_ISO_TIME = _ISO_DAY + "[T ][0-9]{2}:[0-9]{2}(:[0-9]{2}([.][0-9]+)?)?(Z|[+-][0-9]{2}(:?[0-9]{2})?)?"


@dataclass(frozen=True, slots=True)
class Coding:
    """How one column is coded: ``cells`` are SQL by alias, over the relation ``rows``; ``code`` is over the aliases.

    ``lookups`` and ``functions`` must be known to the connection by their names before the query runs.
    """

    cells: dict[str, str]
    code: str
    joins: str = ""
    lookups: dict[str, pa.Table] = field(default_factory=dict)
    functions: dict[str, Callable[[Any], Any]] = field(default_factory=dict)


def code_of(column: Column, index: int, type_name: str) -> Coding:
    """The coding of the table's column ``c{index}``, which is of the given type."""
    family = family_of(type_name) or "text"
    steps = steps_of(column, type_name, _DEEP)
    if steps is not None:
        return Coding({f"own_{index}": f"c{index}"}, _stepped(steps, f"own_{index}", family, type_name))
    own, loose = f"own_{index}", f"loose_{index}"
    cells = dict(zip((own, loose), _texts(f"c{index}", family), strict=True))
    match column:
        case Number():
            return _number(column, index, family, cells)
        case Category():
            return _category(column, index, family, cells)
        case YesNo():
            yes, no = _listed(f"lower({loose})", YES), _listed(f"lower({loose})", NO)
            code = f"CASE WHEN {yes} THEN 0 WHEN {no} THEN 1 ELSE {column.other_code} END"
        case Date():
            cells[f"day_{index}"] = _day(column, f"c{index}", loose, family, cells)
            code = _period(column, f"day_{index}")
    return Coding(cells, _unless_missing(column, own, loose, family, code))


def _stepped(steps: Steps, cell: str, family: Family, type_name: str) -> str:
    missing = f"{cell} IS NULL"
    match family:
        case "boolean":
            codes = f"WHEN {cell} THEN {steps.code(True)} ELSE {steps.code(False)}"
            return f"CASE WHEN {missing} THEN {steps.missing} {codes} END"
        case "float":
            missing += f" OR isnan({cell})"
            value = f"{cell}::DOUBLE"  # which a 32-bit number is exactly
        case "timestamp":
            value = f"{cell}::TIMESTAMP"
        case _:
            value = cell

    def cut(scalar: Scalar) -> str:
        match family:
            case "float":
                return f"{literal(repr(scalar))}::DOUBLE"
            case "decimal":
                return f"{literal(f'{scalar:f}')}::{type_name}"
            case "integer":
                return str(scalar)
            case _:
                return f"{literal(str(scalar))}::{'DATE' if family == 'date' else 'TIMESTAMP'}"

    code = tree(
        steps,
        lambda scalar: f"{value} < {cut(scalar)}",
        lambda below, left, right: f"CASE WHEN {below} THEN {left} ELSE {right} END",
        str,
    )
    return f"CASE WHEN {missing} THEN {steps.missing} ELSE {code} END"


def identity(index: int, family: Family) -> str:
    """The person's ID in column ``c{index}`` as loose text, null where it is blank."""
    return f"nullif({_texts(f'c{index}', family)[1]}, '')"


def _texts(cell: str, family: Family) -> tuple[str, str]:
    match family:
        case "text":
            own = f"{cell}::VARCHAR"
            # Trimming all of Unicode's blanks costs ten times the rest, so only texts that may have any pay for it.
            bare = f"ord({own}) BETWEEN 33 AND 126 AND ord(right({own}, 1)) BETWEEN 33 AND 126"
            return own, f"nfc_normalize(CASE WHEN {bare} THEN {own} ELSE trim({own}, {_BLANKS}) END)"
        case "float" | "decimal":
            number = f"CASE WHEN NOT isnan({cell}) THEN {cell} END" if family == "float" else cell
            own = f"({number})::VARCHAR"
            whole = f"{cell} = trunc({cell}) AND abs({cell}) < 9007199254740992"
            return own, f"CASE WHEN {whole} THEN {cell}::BIGINT::VARCHAR ELSE {own} END"
        case "boolean":
            return f"CASE WHEN {cell} THEN 'True' WHEN NOT {cell} THEN 'False' END", f"{cell}::VARCHAR"
        case "timestamp":
            time = f"{cell}::TIMESTAMP"
            midnight = f"{time} = date_trunc('day', {time})"
            iso = f"replace({time}::VARCHAR, ' ', 'T')"
            return f"{time}::VARCHAR", f"CASE WHEN {midnight} THEN ({time}::DATE)::VARCHAR ELSE {iso} END"
        case "integer" | "date":
            return f"{cell}::VARCHAR", f"{cell}::VARCHAR"


def _listed(text: str, options: tuple[str, ...]) -> str:
    return f"{text} IN ({', '.join(literal(option) for option in options)})"


def _unless_missing(column: Column, own: str, loose: str, family: Family, code: str, also: str = "") -> str:
    missing = f"{own} IS NULL OR {loose} = ''{also}"
    if column.missing_as:
        missing += f" OR {_listed(own, column.missing_as)}"
        missing += f" OR {_listed(loose, tuple(loosened(text, family) for text in column.missing_as))}"
    return f"CASE WHEN {missing} THEN {column.missing_code} ELSE {code} END"


def _number(column: Number, index: int, family: Family, cells: dict[str, str]) -> Coding:
    own, loose, value = f"own_{index}", f"loose_{index}", f"value_{index}"
    also = ""
    if family == "text":
        numeral = f"regexp_full_match({cells[loose]}, {literal(NUMERAL)})"
        cells[value] = f"CASE WHEN {numeral} THEN TRY_CAST({cells[loose]} AS DOUBLE) END"
        also = f" OR lower({loose}) = 'nan'"
    elif family == "boolean":
        cells[value] = f"c{index}::INTEGER::DOUBLE"
    elif family == "integer":
        cells[value] = f"c{index}::DOUBLE"
    else:
        # By way of text, 0.7 in 32 bits or as a decimal is the 0.7 that an edge or a CSV file says.
        cells[value] = f"({cells[own]})::DOUBLE"
    marks = [float(text) for text in column.missing_as if re.fullmatch(NUMERAL, text.strip())]
    finite = [f"{mark!r}::DOUBLE" for mark in marks if math.isfinite(mark)]  # 1e400 equals no number; its text counts
    if finite:
        also += f" OR {value} IN ({', '.join(finite)})"
    code = f"coalesce(bin_{index}({value}), {column.other_code})"
    return Coding(
        cells,
        _unless_missing(column, own, loose, family, code, also),
        functions={f"bin_{index}": binning(column)},
    )


def binning(column: Number) -> Callable[[Any], Any]:
    """A function from a batch of numbers to codes. A search in the edges costs the same at 5 and at 100,000 bins."""
    edges = np.array([float(edge) for edge in column.edges])
    last, other, missing = len(edges) - 2, column.other_code, column.missing_code

    def binned(batch: Any) -> Any:
        values = arrays.numbers(batch)
        codes = np.searchsorted(edges, values, side="right") - 1
        codes[values == edges[-1]] = last
        codes[~((values >= edges[0]) & (values <= edges[-1]))] = other
        codes[np.isnan(values)] = missing
        return arrays.of_numbers(codes)

    return binned


def _category(column: Category, index: int, family: Family, cells: dict[str, str]) -> Coding:
    """Looked up by own text, then by loose text where that means one declared value only."""
    exact, loose = lookups(column, family)
    loose[""] = column.missing_code
    joins = (
        f" LEFT JOIN exactly_{index} ON exactly_{index}.key = own_{index}"
        f" LEFT JOIN loosely_{index} ON loosely_{index}.key = loose_{index}"
    )
    found = f"coalesce(exactly_{index}.code, loosely_{index}.code, {column.other_code})"
    code = f"CASE WHEN own_{index} IS NULL THEN {column.missing_code} ELSE {found} END"
    return Coding(cells, code, joins, {f"exactly_{index}": _lookup(exact), f"loosely_{index}": _lookup(loose)})


def _lookup(codes: dict[str, int]) -> pa.Table:
    keys = [key.encode("utf-8", "replace").decode() for key in codes]
    places = np.fromiter(codes.values(), dtype=np.int64, count=len(codes))
    return pa.table({"key": arrays.of_texts(keys), "code": arrays.of_numbers(places)})


def _day(column: Date, cell: str, loose: str, family: Family, cells: dict[str, str]) -> str:
    if family in ("date", "timestamp"):
        return f"{cell}::DATE" if family == "date" else f"{cell}::TIMESTAMP::DATE"
    text = cells[loose]
    if column.format is not None:
        return f"try_strptime({text}, {literal(column.format)})::TIMESTAMP::DATE"
    is_day, is_time = (f"regexp_full_match({text}, {literal(pattern)})" for pattern in (_ISO_DAY, _ISO_TIME))
    in_utc = f"TRY_CAST({text} AS TIMESTAMPTZ)::TIMESTAMP::DATE"
    return f"CASE WHEN {is_day} THEN TRY_CAST({text} AS DATE) WHEN {is_time} THEN {in_utc} END"


def _period(column: Date, day: str) -> str:
    match column.by:
        case "day":
            ordinal = f"({day} - DATE '0001-01-01') + 1"
        case "week":
            ordinal = f"({day} - DATE '0001-01-01') // 7"
        case "month":
            ordinal = f"year({day}) * 12 + month({day}) - 1"
        case "quarter":
            ordinal = f"year({day}) * 4 + (month({day}) - 1) // 3"
        case "year":
            ordinal = f"year({day})"
    within = f"{day} BETWEEN DATE '{column.first}' AND DATE '{column.last}'"
    return f"CASE WHEN {within} THEN {ordinal} - {column.ordinal(column.first)} ELSE {column.other_code} END"
