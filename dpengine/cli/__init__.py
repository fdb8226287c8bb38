"""The command line: from table to bundle, for scripts and schedules."""

import gc

# Loading makes many objects and no garbage: looking for some is a fifth of what a small release takes.
gc.disable()

from dpengine.cli.commands import main  # noqa: E402
from dpengine.cli.common import MEANINGS, STATUSES  # noqa: E402

gc.freeze()  # what was loaded stays
gc.set_threshold(20_000, 20, 20)
gc.enable()

__all__ = ["MEANINGS", "STATUSES", "main"]
