"""Visits to the app without a browser: open it, read it, press buttons, and run it until no job is under way."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

import pandas as pd
from streamlit.testing.v1 import AppTest

from dpengine import Ledger, Plan, Release, open_table, release
from pages.parts.server.jobs import Job
from pages.parts.visit.plan.entries import Draft
from pages.parts.visit.project import file
from pages.parts.visit.state import VISIT, VisitState

ENTRY = Path(__file__).parents[2] / "app.py"
PATIENCE = 60.0  # seconds


def visit(**address: str) -> AppTest:
    """Open the app at an address with these parameters."""
    page = AppTest.from_file(str(ENTRY), default_timeout=60)
    for name, value in address.items():
        page.query_params[name] = value
    return page.run()


def released(rows: pd.DataFrame, plan: Plan) -> tuple[AppTest, Release]:
    """Publish these rows, and open the release in a visit that has brought them."""
    table = open_table(rows)
    finished = release(table, plan, ledger())
    page = visit()
    visit_of(page).table = table
    page.query_params["release"] = finished.release_id
    return whole(page.run()), finished


def texts(page: AppTest) -> str:
    """Return all texts of the page, as a reader sees them."""
    kinds = (
        page.title, page.header, page.subheader, page.markdown, page.caption, page.info, page.success, page.warning,
        page.error, page.metric,
    )  # fmt: skip
    return "\n".join(str(part.value) for parts in kinds for part in parts).replace("\\", "")


def metrics(page: AppTest) -> dict[str, str]:
    """Return the values of the page's metrics by label."""
    return {metric.label: metric.value for metric in page.metric}


def whole(page: AppTest) -> AppTest:
    """Return the page, after asserting that it was drawn without an exception."""
    assert not page.exception
    return page


def labelled(elements: Any, label: str) -> Any:
    """Return the first element whose label contains `label`."""
    return next(element for element in elements if label in element.label)


def press(page: AppTest, label: str) -> AppTest:
    """Click the button with this label."""
    next(button for button in page.button if button.label == label).click().run()
    assert not page.exception
    return page


def settled(page: AppTest) -> AppTest:
    """Run the page again once its jobs are done, until nothing is under way for it."""
    patient_until = time.monotonic() + PATIENCE
    while _under_way(page) and time.monotonic() < patient_until:
        for job in _jobs(page):
            job.wait(max(0.0, patient_until - time.monotonic()))
        page.run()
        assert not page.exception
    return page


def _under_way(page: AppTest) -> bool:
    unread = any(button.label == "Stop" for button in page.button)  # done since the page was drawn
    return unread or visit_of(page).publishing is not None or not all(job.done for job in _jobs(page))


def _jobs(page: AppTest) -> list[Job[Any]]:
    """Return what runs in other threads for the page."""
    here = visit_of(page)
    publishing: list[Job[Any]] = [] if here.publishing is None else [here.publishing]
    return publishing + [job for _question, job in here.readings.values()]


def visit_of(page: AppTest) -> VisitState:
    """Return the state of the visit."""
    state: VisitState = page.session_state[VISIT]
    return state


def ledger() -> Ledger:
    """Return the ledger that the app uses in this test."""
    return Ledger(os.environ["PRIVATE_RELEASE_LEDGER"])


def project_text(here: VisitState) -> str:
    """Return the text of the project file that a visitor would save."""
    return file.write(Draft(here.table_name, here.sample, tuple(sorted(here.settled)), here.entries), here.history)
