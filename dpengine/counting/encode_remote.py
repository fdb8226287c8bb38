"""Codes of cells as SQL for an engine elsewhere: the same code for the same value as counting here gives.

Values of declared types are compared with cuts (`counting.bin_boundaries`). Texts are compared with all spellings
of the declared ones (`counting.unicode_forms`), and numbers, days and times in texts are read by what their
digits say; nothing depends on a locale, a time zone or a calendar of the engine's own.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from dpengine.counting.bin_boundaries import (
    NO,
    NUMERAL,
    YES,
    Scalar,
    Steps,
    family_of,
    lookups,
    loosened,
    marked,
    steps_of,
    tree,
)
from dpengine.counting.unicode_forms import spellings
from dpengine.errors import TableError
from dpengine.sources.dialects import Dialect
from dpengine.spec.domain import Category, Column, Date, Number, YesNo

__all__ = ["MAX_CELLS", "Pushed", "code_of", "identity", "text_of", "utc"]

MAX_CELLS = 20_000  # of a column: an engine must read each cut in the statement
_BLANKS = "".join(chr(i) for i in range(0x3001) if chr(i).isspace())
_SHORT = r"[+-]?([0-9]{1,200}[.]?[0-9]{0,100}|[.][0-9]{1,100})"
# The days that there are, from year 1 on: 28 in each month, then what longer ones and leap years have.
_YEAR = "([0-9]{3}[1-9]|[0-9]{2}[1-9]0|[0-9][1-9]00|[1-9]000)"
_LEAP = "([0-9]{2}(0[48]|[2468][048]|[13579][26])|([2468][048]|0[48]|[13579][26])00)"
_DAY = f"({_YEAR}-((0[1-9]|1[0-2])-(0[1-9]|1[0-9]|2[0-8])|(0[13-9]|1[0-2])-(29|30)|(0[13578]|1[02])-31)|{_LEAP}-02-29)"
_CLOCK = "(([01][0-9]|2[0-3]):[0-5][0-9](:[0-5][0-9]([.][0-9]+)?)?|24:00(:00([.]0+)?)?)"
_ZONE = "(Z|[+-][0-9]{2}(:?[0-9]{2})?)?"
_FIELDS = {"%Y": 4, "%m": 2, "%d": 2, "%H": 2, "%M": 2, "%S": 2}


@dataclass(frozen=True, slots=True)
class Pushed:
    """SQL for the code of one column, over names that each of ``layers`` adds to those before it."""

    layers: tuple[dict[str, str], ...]
    code: str


def code_of(column: Column, cell: str, type_name: str, sql: Dialect, tag: str = "") -> Pushed:
    """SQL for the code of the value in ``cell``, which is of the given type (in DuckDB's words).

    Names in its layers end in ``tag``. Raises `TableError` where the engine cannot be asked for it.
    """
    family = family_of(type_name) or "text"
    if column.size > MAX_CELLS and not (isinstance(column, Date) and column.by in ("day", "week")):
        raise TableError(
            f"column {column.name!r} has {column.size:,} cells, more than the {MAX_CELLS:,} that an engine elsewhere "
            "is asked for; make fewer, wider ones"
        )
    text, loose, value = f"own_{tag}", f"loose_{tag}", f"value_{tag}"
    steps = steps_of(column, type_name, MAX_CELLS)
    if steps is not None:
        plain = f"CAST({cell} AS {sql.double})" if type_name == "FLOAT" else utc(cell, type_name, sql)
        return Pushed(({text: cell}, {value: plain}), _stepped(steps, text, value, type_name, sql))
    if isinstance(column, Date) and family in ("date", "timestamp"):
        marks = "".join(f" OR {text} = {_scalar(mark, type_name, sql)}" for mark in marked(column, type_name))
        within = f"{loose} BETWEEN CAST('{column.first}' AS DATE) AND CAST('{column.last}' AS DATE)"
        number = f"CASE WHEN {within} THEN {_ordinal(loose, sql)} END"
        layers = {text: utc(cell, type_name, sql)}, {loose: f"CAST({text} AS DATE)"}, {value: number}
        missing = f"WHEN {text} IS NULL{marks} THEN {column.missing_code}"
        code = f"WHEN {value} IS NOT NULL THEN {_period(column, value, sql)}"
        return Pushed(layers, f"CASE {missing} {code} ELSE {column.other_code} END")
    trimmed = {text: text_of(cell, sql)}, {loose: _trimmed(text, sql)}
    if isinstance(column, Category):
        return Pushed(trimmed, _category(column, text, loose, sql))
    missing, blank, code = f"{text} IS NULL", f"{loose} = ''", ""
    more: tuple[dict[str, str], ...] = ()
    if column.missing_as:
        near = {spelling for mark in column.missing_as for spelling in spellings(loosened(mark))}
        missing += f" OR {text} IN {sql.listed(column.missing_as)} OR {loose} IN {sql.listed(sorted(near))}"
    match column:
        case YesNo():
            code = " ".join(f"WHEN lower({loose}) IN {sql.listed(words)} THEN {k}" for k, words in enumerate((YES, NO)))
        case Number():
            blank += f" OR lower({loose}) = 'nan'"
            more, code = ({value: _read(loose, sql)},), _number(column, value, sql)
        case Date():
            more = _dated(column, loose, f"day_{tag}", value, sql)
            within = f"{value} BETWEEN {column.first.toordinal()} AND {column.last.toordinal()}"
            code = f"WHEN {within} THEN {_period(column, value, sql)}"
    whole = f"CASE WHEN {missing} OR {blank} THEN {column.missing_code} {code} ELSE {column.other_code} END"
    return Pushed((*trimmed, *more), whole)


def identity(cell: str, type_name: str, sql: Dialect) -> str:
    """SQL for a person's ID as text; null where it is missing or blank.

    Composed Unicode where the engine can compose; elsewhere an ID counts as the letters it is written with.
    """
    match family_of(type_name):
        case "float" | "decimal":
            whole = f"{cell} = floor({cell}) AND abs({cell}) < 9007199254740992"
            own = f"CASE WHEN {whole} THEN {text_of(f'CAST({cell} AS BIGINT)', sql)} ELSE {text_of(cell, sql)} END"
            if family_of(type_name) == "decimal":
                return own
            return f"CASE WHEN NOT {sql.nan.format(x=cell)} THEN {own} END"
        case "text":
            return f"nullif({sql.normal.format(x=_trimmed(text_of(cell, sql), sql))}, '')"
        case _:
            return text_of(utc(cell, type_name, sql), sql)


def text_of(cell: str, sql: Dialect) -> str:
    """SQL for a value as text."""
    return f"CAST({cell} AS {sql.text})"


def utc(cell: str, type_name: str, sql: Dialect) -> str:
    """A value as its cuts are compared with: a moment by the clock of UTC."""
    return sql.utc.format(x=cell) if type_name == "TIMESTAMP WITH TIME ZONE" else cell


def _stepped(steps: Steps, cell: str, value: str, type_name: str, sql: Dialect) -> str:
    missing = f"{cell} IS NULL"
    match family_of(type_name):
        case "boolean":
            codes = f"WHEN {cell} THEN {steps.code(True)} ELSE {steps.code(False)}"
            return f"CASE WHEN {missing} THEN {steps.missing} {codes} END"
        case "float":  # before anything is compared, for engines order NaN as they please
            missing += f" OR {sql.nan.format(x=cell)}"
    return f"CASE WHEN {missing} THEN {steps.missing} ELSE {_tree(steps, value, type_name, sql)} END"


def _tree(steps: Steps, value: str, type_name: str, sql: Dialect) -> str:
    return tree(
        steps,
        lambda cut: f"{value} < {_scalar(cut, type_name, sql)}",
        lambda below, left, right: f"CASE WHEN {below} THEN {left} ELSE {right} END",
        str,
    )


def _scalar(value: Scalar, type_name: str, sql: Dialect) -> str:
    match family_of(type_name):
        case "float":
            text = repr(value).replace("inf", "Infinity")
            return f"CAST('{text}' AS {sql.double})"
        case "decimal":
            return f"CAST('{value:f}' AS {type_name})"
        case "date" | "timestamp":
            return f"CAST('{value}' AS {'DATE' if family_of(type_name) == 'date' else 'TIMESTAMP'})"
        case _:
            return str(value)


def _trimmed(text: str, sql: Dialect) -> str:
    return sql.trim.format(x=text, chars=sql.literal(_BLANKS))


def _matches(text: str, pattern: str, sql: Dialect) -> str:
    return sql.matches.format(x=text, p=sql.literal(f"^({pattern})$"))


def _category(column: Category, own: str, loose: str, sql: Dialect) -> str:
    exact, near = lookups(column, "text")
    spelled = {spelling: code for text, code in near.items() for spelling in spellings(text)}
    spelled[""] = column.missing_code
    return (
        f"CASE WHEN {own} IS NULL THEN {column.missing_code} "
        f"ELSE coalesce({_found(own, exact, sql)}, {_found(loose, spelled, sql)}, {column.other_code}) END"
    )


def _found(text: str, codes: Mapping[str, int], sql: Dialect) -> str:
    """SQL for the code of one of some texts, null for any other: a search in their order of bytes."""
    known = sorted(codes, key=lambda known: known.encode("utf-8", "replace"))

    def between(low: int, high: int) -> str:
        if high - low <= 4:
            whens = " ".join(f"WHEN {sql.literal(each)} THEN {codes[each]}" for each in known[low:high])
            return f"CASE {text}{sql.binary} {whens} END" if whens else "NULL"
        middle = (low + high) // 2
        below = f"{text}{sql.binary} < {sql.literal(known[middle])}"
        return f"CASE WHEN {below} THEN {between(low, middle)} ELSE {between(middle, high)} END"

    return between(0, len(known))


def _read(text: str, sql: Dialect) -> str:
    """The number that a text says, in 64 bits; null for one that is none or beyond them."""
    short = f"WHEN {_matches(text, _SHORT, sql)} THEN {sql.number.format(x=text)}"
    long = f"WHEN length({text}) <= 1000 AND {_matches(text, NUMERAL, sql)} THEN {sql.huge.format(x=text)}"
    return f"CASE {short} {long} END"


def _number(column: Number, value: str, sql: Dialect) -> str:
    numerals = tuple(text for text in column.missing_as if re.fullmatch(NUMERAL, text.strip()))
    steps = steps_of(column.model_copy(update={"missing_as": numerals}), "DOUBLE", MAX_CELLS)
    within = f"{value} < CAST('Infinity' AS {sql.double}) AND {value} > CAST('-Infinity' AS {sql.double})"
    return f"WHEN {within} THEN {_tree(steps, value, 'DOUBLE', sql)}" if steps else ""


def _ordinal(day: str, sql: Dialect) -> str:
    """The number of a day as Python counts days."""
    return sql.days.format(a=day, b="CAST('0001-01-01' AS DATE)") + " + 1"


def _period(column: Date, ordinal: str, sql: Dialect) -> str:
    """The period of a day of the declared span."""
    match column.by:
        case "day":
            return f"{ordinal} - {column.first.toordinal()}"
        case "week":
            return f"{sql.divide.format(a=f'{ordinal} - 1', b=7)} - {column.ordinal(column.first)}"
        case _:
            periods = range(column.ordinal(column.first), column.ordinal(column.last) + 1)
            starts = tuple(column.period(period)[0].toordinal() for period in periods)
            steps = Steps(starts[1:], tuple(range(len(starts))), column.missing_code)
            return _tree(steps, ordinal, "INTEGER", sql)


def _dated(column: Date, text: str, day: str, value: str, sql: Dialect) -> tuple[dict[str, str], ...]:
    """Layers that leave the number of the day that a text says in ``value``: null where there is no such day."""
    if column.format is not None:
        written = _by_format(column, text, sql)
        exists = _matches(day, _DAY, sql)
        return {day: written}, {value: f"CASE WHEN {exists} THEN {_ordinal(f'CAST({day} AS DATE)', sql)} END"}
    hour, minute = (f"{sql.cast}(substr({text}, {start}, 2) AS INTEGER)" for start in (12, 15))
    zone = sql.extract.format(x=text, p=sql.literal("([+-][0-9]{2}:?[0-9]{0,2})$"))
    clock = f"WHEN {_matches(text, f'{_DAY}[T ]{_CLOCK}{_ZONE}', sql)} THEN"
    # Digits of the zone alone; none where a time has no zone, for then a day's last digits would stand for it.
    zoned = _matches(text, ".{10}[T ][0-9:.]+[+-][0-9:]+", sql)
    offset, moved = f"zone_{day}", f"moved_{day}"
    hours, minutes = (f"{sql.cast}(substr({offset}, {start}, 2) AS INTEGER)" for start in (2, 4))
    east = f"{hours} * 60 + CASE WHEN length({offset}) > 3 THEN {minutes} ELSE 0 END"
    sign = f"CASE WHEN {offset} IS NULL THEN 0 WHEN substr({offset}, 1, 1) = '-' THEN {east} ELSE -({east}) END"
    # From 100 days before, so that what is divided is not negative.
    shifted = sql.divide.format(a=f"{hour} * 60 + {minute} + {sign} + 144000", b=1440)
    written = f"CAST(substr({text}, 1, 10) AS DATE)"
    return (
        {offset: f"CASE {clock} CASE WHEN {zoned} THEN replace({zone}, ':', '') END END"},
        {moved: f"CASE WHEN {_matches(text, _DAY, sql)} THEN 0 {clock} {shifted} - 100 END"},
        {value: f"CASE WHEN {moved} IS NOT NULL THEN {_ordinal(written, sql)} + {moved} END"},
    )


def _by_format(column: Date, text: str, sql: Dialect) -> str:
    """The day that a text says in the column's format, as ISO 8601 writes it; null where it says none."""
    parts = re.findall(r"%.|[^%]+", str(column.format))
    fields = [part for part in parts if part.startswith("%")]
    if set(fields) - set(_FIELDS) or not {"%d", "%m", "%Y"} <= set(fields) or len(set(fields)) < len(fields):
        raise TableError(
            f"column {column.name!r}: an engine elsewhere reads dates by %d, %m and %Y, with %H, %M and %S, each once; "
            f"not by {column.format!r}"
        )
    patterns = []
    for part, following in zip(parts, [*parts[1:], ""], strict=True):
        if part in _FIELDS:  # digits that follow each other are told apart by their number
            patterns.append(f"[0-9]{{{'' if following in _FIELDS else '1,'}{_FIELDS[part]}}}")
        else:
            patterns.append("".join(_as_pattern(letter) for letter in part))
    found = {}
    for place, part in enumerate(parts):
        if part in _FIELDS:
            pattern = "".join(f"({each})" if k == place else each for k, each in enumerate(patterns))
            digits = sql.extract.format(x=text, p=sql.literal(f"^{pattern}$"))
            found[part] = f"substr('000' || {digits}, length({digits}) + {4 - _FIELDS[part]}, {_FIELDS[part]})"
    clock = [f"{found[field]} < '{end}'" for field, end in (("%H", 24), ("%M", 60), ("%S", 60)) if field in found]
    whole = " AND ".join([_matches(text, "".join(patterns), sql), *clock])
    return f"CASE WHEN {whole} THEN {found['%Y']} || '-' || {found['%m']} || '-' || {found['%d']} END"


def _as_pattern(letter: str) -> str:
    if letter == " ":
        return " +"
    return f"\\{letter}" if letter in "^\\[]" else f"[{letter}]"
