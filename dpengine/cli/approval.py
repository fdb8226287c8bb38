"""The commands for approval by a second person: require it, send plans, and decide.

People are identified by the account on this machine that runs the command. This distinguishes people who share a ledger
on a server, but does not bind anyone who may write the ledger: see docs/threats.md.
"""

from __future__ import annotations

import getpass
import json
import os
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dpengine.cli.options import OUTPUT, PATH, LedgerPart, check_output, part_options, reporting, warn_of_unknown
from dpengine.cli.output import error_entries, exact_or_none, say, say_errors, show_result, writing
from dpengine.exact import exact_text

if TYPE_CHECKING:
    from dpengine.accounting.approval.request import Actor, Request

__all__ = ["approval"]

note_option = click.option("--note", default="", metavar="TEXT", help="A note for the others.")


@click.group()
def approval() -> None:
    """Have a second person approve each release: set this, send plans, and decide on them."""


@approval.command()
@click.argument("dataset", required=False)
@click.option("--lift", is_flag=True, help="No longer ask for approval.")
@part_options
@reporting
def require(dataset: str | None, lift: bool, part: LedgerPart, as_json: bool) -> None:
    """Require approval for spending the budget of DATASET, or of every dataset of the owner."""
    from dpengine.accounting.approval.records import ALL

    book = part.open()
    book.approvals.set_rule(ALL if dataset is None else dataset, needed=not lift)
    if dataset is not None:
        warn_of_unknown(book, dataset)
    rules = book.approvals.rules()
    alone = ", ".join(rule for rule in rules if rule != ALL)
    named = "every dataset" + (f", and by a rule of its own for {alone}" if alone else "") if ALL in rules else alone
    needed = {"needed_for": [None if rule == ALL else rule for rule in rules]}
    show_result(needed, f"approval is needed for {named or 'nothing'}", as_json=as_json)


@approval.command()
@click.argument("plan", type=PATH)
@note_option
@click.option("--other-people", is_flag=True, help="Ask also for what `release --other-people` states.")
@part_options
@reporting
def send(plan: Path, note: str, other_people: bool, part: LedgerPart, as_json: bool) -> None:
    """Send PLAN for approval. Reads no table."""
    from dpengine.spec.plan import Plan

    request = part.open().approvals.send(Plan.load(plan), _me(), note, other_people=other_people)
    _say_state(request, as_json)


@approval.command(name="list")
@part_options
@reporting
def listed(part: LedgerPart, as_json: bool) -> None:
    """List all requests, the latest last."""
    requests = part.open().approvals.requests()
    if as_json:
        click.echo(json.dumps([_fields(request) for request in requests]))
        return
    for request in requests:
        say(_line(request))
    if not requests:
        click.echo("nothing was sent yet")


@approval.command()
@click.argument("request")
@part_options
@reporting
def show(request: str, part: LedgerPart, as_json: bool) -> None:
    """Print the plan of REQUEST, its price, what it would leave, and its expected errors."""
    from dpengine.results.predict import predict
    from dpengine.spec.plan import Plan

    book = part.open()
    sent, text = book.approvals.request(request), book.approvals.plan_text(request)
    left = book.left(sent.dataset)
    frame = predict(Plan.loads(text))
    if as_json:
        price = {"left": exact_or_none(left), "tables": error_entries(frame)}
        click.echo(json.dumps(_fields(sent) | {"plan": text} | price))
        return
    rest = "no cap is set" if left is None else f"of which {exact_text(left)} is left before"
    for line in text.splitlines():
        say(line)
    say(_line(sent))
    say(f"ε = {exact_text(sent.epsilon)} from the budget of {sent.dataset}, {rest}")
    if sent.other_people:
        say("with the statement that the table is of other people than earlier ones like it")
    say_errors(frame)


@approval.command()
@click.argument("plan", metavar="PLAN_OR_REQUEST")
@click.option("-o", "--output", type=OUTPUT, required=True, help="Page to write.")
@part_options
@reporting
def paper(plan: str, output: Path, part: LedgerPart, as_json: bool) -> None:
    """Write a page to print and sign: what a plan would publish, about whom, at what price, and how exactly.

    The plan is a file, or that of a request. Reads no table and spends nothing.
    """
    from dpengine.bundle.approval_paper import Budget, approval_paper
    from dpengine.results.predict import predict
    from dpengine.spec.plan import Plan
    from dpengine.translation.catalogue import speaking

    book, request = part.open(), None
    if Path(plan).is_file():
        check_output(output, Path(plan))
        asked = Plan.load(plan)
    else:
        request = book.approvals.request(plan)
        asked = Plan.loads(book.approvals.plan_text(plan))
    dataset = asked.dataset
    budget = Budget(book.spent(dataset), book.left(dataset), book.history(dataset))
    with speaking(asked.language), writing(output):
        output.write_bytes(approval_paper(asked, predict(asked), budget, request))
    show_result({"output": output.name}, f"{output.name}: print it for the person who approves", as_json=as_json)


@approval.command()
@click.argument("request")
@note_option
@part_options
@reporting
def approve(request: str, note: str, part: LedgerPart, as_json: bool) -> None:
    """Approve REQUEST of somebody else: its plan may then be published, once."""
    desk = part.open().approvals
    desk.approve(request, _me(), note)
    _say_state(desk.request(request), as_json)


@approval.command()
@click.argument("request")
@note_option
@part_options
@reporting
def decline(request: str, note: str, part: LedgerPart, as_json: bool) -> None:
    """Decline REQUEST of somebody else."""
    desk = part.open().approvals
    desk.decline(request, _me(), note)
    _say_state(desk.request(request), as_json)


@approval.command()
@click.argument("request")
@part_options
@reporting
def withdraw(request: str, part: LedgerPart, as_json: bool) -> None:
    """Take back REQUEST, or its approval, before it is used."""
    desk = part.open().approvals
    desk.withdraw(request, _me())
    _say_state(desk.request(request), as_json)


def _me() -> Actor:
    """Return the account that runs this command according to the system, not to the environment."""
    from dpengine.accounting.approval.request import Actor

    if sys.platform == "win32":
        account = getpass.getuser()
    else:
        import pwd

        try:
            account = pwd.getpwuid(os.getuid()).pw_name
        except KeyError:  # a container may run as an account without a name
            account = str(os.getuid())
    return Actor(f"account {account}", account)


def _say_state(request: Request, as_json: bool) -> None:
    show_result(_fields(request), _line(request), as_json=as_json)


def _line(request: Request) -> str:
    decided = f" by {_name(request.decided_by)}" if request.decided_by else ""
    return (
        f"{request.request_id}  {request.state}{decided}  ε {exact_text(request.epsilon)} of {request.dataset}, "
        f"sent by {_name(request.asked_by)} on {request.asked}{f': {request.note}' if request.note else ''}"
    )


def _name(actor: Actor) -> str:
    return actor.name or actor.identity


def _fields(request: Request) -> dict[str, Any]:
    return asdict(request) | {"epsilon": exact_text(request.epsilon), "plan_sha256": request.plan_sha256.hex()}
