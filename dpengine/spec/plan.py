"""Plans: the tables to publish, the privacy unit, and ε; read from and written to plan files.

A plan is entirely public: nothing in it comes from the private rows. Cells, price and predicted error are functions
of the plan alone, so they are known before anything is spent.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import cached_property
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from pydantic import AfterValidator, BeforeValidator, Field, PlainSerializer, model_validator

from dpengine.array_types import Columns
from dpengine.errors import Fault, PlanError
from dpengine.exact import ExactLike, exact_text, rational
from dpengine.spec import codebook, strict_yaml
from dpengine.spec.categories.resolution import Resolution, coarser_columns
from dpengine.spec.declared import About, Declared, Language, Line, Nouns, Text, Whole, changed
from dpengine.spec.domain import Amount, Column, cells_payload, plan_entry
from dpengine.spec.limits import check_columns, check_declared
from dpengine.spec.numeric.amount_squares import with_squares
from dpengine.spec.plan_amounts import WithAmounts
from dpengine.spec.plan_checks import check_different, check_not_found, check_tables, with_knots
from dpengine.spec.plan_parts import WithParts
from dpengine.spec.published_table import Each, PublishedTable, Tables
from dpengine.spec.summed_levels import CoarserLevels, WithSummedLevels
from dpengine.spec.tallies import WithTallies
from dpengine.translation.catalogue import ENGLISH, _, mark, number, some_of

__all__ = ["Plan", "Strategy", "Unit", "exact_epsilon"]

MIN_EPSILON, MAX_EPSILON = Fraction(1, 10**6), Fraction(1000)


def exact_epsilon(value: object) -> Fraction:
    """Read an exact, positive ε within the limits in which noise can be drawn. Raises ValueError."""
    epsilon = rational(value, "ε")
    if epsilon <= 0:
        raise ValueError(_("ε must be above 0"))
    if not MIN_EPSILON <= epsilon <= MAX_EPSILON:
        raise ValueError(
            _("ε must lie between {least} and {most}", least=number(float(MIN_EPSILON), "f"), most=MAX_EPSILON)
        )
    if epsilon.denominator > 10**18:
        raise ValueError(_("ε has too many digits; give at most 12"))
    return epsilon


def _names_a_budget(dataset: str) -> str:
    if not dataset.strip():
        raise ValueError(_("name the dataset whose budget is spent, such as clinic-2026"))
    return dataset.strip()


Dataset = Annotated[Line, AfterValidator(_names_a_budget)]
Strategy = Literal["auto", "direct", "optimised", "adaptive"]
Epsilon = Annotated[Fraction, BeforeValidator(exact_epsilon), PlainSerializer(exact_text)]


class Unit(Declared):
    """The unit of privacy: one row, or one person, named by the ID column `id`, with at most `rows` rows."""

    rows: Whole = Field(default=1, ge=1, le=1_000_000)
    id: Text | None = None

    @model_validator(mode="after")
    def _check_id(self) -> Unit:
        if self.id is not None and not self.id.strip():
            raise ValueError(_("a column needs its name, as in the table's header"))
        if self.rows > 1 and self.id is None:
            raise ValueError(_("more than one row a person needs 'id', the column that names the person"))
        return self


class Plan(WithAmounts, WithTallies, WithParts, WithSummedLevels, Declared):
    """A release before it is made: the columns with their public domains, the tables, the privacy unit and ε.

    >>> plan = Plan(dataset="clinic", epsilon="1/2", columns=[{"name": "smokes", "kind": "yesno"}], tables=[["smokes"]])
    >>> plan.epsilon, plan.shape(("smokes",))
    (Fraction(1, 2), (4,))
    """

    apart: ClassVar[frozenset[str]] = frozenset({"epsilon", "strategy"})
    title: Text = ""
    notes: Text = ""
    language: Language = ENGLISH
    about: About = About()
    nouns: Nouns = Nouns()
    dataset: Dataset
    epsilon: Epsilon
    unit: Unit = Unit()
    rows_about: Whole | None = Field(default=None, ge=1, le=10**12)
    columns: Annotated[tuple[Column, ...], BeforeValidator(check_columns)]
    tables: Tables
    strategy: Strategy = "auto"
    coarser_levels: CoarserLevels | None = None

    if TYPE_CHECKING:

        def __init__(
            self, *, dataset: str, epsilon: ExactLike, columns: Sequence[Column | Mapping[str, Any]],
            tables: Sequence[Sequence[str] | PublishedTable | Mapping[str, Any]] | Each | Mapping[str, int],
            unit: Unit | Mapping[str, Any] = ..., title: str = ..., notes: str = ..., language: str = ...,
            about: About | Mapping[str, str] = ..., nouns: Nouns | Mapping[str, str] = ...,
            rows_about: int | None = ..., strategy: Strategy = ..., coarser_levels: CoarserLevels | None = ...,
        ) -> None: ...  # fmt: skip

    @model_validator(mode="after")
    def _check_plan(self) -> Plan:
        if not self.columns:
            raise ValueError(_("list at least one column"))
        check_declared(column.declared_size for column in self.columns)
        check_different(self.columns)
        if isinstance(self.tables, Each):
            self.tables.check(len(self.columns))
        if not self.marginals:
            raise ValueError(_("list at least one table"))
        object.__setattr__(self, "columns", with_knots(self.columns, self.listed))  # before anything follows from them
        check_tables(self)
        if self.unit.id is not None and self.unit.id in (*self.used, *self.table_columns):
            raise ValueError(_("the ID column {id!r} names persons and cannot be published", id=self.unit.id))
        return self

    @cached_property
    def marginals(self) -> tuple[Columns, ...]:
        """The published tables in order, each a tuple of column names, without the total, which is always published."""
        if isinstance(self.tables, Each):
            counted = (column.name for column in self.columns if not isinstance(column, Amount))
            return tuple(combinations(counted, self.tables.each))
        return tuple(table.columns if isinstance(table, PublishedTable) else table for table in self.listed)

    @property
    def published(self) -> tuple[Columns, ...]:
        """The published tables in order, and then the total, which has no columns."""
        return (*self.marginals, ())

    @cached_property
    def by_columns(self) -> dict[frozenset[str], Columns]:
        """The published tables and the total, by their columns in any order."""
        return {frozenset(table): table for table in self.published}

    @property
    def listed(self) -> tuple[Columns | PublishedTable, ...]:
        """The listed tables; none if all tables of a number of columns are requested."""
        return () if isinstance(self.tables, Each) else self.tables

    @cached_property
    def weights(self) -> dict[Columns, Fraction]:
        """The weight of each published table relative to the smallest one; empty if all are equal."""
        given = {
            columns: Fraction(table.weight if isinstance(table, PublishedTable) else 1)
            for columns, table in zip(self.marginals, self.listed, strict=False)
        }
        least = min(given.values(), default=Fraction(1))
        return {table: weight / least for table, weight in given.items()} if len({*given.values()}) > 1 else {}

    @property
    def weights_payload(self) -> list[object]:
        """The weights' part of a plan's identity: nothing if all tables have equal weight."""
        weights = ([*sorted(table), str(weight)] for table, weight in self.weights.items())
        return [["weights", *sorted(weights)]] if self.weights else []

    @cached_property
    def _by_name(self) -> dict[str, Column]:
        squared = {name for table in self._measures.values() for each in table.associations for name in each.squared}
        declared = {
            column.name: with_squares(column) if column.name in squared and isinstance(column, Amount) else column
            for column in self.columns
        }
        return declared | coarser_columns(self.columns)

    @cached_property
    def _used(self) -> frozenset[str]:
        return frozenset(name for table in self.estimated_tables for name in table)

    @cached_property
    def used(self) -> tuple[str, ...]:
        """Names of the columns that a table uses, in declared order; no other column is read."""
        read = {*self.resolution.declared_columns(self._used)}
        return tuple(column.name for column in self.columns if column.name in read)

    @property
    def table_columns(self) -> tuple[str, ...]:
        """The columns of the table that are read, except the ID; several columns of the plan may read one of them."""
        return tuple(dict.fromkeys(self.column(name).table_column for name in self.used))

    @cached_property
    def resolution(self) -> Resolution:
        """The levels at which columns are used."""
        return Resolution(self._by_name, self._used, summed=self.coarser_levels == "summed")

    @cached_property
    def released(self) -> tuple[str, ...]:
        """Names of the columns of a release, in declared order; a column with levels at each level in use."""
        chains, at = self.resolution.chains, {self.resolution.column_of(name): name for name in self._used}
        return tuple(each for name in self.used for each in chains.get(name, (at[name],)))

    @cached_property
    def counted(self) -> tuple[str, ...]:
        """Names of the released columns that have cells: all except amounts."""
        return tuple(name for name in self.released if not isinstance(self._by_name[name], Amount))

    @cached_property
    def sizes(self) -> dict[str, int]:
        """The numbers of cells of the columns of a release; of the columns as declared if levels are used."""
        return {name: self._by_name[name].size for name in (self.used if self.resolution.levels else self.released)}

    def column(self, name: str) -> Column:
        """Return the column of this name, or, such as `county@region`, of this name at a level. Raises KeyError."""
        try:
            return self._by_name[name]
        except KeyError:
            listed = some_of(repr(column.name) for column in self.columns)
            raise KeyError(f"{name!r} is none of the plan's columns, which are {listed}") from None

    def shape(self, table: Columns) -> tuple[int, ...]:
        """Return the number of cells along each column of `table`."""
        return tuple(self._by_name[name].size for name in table)

    def cells(self, table: Columns) -> int:
        """Return the number of cells of `table`."""
        return math.prod(self.shape(table))

    @cached_property
    def found_columns(self) -> tuple[str, ...]:
        """Names of the columns in use whose cells a release finds, in declared order."""
        return tuple(name for name in self.used if self._by_name[name].share)

    @property
    def epsilon_for_tables(self) -> Fraction:
        """The share of ε that is left for the tables after finding cells."""
        return self.epsilon * (1 - sum((self._by_name[name].share for name in self.found_columns), Fraction(0)))

    @property
    def as_written(self) -> Plan:
        """The plan as in its plan file: without cells that a release has found."""
        return self.with_columns({name: self._by_name[name].as_written for name in self.found_columns})

    def with_columns(self, columns: Mapping[str, Column]) -> Plan:
        """Return the plan with the columns of these names replaced."""
        if all(self._by_name[name] is column for name, column in columns.items()):
            return self
        return changed(self, columns=tuple(columns.get(column.name, column) for column in self.columns))

    def at(self, epsilon: object) -> Plan:
        """Return the same plan at another ε. Raises `PlanError`."""
        try:
            return self.model_copy(update={"epsilon": exact_epsilon(epsilon)})
        except ValueError as error:
            raise PlanError(Fault(("epsilon",), str(error))) from None

    @property
    def key(self) -> str:
        """The identity of what the plan publishes.

        Texts for readers (title, notes, language, publisher, nouns, labels and words of columns) do not change it. Nor
        do the name of the dataset, the rough size, provenance and the order of columns and tables. The order of cells
        does, since cells are published in that order.
        """
        ranges = ["ranges", *(self.ranged[0] if len(self.ranged) == 1 else sorted(self.ranged))] if self.ranged else []
        distinct = [["distinct", each.cells, *sorted(one)] for each in self._tallies if each.cells
                    for one in each.plan.marginals]  # fmt: skip
        strategy = "direct" if self.strategy == "auto" else self.strategy
        tables = map(sorted, dict.fromkeys((*self.marginals, *self.estimated_tables)))
        return self.identity(strategy, ranges, *distinct, *tables, *self.weights_payload, *self.summed_payload)

    def identity(self, *measured: object) -> str:
        """Return the SHA-256 of ε, the unit, the cells of all used columns and `measured`, JSON values in any order."""
        payload = {
            "epsilon": str(self.epsilon),
            "unit": self.unit.model_dump(),
            "columns": [cells_payload(self.column(name)) for name in sorted(self.used)]
            + self.resolution.payload(sorted(self._used)),
            "measured": sorted(map(json.dumps, measured)),
        }
        return hashlib.sha256(json.dumps(payload, sort_keys=True).encode()).hexdigest()

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for YAML, in the order in which a person would write them; bin edges are decimals."""
        plain = self.model_dump(mode="json", by_alias=True, exclude_defaults=True, exclude={"columns"})
        plain["columns"] = [plan_entry(column) for column in self.columns]
        ordered = {name: plain[name] for name in type(self).model_fields if name in plain}
        ordered["unit"] = {key: value for key, value in self.unit.model_dump().items() if value is not None}
        return ordered

    def _repr_html_(self) -> str:
        """Return the display in a notebook: the price, the tables and the columns."""
        from dpengine.spec.views import plan_html

        return plan_html.render(self)

    def dumps(self) -> str:
        """Return the text of a plan file, without cells that a release has found."""
        return strict_yaml.dump(self.as_written.to_dict())

    def save(self, path: str | Path) -> None:
        """Write a plan file. Raises `PlanError` if it cannot be written."""
        strict_yaml.write(path, self.dumps(), mark("plan"))

    @classmethod
    def loads(cls, text: str, *, folder: Path | None = None) -> Plan:
        """Read the text of a plan file and, if a `folder` is given, the codebooks in it that the plan names.

        Raises `PlanError` with every fault found.
        """
        plan = cls(**codebook.resolve(strict_yaml.mapping(text, mark("a plan")), folder))
        check_not_found(plan)
        return plan

    @classmethod
    def load(cls, path: str | Path) -> Plan:
        """Read a plan file and the codebooks beside it. Raises `PlanError` with every fault found."""
        path = strict_yaml.path_of(path, mark("plan"))
        return cls.loads(strict_yaml.read(path, mark("plan")), folder=path.parent)
