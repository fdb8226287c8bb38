"""Differentially private publication of tables: plan, predict, release once, verify.

>>> import dpengine as dpe
>>> plan = dpe.Plan(dataset="demo", epsilon="1", tables=[["smokes"]],
...                 columns=[{"name": "smokes", "kind": "yesno"}])
>>> float(dpe.predict(plan)["half_width_95"].iloc[0])
3.0
"""

from dpengine import noise
from dpengine.accounting.ledger import Ledger
from dpengine.ask import Answer, ask, expect
from dpengine.bundle.verify import verify
from dpengine.errors import BudgetError, LedgerError, PlanError, PrivateReleaseError, ReleaseError, TableError
from dpengine.estimate.error_distribution import epsilon_for
from dpengine.release import Release, release
from dpengine.results.mock_table import preview
from dpengine.results.predict import predict
from dpengine.sources.open import open_table
from dpengine.spec.numeric_grid import Grid
from dpengine.spec.plan import Plan
from dpengine.spec.query import Condition, Count, Mean, Mode, Proportion, Quantile, Question, Sum

__all__ = [
    "Answer",
    "BudgetError",
    "Condition",
    "Count",
    "Grid",
    "Ledger",
    "LedgerError",
    "Mean",
    "Mode",
    "Plan",
    "PlanError",
    "PrivateReleaseError",
    "Proportion",
    "Quantile",
    "Question",
    "Release",
    "ReleaseError",
    "Sum",
    "TableError",
    "ask",
    "epsilon_for",
    "expect",
    "noise",
    "open_table",
    "predict",
    "preview",
    "release",
    "verify",
]
