"""Columns and their cells, as public knowledge states them, and the origin of that knowledge.

A domain is declared by a person, or comes from a codebook or a standard list; it is never read from the
private rows (law 7). Every value of a column falls in exactly one cell:

    the declared values, bins or periods, in declared order;  then ``(other)``;  then ``(missing)``

so an odd value can only move its own row to another cell, and never change a type, a bin or a shape. A column with
``other: false`` has no cell for undeclared values, and rows that hold one are left out of the whole release. With
``missing: false``, a missing value counts as *other*, and its row is left out if there is no such cell either.

Texts for readers (`label`, `description`, `words`, `whole`, `shapes`) change no cell: tables keep the declared values;
charts and the report show the words, and maps of the shapes.
"""

from __future__ import annotations

import calendar
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Annotated, Any, Literal, Unpack

from pydantic import (
    BeforeValidator,
    Field,
    PlainSerializer,
    SerializerFunctionWrapHandler,
    SkipValidation,
    field_validator,
    model_serializer,
    model_validator,
)

from dpengine.exact import DecimalLike, decimal, exact_text
from dpengine.spec.categories.category import Category
from dpengine.spec.categories.nesting import bins_of, nested_bins, nested_periods
from dpengine.spec.column import MISSING, OTHER, ColumnBase, ColumnOptions
from dpengine.spec.declared import Line, NumberFormat
from dpengine.spec.limits import check_column_size
from dpengine.spec.numeric.affixes import Affixes, payload_of_texts
from dpengine.spec.numeric.amount import Amount
from dpengine.spec.numeric.bin_words import words_of_bins
from dpengine.spec.numeric.bins import Bins, even_edges, read_bins, step_edges
from dpengine.spec.numeric.edges import EqualEdges, check_edges, read_edges
from dpengine.translation.catalogue import _

__all__ = [
    "FOR_READERS", "MISSING", "OTHER", "Amount", "Category", "Column", "Date", "Number", "YesNo", "cells_payload",
    "plan_entry",
]  # fmt: skip

FOR_READERS = ("label", "description", "words", "whole", "shapes")  # fields of a column that change no cell
Period = Literal["day", "week", "month", "quarter", "year"]
_OF_BINS = ("bins", "low", "high", "from", "to", "step")
_MONTHS = {"month": 1, "quarter": 3, "year": 12}  # in a period


