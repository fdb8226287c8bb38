"""Bin boundaries: the code of a typed value as a step function.

Numbers, booleans, dates and timestamps are ordered, and every declared cell is a range of them; a single value is the
range up to the next value of its type. So an engine needs only a list of boundaries, in the column's own type, and the
code of each interval between them: no text, arithmetic or rounding that two engines could do differently.

A number is read as the 64-bit floating-point number of its shortest text, so 0.7 as a 32-bit number or as a decimal
equals an edge of 0.7. The boundaries account for that exactly.
"""

from __future__ import annotations

import datetime as dt
import math
import re
import struct
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from decimal import Context, Decimal
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np

from dpengine.counting.encoding.declared_texts import Family, codes_by_text, normalised, plain_numeral, whole_text
from dpengine.spec.domain import Category, Column, Date, Number, Time, YesNo

__all__ = [
    "NO", "NUMERAL", "YES", "Boundaries", "Scalar", "boundaries_of", "family_of", "missing_numbers", "missing_scalars",
    "period_boundaries",
]  # fmt: skip

Scalar: TypeAlias = "bool | int | float | Decimal | dt.date | dt.datetime"

NUMERAL = r"[+-]?([0-9]+[.]?[0-9]*|[.][0-9]+)([eE][+-]?[0-9]{1,4})?"
YES, NO = ("yes", "true", "y", "t", "1", "1.0"), ("no", "false", "n", "f", "0", "0.0")
_FAMILIES: tuple[tuple[Family, str], ...] = (
    ("text", r"VARCHAR|ENUM.*|UUID|TIME|TIME_NS|\"?(NULL|null)\"?"),
    ("integer", r"U?(TINY|SMALL|BIG|HUGE)?INT|U?INTEGER"),
    ("float", r"FLOAT|DOUBLE"),
    ("decimal", r"DECIMAL.*"),
    ("boolean", r"BOOLEAN"),
    ("date", r"DATE"),
    ("timestamp", r"TIMESTAMP( WITH TIME ZONE|_NS|_MS|_S)?"),
)
_BITS = {"TINYINT": 8, "SMALLINT": 16, "INTEGER": 32, "BIGINT": 64, "HUGEINT": 128}
_FLOAT = NUMERAL + "|[+-]?inf"
_WIDE = Context(prec=200)
_EPOCH = dt.datetime(1970, 1, 1)
_MICROSECOND = dt.timedelta(microseconds=1)


@dataclass(frozen=True, slots=True)
class Boundaries:
    """A step function: values from ``bounds[k]`` to below ``bounds[k + 1]`` have the code ``codes[k + 1]``.

    Values below all bounds have ``codes[0]``. `missing` is the code of null and of NaN.
    """

    bounds: tuple[Scalar, ...]
    codes: tuple[int, ...]
    missing: int

    def code(self, value: Scalar) -> int:
        """Return the code of one value.

        >>> Boundaries((0, 18), codes=(2, 0, 1), missing=3).code(17)
        0
        """
        return self.codes[bisect_right(self.bounds, value)]


def family_of(type_name: str) -> Family | None:
    """Return the family of a DuckDB type, or None for a type that cannot be counted (lists, structs, binary).

    >>> family_of("UBIGINT"), family_of("DECIMAL(9,2)"), family_of("INTEGER[]")
    ('integer', 'decimal', None)
    """
    if type_name.endswith("]"):
        return None
    return next((family for family, pattern in _FAMILIES if re.fullmatch(pattern, type_name, re.DOTALL)), None)


def boundaries_of(column: Column, type_name: str, max_cells: int) -> Boundaries | None:
    """Return the boundaries of a column whose values have the given DuckDB type.

    None for texts, for date and time columns, and for columns of more than `max_cells` cells.
    """
    values = _ordered_type(type_name)
    if values is None or isinstance(column, Date | Time) or column.size > max_cells:
        return None
    bins, bin_codes = _bins(column, values)
    single = {start: (stop, code) for start, stop, code in _single_values(column, values)}
    ends = [end for start, (stop, _) in single.items() for end in (start, stop)]
    runs: list[tuple[int, int]] = []  # (first value, code)
    until, single_code = values.low, column.other_code
    for start in sorted({values.low, *(max(bound, values.low) for bound in (*bins, *ends))}):
        if start in single:
            until, single_code = single[start]
        code = single_code if start < until else bin_codes[bisect_right(bins, start)]
        if start <= values.high and (not runs or code != runs[-1][1]):
            runs.append((start, code))
    bounds = tuple(values.value(start) for start, _ in runs[1:])
    return Boundaries(bounds, tuple(code for _, code in runs), column.missing_code)


