"""SQL that encodes values in another engine: each value gets the same code as in `local_sql`.

Typed values are compared with bin boundaries (`bin_boundaries`). Texts are compared with all Unicode spellings of the
declared ones (`unicode_forms`). Numbers, dates and times in texts are read by their digits, so that nothing depends on
the engine's locale, time zone or calendar.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from itertools import pairwise

from dpengine.counting.encoding.bin_boundaries import (
    NUMERAL,
    Boundaries,
    boundaries_of,
    family_of,
    missing_numbers,
    missing_scalars,
    period_boundaries,
)
from dpengine.counting.encoding.coding import (
    BLANKS,
    Coding,
    any_of,
    boundary_tree,
    code_of_boundaries,
    completes,
    matches,
    plain_number,
    quoted,
    scalar,
    without_affixes,
    yes_or_no,
)
from dpengine.counting.encoding.declared_texts import codes_by_text, normalised
from dpengine.counting.encoding.unicode_forms import spellings
from dpengine.errors import TableError
from dpengine.sources.databases.dialects import Dialect
from dpengine.spec.domain import Amount, Category, Column, Date, Number, YesNo
from dpengine.spec.numeric.grid import Grid
from dpengine.translation.catalogue import _, number

__all__ = ["MAX_CELLS", "code_of", "identity", "key_text", "utc"]

MAX_CELLS = 20_000  # cells of a column, since the statement holds a boundary for each
_SHORT = r"[+-]?([0-9]{1,200}[.]?[0-9]{0,100}|[.][0-9]{1,100})"
# All days from year 1 on: 28 in each month, then those of longer months and of leap years.
_YEAR = "([0-9]{3}[1-9]|[0-9]{2}[1-9]0|[0-9][1-9]00|[1-9]000)"
_LEAP = "([0-9]{2}(0[48]|[2468][048]|[13579][26])|([2468][048]|0[48]|[13579][26])00)"
_DAY = f"({_YEAR}-((0[1-9]|1[0-2])-(0[1-9]|1[0-9]|2[0-8])|(0[13-9]|1[0-2])-(29|30)|(0[13578]|1[02])-31)|{_LEAP}-02-29)"
_CLOCK = "(([01][0-9]|2[0-3]):[0-5][0-9](:[0-5][0-9]([.][0-9]+)?)?|24:00(:00([.]0+)?)?)"
_ZONE = "(Z|[+-][0-9]{2}(:?[0-9]{2})?)?"
_FIELDS = {"%Y": 4, "%m": 2, "%d": 2, "%H": 2, "%M": 2, "%S": 2}


def code_of(column: Column, cell: str, type_name: str, dialect: Dialect, tag: str = "") -> Coding:
    """Return the coding of the value in `cell`, which has the given DuckDB type; its aliases end in `tag`.

    Raises `TableError` if the column has too many cells, spellings, or a date format that SQL cannot read.
    """
    family = family_of(type_name) or "text"
    if isinstance(column, Amount):
        return _amount(column, cell, type_name, dialect, tag)
    if column.size > MAX_CELLS and not (isinstance(column, Date) and column.by in ("day", "week")):
        raise TableError(
            _(
                "column {name!r} has {size} cells, more than the {most} that a database can count; make fewer, "
                "wider ones",
                name=column.name,
                size=number(column.size),
                most=number(MAX_CELLS),
            )
        )
    boundaries = boundaries_of(column, type_name, MAX_CELLS)
    if boundaries is not None:
        raw, value = f"raw_{tag}", f"value_{tag}"
        comparable = f"CAST({cell} AS {dialect.float64})" if type_name == "FLOAT" else utc(cell, type_name, dialect)
        code = code_of_boundaries(boundaries, raw, value, type_name, dialect)
        return Coding(({raw: cell}, {value: comparable}), code, completes(column))
    if isinstance(column, Date) and family in ("date", "timestamp"):
        return _typed_date(column, cell, type_name, dialect, tag)
    return _text(column, cell, dialect, tag)


def _typed_date(column: Date, cell: str, type_name: str, dialect: Dialect, tag: str) -> Coding:
    """Encode a date or a timestamp."""
    raw, day, ordinal = f"raw_{tag}", f"form_{tag}", f"value_{tag}"
    markers = [scalar(marker, type_name, dialect) for marker in missing_scalars(column, type_name)]
    missing = " OR ".join([f"{raw} IS NULL", *(f"{raw} = {marker}" for marker in markers)])
    within = f"{day} BETWEEN CAST('{column.first}' AS DATE) AND CAST('{column.last}' AS DATE)"
    layers = (
        {raw: utc(cell, type_name, dialect)},
        {day: f"CAST({raw} AS DATE)"},
        {ordinal: f"CASE WHEN {within} THEN {_ordinal(day, dialect)} END"},
    )
    declared = f"WHEN {ordinal} IS NOT NULL THEN {_period(column, ordinal, dialect)}"
    code = f"CASE WHEN {missing} THEN {column.missing_code} {declared} ELSE {column.other_code} END"
    return Coding(layers, code, completes(column))


def _text(column: Column, cell: str, dialect: Dialect, tag: str) -> Coding:
    """Encode a text, or a value of any other type by its text."""
    raw, form, value = f"raw_{tag}", f"form_{tag}", f"value_{tag}"
    texts = {raw: dialect.to_text(cell)}, {form: _trimmed(raw, dialect)}
    if isinstance(column, Category):
        return Coding(texts, _category(column, raw, form, dialect), completes(column))
    missing = _is_missing(column, raw, form, dialect)
    more: tuple[dict[str, str], ...] = ()
    match column:
        case YesNo():
            declared = yes_or_no(form, dialect)
        case Amount():
            raise AssertionError("an amount is encoded by its place on a grid")
        case Number():
            missing += f" OR lower({form}) = 'nan'"
            more, declared = _numeral(column, form, tag, dialect), _number(column, value, dialect)
        case Date():
            more = _read_date(column, form, f"day_{tag}", value, dialect)
            within = f"{value} BETWEEN {column.first.toordinal()} AND {column.last.toordinal()}"
            declared = f"WHEN {within} THEN {_period(column, value, dialect)}"
    code = f"CASE WHEN {missing} THEN {column.missing_code} {declared} ELSE {column.other_code} END"
    return Coding((*texts, *more), code, completes(column))


def _is_missing(column: Column, raw: str, form: str, dialect: Dialect) -> str:
    forms = {spelling for text in column.missing_as for spelling in spellings(normalised(text))}
    return f"{raw} IS NULL{any_of(raw, column.missing_as, form, sorted(forms), dialect)} OR {form} = ''"


def _numeral(column: Number | Amount, text: str, tag: str, dialect: Dialect) -> tuple[dict[str, str], ...]:
    """Return layers of which the last is the 64-bit number that a text names, as the column's numbers are written."""
    texts, layers = [text], []
    if column.affixes:
        layers = [{f"bare_{tag}": without_affixes(text, column.affixes, dialect)}]
        texts.append(f"bare_{tag}")
    if column.format != "1234.5":
        plain = (plain_number(each, column.format, dialect) for each in texts)
        layers.append({f"plain_{tag}": f"coalesce({', '.join(plain)})"})
        texts = [f"plain_{tag}"]
    numbers = (_read_number(each, dialect) for each in texts)
    return *layers, {f"value_{tag}": f"coalesce({', '.join(numbers)})"}


