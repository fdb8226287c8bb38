"""The entries of an unfinished plan as values, and which of them may leave a visit.

Nothing here ever sees a row.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, TypeVar

from dpengine.spec.plan import Strategy
from dpengine.spec.published_table import PublishedTable
from dpengine.spec.summed_levels import CoarserLevels
from dpengine.translation.catalogue import ENGLISH, mark
from pages.parts.visit.plan.column_entry import is_from_file, listed

__all__ = ["LAYOUTS", "Draft", "Entries", "shareable"]

T = TypeVar("T")

LAYOUTS = {
    "together": mark("One table of all of them"),
    "pairs": mark("Every pair of them"),
    "single": mark("Each by itself"),
    "own": mark("A list of my own"),
}

OF_TABLES = ("chosen", "layout", "own", "margins", "more", "of_amounts", "declared")  # they determine the tables


@dataclass(frozen=True)
class Entries:
    """One visitor's unfinished plan; `declared` holds each column's entry, as in a plan file, by name."""

    title: str = ""
    dataset: str = ""
    chosen: tuple[str, ...] = ()
    layout: str = "together"
    own: tuple[tuple[str, ...], ...] = ()
    margins: bool = True
    ranges: bool = False
    more: tuple[PublishedTable, ...] = ()  # the listed tables with more than counts
    of_amounts: tuple[str, ...] = ("mean",)  # for all other layouts, what tables publish of each amount
    declared: dict[str, dict[str, Any]] = field(default_factory=dict)
    several_rows: bool | None = None
    id_column: str | None = None
    rows: int = 1
    rows_about: int | None = None
    epsilon: str = "1"
    strategy: Strategy = "auto"
    coarser_levels: CoarserLevels | None = None  # as auto decided in a plan that is used again
    notes: str = ""
    language: str = ENGLISH
    about: dict[str, str] = field(default_factory=dict)
    nouns: dict[str, str] = field(default_factory=dict)  # what the rows are, and whom the ID column identifies
    texts: dict[str, dict[str, Any]] = field(default_factory=dict)  # for readers, by column

    def with_(self, **changes: Any) -> Entries:
        """Return the entries with some of them changed."""
        changed = replace(self, **changes)
        if all(getattr(changed, name) == getattr(self, name) for name in OF_TABLES):
            changed.__dict__["_of_tables"] = self._of_tables
        return changed

    @cached_property
    def _of_tables(self) -> dict[str, Any]:
        return {}

    def once(self, name: str, work: Callable[[], T]) -> T:
        """Return the result of `work`, which depends on the tables alone; entries with the same tables share it."""
        if name not in self._of_tables:
            self._of_tables[name] = work()
        result: T = self._of_tables[name]
        return result


@dataclass(frozen=True)
class Draft:
    """Entries for a table, with the table's name; `sample` is its key if it is one of the samples.

    `owner` is the owner of the entries, as named in the ledger. `frequency` and `answers` say how the table was read: a
    later table with the same columns would be counted otherwise without them, as the rows of a summary.
    """

    table: str
    sample: str
    settled: tuple[str, ...]
    entries: Entries
    owner: str = ""
    frequency: str = ""
    answers: Mapping[str, list[str]] = field(default_factory=dict)


def shareable(entries: Entries) -> Entries:
    """Return the entries without what must not leave this visit, in a file or in the tab's storage.

    Values, bins and days that a file suggests may have been made from rows, so they are left out until a person
    confirms them. So are words and shapes for values that are not listed, or no longer.
    """
    declared = {name: _confirmed_lists(column) for name, column in entries.declared.items()}
    texts = {name: _of_its_values(fields, declared.get(name, {})) for name, fields in entries.texts.items()}
    return entries.with_(declared=declared, texts=texts)


def _confirmed_lists(column: dict[str, Any]) -> dict[str, Any]:
    blanks: dict[str, Any] = {"values": [], "edges": [], "from": "", "to": ""}
    return column | {key: blanks[key] for key in blanks if key in column} if is_from_file(column) else column


def _of_its_values(texts: dict[str, Any], column: Mapping[str, Any]) -> dict[str, Any]:
    """Return the texts for readers about a column, with words and shapes only for its listed values."""
    if not texts.keys() & {"words", "shapes"}:
        return texts
    known = {*listed(column)}
    mine = {
        key: {value: text for value, text in texts.get(key, {}).items() if value in known}
        for key in ("words", "shapes")
    }
    return {key: text for key, text in (texts | mine).items() if key not in mine or text}
