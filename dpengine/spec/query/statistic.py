"""The statistic of a question: count, proportion, sum, average, variance, quantile or most common value."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import BeforeValidator, Field, PlainSerializer, model_validator

from dpengine.exact import ExactLike, exact_text, exactly, rational
from dpengine.spec.declared import Declared
from dpengine.spec.domain import Amount, Column
from dpengine.spec.numeric.grid import Grid
from dpengine.spec.query.condition import Condition
from dpengine.translation.catalogue import _, number

__all__ = [
    "MAX_CANDIDATES", "Count", "Mean", "Mode", "Proportion", "Quantile", "Statistic", "Sum", "Variance",
    "quantile_name",
]  # fmt: skip

MAX_CANDIDATES = 1_000_000


def _level(value: Any) -> Fraction:
    level = rational(value)
    if not 0 < level < 1 or level.denominator > 10**6:
        raise ValueError(_("this must lie between 0 and 1, with at most six decimals, such as 0.5 for the median"))
    return level


Level = Annotated[Fraction, BeforeValidator(_level), PlainSerializer(exact_text)]


class Count(Declared):
    """The number of rows."""

    kind: Literal["count"] = "count"


class Proportion(Declared):
    """The proportion of the rows that also meet all conditions in `of`; a row whose value has no cell meets none."""

    kind: Literal["proportion"] = "proportion"
    of: tuple[Condition, ...] = Field(min_length=1)

    if TYPE_CHECKING:

        def __init__(
            self, *, of: Sequence[Condition | Mapping[str, Any]], kind: Literal["proportion"] = ...
        ) -> None: ...


class Sum(Declared):
    """The sum of a column on a grid."""

    kind: Literal["sum"] = "sum"
    of: Grid


class Mean(Declared):
    """The average of a column on a grid."""

    kind: Literal["mean"] = "mean"
    of: Grid


class Variance(Declared):
    """The variance of a column on a grid, divided by the number of rows; its root is the standard deviation."""

    kind: Literal["variance"] = "variance"
    of: Grid

    @model_validator(mode="after")
    def _check_steps(self) -> Variance:
        if self.of.steps > MAX_CANDIDATES:
            raise ValueError(
                _("a variance takes at most {most} steps; choose a larger step", most=number(MAX_CANDIDATES))
            )
        return self


class Quantile(Declared):
    """The value of a column's grid below which a proportion `level` of the rows lies; by default the median."""

    kind: Literal["quantile"] = "quantile"
    of: Grid
    level: Level = Fraction(1, 2)

    if TYPE_CHECKING:

        def __init__(
            self, *, of: Grid | Mapping[str, Any], level: ExactLike = ..., kind: Literal["quantile"] = ...
        ) -> None: ...

    @model_validator(mode="after")
    def _check_steps(self) -> Quantile:
        if self.of.steps >= MAX_CANDIDATES:
            raise ValueError(
                _(
                    "a quantile is chosen among at most {most} values; a larger step makes them fewer",
                    most=number(MAX_CANDIDATES),
                )
            )
        return self


class Mode(Declared):
    """The most common declared value of a column; *other* and *missing* are no candidates."""

    kind: Literal["mode"] = "mode"
    of: Column

    @model_validator(mode="after")
    def _check_candidates(self) -> Mode:
        if isinstance(self.of, Amount):
            raise ValueError(
                _("{name!r} is an amount, which has no most common value; ask for its median", name=self.of.name)
            )
        if len(self.of.declared) < 2:
            raise ValueError(_("{name!r} has one value only, so there is nothing to choose", name=self.of.name))
        return self


Statistic = Annotated[Count | Proportion | Sum | Mean | Variance | Quantile | Mode, Field(discriminator="kind")]


def quantile_name(level: Fraction) -> str:
    """Name a quantile by its level.

    >>> quantile_name(Fraction(1, 2)), quantile_name(Fraction(9, 10)), quantile_name(Fraction(1, 3))
    ('median', '90 % quantile', '1/3 quantile')
    """
    if level == Fraction(1, 2):
        return _("median")
    percent = 100 * level
    if 10**4 % percent.denominator == 0:
        return _("{percent} % quantile", percent=exactly(percent))
    return _("{level} quantile", level=level)