def _amount(column: Amount, cell: str, type_name: str, dialect: Dialect, tag: str) -> Coding:
    """Encode an amount by its place on its grid; exactly, as `Grid.places_of` does."""
    grid, value = column.grid, f"value_{tag}"
    layers, missing = _number_layers(column, cell, type_name, dialect, tag)
    markers = [scalar(each, "DOUBLE", dialect) for each in missing_numbers(column.missing_as)]
    marked = "".join(f" OR {value} = {marker}" for marker in markers)
    low, high = (scalar(each, "DOUBLE", dialect) for each in (-math.inf, math.inf))
    finite = f"{value} < {high} AND {value} > {low}"
    if family_of(type_name) == "float":
        finite = f"NOT {dialect.is_nan.format(x=f'raw_{tag}')} AND {finite}"
    place = f"CASE WHEN NOT ({missing}{marked}) AND {finite} THEN place_{tag} ELSE {grid.missing_code} END"
    return Coding((*layers, *_place_layers(grid, value, dialect, tag)), place, completes(grid))


def _number_layers(
    column: Amount, cell: str, type_name: str, dialect: Dialect, tag: str
) -> tuple[tuple[dict[str, str], ...], str]:
    """Return layers with the 64-bit number ``value_{tag}`` of a cell, and SQL for whether it is missing."""
    raw, form, value = f"raw_{tag}", f"form_{tag}", f"value_{tag}"
    family = family_of(type_name) or "text"
    if family == "text":
        texts = {raw: dialect.to_text(cell)}, {form: _trimmed(raw, dialect)}
        return (*texts, *_numeral(column, form, tag, dialect)), _is_missing(column, raw, form, dialect)
    number = f"CAST({raw} AS {dialect.float64})"
    if family == "boolean":
        number = f"CAST(CASE WHEN {raw} THEN 1 WHEN NOT {raw} THEN 0 END AS {dialect.float64})"
    elif family == "decimal" or type_name == "FLOAT":  # by way of text, as `local_sql` reads them
        number = dialect.to_float64.format(x=dialect.to_text(raw))
    missing = f"{raw} IS NULL" + (f" OR {dialect.is_nan.format(x=raw)}" if family == "float" else "")
    return ({raw: cell}, {value: number}), missing


