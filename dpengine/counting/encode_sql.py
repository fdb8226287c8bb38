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
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dpengine import arrow
from dpengine.counting.bin_boundaries import (
    NO,
    NUMERAL,
    YES,
    Family,
    Scalar,
    Steps,
    family_of,
    lookups,
    loosened,
    marked,
    steps_of,
    tree,
)
from dpengine.spec.domain import Category, Column, Date, Number, YesNo
from dpengine.spec.numeric_grid import Grid
from dpengine.sql import literal

__all__ = ["Coding", "Family", "binning", "code_of", "family_of", "grid_code_of", "identity", "loosened", "number_of"]

_DEEP = 1000  # cells; beyond, looking a value up costs less than comparing it with cuts
_BLANKS = literal("".join(chr(i) for i in range(0x3001) if chr(i).isspace()))
_ISO_DAY = "[0-9]{4}-[0-9]{2}-[0-9]{2}"
_ISO_TIME = _ISO_DAY + "[T ][0-9]{2}:[0-9]{2}(:[0-9]{2}([.][0-9]+)?)?(Z|[+-][0-9]{2}(:?[0-9]{2})?)?"


@dataclass(frozen=True, slots=True)
class Coding:
    """How one column is coded: ``cells`` are SQL by alias, over the relation ``rows``; ``code`` is over the aliases.

    ``lists`` (of texts, each to be an enumeration) and ``functions`` must be known to the connection by their
    names before the query runs. ``whole`` says that every row has a cell.
    """

    cells: dict[str, str]
    code: str
    whole: bool
    lists: dict[str, list[str]] = field(default_factory=dict)
    functions: dict[str, Callable[[Any], Any]] = field(default_factory=dict)


def code_of(column: Column, index: int, type_name: str) -> Coding:
    """The coding of the table's column ``c{index}``, which is of the given type."""
    family, whole = family_of(type_name) or "text", min(column.other_code, column.missing_code) >= 0
    cell, own = f"c{index}", f"own_{index}"
    steps = steps_of(column, type_name, _DEEP)
    if steps is not None:
        return Coding({own: cell}, _stepped(steps, own, family, type_name), whole)
    if isinstance(column, Date) and family in ("date", "timestamp"):
        day = f"{cell}::DATE" if family == "date" else f"{cell}::TIMESTAMP::DATE"
        marks = "".join(f" OR {cell} = {literal(str(mark))}::{type_name}" for mark in marked(column, type_name))
        missing = f"{own} IS NULL{marks.replace(cell, own)}"
        period = _period(column, f"day_{index}")
        code = f"CASE WHEN {missing} THEN {column.missing_code} ELSE {period} END"
        return Coding({own: cell, f"day_{index}": day}, code, whole)
    if isinstance(column, Number):
        return _number(column, index, family, whole)
    cells, loose = _both_texts(index, family)
    match column:
        case Category():
            return _category(column, index, family, cells, loose, whole)
        case YesNo():
            quick = f"WHEN lower({own}) IN {_listed(YES)} THEN 0 WHEN lower({own}) IN {_listed(NO)} THEN 1"
            slow = f"WHEN lower({loose}) IN {_listed(YES)} THEN 0 WHEN lower({loose}) IN {_listed(NO)} THEN 1"
            code = _unless_missing(column, own, loose, family, quick, slow)
        case Date():
            cells[f"day_{index}"] = _day(column, own, loose)
            quick = f"WHEN day_{index} IS NOT NULL THEN {_period(column, f'day_{index}')}"
            code = _unless_missing(column, own, loose, family, quick)
    return Coding(cells, code, whole)


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

    return (
        f"CASE WHEN {missing} THEN {steps.missing} ELSE {_tree(steps, lambda scalar: f'{value} < {cut(scalar)}')} END"
    )


def _tree(steps: Steps, less: Callable[[Scalar], str]) -> str:
    return tree(steps, less, lambda below, left, right: f"CASE WHEN {below} THEN {left} ELSE {right} END", str)


