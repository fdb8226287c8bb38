"""What a table holds, whatever the order of its rows and columns and whatever it is stored in, as a few numbers.

A cell stands for the text that it has in a text file, or for a fraction where that is the shortest text of its number.
(Of 17 to 24 letters, another text may stand for its number, too: so many digits are more than a number holds.) Texts
and fractions become words of 64 bits; a row's words are hashed one after the other, in the order of the columns'
names, with the finaliser of SplitMix64 (Steele, Lea and Flood 2014, "Fast splittable pseudorandom number generators",
with the constants of Stafford's variant 13), each bit of whose output depends on all bits of its input. Rows are added
up modulo 2⁶⁴ twice, as they are and hashed once more, so that their order does not matter and repeated ones count. A
change goes unnoticed with probability about 2⁻⁶⁴.

This is no secret and withstands no forger, and need not. Who owns the rows gains nothing from rows that are taken for
others: they are shown what was paid for already. The ledger keeps it under a key.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from dpengine import arrow as arrays

__all__ = ["Sums", "Told", "told"]

Words: TypeAlias = npt.NDArray[np.uint64]
Letters: TypeAlias = npt.NDArray[np.uint8]
Places: TypeAlias = npt.NDArray[np.int64]
Truths: TypeAlias = npt.NDArray[np.bool_]

_LONGEST = 128  # bytes of a text; a longer one is told by its MD5
_LISTED = 1 << 17  # from the least number or day to the greatest, so that the words of all are made once
_PLAIN = {
    *("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT"),
    *("BOOLEAN", "DATE", "DOUBLE"),
}
_LENGTH, _FRACTION, _AGAIN = (np.uint64(odd) for odd in (0x9E3779B97F4A7C15, 0xD1B54A32D192ED03, 0x8CB92BA72F3D8DD7))
_MOST = 24  # letters of the shortest text of a number
_BYTES = np.array([(1 << 8 * k) - 1 for k in range(9)], dtype=np.uint64)  # the first k of a word
_YEARS = (-719162, 2932896)  # from 0001-01-01 to 9999-12-31, in days from 1970


@dataclass(frozen=True, slots=True)
class Told:
    """A column that tells rows apart: ``cells`` are SQL by alias over the relation ``rows``, ``shown`` over aliases.

    ``words`` makes a word for each row from the arrays of what is shown.
    """

    cells: dict[str, str]
    shown: tuple[str, ...]
    words: Callable[..., Words]


def told(index: int, kind: str) -> Told:
    """The column ``c{index}``, which is of the given type."""
    c = f"told_{index}"
    if kind in _PLAIN:
        return Told({c: f"c{index}"}, (c,), _of_fractions if kind == "DOUBLE" else _Listed(kind))
    odd = " OR ".join(f"contains({c}, '{letter}')" for letter in "_eE")
    number = f"TRY_CAST({c} AS DOUBLE)"
    shortest = f"{number}::VARCHAR = {c}"
    fraction = (  # or what may be one: only in what is written plainly it is easily seen whether it is the shortest
        f"CASE WHEN {c} >= ':' THEN NULL "
        f"WHEN contains({c}, '.') THEN CASE WHEN NOT ({odd}) OR {shortest} THEN {number} END "
        f"WHEN strlen({c}) > 4 AND contains({c}, 'e') AND {shortest} THEN {number} END"
    )
    return Told({c: f"c{index}" if kind == "VARCHAR" else f"c{index}::VARCHAR"}, (c, fraction), _of_cells)


class Sums:
    """Rows added up: their number, and the two sums of what they are hashed to."""

    def __init__(self, columns: Sequence[Told]) -> None:
        self.columns = columns
        self._sums = np.zeros(3, dtype=np.uint64)
        self._adding = threading.Lock()

    def add(self, shown: Sequence[Any], number: int) -> None:
        """A batch of that number of rows; ``shown`` is what the columns show, one after the other."""
        arrays_shown = iter(shown)
        rows = np.zeros(number, dtype=np.uint64)
        spare = np.empty_like(rows)
        for column in self.columns:
            rows ^= column.words(*islice(arrays_shown, len(column.shown)))
            _mix(rows, spare)
        first = rows.sum()
        rows ^= _AGAIN
        _mix(rows, spare)
        with self._adding:
            self._sums += np.array([number, first, rows.sum()], dtype=np.uint64)

    @property
    def found(self) -> list[int]:
        return [int(own) for own in self._sums]


def _mix(words: Words, spare: Words) -> None:
    for shift, odd in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        np.right_shift(words, np.uint64(shift), out=spare)
        words ^= spare
        words *= np.uint64(odd)
    np.right_shift(words, np.uint64(31), out=spare)
    words ^= spare


def _held(texts: Any) -> tuple[Letters, Places, Places]:
    """All letters of an Arrow array of texts, each followed by eight at least; where each begins, and its length."""
    size = np.int64 if pa.types.is_large_string(texts.type) else np.int32
    _, places, data = texts.buffers()
    ends = np.frombuffer(places, dtype=size, count=texts.offset + len(texts) + 1)[texts.offset :].astype(np.int64)
    lengths = np.diff(ends)
    if texts.null_count:
        lengths[arrays.null_mask(texts)] = 0
    held = np.zeros(ends[-1] - ends[0] + 8, dtype=np.uint8)
    if data is not None:
        held[:-8] = np.frombuffer(data, dtype=np.uint8, count=ends[-1])[ends[0] :]
    return held, ends[:-1] - ends[0], lengths


def _of_texts(texts: Any) -> Words:
    """A word for each text of an Arrow array: its bytes, eight at a time, and its length; 0 for none."""
    return _of_letters(*_held(texts))


def _of_letters(held: Letters, starts: Places, lengths: Places) -> Words:
    eight = np.ndarray(len(held) - 7, dtype="<u8", buffer=held, strides=(1,))
    words: Words = eight[starts]
    words &= _BYTES[np.minimum(lengths, 8)]
    words += lengths.view(np.uint64) * _LENGTH
    long = np.flatnonzero(lengths > _LONGEST)
    if len(long):
        ends = zip(starts[long].tolist(), (starts + lengths)[long].tolist(), strict=True)
        words[long] = _of_texts(arrays.from_texts([hashlib.md5(held[i:j].tobytes()).hexdigest() for i, j in ends]))
    longer, done = np.flatnonzero((lengths > 8) & (lengths <= _LONGEST)), 8
    while len(longer):
        own = words[longer]
        _mix(own, np.empty_like(own))
        words[longer] = own ^ (eight[starts[longer] + done] & _BYTES[np.minimum(lengths[longer] - done, 8)])
        done += 8
        longer = longer[lengths[longer] > done]
    return words


def _of_fractions(numbers: Any) -> Words:
    values, absent = arrays.values_and_nulls(numbers)
    words = _of_numbers(values)
    if absent is not None:
        words[absent] = 0
    return words


def _of_numbers(values: npt.NDArray[np.float64]) -> Words:
    words: Words = values.view(np.uint64) + _FRACTION
    odd = ~np.isfinite(values)
    if odd.any():
        names = [str(value) for value in values[odd].tolist()]  # nan, inf, -inf
        words[odd] = _of_texts(arrays.from_texts(names))
    return words


def _of_cells(texts: Any, numbers: Any) -> Words:
    held, starts, lengths = _held(texts)
    words = _of_letters(held, starts, lengths)
    if numbers.null_count < len(numbers):
        values, absent = arrays.values_and_nulls(numbers)
        some = np.arange(len(values)) if absent is None else np.flatnonzero(~absent)
        some = some[_is_shortest(held, starts[some], lengths[some], values[some])]
        words[some] = _of_numbers(values[some])
    return words


def _is_shortest(held: Letters, starts: Places, lengths: Places, values: npt.NDArray[np.float64]) -> Truths:
    """Which texts of the numbers ``values`` are their shortest; those with an exponent are already known to be.

    The shortest text of a fraction has no blank or plus before it, no 0 but one before the point, none at the end but
    one right after the point; and an exponent below a ten-thousandth and from 10¹⁶ on. Of up to 15 digits a text that
    is written so is the shortest one: every number in 64 bits tells these apart.
    """
    begin = starts + (held[starts] == ord("-"))
    first, last, before = held[begin], held[starts + lengths - 1], held[starts + lengths - 2]
    size = np.abs(values)
    small = (size < 1e-4) & (size > 0)
    exponent = small | (size >= 1e16)
    zero = (first == ord("0")) & (held[begin + 1] == ord(".")) & ~small
    begins = ((first >= ord("1")) & (first <= ord("9"))) | zero
    digit = (last >= ord("1")) & (last <= ord("9"))
    ends = digit | ((last == ord("0")) & ((before == ord(".")) != exponent))
    sure: Truths = begins & ends & (lengths <= _MOST)
    return sure


class _Listed:
    """The words of whole numbers, truths or days, made once where they are near each other."""

    def __init__(self, kind: str) -> None:
        self._kind = kind
        self._known: tuple[int, Words] = 0, np.zeros(0, dtype=np.uint64)

    def __call__(self, column: Any) -> Words:
        values, absent = arrays.values_and_nulls(column)
        values = values.astype(np.uint64 if self._kind == "UBIGINT" else np.int64)
        if absent is None:
            return self._words(values)
        words = np.zeros(len(values), dtype=np.uint64)
        words[~absent] = self._words(values[~absent])
        return words

    def _words(self, values: npt.NDArray[Any]) -> Words:
        if not len(values):
            return np.zeros(0, dtype=np.uint64)
        first, known = self._known
        low, high = int(values.min()), int(values.max())
        if len(known):
            low, high = min(low, first), max(high, first + len(known) - 1)
        if high - low >= _LISTED:
            return self._made(values)
        if high - low >= len(known):
            first, known = self._known = low, self._made(np.arange(low, high + 1, dtype=values.dtype))
        found: Words = known.take(values - values.dtype.type(first))
        return found

    def _made(self, values: npt.NDArray[Any]) -> Words:
        if self._kind == "BOOLEAN":
            return _of_texts(arrays.from_texts(["false", "true"])).take(values)
        words = _of_texts(arrays.from_numpy(values).cast(pa.string()))
        if self._kind == "DATE":
            days = (values >= _YEARS[0]) & (values <= _YEARS[1])
            words[days] = _of_texts(
                arrays.from_numpy(values[days].astype(np.int32)).view(pa.date32()).cast(pa.string())
            )
        return words
