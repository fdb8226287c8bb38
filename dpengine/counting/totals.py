"""Add up the codes of rows in joint tables, batch by batch and from several threads."""

from __future__ import annotations

import math
import threading
from collections.abc import Mapping, Sequence
from itertools import islice
from typing import Any

import numpy as np
import numpy.typing as npt

from dpengine.array_types import Ints
from dpengine.counting.encoding.numpy_lookup import BatchCoding, Codes
from dpengine.counting.joint_tables import JointTables

__all__ = ["Totals"]


class Totals:
    """Exact counts of joint tables, added up batch by batch; rows without a cell in any column count nowhere."""

    def __init__(self, columns: Sequence[BatchCoding], joints: JointTables) -> None:
        self.counts = [np.zeros(joints.shape(axes), dtype=np.int64) for axes in joints.axes]
        self.columns = columns
        self._axes = joints.axes
        self._amounts = joints.amounts
        self._adding = threading.Lock()

    def add(self, arrays: Sequence[Any], rows: int) -> None:
        """Add a batch of `rows` rows; `arrays` holds the outputs of all columns in turn."""
        codes = self._codes(arrays)
        rows = len(codes[0]) if codes else rows
        split = {axis: amount.split(codes[axis].astype(np.int64)) for axis, amount in self._amounts.items()}
        codes = [split[axis][0].astype(np.int32) if axis in split else code for axis, code in enumerate(codes)]
        narrow = all(counts.size < 2**31 for counts in self.counts)  # half the memory to read
        cells = np.empty(rows, dtype=np.int32 if narrow else np.int64)
        for counts, axes in zip(self.counts, self._axes, strict=True):
            _flat_index(cells, [codes[axis] for axis in axes], counts.shape)
            for corner, weights in self._corners(cells, axes, counts.shape, split):
                self._add_units(counts.reshape(-1), corner.astype(np.intp, copy=False), weights)

    def _codes(self, arrays: Sequence[Any]) -> list[Codes]:
        """Return the codes of each column, without the rows that lack one."""
        remaining = iter(arrays)
        codes = [column.codes(list(islice(remaining, len(column.outputs)))) for column in self.columns]
        lacking = [code < 0 for code, column in zip(codes, self.columns, strict=True) if not column.complete]
        if lacking and (left_out := np.logical_or.reduce(lacking)).any():
            return [column[~left_out] for column in codes]
        return codes

    def _add_units(self, counts: Ints, places: npt.NDArray[np.intp], units: Ints | None) -> None:
        """Add the units of each row to a flat table; with None, each row is one. NumPy counts `intp` fastest."""
        if units is None and counts.size <= places.size:
            more = np.bincount(places, minlength=counts.size)
            with self._adding:
                counts += more
        else:
            with self._adding:
                np.add.at(counts, places, 1 if units is None else units)

    def _corners(
        self,
        cells: npt.NDArray[Any],
        axes: Sequence[int],
        shape: Sequence[int],
        split: Mapping[int, tuple[Ints, Ints]],
    ) -> list[tuple[npt.NDArray[Any], Ints | None]]:
        """Return the cells between which each row is shared, with its units in them; None for one unit in one cell."""
        corners: list[tuple[npt.NDArray[Any], Ints | None]] = [(cells, None)]
        for place, axis in enumerate(axes):
            if axis in split:
                _, units = split[axis]
                step = math.prod(shape[place + 1 :])
                corners = [
                    (cell + step * move, part if weights is None else weights * part)
                    for cell, weights in corners
                    for move, part in self._amounts[axis].corners(np.zeros_like(units), units)
                ]
        return corners


def _flat_index(cells: npt.NDArray[Any], codes: Sequence[Codes], shape: Sequence[int]) -> None:
    """Fill `cells` with the rows' indices in a flat table."""
    np.copyto(cells, codes[0] if codes else 0)
    for code, size in zip(codes[1:], shape[1:], strict=True):
        cells *= size
        cells += code
