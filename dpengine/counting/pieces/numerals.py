"""Texts that are mostly plain numerals, read as 64-bit numbers, exactly as the engine reads them."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from dpengine import arrow
from dpengine.array_types import Bools, Ints
from dpengine.counting.fingerprint import is_shortest, text_buffer

__all__ = ["Numerals"]

_MAX_NUMERAL = 24  # characters: a number far from the largest one
_MINUS, _SLASH, _NINE = (np.uint8(ord(letter)) for letter in "-/9")  # between - and 9 stand the point, / and digits
_POINT = ord(".")


class Numerals:
    """Texts that are mostly plain numerals, and their `values`, which equal those that the engine reads.

    `odd` are the places of texts that are not plain numerals; `lacking` says which rows have no value: these, and empty
    texts.
    """

    def __init__(self, texts: Any) -> None:
        self.texts = texts
        self.buffer, self.starts, self.lengths = text_buffer(texts)
        odd = self.lengths > _MAX_NUMERAL
        letters = self.buffer[:-8]
        beyond = letters - _MINUS > _NINE - _MINUS  # characters below the minus wrap around
        strange = np.flatnonzero(beyond | (letters == _SLASH))
        odd[self._rows_of(strange)] = True
        try:
            self.values = self._cast(~odd & (self.lengths > 0))
        except pa.ArrowInvalid:  # such as 1-2, or 1.2.3
            odd = self.lengths > 0
            self.values = np.zeros(len(texts))
        self.odd: Ints = np.flatnonzero(odd)
        lacking = odd | (self.lengths == 0)
        self.lacking: Bools | None = lacking if lacking.any() else None

    @cached_property
    def odd_texts(self) -> Any:
        """The texts that are not plain numerals, dictionary-encoded."""
        return self.texts.take(arrow.from_numpy(self.odd)).dictionary_encode()

    @property
    def shortest(self) -> Bools:
        """The mask of texts that are fractions, and the shortest texts of their numbers."""
        shortest = is_shortest(self.buffer, self.starts, self.lengths, self.values)
        points = self.buffer[:-8] == _POINT
        plain = len(self.values) if self.lacking is None else np.count_nonzero(~self.lacking)
        if np.count_nonzero(points) - self._odd_points() < plain:
            fraction = np.zeros(len(self.values), dtype=bool)
            fraction[self._rows_of(np.flatnonzero(points))] = True
            shortest &= fraction
        if self.lacking is not None:
            shortest &= ~self.lacking
        return shortest

    def _odd_points(self) -> int:
        """Return the number of points in texts that are not plain numerals; each plain one has at most one point."""
        if not len(self.odd):
            return 0
        odd = self.odd_texts
        points, _ = arrow.values_and_nulls(pc.count_substring(odd.dictionary, "."))
        return int(points[arrow.values_and_nulls(odd.indices)[0]].sum())

    def _rows_of(self, positions: Ints) -> Ints:
        """Return the rows whose texts contain the bytes at these positions."""
        return np.searchsorted(self.starts, positions, side="right") - 1

    def _cast(self, some: Bools) -> npt.NDArray[np.float64]:
        """Return the numbers of `some` texts; those of the others are arbitrary."""
        _, offsets, data = self.texts.buffers()
        bits = np.packbits(np.concatenate([np.zeros(self.texts.offset, dtype=bool), some]), bitorder="little")
        chosen = [pa.py_buffer(bits), offsets, data]
        numerals = pa.Array.from_buffers(self.texts.type, len(self.texts), chosen, offset=self.texts.offset)
        return arrow.values_and_nulls(numerals.cast(pa.float64()))[0]
