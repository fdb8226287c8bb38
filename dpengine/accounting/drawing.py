"""Run mechanisms so that their noise is recorded and paid for before anybody sees it, or discarded unseen.

So everything that can fail without noise is tried before the draw. A fault afterwards ends the draw as a crash would,
and is reported in fixed words. Someone who kills the process at that moment, or lets it run out of memory or disk,
learns only that it ended, and when.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Protocol, TypeVar

from dpengine.accounting.entry import Outcome
from dpengine.errors import LedgerError, PlanError
from dpengine.translation.catalogue import _

__all__ = ["LAST_STAGE", "Reopened", "check_reopens", "outcome_of", "signals_deferred"]

Exact = TypeVar("Exact")

LAST_STAGE = "adding noise"  # the last stage that is reported: from here on, the work is finished and charged

_NAMES = ("SIGINT", "SIGTERM", "SIGHUP", "SIGBREAK")  # only those that this system has


class Reopened(Protocol):
    """A result that was reopened from its stored bytes."""

    @property
    def key(self) -> str:
        """The identity of the question that the result answers."""


def check_reopens(blank: Reopened, payload: bytes, reopen: Callable[[bytes], Reopened]) -> None:
    """Raise `PlanError` unless the stored bytes of a result reopen as a result of the same question.

    Call this before anything is drawn, with a `blank` result of made-up numbers: then an error costs nothing and says
    nothing about the data.
    """
    try:
        key = reopen(payload).key
    except (PlanError, LedgerError, UnicodeError) as error:
        raise PlanError(
            _("the result cannot be read back from its stored form ({error}); nothing was spent", error=error)
        ) from None
    if key != blank.key:
        raise PlanError(_("the result reads back from its stored form as another one; nothing was spent"))


def outcome_of(draw: Callable[[Exact], Outcome], exact: Exact) -> Outcome:
    """Run the mechanisms; raise `LedgerError` for a fault, without its cause, which may depend on the noise."""
    try:
        return draw(exact)
    except Exception:  # noqa: BLE001 - whatever it is, its text may hold a noisy number
        raise LedgerError(
            _(
                "The program failed after noise had been drawn. Nothing was recorded or shown, and nothing was "
                "spent. If the machine had memory enough, this is a fault of the program: please report it. A "
                "preview runs the same program without data, and may show the cause."
            )
        ) from None


@contextmanager
def signals_deferred() -> Iterator[None]:
    """Let signals that Python handles wait until the end of this context, then deliver them.

    Without effect in other threads than the main one, where Python handles none. A signal that the system handles ends
    the process as before.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    known = [getattr(signal, name) for name in _NAMES if hasattr(signal, name)]
    waiting: list[int] = []
    handlers = {number: signal.getsignal(number) for number in known if callable(signal.getsignal(number))}
    for number in handlers:
        signal.signal(number, lambda received, _: waiting.append(received))
    try:
        yield
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
        for number in waiting:
            signal.raise_signal(number)
