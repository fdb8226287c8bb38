"""The command line: from table to bundle, for scripts and schedules."""

from dpengine.cli.commands import main
from dpengine.cli.common import MEANINGS, STATUSES

__all__ = ["MEANINGS", "STATUSES", "main"]