class Number(ColumnBase):
    """A numeric column, divided at `edges` into bins [a, b); the last bin is closed.

    Edges are a list, or ``{"from": 0, "to": 100, "bins": 20}`` for bins of one width. Values are read as 64-bit
    floating point numbers, so edges must stay distinct as such. Texts are read in the `format`, which shows how 1234.5
    is written there, with blanks or apostrophes between thousands, too; `affixes` such as € or days are left out.

    Readers see "18 to <30" for [18, 30), or "18–29" with `whole`, if the values are known to be whole numbers; the
    thousands are set apart where a column reaches 10,000, so that years stay as they are.

    >>> Number(name="age", edges=["0", "18", "65"]).labels
    ('[0, 18)', '[18, 65]', '(other)', '(missing)')
    >>> [Number(name="age", edges=["0", "18", "65"], whole=whole).shown[:2] for whole in (False, True)]
    [('0 to <18', '18 to 65'), ('0–17', '18–65')]

    With `levels`, wider bins by name, given by their width or their edges, a table may ask for `age@20-year`.

    >>> Number(name="age", edges={"from": 0, "to": 60, "bins": 12}, levels={"20-year": 20}).groupings["20-year"][:5]
    ('[0, 20)', '[0, 20)', '[0, 20)', '[0, 20)', '[20, 40)')

    With `bins` instead of edges, this number of bins is found privately (`spec.numeric.bins`). Their edges are on the
    steps of a range, which plan files call ``from``, ``to`` and ``step``. Until they are found, bins have equal width.

    >>> Number(name="pay", low=0, high=1000, step=10, bins=4).declared
    ('[0, 250)', '[250, 500)', '[500, 750)', '[750, 1000]')
    """

    kind: Literal["number"] = "number"
    # The validator below reads and bounds every edge; validating a million of them twice would take seconds.
    edges: Annotated[SkipValidation[Sequence[Decimal]], PlainSerializer(tuple, return_type=tuple[Decimal, ...])]
    format: NumberFormat = "1234.5"
    affixes: Affixes = ()
    whole: bool = Field(default=False, description="the values are whole numbers: readers see 18–29, not 18 to <30")
    low: Decimal | None = Field(default=None, alias="from")
    high: Decimal | None = Field(default=None, alias="to")
    step: Decimal | None = None
    bins: Annotated[Bins | None, BeforeValidator(read_bins)] = None
    levels: Annotated[
        SkipValidation[Mapping[str, Decimal | tuple[Decimal, ...]]], PlainSerializer(dict, return_type=dict[str, Any])
    ] = Field(default={}, description="wider bins by name, given by their width or edges, such as 20-year: 20")

    if TYPE_CHECKING:

        def __init__(
            self, *, name: str, edges: Iterable[DecimalLike] | Mapping[str, DecimalLike] = ...,
            format: NumberFormat = ..., affixes: Sequence[str] = ..., whole: bool = ...,
            low: DecimalLike = ..., high: DecimalLike = ..., step: DecimalLike = ...,
            bins: Bins | int | Mapping[str, Any] | None = ...,
            levels: Mapping[str, DecimalLike | Sequence[DecimalLike] | Mapping[str, DecimalLike]] = ...,
            kind: Literal["number"] = ..., **options: Unpack[ColumnOptions],
        ) -> None: ...  # fmt: skip

    @model_validator(mode="before")
    @classmethod
    def _fill_in_steps(cls, fields: Any) -> Any:
        if not isinstance(fields, dict) or fields.get("bins") is None:
            if isinstance(fields, dict) and any(fields.get(name) is not None for name in _OF_BINS):
                raise ValueError(_("from, to and step go with bins; a column with edges needs none of them"))
            return fields
        if "edges" in fields or fields.get("levels"):
            raise ValueError(_("a column with bins to find has neither edges nor levels: say from, to, step and bins"))
        bounds = [fields.get(name, fields.get(other)) for name, other in (("from", "low"), ("to", "high"))]
        if isinstance(fields["bins"], list | tuple):
            raise ValueError(_("bins is how many bins a release finds privately: list bins that you know under edges"))
        if None in bounds:
            raise ValueError(_("say between which values bins are found, and in which steps: from, to and step"))
        low, high, step = (decimal(value) for value in (*bounds, fields.get("step", 1)))
        return {**fields, "step": step, "edges": step_edges(str(fields.get("name", "")), low, high, step)}

    _read = field_validator("edges", mode="before")(read_edges)
    _check = field_validator("edges")(check_edges)

    @model_validator(mode="after")
    def _fill_in_edges(self) -> Number:
        if self.bins is not None:
            steps, bins = self.edges, self.bins
            if bins.found:
                if len(bins.found) != bins.count + 1 or not {*bins.found} <= {*steps}:
                    raise ValueError(_("edges that were found lie on the steps, one more than there are bins"))
                check_edges(bins.found)
            self.__dict__["edges"] = bins.found or even_edges(steps, bins.count)
        return self

    @model_serializer(mode="wrap")
    def _leave_out_bins(self, plain: SerializerFunctionWrapHandler) -> dict[str, Any]:
        values: dict[str, Any] = plain(self)
        return {name: each for name, each in values.items() if each is not None or name not in _OF_BINS}

    @property
    def share(self) -> Fraction:
        return self.bins.share if self.bins is not None else Fraction(0)

    @property
    def as_written(self) -> Number:
        return self.with_edges(()) if self.bins is not None and self.bins.found else self

    def with_cells_of(self, other: ColumnBase) -> Number:
        return self.with_edges(other.bins.found) if isinstance(other, Number) and other.bins is not None else self

    def with_edges(self, edges: tuple[Decimal, ...]) -> Number:
        """Return the column with the edges that were found for its bins; without any, as it was declared."""
        assert self.bins is not None, "a column whose bins are found"
        bins = self.bins.model_copy(update={"found": edges})
        return self._changed(bins=bins, edges=edges or even_edges(self.steps.edges, bins.count))

    @cached_property
    def steps(self) -> Number:
        """The column with each step of its range as a bin; its bins are found from these."""
        assert self.low is not None, "a column whose bins are found"
        assert self.high is not None, "a column whose bins are found"
        assert self.step is not None, "a column whose bins are found"
        edges = step_edges(self.name, self.low, self.high, self.step)
        return self._changed(bins=None, low=None, high=None, step=None, whole=False, edges=edges)

    def _changed(self, **changes: Any) -> Number:
        fields = {name: getattr(self, name) for name in type(self).model_fields}
        return type(self).model_construct(**fields | changes)  # a copy would keep the labels of the old edges

    @property
    def declared(self) -> tuple[str, ...]:
        texts = [f"{edge:f}" for edge in self.edges]
        bins = [f"[{low}, {high})" for low, high in pairwise(texts)]
        bins[-1] = bins[-1][:-1] + "]"
        return tuple(bins)

    @property
    def declared_size(self) -> int:
        return len(self.edges) - 1

    @model_validator(mode="after")
    def _check_whole(self) -> Number:
        edges = self.edges
        if self.whole and not (edges.whole if isinstance(edges, EqualEdges) else all(edge % 1 == 0 for edge in edges)):
            raise ValueError(_("a column of whole numbers ('whole') needs whole edges"))
        return self

    @model_validator(mode="after")
    def _check_levels(self) -> Number:
        if self.levels != {}:
            self.__dict__["levels"] = nested_bins(self.edges, self.levels)
        return self

    def __hash__(self) -> int:
        return hash((self.name, self.edges, *self.levels))  # a dict has no hash of its own

    @cached_property
    def _wider(self) -> dict[str, Number]:
        """The column in the bins of each coarser level, the widest first."""
        bins = {level: bins_of(self.edges, given) for level, given in self.levels.items()}
        return {level: Number(name=self.name, edges=edges, whole=self.whole) for level, edges in bins.items()}

    @cached_property
    def groupings(self) -> dict[str, tuple[str, ...]]:
        return {level: tuple(self._joined(wider)) for level, wider in self._wider.items()}

    def _joined(self, wider: Number) -> Iterator[str]:
        """Yield the wider bin of each bin."""
        names, ends, place = wider.declared, wider.edges[1:], 0
        for end in self.edges[1:]:
            yield names[place]
            place += end == ends[place]

    @property
    def group_words(self) -> dict[str, str]:
        pairs = [pair for wider in self._wider.values()
                 for pair in zip(wider.declared, wider.words_of_declared, strict=True)]  # fmt: skip
        return dict(pairs)

    @property
    def words_of_declared(self) -> tuple[str, ...]:
        return words_of_bins(self.edges, whole=self.whole)


