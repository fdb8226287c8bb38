"""SQL that turns a value of a column into the code of its cell.

Each value is looked at alone, so what one row holds cannot change how another is read. A value is read as a *raw*
text and as a *normalised* one (without outer blanks, in composed Unicode, whole numbers without a point). These give,
by the column's declared kind, a code: the index of the cell, or -1 for a row that is to be left out. Values of typed
columns are compared with bin boundaries (`counting.bin_boundaries`) wherever these are few.

Missing are null, NaN (in a number column also the text ``nan``), blank text, and the column's missing markers. All
else that is not declared is *other*: infinities, ``1e400``, ``1,234``, dates that do not exist or lie outside of the
declared span.

`code_of` is for the engine of this process. Other engines have neither enumerations nor, all of them, composed
Unicode; `counting.encode_remote` is for these. The first half of this module is common to both.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from dpengine import arrow
from dpengine.counting.bin_boundaries import (
    NO,
    NUMERAL,
    YES,
    Boundaries,
    Family,
    Scalar,
    boundaries_of,
    codes_by_text,
    family_of,
    missing_numbers,
    missing_scalars,
    normalised,
)
from dpengine.sources.dialects import LOCAL, Dialect
from dpengine.spec.domain import Category, Column, Date, Number, YesNo
from dpengine.spec.number_bins import number_codes
from dpengine.spec.numeric_grid import Grid
from dpengine.sql import literal

__all__ = [
    "BLANKS", "Coding", "any_of", "boundary_tree", "code_of", "code_of_boundaries", "completes",
    "grid_code_of", "identity", "number_of", "scalar", "yes_or_no",
]  # fmt: skip

BLANKS = "".join(chr(i) for i in range(0x3001) if chr(i).isspace())
_MAX_CELLS = 1000  # compared with boundaries; beyond, looking a value up costs less
_ISO_DATE = "[0-9]{4}-[0-9]{2}-[0-9]{2}"
_ISO_TIME = _ISO_DATE + "[T ][0-9]{2}:[0-9]{2}(:[0-9]{2}([.][0-9]+)?)?(Z|[+-][0-9]{2}(:?[0-9]{2})?)?"


@dataclass(frozen=True, slots=True)
class Coding:
    """How one column is encoded: `layers` are SQL by alias, each over the table's columns and the layers before it.

    `code` is SQL over these aliases. `complete` says that every row has a cell. The engine must know `lists` (of
    texts, each to be an enumeration) and `functions` by their names before the query runs.
    """

    layers: tuple[dict[str, str], ...]
    code: str
    complete: bool
    lists: dict[str, list[str]] = field(default_factory=dict)
    functions: dict[str, Callable[[Any], Any]] = field(default_factory=dict)


# What all engines have in common.


def completes(column: Column | Grid) -> bool:
    """Return whether every value has a cell, because *other* and *missing* are cells or fall in one."""
    return min(column.other_code, column.missing_code) >= 0


def code_of_boundaries(boundaries: Boundaries, raw: str, value: str, type_name: str, dialect: Dialect) -> str:
    """Write the code of a typed `value`; `raw` is the column as it is stored, null where it is missing."""
    missing = f"{raw} IS NULL"
    match family_of(type_name):
        case "boolean":
            codes = f"WHEN {raw} THEN {boundaries.code(True)} ELSE {boundaries.code(False)}"
            return f"CASE WHEN {missing} THEN {boundaries.missing} {codes} END"
        case "float":  # before anything is compared, since engines differ in how they order NaN
            missing += f" OR {dialect.is_nan.format(x=raw)}"
    tree = boundary_tree(boundaries, value, type_name, dialect)
    return f"CASE WHEN {missing} THEN {boundaries.missing} ELSE {tree} END"


def boundary_tree(boundaries: Boundaries, value: str, type_name: str, dialect: Dialect) -> str:
    """Write a binary search of `value` among the boundaries."""

    def between(low: int, high: int) -> str:
        if low == high:
            return str(boundaries.codes[low])
        middle = (low + high) // 2
        below = f"{value} < {scalar(boundaries.bounds[middle], type_name, dialect)}"
        return f"CASE WHEN {below} THEN {between(low, middle)} ELSE {between(middle + 1, high)} END"

    return between(0, len(boundaries.bounds))


def scalar(value: Scalar, type_name: str, dialect: Dialect) -> str:
    """Write a value of a type as an SQL constant; floats are of 64 bits, timestamps without a zone."""
    match family_of(type_name):
        case "float":
            return f"CAST('{repr(value).replace('inf', 'Infinity')}' AS {dialect.float64})"
        case "decimal":
            return f"CAST('{value:f}' AS {type_name})"
        case "date":
            return f"CAST('{value}' AS DATE)"
        case "timestamp":
            return f"CAST('{value}' AS TIMESTAMP)"
        case _:
            return str(value)


def any_of(raw: str, texts: Iterable[str], form: str, forms: Iterable[str], dialect: Dialect) -> str:
    """Write `` OR …``: the raw text is one of `texts`, or the normalised one of `forms`; nothing for no texts."""
    texts = list(texts)
    return f" OR {raw} IN {dialect.listed(texts)} OR {form} IN {dialect.listed(forms)}" if texts else ""


def yes_or_no(text: str, dialect: Dialect) -> str:
    """Write the branches of a CASE that give the codes of *yes* and *no*."""
    return " ".join(f"WHEN lower({text}) IN {dialect.listed(words)} THEN {k}" for k, words in enumerate((YES, NO)))


# What is for the engine of this process alone.


def code_of(column: Column, index: int, type_name: str) -> Coding:
    """Return the coding of the table's column ``c{index}``, which has the given DuckDB type."""
    family, complete = family_of(type_name) or "text", completes(column)
    cell, raw = f"c{index}", f"raw_{index}"
    boundaries = boundaries_of(column, type_name, _MAX_CELLS)
    if boundaries is not None:
        cast = {"float": "DOUBLE", "timestamp": "TIMESTAMP"}.get(family)
        value = f"CAST({raw} AS {cast})" if cast else raw
        return Coding(({raw: cell},), code_of_boundaries(boundaries, raw, value, type_name, LOCAL), complete)
    if isinstance(column, Date) and family in ("date", "timestamp"):
        day = f"{cell}::DATE" if family == "date" else f"{cell}::TIMESTAMP::DATE"
        markers = [f"{literal(str(marker))}::{type_name}" for marker in missing_scalars(column, type_name)]
        missing = " OR ".join([f"{raw} IS NULL", *(f"{raw} = {marker}" for marker in markers)])
        code = f"CASE WHEN {missing} THEN {column.missing_code} ELSE {_period(column, f'day_{index}')} END"
        return Coding(({raw: cell, f"day_{index}": day},), code, complete)
    if isinstance(column, Number):
        return _number(column, index, family)
    cells, form = _both_texts(index, family)
    match column:
        case Category():
            return _category(column, index, family, cells, form)
        case YesNo():
            code = _unless_missing(column, raw, form, family, yes_or_no(raw, LOCAL), yes_or_no(form, LOCAL))
        case Date():
            cells[f"day_{index}"] = _day(column, raw, form)
            declared = f"WHEN day_{index} IS NOT NULL THEN {_period(column, f'day_{index}')}"
            code = _unless_missing(column, raw, form, family, declared)
    return Coding((cells,), code, complete)


