"""Cells of values that have a declared type, as a step function: which code holds from which value on.

Numbers, truths, days and moments are ordered, and a declared cell of any kind is a range of them (a single
value is the range up to the next one that its type can hold). So all that an engine needs to know of such a
column is a list of cuts, compared in the column's own type, and a code between each two: no text, no
arithmetic and no rounding that engines could do each in their own way.

Numbers are read as 64-bit floating point numbers say them, by way of their shortest text: the 0.7 of a
32-bit number or of a decimal is the 0.7 of an edge. The cuts account for that exactly.
"""

from __future__ import annotations

import datetime as dt
import math
import re
import struct
import unicodedata
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from decimal import Context, Decimal
from fractions import Fraction
from typing import Any, Literal, TypeAlias, TypeVar

import numpy as np

from dpengine.spec.domain import Category, Column, Date, Number, YesNo

__all__ = [
    "NO",
    "NUMERAL",
    "YES",
    "Family",
    "Scalar",
    "Steps",
    "family_of",
    "lookups",
    "loosened",
    "marked",
    "steps_of",
    "tree",
]

Family = Literal["text", "integer", "float", "decimal", "boolean", "date", "timestamp"]
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
Made = TypeVar("Made")
_BITS = {"TINYINT": 8, "SMALLINT": 16, "INTEGER": 32, "BIGINT": 64, "HUGEINT": 128}
_FLOAT = NUMERAL + "|[+-]?inf"
_WIDE = Context(prec=200)
_EPOCH = dt.datetime(1970, 1, 1)
_MICROSECOND = dt.timedelta(microseconds=1)


@dataclass(frozen=True, slots=True)
class Steps:
    """From ``cuts[k]`` on, and before ``cuts[k + 1]``, values have ``codes[k + 1]``; before all cuts ``codes[0]``.

    ``missing`` is the code of nulls, and of NaN.
    """

    cuts: tuple[Scalar, ...]
    codes: tuple[int, ...]
    missing: int

    def code(self, value: Scalar) -> int:
        """The code of one value."""
        return self.codes[bisect_right(self.cuts, value)]


def family_of(type_name: str) -> Family | None:
    """The family of a DuckDB type; None for what cannot be counted (lists, structs, binary)."""
    if type_name.endswith("]"):
        return None
    return next((family for family, pattern in _FAMILIES if re.fullmatch(pattern, type_name, re.DOTALL)), None)


def loosened(text: str, family: Family = "text") -> str:
    """A declared text in the form that a cell's loose text has."""
    loose = unicodedata.normalize("NFC", text.strip())
    return loose.lower() if family == "boolean" else loose


def lookups(column: Category, family: Family) -> tuple[dict[str, int], dict[str, int]]:
    """Codes by own text; and by loose text, where that means one declared value only."""
    exact = {value: code for code, value in enumerate(column.values)}
    shared = Counter(loosened(value, family) for value in column.values)
    loose = {key: code for code, value in enumerate(column.values) if shared[key := loosened(value, family)] == 1}
    for text in column.missing_as:
        exact[text] = loose[loosened(text, family)] = column.missing_code
    return exact, loose


def steps_of(column: Column, type_name: str, most: int) -> Steps | None:
    """The step function of a column of this type; None for texts, date columns, and more than ``most`` cells."""
    grid = _grid(type_name)
    if grid is None or isinstance(column, Date) or column.size > most:
        return None
    cuts, codes = [], [column.other_code]
    if isinstance(column, Number) and grid.at_least is not None:
        edges = [float(edge) for edge in column.edges]
        # The last bin holds its upper edge.
        cuts = [grid.at_least(edge) for edge in (*edges[:-1], math.nextafter(edges[-1], math.inf))]
        codes += [*range(len(edges) - 1), column.other_code]
    over = {start: (stop, code) for start, stop, code in _spots(column, grid)}
    ends = [end for start, (stop, _) in over.items() for end in (start, stop)]
    found: list[tuple[int, int]] = []
    until, above = grid.low, column.other_code
    for start in sorted({grid.low, *(max(cut, grid.low) for cut in cuts), *(max(end, grid.low) for end in ends)}):
        if start in over:
            until, above = over[start]
        code = above if start < until else codes[bisect_right(cuts, start)]
        if start <= grid.high and (not found or code != found[-1][1]):
            found.append((start, code))
    return Steps(
        tuple(grid.value(start) for start, _ in found[1:]), tuple(code for _, code in found), column.missing_code
    )


