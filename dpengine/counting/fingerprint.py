"""Order-independent digests of a table's content. Equal for equal rows in any order of rows and columns.

There are two. `RowSums` serves rows that are here, in any format. A cell counts as its text in a text file, or as a
floating-point number where the text is the shortest one of its number. (A text of 17 to 24 characters may be another
one of the same number, since 64 bits hold no more digits.) Texts and numbers become words of 64 bits. The words of a
row are hashed one after the other, in the order of the columns' names, with the finaliser of SplitMix64. Rows are
added up modulo 2⁶⁴ twice, as they are and hashed once more, so order does not matter and repetitions count. A change
goes unnoticed with probability of about 2⁻⁶⁴.

`text_sums` serves rows in another engine, in SQL that all engines have: each row is written as one text and hashed by
MD5, and the hashes are added up modulo 2¹²⁸. Rows here can be digested that way too, several times slower.

Null and empty texts are alike, since both are missing. Neither digest is cryptographic: only the owner of the rows
could profit from a collision, and would gain nothing, since they are shown what was paid for already. The ledger
keeps digests under a key.

Source: Steele, Lea and Flood (2014), "Fast splittable pseudorandom number generators"; constants of Stafford's
variant 13, by which each bit of the output depends on all bits of the input.
"""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from dpengine import arrow
from dpengine.array_types import Bools, Ints
from dpengine.sources.dialects import Dialect
from dpengine.sources.table import Field

__all__ = ["TEXT_SUMS", "HashedColumn", "RowSums", "digest_of_text_sums", "hashed_column", "text_sums"]

Words: TypeAlias = npt.NDArray[np.uint64]
Bytes: TypeAlias = npt.NDArray[np.uint8]

TEXT_SUMS = {"n": "int64", **{f"s{w}": "string" for w in range(4)}}  # columns of `text_sums`, in Ibis's types

_MAX_BYTES = 128  # of a text; the MD5 of a longer one stands for it
_MAX_RANGE = 1 << 17  # from the smallest integer or date to the largest: their words are cached
_FIXED_WIDTH = {
    *("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT"),
    *("BOOLEAN", "DATE", "DOUBLE"),
}
_LENGTH, _NUMBER, _AGAIN = (np.uint64(odd) for odd in (0x9E3779B97F4A7C15, 0xD1B54A32D192ED03, 0x8CB92BA72F3D8DD7))
_MAX_NUMERAL = 24  # characters of the shortest text of a number
_FIRST_BYTES = np.array([(1 << 8 * k) - 1 for k in range(9)], dtype=np.uint64)  # the first k of a word
_DAYS = (-719162, 2932896)  # from 0001-01-01 to 9999-12-31, in days from 1970


@dataclass(frozen=True, slots=True)
class HashedColumn:
    """How one column is hashed: `cells` are SQL by alias over the relation `rows`, `shown` SQL over the aliases.

    `words` turns the arrays of what is shown into one word for each row.
    """

    cells: dict[str, str]
    shown: tuple[str, ...]
    words: Callable[..., Words]


def hashed_column(index: int, type_name: str) -> HashedColumn:
    """Return how the column ``c{index}``, which has the given DuckDB type, is hashed."""
    c = f"hashed_{index}"
    if type_name in _FIXED_WIDTH:
        return HashedColumn({c: f"c{index}"}, (c,), _of_floats if type_name == "DOUBLE" else _OfIntegers(type_name))
    odd = " OR ".join(f"contains({c}, '{letter}')" for letter in "_eE")
    number = f"TRY_CAST({c} AS DOUBLE)"
    shortest = f"{number}::VARCHAR = {c}"
    # Numbers that may be written in their shortest text: without an exponent, `_is_shortest` decides quickly.
    candidate = (
        f"CASE WHEN {c} >= ':' THEN NULL "
        f"WHEN contains({c}, '.') THEN CASE WHEN NOT ({odd}) OR {shortest} THEN {number} END "
        f"WHEN strlen({c}) > 4 AND contains({c}, 'e') AND {shortest} THEN {number} END"
    )
    cell = f"c{index}" if type_name == "VARCHAR" else f"c{index}::VARCHAR"
    return HashedColumn({c: cell}, (c, candidate), _of_texts_or_numbers)


