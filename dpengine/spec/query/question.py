"""Single questions about a table: a statistic, the rows that it covers, the privacy unit, and the price.

A question is entirely public, like a plan: a person states the cells of its columns, its bounds and its grid, and
nothing in it comes from the rows. So its sensitivity, price and expected error are known before it is asked.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import Field, model_validator

from dpengine.exact import ExactLike
from dpengine.noise.moments import MAX_SCALE
from dpengine.spec import strict_yaml
from dpengine.spec.declared import Declared, Whole
from dpengine.spec.domain import Amount, Column, cells_payload
from dpengine.spec.plan import Dataset, Epsilon, Unit
from dpengine.spec.query.condition import Condition, all_of, check_stated
from dpengine.spec.query.statistic import (
    Count,
    Mean,
    Mode,
    Proportion,
    Quantile,
    Statistic,
    Sum,
    Variance,
    quantile_name,
)
from dpengine.translation.catalogue import ENGLISH, _, mark, number, speaking

__all__ = ["Question"]

MAX_GROUPS = 1000  # groups of one question; a release of tables is better for more


class Question(Declared):
    """A statistic of the rows that meet all conditions in `where`, at the price `epsilon`.

    With one or two columns in `by`, it is answered for each of their cells, or pairs of cells, for one price.
    `rows_about` is a public guess at how many rows meet them. It serves only to predict the errors of averages and
    proportions.
    """

    dataset: Dataset
    epsilon: Epsilon
    statistic: Statistic
    where: tuple[Condition, ...] = ()
    by: tuple[Column, ...] = Field(default=(), max_length=2)
    unit: Unit = Unit()
    rows_about: Whole | None = Field(default=None, ge=1, le=10**12)

    if TYPE_CHECKING:

        def __init__(
            self, *, dataset: str, epsilon: ExactLike, statistic: Statistic | Mapping[str, Any],
            where: Sequence[Condition | Mapping[str, Any]] = ..., by: Sequence[Column | Mapping[str, Any]] = ...,
            unit: Unit | Mapping[str, Any] = ...,
            rows_about: int | None = ...,
        ) -> None: ...  # fmt: skip

    @model_validator(mode="after")
    def _check_question(self) -> Question:
        if self.by:
            self._check_groups()
        for column in [*self.by, *([self.statistic.of] if isinstance(self.statistic, Mode) else [])]:
            check_stated(column)
        if self.scale > MAX_SCALE:
            raise ValueError(_("the noise would be wider than can be drawn; choose a larger step, or a larger ε"))
        return self

    def _check_groups(self) -> None:
        if isinstance(self.statistic, Quantile | Mode):
            raise ValueError(_("only counts, shares, sums, averages and variances are answered by group"))
        names = [column.name for column in self.by]
        if len(set(names)) < len(names):
            raise ValueError(_("{name!r} is named twice as a group", name=names[0]))
        for column in self.by:
            if isinstance(column, Amount):
                raise ValueError(_("{name!r} is an amount and forms no groups", name=column.name))
            if column.name == self.unit.id:
                raise ValueError(_("{name!r} identifies the person, so no group can be made of it", name=column.name))
        if self.groups > MAX_GROUPS:
            raise ValueError(
                _(
                    "these are {groups} groups, and at most {most} are answered at once; publish a table of them",
                    groups=number(self.groups),
                    most=number(MAX_GROUPS),
                )
            )

    @property
    def sensitivity(self) -> int:
        """Δ, in whole units: the most that one person, with at most k = `unit.rows` rows, changes the measured numbers.

        Neighbours differ in one person, added or removed, and each row of that person counts at most once:

        - *count*: each row adds one, so k. *Most common value*: each candidate's count moves by at most k, and no
          count falls when a person is added.
        - *sum*: a row adds a value of the grid, so k·max(|low|, |high|)/step, in steps.
        - *proportion*: measured as two numbers, of the rows that meet the conditions and of those that do not; a row
          is in one of them, so together they move by k in L1.
        - *average*: measured as Σ(x − low) and Σ(high − x), in steps; a row adds exactly (high − low)/step to both
          together, so they move by k·(high − low)/step in L1. (A proportion is the case low = 0, high = step = 1.)
        - *variance*: measured as three sums, to which a row adds exactly ((high − low)/step)² together, so k times that
          in L1; see `mechanisms.variance`.
        - *quantile* at a/b: k·max(a, b − a), in b-ths of a rank; see `mechanisms.scalar_queries.quantile_scores`.

        By group, each row is in at most one group, and adds to the numbers of no other. So the numbers of all groups
        together change by no more than those of one question, whatever groups the person's k rows are in.
        """
        k = self.unit.rows
        match self.statistic:
            case Count() | Proportion() | Mode():
                return k
            case Sum(of=grid):
                return k * max(abs(grid.units(grid.low)), abs(grid.units(grid.high)))
            case Mean(of=grid):
                return k * grid.steps
            case Variance(of=grid):
                return k * grid.steps**2
            case Quantile(level=level):
                return k * max(level.numerator, level.denominator - level.numerator)

    @property
    def groups(self) -> int:
        """Number of groups that are answered: 1 if the question is not by group."""
        return math.prod(column.size for column in self.by)

    @property
    def group_labels(self) -> list[tuple[str, ...]]:
        """The labels of each group, in the order of its numbers: the whole declared cross-product."""
        return list(product(*(column.labels for column in self.by)))

    @property
    def numbers(self) -> int:
        """The number of noisy numbers drawn for a group."""
        match self.statistic:
            case Proportion() | Mean():
                return 2
            case Variance():
                return 3
            case _:
                return 1

    @property
    def scale(self) -> Fraction:
        """Δ/ε: the scale of the discrete Laplace noise, in the units of `sensitivity`."""
        return self.sensitivity / self.epsilon

    @property
    def key(self) -> str:
        """Identity of the statistic, the rows and the price: the same question about the same data is answered once."""
        payload: dict[str, Any] = {
            "epsilon": str(self.epsilon),
            "unit": self.unit.model_dump(),
            "where": sorted(json.dumps(condition.payload, sort_keys=True) for condition in self.where),
            "statistic": self.statistic.model_dump(mode="json", by_alias=True, exclude={"of"}),
        }
        match self.statistic:
            case Proportion(of=conditions):
                payload["of"] = sorted(json.dumps(condition.payload, sort_keys=True) for condition in conditions)
            case Sum(of=grid) | Mean(of=grid) | Variance(of=grid) | Quantile(of=grid):
                bounds = map(str, (grid.units(grid.low), grid.units(grid.high), Fraction(grid.step)))
                payload["of"] = [grid.name, *bounds, grid.missing_code, sorted(grid.missing_as)]
                payload["of"] += [] if grid.format == "1234.5" else [grid.format]
                payload["of"] += [{"affixes": sorted(grid.affixes)}] if grid.affixes else []
            case Mode(of=column):
                payload["of"] = Condition(column=column, labels=column.declared).payload
        if self.by:
            payload["by"] = [cells_payload(column, by_alias=True) for column in self.by]
        return "question " + hashlib.sha256(json.dumps(payload, sort_keys=True).encode()).hexdigest()

    @property
    @speaking(ENGLISH)  # the ledger keeps it
    def description(self) -> str:
        """The question in a few English words, such as 'average of age, where region is North'."""
        return self.in_words

    @property
    def in_words(self) -> str:
        """The question in a few words of the current language."""
        match self.statistic:
            case Count():
                name = _("number of rows")
            case Proportion(of=conditions):
                name = _("share of rows with {conditions}", conditions=all_of(conditions))
            case Sum(of=grid):
                name = _("sum of {column}", column=grid.name)
            case Mean(of=grid):
                name = _("average of {amount}", amount=grid.name)
            case Variance(of=grid):
                name = _("variance of {column}", column=grid.name)
            case Quantile(of=grid, level=level):
                name = _("{quantile} of {name}", quantile=quantile_name(level), name=grid.name)
            case Mode(of=column):
                name = _("most common value of {column}", column=column.name)
        if self.by:
            name = _("{what} by {columns}", what=name, columns=_(" and ").join(column.name for column in self.by))
        return _("{what}, where {conditions}", what=name, conditions=all_of(self.where)) if self.where else name

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON; ``Question(**values)`` reads them back."""
        return self._values()

    def dumps(self) -> str:
        """Return the question as a YAML file, which `loads` reads."""
        return strict_yaml.dump(self._values(exclude_none=True))

    @classmethod
    def loads(cls, text: str) -> Question:
        """Read the text of a question file. Raises `PlanError` with every fault found.

        >>> asked = Question(dataset="clinic", epsilon="1/2", statistic=Count())
        >>> Question.loads(asked.dumps()) == asked
        True
        """
        return cls(**strict_yaml.mapping(text, mark("a question")))

    @classmethod
    def load(cls, path: str | Path) -> Question:
        """Read a question file. Raises `PlanError` with every fault found."""
        return cls.loads(strict_yaml.read(strict_yaml.path_of(path, mark("question")), mark("question")))

    def _values(self, *, exclude_none: bool = False) -> dict[str, Any]:
        """Return plain values; without groups, in the form of versions that had none."""
        values = self.model_dump(mode="json", by_alias=True, exclude_none=exclude_none)
        return values if self.by else {key: value for key, value in values.items() if key != "by"}
