"""The code of a value, and the SQL for it that all engines have in common.

A code is the index of the value's cell in its column, or -1 for a row that is left out. Each value is looked at alone,
so what one row holds cannot change how another is read. A value is read as a *raw* text and as a *normalised* one
(without outer blanks, in composed Unicode, whole numbers without a point).

Null, NaN (in a number column also the text ``nan``), blank text and the column's missing markers are *missing*.
Everything else that is not declared is *other*: infinities, ``1e400``, ``1,234``, dates that do not exist or lie
outside the declared span.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from dpengine.counting.encoding.bin_boundaries import NO, YES, Boundaries, Scalar, family_of
from dpengine.counting.encoding.declared_texts import Family
from dpengine.counting.encoding.unicode_forms import spellings
from dpengine.sources.databases.dialects import Dialect
from dpengine.spec.declared import NumberFormat
from dpengine.spec.domain import Column, Date, Time
from dpengine.spec.numeric.affixes import stands_after, stands_before
from dpengine.spec.numeric.grid import Grid

__all__ = [
    "BLANKS",
    "CLOCK",
    "Coding",
    "any_of",
    "boundary_tree",
    "can_read",
    "code_of_boundaries",
    "is_complete",
    "is_hour",
    "matches",
    "plain_number",
    "quoted",
    "scalar",
    "without_affixes",
    "yes_or_no",
]

_READABLE: Mapping[str, tuple[Family, ...]] = {
    "number": ("text", "integer", "float", "decimal", "boolean"),
    "amount": ("text", "integer", "float", "decimal", "boolean"),
    "yesno": ("text", "integer", "float", "decimal", "boolean"),
    "date": ("text", "date", "timestamp"),
    "hour": ("text", "timestamp"),
    "weekday": ("text", "date", "timestamp"),
}
# Of each format of numbers: the mark before the decimals, and those between the thousands.
_MARKS: Mapping[NumberFormat, tuple[str, str]] = {
    "1,234.5": (".", ", '\u00a0\u202f"),
    "1.234,5": (",", ". '\u00a0\u202f"),
}
CLOCK = "([01]?[0-9]|2[0-3]):[0-5][0-9](:[0-5][0-9]([.][0-9]+)?)?|24:00(:00([.]0+)?)?"  # a time of day
BLANKS = "".join(chr(i) for i in range(0x3001) if chr(i).isspace())


@dataclass(frozen=True, slots=True)
class Coding:
    """The encoding of one column: `layers` are SQL by alias, each over the table's columns and the layers before it.

    `code` is SQL over these aliases. `complete` says that every row has a cell. Before the query runs, `lists` (each an
    enumeration of texts) and `functions` must be registered in the engine by their names.
    """

    layers: tuple[dict[str, str], ...]
    code: str
    complete: bool
    lists: dict[str, list[str]] = field(default_factory=dict)
    functions: dict[str, Callable[[Any], Any]] = field(default_factory=dict)


def is_complete(column: Column | Grid) -> bool:
    """Return whether every value has a cell: *other* and *missing* are cells, or are counted in one."""
    return min(column.other_code, column.missing_code) >= 0


def can_read(column: Column | Grid, family: Family) -> bool:
    """Return whether values of a family can be read as a column is declared."""
    readable = _READABLE.get(column.by if isinstance(column, Time) else column.kind)
    return readable is None or family in readable or (isinstance(column, Date | Time) and column.format is not None)


def is_hour(column: Column | Grid) -> bool:
    """Return whether a column counts hours of the day."""
    return isinstance(column, Time) and column.by == "hour"


def code_of_boundaries(boundaries: Boundaries, raw: str, value: str, type_name: str, dialect: Dialect) -> str:
    """Write the code of a typed `value`; `raw` is the column as it is stored, null if missing."""
    missing = f"{raw} IS NULL"
    match family_of(type_name):
        case "boolean":
            codes = f"WHEN {raw} THEN {boundaries.code(True)} ELSE {boundaries.code(False)}"
            return f"CASE WHEN {missing} THEN {boundaries.missing} {codes} END"
        case "float":  # checked before any comparison, since engines differ in how they order NaN
            missing += f" OR {dialect.is_nan.format(x=raw)}"
    tree = boundary_tree(boundaries, value, type_name, dialect)
    return f"CASE WHEN {missing} THEN {boundaries.missing} ELSE {tree} END"


def boundary_tree(boundaries: Boundaries, value: str, type_name: str, dialect: Dialect) -> str:
    """Write a binary search of `value` among the boundaries."""
    family = family_of(type_name)  # asked once: columns of times with a zone have thousands of boundaries

    def between(low: int, high: int) -> str:
        if low == high:
            return str(boundaries.codes[low])
        middle = (low + high) // 2
        below = f"{value} < {_constant(boundaries.bounds[middle], family, type_name, dialect)}"
        return f"CASE WHEN {below} THEN {between(low, middle)} ELSE {between(middle + 1, high)} END"

    return between(0, len(boundaries.bounds))


def scalar(value: Scalar, type_name: str, dialect: Dialect) -> str:
    """Write a value of a type as an SQL constant; floats are of 64 bits, timestamps without a zone."""
    return _constant(value, family_of(type_name), type_name, dialect)


def _constant(value: Scalar, family: Family | None, type_name: str, dialect: Dialect) -> str:
    match family:
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


def matches(text: str, pattern: str, dialect: Dialect) -> str:
    """Write whether all of a text matches a pattern."""
    return dialect.matches.format(x=text, p=dialect.literal(f"^({pattern})$"))


def plain_number(text: str, form: NumberFormat, dialect: Dialect) -> str:
    """Write a numeral in the format 1234.5, given the text of one in the format `form`; null for any other text."""
    point, thousands = _MARKS[form]
    whole = f"([0-9]+|[0-9]{{1,3}}([{thousands}][0-9]{{3}})+)"
    numeral = f"[+-]?({whole}([{point}][0-9]*)?|[{point}][0-9]+)([eE][+-]?[0-9]{{1,4}})?"
    plain = f"translate({text}, {dialect.literal(point + thousands)}, '.')"  # the marks of thousands are left out
    return f"CASE WHEN {matches(text, numeral, dialect)} THEN {plain} END"


def without_affixes(text: str, affixes: Iterable[str], dialect: Dialect) -> str:
    """Write a normalised text without the affix before it and the one after it; null if it is of digits alone.

    The longest affix is found first on either side: before a number it is named first, and after it, it begins first.
    """
    longest_first = sorted({spelling for each in affixes for spelling in spellings(each)}, key=lambda each: -len(each))
    before = "|".join(quoted(each) for each in longest_first if stands_before(each))
    after = "|".join(quoted(each) for each in longest_first if stands_after(each))
    bare = text
    for pattern in (f"^({before})" if before else "", f"({after})$" if after else ""):
        if pattern:
            rest = f"regexp_replace({bare}, {dialect.literal(pattern)}, '')"
            bare = dialect.trim.format(x=rest, chars=dialect.literal(BLANKS))
    return f"CASE WHEN NOT ({matches(text, '[0-9]*', dialect)}) THEN {bare} END"


def quoted(text: str) -> str:
    """Write a pattern that only this text matches.

    >>> quoted("5 a]")
    '[5][ ][a]\\\\]'
    """
    return "".join(f"\\{letter}" if letter in "^\\[]" else f"[{letter}]" for letter in text)


def yes_or_no(text: str, dialect: Dialect) -> str:
    """Write the branches of a CASE that give the codes of *yes* and *no*."""
    return " ".join(f"WHEN lower({text}) IN {dialect.listed(words)} THEN {k}" for k, words in enumerate((YES, NO)))
