"""How a release estimates counts from its measurements: its guarantees and the reader's guide depend on it."""

from __future__ import annotations

from enum import StrEnum

from dpengine.marginals.plan_model import modelled
from dpengine.spec.plan import Plan

__all__ = ["Estimator", "estimator"]


class Estimator(StrEnum):
    """How the estimates of a release are made from its measurements."""

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
    if plan.in_parts:
        one = len(plan.ranged) == 1 and not plan.resolution.levels and modelled(plan) is None
        return Estimator.TOGETHER if one else Estimator.PARTS
    if plan.strategy == "adaptive" and plan.ranged:
        return Estimator.BOXES
    return Estimator.MODEL if plan.strategy == "adaptive" and not plan.resolution.levels else Estimator.LEAST_SQUARES
