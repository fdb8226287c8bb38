"""A clock that is behind the ledger: nothing is charged by it, but readers see its date on what is published."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta

from dpengine.accounting.entry import Entry
from dpengine.translation.catalogue import _

__all__ = ["clock_behind"]

APART = timedelta(hours=1)  # the clocks of several computers that use one ledger may differ a little


def clock_behind(history: Iterable[Entry]) -> str:
    """Say that an entry of the ledger is of a later time than now, and what to do; nothing if none is.

    >>> clock_behind([])
    ''
    """
    latest = max((datetime.fromisoformat(each.created) for each in history), default=None)
    now = datetime.now(UTC)
    if latest is None or latest <= now + APART:
        return ""
    return _(
        "the ledger has an entry of {latest}, and the clock of this computer says {now}: it was set back, or was ahead "
        "then. Set it right before you publish, since readers see the date of a release. What is charged does not "
        "depend on it",
        latest=_written(latest),
        now=_written(now),
    )


def _written(time: datetime) -> str:
    return f"{time.astimezone(UTC):%Y-%m-%d %H:%M} UTC"
