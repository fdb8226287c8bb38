"""Columns with their numbers of cells, and tables of numbers over them: the basic values of estimation."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import numpy as np
import numpy.typing as npt

from dpengine.array_types import Columns, Ints

__all__ = ["Domain", "Marginal", "Number"]

Number = TypeVar("Number", np.int64, np.float64)


@dataclass(frozen=True, slots=True, repr=False)
class Domain:
    """Names of columns in order, and the number of cells of each.

    >>> Domain(("a", "b"), (2, 3))
    Domain(a: 2, b: 3)
    """

    names: Columns
    sizes: tuple[int, ...]

    def __post_init__(self) -> None:
        if len(self.names) != len(self.sizes) or len(set(self.names)) != len(self.names):
            raise ValueError("a domain has different names, each with one size")

    def __repr__(self) -> str:
        return f"Domain({', '.join(f'{name}: {size}' for name, size in zip(self.names, self.sizes, strict=True))})"

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    @property
    def size(self) -> int:
        """Number of cells of a table over all columns.

        >>> Domain(("a", "b"), (2, 3)).size
        6
        """
        return math.prod(self.sizes)

    def axes(self, columns: Sequence[str]) -> tuple[int, ...]:
        """Return the axis of each of some columns. Raises ValueError for a missing one.

        >>> Domain(("a", "b", "c"), (2, 3, 4)).axes("ca")
        (2, 0)
        """
        if not set(columns) <= set(self.names):
            raise ValueError(f"{self} does not hold all of {', '.join(columns)}")
        return tuple(self.names.index(name) for name in columns)

    def project(self, onto: Sequence[str]) -> Domain:
        """Return the domain of some of the columns, in the order given. Raises ValueError for a missing one.

        >>> Domain(("a", "b", "c"), (2, 3, 4)).project("ca")
        Domain(c: 4, a: 2)
        """
        return Domain(tuple(onto), tuple(self.sizes[axis] for axis in self.axes(onto)))

    def cells(self, codes: Sequence[npt.NDArray[np.integer[Any]]]) -> Ints:
        """Return the flat index of each row's cell, given the rows' codes of each column, all below its size.

        NumPy's `ravel_multi_index` checks this bound, and takes six times as long.

        >>> Domain(("a", "b"), (2, 3)).cells([np.array([0, 1]), np.array([2, 0])])
        array([2, 3])
        """
        cells = codes[0].astype(np.int64)
        for column, size in zip(codes[1:], self.sizes[1:], strict=True):
            cells *= size
            cells += column
        return cells


@dataclass(frozen=True, slots=True, eq=False)
class Marginal(Generic[Number]):
    """A table of numbers, one axis for each of its columns."""

    columns: Columns
    values: npt.NDArray[Number]

    @property
    def domain(self) -> Domain:
        """The columns with their numbers of cells.

        >>> Marginal(("a", "b"), np.zeros((2, 3))).domain
        Domain(a: 2, b: 3)
        """
        return Domain(self.columns, self.values.shape)

    def project(self, onto: Sequence[str]) -> Marginal[Number]:
        """Sum over all columns except `onto`, and order the axes like these.

        Raises ValueError for a column that is not there.

        >>> Marginal(("a", "b"), np.array([[1.0, 2.0], [3.0, 4.0]])).project("b").values
        array([4., 6.])
        """
        axes = self.domain.axes(onto)
        others = tuple(axis for axis in range(len(self.columns)) if axis not in axes)
        summed: npt.NDArray[Number] = np.asarray(self.values.sum(axis=others)) if others else self.values
        remaining = sorted(axes)
        return Marginal(tuple(onto), summed.transpose([remaining.index(axis) for axis in axes]))
