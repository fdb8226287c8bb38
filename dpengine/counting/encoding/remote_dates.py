"""SQL that encodes dates and times in another engine, as `local_dates` does in this one.

Dates and times in texts are read by their digits, so that nothing depends on the engine's locale, time zone or
calendar.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Sequence

from dpengine.counting.encoding.bin_boundaries import Boundaries, missing_scalars, period_boundaries
from dpengine.counting.encoding.clock import has_clock, local_seconds, local_time
from dpengine.counting.encoding.coding import (
    CLOCK,
    Coding,
    boundary_tree,
    is_complete,
    is_hour,
    matches,
    quoted,
    scalar,
)
from dpengine.errors import TableError
from dpengine.sources.databases.dialects import Dialect
from dpengine.sources.mixed import ZONED
from dpengine.spec.domain import Date, Time
from dpengine.translation.catalogue import _

__all__ = ["text_layers", "typed_coding", "utc", "value_code"]

# All days from year 1 on: 28 in each month, then those of longer months and of leap years.
_YEAR = "([0-9]{3}[1-9]|[0-9]{2}[1-9]0|[0-9][1-9]00|[1-9]000)"
_LEAP = "([0-9]{2}(0[48]|[2468][048]|[13579][26])|([2468][048]|0[48]|[13579][26])00)"
_DAY = f"({_YEAR}-((0[1-9]|1[0-2])-(0[1-9]|1[0-9]|2[0-8])|(0[13-9]|1[0-2])-(29|30)|(0[13578]|1[02])-31)|{_LEAP}-02-29)"
_CLOCK = "(([01][0-9]|2[0-3]):[0-5][0-9](:[0-5][0-9]([.][0-9]+)?)?|24:00(:00([.]0+)?)?)"
_ZONE = "(Z|[+-][0-9]{2}(:?[0-9]{2})?)?"
_FIELDS = {"%Y": 4, "%m": 2, "%d": 2, "%H": 2, "%M": 2, "%S": 2}
_ANY_DAY = "2000-01-01"
_EPOCH = dt.date(1970, 1, 1).toordinal()


def typed_coding(column: Date | Time, cell: str, type_name: str, dialect: Dialect, tag: str) -> Coding:
    """Encode a date or a timestamp."""
    raw, time, day, value = f"raw_{tag}", f"time_{tag}", f"form_{tag}", f"value_{tag}"
    markers = [scalar(marker, type_name, dialect) for marker in missing_scalars(column, type_name)]
    missing = " OR ".join([f"{raw} IS NULL", *(f"{raw} = {marker}" for marker in markers)])
    first, last = (column.first, column.last) if isinstance(column, Date) else (dt.date.min, dt.date.max)
    within = f"{day} BETWEEN CAST('{first}' AS DATE) AND CAST('{last}' AS DATE)"
    read = f"CAST(extract(hour FROM {time}) AS INTEGER)" if is_hour(column) else _ordinal(day, dialect)
    layers = (
        {raw: utc(cell, type_name, dialect)},
        {time: local_time(column, raw, dialect) if has_clock(column, type_name) else raw},
        {day: f"CAST({time} AS DATE)"},
        {value: f"CASE WHEN {within} THEN {read} END"},
    )
    declared = f"WHEN {value} IS NOT NULL THEN {_code(column, value, dialect)}"
    code = f"CASE WHEN {missing} THEN {column.missing_code} {declared} ELSE {column.other_code} END"
    return Coding(layers, code, is_complete(column))


def text_layers(column: Date | Time, text: str, tag: str, dialect: Dialect) -> tuple[dict[str, str], ...]:
    """Return layers whose ``value_{tag}`` is the hour or the ordinal of the day that a text names, null if none."""
    day, value = f"day_{tag}", f"value_{tag}"
    if column.format is not None:
        return _read_by_format(column, text, day, value, dialect)
    if not is_hour(column):
        return _read_iso(column, text, day, value, dialect)
    dated = f"dated_{tag}"  # a time of day is read as one of a certain day
    zero = f"CASE WHEN substr({text}, 2, 1) = ':' THEN '0' ELSE '' END"
    of_day = f"WHEN {matches(text, CLOCK, dialect)} THEN '{_ANY_DAY}T' || {zero} || {text}"
    return {dated: f"CASE {of_day} ELSE {text} END"}, *_read_iso(column, dated, day, value, dialect)


def value_code(column: Date | Time, value: str, dialect: Dialect) -> str:
    """Write the branch of a CASE that gives the code of a declared value, of `text_layers`."""
    first, last = (column.first, column.last) if isinstance(column, Date) else (dt.date.min, dt.date.max)
    span = (0, 23) if is_hour(column) else (first.toordinal(), last.toordinal())
    return f"WHEN {value} BETWEEN {span[0]} AND {span[1]} THEN {_code(column, value, dialect)}"


def utc(cell: str, type_name: str, dialect: Dialect) -> str:
    """Write a zoned timestamp as UTC; leave values of other types unchanged."""
    return dialect.utc.format(x=cell) if type_name == ZONED else cell


def _ordinal(day: str, dialect: Dialect) -> str:
    """Write the proleptic ordinal of a day, as Python counts days."""
    return dialect.days_between.format(a=day, b="CAST('0001-01-01' AS DATE)") + " + 1"


def _code(column: Date | Time, value: str, dialect: Dialect) -> str:
    """Write the code of an hour, or of the ordinal of a day; a period's day lies within the declared span."""
    if isinstance(column, Date):
        return _period(column, value, dialect)
    if column.by == "hour":
        return value
    week = dialect.integer_divide.format(a=f"({value} - 1)", b=7)  # ordinal 1 was a Monday
    return f"({value} - 1) - 7 * ({week})"


