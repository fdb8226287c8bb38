"""Amounts counted at each step of their grid, for private choices of quantiles; these counts are never published."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from dpengine.array_types import Ints
from dpengine.spec.numeric.amount import Amount

__all__ = ["AmountAtSteps", "Stepped", "at_steps"]

MAX_BINS = 4096  # of an amount; if there are more steps, neighbouring ones are merged


class Stepped(tuple[str, ...]):
    """The columns of a table whose last one, an amount, is counted in bins of steps instead of at its knots."""

    __slots__ = ()


class AmountAtSteps(Amount):
    """An amount whose cells are bins of `width` neighbouring steps, each row in one of them, and *missing*."""

    width: int = 1

    @cached_property
    def parts(self) -> int:
        """A value is not shared: it is one part, in one cell."""
        return 1

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

    def corners(self, cells: Ints, parts: Ints) -> list[tuple[Ints, Ints]]:
        return [(cells, np.ones_like(cells))]


def at_steps(amount: Amount) -> AmountAtSteps:
    """Return the same amount, counted at its steps.

    >>> at_steps(Amount(name="x", low="0", high="10")).size, at_steps(Amount(name="x", low="0", high="9999")).width
    (12, 3)
    """
    return AmountAtSteps.model_construct(**dict(amount) | {"width": -(-(amount.grid.steps + 1) // MAX_BINS)})
