"""The edges of the bins of a numeric column; those of bins of equal width are made on first use.

A few bytes of a plan can ask for a million bins. A plan is checked without their edges, so refusing a stranger's plan
costs no time for edges.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from typing import Any, overload

from dpengine.exact import decimal, exact_text, rational
from dpengine.spec.limits import check_column_size
from dpengine.translation.catalogue import _

__all__ = ["EqualEdges", "check_edges", "equal_edges", "read_edges"]


@dataclass(frozen=True, eq=False, repr=False)
class EqualEdges(Sequence[Decimal]):
    """The edges of `bins` bins, each `step` wide, from `start` on; equal to the tuple of the same numbers."""

    start: Fraction
    step: Fraction
    bins: int

    def __repr__(self) -> str:
        """Return the edges as a plan declares them."""
        end = self.start + self.bins * self.step
        return repr({"from": exact_text(self.start), "to": exact_text(end), "bins": self.bins})

    def __len__(self) -> int:
        return self.bins + 1

    @overload
    def __getitem__(self, index: int) -> Decimal: ...

    @overload
    def __getitem__(self, index: slice) -> tuple[Decimal, ...]: ...

    def __getitem__(self, index: int | slice) -> Decimal | tuple[Decimal, ...]:
        return self._edges[index]

    def __iter__(self) -> Iterator[Decimal]:
        return iter(self._edges)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, EqualEdges | tuple) and self._edges == tuple(other)

    def __hash__(self) -> int:
        return hash(self._edges)

    @property
    def whole(self) -> bool:
        """Whether all edges are whole numbers, determined without making them."""
        return self.start.denominator == self.step.denominator == 1

    @property
    def far_apart(self) -> bool:
        """Whether all edges are certain to differ as floating-point numbers, determined without making them."""
        farthest = max(abs(self.start), abs(self.start + self.bins * self.step))
        return self.step > 2 * math.ulp(farthest)

    @cached_property
    def _edges(self) -> tuple[Decimal, ...]:
        digits = 0
        while digits < 12 and (self.step * 10**digits).denominator != 1:
            digits += 1
        while 10**digits * self.step < 10**6 and (self.step * 10**digits).denominator != 1:
            digits += 1
        # Integers over one denominator, since each of a million fractions would compute a greatest common divisor.
        below = math.lcm(self.start.denominator, self.step.denominator)
        first, ahead = int(self.start * below) * 10**digits, int(self.step * below) * 10**digits
        edges = []
        for k in range(len(self)):
            whole, rest = divmod(first + k * ahead, below)
            whole += 2 * rest > below or (2 * rest == below and whole % 2)  # halves go to the even neighbour
            edges.append(Decimal(whole).scaleb(-digits).normalize())
        return tuple(edge if "E" not in str(edge) else Decimal(f"{edge:f}") for edge in edges)


def equal_edges(low: object, high: object, bins: object) -> EqualEdges:
    """Return the edges of `bins` equally wide bins from `low` to `high`.

    Edges that are no finite decimal (thirds, say) are rounded, by far less than the width of a bin. Raises ValueError.

    >>> [str(edge) for edge in equal_edges(0, 1, 4)]
    ['0', '0.25', '0.5', '0.75', '1']
    """
    try:
        start, stop, bins_given = (rational(str(value)) for value in (low, high, bins))
        if bins_given.denominator != 1:
            raise ValueError
    except ValueError:
        raise ValueError(_("equal bins need two numbers and a whole number of bins")) from None
    count = int(bins_given)
    if count < 1 or start >= stop:
        raise ValueError(_("equal bins need at least one bin, and a start below the end"))
    check_column_size(count)
    step = (stop - start) / count
    if max(abs(start), abs(stop)) > 10**30 or step < Fraction(1, 10**24):
        raise ValueError(_("equal bins need numbers up to 1e30, and steps of 1e-24 or more"))
    return EqualEdges(start, step, count)


def read_edges(edges: Any) -> Sequence[Decimal]:
    """Read edges as a plan gives them: a list, or `from`, `to` and `bins`. Raises ValueError.

    >>> read_edges(["0", "0.50", "1e1"])
    (Decimal('0'), Decimal('0.50'), Decimal('1E+1'))
    """
    if isinstance(edges, EqualEdges):
        return edges
    if isinstance(edges, dict) and set(edges) == {"from", "to", "bins"}:
        return equal_edges(edges["from"], edges["to"], edges["bins"])
    if isinstance(edges, str | dict) or not isinstance(edges, Iterable):
        raise ValueError(_("give a list of edges, or from, to and bins"))
    read = []
    for number, edge in enumerate(edges, 1):
        try:
            read.append(decimal(edge))
        except ValueError as error:
            raise ValueError(_("edge {number}: {error}", number=number, error=error)) from None
    return tuple(read)


def check_edges(edges: Sequence[Decimal]) -> Sequence[Decimal]:
    """Return the edges unchanged; raise ValueError unless they bound bins that floats can distinguish."""
    if isinstance(edges, EqualEdges) and edges.far_apart:
        return edges
    if len(edges) < 2:
        raise ValueError(_("give at least two edges; they must be public knowledge, not read from the data"))
    check_column_size(len(edges) - 1)
    for low, high in pairwise(edges):
        if not low < high:
            raise ValueError(_("edges must increase, but {high} follows {low}", high=high, low=low))
        if not float(low) < float(high):
            raise ValueError(
                _("edges {low} and {high} are too close to be distinguished (15 digits are kept)", low=low, high=high)
            )
    return edges