def _period(column: Date, ordinal: str, dialect: Dialect) -> str:
    """Write the code of a day that lies within the declared span."""
    match column.by:
        case "day":
            return f"{ordinal} - {column.first.toordinal()}"
        case "week":
            week = dialect.integer_divide.format(a=f"{ordinal} - 1", b=7)
            return f"{week} - {column.ordinal(column.first)}"
        case _:
            everywhere = period_boundaries(column)
            inside = Boundaries(everywhere.bounds[1:-1], everywhere.codes[1:-1], everywhere.missing)
            return boundary_tree(inside, ordinal, "INTEGER", dialect)


def _read_iso(column: Date | Time, text: str, day: str, value: str, dialect: Dialect) -> tuple[dict[str, str], ...]:
    if column.zone is not None:
        return _read_iso_by_clock(column, text, day, value, dialect)
    hour, minute = (f"{dialect.try_cast}(substr({text}, {start}, 2) AS INTEGER)" for start in (12, 15))
    clock = f"WHEN {matches(text, f'{_DAY}[T ]{_CLOCK}{_ZONE}', dialect)} THEN"
    offset, moved = f"zone_{day}", f"moved_{day}"
    # 100 days are added, so that the dividend is not negative.
    shifted = f"{hour} * 60 + {minute} + {_to_utc(offset, dialect)} + 144000"
    ordinal = _ordinal(f"CAST(substr({text}, 1, 10) AS DATE)", dialect)
    offset_layer = {offset: f"CASE {clock} CASE {_offset(text, dialect)} END END"}
    if is_hour(column):
        days = dialect.integer_divide.format(a=moved, b=1440)
        within = f"{ordinal} + {days} - 100 BETWEEN {dt.date.min.toordinal()} AND {dt.date.max.toordinal()}"
        hours = dialect.integer_divide.format(a=f"({moved} - 1440 * ({days}))", b=60)
        return (
            offset_layer,
            {moved: f"CASE {clock} {shifted} END"},
            {value: f"CASE WHEN {moved} IS NOT NULL THEN CASE WHEN {within} THEN {hours} END END"},
        )
    days = dialect.integer_divide.format(a=shifted, b=1440)
    return (
        offset_layer,
        {moved: f"CASE WHEN {matches(text, _DAY, dialect)} THEN 0 {clock} {days} - 100 END"},
        {value: f"CASE WHEN {moved} IS NOT NULL THEN {ordinal} + {moved} END"},
    )


def _read_iso_by_clock(
    column: Date | Time, text: str, day: str, value: str, dialect: Dialect
) -> tuple[dict[str, str], ...]:
    """Read times with an offset by the clock of the column's zone, and others as they stand."""
    offset, moved, local = f"zone_{day}", f"moved_{day}", f"local_{day}"
    hour, minute, second = (f"{dialect.try_cast}(substr({text}, {start}, 2) AS INTEGER)" for start in (12, 15, 18))
    second = f"CASE WHEN substr({text}, 17, 1) = ':' THEN {second} ELSE 0 END"
    ordinal = _ordinal(f"CAST(substr({text}, 1, 10) AS DATE)", dialect)
    of_day = f"CAST({ordinal} - {_EPOCH} AS BIGINT) * 86400"
    clock = f"WHEN {matches(text, f'{_DAY}[T ]{_CLOCK}{_ZONE}', dialect)} THEN"
    bare = "" if is_hour(column) else f"WHEN {matches(text, _DAY, dialect)} THEN {of_day} "
    utc = f"{of_day} + {hour} * 3600 + {minute} * 60 + {second} + 60 * {_to_utc(offset, dialect)}"
    # 100 days are added, so that the dividend is not negative.
    positive = f"({local} + {_EPOCH + 100} * CAST(86400 AS BIGINT))"
    days = dialect.integer_divide.format(a=positive, b=86400)
    hours = dialect.integer_divide.format(a=f"({positive} - 86400 * ({days}))", b=3600)
    within = f"{days} - 100 BETWEEN {dt.date.min.toordinal()} AND {dt.date.max.toordinal()}"
    read = f"CASE WHEN {within} THEN {hours} END" if is_hour(column) else f"{days} - 100"
    return (
        {offset: f"CASE {clock} CASE {_offset(text, dialect)} WHEN {text} LIKE '%Z' THEN '+00' END END"},
        {moved: f"CASE {bare}{clock} {utc} END"},
        {local: f"CASE WHEN {offset} IS NULL THEN {moved} ELSE {local_seconds(column, moved, dialect)} END"},
        {value: f"CAST({read} AS INTEGER)"},
    )


