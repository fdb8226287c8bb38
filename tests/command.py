"""Run the command line in this process, as a test of a whole command needs it."""

from __future__ import annotations

from click.testing import CliRunner, Result

from dpengine.cli import main


def run(*arguments: object, **environment: str) -> Result:
    """Run `private-release` with these arguments and environment variables."""
    return CliRunner().invoke(main, [str(argument) for argument in arguments], env=environment)
