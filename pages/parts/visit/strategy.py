"""The strategy of the current plan, decided once for all parts of a page."""

from __future__ import annotations

from dpengine import Plan, Strategy, decide
from dpengine.translation.catalogue import language
from pages.parts.visit.state import visit

__all__ = ["is_adaptive", "plan_id_of", "strategy_of", "why"]

KEPT = 32


def strategy_of(plan: Plan) -> Strategy:
    """Return the strategy of `plan`, with its allocation; the session keeps those of the last few plans."""
    return visit().once("strategy", plan, lambda: decide(plan), most=KEPT)


def is_adaptive(plan: Plan) -> bool:
    """Whether the plan is measured adaptively, so that its errors can only be simulated."""
    return not strategy_of(plan).closed_form


def why(plan: Plan) -> str:
    """Return why `plan` has its strategy, in the page's language."""
    return visit().once("why", (plan, language()), lambda: strategy_of(plan).why, most=KEPT)


def plan_id_of(plan: Plan) -> str:
    """Return the identity of `plan` in the ledger. Raises `PlanError` if the plan cannot be measured."""
    return visit().once("plan-id", plan, lambda: strategy_of(plan).plan_id, most=KEPT)