def _place_layers(grid: Grid, value: str, dialect: Dialect, tag: str) -> tuple[dict[str, str], ...]:
    """Return layers with the place ``place_{tag}`` of a finite number on a grid.

    A guess in floating point is off by two places at most, so two comparisons with exact borders correct it.
    """
    bounded, near = f"bounded_{tag}", f"near_{tag}"
    low, high, step = (scalar(float(each), "DOUBLE", dialect) for each in (grid.low, grid.high, grid.step))
    layers = [
        {bounded: f"CASE WHEN {value} < {low} THEN {low} WHEN {value} > {high} THEN {high} ELSE {value} END"},
        {near: f"CAST(floor(({bounded} - {low}) / {step} + 0.5) AS BIGINT)"},
    ]
    first, (width, parts) = grid.units(grid.low), grid.halves

    def border(place: str) -> str:
        return f"CAST((2 * ({first} + {place}) - 1) * {width} AS {dialect.float64}) / {parts}"

    for guess, better in pairwise((near, f"nearer_{tag}", f"place_{tag}")):
        up = f"CASE WHEN {guess} < {grid.steps} AND {bounded} >= {border(f'({guess} + 1)')} THEN 1 ELSE 0 END"
        down = f"CASE WHEN {guess} > 0 AND {bounded} < {border(guess)} THEN 1 ELSE 0 END"
        layers.append({better: f"{guess} + {up} - {down}"})
    return tuple(layers)