class YesNo(ColumnBase):
    """A column of yes and no in any usual spelling and case: yes/no, true/false, y/n, t/f, 1/0."""

    kind: Literal["yesno"] = "yesno"

    if TYPE_CHECKING:

        def __init__(self, *, name: str, kind: Literal["yesno"] = ..., **options: Unpack[ColumnOptions]) -> None: ...

    @property
    def declared(self) -> tuple[str, ...]:
        return ("yes", "no")

    @property
    def declared_size(self) -> int:
        return 2


class Date(ColumnBase):
    """A column of dates or times, in periods from day `first` to day `last`, both included.

    Plan files call these days ``from`` and ``to``. Texts are read as ISO dates or times, or in the strptime
    `format` if one is given. Times with a zone count in UTC.

    >>> Date(name="visit", first="2024-11-20", last="2025-01-03", by="month").declared
    ('2024-11', '2024-12', '2025-01')

    With `levels`, longer periods, a table may ask for `visit@year`.

    >>> Date(name="visit", first="2024-11-20", last="2025-01-03", by="month", levels=["quarter", "year"]).groupings
    {'year': ('2024', '2024', '2025'), 'quarter': ('2024-Q4', '2024-Q4', '2025-Q1')}
    """

    kind: Literal["date"] = "date"
    first: date = Field(alias="from")
    last: date = Field(alias="to")
    by: Period
    format: Line | None = None
    levels: tuple[Period, ...] = Field(default=(), description="longer periods, such as quarter and year")

    if TYPE_CHECKING:

        def __init__(
            self, *, name: str, first: date | str, last: date | str, by: Period, format: str | None = ...,
            levels: Sequence[Period] = ...,
            kind: Literal["date"] = ..., **options: Unpack[ColumnOptions],
        ) -> None: ...  # fmt: skip

    @field_validator("first", "last", mode="before")
    @classmethod
    def _read_day(cls, value: Any) -> Any:
        """Pydantic would take numbers for seconds since 1970."""
        if isinstance(value, date) or (isinstance(value, str) and value[4:5] == value[7:8] == "-"):
            return value
        raise ValueError(_("there is no day {text}: write it as year-month-day, such as 2024-12-31", text=value))

    @model_validator(mode="after")
    def _check_order(self) -> Date:
        if self.first > self.last:
            raise ValueError(_("'from' ({first}) is after 'to' ({last})", first=self.first, last=self.last))
        check_column_size(self.declared_size)
        self.__dict__["levels"] = nested_periods(self.by, self.levels)
        return self

    @cached_property
    def groupings(self) -> dict[str, tuple[str, ...]]:
        starts = [self.period(k)[0] for k in range(self.ordinal(self.first), self.ordinal(self.last) + 1)]
        longer = {level: self.model_copy(update={"by": level}) for level in self.levels} if self.levels else {}
        return {level: tuple(each._label(each.ordinal(day)) for day in starts) for level, each in longer.items()}

    @property
    def declared_size(self) -> int:
        return self.ordinal(self.last) - self.ordinal(self.first) + 1

    def ordinal(self, day: date) -> int:
        """Return the number of the period that holds `day`; numbers follow each other without gaps."""
        if self.by == "day":
            return day.toordinal()
        if self.by == "week":
            return (day.toordinal() - 1) // 7  # ordinal 1 was a Monday, so weeks begin on Mondays
        return (day.year * 12 + day.month - 1) // _MONTHS[self.by]

    def period(self, ordinal: int) -> tuple[date, date]:
        """Return the first and the last day of a period, within the declared span."""
        if self.by == "day":
            start = end = date.fromordinal(ordinal)
        elif self.by == "week":
            start = date.fromordinal(ordinal * 7 + 1)
            end = date.fromordinal(min(ordinal * 7 + 7, date.max.toordinal()))
        else:
            months = _MONTHS[self.by]
            start = date(ordinal * months // 12, ordinal * months % 12 + 1, 1)
            month = start.month + months - 1
            end = date(start.year, month, calendar.monthrange(start.year, month)[1])
        return max(start, self.first), min(end, self.last)

    @cached_property
    def declared(self) -> tuple[str, ...]:
        return tuple(self._label(k) for k in range(self.ordinal(self.first), self.ordinal(self.last) + 1))

    def _label(self, ordinal: int) -> str:
        if self.by == "day":
            return date.fromordinal(ordinal).isoformat()
        if self.by == "week":
            year, week, _ = date.fromordinal(ordinal * 7 + 1).isocalendar()
            return f"{year}-W{week:02}"
        year, part = divmod(ordinal, 12 // _MONTHS[self.by])
        return f"{year}" + {"month": f"-{part + 1:02}", "quarter": f"-Q{part + 1}", "year": ""}[self.by]


Column = Annotated[Number | Category | YesNo | Date | Amount, Field(discriminator="kind")]


def plan_entry(column: Column) -> dict[str, Any]:
    """Return a column as a plan file declares it, with plain values for YAML or JSON.

    >>> plan_entry(YesNo(name="smokes", other=False))
    {'name': 'smokes', 'kind': 'yesno', 'other': False, 'source': 'typed'}
    """
    plain = column.model_dump(mode="json", by_alias=True, exclude_defaults=True)
    plain |= {"kind": column.kind, "source": column.source}
    if isinstance(column, Number):
        if column.bins is None:
            plain["edges"] = list(column.edges)
        else:  # the share is written even if it is the default
            del plain["edges"]
            plain["bins"] = {"count": column.bins.count, "share": exact_text(column.bins.share)} | plain["bins"]
        if column.levels:
            wider = column.levels.items()
            plain["levels"] = {name: each if isinstance(each, Decimal) else list(each) for name, each in wider}
    if isinstance(column, Category) and column.among is not None:
        plain["values"] = "found"
    plain.pop("codebook", None)
    return {"name": plain["name"], "kind": plain["kind"], **plain}


def cells_payload(column: Column, *, by_alias: bool = False) -> dict[str, Any]:
    """Return the part of a column that decides where a value is counted; 10 and 1E+1 are one edge.

    Levels do not: coarser ones in use are separate columns (`Plan.identity`).
    """
    plain = column.model_dump(
        mode="json", by_alias=by_alias, exclude={"source", "codebook", "edges", "levels", *FOR_READERS}
    )
    if isinstance(column, Number):
        plain = {name: each for name, each in plain.items() if name not in _OF_BINS}
        if column.bins is None:
            plain["edges"] = [f"{edge:f}" for edge in column.edges]
        else:  # the found values follow from the release
            plain["bins"] = [column.bins.count, exact_text(column.bins.share)]
            plain["steps"] = [
                f"{each.normalize():f}" for each in (column.low, column.high, column.step) if each is not None
            ]
    if isinstance(column, Category):
        plain["values"] = list(column.values) if column.among is None else "found"
        plain.pop("among")
        if column.among is not None:  # the found edges follow from the release
            plain["among"] = column.among.model_dump(mode="json", exclude={"found"})
    if isinstance(column, Amount):
        numbers = {
            "knots": [f"{knot.normalize():f}" for knot in column.all_knots],
            "step": f"{column.step.normalize():f}",
        }
        plain = {name: value for name, value in plain.items() if name not in ("low", "high", "from", "to")} | numbers
        plain |= {"squares": True} if column.degree > 1 else {}
    return payload_of_texts(plain) if isinstance(column, Number | Amount) else plain
