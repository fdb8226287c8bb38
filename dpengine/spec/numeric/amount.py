"""Amounts: numeric columns whose sums and means are published, by means of soft cells.

An amount has a cell for each of its knots: the two ends of its range, or more of them. A value belongs to its two
neighbouring knots in proportion to its nearness, so that the weights of a row add up to 1 and the knots, averaged with
these weights, give the value exactly. Hence a row changes any table over soft and ordinary columns by exactly 1 in L1,
as in a table of counts. For a group with the weights A at the upper end and B at the lower one, A + B is the number of
rows and low + (high − low)·A/(A + B) the mean, all from one measurement.

Values lie on a declared grid, so weights are multiples of 1/`grain` and tables in these units are whole.

Source: this is the K-norm mechanism of the hull of sensitivities conv ±{(1, t)} for a count and a bounded sum (Hardt &
Talwar 2010; Awan & Slavković 2021), which Laplace noise in the basis of the two ends realises exactly.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, Self, Unpack

import numpy as np
from pydantic import BeforeValidator, Field, field_validator, model_validator

from dpengine.array_types import Ints
from dpengine.exact import DecimalLike
from dpengine.spec.column import ColumnBase, ColumnOptions
from dpengine.spec.declared import NumberFormat, changed
from dpengine.spec.numeric.affixes import Affixes
from dpengine.spec.numeric.amount_text import even_knots
from dpengine.spec.numeric.found_upper import MIN_STEPS, Upper, read_upper
from dpengine.spec.numeric.grid import Finite, Grid, read_finite
from dpengine.translation.catalogue import _, localised, number

__all__ = ["MAX_GRAIN", "Amount"]

MAX_GRAIN = 2**30  # units in a row, so that those of 2³² rows fit in 64 bits
MAX_KNOTS = 100
SUGGESTED = 20  # intervals between knots
MAX_STEPS = 2**31 - 2  # places on the grid, and one for missing values, are codes of 32 bits


class Amount(ColumnBase):
    """A numeric column for sums and means: values from `low` to `high` on a grid of `step`, shared between `knots`.

    Plan files call the bounds ``from`` and ``to``. A value beyond a bound counts as that bound, one between two points
    of the grid as the nearer one. Values that are missing, infinite or not a number are *missing*; there is no cell for
    other values. Knots are points of the grid and begin and end with the bounds; without any, the bounds are the knots.

    With `upper`, a bound below `high` is found privately (`spec.numeric.found_upper`). Once it is found, it is `high`.

    >>> income = Amount(name="income", low="0", high="200000", step="100")
    >>> income.labels, income.grain
    (('0', '200000', '(missing)'), 2000)
    """

    degree: ClassVar[int] = 1  # copies of the value that are shared between cells (`spec.numeric.amount_squares`)

    kind: Literal["amount"] = "amount"
    low: Finite = Field(alias="from")
    high: Finite = Field(alias="to")
    step: Finite = Decimal(1)
    knots: tuple[Decimal, ...] = Field(default=(), max_length=MAX_KNOTS)
    upper: Annotated[Upper | None, BeforeValidator(read_upper)] = None
    format: NumberFormat = "1234.5"
    affixes: Affixes = ()
    other: Literal[False] = False

    if TYPE_CHECKING:

        def __init__(
            self, *, name: str, low: DecimalLike, high: DecimalLike, step: DecimalLike = ...,
            knots: Sequence[DecimalLike] = ..., upper: Upper | str | Mapping[str, Any] | None = ...,
            format: NumberFormat = ..., affixes: Sequence[str] = ..., kind: Literal["amount"] = ...,
            **options: Unpack[ColumnOptions],
        ) -> None: ...  # fmt: skip

    @model_validator(mode="before")
    @classmethod
    def _fill_in_ends(cls, fields: Any) -> Any:
        knots = fields.get("knots") if isinstance(fields, dict) else None
        if not isinstance(knots, list | tuple) or not knots:
            return fields
        if fields.get("upper") is not None:  # for quantiles, its plan gives it some (`spec.plan_checks`)
            raise ValueError(
                _("an amount whose upper bound is found declares no knots: leave them out, or say 'to' without 'upper'")
            )
        bounds = {} if {"from", "low"} & fields.keys() else {"from": knots[0]}
        return fields | bounds | ({} if {"to", "high"} & fields.keys() else {"to": knots[-1]})

    @field_validator("knots", mode="before")
    @classmethod
    def _read_knots(cls, values: Any) -> Any:
        return tuple(map(read_finite, values)) if isinstance(values, list | tuple) else values

    @model_validator(mode="after")
    def _check_knots(self) -> Amount:
        grid = self.grid  # checks bounds and step
        ends = self.all_knots
        if ends[0] != self.low or ends[-1] != self.high or any(a >= b for a, b in pairwise(ends)):
            raise ValueError(_("knots rise from the lower bound to the upper one, such as [0, 10000, 50000, 200000]"))
        for knot in ends:
            if grid.value(round(knot / self.step)) != knot:
                raise ValueError(
                    _(
                        "the knot {knot} must be a multiple of the step {step}",
                        knot=localised(f"{knot:f}"),
                        step=localised(f"{self.step:f}"),
                    )
                )
        if grid.steps > MAX_STEPS:
            raise ValueError(
                _(
                    "the range has {steps} steps, at most {most} are possible; choose a larger step",
                    steps=number(grid.steps),
                    most=number(MAX_STEPS),
                )
            )
        if self.grain > MAX_GRAIN:
            raise ValueError(
                _(
                    "steps of {step} are too fine for this range: a value would be shared in {grain} parts, at most "
                    "{most} are possible; choose a larger step",
                    step=localised(f"{self.step:f}"),
                    grain=number(self.grain),
                    most=number(MAX_GRAIN),
                )
            )
        return self

    @model_validator(mode="after")
    def _check_upper(self) -> Self:
        if self.upper is None:
            return self
        if self.upper.below is not None and self.upper.below < self.high:
            raise ValueError(_("an upper bound that was found lies below the end that the plan states"))
        if self.upper.below is None and self.grid.steps <= MIN_STEPS:
            raise ValueError(
                _(
                    "from {low} to {high} there are {steps} steps of {step}; an upper bound is found among more than "
                    "{least}: choose a smaller step, or leave 'upper' out",
                    low=localised(f"{self.low:f}"),
                    high=localised(f"{self.high:f}"),
                    step=localised(f"{self.step:f}"),
                    steps=number(self.grid.steps),
                    least=MIN_STEPS,
                )
            )
        return self

    @property
    def share(self) -> Fraction:
        return self.upper.share if self.upper is not None else Fraction(0)

    @property
    def as_written(self) -> Amount:
        return self.with_high(None) if self.upper is not None else self

    def with_cells_of(self, other: ColumnBase) -> Amount:
        if isinstance(other, Amount) and other.upper is not None and other.upper.below is not None:
            return self.with_high(other.high)
        return self

    def with_high(self, high: Decimal | None) -> Amount:
        """Return the amount with the upper bound that was found, and knots of its own; without any, as declared."""
        assert self.upper is not None, "an amount whose upper bound is found"
        if high is None and self.upper.below is None:
            return self
        below = self.high if self.upper.below is None else self.upper.below
        upper = self.upper.model_copy(update={"below": None if high is None else below})
        fields = {name: getattr(self, name) for name in Amount.model_fields}  # squares follow from the plan's tables
        found = Amount.model_construct(
            **fields | {"high": below if high is None else high, "upper": upper, "knots": ()}
        )
        return changed(found, knots=found.even_knots) if self.knots else found

    @property
    def even_knots(self) -> tuple[Decimal, ...]:
        """Knots that the amount could have for quantiles, as far as its steps allow."""
        knots = even_knots(self.low, self.high, self.step, min(SUGGESTED, self.grid.steps))
        return tuple(Decimal(f"{knot.normalize():f}") for knot in knots)

    @property
    def missing_place(self) -> int:
        """The place of a missing value: one past the last point of the grid; -1 means that its row is left out."""
        return self.grid.missing_code

    @property
    def all_knots(self) -> tuple[Decimal, ...]:
        """The declared knots, or otherwise the two bounds."""
        return self.knots or (self.low, self.high)

    @cached_property
    def grid(self) -> Grid:
        """The grid on which values are read."""
        return (_GridWithMissing if self.missing else Grid)(
            name=self.name, low=self.low, high=self.high, step=self.step,
            missing_as=self.missing_as, format=self.format, affixes=self.affixes,
        )  # fmt: skip

    @property
    def grid_decimals(self) -> int:
        """The number of decimals of the points of the grid."""
        return max(0, *(-int(each.as_tuple().exponent) for each in (self.low, self.step)))

    @cached_property
    def knot_places(self) -> tuple[int, ...]:
        """The place of each knot on the grid."""
        return tuple(self.grid.units(knot) - self.grid.units(self.low) for knot in self.all_knots)

    @cached_property
    def parts(self) -> int:
        """Number of parts in which a value is shared: the least that makes every weight a whole number of them."""
        return math.lcm(*(b - a for a, b in pairwise(self.knot_places)))

    @property
    def grain(self) -> int:
        """Number of units in a row: all weights are whole in these."""
        return math.prod([self.parts] * self.degree)

    @cached_property
    def knot_values(self) -> tuple[float, ...]:
        """The value of each knot."""
        return tuple(map(float, self.all_knots))

    @cached_property
    def knot_fractions(self) -> tuple[float, ...]:
        """The place of each knot in the range, from 0 to 1."""
        low, high = self.knot_values[0], self.knot_values[-1]
        return tuple((knot - low) / (high - low) for knot in self.knot_values)

    @property
    def declared(self) -> tuple[str, ...]:
        return tuple(f"{knot:f}" for knot in self.all_knots)

    @property
    def declared_size(self) -> int:
        return len(self.all_knots)

    def split(self, places: Ints) -> tuple[Ints, Ints]:
        """Return the cell of each row and the parts of the value that belong to the next cell instead.

        `places` are places on the grid; one past the last is a missing value, which is in the last cell as a whole.

        >>> Amount(name="x", low="0", high="10").split(np.array([0, 3, 10, 11]))
        (array([0, 0, 0, 2]), array([ 0,  3, 10,  0]))
        """
        knots = np.array(self.knot_places)
        lower = np.searchsorted(knots[1:-1], places, side="right")
        units = (places - knots[lower]) * (self.parts // np.diff(knots))[lower]
        is_missing = places > self.grid.steps
        assert is_missing.size == 0 or (places.min() >= 0 and units[~is_missing].max(initial=0) <= self.parts), (
            "a row has exactly its units"
        )
        return np.where(is_missing, self.declared_size, lower), np.where(is_missing, 0, units)

    def corners(self, cells: Ints, parts: Ints) -> list[tuple[Ints, Ints]]:
        """Return the cells between which rows are shared, each with its units there, given the result of `split`.

        >>> amount = Amount(name="x", low="0", high="10")
        >>> amount.corners(*amount.split(np.array([3])))
        [(array([0]), array([7])), (array([1]), array([3]))]
        """
        beside, rest = (parts > 0).astype(np.int64), self.parts - parts  # a row in one cell has no next one
        return [
            (cells + k * beside, math.comb(self.degree, k) * parts**k * rest ** (self.degree - k))
            for k in range(self.degree + 1)
        ]


class _GridWithMissing(Grid):
    """A grid on which missing values have their own place, one past the last point."""

    @property
    def missing_code(self) -> int:
        return self.steps + 1
