"""Files and tables that this server keeps for one visitor, and closes when that visitor has left.

Streamlit forgets a session some time after its tab is closed, but frees what the session held only when another one
begins. A file of private rows must not wait for that: whatever opens one registers it here, and the server closes it in
time (see `lifespan`).
"""

from __future__ import annotations

import threading
import weakref
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

from streamlit.runtime.scriptrunner import get_script_run_ctx

__all__ = ["Closable", "at_work", "clear", "in_use", "keep", "running_session", "sessions"]


class Closable(Protocol):
    """Something that can be closed, even twice."""

    def close(self) -> None: ...


_kept: dict[str, weakref.WeakSet[Closable]] = {}
_working: Counter[str] = Counter()
_lock = threading.Lock()


def running_session() -> str:
    """Return the session of the running script, or "" outside of a script."""
    context = get_script_run_ctx(suppress_warning=True)
    return context.session_id if context is not None else ""


def keep(thing: Closable, session: str | None = None) -> None:
    """Register `thing` to be closed at the latest with `session`, by default the running one."""
    with _lock:
        _kept.setdefault(running_session() if session is None else session, weakref.WeakSet()).add(thing)


@contextmanager
def in_use(session: str) -> Iterator[None]:
    """Note that work for `session` is running, so that nothing of it is closed even if its visitor leaves."""
    with _lock:
        _working[session] += 1
    try:
        yield
    finally:
        with _lock:
            _working[session] -= 1
            if not _working[session]:
                del _working[session]


def at_work(session: str) -> bool:
    """Whether any work for `session` is running."""
    return _working[session] > 0


def sessions() -> list[str]:
    """Return the sessions that have something registered."""
    with _lock:
        return list(_kept)


def clear(session: str) -> None:
    """Close all that is registered for `session`."""
    with _lock:
        things = list(_kept.pop(session, ()))
    for thing in things:
        thing.close()
