"""What is read of the owner's rows for a page: in a job beside it, once for what is asked, followed and stopped here.

What comes of it is private. It is held in the session alone, by the name of the place that shows it, and goes with
the table; what else is asked there breaks it off.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, TypeVar

import streamlit as st

from dpengine import PrivateReleaseError
from dpengine.sources.table import Table
from pages.parts.server import jobs
from pages.parts.server.jobs import Job, Stopped, Tell
from pages.parts.shared.wording import lasted, plain

__all__ = ["begin", "drop", "drop_all", "glance", "held", "read", "refused"]

T = TypeVar("T")

QUICK = 1.0  # seconds that a small table is waited for without a word
EVERY = 0.5  # seconds between looks at what takes longer


def read(
    name: str,
    work: Callable[[Tell], T],
    table: Table | None,
    *,
    asked: object = (),
    said: str = "Counting",
    again: bool = True,
) -> T | None:
    """What ``work`` gives, ``said`` being done; None while it is awaited, or where there is nothing, which is shown.

    ``again``: what cannot be read now may be tried once more.
    """
    fresh = held(name, asked) is None
    job = begin(name, work, table, asked=asked)
    if fresh:
        with st.spinner(said):
            job.wait(QUICK)
    if not job.done:
        with st.container(key=f"reading-{name}"):
            _progress(name, job, said)
        return None
    try:
        return job.result()
    except Stopped:
        st.caption(":material/stop_circle: Stopped.")
    except PrivateReleaseError as error:
        refused(error)
        if not again:
            return None
    st.button("Try again", key=f"again-{name}", icon=":material/refresh:", on_click=drop, args=(name,))
    return None


def glance(name: str, work: Callable[[Tell], T], table: Table) -> T | None:
    """What ``work`` gives, once it is there; until then, and where there is nothing, no word."""
    fresh = held(name) is None
    job = begin(name, work, table)
    if fresh:
        job.wait(QUICK / 4)
    if not job.done:
        _watch(job)
        return None
    try:
        return job.result()
    except (Stopped, PrivateReleaseError):
        return None


def begin(name: str, work: Callable[[Tell], T], table: Table | None, *, asked: object = ()) -> Job[T]:
    """What is being read for ``name``; it begins now where it is not yet, and takes the place of what else was asked.

    ``work`` runs in another thread, where there is no session: it is given all it needs.
    """
    readings: dict[str, tuple[object, Job[Any]]] = st.session_state.setdefault("readings", {})
    job: Job[T] | None = held(name, asked)
    if job is None:
        drop(name)
        job = jobs.start(work, table)
        readings[name] = (asked, job)
    return job


def held(name: str, asked: object = ()) -> Job[Any] | None:
    """What was begun for ``name``, where it is what is ``asked``."""
    before, job = st.session_state.get("readings", {}).get(name, (None, None))
    return job if job is not None and before == asked else None


def drop(name: str) -> None:
    """Forget what was read for ``name``, or break it off."""
    _, job = st.session_state.get("readings", {}).pop(name, (None, None))
    if job is not None:
        job.stop()


def drop_all() -> None:
    for name in list(st.session_state.get("readings", {})):
        drop(name)


def refused(error: PrivateReleaseError) -> None:
    """Why something cannot be read."""
    st.warning("\n\n".join(plain(str(fault)) for fault in error.faults), icon=":material/report:")


@st.fragment(run_every=EVERY)
def _watch(job: Job[Any]) -> None:
    if job.done:
        st.rerun()


@st.fragment(run_every=EVERY)
def _progress(name: str, job: Job[Any], said: str) -> None:
    if job.done:
        st.rerun()
    line, stop = st.columns([4, 1], vertical_alignment="center")
    doing = "Stopping" if job.stopping else said if job.stages else f"Waiting to begin: {said.lower()}"
    line.markdown(f":material/hourglass_top: {doing} · {lasted(time.monotonic() - job.begun)}")
    stop.button(
        "Stop", key=f"stop-{name}", type="tertiary", icon=":material/stop_circle:", on_click=job.stop,
        disabled=job.stopping,
    )  # fmt: skip
    if job.part is not None:
        st.progress(job.part)