class RowSums:
    """The number of rows, and two sums of their hashes."""

    def __init__(self, columns: Sequence[HashedColumn]) -> None:
        self.columns = columns
        self._sums = np.zeros(3, dtype=np.uint64)
        self._adding = threading.Lock()

    def add(self, shown: Sequence[Any], rows: int) -> None:
        """Add a batch of `rows` rows; `shown` is what the columns show, one after the other."""
        arrays = iter(shown)
        hashes = np.zeros(rows, dtype=np.uint64)
        spare = np.empty_like(hashes)
        for column in self.columns:
            hashes ^= column.words(*islice(arrays, len(column.shown)))
            _mix(hashes, spare)
        first = hashes.sum()
        hashes ^= _AGAIN
        _mix(hashes, spare)
        with self._adding:
            self._sums += np.array([rows, first, hashes.sum()], dtype=np.uint64)

    def digest(self, names: Sequence[str]) -> bytes:
        """Return the digest of a table whose columns have these names; `columns` are in the order of the names."""
        return hashlib.sha256(json.dumps([sorted(names), *self._sums.tolist()]).encode()).digest()


def text_sums(columns: Sequence[Field], rows: str, dialect: Dialect) -> str:
    """Write a query for the number `n` of rows, and the sums `s0` to `s3` of their MD5s' words of 32 bits.

    A row is written as its cells in the order of the columns' names, each led by its length in bytes; a missing cell
    is an empty one. Column i of `columns` is ``c{i}`` of the relation `rows`.
    """
    order = sorted(range(len(columns)), key=lambda i: columns[i].name)
    utc = {i: dialect.utc.format(x=f"c{i}") for i in order if columns[i].type == "TIMESTAMP WITH TIME ZONE"}
    texts = [f"coalesce({dialect.to_text(utc.get(i, f'c{i}'))}, '') AS t{i}" for i in order]
    lengths = {i: dialect.to_text(dialect.byte_length.format(x=f"t{i}")) for i in order}
    row = dialect.joined([part for i in order for part in (lengths[i], "':'", f"t{i}")])
    sums = []
    for word in range(4):  # the last byte of each is its highest one
        digits = " || ".join(f"substr(h, {8 * word + 2 * byte + 1}, 2)" for byte in (3, 2, 1, 0))
        number = dialect.hash_word.format(shift=32 * word, hex=f"({digits})")
        sums.append(dialect.to_text(f"sum({number})") + f" AS s{word}")
    hashed = f"SELECT {dialect.hash.format(x=row)} AS h FROM (SELECT {', '.join(texts)} FROM {rows}) AS texts"
    return f"SELECT count(*) AS n, {', '.join(sums)} FROM ({hashed}) AS hashed"


def digest_of_text_sums(names: Sequence[str], rows: int, sums: Sequence[str | None]) -> bytes:
    """Return the digest of a table whose columns have these names, from what `text_sums` found."""
    total = sum(int((text or "0").partition(".")[0]) << 32 * word for word, text in enumerate(sums)) % 2**128
    return hashlib.sha256(json.dumps([sorted(names), rows, f"{total:032x}"]).encode()).digest()


def _mix(words: Words, spare: Words) -> None:
    for shift, odd in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        np.right_shift(words, np.uint64(shift), out=spare)
        words ^= spare
        words *= np.uint64(odd)
    np.right_shift(words, np.uint64(31), out=spare)
    words ^= spare


def _buffer(texts: Any) -> tuple[Bytes, Ints, Ints]:
    """Return the UTF-8 buffer (padded by 8 bytes), offsets and lengths of a string array."""
    size = np.int64 if pa.types.is_large_string(texts.type) else np.int32
    _, offsets, data = texts.buffers()
    ends = np.frombuffer(offsets, dtype=size, count=texts.offset + len(texts) + 1)[texts.offset :].astype(np.int64)
    lengths = np.diff(ends)
    if texts.null_count:
        lengths[arrow.null_mask(texts)] = 0
    buffer = np.zeros(ends[-1] - ends[0] + 8, dtype=np.uint8)
    if data is not None:
        buffer[:-8] = np.frombuffer(data, dtype=np.uint8, count=ends[-1])[ends[0] :]
    return buffer, ends[:-1] - ends[0], lengths


def _of_texts(texts: Any) -> Words:
    """Return a word for each text of a string array: its bytes, eight at a time, and its length; 0 for null."""
    return _of_bytes(*_buffer(texts))


def _of_bytes(buffer: Bytes, starts: Ints, lengths: Ints) -> Words:
    eight = np.ndarray(len(buffer) - 7, dtype="<u8", buffer=buffer, strides=(1,))
    words: Words = eight[starts]
    words &= _FIRST_BYTES[np.minimum(lengths, 8)]
    words += lengths.view(np.uint64) * _LENGTH
    long = np.flatnonzero(lengths > _MAX_BYTES)
    if len(long):
        ends = zip(starts[long].tolist(), (starts + lengths)[long].tolist(), strict=True)
        words[long] = _of_texts(arrow.from_texts([hashlib.md5(buffer[i:j].tobytes()).hexdigest() for i, j in ends]))
    longer, done = np.flatnonzero((lengths > 8) & (lengths <= _MAX_BYTES)), 8
    while len(longer):
        hashed = words[longer]
        _mix(hashed, np.empty_like(hashed))
        words[longer] = hashed ^ (eight[starts[longer] + done] & _FIRST_BYTES[np.minimum(lengths[longer] - done, 8)])
        done += 8
        longer = longer[lengths[longer] > done]
    return words


