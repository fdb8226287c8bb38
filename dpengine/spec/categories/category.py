"""Category columns: their values, their words for readers, and the levels at which they can be published."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence, Sized
from fractions import Fraction
from typing import TYPE_CHECKING, Annotated, Any, Literal, Unpack

from pydantic import Field, field_serializer, field_validator, model_validator

from dpengine import shapes as outlines
from dpengine.spec.categories import tree as trees
from dpengine.spec.categories.universe import Universe
from dpengine.spec.column import MISSING, OTHER, ColumnBase, ColumnOptions
from dpengine.spec.declared import Line, Text, Texts, at_most, changed
from dpengine.spec.limits import check_column_size
from dpengine.spec.standard_lists import standard_lists
from dpengine.translation.catalogue import _

__all__ = ["Category"]


class Category(ColumnBase):
    """A column of texts with one cell for each of `values`, or of a codebook or standard list.

    A value matches exactly or, failing that, without the blanks around it. Readers see the `words` of a value instead
    of it.

    >>> Category(name="place", values=["Paris, TX", "False"], missing=False).labels
    ('Paris, TX', 'False', '(other)')
    >>> Category(name="sex", values=["1", "2"], words={"1": "male", "2": "female"}, other=False).shown
    ('male', 'female', '(missing)')

    With `levels`, named from the coarsest to the finest, the values are nested, and a table may ask for `county@state`.

    >>> Category(name="county", values={"CA": ["Kern", "Napa"], "TX": ["Travis"]}, levels=["state", "county"]).labels
    ('Kern', 'Napa', 'Travis', '(other)', '(missing)')

    With ``values="found"``, the values that people have are found privately `among` all that are possible; before that,
    the first keys of the universe are placeholders.

    >>> Category(name="code", values="found", among={"pattern": "@##", "most": 2}).labels
    ('A00', 'A01', '(other)', '(missing)')
    """

    kind: Literal["category"] = "category"
    values: Texts = ()
    words: dict[Text, Annotated[Line, at_most(1_000)]] = Field(
        default={}, description="what readers see instead of a value, such as 1: male"
    )
    codebook: Line | None = Field(default=None, description="CSV or JSON file beside the plan, or a standard name")
    shapes: dict[Text, Line] = Field(
        default={}, description="for a map: the outline of a value, or a GeoJSON file beside the plan"
    )
    levels: tuple[Line, ...] = Field(
        default=(),
        description="names of the levels of nested values, or columns of the codebook; the finest comes last",
    )
    parents: tuple[Texts, ...] = Field(default=(), exclude=True, description="of each value, at each coarser level")
    among: Universe | None = Field(default=None, description="with 'values: found', which values are possible")

    if TYPE_CHECKING:

        def __init__(
            self, *, name: str, values: Literal["found"] | Sequence[str | int | float] | Mapping[str, Any] = ...,
            codebook: str | None = ..., words: Mapping[str, str] = ..., shapes: Mapping[str, str] = ...,
            levels: Sequence[str] = ..., parents: Sequence[Sequence[str]] = ...,
            among: Universe | Mapping[str, Any] | None = ..., kind: Literal["category"] = ...,
            **options: Unpack[ColumnOptions],
        ) -> None: ...  # fmt: skip

    @model_validator(mode="before")
    @classmethod
    def _require_among(cls, fields: Any) -> Any:
        if not isinstance(fields, dict) or fields.get("values") != "found":
            return fields
        if fields.get("among") is None:
            raise ValueError(
                _("values that are to be found need 'among', which says what is possible, such as {pattern: '#####'}")
            )
        return {name: value for name, value in fields.items() if name != "values"}

    @model_validator(mode="before")
    @classmethod
    def _fill_in_standard_list(cls, fields: Any) -> Any:
        if not isinstance(fields, dict) or not isinstance(fields.get("codebook"), str):
            return fields
        values, wanted = fields.get("values", ()), fields["codebook"]
        if not isinstance(values, Sized):
            return fields
        if len(values):
            # Once values are read from a codebook, their source says so.
            if fields.get("source", "typed") not in ("codebook", "standard"):
                raise ValueError(_("'values' and 'codebook' both list the values: leave one of them out"))
            return fields
        if wanted in standard_lists():
            return {**fields, "values": standard_lists()[wanted], "source": "standard"}
        if wanted.lower().endswith((".csv", ".json")):
            raise ValueError(
                _("the codebook {wanted!r} is not at hand here, or lists no values; list them instead", wanted=wanted)
            )
        raise ValueError(
            _(
                "no standard list is called {wanted!r}; there are {listed}",
                wanted=wanted,
                listed=", ".join(standard_lists()),
            )
        )

    @model_validator(mode="before")
    @classmethod
    def _arrange_values(cls, fields: Any) -> Any:
        if not isinstance(fields, dict):
            return fields
        values, parents, levels = (fields.get(name) for name in ("values", "parents", "levels"))
        if isinstance(values, Mapping):
            named = list(map(str, levels)) if isinstance(levels, list | tuple) else []
            values, parents = trees.flattened(values, named)
        if not parents:
            return fields
        listed = isinstance(parents, list | tuple) and all(isinstance(each, list | tuple) for each in parents)
        if not listed or not isinstance(values, list | tuple) or any(len(each) != len(values) for each in parents):
            raise ValueError(_("every value needs a parent at each level"))
        values, parents = trees.arranged(list(map(_text, values)), [list(map(str, each)) for each in parents])
        return {**fields, "values": values, "parents": parents}

    @field_validator("shapes", mode="before")
    @classmethod
    def _refuse_file_of_shapes(cls, given: Any) -> Any:
        if isinstance(given, str):
            raise ValueError(
                _("the file of shapes {given!r} is not at hand here; bring it together with the codebook", given=given)
            )
        return given

    @field_validator("values", "words", "shapes", mode="before")
    @classmethod
    def _read_texts(cls, given: Any) -> Any:
        if isinstance(given, Mapping):  # YAML reads a code such as 1 as a number
            return {_text(value): word for value, word in given.items()}
        return tuple(map(_text, given)) if isinstance(given, Iterable) and not isinstance(given, str) else given

    @field_serializer("values", when_used="json")
    def _nest_values(self, values: tuple[str, ...]) -> Any:
        return trees.nested(values, self.parents)

    @model_validator(mode="after")
    def _fill_in_possible_values(self) -> Category:
        if self.among is None:
            return self
        if self.levels or self.parents or self.words or self.shapes or self.codebook is not None:
            raise ValueError(
                _("values that are to be found have no levels, words, shapes or codebook; leave these out")
            )
        if not self.other:
            raise ValueError(_("values that are not found count as (other): leave out 'other: false'"))
        if self.values not in ((), self.among.values):
            raise ValueError(_("'among' says what is possible where values are to be found: write 'values: found'"))
        self.__dict__["values"] = self.among.values
        return self

    @model_validator(mode="after")
    def _check_levels(self) -> Category:
        if not self.levels and not self.parents:
            return self
        if self.values and not self.parents and len(self.levels) > 1:
            raise ValueError(
                _(
                    "'levels' need nested values, such as {{{coarse}: [{fine}, ...]}}, or a codebook with a column for "
                    "each level",
                    coarse=self.levels[-2],
                    fine=self.levels[-1],
                )
            )
        trees.check_tree(self.levels, self.values, self.parents)
        for names in self.parents:
            if reserved := {OTHER, MISSING} & {*names}:
                raise ValueError(
                    _(
                        "{value} is the name of a cell of its own; call this value something else",
                        value=min(reserved),
                    )
                )
        return self

    @model_validator(mode="after")
    def _check_distinct(self) -> Category:
        if not self.values:
            raise ValueError(_("list the values that are possible, as is publicly known, or name a list of them"))
        seen: set[str] = set()
        for value in self.values:
            if value in (OTHER, MISSING):
                raise ValueError(
                    _("{value} is the name of a cell of its own; call this value something else", value=value)
                )
            if not value:
                raise ValueError(_("an empty text is a missing value, not a category; switch 'missing' on instead"))
            if value in seen:
                raise ValueError(_("{value!r} is listed twice", value=value))
            seen.add(value)
        check_column_size(len(self.values))
        return self

    @property
    def share(self) -> Fraction:
        return self.among.share if self.among is not None else Fraction(0)

    @property
    def as_written(self) -> Category:
        return self.with_values(()) if self.among is not None and self.among.found else self

    def with_cells_of(self, other: ColumnBase) -> Category:
        if not isinstance(other, Category) or other.among is None:
            return self
        return self.with_values(other.among.found)

    def with_values(self, values: tuple[str, ...]) -> Category:
        """Return the column with the values that were found; without any, as it was declared."""
        assert self.among is not None, "a column whose values are found"
        among = self.among.model_copy(update={"found": values})
        return changed(self, among=among, values=among.values)

    def __hash__(self) -> int:
        return hash((self.name, self.values, *self.words))  # a dict has no hash of its own

    @model_validator(mode="after")
    def _check_words(self) -> Category:
        if unknown := self.words.keys() - set(self.values):
            raise ValueError(
                _("'words' explain the value {unknown!r}, which is not among the values", unknown=min(unknown))
            )
        times = Counter(self.shown) if self.words else {}
        for value, word in self.words.items():
            if times[word] > 1 or not word.strip():
                raise ValueError(
                    _("shown as {word!r}, the value {value!r} could not be told from others", word=word, value=value)
                )
        return self

    @model_validator(mode="after")
    def _check_shapes(self) -> Category:
        if unknown := self.shapes.keys() - set(self.values):
            raise ValueError(
                _("'shapes' outline the value {unknown!r}, which is not among the values", unknown=min(unknown))
            )
        outlines.check(self.shapes)
        return self

    @property
    def declared(self) -> tuple[str, ...]:
        return self.values

    @property
    def words_of_declared(self) -> tuple[str, ...]:
        return tuple(self.words.get(value, value) for value in self.values)

    @property
    def declared_size(self) -> int:
        return len(self.values)

    @property
    def groupings(self) -> dict[str, tuple[str, ...]]:
        return dict(zip(self.levels, self.parents, strict=False))

    def level_heading(self, name: str) -> str:
        """Return the name of the level, which says what its groups are."""
        return name


def _text(value: Any) -> Any:
    return str(value) if isinstance(value, bool | int | float) else value
