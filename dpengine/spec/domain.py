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

from collections.abc import Iterable
from decimal import Decimal
from typing import TYPE_CHECKING, Annotated, Any, Literal, Unpack

from pydantic import Field

from dpengine.exact import exact_text
from dpengine.spec.categories.category import Category
from dpengine.spec.column import MISSING, OTHER, ColumnBase, ColumnOptions
from dpengine.spec.date_column import Date
from dpengine.spec.numeric.affixes import payload_of_texts
from dpengine.spec.numeric.amount import Amount
from dpengine.spec.numeric.amount_squares import with_squares
from dpengine.spec.numeric.number import OF_FOUND_BINS, Number
from dpengine.spec.time_column import Time

__all__ = [
    "FOR_READERS", "MISSING", "OTHER", "Amount", "Category", "Column", "Date", "Number", "Time", "YesNo",
    "cells_payload", "plan_entry", "zones_of",
]  # fmt: skip

FOR_READERS = ("label", "description", "words", "whole", "shapes")  # fields of a column that change no cell


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


Column = Annotated[Number | Category | YesNo | Date | Time | Amount, Field(discriminator="kind")]


def plan_entry(column: Column) -> dict[str, Any]:
    """Return a column as a plan file declares it, with plain values for YAML; bin edges are decimals.

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
    if isinstance(column, Amount) and column.upper is not None:  # its knots are not declared
        plain.pop("knots", None)
        plain["upper"] = {"share": exact_text(column.upper.share)} | plain["upper"]
    plain.pop("codebook", None)
    return {"name": plain["name"], "kind": plain["kind"], **plain}


def zones_of(columns: Iterable[Column]) -> list[str]:
    """Return the zones by whose clocks times of `columns` count, each once, in order."""
    return sorted({column.zone for column in columns if isinstance(column, Date | Time) and column.zone is not None})


def cells_payload(column: Column, *, by_alias: bool = False) -> dict[str, Any]:
    """Return the part of a column that decides where a value is counted; 10 and 1E+1 are one edge.

    Levels do not: coarser ones in use are separate columns (`Plan.identity`).
    """
    plain = column.model_dump(
        mode="json", by_alias=by_alias, exclude={"source", "codebook", "edges", "levels", *FOR_READERS}
    )
    if plain.get("zone", "") is None:  # as before there were zones
        del plain["zone"]
    if isinstance(column, Number):
        plain = {name: each for name, each in plain.items() if name not in OF_FOUND_BINS} | _bins_payload(column)
    if isinstance(column, Category):
        plain["values"] = list(column.values) if column.among is None else "found"
        plain.pop("among")
        if column.among is not None:  # the found edges follow from the release
            plain["among"] = column.among.model_dump(mode="json", exclude={"found"})
    if isinstance(column, Amount):
        others = ("low", "high", "from", "to", "upper")
        plain = {name: each for name, each in plain.items() if name not in others} | _knots_payload(column)
    return payload_of_texts(plain) if isinstance(column, Number | Amount) else plain


def _bins_payload(column: Number) -> dict[str, Any]:
    """Return the edges of a column's bins, or how they are found: found edges follow from the release."""
    if column.bins is None:
        return {"edges": [f"{edge:f}" for edge in column.edges]}
    steps = [f"{each.normalize():f}" for each in (column.low, column.high, column.step) if each is not None]
    return {"bins": [column.bins.count, exact_text(column.bins.share)], "steps": steps}


def _knots_payload(column: Amount) -> dict[str, Any]:
    """Return the knots of an amount; a found upper bound follows from the release."""
    squares = column.degree > 1
    declared = with_squares(column.as_written) if squares else column.as_written
    return {
        "knots": [f"{knot.normalize():f}" for knot in declared.all_knots],
        "step": f"{column.step.normalize():f}",
        **({"squares": True} if squares else {}),
        **({"upper": exact_text(column.share)} if column.share else {}),
    }
