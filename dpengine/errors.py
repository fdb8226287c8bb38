"""All errors that a caller can cause: `PrivateReleaseError` and one subclass for each cause.

A message says what is wrong, where, and what to do. It never holds a cell value of a private table, an exact count, or
a path of the machine it runs on. One exception: the place of a ledger fault may be the ledger's own address, for the
operator; the page does not show it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from dpengine.translation.catalogue import plural

__all__ = [
    "BudgetError", "Fault", "LedgerBusyError", "LedgerError", "NoiseError", "PlanError", "PrivateReleaseError",
    "ReleaseError", "SettingsError", "TableError",
]  # fmt: skip


MAX_LINES = 200  # of a message: a table may have a fault in each of its columns


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing that is wrong: a sentence, and its place as a path of keys and of positions counted from 1.

    >>> print(Fault(("columns", 2, "values"), "list the values", column="region"))
    columns → 2 (region) → values: list the values
    """

    path: tuple[str | int, ...]
    text: str
    missing: bool = False  # whether nothing was given at this place
    column: str = ""  # the name of the column that the place is in, at the second step

    def __str__(self) -> str:
        steps = [*map(str, self.path)]
        if self.column:
            steps[1] += f" ({self.column})"
        return f"{' → '.join(steps)}: {self.text}" if steps else self.text


class PrivateReleaseError(Exception):
    """Base of all errors that a caller can cause; `faults` lists all that is wrong, the message the first of it."""

    def __init__(self, faults: str | Fault | Iterable[str | Fault]) -> None:
        listed = (faults,) if isinstance(faults, str | Fault) else faults
        self.faults = tuple(fault if isinstance(fault, Fault) else Fault((), fault) for fault in listed)
        lines, more = [*map(str, self.faults[:MAX_LINES])], len(self.faults) - MAX_LINES
        if more > 0:
            lines.append(plural("and {n} more fault", "and {n} more faults", more))
        super().__init__("\n".join(lines))

    def _render_traceback_(self) -> list[str]:
        """Return the faults, which IPython shows instead of a traceback; `%debug` still works."""
        return [f"{type(self).__name__}: {self}"]


class PlanError(PrivateReleaseError):
    """The plan, or a codebook it names, is not usable as written."""


class SettingsError(PrivateReleaseError):
    """A setting of the environment or of the settings file cannot be used; its place may be the path of that file."""


class TableError(PrivateReleaseError):
    """The table cannot be opened, or lacks what the plan names."""


class BudgetError(PrivateReleaseError):
    """The ledger refuses to spend: a cap would be passed, an approval is missing, or an amount or name is not valid."""


class LedgerError(PrivateReleaseError):
    """The ledger cannot be used (locked, damaged, gone, an old copy): nothing is released, even if a budget allows."""


class LedgerBusyError(LedgerError):
    """The ledger cannot be used just now: another process holds it, or its database does not answer. Try again."""


class ReleaseError(PrivateReleaseError):
    """A release file is damaged, inconsistent, or does not say what it is."""


class NoiseError(PrivateReleaseError, ValueError, TypeError):
    """Noise cannot be drawn at this scale, or not for this many numbers; also a ValueError and a TypeError."""
