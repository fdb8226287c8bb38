"""Pages whose work goes on beside them, run again until it is done, as a browser does by itself."""

from __future__ import annotations

import time

from streamlit.testing.v1 import AppTest

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
    held = page.session_state
    readings = held["readings"].values() if "readings" in held else ()
    return "publishing" in held or not all(job.done for _, job in readings)
