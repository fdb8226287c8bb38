"""Results that are computed once for each distinct text of a column, and looked up by its rows."""

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
from dpengine.counting.encoding.numpy_lookup import BatchCoding, Codes, coding_of
from dpengine.counting.fingerprint import HashedColumn, Words, words_of_texts
from dpengine.sources.table import LocalTable
from dpengine.spec.domain import Column

__all__ = [
    "Encode", "KnownTexts", "Pieces", "by_entry", "coding_of_few", "hashed_few", "known_codes", "known_words",
]  # fmt: skip

Encode = Callable[[BatchCoding, int, Any], Codes]  # the codes of texts of a column, by SQL, given its place

_MAX_KNOWN = 1 << 16  # texts of a column whose results are kept


@dataclass(frozen=True, slots=True)
class Pieces:
    """The rows of a file in pieces, and how their columns are encoded and hashed; outputs are in this order.

    `batches` are pieces, or iterators of pieces that one thread is to work through.
    """

    batches: Iterator[Any]
    codings: list[BatchCoding]
    hashed: list[HashedColumn]


class KnownTexts:
    """A thread-safe cache of what `find` returned for the texts of a column."""

    def __init__(self, find: Callable[[Any], npt.NDArray[Any]]) -> None:
        self._find, self._lock = find, threading.Lock()
        self._texts: Any = None
        self._values: npt.NDArray[Any] = np.zeros(0)

    def of(self, texts: Any) -> npt.NDArray[Any]:
        """Return the results for some distinct texts."""
        with self._lock:
            if self._texts is None or len(self._texts) > _MAX_KNOWN:
                self._texts, self._values = texts, self._find(texts)
            places, new = arrow.values_and_nulls(pc.index_in(texts, value_set=self._texts))
            if new is not None:
                more = texts.take(arrow.from_numpy(np.flatnonzero(new)))
                self._values = np.concatenate([self._values, self._find(more)])
                places = places.copy()
                places[new] = np.arange(len(self._texts), len(self._values))
                self._texts = pa.concat_arrays([self._texts, more])
            return self._values.take(places)


def by_entry(known: KnownTexts, texts: Any, missing: int) -> npt.NDArray[Any]:
    """Return the result for each row's entry of a dictionary-encoded array; `missing` for a null."""
    places, null = arrow.values_and_nulls(texts.indices)
    values = known.of(texts.dictionary)
    if not len(values):
        return np.full(len(places), missing, dtype=values.dtype)
    codes: npt.NDArray[Any] = values.take(places, mode="clip")
    if null is not None:
        codes[null] = missing
    return codes


def known_codes(table: LocalTable, place: int, column: Column, encode: Encode) -> tuple[KnownTexts, BatchCoding]:
    """Return the cache of codes of the column's texts, found by SQL, and the SQL coding."""
    by_sql = coding_of(column, place, table.columns[place].type)
    return KnownTexts(lambda entries: encode(by_sql, place, entries)[:-1]), by_sql


def coding_of_few(table: LocalTable, place: int, column: Column, encode: Encode) -> BatchCoding:
    """Return the coding of a column of few distinct texts, whose arrays are dictionary-encoded."""
    known, by_sql = known_codes(table, place, column, encode)
    return BatchCoding({}, ("",), partial(_codes_of_few, known, column.missing_place), by_sql.complete)


def known_words() -> KnownTexts:
    """Return the cache of the hash words of texts."""
    return KnownTexts(lambda texts: words_of_texts(texts)[0])


def hashed_few() -> HashedColumn:
    """Return the hashing of a column of few distinct texts."""
    return HashedColumn({}, ("",), partial(_words_of_few, known_words()))


def _codes_of_few(known: KnownTexts, missing: int, arrays: Sequence[Any]) -> Codes:
    return by_entry(known, arrays[0], missing).astype(np.int32, copy=False)


def _words_of_few(known: KnownTexts, cells: Any) -> Words:
    return by_entry(known, cells, 0).view(np.uint64)
