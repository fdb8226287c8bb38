"""Differentially private publication of tables: plan, predict, release once, verify.

>>> import dpengine as dpe
>>> plan = dpe.Plan(dataset="demo", epsilon="1", tables=[["smokes"]],
...                 columns=[{"name": "smokes", "kind": "yesno"}])
>>> float(dpe.predict(plan)["half_width_95"].iloc[0])
3.0
"""

from dpengine import noise
from dpengine.accuracy import epsilon_for
from dpengine.errors import BudgetError, LedgerError, PlanError, PrivateReleaseError, ReleaseError, TableError
from dpengine.files import verify
from dpengine.ledger import Ledger
from dpengine.plan import Plan
from dpengine.prediction import predict
from dpengine.release import Release, release
from dpengine.sources import open_table
from dpengine.standin import preview

__all__ = [
    "BudgetError",
    "Ledger",
    "LedgerError",
    "Plan",
    "PlanError",
    "PrivateReleaseError",
    "Release",
    "ReleaseError",
    "TableError",
    "epsilon_for",
    "noise",
    "open_table",
    "predict",
    "preview",
    "release",
    "verify",
]
