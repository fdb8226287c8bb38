"""The command line: from table to bundle, for scripts and schedules."""

import gc

# Imports make many objects and no garbage: collecting would take a fifth of the time of a small release.
gc.disable()

from dpengine.cli.commands import main  # noqa: E402
from dpengine.cli.common import MEANINGS, STATUSES  # noqa: E402

gc.freeze()  # imported objects stay
gc.set_threshold(20_000, 20, 20)
gc.enable()

__all__ = ["MEANINGS", "STATUSES", "main"]
