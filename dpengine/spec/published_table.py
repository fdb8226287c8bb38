"""The tables that a plan publishes: plain ones are tuples of column names, others have further fields."""

from __future__ import annotations

import math
from decimal import Decimal
from functools import cached_property
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, PlainSerializer, model_validator

from dpengine.errors import PlanError
from dpengine.exact import decimal
from dpengine.spec.declared import Declared, Text, Whole
from dpengine.spec.limits import MAX_TABLE_COLUMNS, MAX_TABLES
from dpengine.spec.numeric.association import Association, Pairs, Slopes
from dpengine.translation.catalogue import _, number

__all__ = ["Each", "PublishedTable", "Tables", "read_table"]


class Each(Declared):
    """All tables of `each` columns."""

    each: Whole = Field(ge=1, le=MAX_TABLE_COLUMNS)

    def check(self, columns: int) -> None:
        """Raise ValueError unless there are such tables of this number of `columns`, and not too many."""
        if self.each > columns:
            raise ValueError(
                _("tables of {each} columns need as many; only {columns} are declared", each=self.each, columns=columns)
            )
        if math.comb(columns, self.each) > MAX_TABLES:
            raise ValueError(
                _(
                    "these are more than {most} tables, the limit of a plan; choose fewer columns",
                    most=number(MAX_TABLES),
                )
            )


MIN_WEIGHT, MAX_WEIGHT = Decimal("0.001"), Decimal(1000)
MAX_QUANTILES = 20  # of an amount in a table
Names = Annotated[tuple[Text, ...], Field(max_length=MAX_TABLE_COLUMNS)]


def _read_parts(values: Any) -> tuple[Decimal, ...]:
    """Read fractions between 0 and 1, such as 0.5; return the distinct ones in increasing order. Raises ValueError.

    >>> _read_parts([0.5, "0.250", 0.50])
    (Decimal('0.25'), Decimal('0.5'))
    """
    if not isinstance(values, list | tuple):
        raise ValueError(_("list the quantiles that are asked for, such as [0.25, 0.5, 0.75]"))
    try:
        parts = sorted({decimal(value).normalize() for value in values})
    except ValueError:
        parts = [Decimal(0)]
    if any(not 0 < part < 1 or part != round(part, 4) for part in parts):
        raise ValueError(_("a quantile is at a part of the people between 0 and 1, such as 0.5; at most 4 decimals"))
    return tuple(parts)


QuantileParts = Annotated[
    tuple[Decimal, ...], BeforeValidator(_read_parts), Field(min_length=1, max_length=MAX_QUANTILES)
]


def _read_weight(value: object) -> Decimal:
    """Read the weight of a table. Raises ValueError."""
    try:
        weight = decimal(value)
    except ValueError:
        weight = Decimal(0)
    if not MIN_WEIGHT <= weight <= MAX_WEIGHT or weight != round(weight, 6):
        raise ValueError(
            _(
                "a weight is a number from {least} to {most} with at most 6 decimals: 3 makes a table three times as "
                "important as one without a weight",
                least=MIN_WEIGHT,
                most=MAX_WEIGHT,
            )
        )
    return weight.normalize()


Weight = Annotated[Decimal, BeforeValidator(_read_weight), PlainSerializer(lambda weight: f"{weight:f}")]


class PublishedTable(Declared):
    """A table with further fields beside its columns.

    - `ranges`: it is published for sums over intervals of its columns, such as all ages up to 40.
    - `mean`, `sum`: the amounts whose means or sums it has in each cell.
    - `quantiles`: for each of some amounts, the parts of the people at which quantiles are published, such as 0.5 for
      the median.
    - `standard_deviation`: amounts whose standard deviations it has, of the people and not of a sample.
    - `covariance`, `correlation`: pairs of amounts that it has these of; `slope`: of one amount on another.
    - `weight`: a table of weight 3 is three times as important as one of weight 1: where ε is divided, the variance of
      its cells counts three times (`measure.allocation`).
    - `distinct`: it counts each person at most once in each of its cells, and in at most `cells_per_person` of them
      (`spec.tallies`).
    """

    columns: Names
    ranges: bool = False
    mean: Names = ()
    sum: Names = ()
    quantiles: dict[Text, QuantileParts] = Field(default={}, max_length=MAX_TABLE_COLUMNS)
    standard_deviation: Names = ()
    covariance: Pairs = ()
    correlation: Pairs = ()
    slope: Slopes = ()
    weight: Weight = Decimal(1)
    distinct: bool = False
    cells_per_person: Whole = Field(default=1, ge=1, le=1_000_000)

    @model_validator(mode="after")
    def _check_distinct(self) -> PublishedTable:
        if self.cells_per_person > 1 and not self.distinct:
            raise ValueError(_("cells_per_person bounds the cells of a table of distinct persons; add distinct: true"))
        return self

    @property
    def amounts(self) -> tuple[str, ...]:
        """Names of the amounts that are measured in the table."""
        paired = (name for each in self.associations for name in each.amounts)
        return tuple(dict.fromkeys((*self.mean, *self.sum, *self.quantiles, *paired)))

    @cached_property
    def associations(self) -> tuple[Association, ...]:
        """The published associations of amounts."""
        return (
            *(Association("standard_deviation", name, name) for name in self.standard_deviation),
            *(Association("covariance", *each) for each in self.covariance),
            *(Association("correlation", *each) for each in self.correlation),
            *(Association("slope", each.of, each.on) for each in self.slope),
        )


def read_table(value: Any) -> Any:
    """Read a table: a list of columns, or the fields of a `PublishedTable`."""
    if isinstance(value, dict):
        value = _read_fields(value)
    if isinstance(value, PublishedTable):
        says_more = value.ranges or value.amounts or value.distinct or value.weight != 1
        return value if says_more else value.columns
    if not isinstance(value, list | tuple) or not all(isinstance(name, str) for name in value):
        raise ValueError(_("a table is a list of columns, such as [age, region]"))
    if len(value) > MAX_TABLE_COLUMNS:
        raise ValueError(
            _(
                "this table has {value} columns; a table has at most {most}",
                value=number(len(value)),
                most=MAX_TABLE_COLUMNS,
            )
        )
    return value


def _read_tables(tables: Any) -> Any:
    """Return the entry `tables` of a plan, if it is a list that is not too long, or the fields of `Each`."""
    if isinstance(tables, dict):
        return Each(**tables)
    if not isinstance(tables, list | tuple | Each):
        raise ValueError(_("list the tables, each a list of columns; or {each: 2} for all of two columns"))
    if not isinstance(tables, Each) and len(tables) > MAX_TABLES:
        raise ValueError(
            _(
                "these are {tables} tables; a plan has at most {most}",
                tables=number(len(tables)),
                most=number(MAX_TABLES),
            )
        )
    return tables


Table = Annotated[tuple[Text, ...] | PublishedTable, BeforeValidator(read_table)]
Tables = Annotated[tuple[Table, ...] | Each, BeforeValidator(_read_tables)]


def _read_fields(fields: dict[str, Any]) -> PublishedTable:
    """Read the fields of a table. Raises ValueError, so that a plan adds which of its tables it is."""
    try:
        return PublishedTable(**fields)
    except PlanError as error:
        raise ValueError("; ".join(map(str, error.faults))) from None
