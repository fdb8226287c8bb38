"""Amounts counted in cells of neighbouring places on their grid, each row in one; exact, so never published.

Quantiles are chosen privately among the steps; an upper bound is found among its candidates.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np

from dpengine.array_types import Ints
from dpengine.spec.declared import as_kind
from dpengine.spec.numeric.amount import Amount
from dpengine.spec.numeric.found_upper import candidate_steps

__all__ = ["AmountAtSteps", "AmountInCells", "AmountUpToBounds", "Stepped", "at_steps", "up_to_bounds"]

MAX_BINS = 4096  # of an amount; if there are more steps, neighbouring ones are merged


class Stepped(tuple[str, ...]):
    """The columns of a table whose last one, an amount, is counted in bins of steps instead of at its knots."""

    __slots__ = ()


class AmountInCells(Amount):
    """An amount of which each row is in one cell, as a whole."""

    @cached_property
    def parts(self) -> int:
        """A value is not shared: it is one part, in one cell."""
        return 1

    def corners(self, cells: Ints, parts: Ints) -> list[tuple[Ints, Ints]]:
        return [(cells, np.ones_like(cells))]


class AmountAtSteps(AmountInCells):
    """An amount whose cells are bins of `width` neighbouring steps, and *missing*."""

    width: int = 1

    @property
    def declared_size(self) -> int:
        return self.grid.steps // self.width + 1

    @property
    def middles(self) -> Ints:
        """The place on the grid of the middle of each bin."""
        places: Ints = np.minimum(np.arange(self.declared_size) * self.width + (self.width - 1) // 2, self.grid.steps)
        return places

    def split(self, places: Ints) -> tuple[Ints, Ints]:
        """Return the bin of each row, and zeros: no part of it belongs to the next bin.

        >>> amount = at_steps(Amount(name="x", low="0", high="10"))
        >>> amount.split(np.array([0, 3, 10, 11]))
        (array([ 0,  3, 10, 11]), array([0, 0, 0, 0]))
        """
        is_missing = places > self.grid.steps
        return np.where(is_missing, self.declared_size, places // self.width), np.zeros_like(places)


class AmountUpToBounds(AmountInCells):
    """An amount whose cells end with the candidates for its upper bound, each included; and *missing*."""

    @cached_property
    def knot_places(self) -> tuple[int, ...]:
        """The first place of each cell, and the place past the last one."""
        return (0, *(steps + 1 for steps in candidate_steps(self.grid.steps)))

    @property
    def declared_size(self) -> int:
        return len(self.knot_places) - 1

    def split(self, places: Ints) -> tuple[Ints, Ints]:
        """Return the cell of each row, and zeros: no part of it belongs to the next one.

        >>> amount = up_to_bounds(Amount(name="x", low="0", high="16", upper="found"))
        >>> amount.split(np.array([0, 10, 11, 15, 16, 17]))[0]
        array([0, 0, 1, 1, 2, 3])
        """
        return np.searchsorted(self.knot_places[1:], places, side="right"), np.zeros_like(places)


def at_steps(amount: Amount) -> AmountAtSteps:
    """Return the same amount, counted at its steps.

    >>> at_steps(Amount(name="x", low="0", high="10")).size, at_steps(Amount(name="x", low="0", high="9999")).width
    (12, 3)
    """
    return as_kind(AmountAtSteps, amount, width=-(-(amount.grid.steps + 1) // MAX_BINS))


def up_to_bounds(amount: Amount) -> AmountUpToBounds:
    """Return the same amount as its plan declares it, counted between the candidates for its upper bound."""
    return as_kind(AmountUpToBounds, amount.as_written)