def grid_code_of(grid: Grid, index: int, type_name: str) -> Coding:
    """The coding of the table's column ``c{index}``, which is of the given type, by its place on a grid."""
    return _number(grid, index, family_of(type_name) or "text", grid.missing_code >= 0)


def identity(index: int, family: Family) -> str:
    """The person's ID in column ``c{index}`` as loose text, null where it is blank."""
    return f"nullif({_texts(f'c{index}', family)[1]}, '')"


def _loose(own: str) -> str:
    # Trimming all of Unicode's blanks costs ten times the rest, so only texts that may have any pay for it.
    bare = f"ord({own}) BETWEEN 33 AND 126 AND ord(right({own}, 1)) BETWEEN 33 AND 126"
    return f"nfc_normalize(CASE WHEN {bare} THEN {own} ELSE trim({own}, {_BLANKS}) END)"


def _texts(cell: str, family: Family) -> tuple[str, str]:
    match family:
        case "text":
            return f"{cell}::VARCHAR", _loose(f"{cell}::VARCHAR")
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


def _both_texts(index: int, family: Family) -> tuple[dict[str, str], str]:
    """The cells ``own_{index}`` and, if need be, ``loose_{index}``; and SQL for the loose text over them."""
    own, loose = f"own_{index}", f"loose_{index}"
    text, near = _texts(f"c{index}", family)
    if family == "text":  # most texts are written as declared, so those that are not pay alone for being loosened
        return {own: text}, _loose(own)
    return {own: text, loose: near}, loose


def _listed(options: Iterable[str]) -> str:
    return f"({', '.join(literal(option) for option in options)})"


def _unless_missing(
    column: Column | Grid, own: str, loose: str, family: Family, quick: str, slow: str = "", blank: str = ""
) -> str:
    """What is missing, and else ``quick``; ``slow`` follows for what has to be loosened."""
    marks = ""
    if column.missing_as:
        near = _listed(loosened(text, family) for text in column.missing_as)
        marks = f" OR {own} IN {_listed(column.missing_as)} OR {loose} IN {near}"
    return (
        f"CASE WHEN {own} IS NULL{marks} THEN {column.missing_code} {quick} "
        f"WHEN {loose} = ''{blank} THEN {column.missing_code} {slow} ELSE {column.other_code} END"
    )


def _number(column: Number | Grid, index: int, family: Family, whole: bool) -> Coding:
    """Of a text, or of a value that may be in one of very many cells, by its number in 64 bits."""
    cells, value, rest = number_of(column, index, family)
    marks = [float(text) for text in column.missing_as if re.fullmatch(NUMERAL, text.strip())]
    marks = [mark for mark in marks if math.isfinite(mark)]  # 1e400 equals no number; its text counts
    marked = f"WHEN {value} IN ({', '.join(f'{mark!r}::DOUBLE' for mark in marks)}) THEN {column.missing_code} "
    steps = None if isinstance(column, Grid) else steps_of(column, "DOUBLE", _DEEP)
    functions: dict[str, Callable[[Any], Any]] = {}
    if steps is None:
        place = column.places if isinstance(column, Grid) else binning(column)
        functions, code = {f"bin_{index}": place}, f"bin_{index}({value})"
    else:
        code = _tree(steps, lambda cut: f"{value} < {literal(repr(cut))}::DOUBLE")
    known = f"WHEN isfinite({value}) THEN {code}"
    return Coding(cells, f"CASE {marked if marks else ''}{known} ELSE {rest} END", whole, functions=functions)


