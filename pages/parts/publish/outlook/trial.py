"""Trials of an adaptive plan on made-up people, in the background: its errors cannot be computed beforehand.

During a trial, the results of the plan before stay on the screen, and the page says so. If the last trial was slow, the
next one begins only after a pause: whoever moves ε step by step wants only the last step tried out. While a step is
open, the pause is longer: whoever fills in a grid of columns takes longer from one cell to the next.
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

__all__ = ["KEPT", "drawn", "drawn_of", "errors", "errors_of", "question_of"]

T = TypeVar("T")

KEPT = 8  # results that are kept, for the last values of ε: people move it back and forth
LONG = 0.25  # seconds of a trial from which on the next one waits for a pause
REST = 1.0  # seconds of such a pause
REST_IN_STEP = 4.0  # the same while a step before ε is open


def drawn(plan: Plan, table: Columns, *, afresh: bool) -> tuple[Plan, Result] | None:
    """Return the last made-up release that shows `table`, and its plan; if that is another plan, draw a new one."""
    if afresh:
        background_read.drop("drawn")
    return _last(plan, "drawn", _result_of(plan, "drawn", partial(_draw, plan, table)))


def errors(plan: Plan) -> tuple[Plan, pd.DataFrame] | None:
    """Return the errors of the last trial, in the form of `predict`, and their plan."""
    return _last(plan, "errors", _result_of(plan, "errors", partial(_try_out, plan)))


def errors_of(plan: Plan) -> pd.DataFrame | None:
    """Return the errors of the last trial if it was one of exactly this plan."""
    return _of_exactly(plan, errors(plan))


def drawn_of(plan: Plan) -> Result | None:
    """Return the last made-up release if it is one of exactly this plan."""
    return _of_exactly(plan, visit().recall("drawn", plan.marginals))


def _of_exactly(plan: Plan, last: tuple[Plan, T] | None) -> T | None:
    return last[1] if last is not None and question_of(last[0]) == question_of(plan) else None


def question_of(plan: Plan) -> tuple[object, ...]:
    """Return the parts of `plan` on which a made-up release depends."""
    return visit().once("question", plan, lambda: (plan.key, plan.rows_about, plan.marginals), most=2 * KEPT)


def _result_of(plan: Plan, name: str, work: Callable[[Progress], T]) -> T | None:
    """Return the result of `work` for the plan, or None while it is running."""
    before: Job[T] | None = visit().readings.get(name, ((), None))[1]
    long = before is not None and (not before.done or before.last_stage_took > LONG)
    if long:
        work = partial(_after_pause, work, REST_IN_STEP if visit().opened else REST)
    return background_read.glance(name, work, None, question=question_of(plan), patient=not long)


def _after_pause(work: Callable[[Progress], T], rest: float, progress: Progress) -> T:
    """Do the work after a pause; if another plan comes in the meantime, the job is stopped during the pause."""
    until = time.monotonic() + rest
    while time.monotonic() < until:
        progress("resting")
        time.sleep(0.05)
    return work(progress)


def _last(plan: Plan, name: str, fresh: T | None) -> tuple[Plan, T] | None:
    """Keep and return a `fresh` result; without one, return the previous result if it is of the same tables."""
    last: tuple[Plan, T] | None = visit().recall(name, plan.marginals)
    if fresh is None:
        return last
    if last is None or last[1] is not fresh:
        visit().keep(name, plan.marginals, last := (plan, fresh))
    return last


def _draw(plan: Plan, table: Columns, progress: Progress) -> Result:
    progress("drawing")
    return preview_table(plan, table)


def _try_out(plan: Plan, progress: Progress) -> pd.DataFrame:
    return predict_by_trials(plan, before_each=partial(progress, "trying"))
