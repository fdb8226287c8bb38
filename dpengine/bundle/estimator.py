"""The estimator of a release's counts, on which its guarantees and the reader's guide depend."""

from __future__ import annotations

from enum import StrEnum

from dpengine.marginals.plan_model import modelled
from dpengine.spec.plan import Plan

__all__ = ["Estimator", "estimator", "is_adaptive"]


class Estimator(StrEnum):
    """The estimator that makes a release's estimates from its measurements."""

    LEAST_SQUARES = "least squares"
    MODEL = "model"
    BOXES = "boxes"
    TOGETHER = "boxes beside tables"
    PARTS = "parts"


def estimator(plan: Plan) -> Estimator:
    """Return which estimator a release of `plan` uses. The plan's strategy must be resolved.

    The plan alone decides. So `verify` need not load the strategies, which draw noise.
    """
    plan = plan.finest
    if not is_adaptive(plan):
        return Estimator.LEAST_SQUARES
    if plan.in_parts:
        one = len(plan.ranged) == 1 and not plan.resolution.levels and modelled(plan) is None
        return Estimator.TOGETHER if one else Estimator.PARTS
    return Estimator.BOXES if plan.ranged else Estimator.MODEL


def is_adaptive(plan: Plan) -> bool:
    """Return whether `plan` is measured by private choices for a model or in boxes, and not only in tables."""
    plan = plan.finest
    only_levels = bool(plan.resolution.levels) and not plan.ranged and not plan.in_parts
    return plan.strategy == "adaptive" and not only_levels
