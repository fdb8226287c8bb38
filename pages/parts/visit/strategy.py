"""The strategy of the plan on the screen, decided once for all parts of a page."""

from __future__ import annotations

from dpengine import Plan, Strategy, decide
from dpengine.translation.catalogue import language
from pages.parts.visit.state import visit

__all__ = ["plan_id_of", "strategy_of", "why"]

KEPT = 32


def strategy_of(plan: Plan) -> Strategy:
    """Return the strategy of `plan`; the session keeps the last few, with their allocations."""
    return visit().once("strategy", plan, lambda: decide(plan), most=KEPT)


def why(plan: Plan) -> str:
    """Return why `plan` has its strategy, in the language that is spoken."""
    return visit().once("why", (plan, language()), lambda: strategy_of(plan).why, most=KEPT)


def plan_id_of(plan: Plan) -> str:
    """Return the ledger's identity of `plan`. Raises `PlanError` if it cannot be measured."""
    return visit().once("plan-id", plan, lambda: strategy_of(plan).plan_id, most=KEPT)
