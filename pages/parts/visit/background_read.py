"""Readings of the owner's rows for a page: in background jobs, once for each question, with progress and a way to stop.

What is read is private. It is kept only in the session, under the name of the place that shows it, and is dropped with
the table. Another question at the same place stops a reading.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from threading import Event
from typing import Any, TypeVar

import streamlit as st

from dpengine import PrivateReleaseError
from dpengine.accounting.drawing import LAST_STAGE
from dpengine.sources.table import Table
from dpengine.translation.catalogue import ENGLISH, _, language, mark
from pages.parts.server import jobs
from pages.parts.server.jobs import Job, Progress, Stopped
from pages.parts.shared.wording import duration
from pages.parts.visit.fault_text import all_faults
from pages.parts.visit.state import VISIT, VisitState, visit

__all__ = ["begin", "drop", "drop_all", "glance", "job_for", "read", "show_refusal"]

T = TypeVar("T")

QUICK = 1.0  # seconds to wait, for a small table, before progress is shown
EVERY = 0.5  # seconds between checks of longer readings


def read(
    name: str,
    work: Callable[[Progress], T],
    table: Table | None,
    *,
    question: object = (),
    doing: str = mark("Counting"),
    again: bool = True,
) -> T | None:
    """Return the result of the job; while it runs, show progress and return None, and after a failure, show the error.

    `doing` is the line beside the progress, in English. With `again`, a failed reading can be tried once more.
    """
    fresh = job_for(name, question) is None
    job = begin(name, work, table, question=question)
    if fresh:
        with st.spinner(_(doing)):
            job.wait(QUICK)
    if not job.done:
        with st.container(key=f"reading-{name}"):
            _show_progress(name, job, doing, Event())
        return None
    try:
        return job.result()
    except Stopped:
        st.caption(":material/stop_circle: " + _("Stopped."))
    except PrivateReleaseError as error:
        show_refusal(error)
        if not again:
            return None
    st.button(_("Try again"), key=f"again-{name}", icon=":material/refresh:", on_click=drop, args=(name,))
    return None


def glance(
    name: str, work: Callable[[Progress], T], table: Table | None, *, question: object = (), patient: bool = True
) -> T | None:
    """Return the result of the job, or None while it runs or if it failed; neither is shown.

    If `patient`, wait a moment for a job that this call begins.
    """
    fresh = job_for(name, question) is None
    job = begin(name, work, table, question=question)
    if fresh and patient:
        job.wait(QUICK / 4)
    if not job.done:
        _watch(job, Event())
        return None
    try:
        return job.result()
    except (Stopped, PrivateReleaseError):
        return None


def begin(name: str, work: Callable[[Progress], T], table: Table | None, *, question: object = ()) -> Job[T]:
    """Return the job that answers `question` for `name`; if there is none yet, start it in place of any other.

    `work` runs in another thread without a session, so it must hold all that it needs.
    """
    job: Job[T] | None = job_for(name, question)
    if job is None:
        drop(name)
        job = jobs.start(work, table, binding=LAST_STAGE)
        visit().readings[name] = (question, job)
    return job


def job_for(name: str, question: object = ()) -> Job[Any] | None:
    """Return the job for `name`, if it answers `question`."""
    before, job = visit().readings.get(name, (None, None))
    return job if job is not None and before == question else None


def drop(name: str) -> None:
    """Stop and forget the reading for `name`."""
    _question, job = visit().readings.pop(name, (None, None))
    if job is not None:
        job.stop()


def drop_all() -> None:
    """Stop and forget all readings, for example since their texts are in a language that is no longer wanted."""
    if isinstance(here := st.session_state.get(VISIT), VisitState):
        here.drop_readings()


def show_refusal(error: PrivateReleaseError) -> None:
    """Show why something cannot be read."""
    st.warning(all_faults(error), icon=":material/report:")


@st.fragment(run_every=EVERY)
def _watch(job: Job[Any], drawn: Event) -> None:
    """Draw the page anew once the job is done, but not while it is `drawn` first: a click may still be unheard."""
    if job.done and drawn.is_set():
        st.rerun()
    drawn.set()


@st.fragment(run_every=EVERY)
def _show_progress(name: str, job: Job[Any], doing: str, drawn: Event) -> None:
    if job.done and drawn.is_set():
        st.rerun()
    drawn.set()
    line, stop = st.columns([4, 1], vertical_alignment="center")
    if job.stopping:
        now = _("Stopping")
    elif job.stages:
        now = _(doing)
    else:
        now = _("Waiting to begin: {what}", what=_(doing) if language() != ENGLISH else doing.lower())
    line.markdown(f":material/hourglass_top: {now} · {duration(time.monotonic() - job.begun)}")
    if job.bound:
        st.caption(_("Noise has been drawn: this will be finished and charged."))
        return
    stop.button(
        _("Stop"), key=f"stop-{name}", type="tertiary", icon=":material/stop_circle:", on_click=job.stop,
        disabled=job.stopping,
    )  # fmt: skip
    if job.part is not None:
        st.progress(job.part)
