"""A release in progress, in its own thread: any page shows it, and it can be stopped until noise is drawn."""

from __future__ import annotations

import time
from itertools import pairwise

import streamlit as st

from dpengine import Plan, PrivateReleaseError
from dpengine.accounting.drawing import LAST_STAGE
from dpengine.release import Release, release
from dpengine.sources.table import Table
from dpengine.translation.catalogue import _, mark
from pages.parts.server import jobs
from pages.parts.server.jobs import Job, Stopped
from pages.parts.shared.demo import is_demo
from pages.parts.shared.wording import duration, plain
from pages.parts.visit.state import visit

__all__ = ["begin", "current", "follow"]

QUICK = 1.0  # seconds to wait for a small release before progress is shown
EVERY = 0.5  # seconds between looks at a longer one
STAGES = {
    "starting": mark("Starting"),
    "recognising the data": mark("Recognising the data"),
    "checking the plan": mark("Checking the plan"),
    "counting": mark("Counting"),
    LAST_STAGE: mark("Adding noise"),
}


def begin(table: Table, plan: Plan, *, other_people: bool = False) -> None:
    """Begin to publish `plan`; the address of the page then names this release.

    `other_people`: the owner states that the table is of other people than those that it resembles.
    """
    ledger = visit().ledger_to_charge

    def work(progress: jobs.Progress) -> Release:
        return release(table, plan, ledger, progress=progress, other_people=other_people)

    visit().unpublished = None
    owner = visit().account.owner
    job = jobs.start(work, table, plan.title or plan.dataset, findable=not is_demo(), binding=LAST_STAGE, owner=owner)
    visit().publishing = job
    job.wait(QUICK)
    st.rerun()


def current() -> Job[Release] | None:
    """Return the job of this visitor, or the one that the address names, until its end has been shown."""
    if (job := visit().publishing) is not None:
        return job
    token = st.query_params.get("publishing")
    if token is None:
        return None
    job = jobs.find(token, visit().account.owner)
    if job is None:
        del st.query_params["publishing"]
        st.info(
            _("The release that was in progress here has ended. If it was recorded, you find it on *Budget*."),
            icon=":material/info:",
        )
    return job


def follow(job: Job[Release]) -> None:
    """Show the progress of the job and a button to stop it, or, once it has ended, its result."""
    if job.done:
        _conclude(job)
    visit().publishing = job
    st.query_params["publishing"] = job.token
    with st.container(border=True, key="publishing"):
        st.markdown(_("**6 · Publish** {title}", title=plain(job.title)))
        _progress(job)
    st.caption(
        _("You can visit other pages meanwhile. This page shows the progress again.")
        if is_demo()
        else _("You can visit other pages meanwhile. This page shows the progress again, even after a reload.")
    )


@st.fragment(run_every=EVERY)
def _progress(job: Job[Release]) -> None:
    if job.done:
        st.rerun()
    stages, now = job.stages, time.monotonic()
    for (stage, began), (_next, ended) in pairwise(stages):
        if stage != "starting":
            st.caption(f":material/check: {_in_words(stage)} · {duration(ended - began)}")
    if job.stopping:
        st.markdown(":material/hourglass_top: " + _("Stopping"))
    elif stages:
        stage, began = stages[-1]
        st.markdown(f":material/hourglass_top: **{_in_words(stage)}** · {duration(now - began)}")
    else:
        st.markdown(":material/hourglass_top: " + _("Waiting for other releases to finish"))
    if job.bound:
        st.caption(_("Noise has been drawn: this release will be finished and charged."))
        return
    st.button(
        _("Stop"),
        key="stop-publishing",
        icon=":material/stop_circle:",
        on_click=job.stop,
        disabled=job.stopping,
        help=_("Nothing is spent before noise is drawn."),
    )


def _in_words(stage: str) -> str:
    return _(STAGES[stage])


def _conclude(job: Job[Release]) -> None:
    """Show the release, or the steps again with the reason why there is none."""
    visit().publishing = None
    st.query_params.pop("publishing", None)
    try:
        finished = job.result()
    except Stopped:
        visit().unpublished = mark("Stopped before any noise was drawn.")
    except PrivateReleaseError as error:
        visit().unpublished = error
    else:
        visit().release = finished
        st.query_params["release"] = finished.release_id
    st.rerun()
