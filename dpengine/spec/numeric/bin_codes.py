"""Find the cell of each number of a column by a search in its edges."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from dpengine.array_types import Ints
from dpengine.spec.domain import Number

__all__ = ["number_codes"]


def number_codes(column: Number) -> Callable[[npt.NDArray[Any]], Ints]:
    """Return a function from numbers to the codes of their cells: *other* outside the edges, *missing* for NaN.

    A search in the edges costs about the same at 5 and at 100,000 bins.

    >>> age = Number(name="age", edges=[0, 18, 65])
    >>> number_codes(age)(np.array([17.9, 18.0, 65.0, 66.0, np.nan]))
    array([0, 1, 1, 2, 3])
    """
    edges = np.array([float(edge) for edge in column.edges])
    last, other, missing = len(edges) - 2, column.other_code, column.missing_code

    def codes_of(values: npt.NDArray[Any]) -> Ints:
        codes: Ints = np.searchsorted(edges, values, side="right") - 1
        codes[values == edges[-1]] = last  # the last bin is closed
        codes[~((values >= edges[0]) & (values <= edges[-1]))] = other
        codes[np.isnan(values)] = missing
        return codes

    return codes_of
