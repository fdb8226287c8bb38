"""Bins whose edges are found privately: their number, their possible edges, and the share of ε for finding them.

A plan states the range, a step and a number of bins, and these are public. A release measures a noisy histogram on the
steps of the range with a share of ε (`measure.search`), and the edges follow from that noisy histogram alone
(`estimate.found_cells`). Until then, and in every prediction, the bins have equal width, as far as the steps allow.
There are always as many bins as the plan says: the shape of every table is known before anything is paid.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, PlainSerializer

from dpengine.errors import PlanError
from dpengine.exact import exact_text, rational
from dpengine.spec.declared import Declared, Whole
from dpengine.spec.numeric.edges import EqualEdges, check_edges
from dpengine.spec.numeric.grid import Grid
from dpengine.translation.catalogue import _, localised, number

__all__ = ["DEFAULT_SHARE", "MAX_SHARE", "Bins", "even_edges", "read_bins", "read_share", "step_edges"]

DEFAULT_SHARE = Fraction(1, 10)  # of ε, to find the cells of a column (benchmarks/bins.py)
MAX_SHARE = Fraction(1, 2)  # limit for the shares of all such columns together
MAX_STEPS = 9_990  # more boundaries are slow to look up, and too many for some databases
MAX_BINS = 1_000


def read_share(value: object) -> Fraction:
    """Read the share of ε for finding the cells of a column. Raises ValueError.

    >>> read_share("1/10")
    Fraction(1, 10)
    """
    share = rational(value, "share")
    if not Fraction(1, 1000) <= share <= MAX_SHARE or share.denominator > 10**6:
        raise ValueError(_("share is the part of ε that finds the cells: from 1/1000 to 1/2, such as 1/10"))
    return share


Share = Annotated[Fraction, BeforeValidator(read_share), PlainSerializer(exact_text)]


class Bins(Declared):
    """A number of bins whose edges are found with a `share` of ε; `found` are these edges, once they are found.

    >>> Bins(count=20).share
    Fraction(1, 10)
    """

    count: Whole = Field(ge=2, le=MAX_BINS)
    share: Share = DEFAULT_SHARE
    found: tuple[Decimal, ...] = ()


def read_bins(bins: Any) -> Any:
    """Read the plan's entry `bins`: a number, or `count` and `share`."""
    return {"count": bins} if isinstance(bins, int | str) and not isinstance(bins, bool) else bins


def step_edges(name: str, low: Decimal, high: Decimal, step: Decimal) -> EqualEdges:
    """Return the edges of the steps of a column from `low` to `high`, all of equal width. Raises ValueError."""
    try:
        grid = Grid(name=name, low=low, high=high, step=step)
    except PlanError as error:
        raise ValueError(str(error)) from None
    if grid.steps > MAX_STEPS:
        raise ValueError(
            _(
                "from {low} to {high} there are {steps} steps of {step}, at most {most} are possible: choose a larger "
                "step",
                low=localised(f"{low:f}"),
                high=localised(f"{high:f}"),
                step=localised(f"{step:f}"),
                steps=number(grid.steps),
                most=number(MAX_STEPS),
            )
        )
    edges = EqualEdges(Fraction(low), Fraction(step), grid.steps)
    check_edges(edges)
    return edges


def even_edges(steps: Sequence[Decimal], bins: int) -> tuple[Decimal, ...]:
    """Return the edges of `bins` bins of equal width, as far as the steps allow. Raises ValueError.

    >>> [str(edge) for edge in even_edges(step_edges("age", Decimal(0), Decimal(10), Decimal(1)), 4)]
    ['0', '2', '5', '7', '10']
    """
    width = len(steps) - 1
    if width < bins:
        raise ValueError(
            _(
                "{bins} bins cannot be found in {steps} steps: ask for fewer bins, or choose a smaller step",
                bins=number(bins),
                steps=number(width),
            )
        )
    return tuple(steps[(2 * k * width + bins - 1) // (2 * bins)] for k in range(bins + 1))