def number_of(column: Number | Grid, index: int, family: Family) -> tuple[dict[str, str], str, str]:
    """Cells as in `Coding`, that of them which is a number in 64 bits, and SQL for the code of all others.

    The code is for cells that say no finite number. A text says one if all of it is a numeral. The engine
    also reads underscores and exponents of any length, so texts with such letters are looked at more closely.
    """
    cells, loose = _both_texts(index, family)
    own, value = f"own_{index}", f"value_{index}"
    match family:
        case "text":
            odd = " OR ".join(f"contains({own}, '{letter}')" for letter in "_eE")
            sure, slow = (
                f"regexp_full_match({text}, {literal(NUMERAL)}) THEN TRY_CAST({text} AS DOUBLE)"
                for text in (own, loose)
            )
            first = f"CASE WHEN {odd} THEN CASE WHEN {sure} END ELSE TRY_CAST({own} AS DOUBLE) END"
            cells[value] = f"coalesce({first}, CASE WHEN {slow} END)"
        case "boolean":
            cells[value] = f"c{index}::INTEGER::DOUBLE"
        case "integer":
            cells[value] = f"c{index}::DOUBLE"
        case _:
            # By way of text, 0.7 in 32 bits or as a decimal is the 0.7 that an edge or a CSV file says.
            cells[value] = f"({own})::DOUBLE"
    return cells, value, _unless_missing(column, own, loose, family, "", blank=f" OR lower({loose}) = 'nan'")


def binning(column: Number) -> Callable[[Any], Any]:
    """A function from a batch of numbers to codes. A search in the edges costs the same at 5 and at 100,000 bins."""
    edges = np.array([float(edge) for edge in column.edges])
    last, other, missing = len(edges) - 2, column.other_code, column.missing_code

    def binned(batch: Any) -> Any:
        values = arrow.to_numpy(batch)
        codes = np.searchsorted(edges, values, side="right") - 1
        codes[values == edges[-1]] = last
        codes[~((values >= edges[0]) & (values <= edges[-1]))] = other
        codes[np.isnan(values)] = missing
        return arrow.from_numpy(codes)

    return binned


def _category(column: Category, index: int, family: Family, cells: dict[str, str], loose: str, whole: bool) -> Coding:
    """Looked up by own text, then by loose text where that means one declared value only.

    To enumerate texts is the engine's quickest way of looking them up. A text's place is its code, but for those
    that mean *missing*.
    """
    own, exactly, loosely = f"own_{index}", f"exactly_{index}", f"loosely_{index}"
    exact, near = lookups(column, family)
    count = len(column.values)
    by_code = {code: text for text, code in near.items() if 0 <= code < count}
    # Where two values share their loose text, neither has it; and no loose text begins with a blank.
    places = [by_code.get(code, f" {code}") for code in range(count)]
    places += [text for text, code in near.items() if not 0 <= code < count]
    gone = [str(k) for k, value in enumerate(column.values) if exact[value] != k]

    def place(found: str, but: Sequence[str] = ()) -> str:
        missing = f"{found} >= {count}" + (f" OR {found} IN ({', '.join(but)})" if but else "")
        return f"CASE WHEN {missing} THEN {column.missing_code} ELSE {found} END"

    cells[found := f"found_{index}"] = f"enum_code(TRY_CAST({own} AS {exactly}))::INTEGER"
    nearly = f"enum_code(TRY_CAST({loose} AS {loosely}))::INTEGER"
    code = (
        f"CASE WHEN {found} IS NOT NULL THEN {place(found, gone)} "
        f"WHEN {own} IS NULL OR {loose} = '' THEN {column.missing_code} "
        f"ELSE coalesce({place(nearly)}, {column.other_code}) END"
    )
    lists = {exactly: [*exact], loosely: places}
    return Coding(cells, code, whole, {name: [_storable(text) for text in texts] for name, texts in lists.items()})


def _storable(text: str) -> str:
    return text.encode("utf-8", "replace").decode()


def _day(column: Date, own: str, loose: str) -> str:
    if column.format is not None:
        return f"try_strptime({loose}, {literal(column.format)})::TIMESTAMP::DATE"
    days = [f"regexp_full_match({text}, {literal(_ISO_DAY)}) THEN TRY_CAST({text} AS DATE)" for text in (own, loose)]
    in_utc = f"regexp_full_match({loose}, {literal(_ISO_TIME)}) THEN TRY_CAST({loose} AS TIMESTAMPTZ)::TIMESTAMP::DATE"
    return f"CASE WHEN {days[0]} WHEN {days[1]} WHEN {in_utc} END"


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
