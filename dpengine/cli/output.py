"""The output of all commands: results, messages of one line each, progress, and exit statuses."""

from __future__ import annotations

import errno
import json
import os
import sys
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from fractions import Fraction
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import click

from dpengine.errors import (
    BudgetError,
    Fault,
    LedgerBusyError,
    LedgerError,
    NoiseError,
    PlanError,
    PrivateReleaseError,
    ReleaseError,
    SettingsError,
    TableError,
)
from dpengine.exact import exact_text

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "MEANINGS", "REFUSED", "STATUSES", "WRONG_USE", "Stages", "error_entries", "exact_or_none", "faults", "finish",
    "full_output", "likeness", "printable", "say", "say_errors", "show_result", "stages", "warn",
    "why_unwritten", "writing",
]  # fmt: skip

# 75 is EX_TEMPFAIL in the C library's sysexits.h; 128 + the number of a signal is the shell's convention.
REFUSED, WRONG_USE, TRY_AGAIN, INTERRUPTED = 1, 2, 75, 130
STATUSES: dict[type[PrivateReleaseError], int] = {
    BudgetError: REFUSED,
    LedgerError: REFUSED,  # nothing may be released; a malformed address or cap is wrong use, see `option`
    LedgerBusyError: TRY_AGAIN,
    ReleaseError: REFUSED,
    PlanError: WRONG_USE,
    NoiseError: WRONG_USE,
    SettingsError: WRONG_USE,
    TableError: WRONG_USE,
}
MEANINGS = {
    0: "done",
    REFUSED: "refused: over budget or not approved; verification or audit failed; ledger unusable",
    WRONG_USE: "wrong use: options, or a plan, table, setting or output that cannot be used",
    TRY_AGAIN: "try again: the ledger is held by another process, or its database is down",
    129: "ended by SIGHUP",
    INTERRUPTED: "stopped by Ctrl+C (SIGINT)",
    143: "ended by SIGTERM",
}

FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)  # the disk, of standard output too
NOT_LOST = "What was charged is in the ledger: the same command gives the same again, and costs nothing"

_CLEAR = "\r\x1b[K"  # the line of a terminal that shows the stage of the work


def faults(command: Callable[..., None]) -> Callable[..., None]:
    """Turn an error that a caller can cause into one line for each fault and an exit status."""

    @wraps(command)
    def guarded(*arguments: Any, **options: Any) -> None:
        try:
            with full_output(NOT_LOST):
                command(*arguments, **options)
        except PrivateReleaseError as error:
            finish(error.faults, STATUSES.get(type(error), WRONG_USE), type(error).__name__)
        except KeyboardInterrupt:
            finish(["stopped"], INTERRUPTED)

    return guarded


@contextmanager
def full_output(advice: str = "") -> Iterator[None]:
    """Turn the error of an output with no room left into one line, with the `advice`, and an exit status."""
    try:
        yield
    except OSError as error:
        if error.errno not in FULL:
            raise
        _drop_output()
        finish([f"cannot write: {error.strerror}{advice and '. '}{advice}"], WRONG_USE)


def _drop_output() -> None:
    """Drop what standard output has not taken; Python would try once more as it ends, and say so."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def why_unwritten(output: Path, error: OSError) -> str:
    """Say that a file cannot be written, and why."""
    if isinstance(error, FileNotFoundError) and not output.parent.exists():
        return f"{output.name} cannot be written: its folder does not exist; make it first, or name another"
    return f"{output.name} cannot be written ({error.strerror})"


@contextmanager
def writing(output: Path) -> Iterator[None]:
    """Exit with the status of wrong use if the file that a command was asked for cannot be written."""
    try:
        yield
    except OSError as error:
        finish([why_unwritten(output, error)], WRONG_USE)


def finish(faults: Iterable[Fault | str], status: int, error: str = "") -> NoReturn:
    """End with a line for each fault: a sentence, or for `--json` an object with the status and the kind of error."""
    for each in faults:
        fault = each if isinstance(each, Fault) else Fault((), each)
        _report(str(fault), {"status": status, "error": error, "place": fault.path, "message": fault.text})
    sys.exit(status)


def warn(message: str) -> None:
    """Print one line to standard error; for `--json` an object."""
    _report(message, {"warning": message})


def _report(line: str, for_machines: dict[str, Any]) -> None:
    """Write a line to standard error; with `--json`, an object instead."""
    context = click.get_current_context(silent=True)
    as_json = context is not None and context.params.get("as_json")
    text = json.dumps(for_machines) if as_json else f"private-release: {printable(' '.join(line.split()))}"
    click.echo(f"{_CLEAR if sys.stderr.isatty() else ''}{text}", err=True)


class Stages:
    """The stages of the work that were `reached`; the present one is a line on standard error, if it is a terminal."""

    def __init__(self) -> None:
        self.reached: list[str] = []
        self._on_terminal = sys.stderr.isatty()

    def __call__(self, stage: str) -> None:
        """Show a stage."""
        self.reached.append(stage)
        if self._on_terminal:
            click.echo(f"{_CLEAR}{printable(stage)} …", err=True, nl=False)

    def clear(self) -> None:
        """Clear the line."""
        if self._on_terminal:
            click.echo(_CLEAR, err=True, nl=False)


@contextmanager
def stages() -> Iterator[Stages]:
    """Yield what shows the stage of the work, and clear it at the end."""
    shown = Stages()
    try:
        yield shown
    finally:
        shown.clear()


def show_result(payload: Mapping[str, Any], line: str, *, as_json: bool) -> None:
    """Print the result of a command: one line, or with `--json` an object."""
    if as_json:
        click.echo(json.dumps(payload))
    else:
        say(line)


def error_entries(predicted: pd.DataFrame) -> list[dict[Hashable, Any]]:
    """Return predicted errors, one entry a table, for JSON."""
    return predicted.astype(object).where(predicted.notna(), None).to_dict(orient="records")


def say_errors(predicted: pd.DataFrame) -> None:
    """Print predicted errors, one line a table."""
    shown = predicted.assign(table=predicted["table"].map(printable))
    click.echo(shown.to_string(index=False, float_format=lambda number: f"{number:.4g}"))


def say(line: str, *, err: bool = False) -> None:
    """Print one line. Names and titles from people can neither forge a second one nor control the terminal."""
    click.echo(printable(line), err=err)


def printable(line: str) -> str:
    r"""Escape what a terminal must not interpret: line breaks, control characters, changes of direction.

    >>> print(printable("age\n2026-11-22 forged \x1b[31m"))
    age\n2026-11-22 forged \x1b[31m
    """
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in line)


def exact_or_none(epsilon: Fraction | None) -> str | None:
    """Write ε exactly, if there is one."""
    return None if epsilon is None else exact_text(epsilon)


def likeness(*, release_id: str, dataset: str, overlap: float, other_people: bool) -> str:
    """Say which earlier table a new one looks like, and what follows for its budget."""
    people = "other people, as stated" if other_people else "the same people, who share one budget"
    return f"the table looks like that of {dataset}, release {release_id} (about {100 * overlap:.0f} % alike): {people}"
