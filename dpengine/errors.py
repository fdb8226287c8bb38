"""Every error that a caller can cause, as one small tree.

    PrivateReleaseError
    ├── PlanError        the plan (or its codebook) is not usable as written
    ├── TableError       the table cannot be opened or lacks what the plan names
    ├── BudgetError      the ledger refuses: over the cap, or not allowed to spend
    ├── LedgerError      the ledger itself is unusable: locked, damaged, not writable
    └── ReleaseError     a release file is not whole, not consistent, or not what it says

A message says what is wrong, where, and what to do. It never holds a cell value of a private
table, an exact count, or a path of the machine it runs on.
"""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["BudgetError", "LedgerError", "PlanError", "PrivateReleaseError", "ReleaseError", "TableError"]


class PrivateReleaseError(Exception):
    """Base of all errors that a caller can cause; ``faults`` lists them, one sentence each."""

    def __init__(self, faults: str | Sequence[str]) -> None:
        self.faults: tuple[str, ...] = (faults,) if isinstance(faults, str) else tuple(faults)
        super().__init__("\n".join(self.faults))


class PlanError(PrivateReleaseError):
    """The plan, or a codebook it names, is not usable as written."""


class TableError(PrivateReleaseError):
    """The table cannot be opened, or lacks what the plan names."""


class BudgetError(PrivateReleaseError):
    """The ledger refuses to spend: the cap would be passed."""


class LedgerError(PrivateReleaseError):
    """The ledger cannot be used (locked, damaged, not writable): no refusal, but nothing may be released either."""


class ReleaseError(PrivateReleaseError):
    """A release file is damaged, inconsistent, or does not say what it is."""
