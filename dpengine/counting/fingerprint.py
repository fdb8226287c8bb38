"""Digests of a table's content: equal for equal rows, in any order of rows and columns.

`RowSums` is for rows on this machine, in any format; `text_digest` is for rows in another engine. A cell counts as its
text in a text file, or as a floating-point number if the text is the number's shortest one. (A text of 17 to 24
characters may be another text of the same number, since 64 bits hold no more digits.) Texts and numbers become words of
64 bits. The words of a row are hashed one after the other, in the order of the columns' names, by the finaliser of
SplitMix64. The hashes of all rows are added up modulo 2⁶⁴, and so are the hashes of these hashes: the order of rows
does not matter, and repeated rows count. A change goes unnoticed with a probability of about 2⁻⁶⁴.

Null and empty texts are alike, since both are missing. The digest is not cryptographic: only the owner of the rows
could make a collision, and would gain nothing but a release that is paid for already. The ledger keeps keyed digests.
"""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby, islice
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from dpengine import arrow
from dpengine.accounting.sketch import BINS
from dpengine.array_types import Bools, Ints
from dpengine.quasi_random import mix64
from dpengine.sources.mixed import text_of

__all__ = [
    "FIXED_WIDTH", "HashedColumn", "RowSums", "bins_of", "hashed_columns", "is_shortest", "text_buffer", "words_of",
    "words_of_bytes", "words_of_numbers", "words_of_texts",
]  # fmt: skip

Words: TypeAlias = npt.NDArray[np.uint64]
Bytes: TypeAlias = npt.NDArray[np.uint8]

FIXED_WIDTH = {  # types whose values are hashed as they are
    *("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT"),
    *("BOOLEAN", "DATE", "DOUBLE"),
}

_TOGETHER = 64  # columns of texts that are hashed at once
_MAX_BYTES = 128  # of a text; a longer one is represented by its MD5
_LONG = 1024  # bytes of a text from which DuckDB itself takes the MD5; the words are the same
_MAX_RANGE = 1 << 17  # from the smallest integer or date to the largest: their words are cached
_LENGTH, _NUMBER, _AGAIN = (np.uint64(odd) for odd in (0x9E3779B97F4A7C15, 0xD1B54A32D192ED03, 0x8CB92BA72F3D8DD7))
_SPREAD = np.uint64(0xDA942042E4DD58B5)
_MAX_HISTOGRAMS = 512  # limit for columns
_TO_BIN = np.uint64(64 - (BINS - 1).bit_length())
_MAX_NUMERAL = 24  # characters of the shortest text of a number
_FIRST_BYTES = np.array([(1 << 8 * k) - 1 for k in range(9)], dtype=np.uint64)  # the first k of a word
_DAYS = (-719162, 2932896)  # from 0001-01-01 to 9999-12-31, in days from 1970


@dataclass(frozen=True, slots=True)
class HashedColumn:
    """The hashing of a column: `cells` are SQL by alias over the relation `rows`, `outputs` SQL over the aliases.

    `words` turns the arrays of the outputs into one word for each row. It may also stand for several columns in turn,
    and return the words of one column after the other, in two dimensions.
    """

    cells: dict[str, str]
    outputs: tuple[str, ...]
    words: Callable[..., Words]


def hashed_columns(
    columns: Sequence[tuple[int, str]], listed: Mapping[int, Sequence[str]] = {}, *, many: int = 200
) -> list[HashedColumn]:
    """Return the hashing of columns, each given by its place i (``c{i}``) and its DuckDB type.

    Those of `listed` are texts ``raw_{i}`` with the place ``place_{i}`` in that list, or null. DuckDB finds numbers
    among texts quickly, but takes a millisecond and 300 kB to prepare this for each column. So in a table of more than
    `many` columns, they are found here, in several columns at a time.
    """
    if len(columns) <= many:
        return [_hashed_column(*column, listed.get(column[0])) for column in columns]
    hashed: list[HashedColumn] = []
    for fixed, grouped in groupby(columns, lambda column: column[1] in FIXED_WIDTH):
        group = list(grouped)
        if fixed:
            hashed += [_hashed_column(*column) for column in group]
        else:
            hashed += [_hashed_texts(group[k : k + _TOGETHER]) for k in range(0, len(group), _TOGETHER)]
    return hashed


def _hashed_texts(columns: Sequence[tuple[int, str]]) -> HashedColumn:
    """Return the hashing of several columns of texts at once, which finds numbers among them without the engine."""
    cells = {f"hashed_{index}": text_of(f"c{index}", each) for index, each in columns}
    return HashedColumn(cells, tuple(cells), words_of_texts)


