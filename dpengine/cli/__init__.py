"""The command line: from table to bundle, for scripts and schedules."""

import atexit
import gc
import os
import sys
from contextlib import suppress
from typing import Any

# Loading makes many objects and no garbage: looking for some would be a tenth of what a small release takes.
gc.set_threshold(300_000, 20, 20)
os.putenv("OPENBLAS_NUM_THREADS", "1")  # models are fitted on one thread; idle ones would keep a processor busy


def _end() -> None:
    """End the process at once after clearing up, since Python takes 0.05 s to unload all modules."""
    if _statuses:
        with suppress(OSError, ValueError, AttributeError):  # a closed stream: then Python ends, and says so
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(_statuses[-1])


_statuses: list[int] = []
atexit.register(_end)  # before all that is loaded registers, so that it comes last

from dpengine.cli.commands import main  # noqa: E402
from dpengine.cli.output import MEANINGS, STATUSES, full_output  # noqa: E402

__all__ = ["MEANINGS", "STATUSES", "main", "run"]


def run(**options: Any) -> None:
    """Run the command line as a process of its own."""
    try:
        with full_output():  # of the help, which is printed before a command begins
            main(**options)
    except SystemExit as end:
        if end.code is None or isinstance(end.code, int):
            _statuses.append(end.code or 0)
        raise
