"""Start and stop of the server: a private folder for its files, a warm start, and removal of what visitors left.

All temporary files of this process, such as uploads and copies of tables, are in one folder that only this account may
enter. It is removed when the server stops; if a server was killed, the next one removes it.
"""

from __future__ import annotations

import asyncio
import gc
import logging
import tempfile
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from importlib import import_module
from pathlib import Path
from typing import Any

from anyio import to_thread
from streamlit import config, runtime

from dpengine import LedgerError
from dpengine.isolation import run, scratch
from pages.parts.server import jobs, session_resources, uploads

__all__ = ["is_served", "lifespan"]

PREFIX = "private-release-server-"
EVERY = 5.0  # seconds between two checks for visitors who have left

_log = logging.getLogger("private_release")
_served = False


def is_served() -> bool:
    """Whether the routes of this app can be used; they cannot if Streamlit runs the script without the server."""
    return _served


@asynccontextmanager
async def lifespan(_: object) -> AsyncIterator[None]:
    """Prepare the server before its first visitor, and clean up when it stops."""
    global _served
    uploads.limit()  # an unreadable limit fails here, not at the first upload
    with private_folder():
        await to_thread.run_sync(_warm)
        await runtime.get_instance().does_script_run_without_error()  # draws the first screen once
        gc.collect()
        gc.freeze()  # what is loaded stays, and need not be searched for garbage each time
        gc.set_threshold(20_000, 20, 20)  # by default, each redraw would search 20 times; `_watch` searches too
        watch = asyncio.create_task(_watch())
        _served = True
        try:
            yield
        finally:
            _served = False
            watch.cancel()
            jobs.stop_all()
            for session in session_resources.sessions():
                session_resources.clear(session)


def _warm() -> None:
    """Load all pages, and draw what the first screen shows, so that the first visitor need not wait for it.

    What is loaded here is also left out when the server searches for garbage.
    """
    from dpengine import Ledger, predict, preview
    from dpengine.accounting.witness import unwritten
    from dpengine.charts import error_curve, figures
    from pages.parts.server import connections
    from pages.parts.shared.demo import ledger_address
    from pages.parts.shared.example_plan import example_plan

    run.warm()
    for module in parts():
        import_module(module)
    plan = example_plan()
    figures.release_figure(preview(plan), plan.marginals[0]).to_json()
    error_curve.curve_drawing(plan).figure().to_json()
    predict(plan)
    with suppress(LedgerError):  # the health check reports it
        ledger = Ledger(ledger_address())
        ledger.spent(plan.dataset)
        if problem := unwritten(ledger.address):
            _log.warning("private-release: %s", problem)
    if connections.databases():
        import ibis  # noqa: F401  (takes a second or more, which the first visitor who uses a database would wait)


def parts() -> list[str]:
    """Return the names of all modules of the pages' parts."""
    root = Path(__file__).parents[3]
    return [".".join(file.relative_to(root).with_suffix("").parts) for file in sorted(root.glob("pages/parts/**/*.py"))]


@contextmanager
def private_folder() -> Iterator[Path]:
    """Make a folder for all temporary files of this process; remove those of killed servers."""
    scratch.sweep()
    before, folder = tempfile.tempdir, scratch.ScratchFolder(PREFIX)
    tempfile.tempdir = str(folder.path)
    try:
        yield folder.path
    finally:
        tempfile.tempdir = before
        folder.discard()


async def _watch() -> None:
    """Keep removing garbage, and what visitors left who have been gone for longer than Streamlit waits for them.

    Streamlit would search for garbage after each run of a page, and ten visitors would wait for each other's searches.
    """
    seen: dict[str, float] = {}
    while True:
        await asyncio.sleep(EVERY)
        gc.collect()
        for session in gone(seen, runtime.get_instance()):
            await to_thread.run_sync(session_resources.clear, session)


def gone(seen: dict[str, float], server: Any) -> list[str]:
    """Return the sessions whose visitors have left, but whose files still exist.

    `seen` holds when each session was last in use, and is updated.
    """
    now, patience = time.monotonic(), float(config.get_option("server.disconnectedSessionTTL"))
    open_sessions = session_resources.sessions()
    for session in open_sessions:
        if session not in seen or server.is_active_session(session) or session_resources.at_work(session):
            seen[session] = now
    left = [session for session in open_sessions if now - seen[session] > patience]
    for session in [name for name in seen if name in left or name not in open_sessions]:
        del seen[session]
    return left