def marked(column: Column, type_name: str) -> list[Scalar]:
    """The days or moments that mean *missing* in a date column of this type."""
    grid = _grid(type_name)
    return [] if grid is None else [grid.value(start) for start, _, _ in _spots(column, grid)]


def tree(steps: Steps, less: Callable[[Scalar], Any], choose: Callable[[Any, Made, Made], Made],
         leaf: Callable[[int], Made]) -> Made:  # fmt: skip
    """The step function as a tree of comparisons with the cuts, as deep as the logarithm of their number."""

    def between(low: int, high: int) -> Made:
        if low == high:
            return leaf(steps.codes[low])
        middle = (low + high) // 2
        return choose(less(steps.cuts[middle]), between(low, middle), between(middle + 1, high))

    return between(0, len(steps.cuts))


@dataclass(frozen=True, slots=True)
class _Grid:
    """The values of one type, numbered in their order from ``low`` to ``high``."""

    family: Family
    low: int
    high: int
    value: Callable[[int], Scalar]
    index: Callable[[Any], int]
    texts: Callable[[Any], tuple[str, str]]  # own and loose
    parse: Callable[[str], Scalar | None]
    at_least: Callable[[float], int] | None = None  # the first value that reads as this number or more


def _grid(type_name: str) -> _Grid | None:
    family = family_of(type_name)
    match family:
        case "boolean":
            return _Grid(
                family, 0, 1, bool, int,
                lambda truth: ("True", "true") if truth else ("False", "false"),
                lambda text: {"true": True, "false": False, "1": True, "0": False}.get(text.strip().lower()),
                lambda number: _first_scaled(number, 0),
            )  # fmt: skip
        case "integer":
            bits = _BITS.get(type_name.removeprefix("U"), 64)
            low, high = (0, 2**bits - 1) if type_name[0] == "U" else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
            return _Grid(
                family, low, high, int, int, lambda whole: (str(whole), str(whole)),
                lambda text: int(text) if re.fullmatch(r"[+-]?[0-9]{1,40}", text := text.strip()) else None,
                lambda number: _first_scaled(number, 0),
            )  # fmt: skip
        case "decimal":
            digits, scale = (int(part) for part in re.findall(r"[0-9]+", type_name) or (38, 0))
            return _Grid(
                family, 1 - 10**digits, 10**digits - 1,
                lambda i: Decimal(i).scaleb(-scale, _WIDE), lambda value: int(value.scaleb(scale, _WIDE)),
                lambda value: (f"{value:f}", str(int(value)) if _whole(value) else f"{value:f}"),
                lambda text: _scaled(text.strip(), scale), lambda number: _first_scaled(number, scale),
            )  # fmt: skip
        case "float":
            small = type_name == "FLOAT"
            return _Grid(
                family, _bits(-math.inf, small), _bits(math.inf, small),
                lambda i: _float(i, small), lambda value: _bits(value, small),
                lambda value: (own := _shortest(value, small), str(int(value)) if _whole(value) else own),
                lambda text: _rounded(float(text), small) if re.fullmatch(_FLOAT, text := text.strip()) else None,
                lambda number: _first_float(number, small),
            )  # fmt: skip
        case "date":
            return _Grid(
                family, 1, dt.date.max.toordinal(), dt.date.fromordinal, dt.date.toordinal,
                lambda day: (day.isoformat(), day.isoformat()), lambda text: _moment(text, dt.date.fromisoformat),
            )  # fmt: skip
        case "timestamp":
            low, high = ((moment - _EPOCH) // _MICROSECOND for moment in (dt.datetime.min, dt.datetime.max))
            return _Grid(
                family, low, high, lambda i: _EPOCH + i * _MICROSECOND, lambda at: (at - _EPOCH) // _MICROSECOND,
                _moment_texts, lambda text: _moment(text, dt.datetime.fromisoformat),
            )  # fmt: skip
        case _:
            return None


def _spots(column: Column, grid: _Grid) -> Iterator[tuple[int, int, int]]:
    """What declared texts say of single values: ranges (start, stop, code)."""
    texts = [*column.missing_as]
    match column:
        case Category():
            texts += column.values
            exact, loose = lookups(column, grid.family)
        case YesNo():
            texts += [*YES, *NO]
    missing = {loosened(text, grid.family) for text in column.missing_as}
    for value in {grid.parse(text) for text in texts} - {None}:
        index = grid.index(value)
        if not grid.low <= index <= grid.high:
            continue
        own, near = grid.texts(grid.value(index))
        if own in column.missing_as or near in missing:
            yield index, index + 1, column.missing_code
        elif isinstance(column, Category) and (own in exact or near in loose):
            yield index, index + 1, exact.get(own, loose.get(near, 0))
        elif isinstance(column, YesNo) and near in YES + NO:
            yield index, index + 1, 0 if near in YES else 1
    if isinstance(column, Number) and grid.at_least is not None:
        for mark in (float(text) for text in column.missing_as if re.fullmatch(NUMERAL, text.strip())):
            if math.isfinite(mark):  # 1e400 equals no number
                yield grid.at_least(mark), grid.at_least(math.nextafter(mark, math.inf)), column.missing_code


def _first_scaled(number: float, scale: int) -> int:
    """The smallest i such that i·10^−scale, rounded to 64 bits, is ``number`` or more."""
    if math.isinf(number):
        return 10**400 if number > 0 else -(10**400)
    halfway = (Fraction(number) + Fraction(math.nextafter(number, -math.inf))) / 2
    first: int = math.ceil(halfway * 10**scale)
    return first if first / 10**scale >= number else first + 1  # of halves, the even neighbour decides


def _first_float(number: float, small: bool) -> int:
    index = _bits(_rounded(number, small), small)
    while _read(_float(index, small), small) < number:
        index += 1
    while _read(_float(index - 1, small), small) >= number:
        index -= 1
    return index


def _bits(value: float, small: bool) -> int:
    """The place of a number among all of its type; both zeros are 0."""
    place = int.from_bytes(struct.pack(">f" if small else ">d", abs(value)))
    return -place if value < 0 else place


def _float(index: int, small: bool) -> float:
    value: float = struct.unpack(">f" if small else ">d", abs(index).to_bytes(4 if small else 8))[0]
    return -value if index < 0 else value


def _rounded(number: float, small: bool) -> float:
    with np.errstate(over="ignore"):
        return float(np.float32(number)) if small else number


def _shortest(value: float, small: bool) -> str:
    return repr(float(str(np.float32(value)))) if small else repr(value)


def _read(value: float, small: bool) -> float:
    """What a number reads as, by way of its shortest text."""
    return float(_shortest(value, small))


def _whole(value: float | Decimal) -> bool:
    return math.isfinite(value) and value == int(value) and abs(int(value)) < 2**53


def _scaled(text: str, scale: int) -> Decimal | None:
    """The number that a text says, where one with so many decimals can say it."""
    if not re.fullmatch(NUMERAL, text) or len(text) > 60:
        return None
    value = Decimal(text)
    finite = -60 < value.adjusted() < 60
    return value if finite and (Fraction(value) * 10**scale).denominator == 1 else None


def _moment(text: str, read: Callable[[str], Scalar]) -> Scalar | None:
    try:
        moment = read(text.strip())
    except ValueError:
        return None
    return None if isinstance(moment, dt.datetime) and moment.tzinfo else moment


def _moment_texts(at: dt.datetime) -> tuple[str, str]:
    own = at.isoformat(" ")
    own = own.rstrip("0") if at.microsecond else own
    return own, at.date().isoformat() if at.time() == dt.time() else own.replace(" ", "T")
