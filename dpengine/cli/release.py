"""The command that publishes a plan of a table."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dpengine.cli.charge import Charging, charge_of, charging_options, say_charge
from dpengine.cli.options import (
    OUTPUT,
    PATH,
    announce_new,
    check_address,
    check_ending,
    check_output,
    reporting,
    warn_of_clock,
)
from dpengine.cli.output import WRONG_USE, Stages, finish, say, stages, warn, why_unwritten
from dpengine.cli.tables import TABLE, Given, open_given
from dpengine.errors import ReleaseError
from dpengine.exact import exact_text

if TYPE_CHECKING:
    from dpengine.accounting.ledger import Ledger
    from dpengine.release import Release
    from dpengine.sources.table import Table
    from dpengine.spec.plan import Plan

__all__ = ["release"]

AGAIN = "the release is recorded, and running this again writes it at no cost"


@click.command()
@click.argument("plan", type=PATH)
@click.argument("table", type=TABLE)
@click.option(
    "-o", "--output", type=OUTPUT, required=True, help="Bundle to write: a file, or a pipe such as /dev/stdout."
)
@charging_options
@reporting
def release(plan: Path, table: Given, output: Path, charging: Charging, as_json: bool) -> None:
    """Publish PLAN of TABLE once, and charge the ledger.

    Writes the release bundle. Where a second person has to approve, send PLAN with `ledger approval send` first.
    """
    from dpengine.isolation import run

    run.warm()  # another process imports the file readers while this one imports the rest
    from dpengine.bundle.write import check_place
    from dpengine.spec.plan import Plan

    loaded = Plan.load(plan)
    try:
        check_place(output)
    except OSError as error:
        finish([f"{why_unwritten(output, error)}; nothing was spent"], WRONG_USE)
    check_address(charging.part.url)
    check_output(output, plan, *([table] if isinstance(table, Path) else []), url=charging.part.url)
    check_ending(
        output, [".zip"], "a release is a zip file, whose report.html opens in a browser and prints from there"
    )
    beside = _is_standard_output(output)  # then the summary goes to standard error: nothing may follow a bundle
    ledger = charging.part.open()
    warn_of_clock(ledger)
    with stages() as show, open_given(table, charging.reading) as opened:
        finished, unwritten = _publish(opened, loaded, ledger, output, show, other_people=charging.other_people)
    if unwritten is not None:
        finish([f"{unwritten}; {AGAIN}"], WRONG_USE)
    announce_new(ledger)
    charged = exact_text(loaded.epsilon) if ledger.has_recorded(finished.release_id) else "0"
    summary = _summary_of(finished, loaded, ledger, output) | {"charged": charged}
    if as_json:
        click.echo(json.dumps(summary), err=beside)
    else:
        _say_summary(summary, loaded, err=beside)


def _is_standard_output(path: Path) -> bool:
    try:
        return os.path.samestat(path.stat(), os.fstat(1))
    except OSError:  # there is nothing at the path yet, or no standard output
        return False


def _publish(
    table: Table, plan: Plan, ledger: Ledger, output: Path, show: Stages, *, other_people: bool
) -> tuple[Release, ReleaseError | None]:
    """Publish, and write the bundle; return the release, which is recorded, and why it could not be written, if so.

    If it is stopped after the release was recorded, it says so.
    """
    from dpengine.accounting.drawing import LAST_STAGE
    from dpengine.release import is_recorded
    from dpengine.release import release as publish

    try:
        finished = publish(table, plan, ledger, progress=show, other_people=other_people)
        try:
            finished.save(output)
        except ReleaseError as error:
            return finished, error
    except (KeyboardInterrupt, SystemExit):
        if LAST_STAGE in show.reached and is_recorded(table, plan, ledger):
            warn(f"stopped, but {AGAIN}")
        raise
    return finished, None


def _summary_of(finished: Release, plan: Plan, ledger: Ledger, output: Path) -> dict[str, Any]:
    from dpengine.results.mostly_other import mostly_left_out, mostly_other

    found = _found(finished.plan)
    return {
        "release_id": finished.release_id,
        "epsilon": exact_text(plan.epsilon),
        "output": output.name,
        **charge_of(ledger, finished.release_id),
        "mostly_other": mostly_other(finished),
        "mostly_left_out": mostly_left_out(finished),
    } | ({"found": found} if found else {})


def _found(plan: Plan) -> dict[str, int | str]:
    """Return for each column the number of its cells that were found, or its upper bound."""
    from dpengine.spec.domain import Amount

    columns = [plan.column(name) for name in plan.found_columns]
    return {each.name: f"{each.high:f}" if isinstance(each, Amount) else each.declared_size for each in columns}


def _say_summary(summary: dict[str, Any], plan: Plan, *, err: bool) -> None:
    from dpengine.charts.style import join_names

    say(f"{summary['output']}: release {summary['release_id']}, ε = {summary['epsilon']}", err=err)
    if found := summary.get("found"):
        cells = [f"{size:,} of {name}" for name, size in found.items() if isinstance(size, int)]
        bounds = [f"{bound} of {name}" for name, bound in found.items() if isinstance(bound, str)]
        for what, some in (("cells found", cells), ("upper bound found", bounds)):
            if some:
                say(f"{what}: {', '.join(some)}", err=err)
    say_charge(summary, err=err)
    if summary["charged"] == "0":
        say(f"{plan.dataset}: nothing was spent, since the same tables of the same data were published before", err=err)
    for name in summary["mostly_other"]:
        warn(f"{name}: more than half of the rows are in (other), as published; if that is not meant, its values are "
             "written in another way than the plan says")  # fmt: skip
    if by := summary["mostly_left_out"]:
        warn(f"fewer than half of the {plan.rows_about:,} rows that the plan states (rows_about) are in the release: "
             f"those without a declared value of {join_names(by)} are left out; if that is not meant, the values are "
             "written in another way than the plan says")  # fmt: skip
