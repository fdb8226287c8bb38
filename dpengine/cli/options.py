"""Options that several commands share: how a table is read, which ledger is meant, and what may be written where."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial, wraps
from glob import glob, has_magic
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from dpengine.cli.output import WRONG_USE, faults, finish, warn
from dpengine.errors import (
    BudgetError,
    Fault,
    LedgerError,
    ReleaseError,
    TableError,
)

if TYPE_CHECKING:
    from dpengine.accounting.ledger import Ledger
    from dpengine.export import Published

__all__ = [
    "OUTPUT", "PATH", "LedgerPart", "announce_new", "check_address", "check_ending", "check_output", "ledger_option",
    "open_ledger", "option", "part_options", "read_file", "reading_options", "reporting", "shown_address",
    "warn_of_clock", "warn_of_order", "warn_of_unknown",
]  # fmt: skip

Value = TypeVar("Value")

PATH = click.Path(path_type=Path)
OUTPUT = click.Path(path_type=Path, dir_okay=False)

ledger_option = click.option(
    "--ledger", "url", metavar="URL", help="Address of the ledger, e.g. sqlite:///budget.db. Default: your own."
)
owner_option = click.option(
    "--owner",
    default="",
    metavar="NAME",
    help="Whose part of the ledger, e.g. group:clinic. Default: the part used without sign-in.",
)
_json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON for machines.")


def reporting(command: Callable[..., None]) -> Callable[..., None]:
    """Let a command print JSON for machines, as `as_json`, and end with an exit status for its faults."""
    return _json_option(faults(command))


def _read_answers(_context: click.Context, _option: click.Parameter, lines: tuple[str, ...]) -> Any:
    if not lines:
        return None
    from dpengine.sources.several_answers import read_answers

    try:
        return read_answers(lines)
    except TableError as error:
        raise click.BadParameter(str(error)) from None


def _read_names(_context: click.Context, _option: click.Parameter, lines: tuple[str, ...]) -> Any:
    if not lines:
        return None
    from dpengine.sources.renaming import read_names

    try:
        return read_names(lines)
    except TableError as error:
        raise click.BadParameter(str(error)) from None


OF_FILE = ("encoding", "delimiter", "sheet", "skip_rows", "skip_last", "number_names", "rename", "frequency", "answers")
READING = (
    click.option("--encoding", help="Text encoding, if it is not UTF-8."),
    click.option("--delimiter", help="Separator of cells, if the header does not show it."),
    click.option("--sheet", help="Sheet of a workbook, if it is not the first one."),
    click.option(
        "--table", "of_database", metavar="NAME", help="Table of a database; of a DuckDB file, if it holds several."
    ),
    click.option(
        "--skip-rows", type=click.IntRange(0), default=0, help="Rows above the one with the names, such as a title."
    ),
    click.option(
        "--skip-last", type=click.IntRange(0), default=0, help="Rows at the end that stand for nobody, such as a total."
    ),
    click.option(
        "--rename",
        multiple=True,
        metavar="OLD=NEW",
        callback=_read_names,
        help="New name of a column, where a plan knows it under another one than TABLE.",
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
    click.option("--number-names", is_flag=True, help="Number columns of the same name: age, age (2), …"),
    click.option("--no-names", is_flag=True, help="No row holds names: call the columns column_1, column_2, …"),
)


def reading_options(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options for reading a table's file; a command gets them as `reading`, for `open_table`."""

    @wraps(command)
    def collected(*arguments: Any, no_names: bool, **options: Any) -> None:
        reading = {"names_given": not no_names, "table": options.pop("of_database")}
        reading |= {name: options.pop(name) for name in OF_FILE}
        command(*arguments, reading=reading, **options)

    for add in reversed(READING):
        collected = add(collected)
    return collected


def read_file(bundle: Path) -> Published:
    """Return the content of a bundle, which is verified; a fault names the file."""
    from dpengine.export import published

    try:
        return published(bundle)
    except ReleaseError as refused:
        named = [Fault((bundle.name, *fault.path), fault.text) for fault in refused.faults]
        raise ReleaseError(named) from None


def warn_of_order(earlier: Published, later: Published) -> None:
    """Warn if the release that is taken for the earlier one was published later: every change then has a wrong sign."""
    days = [each.manifest["created"] for each in (earlier, later)]
    if days[0] > days[1]:
        warn("the release that is taken for the earlier one was published later than the other: are they swapped?")


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

    Also print why its loss would not be noticed. One in memory is for experiments.
    """
    from dpengine.accounting.witness import COPIED, unwritten

    if ledger.address is None:
        warn("the ledger is in memory and ends with this command: nothing of what was spent is remembered, and the "
             "same again would be drawn anew; to publish, name one that stays, such as sqlite:///a.db")  # fmt: skip
    elif ledger.begun:
        warn(f"the ledger is new: {ledger.address}")
    if problem := unwritten(ledger.address):
        warn(problem)
    if ledger.copied:
        warn(COPIED)


def warn_of_clock(ledger: Ledger) -> None:
    """Warn if the clock is behind the ledger's last entry, before a release is dated by it."""
    from dpengine.accounting.clock import clock_behind

    if problem := clock_behind(ledger.history()):
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


def check_ending(output: Path, endings: Sequence[str], what: str) -> None:
    """Exit with the status of wrong use if the name of `output` promises another kind of file than `what` is written.

    A name without an ending promises nothing; neither does that of a pipe or a device, which is there already.
    """
    is_file = not os.path.exists(output) or os.path.isfile(output)  # the methods of a path raise for a long name
    if is_file and output.suffix and output.suffix.lower() not in endings:
        names = " or ".join(output.with_suffix(ending).name for ending in endings)
        finish([f"{output.name}: {what}; name it {names}"], WRONG_USE)


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


def warn_of_unknown(book: Ledger, dataset: str) -> None:
    """Say so if nothing is recorded under a name, which may be mistyped: a cap for it would then hold for nobody."""
    from dpengine.accounting.entry import same_name
    from dpengine.translation.catalogue import some_of

    known = book.datasets()
    if known and same_name(dataset) not in map(same_name, known):
        warn(f"nothing is recorded under the name {dataset}; there are {some_of(known)}")
