"""The faults of each column's entry and its number of cells, worked out again only if the entry has changed."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from dpengine.translation.catalogue import language
from pages.parts.visit.plan import plan_form
from pages.parts.visit.plan.tables import declared_name, used
from pages.parts.visit.state import visit

__all__ = ["ColumnCheck", "check_columns", "faults_of", "faulty", "sizes_of"]


@dataclass(frozen=True, slots=True)
class ColumnCheck:
    """What is missing or wrong in a column's entry, and its number of cells, or None while that is unknown."""

    faults: tuple[str, ...]
    size: int | None


def check_columns(names: Iterable[str]) -> dict[str, ColumnCheck]:
    """Return the faults and the number of cells of each of these columns."""
    here = visit()
    entries, results = here.entries, {}
    for name in names:
        column = entries.declared[name], language()
        known: ColumnCheck | None = here.recall(f"column-{name}", column)
        if known is None:
            known = ColumnCheck(plan_form.column_faults(entries, name), plan_form.size_of(entries, name))
            here.keep(f"column-{name}", column, known)
        results[name] = known
    return results


def sizes_of(names: Iterable[str]) -> dict[str, int | None]:
    """Return the numbers of cells of columns and of their levels; None while an entry is incomplete."""
    here, sizes = visit(), {}
    for name in names:
        column = here.entries.declared[declared_name(here.entries, name) or name]
        known: tuple[int | None] | None = here.recall(f"size-{name}", column)
        if known is None:
            known = (plan_form.size_of(here.entries, name),)
            here.keep(f"size-{name}", column, known)
        sizes[name] = known[0]
    return sizes


def faults_of(name: str) -> tuple[str, ...]:
    """Return what is still missing or wrong in the entry of one column."""
    return check_columns([name])[name].faults


def faulty() -> list[str]:
    """Return the published columns whose entries are still incomplete."""
    return [name for name, column in check_columns(used(visit().entries)).items() if column.faults]
