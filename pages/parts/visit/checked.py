"""What each column's entry lacks and how many cells it has, worked out anew only where the entry has changed."""

from __future__ import annotations

from pages.parts.visit import plan_form
from pages.parts.visit.state import visit

__all__ = ["faults_of", "faulty", "size_of"]


def faults_of(name: str) -> tuple[str, ...]:
    """Return what is still missing or wrong in the entry of one column."""
    return _looked_at(name)[0]


def size_of(name: str) -> int | None:
    """Return the number of cells of a column, or None while they are not known."""
    return _looked_at(name)[1]


def faulty() -> list[str]:
    """Return the published columns whose entries are still incomplete."""
    return [name for name in plan_form.used(visit().entries) if faults_of(name)]


def _looked_at(name: str) -> tuple[tuple[str, ...], int | None]:
    entries = visit().entries
    return visit().once(
        f"column-{name}",
        entries.declared[name],
        lambda: (plan_form.column_faults(entries, name), plan_form.size_of(entries, name)),
    )
