"""The content of a codebook in an exchange format: public knowledge about columns, and refused facts.

Such files may also hold facts measured from rows: how many there are, how often each value occurs, the smallest and the
largest value. None of that is public, so none of it is used; a message names each. The writer of such facts may have
taken the values and bounds from the rows too, so a person has to confirm the rest.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import Any, NamedTuple

from dpengine.errors import PlanError
from dpengine.exact import decimal
from dpengine.spec.codebook import Codebook, from_columns
from dpengine.translation.catalogue import _, mark

__all__ = ["BOUNDS", "Draft", "ReadCodebook", "dates_between", "number_between", "texts"]

MAX_LABEL = 200
BOUNDS = mark("the smallest and the largest value")
_YEARS = 5  # days; longer spans are divided by year, others by month


class ReadCodebook(NamedTuple):
    """A codebook, and sentences about refused facts in its file.

    If it is `doubtful`, a program may have taken its values from rows, so a person has to confirm them.
    """

    codebook: Codebook
    refused: tuple[str, ...] = ()
    doubtful: bool = False


@dataclass
class Draft:
    """A codebook that is being read."""

    title: str = ""
    licence: str = ""
    unit: str = ""
    columns: list[dict[str, Any]] = field(default_factory=list)
    about: dict[str, str] = field(default_factory=dict)
    refused: list[str] = field(default_factory=list)

    def refuse(self, place: str, what: str) -> None:
        """Refuse something that was measured from rows; `what` is a text of the catalogue."""
        self.refused.append(_("{place}: {what}, which only the rows can tell", place=place or _("table"), what=_(what)))

    def add(self, name: str, fields: Mapping[str, Any], *, label: str = "", text: str = "") -> None:
        """Add a column; without `fields` of a kind, only its texts for readers."""
        label = " ".join(label.split())[:MAX_LABEL]
        if text or label:
            self.about[name] = text or label
        if "kind" in fields:
            texts_for_readers = {"label": label} if label and label != name else {}
            self.columns.append({"name": name, **fields, **texts_for_readers})

    def finish(self) -> ReadCodebook:
        """Return the content. Raises `PlanError` with every fault of the columns."""
        if not self.columns and not self.about:
            raise PlanError([_("this codebook declares no column"), *self.refused])
        stated = {"title": self.title, "licence": self.licence, "privacy_unit": self.unit}
        refused = tuple(dict.fromkeys(self.refused))
        return ReadCodebook(from_columns(self.columns, self.about, stated), refused, bool(refused))


def number_between(low: object, high: object, *, whole: bool) -> dict[str, Any]:
    """Return a numeric column of one bin between public bounds, for a person to divide; nothing without both.

    >>> number_between(0, "120", whole=True)
    {'kind': 'number', 'edges': ['0', '120'], 'whole': True}
    """
    try:
        ends = [decimal(str(end)) for end in (low, high)]
    except ValueError:
        return {}
    if ends[0] >= ends[1]:
        return {}
    whole = whole and all(end % 1 == 0 for end in ends)
    return {"kind": "number", "edges": [f"{end.normalize():f}" for end in ends]} | ({"whole": True} if whole else {})


def dates_between(low: object, high: object) -> dict[str, Any]:
    """Return a column of dates between two public days; nothing without both.

    >>> dates_between("2024-01-01", "2024-12-31T00:00:00")
    {'kind': 'date', 'from': '2024-01-01', 'to': '2024-12-31', 'by': 'month'}
    """
    try:
        first, last = (date.fromisoformat(str(end)[:10]) for end in (low, high))
    except ValueError:
        return {}
    if first > last:
        return {}
    by = "year" if last.year - first.year >= _YEARS else "month"
    return {"kind": "date", "from": first.isoformat(), "to": last.isoformat(), "by": by}


def texts(values: object) -> list[str]:
    """Return the distinct values of a list as written in a data file: whole numbers without a point."""
    listed: Iterable[object] = values if isinstance(values, Sequence) and not isinstance(values, str) else ()
    plain = (value for value in listed if isinstance(value, str | int | float) and value != "")
    return list(dict.fromkeys(_text(value) for value in plain))


def _text(value: str | float) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)
