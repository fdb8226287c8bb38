"""Associations of two amounts: covariance, correlation or slope; and the standard deviation of one."""

from __future__ import annotations

from typing import Annotated, Any, Literal, NamedTuple

from pydantic import BeforeValidator, Field

from dpengine.spec.declared import Declared, Text
from dpengine.spec.limits import MAX_TABLE_COLUMNS
from dpengine.spec.numeric.amount import Amount
from dpengine.translation.catalogue import _

__all__ = ["Association", "Pairs", "Slope", "Slopes", "limit_of", "unit_of"]


class Slope(Declared):
    """The slope of the regression of amount `of` on amount `on`: the expected change of one per unit of the other.

    It is the slope of the least-squares line, in R the coefficient of ``lm(of ~ on)``.
    """

    of: Text
    on: Text


class Association(NamedTuple):
    """A statistic of two amounts in each cell of a table; only the slope depends on their order.

    A standard deviation is that of an amount with itself: the square root of this covariance.
    """

    kind: Literal["standard_deviation", "covariance", "correlation", "slope"]
    of: str
    on: str

    @property
    def column(self) -> str:
        """The name of its published column.

        >>> Association("slope", "income", "hours").column, Association("covariance", "income", "hours").column
        ('slope_income_on_hours', 'covariance_income_hours')
        >>> Association("standard_deviation", "income", "income").column
        'standard_deviation_income'
        """
        if self.kind == "standard_deviation":
            return f"{self.kind}_{self.of}"
        return f"{self.kind}_{self.of}{'_on' if self.kind == 'slope' else ''}_{self.on}"

    @property
    def of_two(self) -> bool:
        """Whether it is of two amounts, not the standard deviation of one."""
        return self.of != self.on

    @property
    def amounts(self) -> tuple[str, ...]:
        """The one amount, or the two."""
        return (self.of, self.on) if self.of_two else (self.of,)

    @property
    def squared(self) -> tuple[str, ...]:
        """The amounts whose squares are needed."""
        return {"covariance": (), "slope": (self.on,)}.get(self.kind, self.amounts)


def _pair(value: Any) -> Any:
    if not isinstance(value, list | tuple) or len(value) != 2 or not all(isinstance(name, str) for name in value):
        raise ValueError(_("list pairs of amounts, such as [[income, hours]]"))
    return tuple(value)


def _slopes(value: Any) -> Any:
    if not isinstance(value, list | tuple):
        raise ValueError(_("list slopes, each of one amount on another, such as [{of: income, on: hours}]"))
    return value


Pairs = Annotated[tuple[Annotated[tuple[Text, Text], BeforeValidator(_pair)], ...], Field(max_length=MAX_TABLE_COLUMNS)]
Slopes = Annotated[tuple[Slope, ...], BeforeValidator(_slopes), Field(max_length=MAX_TABLE_COLUMNS)]


def unit_of(association: Association, of: Amount, on: Amount) -> float:
    """Return the value for amounts scaled to 0 to 1 of an association that is 1 in their own units."""
    wide, other = float(of.high - of.low), float(on.high - on.low)
    return {"covariance": wide * other, "correlation": 1.0, "slope": wide / other, "standard_deviation": wide}[
        association.kind
    ]


def limit_of(association: Association, on: Amount) -> float:
    """Return the maximum absolute value of an association, for amounts scaled to 0 to 1.

    A standard deviation is largest if half of the people are at each end of the range.

    A slope is a weighted mean of the slopes through any two people, and the steepest of these rises over the whole
    range within one step.
    """
    return {"standard_deviation": 0.5, "covariance": 0.25, "correlation": 1.0, "slope": float(on.grid.steps)}[
        association.kind
    ]
