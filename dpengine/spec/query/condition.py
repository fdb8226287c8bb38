"""Conditions that select rows by their cells of a column."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from pydantic import model_validator

from dpengine.errors import PlanError
from dpengine.exact import DecimalLike
from dpengine.spec.declared import Declared, Text
from dpengine.spec.domain import Amount, Column, Number, cells_payload
from dpengine.spec.wording import shown_labels
from dpengine.translation.catalogue import ENGLISH, _, language, localised, number, speaking

__all__ = ["Condition", "all_of", "check_stated"]

_BEYOND = Decimal(10) ** 30  # the bound of an open range


def check_stated(column: Column) -> None:
    """Raise ValueError if the cells of a column are known only once a release has found them."""
    if column.share:
        raise ValueError(
            _("the cells of {name!r} are found by a release only: state them to ask about it", name=column.name)
        )


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
    def _check_labels(self) -> Condition:
        name, known = self.column.name, set(self.column.labels)
        check_stated(self.column)
        if isinstance(self.column, Amount):
            raise ValueError(_("{name!r} is an amount and has no cells; give a range of its values", name=name))
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
        index = {label: code for code, label in enumerate(self.column.labels)}
        return tuple(sorted(index[label] for label in self.labels))

    @property
    @speaking(ENGLISH)
    def description(self) -> str:
        """The condition in a few English words, such as 'age is from 18 to 64'."""
        return self.in_words

    @property
    def in_words(self) -> str:
        """The condition in a few words of the current language."""
        name = self.column.name
        if isinstance(self.column, Number) and self.column.size == 1:
            low, high = (localised(f"{edge:f}") for edge in self.column.edges)
            if self.column.edges[0] == -_BEYOND:
                return _("{column} is at most {high}", column=name, high=high)
            if self.column.edges[-1] == _BEYOND:
                return _("{column} is at least {low}", column=name, low=low)
            return _("{column} is from {low} to {high}", column=name, low=low, high=high)
        labels = self.column.labels if language() == ENGLISH else shown_labels(self.column)
        shown = [labels[code] for code in self.codes]
        if len(shown) <= 4:
            return _("{column} is {values}", column=name, values=_(" or ").join(shown))
        rest = [label for code, label in enumerate(labels) if code not in set(self.codes)]
        if 0 < len(rest) <= 3:
            return _("{column} is not {values}", column=name, values=_(" or ").join(rest))
        return _(
            "{column} is one of {n} values, {first} to {last}",
            column=name,
            n=number(len(shown)),
            first=shown[0],
            last=shown[-1],
        )

    @property
    def payload(self) -> dict[str, Any]:
        """The part of the condition that decides which rows meet it, as plain values."""
        return {"column": cells_payload(self.column, by_alias=True), "codes": self.codes}


def all_of(conditions: Sequence[Condition]) -> str:
    """Join conditions in a few words, such as 'region is North and age is at least 18'."""
    return _(" and ").join(condition.in_words for condition in conditions)
