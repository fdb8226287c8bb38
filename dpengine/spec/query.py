"""One question about a table: what is asked, of which rows, whom it protects, and what it may cost.

A question is public from end to end, like a plan: its columns' cells, its bounds and its grid are stated by a
person, and nothing in it comes from the rows. So its sensitivity, its price and its expected error can all be told
before it is asked.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, PlainSerializer, field_validator, model_validator

from dpengine.errors import PlanError
from dpengine.exact import exact_text, rational
from dpengine.noise.laplace import MAX_SCALE
from dpengine.spec.domain import Column, Declared, Number
from dpengine.spec.numeric_grid import Grid
from dpengine.spec.parsing import Line, Text
from dpengine.spec.plan import Epsilon, Unit

__all__ = ["MAX_CANDIDATES", "Condition", "Count", "Mean", "Mode", "Proportion", "Quantile", "Question", "Sum"]

MAX_CANDIDATES = 1_000_000
_BEYOND = Decimal(10) ** 30  # what a range without an end reaches to


def _share(value: Any) -> Fraction:
    found = rational(value)
    if not 0 < found < 1 or found.denominator > 10**6:
        raise ValueError("this must lie between 0 and 1, with at most six decimals, such as 0.5 for the median")
    return found


Share = Annotated[Fraction, BeforeValidator(_share), PlainSerializer(exact_text)]


class Condition(Declared):
    """Rows whose value of ``column`` falls in one of the cells named by ``labels``.

    >>> age = Number(name="age", edges=[0, 18, 65])
    >>> Condition(column=age, labels=["[18, 65]"]).words
    'age is [18, 65]'
    >>> Condition.between("age", 18, 64).words, Condition.between("age", low=65).words
    ('age is from 18 to 64', 'age is at least 65')
    >>> Condition.masked(age, "0110").labels
    ('[18, 65]', '(other)')
    """

    column: Column
    labels: tuple[Text, ...]

    @model_validator(mode="after")
    def _of_the_column(self) -> Condition:
        name, known = self.column.name, set(self.column.labels)
        if not self.labels:
            raise ValueError(f"choose at least one value of {name!r}: with none, no row would be counted")
        for label in self.labels:
            if label not in known:
                raise ValueError(f"{name!r} has no cell {label!r}; it has {', '.join(self.column.labels[:12])}")
        if len(set(self.labels)) < len(self.labels):
            raise ValueError(f"a value of {name!r} is listed twice")
        return self

    @classmethod
    def between(cls, name: str, low: object = None, high: object = None) -> Condition:
        """Rows with a number from ``low`` to ``high``, both included; a bound of None is none."""
        edges = (-_BEYOND if low is None else low, _BEYOND if high is None else high)
        column = Number(name=name, edges=edges, other=False, missing=False)
        return cls(column=column, labels=column.declared)

    @classmethod
    def masked(cls, column: Column, mask: str) -> Condition:
        """The cells of ``column`` where ``mask``, a text of as many bits as it has cells, is 1."""
        bits = re.sub(r"[\s,\[\]]", "", mask)
        if not re.fullmatch("[01]*", bits) or len(bits) != column.size:
            raise PlanError(f"a mask of {column.name!r} has {column.size} bits, each 0 or 1, one for each of its cells")
        return cls(column=column, labels=[label for label, bit in zip(column.labels, bits, strict=True) if bit == "1"])

    @property
    def codes(self) -> tuple[int, ...]:
        """Indices of the cells, in order."""
        place = {label: code for code, label in enumerate(self.column.labels)}
        return tuple(sorted(place[label] for label in self.labels))

    @property
    def words(self) -> str:
        """The condition as a person would say it."""
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
    def told(self) -> dict[str, Any]:
        """What decides which rows meet it."""
        plain = self.column.model_dump(mode="json", by_alias=True, exclude={"source", "codebook"})
        if isinstance(self.column, Number):
            plain["edges"] = [f"{edge:f}" for edge in self.column.edges]
        return {"column": plain, "codes": self.codes}


class Count(Declared):
    """How many rows there are."""

    kind: Literal["count"] = "count"


class Proportion(Declared):
    """What share of the rows meets all of ``of`` as well; a row whose value has no cell does not."""

    kind: Literal["proportion"] = "proportion"
    of: tuple[Condition, ...] = Field(min_length=1)


class Sum(Declared):
    """The sum of a column on a grid."""

    kind: Literal["sum"] = "sum"
    of: Grid


class Mean(Declared):
    """The average of a column on a grid."""

    kind: Literal["mean"] = "mean"
    of: Grid


class Quantile(Declared):
    """The value of a column's grid below which a share ``level`` of the rows lies; the median at one half."""

    kind: Literal["quantile"] = "quantile"
    of: Grid
    level: Share = Fraction(1, 2)

    @model_validator(mode="after")
    def _countable(self) -> Quantile:
        if self.of.steps >= MAX_CANDIDATES:
            raise ValueError(
                f"a quantile is chosen among at most {MAX_CANDIDATES:,} values; a larger step makes them fewer"
            )
        return self


