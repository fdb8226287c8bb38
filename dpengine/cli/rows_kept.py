"""The command that shows what a bound on the rows of a person leaves out, exactly or at a price."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from dpengine.cli.common import (
    WRONG_USE,
    announce_new,
    faults,
    finish,
    json_option,
    ledger_option,
    open_ledger,
    other_people_option,
    owner_option,
    reading_options,
    say,
    stages,
    warn,
)

__all__ = ["rows_kept"]

FOR_YOU = (
    "these numbers are exact and private: only you see them; share and store them nowhere. The bound that you choose "
    "is published with the plan, and so tells a little about them; take one that you can also give a public reason for"
)


@click.command("rows-kept")
@click.argument("table", type=click.Path(path_type=Path))
@click.option("--id", "person", required=True, help="The column that identifies the person.")
@click.option("--bound", "bounds", type=click.IntRange(1, 1_000_000), multiple=True,
              help="Rows that each person keeps at most; may be repeated. Default: 1 to 100.")  # fmt: skip
@click.option("--exact", is_flag=True, help="Show exact numbers, for your eyes only. Costs nothing.")
@click.option("--epsilon", help="Estimate the numbers privately instead, for this ε in all.")
@click.option("--dataset", default="", help="Whose budget pays for the estimates.")
@reading_options
@ledger_option
@owner_option
@other_people_option
@json_option
@faults
def rows_kept(
    table: Path,
    person: str,
    bounds: tuple[int, ...],
    exact: bool,
    epsilon: str | None,
    dataset: str,
    reading: dict[str, Any],
    url: str | None,
    owner: str,
    other_people: bool,
    as_json: bool,
) -> None:
    """Show how many rows are kept if each person keeps at most k.

    With --exact, the numbers are for your eyes only. With --epsilon and --dataset, they are estimated privately, and
    the ledger is charged before they are shown.
    """
    from dpengine.ask import ask_rows_kept, rising, rows_kept_questions
    from dpengine.owner import BOUNDS
    from dpengine.owner import rows_kept as count_kept
    from dpengine.sources.open import open_table

    if exact == (epsilon is not None) or (epsilon is not None and not dataset):
        finish(["give either --exact, or --epsilon with --dataset"], WRONG_USE)
    wanted = tuple(dict.fromkeys(bounds)) or BOUNDS
    with open_table(table, **reading) as opened:
        if exact:
            numbers = count_kept(opened, person, wanted)
            lines = dict(zip(wanted, numbers.kept, strict=True))
            intervals = {bound: (rows, rows) for bound, rows in lines.items()}
        else:
            ledger = open_ledger(url, owner)
            questions = rows_kept_questions(dataset, person, wanted, epsilon)
            with stages() as show:
                answers = ask_rows_kept(opened, questions, ledger, other_people=other_people, progress=show)
            announce_new(ledger)
            lines = rising(answers)
            intervals = {
                bound: (min(int(each.low or 0), lines[bound]), max(int(each.high or 0), lines[bound]))
                for bound, each in answers.items()
            }
    if exact:
        warn(FOR_YOU)
    if as_json:
        entries = [
            {"rows_per_person": bound, "kept": lines[bound], "low": low, "high": high}
            for bound, (low, high) in intervals.items()
        ]
        click.echo(json.dumps({"exact": exact, "rows": numbers.rows if exact else None, "kept": entries}))
        return
    for bound, rows in lines.items():
        low, high = intervals[bound]
        rest = f" of {numbers.rows:,} ({rows / max(numbers.rows, 1):.1%})" if exact else f" (95 %: {low:,} to {high:,})"
        say(f"at most {bound:,} of each person: {rows:,} rows kept{rest}")