def _bins(column: Column, values: _OrderedType) -> tuple[list[int], list[int]]:
    """Return the first value of each bin and the one after the last, and the codes before, between and after these."""
    if not isinstance(column, Number) or values.at_least is None:
        return [], [column.other_code]
    edges = [float(edge) for edge in column.edges]
    # The last bin holds its upper edge.
    starts = [values.at_least(edge) for edge in (*edges[:-1], math.nextafter(edges[-1], math.inf))]
    return starts, [column.other_code, *range(len(edges) - 1), column.other_code]


def missing_scalars(column: Column, type_name: str) -> list[Scalar]:
    """Return the values of a date or timestamp type that equal one of a column's missing markers."""
    values = _ordered_type(type_name)
    return [] if values is None else [values.value(start) for start, _, _ in _single_values(column, values)]


def period_boundaries(column: Date) -> Boundaries:
    """Return the boundaries of a date column's periods, as proleptic ordinals (`datetime.date.toordinal`).

    >>> year = Date(**{"name": "d", "from": "2024-03-01", "to": "2025-06-30", "by": "year"})
    >>> period_boundaries(year)
    Boundaries(bounds=(738946, 739252, 739433), codes=(2, 0, 1, 2), missing=3)
    """
    starts = [column.period(k)[0].toordinal() for k in column.ordinals]
    codes = (column.other_code, *range(len(starts)), column.other_code)
    return Boundaries((*starts, column.last.toordinal() + 1), codes, column.missing_code)


@dataclass(frozen=True, slots=True)
class _OrderedType:
    """The values of one type, numbered in their order from `low` to `high`."""

    family: Family
    low: int
    high: int
    value: Callable[[int], Scalar]
    index: Callable[[Any], int]
    texts: Callable[[Any], tuple[str, str]]  # raw and normalised
    parse: Callable[[str], Scalar | None]
    at_least: Callable[[float], int] | None = None  # index of the first value that reads as this number or more


def _ordered_type(type_name: str) -> _OrderedType | None:
    """Return the values of a DuckDB type in their order; None for texts and other types."""
    match family_of(type_name):
        case "boolean":
            return _BOOLEANS
        case "integer":
            return _integers(type_name)
        case "decimal":
            return _decimals(type_name)
        case "float":
            return _floats(small=type_name == "FLOAT")
        case "date":
            return _DATES
        case "timestamp":
            return _timestamps()
        case _:
            return None


_BOOLEANS = _OrderedType(
    "boolean", low=0, high=1, value=bool, index=int,
    texts=lambda value: ("True", "true") if value else ("False", "false"),
    parse=lambda text: {"true": True, "false": False, "1": True, "0": False}.get(text.strip().lower()),
    at_least=lambda number: _first_scaled(number, 0),
)  # fmt: skip
_DATES = _OrderedType(
    "date", low=1, high=dt.date.max.toordinal(), value=dt.date.fromordinal, index=dt.date.toordinal,
    texts=lambda day: (day.isoformat(), day.isoformat()),
    parse=lambda text: _parse(text, dt.date.fromisoformat),
)  # fmt: skip


def _integers(type_name: str) -> _OrderedType:
    bits = _BITS.get(type_name.removeprefix("U"), 64)
    low, high = (0, 2**bits - 1) if type_name[0] == "U" else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
    return _OrderedType(
        "integer", low=low, high=high, value=int, index=int,
        texts=lambda whole: (str(whole), str(whole)),
        parse=lambda text: None if (whole := _scaled(text.strip(), 0)) is None else int(whole),
        at_least=lambda number: _first_scaled(number, 0),
    )  # fmt: skip


def _decimals(type_name: str) -> _OrderedType:
    digits, scale = (int(part) for part in re.findall(r"[0-9]+", type_name) or (38, 0))
    return _OrderedType(
        "decimal", low=1 - 10**digits, high=10**digits - 1,
        value=lambda i: Decimal(i).scaleb(-scale, _WIDE),
        index=lambda value: int(value.scaleb(scale, _WIDE)),
        texts=lambda value: (f"{value:f}", plain_numeral(value)),
        parse=lambda text: _scaled(text.strip(), scale),
        at_least=lambda number: _first_scaled(number, scale),
    )  # fmt: skip


def _floats(*, small: bool) -> _OrderedType:
    """Return the floating-point numbers of 64 bits, or of 32 if they are `small`."""
    return _OrderedType(
        "float", low=_bits(-math.inf, small), high=_bits(math.inf, small),
        value=lambda i: _float(i, small),
        index=lambda value: _bits(value, small),
        texts=lambda value: (raw := _shortest(value, small), whole_text(float(raw)) or raw),
        parse=lambda text: _rounded(float(text), small) if re.fullmatch(_FLOAT, text := text.strip()) else None,
        at_least=lambda number: _first_float(number, small),
    )  # fmt: skip


