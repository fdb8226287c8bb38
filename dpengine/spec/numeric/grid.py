"""Numeric columns clamped to stated bounds and rounded to a stated grid, so that sums are whole numbers of steps.

Bounds, step, and the value that replaces a missing one are public: a person states them, and none is read from the
rows. Each value is rounded separately, so each row of a person changes a sum by at most the largest absolute value of
the grid, exactly. Sums of floating point numbers would have a larger sensitivity than the formula says.

Source: Casacuberta et al. 2022, "Widespread underestimation of sensitivity in differentially private libraries".
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np
import numpy.typing as npt
from pydantic import BeforeValidator, Field, model_validator

from dpengine import arrow
from dpengine.exact import DecimalLike, decimal
from dpengine.spec.declared import Declared, NumberFormat, Text
from dpengine.spec.numeric.affixes import Affixes
from dpengine.translation.catalogue import _, localised, mark

__all__ = ["Finite", "Grid", "read_finite"]

_ROUNDING = 2.0**-50  # relative to the steps from zero to a bound: more than the floating-point error of a place
_EXACT = 2**53  # up to here a 64-bit float holds every whole number


def read_finite(value: Any) -> Decimal:
    """Read a number that a person states. Raises ValueError."""
    try:
        return decimal(value)
    except ValueError:
        raise ValueError(_("this must be a finite number such as 18 or 0.5, as public knowledge has it")) from None


Finite = Annotated[Decimal, BeforeValidator(read_finite)]


class Grid(Declared):
    """The values `low`, `low` + `step`, …, `high` of a numeric column; the bounds are multiples of the step.

    A value beyond a bound counts as that bound. A value between two points counts as the nearer one, halfway as the
    upper one. A value that is missing, infinite or unreadable counts as `absent`; if that is None, its row is left out.
    Values are read as 64-bit floating-point numbers, each taken as its shortest text: 0.285 is 0.285. Texts are read in
    the `format` and without the `affixes`, like those of `Number`.

    >>> Grid(name="income", low="0", high="1000", step="0.5").steps
    2000
    """

    name: Text
    low: Finite
    high: Finite
    step: Finite = Decimal(1)
    missing_as: tuple[Text, ...] = Field(default=(), description="texts that mean 'missing', such as ? or -99")
    absent: Finite | None = None
    format: NumberFormat = "1234.5"
    affixes: Affixes = ()
    kind: Literal["number"] = "number"

    if TYPE_CHECKING:

        def __init__(
            self, *, name: str, low: DecimalLike, high: DecimalLike, step: DecimalLike = ...,
            missing_as: Sequence[str] = ..., absent: DecimalLike | None = ..., format: NumberFormat = ...,
            affixes: Sequence[str] = ..., kind: Literal["number"] = ...,
        ) -> None: ...  # fmt: skip

    @model_validator(mode="after")
    def _check(self) -> Grid:
        if not self.name.strip():
            raise ValueError(_("a column needs its name, as in the table's header"))
        if self.step <= 0:
            raise ValueError(_("the step of {name!r} must be above 0", name=self.name))
        if not self.low < self.high:
            raise ValueError(
                _(
                    "{name!r}: the lower bound {low} must be below the upper one, {high}",
                    name=self.name,
                    low=localised(f"{self.low:f}"),
                    high=localised(f"{self.high:f}"),
                )
            )
        bounds = (
            (mark("lower bound"), self.low),
            (mark("upper bound"), self.high),
            (mark("value for absent"), self.absent),
        )
        for what, bound in bounds:
            if bound is not None and (Fraction(bound) / Fraction(self.step)).denominator != 1:
                raise ValueError(
                    _(
                        "{name!r}: the {what} {bound} must be a multiple of the step {step}",
                        name=self.name,
                        what=_(what),
                        bound=localised(f"{bound:f}"),
                        step=localised(f"{self.step:f}"),
                    )
                )
        if self.absent is not None and not self.low <= self.absent <= self.high:
            raise ValueError(_("{name!r}: the value for absent must lie between the bounds", name=self.name))
        width, parts = self.halves
        if 2 * max(abs(self.units(self.low)), abs(self.units(self.high))) * width + width >= _EXACT or parts >= _EXACT:
            raise ValueError(
                _("{name!r}: the grid has more digits than its values can have; choose a larger step", name=self.name)
            )
        return self

    @property
    def table_column(self) -> str:
        """The name of the table's column that is read."""
        return self.name

    @property
    def steps(self) -> int:
        """Number of steps from `low` to `high`; the grid has one point more."""
        return self.units(self.high) - self.units(self.low)

    def units(self, value: Decimal) -> int:
        """Return a value of the grid as a number of steps from zero."""
        return int(Fraction(value) / Fraction(self.step))

    def value(self, units: int) -> Decimal:
        """Return the value that lies `units` steps from zero; exact."""
        width = Fraction(self.step)
        digits = max(0, -int(self.step.as_tuple().exponent))
        return Decimal(int(units * width * 10**digits)).scaleb(-digits)

    @property
    def missing_code(self) -> int:
        """Place of a missing value on the grid; -1 means that its row is left out."""
        return -1 if self.absent is None else self.units(self.absent) - self.units(self.low)

    @property
    def other_code(self) -> int:
        """Place of an infinite or unreadable value on the grid."""
        return self.missing_code

    def places(self, batch: Any) -> Any:
        """Return the place of each number of an Arrow array on the grid: 0 for `low`, 1 for the next point, and so on.

        Values that are not finite numbers have the place of a missing value.
        """
        values = arrow.to_numpy(batch)
        places = self.places_of(values)
        places[~np.isfinite(values)] = self.missing_code
        return arrow.from_numpy(places)

    def places_of(self, values: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
        """Return the place of each finite number on the grid; that of any other is arbitrary.

        Places are exact even at the borders between them: floating-point arithmetic is trusted only where its error
        cannot matter.
        """
        low, high, step = float(self.low), float(self.high), float(self.step)
        bounded = np.clip(np.nan_to_num(values.astype(np.float64), nan=low), low, high)
        exact = (bounded - low) / step + 0.5
        near = np.floor(exact)
        places = np.clip(near, 0, self.steps).astype(np.int64)
        unsure = np.abs(exact - np.rint(exact)) <= _ROUNDING * (1 + max(abs(low), abs(high)) / step)
        places[unsure] = self._exact_places(bounded[unsure], places[unsure])
        return places

    def _exact_places(self, bounded: npt.NDArray[np.float64], places: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """Correct guesses that may be off by a place or two, by comparison with the exact borders."""
        while True:
            wrong = (bounded >= self._border(places + 1)).astype(np.int64) * (places < self.steps)
            wrong -= ((bounded < self._border(places)) & (places > 0)).astype(np.int64)
            if not wrong.any():
                return places
            places = places + wrong

    @property
    def halves(self) -> tuple[int, int]:
        """Numerator and denominator of half a step."""
        half = Fraction(self.step) / 2
        return half.numerator, half.denominator

    def _border(self, places: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
        """Return the lower border of each place, halfway from the one below; one division gives the nearest float."""
        width, parts = self.halves
        borders: npt.NDArray[np.float64] = ((2 * (self.units(self.low) + places) - 1) * width).astype(float) / parts
        return borders
