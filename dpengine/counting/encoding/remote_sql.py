"""SQL that encodes values in another engine: each value gets the same code as in `local_sql`.

Typed values are compared with bin boundaries (`bin_boundaries`). Texts are compared with all Unicode spellings of the
declared ones (`unicode_forms`). Numbers in texts are read by their digits, and so are dates and times (`remote_dates`).
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from itertools import pairwise

from dpengine.counting.encoding.bin_boundaries import (
    NUMERAL,
    boundaries_of,
    family_of,
    missing_numbers,
)
from dpengine.counting.encoding.coding import (
    BLANKS,
    Coding,
    any_of,
    boundary_tree,
    can_read,
    code_of_boundaries,
    is_complete,
    matches,
    plain_number,
    scalar,
    without_affixes,
    yes_or_no,
)
from dpengine.counting.encoding.declared_texts import codes_by_text, normalised
from dpengine.counting.encoding.remote_dates import text_layers, typed_coding, utc, value_code
from dpengine.counting.encoding.unicode_forms import spellings
from dpengine.errors import TableError
from dpengine.sources.databases.dialects import Dialect
from dpengine.spec.domain import Amount, Category, Column, Date, Number, Time, YesNo
from dpengine.spec.numeric.grid import Grid
from dpengine.translation.catalogue import _, number

__all__ = ["MAX_CELLS", "code_of", "identity", "key_text", "utc"]

MAX_CELLS = 20_000  # cells of a column, since the statement holds a boundary for each
_SHORT = r"[+-]?([0-9]{1,200}[.]?[0-9]{0,100}|[.][0-9]{1,100})"


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
        return Coding(({raw: cell}, {value: comparable}), code, is_complete(column))
    if isinstance(column, Date | Time) and family in ("date", "timestamp") and can_read(column, family):
        return typed_coding(column, cell, type_name, dialect, tag)
    return _text(column, cell, dialect, tag)


def _text(column: Column, cell: str, dialect: Dialect, tag: str) -> Coding:
    """Encode a text, or a value of any other type by its text."""
    raw, form, value = f"raw_{tag}", f"form_{tag}", f"value_{tag}"
    texts = {raw: dialect.to_text(cell)}, {form: _trimmed(raw, dialect)}
    if isinstance(column, Category):
        return Coding(texts, _category(column, raw, form, dialect), is_complete(column))
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
        case Date() | Time():
            more, declared = text_layers(column, form, tag, dialect), value_code(column, value, dialect)
    code = f"CASE WHEN {missing} THEN {column.missing_code} {declared} ELSE {column.other_code} END"
    return Coding((*texts, *more), code, is_complete(column))


def _is_missing(column: Column, raw: str, form: str, dialect: Dialect) -> str:
    forms = {spelling for text in column.missing_as for spelling in spellings(normalised(text))}
    return f"{raw} IS NULL{any_of(raw, column.missing_as, form, sorted(forms), dialect)} OR {form} = ''"


def _numeral(column: Number | Amount, text: str, tag: str, dialect: Dialect) -> tuple[dict[str, str], ...]:
    """Return layers, the last with the 64-bit number in a text, which is written in the column's format."""
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
    return Coding((*layers, *_place_layers(grid, value, dialect, tag)), place, is_complete(grid))


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
            text = _normalised(cell, dialect)
            whole = dialect.extract.format(x=text, p=dialect.literal("^(-?[0-9]+)[.]0+$"))
            text = f"CASE WHEN {matches(text, '-?[0-9]+[.]0+', dialect)} THEN {whole} ELSE {text} END"
            return f"nullif({text}, '')"
        case _:
            return dialect.to_text(utc(cell, type_name, dialect))


def key_text(cell: str, type_name: str, dialect: Dialect, *, points: bool) -> str:
    """Write a value as the text that is compared with declared ones, as `local_sql` does; null if it is missing."""
    if (family_of(type_name) or "text") != "text":
        return identity(cell, type_name, dialect)
    text = _normalised(cell, dialect)
    if not points:
        whole = dialect.extract.format(x=text, p=dialect.literal("^(-?[0-9]+)[.]0$"))
        text = f"CASE WHEN {matches(text, '-?(0|[1-9][0-9]*)[.]0', dialect)} THEN {whole} ELSE {text} END"
    return f"nullif({text}, '')"


def _normalised(cell: str, dialect: Dialect) -> str:
    """Write a cell as text without outer blanks, in composed Unicode if the engine can compose."""
    return dialect.compose.format(x=_trimmed(dialect.to_text(cell), dialect))


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
