"""What lies on this server for one visitor, and goes when that visitor has gone.

Streamlit forgets a session some while after its tab is closed, but lets go of what it held only when
another session comes. A file of private rows may not wait for that: whoever makes one, notes it here,
and the server clears it away in time (see `pages.parts.server.lifespan`).
"""

from __future__ import annotations

import threading
import weakref
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

from streamlit.runtime.scriptrunner import get_script_run_ctx

__all__ = ["Closable", "at_work", "clear", "here", "in_use", "keep", "sessions"]


class Closable(Protocol):
    """Something that can be let go of, also twice."""

    def close(self) -> None: ...


_kept: dict[str, weakref.WeakSet[Closable]] = {}
_working: Counter[str] = Counter()
_lock = threading.Lock()


def here() -> str:
    """The session of the script that is running."""
    context = get_script_run_ctx(suppress_warning=True)
    return context.session_id if context is not None else ""


def keep(thing: Closable, session: str | None = None) -> None:
    """Note that ``thing`` belongs to ``session``, or to that which is running: closed with it, if not before."""
    with _lock:
        _kept.setdefault(here() if session is None else session, weakref.WeakSet()).add(thing)


@contextmanager
def in_use(session: str) -> Iterator[None]:
    """Work goes on with what is kept for ``session``, also when nobody looks on."""
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
    return _working[session] > 0


def sessions() -> list[str]:
    """The sessions that something is kept for."""
    with _lock:
        return list(_kept)


def clear(session: str) -> None:
    """Close all that is kept for ``session``."""
    with _lock:
        things = list(_kept.pop(session, ()))
    for thing in things:
        thing.close()
