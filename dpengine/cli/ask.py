"""The command that answers one private question about a table."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from dpengine.cli.charge import Charging, charge_of, charging_options, say_charge
from dpengine.cli.options import PATH, announce_new, reporting, warn_of_clock
from dpengine.cli.output import WRONG_USE, finish, say, stages
from dpengine.cli.tables import TABLE, Given, open_given
from dpengine.exact import exact_text

__all__ = ["ask"]

STATISTICS = ("count", "proportion", "sum", "mean", "variance", "quantile", "mode")


@click.command()
@click.argument("file", type=PATH)
@click.argument("table", type=TABLE, required=False)
@click.option("--statistic", type=click.Choice(STATISTICS), help="What to ask of a plan's columns.")
@click.option("--of", multiple=True, metavar="COLUMN|CONDITION",
              help="The column to compute it from; for a proportion, the condition to meet, which may be "
              "repeated.")  # fmt: skip
@click.option("--level", help="Level of the quantile. Default: 0.5, the median.")
@click.option("--from", "low", help="Lower bound: smaller values count as the bound. Default: as in the plan.")
@click.option("--to", "high", help="Upper bound: larger values count as the bound. Default: as in the plan.")
@click.option("--step", help="Values are rounded to multiples of this step. Default: as in the plan, else 1.")
@click.option("--where", multiple=True, metavar="CONDITION",
              help="Only these rows: region=North, or age=18..64 (both included; one end may be left out). "
              "Repeat it for another column, or for one more value of the same.")  # fmt: skip
@click.option("--by", multiple=True, metavar="COLUMN",
              help="Answer for each group of this column of the plan, for one price; may be given twice.")  # fmt: skip
@click.option("--epsilon", help="Price in ε. Needed with a plan; with a question, if it is not the price in FILE.")
@click.option("--dry-run", is_flag=True, help="Print the price and the expected error only. Reads no table.")
@charging_options
@reporting
def ask(  # click hands over one parameter for each argument and option
    file: Path,
    table: Given | None,
    statistic: str | None,
    of: tuple[str, ...],
    level: str | None,
    low: str | None,
    high: str | None,
    step: str | None,
    where: tuple[str, ...],
    by: tuple[str, ...],
    epsilon: str | None,
    dry_run: bool,
    charging: Charging,
    as_json: bool,
) -> None:
    """Answer one private question about TABLE at a price.

    FILE is a question file, or a plan file. With a plan, --statistic and the options after it say what to ask; the plan
    gives columns, privacy unit and dataset. The same question of the same data returns the stored answer and costs
    nothing.
    """
    from dpengine.isolation import run

    if table is not None and not dry_run:
        run.warm()  # another process imports the file readers while this one imports the rest
    from dpengine.cli.question_options import QuestionOptions, question_of

    question = question_of(file, QuestionOptions(statistic, of, level, low, high, step, where, by, epsilon))
    if dry_run:
        _expect(question, as_json=as_json)
        return
    if table is None:
        finish(["name the table to ask, or give --dry-run for the price and the expected error"], WRONG_USE)

    from dpengine.ask import ask as answer_to
    from dpengine.results.answer_wording import describe

    ledger = charging.part.open()
    warn_of_clock(ledger)
    with stages() as show, open_given(table, charging.reading) as opened:
        answer = answer_to(opened, question, ledger, other_people=charging.other_people, progress=show)
    announce_new(ledger)
    drawn = ledger.has_recorded(answer.answer_id)
    charge = charge_of(ledger, answer.answer_id) | {"charged": exact_text(question.epsilon) if drawn else "0"}
    if as_json:
        groups = [asdict(group) for group in answer.groups]
        made = json.loads(answer.to_bytes()) | ({"groups": groups} if groups else {}) | charge
        click.echo(json.dumps(made, default=str))
        return
    for line in describe(answer):
        say(line)
    say_charge(charge)
    if not drawn:
        say(f"{question.dataset}: nothing was spent, since the same question of the same data was answered before")


def _expect(question: Any, *, as_json: bool) -> None:
    """Print what a question costs and how wrong its answer will be: a function of the question alone."""
    from dpengine.results.answer import expect
    from dpengine.results.answer_wording import describe_expected

    expected = expect(question)
    if as_json:
        click.echo(json.dumps({
            "question": question.description, "dataset": question.dataset, "epsilon": exact_text(question.epsilon),
            "half_width_95": expected.half_width, "mean_abs_error": expected.mean_abs, "reach_95": expected.reach,
        }))  # fmt: skip
        return
    say(f"{question.description}: ε = {exact_text(question.epsilon)} from the budget of {question.dataset}")
    say(describe_expected(question, expected))
