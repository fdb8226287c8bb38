"""Differentially private publication of tables."""

from dpengine.errors import BudgetError, LedgerError, PlanError, PrivateReleaseError, ReleaseError, TableError
from dpengine.plan import Plan

__all__ = ["BudgetError", "LedgerError", "Plan", "PlanError", "PrivateReleaseError", "ReleaseError", "TableError"]
