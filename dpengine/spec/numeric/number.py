"""Number columns: their bins, declared or found privately, and the wider bins of their coarser levels."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Annotated, Any, Literal, Unpack

import numpy as np
import numpy.typing as npt
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

from dpengine.array_types import Ints
from dpengine.exact import DecimalLike, decimal
from dpengine.spec.column import ColumnBase, ColumnOptions
from dpengine.spec.declared import NumberFormat, changed
from dpengine.spec.numeric.affixes import Affixes
from dpengine.spec.numeric.edges import EqualEdges, check_edges, read_edges
from dpengine.spec.numeric.found_bins import Bins, even_edges, read_bins, step_edges
from dpengine.spec.numeric.nested_bins import bins_of, nested_bins
from dpengine.translation.catalogue import _

__all__ = ["GROUPED_FROM", "OF_FOUND_BINS", "Number", "number_codes", "words_of_bins"]

OF_FOUND_BINS = ("bins", "low", "high", "from", "to", "step")  # fields of a column whose bins are found
GROUPED_FROM = 10_000  # numbers of five digits are written with marks for thousands; years and codes have four


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

    With `bins` instead of edges, this number of bins is found privately (`spec.numeric.found_bins`). Their edges are on
    the steps of a range, which plan files call ``from``, ``to`` and ``step``. Until they are found, bins have equal
    width.

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
            if isinstance(fields, dict) and any(fields.get(name) is not None for name in OF_FOUND_BINS):
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
        return {name: each for name, each in values.items() if each is not None or name not in OF_FOUND_BINS}

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
        return changed(self, bins=bins, edges=edges or even_edges(self.steps.edges, bins.count))

    @cached_property
    def steps(self) -> Number:
        """The column with each step of its range as a bin; its bins are found from these."""
        assert self.low is not None, "a column whose bins are found"
        assert self.high is not None, "a column whose bins are found"
        assert self.step is not None, "a column whose bins are found"
        edges = step_edges(self.name, self.low, self.high, self.step)
        return changed(self, bins=None, low=None, high=None, step=None, whole=False, edges=edges)

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


def words_of_bins(edges: Sequence[Decimal], *, whole: bool) -> tuple[str, ...]:
    """Return words for the bins between `edges`; `whole` numbers have other ends than numbers with decimals.

    >>> [words_of_bins([Decimal(0), Decimal(18), Decimal(65)], whole=whole) for whole in (False, True)]
    [('0 to <18', '18 to 65'), ('0–17', '18–65')]
    >>> words_of_bins([Decimal(0), Decimal(5000), Decimal(20000)], whole=True)
    ('0–4,999', '5,000–20,000')
    """
    comma = "," if max(abs(edges[0]), abs(edges[-1])) >= GROUPED_FROM else ""
    if not whole:
        *texts, last = (f"{edge:{comma}f}" for edge in edges)
        return (*(f"{low} to <{high}" for low, high in pairwise(texts)), f"{texts[-1]} to {last}")
    integers = list(map(int, edges))
    ends = [edge - 1 for edge in integers[1:-1]] + [integers[-1]]
    between = " to " if integers[0] < 0 else "–"  # a dash beside a minus sign is unreadable
    return tuple(
        f"{low:{comma}}{between}{high:{comma}}" if low < high else f"{low:{comma}}"
        for low, high in zip(integers, ends, strict=False)
    )


def number_codes(column: Number) -> Callable[[npt.NDArray[Any]], Ints]:
    """Return a function from numbers to the codes of their cells: *other* outside the edges, *missing* for NaN.

    A search in the edges costs about the same at 5 and at 100,000 bins.

    >>> age = Number(name="age", edges=[0, 18, 65])
    >>> number_codes(age)(np.array([17.9, 18.0, 65.0, 66.0, np.nan]))
    array([0, 1, 1, 2, 3])
    """
    edges = np.array([float(edge) for edge in column.edges])
    last, other, missing = len(edges) - 2, column.other_code, column.missing_code

    def codes_of(values: npt.NDArray[Any]) -> Ints:
        codes: Ints = np.searchsorted(edges, values, side="right") - 1
        codes[values == edges[-1]] = last  # the last bin is closed
        codes[~((values >= edges[0]) & (values <= edges[-1]))] = other
        codes[np.isnan(values)] = missing
        return codes

    return codes_of