class Mode(Declared):
    """The declared value of a column that most rows have; *other* and *missing* are no candidates."""

    kind: Literal["mode"] = "mode"
    of: Column

    @model_validator(mode="after")
    def _a_choice(self) -> Mode:
        if len(self.of.declared) < 2:
            raise ValueError(f"{self.of.name!r} has one value only, so that there is nothing to choose")
        return self


Statistic = Annotated[Count | Proportion | Sum | Mean | Quantile | Mode, Field(discriminator="kind")]


class Question(Declared):
    """A statistic of the rows that meet all conditions ``where``, at a price of ``epsilon``.

    ``rows_about`` is a public guess at how many rows meet them; it serves to tell errors of averages and shares
    beforehand, and for nothing else.
    """

    dataset: Line
    epsilon: Epsilon
    statistic: Statistic
    where: tuple[Condition, ...] = ()
    unit: Unit = Unit()
    rows_about: int | None = Field(default=None, ge=1, le=10**12)

    @field_validator("dataset")
    @classmethod
    def _names_a_budget(cls, dataset: str) -> str:
        if not dataset.strip():
            raise ValueError("name the dataset whose budget is spent, such as clinic-2026")
        return dataset.strip()

    @model_validator(mode="after")
    def _answerable(self) -> Question:
        if self.scale > MAX_SCALE:
            raise ValueError("the noise would be wider than can be drawn; choose a larger step, or a larger ε")
        return self

    @property
    def sensitivity(self) -> int:
        """Δ: by how much a person with at most k = ``unit.rows`` rows moves what is measured, in whole units.

        Neighbours differ in one person, added or removed, and that person's rows each count once, if at all:

        - *count*: one a row, so k. *Most common value*: each candidate's count by at most k, none down when added.
        - *sum*: a row adds a value of the grid, so k·max(|low|, |high|)/step, in steps.
        - *share*: measured as two numbers, how many rows do and how many do not; a row is in one of them, so
          together they move by k in L1.
        - *average*: measured as Σ(x − low) and Σ(high − x), in steps; a row adds exactly (high − low)/step to both
          together, so they move by k·(high − low)/step in L1. (A share is the case low = 0, high = step = 1.)
        - *quantile* at a/b: see `mechanisms.scalar_queries.quantile_scores`; k·max(a, b − a), in
          b-ths of a rank.
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
        """Δ/ε: the scale of the discrete Laplace noise, in the units of ``sensitivity``."""
        return self.sensitivity / self.epsilon

    @property
    def key(self) -> str:
        """Identity of what is asked, at what price: the same on the same data is one answer, drawn once."""
        told: dict[str, Any] = {
            "epsilon": str(self.epsilon),
            "unit": self.unit.model_dump(),
            "where": sorted(json.dumps(condition.told, sort_keys=True) for condition in self.where),
            "statistic": self.statistic.model_dump(mode="json", by_alias=True, exclude={"of"}),
        }
        match self.statistic:
            case Proportion(of=conditions):
                told["of"] = sorted(json.dumps(condition.told, sort_keys=True) for condition in conditions)
            case Sum(of=grid) | Mean(of=grid) | Quantile(of=grid):
                told["of"] = [grid.name, *map(str, (grid.units(grid.low), grid.units(grid.high), Fraction(grid.step))),
                              grid.missing_code, sorted(grid.missing_as)]  # fmt: skip
            case Mode(of=column):
                told["of"] = Condition(column=column, labels=column.declared).told
        return "question " + hashlib.sha256(json.dumps(told, sort_keys=True).encode()).hexdigest()

    @property
    def words(self) -> str:
        """The question in a sentence's words, such as 'average of age, where region is North'."""
        match self.statistic:
            case Count():
                what = "number of rows"
            case Proportion(of=conditions):
                what = f"share of rows with {_all_of(conditions)}"
            case Sum(of=grid):
                what = f"sum of {grid.name}"
            case Mean(of=grid):
                what = f"average of {grid.name}"
            case Quantile(of=grid, level=level):
                what = f"{quantile_name(level)} of {grid.name}"
            case Mode(of=column):
                what = f"most common value of {column.name}"
        return what + (f", where {_all_of(self.where)}" if self.where else "")

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON, from which ``Question(**values)`` is the same question."""
        return self.model_dump(mode="json", by_alias=True)


def quantile_name(level: Fraction) -> str:
    """A level as a person would say it.

    >>> quantile_name(Fraction(1, 2)), quantile_name(Fraction(9, 10)), quantile_name(Fraction(1, 3))
    ('median', '90 % quantile', '1/3 quantile')
    """
    if level == Fraction(1, 2):
        return "median"
    percent = 100 * level
    return f"{exact_text(percent)} % quantile" if 10**4 % percent.denominator == 0 else f"{level} quantile"


def _all_of(conditions: Sequence[Condition]) -> str:
    return " and ".join(condition.words for condition in conditions)
