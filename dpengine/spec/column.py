"""The common part of all columns: a name, words for readers, the cells for undeclared and missing values."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import cached_property
from typing import Annotated, Literal, Self, TypedDict

from pydantic import AfterValidator, Field

from dpengine.spec.declared import Declared, Line, Name, Text, Texts, at_most
from dpengine.translation.catalogue import _

__all__ = ["MISSING", "OTHER", "ColumnBase", "ColumnName", "ColumnOptions"]

OTHER = "(other)"
MISSING = "(missing)"

Source = Literal["typed", "codebook", "standard", "confirmed"]


def _check_name(name: str) -> str:
    if not name.strip():
        raise ValueError(_("a column needs its name, as in the table's header"))
    return name


ColumnName = Annotated[Name, AfterValidator(_check_name)]


class ColumnOptions(TypedDict, total=False):
    """Options that columns of every kind have."""

    other: bool
    missing: bool
    missing_as: Sequence[str]
    source: Source
    label: str
    description: str


class ColumnBase(Declared):
    """A column with its cells: the declared ones in order, then *other*, then *missing*."""

    name: ColumnName
    label: Annotated[Line, at_most(200)] = Field(default="", description="what readers see instead of the name")
    description: Annotated[Text, at_most(2_000)] = Field(default="", description="what the column says, for readers")
    other: bool = True
    missing: bool = True
    missing_as: Texts = Field(default=(), description="texts that mean 'missing', such as ? or -99")
    source: Source = "typed"

    @property
    def table_column(self) -> str:
        """The name of the table's column that is read."""
        return self.name

    @property
    @abstractmethod
    def declared(self) -> tuple[str, ...]:
        """Labels of the declared cells in order, without *other* and *missing*."""

    @property
    @abstractmethod
    def declared_size(self) -> int:
        """Number of declared cells, known without making their labels."""

    @property
    def share(self) -> Fraction:
        """The share of ε that finds the cells; 0 if they are declared."""
        return Fraction(0)

    @property
    def as_written(self) -> Self:
        """The column as its plan declares it, without found cells."""
        return self

    def with_cells_of(self, other: ColumnBase) -> Self:
        """Return the column with the cells of `other`, which has the same declaration."""
        return self

    @property
    def origin(self) -> str:
        """The origin of the cells: `source`, or that they were found."""
        return "found" if self.share else self.source

    @property
    def groupings(self) -> Mapping[str, Sequence[str]]:
        """For each coarser level by name, coarsest first, the group of each declared cell."""
        return {}

    @property
    def group_words(self) -> Mapping[str, str]:
        """Words for readers in place of names of groups, if they differ."""
        return {}

    def level_heading(self, name: str) -> str:
        """Return the heading for readers of a coarser level."""
        return f"{self.heading} ({name})"

    @property
    def heading(self) -> str:
        """The heading for readers: the label if given, otherwise the name."""
        return self.label or self.name

    @property
    def words_of_declared(self) -> tuple[str, ...]:
        """Words for readers in place of the declared labels."""
        return self.declared

    @cached_property
    def shown(self) -> tuple[str, ...]:
        """Words for readers of charts and of the report in place of `labels`, in the same order."""
        return self.words_of_declared + self.labels[self.declared_size :]

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """Labels of all cells, in the order in which they are published."""
        return self.declared + ((OTHER,) if self.other else ()) + ((MISSING,) if self.missing else ())

    @property
    def size(self) -> int:
        """Number of cells, *other* and *missing* included."""
        return self.declared_size + self.other + self.missing

    @property
    def other_code(self) -> int:
        """Index of the cell for undeclared values; -1 means that such rows are left out."""
        return self.declared_size if self.other else -1

    @property
    def missing_code(self) -> int:
        """Index of the cell for missing values; `other_code` if there is none."""
        return self.size - 1 if self.missing else self.other_code

    @property
    def missing_place(self) -> int:
        """The code of a missing value where rows are counted; -1 means that its row is left out."""
        return self.missing_code