def _hashed_column(index: int, type_name: str, listed: Sequence[str] | None = None) -> HashedColumn:
    c = f"hashed_{index}"
    if type_name in FIXED_WIDTH:
        return HashedColumn({c: f"c{index}"}, (c,), _float_words if type_name == "DOUBLE" else _IntegerWords(type_name))
    # A batch of very long texts, possibly a single dictionary entry, would fill the memory.
    if listed is None:
        text = text_of(f"c{index}", type_name)
        cell = f"CASE WHEN strlen({text}) > {_LONG} THEN md5({text}) ELSE {text} END"
        return HashedColumn({c: cell}, (c, _candidate(c)), _text_or_number_words)
    place, raw = f"place_{index}", f"raw_{index}"
    rest = f"WHEN strlen({raw}) > {_LONG} THEN md5({raw}) ELSE {raw} END"
    candidate = f"CASE WHEN {place} IS NULL THEN {_candidate(raw)} END"
    return HashedColumn({}, (place, f"CASE WHEN {place} IS NOT NULL THEN NULL {rest}", candidate), _ListedWords(listed))


def _candidate(text: str) -> str:
    """Write the number whose shortest text a text may be; `is_shortest` decides if there is no exponent."""
    odd = " OR ".join(f"contains({text}, '{letter}')" for letter in "_eE")
    number = f"TRY_CAST({text} AS DOUBLE)"
    shortest = f"{number}::VARCHAR = {text}"
    return (
        f"CASE WHEN {text} >= ':' THEN NULL "
        f"WHEN contains({text}, '.') THEN CASE WHEN NOT ({odd}) OR {shortest} THEN {number} END "
        f"WHEN strlen({text}) > 4 AND contains({text}, 'e') AND {shortest} THEN {number} END"
    )


class RowSums:
    """The number of rows, two sums of their hashes, and histograms of the hashes for a sketch.

    `histograms` has a row of `BINS` counts for each of the first columns, and two for whole rows. The bins need not be
    independent, so one multiplication hashes a word well enough (Dietzfelbinger and others, 1997).

    The last row does not depend on names: columns of other names come in another order, and it hashes the sum of the
    squares of a row's words. (Words of short texts are linear in their letters, so their plain sum would tell less.)
    """

    def __init__(self, columns: Sequence[HashedColumn]) -> None:
        self.columns = columns
        self.histograms: Ints = np.zeros((1, BINS), dtype=np.int64)  # as long as there are no rows
        self._sums = np.zeros(3, dtype=np.uint64)
        self._adding = threading.Lock()

    def add(self, arrays: Sequence[Any], rows: int) -> None:
        """Add a batch of `rows` rows; `arrays` holds the outputs of all columns in turn."""
        remaining = iter(arrays)
        hashes, nameless = np.zeros((2, rows), dtype=np.uint64)
        spare = np.empty_like(hashes)
        histograms: list[Ints] = []
        for column in self.columns:
            for words in np.atleast_2d(column.words(*islice(remaining, len(column.outputs)))):
                if len(histograms) < _MAX_HISTOGRAMS:
                    histograms.append(_histogram(words, spare))
                hashes ^= words
                mix64(hashes, spare)
                nameless += np.multiply(words, words, out=spare)
        mix64(nameless, spare)
        histograms += [_histogram(hashes, spare), _histogram(nameless, spare)]
        first = hashes.sum()
        hashes ^= _AGAIN
        mix64(hashes, spare)
        with self._adding:
            self._sums += np.array([rows, first, hashes.sum()], dtype=np.uint64)
            self.histograms = self.histograms + np.array(histograms)

    def digest(self, names: Iterable[str]) -> bytes:
        """Return the digest of a table whose columns have these names; `columns` are sorted by name."""
        return hashlib.sha256(json.dumps([sorted(names), *self._sums.tolist()]).encode()).digest()


def words_of(texts: Sequence[str]) -> Words:
    """Return a well-mixed hash word for each text."""
    words = _text_words(arrow.from_texts(list(texts)))
    mix64(words, np.empty_like(words))
    return words


def bins_of(words: Words) -> Ints:
    """Return the bin of each word."""
    spare = np.empty_like(words)
    mix64(words, spare)
    return (words >> _TO_BIN).view(np.int64)


def _histogram(words: Words, spare: Words) -> Ints:
    np.multiply(words, _SPREAD, out=spare)
    np.right_shift(spare, _TO_BIN, out=spare)
    return np.bincount(spare.view(np.int64), minlength=BINS)


def text_buffer(texts: Any) -> tuple[Bytes, Ints, Ints]:
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


def _text_words(texts: Any) -> Words:
    """Return a word for each text of a string array: its bytes, eight at a time, and its length; 0 for null."""
    return words_of_bytes(*text_buffer(texts))


