"""Levels in the entry of a number or a date: wider bins as people type them, and longer periods."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from dpengine.exact import decimal
from dpengine.spec.date_column import PERIODS, WITHIN
from dpengine.translation.catalogue import _

__all__ = ["COUNTS_YEARS", "bins_text", "longer_periods", "wider_bins"]

COUNTS_YEARS = re.compile(r"(^|[^a-z])(age|ages|year|years|yr|alter|jahr)($|[^a-z])")  # in names of columns

Bins = str | list[str]  # one level: the width of its bins, or their edges


def longer_periods(column: Mapping[str, Any]) -> list[str]:
    """Return the levels in the entry of a date that are longer than its own periods, the longest first.

    >>> longer_periods({"by": "quarter", "levels": ["quarter", "year"]})
    ['year']
    """
    chosen = [level for level in column.get("levels") or () if level in WITHIN.get(column.get("by", ""), ())]
    return sorted(chosen, key=PERIODS.index, reverse=True)


def wider_bins(text: str, name: str, before: Mapping[str, Any]) -> dict[str, Bins]:
    """Return the levels of the column `name` that a text declares: widths or edges of bins, separated by semicolons.

    Levels that were declared `before` keep their names. Raises ValueError for a text that is no number.

    >>> wider_bins("20; 0, 18, 65, 120", "age", {})
    {'3-bins': ['0', '18', '65', '120'], '20-year': '20'}
    >>> wider_bins("20", "hours", {"shift": "20"})
    {'shift': '20'}
    """
    levels: dict[str, Bins] = {}
    known = {_text(bins): level for level, bins in before.items()}
    for part in filter(str.strip, text.split(";")):
        numbers = [_number(each) for each in part.replace(",", " ").split()]
        bins = numbers[0] if len(numbers) == 1 else numbers
        levels[known.get(_text(bins)) or _named(name, bins)] = bins
    return dict(sorted(levels.items(), key=lambda level: _width(level[1]), reverse=True))


def bins_text(levels: Mapping[str, Any]) -> str:
    """Return the text from which `wider_bins` makes the same levels.

    >>> bins_text({"adult": ["0", "18", "65"], "20-year": "20"})
    '0, 18, 65; 20'
    """
    return "; ".join(map(_text, levels.values()))


def _number(text: str) -> str:
    try:
        return f"{decimal(text).normalize():f}"
    except ValueError:
        raise ValueError(_("{text}: write the width of wider bins, such as 20, or their edges", text=text)) from None


def _text(bins: Any) -> str:
    return ", ".join(map(str, bins)) if isinstance(bins, Sequence) and not isinstance(bins, str) else str(bins)


def _named(name: str, bins: Bins) -> str:
    """Return a name for a level: 20-year of ages, else by-20."""
    if isinstance(bins, list):
        return f"{len(bins) - 1}-bins"
    return f"{bins}-year" if COUNTS_YEARS.search(name.lower()) else f"by-{bins}"


def _width(bins: Bins) -> float:
    edges = list(map(decimal, bins)) if isinstance(bins, list) else []
    return float((edges[-1] - edges[0]) / (len(edges) - 1) if edges else decimal(str(bins)))