def identity(cell: str, type_name: str, dialect: Dialect) -> str:
    """Write a person's ID as text, null if it is missing or blank.

    The same number is the same person, as in `local_sql`. The text is in composed Unicode (NFC) if the engine can
    compose, and otherwise unchanged.
    """
    match family_of(type_name):
        case "float" | "decimal":
            whole = f"{cell} = floor({cell}) AND abs({cell}) < 9223372036854775808"
            integer = dialect.to_text(f"CAST({cell} AS BIGINT)")
            text = f"CASE WHEN {whole} THEN {integer} ELSE {dialect.to_text(cell)} END"
            if family_of(type_name) == "decimal":
                raw = dialect.to_text(cell)
                plain = dialect.extract.format(x=raw, p=dialect.literal("^(-?[0-9]+[.]?[0-9]*[1-9])[.]?0*$"))
                return f"CASE WHEN {whole} THEN {integer} WHEN {cell} <> floor({cell}) THEN {plain} ELSE {raw} END"
            return f"CASE WHEN NOT {dialect.is_nan.format(x=cell)} THEN {text} END"
        case "text":
            text = dialect.compose.format(x=_trimmed(dialect.to_text(cell), dialect))
            whole = dialect.extract.format(x=text, p=dialect.literal("^(-?[0-9]+)[.]0+$"))
            text = f"CASE WHEN {matches(text, '-?[0-9]+[.]0+', dialect)} THEN {whole} ELSE {text} END"
            return f"nullif({text}, '')"
        case _:
            return dialect.to_text(utc(cell, type_name, dialect))


def key_text(cell: str, type_name: str, dialect: Dialect, *, points: bool) -> str:
    """Write a value as the text that is compared with declared ones, as `local_sql` does; null if it is missing."""
    if (family_of(type_name) or "text") != "text":
        return identity(cell, type_name, dialect)
    text = dialect.compose.format(x=_trimmed(dialect.to_text(cell), dialect))
    if not points:
        whole = dialect.extract.format(x=text, p=dialect.literal("^(-?[0-9]+)[.]0$"))
        text = f"CASE WHEN {matches(text, '-?(0|[1-9][0-9]*)[.]0', dialect)} THEN {whole} ELSE {text} END"
    return f"nullif({text}, '')"


def utc(cell: str, type_name: str, dialect: Dialect) -> str:
    """Write a zoned timestamp as UTC; leave values of other types unchanged."""
    return dialect.utc.format(x=cell) if type_name == "TIMESTAMP WITH TIME ZONE" else cell


def _trimmed(text: str, dialect: Dialect) -> str:
    return dialect.trim.format(x=text, chars=dialect.literal(BLANKS))


def _category(column: Category, raw: str, form: str, dialect: Dialect) -> str:
    """Write the code of a text: by its raw form, then by the normalised one in all of its spellings."""
    by_raw, by_form = codes_by_text(column, "text")
    by_spelling = {spelling: code for text, code in by_form.items() for spelling in spellings(text)}
    by_spelling[""] = column.missing_code
    position = f"coalesce({_search(raw, by_raw, dialect)}, {_search(form, by_spelling, dialect)}, {column.other_code})"
    return f"CASE WHEN {raw} IS NULL THEN {column.missing_code} ELSE {position} END"


def _search(text: str, codes: Mapping[str, int], dialect: Dialect) -> str:
    """Write a binary search for a text among those of `codes`, in the order of their bytes; null for any other."""
    known = sorted(codes, key=lambda known: known.encode("utf-8", "replace"))

    def between(low: int, high: int) -> str:
        if high - low <= 4:
            whens = " ".join(f"WHEN {dialect.literal(each)} THEN {codes[each]}" for each in known[low:high])
            return f"CASE {text}{dialect.byte_order} {whens} END" if whens else "NULL"
        middle = (low + high) // 2
        below = f"{text}{dialect.byte_order} < {dialect.literal(known[middle])}"
        return f"CASE WHEN {below} THEN {between(low, middle)} ELSE {between(middle, high)} END"

    return between(0, len(known))


def _read_number(text: str, dialect: Dialect) -> str:
    """Write the 64-bit number that a text represents; null if there is none, or if it is out of range."""
    short = f"WHEN {matches(text, _SHORT, dialect)} THEN {dialect.to_float64.format(x=text)}"
    numeral = f"length({text}) <= 1000 AND {matches(text, NUMERAL, dialect)}"
    return f"CASE {short} WHEN {numeral} THEN {dialect.long_to_float64.format(x=text)} END"


