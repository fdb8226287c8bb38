"""The faults and the number of cells of each column's entry, computed again only if the entry has changed."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial

from dpengine.translation.catalogue import language
from pages.parts.visit.plan import plan_form
from pages.parts.visit.plan.entries import Entries
from pages.parts.visit.plan.tables import declared_name, used
from pages.parts.visit.state import visit

__all__ = ["ColumnCheck", "check_columns", "faults_of", "faulty", "sizes_of"]


@dataclass(frozen=True, slots=True)
class ColumnCheck:
    """The faults of a column's entry, and its number of cells, or None while that is unknown."""

    faults: tuple[str, ...]
    size: int | None


def check_columns(names: Iterable[str]) -> dict[str, ColumnCheck]:
    """Return the faults and the number of cells of each of these columns."""
    here, entries, spoken = visit(), visit().entries, language()
    return {
        name: here.once(f"column-{name}", (entries.declared[name], spoken), partial(_check, entries, name))
        for name in names
    }


def _check(entries: Entries, name: str) -> ColumnCheck:
    return ColumnCheck(plan_form.column_faults(entries, name), plan_form.size_of(entries, name))


def sizes_of(names: Iterable[str]) -> dict[str, int | None]:
    """Return the numbers of cells of columns and of their levels; None while an entry is incomplete."""
    here, sizes = visit(), {}
    for name in names:
        column = here.entries.declared[declared_name(here.entries, name) or name]
        sizes[name] = here.once(f"size-{name}", column, partial(plan_form.size_of, here.entries, name))
    return sizes


def faults_of(name: str) -> tuple[str, ...]:
    """Return what is still missing or wrong in the entry of one column."""
    return check_columns([name])[name].faults


def faulty() -> list[str]:
    """Return the published columns whose entries are still incomplete."""
    return [name for name, column in check_columns(used(visit().entries)).items() if column.faults]