def _timestamps() -> _OrderedType:
    low, high = ((end - _EPOCH) // _MICROSECOND for end in (dt.datetime.min, dt.datetime.max))
    return _OrderedType(
        "timestamp", low=low, high=high,
        value=lambda i: _EPOCH + i * _MICROSECOND,
        index=lambda at: (at - _EPOCH) // _MICROSECOND,
        texts=_timestamp_texts,
        parse=lambda text: _parse(text, dt.datetime.fromisoformat),
    )  # fmt: skip


def _single_values(column: Column, values: _OrderedType) -> Iterator[tuple[int, int, int]]:
    """Yield (start, stop, code) of the values that are named by labels or missing markers."""
    texts = [*column.missing_as]
    match column:
        case Category():
            texts += column.values
            by_raw, by_form = codes_by_text(column, values.family)
        case YesNo():
            texts += [*YES, *NO]
    missing = {normalised(text, values.family) for text in column.missing_as}
    for value in {values.parse(text) for text in texts} - {None}:
        index = values.index(value)
        if not values.low <= index <= values.high:
            continue
        raw, form = values.texts(values.value(index))
        if raw in column.missing_as or form in missing:
            yield index, index + 1, column.missing_code
        elif isinstance(column, Category) and (raw in by_raw or form in by_form):
            yield index, index + 1, by_raw.get(raw, by_form.get(form, 0))
        elif isinstance(column, YesNo) and form in YES + NO:
            yield index, index + 1, 0 if form in YES else 1
    if isinstance(column, Number) and values.at_least is not None:
        for marker in missing_numbers(column.missing_as):
            stop = values.at_least(math.nextafter(marker, math.inf))
            yield values.at_least(marker), stop, column.missing_code


def missing_numbers(texts: Iterable[str]) -> list[float]:
    """Return the finite numbers among missing markers; 1e400 equals no 64-bit number, so only its text is a marker.

    >>> missing_numbers(["-9", "NA", "1e400"])
    [-9.0]
    """
    numbers = [float(text) for text in texts if re.fullmatch(NUMERAL, text.strip())]
    return [number for number in numbers if math.isfinite(number)]


def _first_scaled(number: float, scale: int) -> int:
    """Return the smallest i for which i·10^−scale, rounded to 64 bits, is at least `number`."""
    if math.isinf(number):
        return 10**400 if number > 0 else -(10**400)
    halfway = (Fraction(number) + Fraction(math.nextafter(number, -math.inf))) / 2
    first: int = math.ceil(halfway * 10**scale)
    return first if first / 10**scale >= number else first + 1  # a tie is rounded to the even neighbour


def _first_float(number: float, small: bool) -> int:
    """Return the index of the first floating-point number whose shortest text is a number of at least `number`."""
    index = _bits(_rounded(number, small), small)
    while _read(_float(index, small), small) < number:
        index += 1
    while _read(_float(index - 1, small), small) >= number:
        index -= 1
    return index


def _bits(value: float, small: bool) -> int:
    """Return the index of a floating-point number among all of its width, in their order; both zeros have 0."""
    index = int.from_bytes(struct.pack(">f" if small else ">d", abs(value)))
    return -index if value < 0 else index


def _float(index: int, small: bool) -> float:
    value: float = struct.unpack(">f" if small else ">d", abs(index).to_bytes(4 if small else 8))[0]
    return -value if index < 0 else value


def _rounded(number: float, small: bool) -> float:
    with np.errstate(over="ignore"):
        return float(np.float32(number)) if small else number


def _shortest(value: float, small: bool) -> str:
    return repr(float(str(np.float32(value)))) if small else repr(value)


def _read(value: float, small: bool) -> float:
    """Return a number's shortest text, read as a 64-bit number."""
    return float(_shortest(value, small))


def _scaled(text: str, scale: int) -> Decimal | None:
    """Parse a number; None for any other text, or if it needs more than `scale` decimals."""
    if not re.fullmatch(NUMERAL, text) or len(text) > 60:
        return None
    value = Decimal(text)
    finite = -60 < value.adjusted() < 60
    return value if finite and (Fraction(value) * 10**scale).denominator == 1 else None


def _parse(text: str, read: Callable[[str], dt.date]) -> dt.date | None:
    """Parse a date or a timestamp without a zone; None for any other text."""
    try:
        value = read(text.strip())
    except ValueError:
        return None
    return None if isinstance(value, dt.datetime) and value.tzinfo else value


def _timestamp_texts(at: dt.datetime) -> tuple[str, str]:
    """Return the raw and the normalised text of a moment; midnight is normalised to its day."""
    raw = at.isoformat(" ")
    raw = raw.rstrip("0") if at.microsecond else raw
    return raw, at.date().isoformat() if at.time() == dt.time() else raw.replace(" ", "T")
