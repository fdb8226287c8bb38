"""The codes of many typed values at once: a step function as a table that is looked up.

Values are put in buckets by an increasing function (a difference, times a number, its whole part), so narrow that
no two cuts share one: in each bucket one comparison is left. That the function increases is all that exactness
rests on: a value before a cut is in no later bucket than the cut. Subtraction, multiplication by a positive
number and truncation increase in floating-point arithmetic as on paper, since each result is rounded correctly.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

__all__ = ["lookup"]

Codes: TypeAlias = npt.NDArray[np.int32]
Values: TypeAlias = npt.NDArray[Any]
Bucket: TypeAlias = Callable[[Values], Any]

_BUCKETS = (1 << 12, 1 << 16)
_PIECE = 1 << 15  # values that are worked on at once, for they stay in a processor's nearer cache


def lookup(cuts: Values, codes: Codes, missing: int) -> Callable[[Values], Codes]:
    """The function from values to codes: ``codes[k]`` from ``cuts[k - 1]`` on and before ``cuts[k]``.

    ``cuts`` increase, and are whole numbers of 64 bits or floating-point numbers of 64 bits; so are the values,
    which may be narrower. NaN has the code ``missing``.
    """
    real = cuts.dtype.kind == "f"
    found = _coded(cuts, codes)

    def coded(values: Values) -> Codes:
        filled = np.empty(len(values), dtype=np.int32)
        for start in range(0, len(values), _PIECE):
            piece = values[start : start + _PIECE]
            into = filled[start : start + _PIECE]
            into[:] = found(piece)
            if real:
                into[np.isnan(piece)] = missing
        return filled

    return coded


def _coded(cuts: Values, codes: Codes) -> Callable[[Values], Any]:
    """The function from values to codes, anything for NaN."""
    if not len(cuts):
        return lambda values: codes[0]
    for buckets in _BUCKETS:
        bucket, narrowest = _bucketed(cuts, buckets)
        own = None if bucket is None else bucket(cuts)
        if bucket is None or own is None or len(np.unique(own)) < len(cuts):
            continue
        earlier = np.searchsorted(own, np.arange(own[-1] + 1))  # number of cuts in earlier buckets
        if narrowest:
            return _looked_up(bucket, codes[earlier + np.isin(np.arange(own[-1] + 1), own)])
        return _compared(bucket, cuts[earlier], codes[earlier], codes[earlier + 1])
    return lambda values: codes.take(np.searchsorted(cuts, values, side="right"))


def _looked_up(bucket: Bucket, codes: Codes) -> Callable[[Values], Any]:
    return lambda values: codes.take(bucket(values), mode="clip")


def _compared(bucket: Bucket, cut: Values, before: Codes, after: Codes) -> Callable[[Values], Any]:
    """By bucket: the one cut in it or next after it, and the codes on both of its sides."""
    sides = np.stack([before, after], axis=1).reshape(-1)

    def coded(values: Values) -> Any:
        place = bucket(values)
        passed = values >= cut.take(place, mode="clip")
        return sides.take(2 * place + passed, mode="clip")

    return coded


def _bucketed(cuts: Values, buckets: int) -> tuple[Bucket | None, bool]:
    """An increasing function to whole numbers, 0 before all cuts and largest from the last one on.

    And whether a bucket holds one value only, but for those beyond the cuts. None where there is no such function.
    """
    if cuts.dtype.kind == "f":
        low, high = cuts[0], cuts[-1]
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            scale = buckets / (high - low)
        return (_real(low, high, scale) if 0 < scale < np.inf else None), False
    below, last = int(cuts[0]) - 1, int(cuts[-1])
    if below < -(2**63) or last - below >= 2**63:
        return None, False
    shift = max(0, (last - below).bit_length() - buckets.bit_length() + 1)
    return _whole(np.int64(below), np.int64(last), shift), shift == 0


def _real(low: Any, high: Any, scale: Any) -> Bucket:
    def bucket(values: Values) -> Any:
        with np.errstate(invalid="ignore"):  # of NaN
            return ((np.clip(values, low, high) - low) * scale).astype(np.int32)

    return bucket


def _whole(low: Any, high: Any, shift: int) -> Bucket:
    if shift == 0:
        return lambda values: np.clip(values, low, high) - low
    return lambda values: (np.clip(values, low, high) - low) >> shift
