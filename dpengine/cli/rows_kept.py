"""The command that shows what a bound on the rows of a person leaves out, exactly or at a price."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, NamedTuple

import click

from dpengine.cli.charge import Charging, charging_options
from dpengine.cli.options import announce_new, reporting
from dpengine.cli.output import WRONG_USE, finish, say, stages, warn
from dpengine.cli.tables import TABLE, Given, open_given

if TYPE_CHECKING:
    from dpengine.sources.table import Table

__all__ = ["rows_kept"]

FOR_YOU = (
    "these numbers are exact and private: only you see them; share and store them nowhere. The bound that you choose "
    "is published with the plan, and so tells a little about them; take one that you can also give a public reason for"
)


@click.command("rows-kept")
@click.argument("table", type=TABLE)
@click.option("--id", "person", required=True, help="The column that identifies the person.")
@click.option("--bound", "bounds", type=click.IntRange(1, 1_000_000), multiple=True,
              help="Rows that each person keeps at most; may be repeated. Default: 1 to 100.")  # fmt: skip
@click.option("--exact", is_flag=True, help="Show exact numbers, for your eyes only. Costs nothing.")
@click.option("--epsilon", help="Estimate the numbers privately instead, for this ε in all.")
@click.option("--dataset", default="", help="Whose budget pays for the estimates.")
@charging_options
@reporting
def rows_kept(
    table: Given,
    person: str,
    bounds: tuple[int, ...],
    exact: bool,
    epsilon: str | None,
    dataset: str,
    charging: Charging,
    as_json: bool,
) -> None:
    """Show how many rows are kept if each person keeps at most k.

    With --exact, the numbers are for your eyes only. With --epsilon and --dataset, they are estimated privately, and
    the ledger is charged before they are shown.
    """
    from dpengine.owner import BOUNDS

    if exact == (epsilon is not None) or (epsilon is not None and not dataset):
        finish(["give either --exact, or --epsilon with --dataset"], WRONG_USE)
    wanted = tuple(dict.fromkeys(bounds)) or BOUNDS
    total: int | None = None
    with open_given(table, charging.reading) as opened:
        if epsilon is None:
            total, kept = _exact(opened, person, wanted)
        else:
            kept = _estimated(opened, person, wanted, dataset, epsilon, charging)
    if exact:
        warn(FOR_YOU)
    if as_json:
        entries = [
            {"rows_per_person": bound, "kept": each.rows, "low": each.low, "high": each.high}
            for bound, each in kept.items()
        ]
        click.echo(json.dumps({"exact": exact, "rows": total, "kept": entries}))
        return
    for bound, each in kept.items():
        interval = f"95 %: {each.low:,} to {each.high:,}"
        rest = f" ({interval})" if total is None else f" of {total:,} ({each.rows / max(total, 1):.1%})"
        say(f"at most {bound:,} of each person: {each.rows:,} rows kept{rest}")


class _Kept(NamedTuple):
    """Rows kept under a bound, with the ends of a 95 % interval; exact rows are both ends themselves."""

    rows: int
    low: int
    high: int


def _exact(table: Table, person: str, bounds: tuple[int, ...]) -> tuple[int, dict[int, _Kept]]:
    """Return all rows with an ID, and those kept under each bound: private."""
    from dpengine.owner import rows_kept as count_kept

    numbers = count_kept(table, person, bounds)
    return numbers.rows, {bound: _Kept(kept, kept, kept) for bound, kept in zip(bounds, numbers.kept, strict=True)}


def _estimated(
    table: Table, person: str, bounds: tuple[int, ...], dataset: str, epsilon: str, charging: Charging
) -> dict[int, _Kept]:
    """Charge the ledger; return private estimates of the rows kept under each bound."""
    from dpengine.ask import ask_rows_kept, rising, rows_kept_questions

    ledger = charging.part.open()
    questions = rows_kept_questions(dataset, person, bounds, epsilon)
    with stages() as show:
        answers = ask_rows_kept(table, questions, ledger, other_people=charging.other_people, progress=show)
    announce_new(ledger)
    rows = rising(answers)
    return {
        bound: _Kept(rows[bound], min(int(each.low or 0), rows[bound]), max(int(each.high or 0), rows[bound]))
        for bound, each in answers.items()
    }
