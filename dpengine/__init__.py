"""Differentially private publication of tables: plan, predict, release once, verify.

>>> import dpengine as dpe
>>> plan = dpe.Plan(dataset="demo", epsilon="1", columns=[dpe.YesNo(name="smokes")], tables=[["smokes"]])
>>> float(dpe.predict(plan)["half_width_95"].iloc[0])
3.0

Each name is loaded on first use. `verify`, which reads files from strangers, and `predict`, which needs no table,
therefore load nothing that reads tables or opens a ledger.
"""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

from dpengine.version import VERSION as __version__

if TYPE_CHECKING:
    from dpengine import noise
    from dpengine.accounting.entry import Entry
    from dpengine.accounting.ledger import Ledger
    from dpengine.ask import ask
    from dpengine.bundle.verify import signed_by, verify
    from dpengine.combine import Combined, combine
    from dpengine.comparable import NotCompared
    from dpengine.compare import compare, not_compared
    from dpengine.errors import (
        BudgetError,
        Fault,
        LedgerBusyError,
        LedgerError,
        NoiseError,
        PlanError,
        PrivateReleaseError,
        ReleaseError,
        SettingsError,
        TableError,
    )
    from dpengine.export import Published, published
    from dpengine.measure.strategy import decide
    from dpengine.measure.strategy_base import Strategy
    from dpengine.percentages import percentages
    from dpengine.release import Release, release
    from dpengine.replicates.files import draw_replicates
    from dpengine.results.answer import Answer, Expected, expect
    from dpengine.results.predict import epsilon_for, predict
    from dpengine.results.preview import preview
    from dpengine.results.result import Result
    from dpengine.sources.open import open_table
    from dpengine.sources.table import Table
    from dpengine.spec.domain import Amount, Category, Date, Number, Time, YesNo
    from dpengine.spec.numeric.grid import Grid
    from dpengine.spec.plan import Plan, Unit
    from dpengine.spec.query import Condition, Count, Mean, Mode, Proportion, Quantile, Question, Sum, Variance

__all__ = [
    "Amount", "Answer", "BudgetError", "Category", "Combined", "Condition", "Count", "Date", "Entry", "Expected",
    "Fault", "Grid", "Ledger", "LedgerBusyError", "LedgerError", "Mean", "Mode", "NoiseError", "NotCompared", "Number",
    "Plan", "PlanError", "PrivateReleaseError", "Proportion", "Published", "Quantile", "Question", "Release",
    "ReleaseError", "Result", "SettingsError", "Strategy", "Sum", "Table", "TableError", "Time", "Unit",
    "Variance", "YesNo", "__version__", "ask", "combine", "compare", "decide", "draw_replicates", "epsilon_for",
    "expect", "noise", "not_compared", "open_table", "percentages", "predict", "preview", "published", "release",
    "signed_by", "verify",
]  # fmt: skip

_MODULES = {
    "accounting.entry": ("Entry",),
    "accounting.ledger": ("Ledger",),
    "ask": ("ask",),
    "bundle.verify": ("signed_by", "verify"),
    "combine": ("Combined", "combine"),
    "comparable": ("NotCompared",),
    "compare": ("compare", "not_compared"),
    "errors": (
        "BudgetError",
        "Fault",
        "LedgerBusyError",
        "LedgerError",
        "NoiseError",
        "PlanError",
        "PrivateReleaseError",
        "ReleaseError",
        "SettingsError",
        "TableError",
    ),
    "export": ("Published", "published"),
    "measure.strategy": ("Strategy", "decide"),
    "percentages": ("percentages",),
    "release": ("Release", "release"),
    "replicates.files": ("draw_replicates",),
    "results.answer": ("Answer", "Expected", "expect"),
    "results.predict": ("epsilon_for", "predict"),
    "results.preview": ("preview",),
    "results.result": ("Result",),
    "sources.open": ("open_table",),
    "sources.table": ("Table",),
    "spec.domain": ("Amount", "Category", "Date", "Number", "Time", "YesNo"),
    "spec.numeric.grid": ("Grid",),
    "spec.plan": ("Plan", "Unit"),
    "spec.query": ("Condition", "Count", "Mean", "Mode", "Proportion", "Quantile", "Question", "Sum", "Variance"),
}
_MODULE_OF = {name: module for module, names in _MODULES.items() for name in names}


class _Package(ModuleType):
    """The type of this package: it loads each public name on first use.

    A `__getattr__` in the module would not be enough: the functions `ask` and `release` have the names of their
    modules, and importing such a module sets an attribute that hides the function.
    """

    def __getattr__(self, name: str) -> Any:
        if name == "noise":
            return import_module("dpengine.noise")
        if name not in _MODULE_OF:
            raise AttributeError(f"module 'dpengine' has no attribute {name!r}")
        value = getattr(import_module(f"dpengine.{_MODULE_OF[name]}"), name)
        setattr(self, name, value)
        return value

    def __setattr__(self, name: str, value: object) -> None:
        if name not in _MODULE_OF or not isinstance(value, ModuleType):
            super().__setattr__(name, value)

    def __dir__(self) -> list[str]:
        return sorted({*__all__, *(name for name in vars(self) if name.startswith("__"))})


sys.modules[__name__].__class__ = _Package
