"""An adaptive plan tried out on made-up people, in jobs beside the page: its errors cannot be computed beforehand.

While a plan is tried out, what the one before gave stays on the screen, and is said to be of the one before. If that
one took long, the next is begun only once the plan rests: who moves ε step by step wants the last step tried out.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import TypeVar

import pandas as pd

from dpengine import Plan
from dpengine.array_types import Columns
from dpengine.results.predict import predict_by_trials
from dpengine.results.preview import preview_table
from dpengine.results.result import Result
from pages.parts.server.jobs import Job, Progress
from pages.parts.visit import background_read
from pages.parts.visit.state import visit

__all__ = ["KEPT", "drawn", "drawn_of", "errors", "question_of"]

T = TypeVar("T")

KEPT = 8  # results at the last values of ε, since people move it to and fro
LONG = 0.25  # seconds of a trial that is not begun again at each step of a move
REST = 1.0  # seconds without another step


def drawn(plan: Plan, table: Columns, *, afresh: bool) -> tuple[Plan, Result] | None:
    """Return the made-up release that was drawn last to show `table`, and its plan; if that is another, draw again."""
    if afresh:
        background_read.drop("drawn")
    return _last(plan, "drawn", _tried(plan, "drawn", partial(_draw, plan, table)))


def errors(plan: Plan) -> tuple[Plan, pd.DataFrame] | None:
    """Return the errors that were tried out last, as by `predict`, and their plan."""
    return _last(plan, "errors", _tried(plan, "errors", partial(_try_out, plan)))


def drawn_of(plan: Plan) -> Result | None:
    """Return the made-up release that was drawn last if it is one of exactly this plan."""
    kept: tuple[Plan, Result] | None = visit().kept("drawn", plan.marginals)
    return kept[1] if kept is not None and question_of(kept[0]) == question_of(plan) else None


def question_of(plan: Plan) -> tuple[object, ...]:
    """Return what a made-up release of `plan` depends on."""
    return visit().once("question", plan, lambda: (plan.key, plan.rows_about, plan.marginals), most=2 * KEPT)


def _tried(plan: Plan, name: str, work: Callable[[Progress], T]) -> T | None:
    """Return what `work` gives for the plan, or None while it is under way."""
    before: Job[T] | None = visit().readings.get(name, ((), None))[1]
    long = before is not None and (not before.done or before.last_stage_took > LONG)
    return background_read.glance(
        name, partial(_at_rest, work) if long else work, None, question=question_of(plan), patient=not long
    )


def _at_rest(work: Callable[[Progress], T], progress: Progress) -> T:
    """Do the work after a while in which nothing else was asked for; that would stop the job here."""
    until = time.monotonic() + REST
    while time.monotonic() < until:
        progress("resting")
        time.sleep(0.05)
    return work(progress)


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
