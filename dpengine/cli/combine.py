"""The command that combines cells of a published table into one number."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dpengine.cli.options import PATH, read_file, reporting, warn_of_order
from dpengine.cli.output import say

if TYPE_CHECKING:
    from dpengine.spec.plan import Plan

__all__ = ["combine"]


@click.command()
@click.argument("bundle", type=PATH)
@click.argument("where", nargs=-1, metavar="[COLUMN=LABEL]...")
@click.option("--of", multiple=True, metavar="COLUMN=LABEL", help="Percentage of the people with it; may be repeated.")
@click.option("--of-all", is_flag=True, help="Percentage of all people.")
@click.option(
    "--minus", multiple=True, metavar="COLUMN=LABEL", help="Subtract the same number for this label; may be repeated."
)
@click.option("--since", type=PATH, metavar="BUNDLE", help="Subtract the same number in an earlier release.")
@click.option("--relative", is_flag=True, help="Give the difference in percent of the number that is subtracted.")
@click.option("--mean", metavar="AMOUNT", help="The mean of an amount instead of the number of people.")
@click.option("--sum", metavar="AMOUNT", help="The sum of an amount instead of the number of people.")
@click.option("--table", metavar="COLUMN,COLUMN", help="Count what this table counts, if others count something else.")
@reporting
def combine(
    bundle: Path, where: tuple[str, ...], of: tuple[str, ...], of_all: bool, minus: tuple[str, ...],
    since: Path | None, relative: bool, mean: str | None, sum: str | None, table: str | None,
    as_json: bool,
) -> None:  # fmt: skip
    """Add up cells of a table in BUNDLE, with a 95 % interval.

    Columns and labels are those of the published tables, such as region=North, or the words for them in the report.
    Several labels of a column count together, as do all from one to another, such as hour=07:00..09:00; of columns that
    are not named, all cells count. With --minus, only its columns differ: sex=female job=none --of sex=female
    --minus sex=male is the share of women without a job minus that of men. Bundles are verified first. Nothing is
    spent: only published numbers are used.
    """
    from dpengine.bundle.quotation import quotation_of_several, release_in_words
    from dpengine.combine import combine as combined

    release = read_file(bundle)
    cells, group, others = (_selection(release.plan, each) for each in (where, of, minus))
    more: dict[str, Any] = {
        "of": group if of or of_all else None,
        "minus": cells | others if minus else None,
        "relative": relative,
        "mean": mean,
        "sum": sum,
    }
    earlier = None if since is None else read_file(since)
    if earlier is not None:
        warn_of_order(earlier, release)
    columns = None if table is None else [each.strip() for each in table.split(",")]
    number = combined(release, cells, since=earlier, table=columns, **more)
    if as_json:
        # JSON knows no NaN: the percentage of a group whose count is 0
        click.echo(json.dumps(asdict(number) | {"value": None if math.isnan(number.value) else number.value}))
        return
    named = "" if earlier is None else release_in_words(earlier.plan, earlier.manifest)
    plan = release.plan
    plan = plan.tally_of(number.table).plan if number.table else plan
    say(quotation_of_several(plan, (number.value, number.low, number.high), cells, since=named, **more))


def _selection(plan: Plan, texts: Sequence[str]) -> dict[str, list[str]]:
    """Return the labels by column of texts such as ``region=North``."""
    from dpengine.spec.typed_names import cells_typed

    chosen: dict[str, list[str]] = {}
    for name, labels in (cells_typed(plan, text) for text in texts):
        chosen.setdefault(name, []).extend(labels)
    return chosen