def _of_floats(column: Any) -> Words:
    values, null = arrow.values_and_nulls(column)
    words = _of_numbers(values)
    if null is not None:
        words[null] = 0
    return words


def _of_numbers(values: npt.NDArray[np.float64]) -> Words:
    words: Words = values.view(np.uint64) + _NUMBER
    odd = ~np.isfinite(values)
    if odd.any():
        names = [str(value) for value in values[odd].tolist()]  # nan, inf, -inf
        words[odd] = _of_texts(arrow.from_texts(names))
    return words


def _of_texts_or_numbers(texts: Any, numbers: Any) -> Words:
    """Return the words of texts, or of the numbers that they are the shortest text of; `numbers` are candidates."""
    buffer, starts, lengths = _buffer(texts)
    words = _of_bytes(buffer, starts, lengths)
    if numbers.null_count < len(numbers):
        values, null = arrow.values_and_nulls(numbers)
        some = np.arange(len(values)) if null is None else np.flatnonzero(~null)
        some = some[_is_shortest(buffer, starts[some], lengths[some], values[some])]
        words[some] = _of_numbers(values[some])
    return words


def _is_shortest(buffer: Bytes, starts: Ints, lengths: Ints, values: npt.NDArray[np.float64]) -> Bools:
    """Return which texts are the shortest ones of their numbers `values`; those with an exponent are known to be.

    The shortest text of a fraction begins with no blank or plus, has a single 0 before the point or none, and no 0 at
    its end except right after the point; it has an exponent below 10⁻⁴ and from 10¹⁶ on. A text of up to 15 digits
    that is written so is the shortest one, since 64 bits tell all numbers of so many digits apart.
    """
    begin = starts + (buffer[starts] == ord("-"))
    first, last, before = buffer[begin], buffer[starts + lengths - 1], buffer[starts + lengths - 2]
    size = np.abs(values)
    small = (size < 1e-4) & (size > 0)
    exponent = small | (size >= 1e16)
    zero = (first == ord("0")) & (buffer[begin + 1] == ord(".")) & ~small
    begins = ((first >= ord("1")) & (first <= ord("9"))) | zero
    digit = (last >= ord("1")) & (last <= ord("9"))
    ends = digit | ((last == ord("0")) & ((before == ord(".")) != exponent))
    shortest: Bools = begins & ends & (lengths <= _MAX_NUMERAL)
    return shortest


class _OfIntegers:
    """Cached hash words of integers, booleans or dates of a small range."""

    def __init__(self, type_name: str) -> None:
        self._type = type_name
        self._cache: tuple[int, Words] = 0, np.zeros(0, dtype=np.uint64)

    def __call__(self, column: Any) -> Words:
        values, null = arrow.values_and_nulls(column)
        values = values.astype(np.uint64 if self._type == "UBIGINT" else np.int64)
        if null is None:
            return self._words(values)
        words = np.zeros(len(values), dtype=np.uint64)
        words[~null] = self._words(values[~null])
        return words

    def _words(self, values: npt.NDArray[Any]) -> Words:
        if not len(values):
            return np.zeros(0, dtype=np.uint64)
        first, cached = self._cache
        low, high = int(values.min()), int(values.max())
        if len(cached):
            low, high = min(low, first), max(high, first + len(cached) - 1)
        if high - low >= _MAX_RANGE:
            return self._hashed(values)
        if high - low >= len(cached):
            first, cached = self._cache = low, self._hashed(np.arange(low, high + 1, dtype=values.dtype))
        words: Words = cached.take(values - values.dtype.type(first))
        return words

    def _hashed(self, values: npt.NDArray[Any]) -> Words:
        if self._type == "BOOLEAN":
            return _of_texts(arrow.from_texts(["false", "true"])).take(values)
        words = _of_texts(arrow.from_numpy(values).cast(pa.string()))
        if self._type == "DATE":
            days = (values >= _DAYS[0]) & (values <= _DAYS[1])
            words[days] = _of_texts(arrow.from_numpy(values[days].astype(np.int32)).view(pa.date32()).cast(pa.string()))
        return words
