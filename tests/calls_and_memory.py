"""How much work something takes, without a clock: busy machines are slow, and no test may fail for that."""

from __future__ import annotations

import sys
import tracemalloc
from collections.abc import Callable

__all__ = ["calls", "peak_bytes"]


def calls(work: Callable[[], object]) -> int:
    """Run `work` and return how many functions it called, those of extension modules included."""
    count = 0

    def called(_frame: object, event: str, _argument: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(called)
    try:
        work()
    finally:
        sys.setprofile(before)
    return count


def peak_bytes(work: Callable[[], object]) -> int:
    """Run `work` and return the most memory that Python and NumPy held for it at a time, in bytes."""
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