def words_of_bytes(buffer: Bytes, starts: Ints, lengths: Ints) -> Words:
    """Return a word for each text of a buffer as `text_buffer` returns it; 0 for an empty one."""
    eight = np.ndarray(len(buffer) - 7, dtype="<u8", buffer=buffer, strides=(1,))
    words: Words = eight[starts]
    words &= _FIRST_BYTES[np.minimum(lengths, 8)]
    words += lengths.view(np.uint64) * _LENGTH
    long = np.flatnonzero(lengths > _MAX_BYTES)
    if len(long):
        ends = zip(starts[long].tolist(), (starts + lengths)[long].tolist(), strict=True)
        words[long] = _text_words(arrow.from_texts([hashlib.md5(buffer[i:j].tobytes()).hexdigest() for i, j in ends]))
    longer, done = np.flatnonzero((lengths > 8) & (lengths <= _MAX_BYTES)), 8
    while len(longer):
        hashed = words[longer]
        mix64(hashed, np.empty_like(hashed))
        words[longer] = hashed ^ (eight[starts[longer] + done] & _FIRST_BYTES[np.minimum(lengths[longer] - done, 8)])
        done += 8
        longer = longer[lengths[longer] > done]
    return words


def _float_words(column: Any) -> Words:
    values, null = arrow.values_and_nulls(column)
    words = words_of_numbers(values)
    if null is not None:
        words[null] = 0
    return words


def words_of_numbers(values: npt.NDArray[np.float64]) -> Words:
    """Return a word for each number; NaN and infinities have those of their texts."""
    words: Words = values.view(np.uint64) + _NUMBER
    odd = ~np.isfinite(values)
    if odd.any():
        names = [str(value) for value in values[odd].tolist()]  # nan, inf, -inf
        words[odd] = _text_words(arrow.from_texts(names))
    return words


def _text_or_number_words(texts: Any, numbers: Any) -> Words:
    """Return the words of texts; a text that is the shortest one of its number gets the number's word.

    `numbers` holds the candidates: null for a text that cannot be one.
    """
    buffer, starts, lengths = text_buffer(texts)
    words = words_of_bytes(buffer, starts, lengths)
    if numbers.null_count < len(numbers):
        values, null = arrow.values_and_nulls(numbers)
        some = np.arange(len(values)) if null is None else np.flatnonzero(~null)
        some = some[is_shortest(buffer, starts[some], lengths[some], values[some])]
        words[some] = words_of_numbers(values[some])
    return words


def words_of_texts(*columns: Any) -> Words:
    """Return the words of `_text_or_number_words` for each column, with the candidates that DuckDB would find."""
    texts = pa.concat_arrays(columns)
    numbers = np.full(len(texts), np.nan)
    if len(some := _places_of(texts, r"^-?[0-9]+\.[0-9]+$")):
        numbers[some] = arrow.to_numpy(texts.take(arrow.from_numpy(some)).cast(pa.float64()))
    for place in _places_of(texts, r"^-?[0-9](\.[0-9]+)?e[+-][0-9]{2,3}$").tolist():
        text = texts[place].as_py()
        if repr(float(text)) == text:
            numbers[place] = float(text)
    candidates = pc.if_else(arrow.from_numpy(numbers).is_nan(), arrow.null(pa.float64()), arrow.from_numpy(numbers))
    return _text_or_number_words(texts, candidates).reshape(len(columns), -1)


def _places_of(texts: Any, pattern: str) -> Ints:
    """Return the places of texts that match a regular expression."""
    matching, null = arrow.values_and_nulls(pc.match_substring_regex(texts, pattern))
    return np.flatnonzero(matching if null is None else matching & ~null)


def is_shortest(buffer: Bytes, starts: Ints, lengths: Ints, values: npt.NDArray[np.float64]) -> Bools:
    """Return which texts are the shortest ones of their numbers `values`, given that those with an exponent are.

    The shortest text of a fraction does not begin with a blank or plus, has at most a single 0 before the point, and no
    0 at its end except right after the point. It has an exponent below 10⁻⁴ and from 10¹⁶ on. A text of this form is
    the shortest one if it has up to 15 digits, since 64 bits distinguish all numbers of 15 digits.
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


class _ListedWords:
    """The words of texts by their places in a list; those of other texts are as in `_text_or_number_words`."""

    def __init__(self, listed: Sequence[str]) -> None:
        self._words = words_of_texts(arrow.from_texts(listed))[0]

    def __call__(self, places: Any, texts: Any, numbers: Any) -> Words:
        values, null = arrow.values_and_nulls(places)
        words: Words = self._words.take(values, mode="clip")
        if null is not None:
            some = arrow.from_numpy(np.flatnonzero(null))
            words[null] = _text_or_number_words(texts.take(some), numbers.take(some))
        return words


class _IntegerWords:
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
            return _text_words(arrow.from_texts(["false", "true"])).take(values)
        words = _text_words(arrow.from_numpy(values).cast(pa.string()))
        if self._type == "DATE":
            days = (values >= _DAYS[0]) & (values <= _DAYS[1])
            words[days] = _text_words(
                arrow.from_numpy(values[days].astype(np.int32)).view(pa.date32()).cast(pa.string())
            )
        return words