def _offset(text: str, dialect: Dialect) -> str:
    """Write the branch of a CASE that gives the offset in a time, such as +0100; a `Z` needs no branch."""
    zone = dialect.extract.format(x=text, p=dialect.literal("([+-][0-9]{2}:?[0-9]{0,2})$"))
    # Without this check, the pattern of a zone could match the last digits of the day.
    zoned = matches(text, ".{10}[T ][0-9:.]+[+-][0-9:]+", dialect)
    return f"WHEN {zoned} THEN replace({zone}, ':', '')"


def _to_utc(offset: str, dialect: Dialect) -> str:
    """Write the minutes that turn a time with an offset into UTC; 0 if it has none."""
    hours, minutes = (f"{dialect.try_cast}(substr({offset}, {start}, 2) AS INTEGER)" for start in (2, 4))
    east = f"{hours} * 60 + CASE WHEN length({offset}) > 3 THEN {minutes} ELSE 0 END"
    return f"CASE WHEN {offset} IS NULL THEN 0 WHEN substr({offset}, 1, 1) = '-' THEN {east} ELSE -({east}) END"


def _read_by_format(
    column: Date | Time, text: str, day: str, value: str, dialect: Dialect
) -> tuple[dict[str, str], ...]:
    digits_of, whole = _digits_by_format(column, text, dialect)
    written = " || '-' || ".join(digits_of[field] for field in ("%Y", "%m", "%d") if field in digits_of)
    named = written or f"'{_ANY_DAY}'"  # a time of day alone is of any day
    exists = matches(day, _DAY, dialect)
    hour = f"{dialect.try_cast}({digits_of.get('%H')} AS INTEGER)"
    read = hour if is_hour(column) else _ordinal(f"CAST({day} AS DATE)", dialect)
    return {day: f"CASE WHEN {whole} THEN {named} END"}, {value: f"CASE WHEN {exists} THEN {read} END"}


def _can_be_read(column: Date | Time, fields: Sequence[str]) -> bool:
    """Return whether a database can read the `fields` of a format, and whether they say what the column needs."""
    of_days, of_hours = {"%d", "%m", "%Y"}, {"%H"} if is_hour(column) else set[str]()
    needed = of_hours if of_hours and not of_days & {*fields} else of_days | of_hours
    return needed <= {*fields} <= _FIELDS.keys() and len({*fields}) == len(fields)


def _digits_by_format(column: Date | Time, text: str, dialect: Dialect) -> tuple[dict[str, str], str]:
    """Return SQL for the digits of each field in a text of the column's format, and for whether it is one."""
    parts = re.findall(r"%.|[^%]+", str(column.format))
    if not _can_be_read(column, [part for part in parts if part.startswith("%")]):
        raise TableError(
            _(
                "column {name!r}: the format {format!r} cannot be read in a database; use one with %d, %m, %Y "
                "and, if there is a time, %H, %M, %S, each once",
                name=column.name,
                format=column.format,
            )
        )
    patterns = []
    for part, following in zip(parts, [*parts[1:], ""], strict=True):
        if part in _FIELDS:  # adjacent fields have a fixed width
            patterns.append(f"[0-9]{{{'' if following in _FIELDS else '1,'}{_FIELDS[part]}}}")
        else:
            patterns.append("".join(" +" if letter == " " else quoted(letter) for letter in part))
    digits_of = {}
    for place, part in enumerate(parts):
        if part in _FIELDS:
            pattern = "".join(f"({each})" if k == place else each for k, each in enumerate(patterns))
            digits = dialect.extract.format(x=text, p=dialect.literal(f"^{pattern}$"))
            digits_of[part] = f"substr('000' || {digits}, length({digits}) + {4 - _FIELDS[part]}, {_FIELDS[part]})"
    ends = {"%H": 24, "%M": 60, "%S": 60}
    clock = [f"{digits_of[field]} < '{end}'" for field, end in ends.items() if field in digits_of]
    return digits_of, " AND ".join([matches(text, "".join(patterns), dialect), *clock])
