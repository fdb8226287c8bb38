"""Single questions about a table: a statistic, the rows that it covers, the privacy unit, and the price.

A question is entirely public, like a plan: a person states the cells of its columns, its bounds and its grid, and
nothing in it comes from the rows. So its sensitivity, price and expected error are known before it is asked.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import BeforeValidator, Field, PlainSerializer, model_validator

from dpengine.errors import PlanError
from dpengine.exact import DecimalLike, ExactLike, exact_text, rational
from dpengine.noise.moments import MAX_SCALE
from dpengine.spec.declared import Declared, Text
from dpengine.spec.domain import Column, Number, cells_payload
from dpengine.spec.numeric.grid import Grid
from dpengine.spec.plan import Dataset, Epsilon, Unit
from dpengine.translation.catalogue import _, number

__all__ = ["MAX_CANDIDATES", "Condition", "Count", "Mean", "Mode", "Proportion", "Quantile", "Question", "Sum"]

MAX_CANDIDATES = 1_000_000
_BEYOND = Decimal(10) ** 30  # the bound of a range that has none


def _level(value: Any) -> Fraction:
    level = rational(value)
    if not 0 < level < 1 or level.denominator > 10**6:
        raise ValueError(_("this must lie between 0 and 1, with at most six decimals, such as 0.5 for the median"))
    return level


Level = Annotated[Fraction, BeforeValidator(_level), PlainSerializer(exact_text)]


class Condition(Declared):
    """The rows whose value of `column` falls in one of the cells named by `labels`.

    >>> age = Number(name="age", edges=[0, 18, 65])
    >>> Condition(column=age, labels=["[18, 65]"]).description
    'age is [18, 65]'
    >>> Condition.between("age", 18, 64).description, Condition.between("age", low=65).description
    ('age is from 18 to 64', 'age is at least 65')
    >>> Condition.masked(age, "0110").labels
    ('[18, 65]', '(other)')
    """

    column: Column
    labels: tuple[Text, ...]

    if TYPE_CHECKING:

        def __init__(self, *, column: Column | Mapping[str, Any], labels: Sequence[str]) -> None: ...

    @model_validator(mode="after")
    def _of_the_column(self) -> Condition:
        name, known = self.column.name, set(self.column.labels)
        if not self.labels:
            raise ValueError(_("choose at least one value of {name!r}: with none, no row would be counted", name=name))
        for label in self.labels:
            if label not in known:
                raise ValueError(
                    _(
                        "{name!r} has no cell {label!r}; it has {listed}",
                        name=name,
                        label=label,
                        listed=", ".join(self.column.labels[:12]),
                    )
                )
        if len(set(self.labels)) < len(self.labels):
            raise ValueError(_("a value of {name!r} is listed twice", name=name))
        return self

    @classmethod
    def between(cls, name: str, low: DecimalLike | None = None, high: DecimalLike | None = None) -> Condition:
        """Return the condition that a number lies from `low` to `high`, both included; None means no bound."""
        edges = (-_BEYOND if low is None else low, _BEYOND if high is None else high)
        column = Number(name=name, edges=edges, other=False, missing=False)
        return cls(column=column, labels=column.declared)

    @classmethod
    def masked(cls, column: Column, mask: str) -> Condition:
        """Return the condition of the cells whose bit in `mask` is 1, one bit for each cell. Raises `PlanError`."""
        bits = re.sub(r"[\s,\[\]]", "", mask)
        if not re.fullmatch("[01]*", bits) or len(bits) != column.size:
            raise PlanError(
                _(
                    "a mask of {name!r} has {size} bits, each 0 or 1, one for each of its cells",
                    name=column.name,
                    size=column.size,
                )
            )
        return cls(column=column, labels=[label for label, bit in zip(column.labels, bits, strict=True) if bit == "1"])

    @property
    def codes(self) -> tuple[int, ...]:
        """Indices of the chosen cells, in order."""
        place = {label: code for code, label in enumerate(self.column.labels)}
        return tuple(sorted(place[label] for label in self.labels))

    @property
    def description(self) -> str:
        """The condition in a few words, such as 'age is from 18 to 64'."""
        name = self.column.name
        if isinstance(self.column, Number) and self.column.size == 1:
            low, high = self.column.edges
            if low == -_BEYOND or high == _BEYOND:
                return f"{name} is at most {high:f}" if high != _BEYOND else f"{name} is at least {low:f}"
            return f"{name} is from {low:f} to {high:f}"
        shown = [self.column.labels[code] for code in self.codes]
        if len(shown) <= 4:
            return f"{name} is {' or '.join(shown)}"
        rest = [label for label in self.column.labels if label not in set(shown)]
        if 0 < len(rest) <= 3:
            return f"{name} is not {' or '.join(rest)}"
        return f"{name} is one of {len(shown)} values, {shown[0]} to {shown[-1]}"

    @property
    def payload(self) -> dict[str, Any]:
        """The part of the condition that decides which rows meet it, as plain values."""
        return {"column": cells_payload(self.column, by_alias=True), "codes": self.codes}


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
    def _countable(self) -> Quantile:
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
    def _a_choice(self) -> Mode:
        if len(self.of.declared) < 2:
            raise ValueError(_("{name!r} has one value only, so there is nothing to choose", name=self.of.name))
        return self


Statistic = Annotated[Count | Proportion | Sum | Mean | Quantile | Mode, Field(discriminator="kind")]


class Question(Declared):
    """A statistic of the rows that meet all conditions in `where`, at the price `epsilon`.

    `rows_about` is a public guess at how many rows meet them. It serves only to predict the errors of averages and
    proportions.
    """

    dataset: Dataset
    epsilon: Epsilon
    statistic: Statistic
    where: tuple[Condition, ...] = ()
    unit: Unit = Unit()
    rows_about: int | None = Field(default=None, ge=1, le=10**12)

    if TYPE_CHECKING:

        def __init__(
            self, *, dataset: str, epsilon: ExactLike, statistic: Statistic | Mapping[str, Any],
            where: Sequence[Condition | Mapping[str, Any]] = ..., unit: Unit | Mapping[str, Any] = ...,
            rows_about: int | None = ...,
        ) -> None: ...  # fmt: skip

    @model_validator(mode="after")
    def _answerable(self) -> Question:
        if self.scale > MAX_SCALE:
            raise ValueError(_("the noise would be wider than can be drawn; choose a larger step, or a larger ε"))
        return self

    @property
    def sensitivity(self) -> int:
        """Δ, in whole units: how far one person, with at most k = `unit.rows` rows, moves the measured numbers.

        Neighbours differ in one person, added or removed, and each row of that person counts at most once:

        - *count*: each row adds one, so k. *Most common value*: each candidate's count moves by at most k, and no
          count falls when a person is added.
        - *sum*: a row adds a value of the grid, so k·max(|low|, |high|)/step, in steps.
        - *proportion*: measured as two numbers, of the rows that meet the conditions and of those that do not; a row
          is in one of them, so together they move by k in L1.
        - *average*: measured as Σ(x − low) and Σ(high − x), in steps; a row adds exactly (high − low)/step to both
          together, so they move by k·(high − low)/step in L1. (A proportion is the case low = 0, high = step = 1.)
        - *quantile* at a/b: k·max(a, b − a), in b-ths of a rank; see `mechanisms.scalar_queries.quantile_scores`.
        """
        k = self.unit.rows
        match self.statistic:
            case Count() | Proportion() | Mode():
                return k
            case Sum(of=grid):
                return k * max(abs(grid.units(grid.low)), abs(grid.units(grid.high)))
            case Mean(of=grid):
                return k * grid.steps
            case Quantile(level=level):
                return k * max(level.numerator, level.denominator - level.numerator)

    @property
    def scale(self) -> Fraction:
        """Δ/ε: the scale of the discrete Laplace noise, in the units of `sensitivity`."""
        return self.sensitivity / self.epsilon

    @property
    def key(self) -> str:
        """Identity of the statistic, the rows and the price: the same question of the same data is answered once."""
        payload: dict[str, Any] = {
            "epsilon": str(self.epsilon),
            "unit": self.unit.model_dump(),
            "where": sorted(json.dumps(condition.payload, sort_keys=True) for condition in self.where),
            "statistic": self.statistic.model_dump(mode="json", by_alias=True, exclude={"of"}),
        }
        match self.statistic:
            case Proportion(of=conditions):
                payload["of"] = sorted(json.dumps(condition.payload, sort_keys=True) for condition in conditions)
            case Sum(of=grid) | Mean(of=grid) | Quantile(of=grid):
                bounds = map(str, (grid.units(grid.low), grid.units(grid.high), Fraction(grid.step)))
                payload["of"] = [grid.name, *bounds, grid.missing_code, sorted(grid.missing_as)]
                payload["of"] += [] if grid.format == "1234.5" else [grid.format]
            case Mode(of=column):
                payload["of"] = Condition(column=column, labels=column.declared).payload
        return "question " + hashlib.sha256(json.dumps(payload, sort_keys=True).encode()).hexdigest()

    @property
    def description(self) -> str:
        """The question in a few words, such as 'average of age, where region is North'."""
        match self.statistic:
            case Count():
                name = "number of rows"
            case Proportion(of=conditions):
                name = f"share of rows with {_all_of(conditions)}"
            case Sum(of=grid):
                name = f"sum of {grid.name}"
            case Mean(of=grid):
                name = f"average of {grid.name}"
            case Quantile(of=grid, level=level):
                name = f"{quantile_name(level)} of {grid.name}"
            case Mode(of=column):
                name = f"most common value of {column.name}"
        return name + (f", where {_all_of(self.where)}" if self.where else "")

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON; ``Question(**values)`` reads them back."""
        return self.model_dump(mode="json", by_alias=True)


def quantile_name(level: Fraction) -> str:
    """Name a quantile by its level.

    >>> quantile_name(Fraction(1, 2)), quantile_name(Fraction(9, 10)), quantile_name(Fraction(1, 3))
    ('median', '90 % quantile', '1/3 quantile')
    """
    if level == Fraction(1, 2):
        return "median"
    percent = 100 * level
    return f"{exact_text(percent)} % quantile" if 10**4 % percent.denominator == 0 else f"{level} quantile"


def _all_of(conditions: Sequence[Condition]) -> str:
    return " and ".join(condition.description for condition in conditions)