def _number(column: Number, value: str, dialect: Dialect) -> str:
    """Write the branch of a CASE that gives the code of a finite number."""
    numerals = tuple(text for text in column.missing_as if re.fullmatch(NUMERAL, text.strip()))
    boundaries = boundaries_of(column.model_copy(update={"missing_as": numerals}), "DOUBLE", MAX_CELLS)
    assert boundaries is not None, "no column of more cells is encoded"
    low, high = scalar(-math.inf, "DOUBLE", dialect), scalar(math.inf, "DOUBLE", dialect)
    tree = boundary_tree(boundaries, value, "DOUBLE", dialect)
    return f"WHEN {value} < {high} AND {value} > {low} THEN {tree}"


def _ordinal(day: str, dialect: Dialect) -> str:
    """Write the proleptic ordinal of a day, as Python counts days."""
    return dialect.days_between.format(a=day, b="CAST('0001-01-01' AS DATE)") + " + 1"


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


def _read_date(column: Date, text: str, day: str, value: str, dialect: Dialect) -> tuple[dict[str, str], ...]:
    """Return layers whose `value` is the ordinal of the day that a text names, null if it names none."""
    if column.format is not None:
        written = _by_format(column, text, dialect)
        exists = matches(day, _DAY, dialect)
        return {day: written}, {value: f"CASE WHEN {exists} THEN {_ordinal(f'CAST({day} AS DATE)', dialect)} END"}
    hour, minute = (f"{dialect.try_cast}(substr({text}, {start}, 2) AS INTEGER)" for start in (12, 15))
    zone = dialect.extract.format(x=text, p=dialect.literal("([+-][0-9]{2}:?[0-9]{0,2})$"))
    clock = f"WHEN {matches(text, f'{_DAY}[T ]{_CLOCK}{_ZONE}', dialect)} THEN"
    # Without this check, the pattern of a zone could match the last digits of the day.
    zoned = matches(text, ".{10}[T ][0-9:.]+[+-][0-9:]+", dialect)
    offset, moved = f"zone_{day}", f"moved_{day}"
    hours, minutes = (f"{dialect.try_cast}(substr({offset}, {start}, 2) AS INTEGER)" for start in (2, 4))
    east = f"{hours} * 60 + CASE WHEN length({offset}) > 3 THEN {minutes} ELSE 0 END"
    sign = f"CASE WHEN {offset} IS NULL THEN 0 WHEN substr({offset}, 1, 1) = '-' THEN {east} ELSE -({east}) END"
    # 100 days are added, so that the dividend is not negative.
    shifted = dialect.integer_divide.format(a=f"{hour} * 60 + {minute} + {sign} + 144000", b=1440)
    written = f"CAST(substr({text}, 1, 10) AS DATE)"
    return (
        {offset: f"CASE {clock} CASE WHEN {zoned} THEN replace({zone}, ':', '') END END"},
        {moved: f"CASE WHEN {matches(text, _DAY, dialect)} THEN 0 {clock} {shifted} - 100 END"},
        {value: f"CASE WHEN {moved} IS NOT NULL THEN {_ordinal(written, dialect)} + {moved} END"},
    )


def _by_format(column: Date, text: str, dialect: Dialect) -> str:
    """Write the day that a text names in the column's format, as ISO 8601; null if it names none."""
    parts = re.findall(r"%.|[^%]+", str(column.format))
    fields = [part for part in parts if part.startswith("%")]
    if set(fields) - set(_FIELDS) or not {"%d", "%m", "%Y"} <= set(fields) or len(set(fields)) < len(fields):
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
    whole = " AND ".join([matches(text, "".join(patterns), dialect), *clock])
    return f"CASE WHEN {whole} THEN {digits_of['%Y']} || '-' || {digits_of['%m']} || '-' || {digits_of['%d']} END"
