"""Results that are computed once for each distinct text of a column, and looked up by its rows.

Texts as declared and plain numerals are encoded here; the SQL of `encoding.local_sql` encodes all others. Without such
others, the engine need not start.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from dpengine import arrow
from dpengine.array_types import Bools
from dpengine.counting.encoding.numpy_lookup import BatchCoding, Codes, coding_of, of_declared, of_numerals
from dpengine.counting.fingerprint import HashedColumn, Words, words_of_texts
from dpengine.counting.pieces.numerals import Numerals
from dpengine.sources.table import LocalTable
from dpengine.spec.domain import Column

__all__ = [
    "Encode", "Pieces", "TextCache", "by_entry", "code_cache", "coding_of_few", "has_few_texts", "hashing_of_few",
    "word_cache",
]  # fmt: skip

Encode = Callable[[BatchCoding, int, Any], Codes]  # the codes of texts of a column, by SQL, given its place

_FEW, _ROWS_OF_EACH = 64, 8  # a column has few texts if there are at most `_FEW`, or `_ROWS_OF_EACH` rows for each
_MAX_CACHED = 1 << 16  # texts of a column whose results are kept
_MAX_RECENT = 4  # lists of texts: one for each thread of a scan
_NAN = ["nan", "NaN"]  # as programs write it: missing


@dataclass(frozen=True, slots=True)
class Pieces:
    """The rows of a file in pieces, and how their columns are encoded and hashed; outputs are in this order.

    `batches` are pieces, or iterators of pieces that one thread is to work through.
    """

    batches: Iterator[Any]
    codings: list[BatchCoding]
    hashed: list[HashedColumn]


class TextCache:
    """A thread-safe cache of what `find` returned for the texts of a column."""

    def __init__(self, find: Callable[[Any], npt.NDArray[Any]]) -> None:
        self._find, self._lock = find, threading.Lock()
        self._texts: Any = None
        self._values: npt.NDArray[Any] = np.zeros(0)
        self._recent: tuple[tuple[Any, npt.NDArray[Any]], ...] = ()

    def of(self, texts: Any) -> npt.NDArray[Any]:
        """Return the results for some distinct texts."""
        for earlier, values in self._recent:  # the pieces of a row group have the same texts
            if texts.equals(earlier):
                return values
        values = self._look_up(texts)
        self._recent = ((texts, values), *self._recent[: _MAX_RECENT - 1])
        return values

    def _look_up(self, texts: Any) -> npt.NDArray[Any]:
        with self._lock:
            if self._texts is None or len(self._texts) > _MAX_CACHED:
                self._texts, self._values = texts, self._find(texts)
            places, new = arrow.values_and_nulls(pc.index_in(texts, value_set=self._texts))
            if new is not None:
                new_texts = texts.take(arrow.from_numpy(np.flatnonzero(new)))
                self._values = np.concatenate([self._values, self._find(new_texts)])
                places = places.copy()
                places[new] = np.arange(len(self._texts), len(self._values))
                self._texts = pa.concat_arrays([self._texts, new_texts])
            return self._values.take(places)


def by_entry(cache: TextCache, texts: Any, missing: int) -> npt.NDArray[Any]:
    """Return the result for each row's entry of a dictionary-encoded array; `missing` for a null."""
    places, null = arrow.values_and_nulls(texts.indices)
    values = cache.of(texts.dictionary)
    if not len(values):
        return np.full(len(places), missing, dtype=values.dtype)
    codes: npt.NDArray[Any] = values.take(places, mode="clip")
    if null is not None:
        codes[null] = missing
    return codes


def code_cache(table: LocalTable, place: int, column: Column, encode: Encode) -> tuple[TextCache, BatchCoding]:
    """Return the cache of codes of the column's texts, and the SQL coding."""
    by_sql = coding_of(column, place, table.columns[place].type)
    return TextCache(partial(_codes_of_texts, _encoder(column), partial(encode, by_sql, place))), by_sql


def _encoder(column: Column) -> Callable[[Any], tuple[Codes, Bools | None]]:
    """Return the function from texts to codes; its second result says which of these are wrong: they need SQL."""
    if (of_number := of_numerals(column)) is not None:
        lookup = of_number

        def by_number(texts: Any) -> tuple[Codes, Bools | None]:
            numerals = Numerals(texts)
            codes, undecided = lookup(numerals.values), numerals.lacking
            if undecided is not None:
                nan, _ = arrow.values_and_nulls(pc.is_in(texts, value_set=arrow.from_texts(_NAN).cast(texts.type)))
                codes[nan > 0] = column.missing_place
                undecided = undecided & (nan == 0)
            return codes, undecided

        return by_number
    declared = of_declared(column)
    declared_texts, codes = arrow.from_texts(list(declared)), np.array([*declared.values(), 0], dtype=np.int32)

    def by_place(texts: Any) -> tuple[Codes, Bools | None]:
        places, unknown = arrow.values_and_nulls(pc.index_in(texts, value_set=declared_texts.cast(texts.type)))
        return codes.take(places, mode="clip"), unknown

    return by_place


def _codes_of_texts(
    encode: Callable[[Any], tuple[Codes, Bools | None]], by_sql: Callable[[Any], Codes], texts: Any
) -> Codes:
    codes, undecided = encode(texts)
    if undecided is not None and undecided.any():
        codes[undecided] = by_sql(texts.take(arrow.from_numpy(np.flatnonzero(undecided))))
    return codes


def coding_of_few(table: LocalTable, place: int, column: Column, encode: Encode) -> BatchCoding:
    """Return the coding of a column of few distinct texts, whose arrays are dictionary-encoded."""
    cache, by_sql = code_cache(table, place, column, encode)
    return BatchCoding({}, ("",), partial(_codes_of_few, cache, column.missing_place), by_sql.complete)


def has_few_texts(texts: Any) -> bool:
    """Return whether a dictionary-encoded array has so few different texts that each is better looked up once."""
    return len(texts.dictionary) <= max(_FEW, len(texts) // _ROWS_OF_EACH)


def word_cache() -> TextCache:
    """Return the cache of the hash words of texts."""
    return TextCache(lambda texts: words_of_texts(texts)[0])


def hashing_of_few() -> HashedColumn:
    """Return the hashing of a column of few distinct texts."""
    return HashedColumn({}, ("",), partial(_words_of_few, word_cache()))


def _codes_of_few(cache: TextCache, missing: int, arrays: Sequence[Any]) -> Codes:
    return by_entry(cache, arrays[0], missing).astype(np.int32, copy=False)


def _words_of_few(cache: TextCache, cells: Any) -> Words:
    return by_entry(cache, cells, 0).view(np.uint64)
