"""The commands on the ledger: accounts of datasets, keys, backup and restore."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dpengine.cli.approval import approval
from dpengine.cli.options import (
    PATH,
    LedgerPart,
    announce_new,
    check_address,
    ledger_option,
    open_ledger,
    option,
    part_options,
    reporting,
    warn_of_clock,
    warn_of_unknown,
)
from dpengine.cli.output import exact_or_none, likeness, say, show_result
from dpengine.exact import exact_text

if TYPE_CHECKING:
    from dpengine.accounting.ledger import Ledger

__all__ = ["ledger"]


class _Commands(click.Group):
    """Commands by name; any other argument is passed to `show`, so that `ledger DATASET` shows an account."""

    def parse_args(self, context: click.Context, args: list[str]) -> list[str]:
        known = {*self.commands, *context.help_option_names}
        return super().parse_args(context, args if args and args[0] in known else ["show", *args])


@click.group(cls=_Commands, options_metavar="", subcommand_metavar="[DATASET] [OPTIONS] | COMMAND [ARGS]...")
def ledger() -> None:
    """Show what was spent, on what, and what is left.

    Its commands keep the ledger; without one of them this is `show`. A dataset that has the name of a command is
    shown by `ledger show DATASET`.
    """


ledger.add_command(approval)


@ledger.command()
@click.argument("dataset", required=False)
@click.option("--cap", help="Set the total ε that DATASET may ever spend.")
@part_options
@reporting
def show(dataset: str | None, cap: str | None, part: LedgerPart, as_json: bool) -> None:
    """Show what was spent, on what, and what is left."""
    from dpengine.accounting.amount import read_amount

    if cap is not None and dataset is None:
        raise click.UsageError("--cap needs the DATASET that it is for")
    if dataset is not None and not dataset.strip():
        raise click.UsageError("DATASET is blank; name whose budget it is")
    most = None if cap is None else option(read_amount, cap, "The cap")
    book = part.open()
    if dataset is not None:
        warn_of_unknown(book, dataset)
    if dataset is not None and most is not None:
        book.set_cap(dataset, most)
    announce_new(book)
    warn_of_clock(book)
    accounts = [_account(book, name) for name in (book.datasets() if dataset is None else [dataset])]
    if as_json:
        click.echo(json.dumps(accounts))
        return
    for account in accounts:
        _say_account(account)
    if not accounts:
        click.echo("nothing was spent yet")


@ledger.command()
@ledger_option
@reporting
def key(url: str | None, as_json: bool) -> None:
    """Print the public key that verifies this ledger's bundles, as PEM text, and its fingerprint.

    The key is made by the first release, or here. Give readers its fingerprint separately from the bundles.
    """
    from dpengine.accounting.signing_key import keep_signing_key
    from dpengine.bundle.signature import fingerprint, public_text

    book = open_ledger(url)
    public = keep_signing_key(book).public_key()
    announce_new(book)
    if as_json:
        click.echo(json.dumps({"fingerprint": fingerprint(public), "public_key": public_text(public)}))
        return
    click.echo(f"fingerprint {fingerprint(public)}")
    click.echo(public_text(public), nl=False)


@ledger.command()
@ledger_option
@reporting
def check(url: str | None, as_json: bool) -> None:
    """Check every entry, stored result and key."""
    from dpengine.accounting import upkeep

    check_address(url)
    _report_whole("the ledger", upkeep.check(url), as_json)


@ledger.command()
@click.argument("to", type=PATH)
@ledger_option
@reporting
def backup(to: Path, url: str | None, as_json: bool) -> None:
    """Write a copy of the ledger to the new file TO, also while it is in use, and check the copy.

    The copy is a SQLite file, whatever database the ledger lives in. Protect it like the data. It holds the parts of
    all owners, since one chain seals the entries of all: there is no backup of one owner.
    """
    from dpengine.accounting import upkeep

    check_address(url)
    _report_whole(to.name, upkeep.backup(url, to), as_json)


@ledger.command()
@click.argument("source", metavar="FROM", type=PATH)
@click.option("--forget", is_flag=True, help="Go on although entries are lost, and what they spent can be spent again.")
@ledger_option
@reporting
def restore(source: Path, forget: bool, url: str | None, as_json: bool) -> None:
    """Put the backup FROM in the place of the ledger, if no entry that is or was there is lost.

    It replaces the parts of all owners: one chain seals the entries of all.
    """
    from dpengine.accounting import upkeep

    check_address(url)
    _report_whole("the ledger", upkeep.restore(source, url, forget=forget), as_json)


@ledger.command()
@ledger_option
@reporting
def begin(url: str | None, as_json: bool) -> None:
    """Create a new ledger where one is missing; what the old one spent is forgotten."""
    from dpengine.accounting import upkeep

    check_address(url)
    place = upkeep.begin(url)
    show_result({"ledger": place}, f"a new ledger was begun: {place}", as_json=as_json)


@ledger.command()
@ledger_option
@reporting
def accept(url: str | None, as_json: bool) -> None:
    """Accept the present ledger although it lacks entries that were seen before; these are forgotten."""
    from dpengine.accounting import upkeep

    check_address(url)
    _report_whole("the ledger", upkeep.accept(url), as_json)


def _report_whole(what: str, entries: int, as_json: bool) -> None:
    """Say that a ledger, or a copy of one, is whole, and how many entries it has."""
    line = f"{what}: whole; {entries:,} {'entry' if entries == 1 else 'entries'}"
    show_result({"entries": entries}, line, as_json=as_json)


def _say_account(account: dict[str, Any]) -> None:
    """Say what a dataset spent and has left, and each of its entries."""
    rest = "no cap" if account["cap"] is None else f"cap {account['cap']}, left {account['left']}"
    say(f"{account['dataset']}: spent {account['spent']}, {rest}")
    if others := account["shares_with"]:
        say(f"  shares one budget with {', '.join(others)}, since the data is the same: each lists all charges")
    for entry in account["releases"]:
        title = f"{entry['title']}: " if entry["title"] else ""
        under = f" (as {entry['dataset']})" if entry["dataset"] in others else ""
        what = f"{title}{entry['summary']}{under}"
        say(f"  {entry['created']}  ε {entry['epsilon']:>8}  {entry['release_id']}  {what}")
        for each in entry["recognised"]:
            say(f"    {likeness(**each)}")


def _account(book: Ledger, dataset: str) -> dict[str, Any]:
    from dpengine.accounting.entry import same_name

    history, own = book.history(dataset), same_name(dataset)
    return {
        "dataset": dataset,
        "spent": exact_text(book.spent(dataset)),
        "cap": exact_or_none(book.cap(dataset)),
        "left": exact_or_none(book.left(dataset)),
        "shares_with": sorted({entry.dataset for entry in history if same_name(entry.dataset) != own}),
        "releases": [
            {"created": entry.created, "epsilon": exact_text(entry.epsilon), "release_id": entry.release_id,
             "dataset": entry.dataset, "title": entry.title, "summary": entry.summary,
             "recognised": [asdict(each) for each in entry.recognised]}
            for entry in history
        ],
    }  # fmt: skip
