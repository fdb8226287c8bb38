"""An adaptive plan tried out on made-up people, in jobs beside the page: its errors cannot be computed beforehand.

While a plan is tried out, what the one before gave stays on the screen, and is said to be of the one before.
"""

from __future__ import annotations

from functools import partial
from typing import TypeVar

import pandas as pd

from dpengine import Plan
from dpengine.array_types import Columns
from dpengine.results.predict import predict_by_trials
from dpengine.results.preview import preview_table
from dpengine.results.result import Result
from pages.parts.server.jobs import Progress
from pages.parts.visit import background_read
from pages.parts.visit.state import visit

__all__ = ["drawn", "errors", "question_of"]

T = TypeVar("T")


def drawn(plan: Plan, table: Columns, *, afresh: bool) -> tuple[Plan, Result] | None:
    """Return the made-up release that was drawn last to show `table`, and its plan; if that is another, draw again."""
    if afresh:
        background_read.drop("drawn")
    fresh = background_read.glance("drawn", partial(_draw, plan, table), None, question=question_of(plan))
    return _last(plan, "drawn", fresh)


def errors(plan: Plan) -> tuple[Plan, pd.DataFrame] | None:
    """Return the errors that were tried out last, as by `predict`, and their plan."""
    tried = background_read.glance("errors", partial(_try_out, plan), None, question=question_of(plan))
    return _last(plan, "errors", tried)


def question_of(plan: Plan) -> tuple[object, ...]:
    """Return what a made-up release of `plan` depends on."""
    return plan.key, plan.rows_about, tuple(plan.marginals)


def _last(plan: Plan, name: str, fresh: T | None) -> tuple[Plan, T] | None:
    """Keep what is `fresh`; else return what came before, if it is of the same tables."""
    kept: tuple[Plan, T] | None = visit().kept(name, plan.marginals)
    if fresh is None:
        return kept
    if kept is None or kept[1] is not fresh:
        visit().keep(name, plan.marginals, kept := (plan, fresh))
    return kept


def _draw(plan: Plan, table: Columns, progress: Progress) -> Result:
    progress("drawing")
    return preview_table(plan, table)


def _try_out(plan: Plan, progress: Progress) -> pd.DataFrame:
    return predict_by_trials(plan, before_each=partial(progress, "trying"))
