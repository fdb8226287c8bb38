"""The common parts of all commands: options, messages of one line each, progress, and exit statuses."""

from __future__ import annotations

import errno
import json
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial, wraps
from glob import glob, has_magic
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

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

if TYPE_CHECKING:
    from dpengine.accounting.ledger import Ledger
    from dpengine.export import Published

__all__ = [
    "MEANINGS", "REFUSED", "STATUSES", "WRONG_USE", "LedgerPart", "announce_new", "check_address", "check_output",
    "faults", "finish", "full_output", "json_option", "ledger_option", "likeness", "open_ledger", "option",
    "part_options", "printable", "read_file", "reading_options", "say", "shown_address", "stages", "warn", "writing",
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

Value = TypeVar("Value")

ledger_option = click.option(
    "--ledger", "url", metavar="URL", help="Address of the ledger, e.g. sqlite:///budget.db. Default: your own."
)
owner_option = click.option(
    "--owner",
    default="",
    metavar="NAME",
    help="Whose part of the ledger, e.g. group:clinic. Default: the part used without sign-in.",
)
json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON for machines.")


def _read_answers(_context: click.Context, _option: click.Parameter, lines: tuple[str, ...]) -> Any:
    if not lines:
        return None
    from dpengine.sources.several_answers import read_answers

    try:
        return read_answers(lines)
    except TableError as error:
        raise click.BadParameter(str(error)) from None


READING = (
    click.option("--encoding", help="Text encoding, if it is not UTF-8."),
    click.option("--delimiter", help="Separator of cells, if the header does not show it."),
    click.option("--sheet", help="Sheet of a workbook, if it is not the first one."),
    click.option(
        "--skip-rows", type=click.IntRange(0), default=0, help="Rows above the one with the names, such as a title."
    ),
    click.option(
        "--skip-last", type=click.IntRange(0), default=0, help="Rows at the end that stand for nobody, such as a total."
    ),
    click.option(
        "--frequency", metavar="COLUMN", help="Column that says how many people each row stands for, in a summary."
    ),
    click.option(
        "--answers",
        multiple=True,
        metavar="COLUMN=ANSWER;…",
        callback=_read_answers,
        help="Possible answers in a column with several of them in a cell; each becomes a column of yes and no.",
    ),
    click.option("--no-names", is_flag=True, help="No row holds names: call the columns column_1, column_2, …"),
)


def reading_options(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options for reading a table's file; a command gets them as `reading`, for `open_table`."""

    @wraps(command)
    def collected(
        *arguments: Any,
        encoding: str | None,
        delimiter: str | None,
        sheet: str | None,
        skip_rows: int,
        skip_last: int,
        frequency: str | None,
        answers: dict[str, list[str]] | None,
        no_names: bool,
        **options: Any,
    ) -> None:
        reading = {"encoding": encoding, "delimiter": delimiter, "sheet": sheet}
        rows = {"skip_rows": skip_rows, "skip_last": skip_last, "names_given": not no_names}
        people = {"frequency": frequency, "answers": answers}
        command(*arguments, reading=reading | rows | people, **options)

    for add in reversed(READING):
        collected = add(collected)
    return collected


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


def read_file(bundle: Path) -> Published:
    """Return the content of a bundle, which is verified; a fault names the file."""
    from dpengine.export import published

    try:
        return published(bundle)
    except ReleaseError as refused:
        named = [Fault((bundle.name, *fault.path), fault.text) for fault in refused.faults]
        raise ReleaseError(named) from None


@contextmanager
def writing(output: Path) -> Iterator[None]:
    """Exit with the status of wrong use if the file that a command was asked for cannot be written."""
    try:
        yield
    except OSError as error:
        finish([f"{output.name} cannot be written ({error.strerror})"], WRONG_USE)


def _drop_output() -> None:
    """Drop what standard output has not taken; Python would try once more as it ends, and say so."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


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


@contextmanager
def stages() -> Iterator[Callable[[str], None]]:
    """Yield a function that shows the stage of the work on standard error: one line, cleared at the end.

    If that is no terminal, nothing is shown.
    """
    terminal = sys.stderr.isatty()

    def show(stage: str) -> None:
        if terminal:
            click.echo(f"{_CLEAR}{printable(stage)} …", err=True, nl=False)

    try:
        yield show
    finally:
        if terminal:
            click.echo(_CLEAR, err=True, nl=False)


def say(line: str, *, err: bool = False) -> None:
    """Print one line. Names and titles from people can neither forge a second one nor control the terminal."""
    click.echo(printable(line), err=err)


def printable(line: str) -> str:
    r"""Escape what a terminal must not interpret: line breaks, control characters, changes of direction.

    >>> print(printable("age\n2026-11-22 forged \x1b[31m"))
    age\n2026-11-22 forged \x1b[31m
    """
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in line)


def likeness(*, release_id: str, dataset: str, overlap: float, other_people: bool) -> str:
    """Say which earlier table a new one looks like, and what follows for its budget."""
    people = "other people, as stated" if other_people else "the same people, who share one budget"
    return f"the table looks like that of {dataset}, release {release_id} (about {100 * overlap:.0f} % alike): {people}"


@dataclass(frozen=True, slots=True)
class LedgerPart:
    """One owner's part of a ledger: the values of `part_options`."""

    url: str | None
    owner: str

    def open(self) -> Ledger:
        """Open the part; by default, that without sign-in of the user's own ledger."""
        return open_ledger(self.url, self.owner)


def part_options(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options that name a ledger and an owner; a command gets them as `part`."""

    @wraps(command)
    def collected(*arguments: Any, url: str | None, owner: str, **options: Any) -> None:
        command(*arguments, part=LedgerPart(url, owner), **options)

    return ledger_option(owner_option(collected))


def open_ledger(url: str | None, owner: str = "") -> Ledger:
    """Open an owner's part of the ledger at `url`, by default the user's own ledger."""
    from dpengine.accounting.ledger import Ledger

    check_address(url)
    return Ledger(url, owner)


def announce_new(ledger: Ledger) -> None:
    """Print the address of a new ledger, so that a wrong one, such as another folder, is noticed.

    Also print why its loss would not be noticed.
    """
    from dpengine.accounting.witness import unwritten

    if ledger.begun:
        warn(f"the ledger is new: {ledger.address}")
    if problem := unwritten(ledger.address):
        warn(problem)


def check_address(url: str | None) -> None:
    """Exit with the status of wrong use if the address of a ledger is blank, cannot be read, or ends with the process.

    A script whose variable is not set gives a blank address, or ``sqlite:///``, and must not charge another ledger.
    """
    from dpengine.accounting.database import address_of

    if url is not None and not url.strip():
        finish(["the address of the ledger is blank; write it like sqlite:///ledger.db"], WRONG_USE)
    option(partial(address_of, lasting=True), url)


def check_output(output: Path, *read: Path, url: str | None = None) -> None:
    """Exit with the status of wrong use if `output` would replace what is `read`, or the ledger at `url`.

    What is read may be a folder of files, or a pattern of their names.
    """
    if any(_is_same(output, file) for each in read for file in _files(each)):
        finish([f"{output.name} is what this command reads, and would be replaced: name another output"], WRONG_USE)
    if any(_is_same(output, file) for file in _ledger_files(url)):
        finish([f"{output.name} is the ledger, and would be replaced: name another output"], WRONG_USE)


def _files(read: Path) -> Iterator[Path]:
    """Yield the files at a path, in a folder, or that match a pattern."""
    if os.path.isdir(read):  # the methods of a path raise where a folder cannot be looked into
        yield from filter(os.path.isfile, read.rglob("*"))
    elif os.path.exists(read) or not has_magic(str(read)):
        yield read
    else:
        yield from map(Path, glob(str(read), recursive=True))


def _is_same(one: Path, other: Path) -> bool:
    """Return whether two paths lead to one file, also by links; one that is not there yet has its path alone."""
    try:
        return os.path.samefile(one, other)
    except OSError:
        return os.path.realpath(one) == os.path.realpath(other)


def _ledger_files(url: str | None) -> list[Path]:
    from dpengine.accounting.database import address_of

    address = option(address_of, url)
    if address.get_backend_name() != "sqlite":
        return []
    return [Path(f"{address.database}{end}") for end in ("", "-wal", "-shm")]


def shown_address(url: str) -> str:
    """Return the address of a ledger without its password."""
    from dpengine.accounting.database import public_address

    try:
        return public_address(url) or "in memory"
    except LedgerError:
        return "(an address that cannot be read)"


def option(read: Callable[..., Value], *given: object) -> Value:
    """Read the value of an option; an unreadable one is wrong use, not a refusal of the ledger."""
    try:
        return read(*given)
    except (BudgetError, LedgerError, ReleaseError) as error:
        finish(error.faults, WRONG_USE)
