"""Pages whose work goes on beside them, run again until it is done, as a browser does by itself."""

from __future__ import annotations

import time

from streamlit.testing.v1 import AppTest

from pages.parts.visit.state import VISIT, VisitState

PATIENCE = 60.0  # seconds


def settled(page: AppTest) -> AppTest:
    """The page once nothing is under way for it any more."""
    patient_until = time.monotonic() + PATIENCE
    while _under_way(page) and time.monotonic() < patient_until:
        time.sleep(0.1)
        page.run()
        assert not page.exception
    return page


def _under_way(page: AppTest) -> bool:
    here = held(page)
    return here.publishing is not None or not all(job.done for _, job in here.readings.values())


def held(page: AppTest) -> VisitState:
    """Return what the session of the page holds."""
    state: VisitState = page.session_state[VISIT]
    return state