def grid_code_of(grid: Grid, index: int, type_name: str) -> Coding:
    """Return the coding of the table's column ``c{index}``, which has the given type, by its point on a grid."""
    return _number(grid, index, family_of(type_name) or "text")


def identity(index: int, family: Family) -> str:
    """Write the person's ID in column ``c{index}`` as normalised text, null where it is blank."""
    return f"nullif({_texts(f'c{index}', family)[1]}, '')"


def _normalised(text: str) -> str:
    # Trimming all of Unicode's blanks costs ten times the rest, so only texts that may have any pay for it.
    bare = f"ord({text}) BETWEEN 33 AND 126 AND ord(right({text}, 1)) BETWEEN 33 AND 126"
    return f"nfc_normalize(CASE WHEN {bare} THEN {text} ELSE trim({text}, {literal(BLANKS)}) END)"


def _texts(cell: str, family: Family) -> tuple[str, str]:
    """Write a value as raw and as normalised text."""
    match family:
        case "text":
            return f"{cell}::VARCHAR", _normalised(f"{cell}::VARCHAR")
        case "float" | "decimal":
            number = f"CASE WHEN NOT isnan({cell}) THEN {cell} END" if family == "float" else cell
            raw = f"({number})::VARCHAR"
            whole = f"{cell} = trunc({cell}) AND abs({cell}) < 9007199254740992"
            return raw, f"CASE WHEN {whole} THEN {cell}::BIGINT::VARCHAR ELSE {raw} END"
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
    """Return cells with the raw text and, if need be, the normalised one; and SQL for the latter over them."""
    raw, form = f"raw_{index}", f"form_{index}"
    raw_text, normalised_text = _texts(f"c{index}", family)
    if family == "text":  # most texts are written as declared, so only those that are not pay for being normalised
        return {raw: raw_text}, _normalised(raw)
    return {raw: raw_text, form: normalised_text}, form


# Parameters beyond six: both texts of a value, and the branches that each of them needs.
def _unless_missing(
    column: Column | Grid, raw: str, form: str, family: Family, by_raw: str, by_form: str = "", blank: str = ""
) -> str:
    """Write the code of a text: missing, else what `by_raw` says, else missing if blank, else what `by_form` says."""
    forms = [normalised(text, family) for text in column.missing_as]
    return (
        f"CASE WHEN {raw} IS NULL{any_of(raw, column.missing_as, form, forms, LOCAL)} THEN {column.missing_code} "
        f"{by_raw} WHEN {form} = ''{blank} THEN {column.missing_code} {by_form} ELSE {column.other_code} END"
    )


def _number(column: Number | Grid, index: int, family: Family) -> Coding:
    """Encode a text column, or one with many bins, by its 64-bit value."""
    cells, value, rest = number_of(column, index, family)
    markers = ", ".join(f"{number!r}::DOUBLE" for number in missing_numbers(column.missing_as))
    marked = f"WHEN {value} IN ({markers}) THEN {column.missing_code} " if markers else ""
    boundaries = None if isinstance(column, Grid) else boundaries_of(column, "DOUBLE", _MAX_CELLS)
    functions: dict[str, Callable[[Any], Any]] = {}
    if boundaries is None:
        functions = {f"bin_{index}": column.places if isinstance(column, Grid) else _binning(column)}
        code = f"bin_{index}({value})"
    else:
        code = boundary_tree(boundaries, value, "DOUBLE", LOCAL)
    code = f"CASE {marked}WHEN isfinite({value}) THEN {code} ELSE {rest} END"
    return Coding((cells,), code, completes(column), functions=functions)


def number_of(column: Number | Grid, index: int, family: Family) -> tuple[dict[str, str], str, str]:
    """Return cells as in `Coding`, the alias of the one that is a 64-bit number, and SQL for the code of the others.

    The latter is for cells that say no finite number. A text says one if all of it is a numeral. The engine also
    reads underscores and exponents of any length, so texts with such letters are looked at more closely.
    """
    cells, form = _both_texts(index, family)
    raw, value = f"raw_{index}", f"value_{index}"
    match family:
        case "text":
            odd = " OR ".join(f"contains({raw}, '{letter}')" for letter in "_eE")
            sure, slow = (
                f"regexp_full_match({text}, {literal(NUMERAL)}) THEN TRY_CAST({text} AS DOUBLE)" for text in (raw, form)
            )
            first = f"CASE WHEN {odd} THEN CASE WHEN {sure} END ELSE TRY_CAST({raw} AS DOUBLE) END"
            cells[value] = f"coalesce({first}, CASE WHEN {slow} END)"
        case "boolean":
            cells[value] = f"c{index}::INTEGER::DOUBLE"
        case "integer":
            cells[value] = f"c{index}::DOUBLE"
        case _:
            # By way of text, 0.7 in 32 bits or as a decimal is the 0.7 that an edge or a CSV file says.
            cells[value] = f"({raw})::DOUBLE"
    return cells, value, _unless_missing(column, raw, form, family, "", blank=f" OR lower({form}) = 'nan'")


def _binning(column: Number) -> Callable[[Any], Any]:
    codes_of = number_codes(column)
    return lambda batch: arrow.from_numpy(codes_of(arrow.to_numpy(batch)))


def _category(column: Category, index: int, family: Family, cells: dict[str, str], form: str) -> Coding:
    """Look a value up by its raw text, then by its normalised text where only one declared value has that.

    An enumeration is the engine's quickest way to look texts up. A text's place in it is its code, except for missing
    markers.
    """
    raw, raw_type, form_type = f"raw_{index}", f"raw_texts_{index}", f"forms_{index}"
    by_raw, by_form = codes_by_text(column, family)
    count = len(column.values)
    form_of = {code: text for text, code in by_form.items() if 0 <= code < count}
    # Values that share a normalised text have a placeholder instead, which begins with a blank as none does.
    forms = [form_of.get(code, f" {code}") for code in range(count)]
    forms += [text for text, code in by_form.items() if not 0 <= code < count]
    marked = [str(k) for k, value in enumerate(column.values) if by_raw[value] != k]

    def code_at(place: str, missing_places: Sequence[str] = ()) -> str:
        missing = f"{place} >= {count}" + (f" OR {place} IN ({', '.join(missing_places)})" if missing_places else "")
        return f"CASE WHEN {missing} THEN {column.missing_code} ELSE {place} END"

    cells[place := f"place_{index}"] = f"enum_code(TRY_CAST({raw} AS {raw_type}))::INTEGER"
    form_place = f"enum_code(TRY_CAST({form} AS {form_type}))::INTEGER"
    code = (
        f"CASE WHEN {place} IS NOT NULL THEN {code_at(place, marked)} "
        f"WHEN {raw} IS NULL OR {form} = '' THEN {column.missing_code} "
        f"ELSE coalesce({code_at(form_place)}, {column.other_code}) END"
    )
    lists = {raw_type: [*by_raw], form_type: forms}
    storable = {name: [text.encode("utf-8", "replace").decode() for text in texts] for name, texts in lists.items()}
    return Coding((cells,), code, completes(column), storable)


def _day(column: Date, raw: str, form: str) -> str:
    """Write the day that a text says, null where it says none."""
    if column.format is not None:
        return f"try_strptime({form}, {literal(column.format)})::TIMESTAMP::DATE"
    days = [f"regexp_full_match({text}, {literal(_ISO_DATE)}) THEN TRY_CAST({text} AS DATE)" for text in (raw, form)]
    in_utc = f"regexp_full_match({form}, {literal(_ISO_TIME)}) THEN TRY_CAST({form} AS TIMESTAMPTZ)::TIMESTAMP::DATE"
    return f"CASE WHEN {days[0]} WHEN {days[1]} WHEN {in_utc} END"


def _period(column: Date, day: str) -> str:
    """Write the code of a day. This engine's arithmetic on dates is ten times faster than a search of boundaries."""
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
