"""The command that shows the percentages of a published table."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import click

from dpengine.cli.options import OUTPUT, PATH, check_ending, check_output, read_file, reporting
from dpengine.cli.output import say, writing
from dpengine.translation.catalogue import speaking

if TYPE_CHECKING:
    import pandas as pd

    from dpengine.array_types import Columns
    from dpengine.export import Published

__all__ = ["percentages"]


@click.command()
@click.argument("bundle", type=PATH)
@click.argument("columns", nargs=-1, required=True, metavar="COLUMN...")
@click.option(
    "--within", multiple=True, metavar="COLUMN", help="Percentages add up to 100 for each value of it; may be repeated."
)
@click.option("--without-missing", is_flag=True, help="Leave out cells without a value; the others add up to 100.")
@click.option("-o", "--output", type=OUTPUT, help="CSV file to write, or a workbook if it ends in .xlsx.")
@reporting
def percentages(
    bundle: Path, columns: tuple[str, ...], within: tuple[str, ...], without_missing: bool, output: Path | None,
    as_json: bool,
) -> None:  # fmt: skip
    """Show the percentages of a table in BUNDLE, with intervals.

    A 95 % interval is that of each percentage by itself.

    The table is named by its columns, in any order, as in the files or in the report. The bundle is verified first.
    Nothing is spent: only published numbers are used.
    """
    from dpengine.percentages import COLUMNS, decimals, percentages_of
    from dpengine.spec.typed_names import columns_typed, table_typed
    from dpengine.spec.wording import label_words

    if output is not None:
        check_output(output, bundle)
        check_ending(output, [".csv", ".xlsx"], "percentages are written as CSV or as a workbook")
    release = read_file(bundle)
    table, within = table_typed(release.plan, columns), tuple(columns_typed(release.plan, within))
    frame = percentages_of(release, table, within=within, missing=not without_missing)
    if output is not None:
        with writing(output):
            output.write_bytes(_file(release, frame, table, within, output.suffix))
    if as_json:
        click.echo(frame.to_json(orient="records", force_ascii=False))
        return
    digits = decimals(frame)
    said = [label_words(column) for column in map(release.plan.column, table)]
    for each in json.loads(frame.to_json(orient="records")):
        labels = (label for name, label in each.items() if name not in COLUMNS)
        cell = " × ".join(words[label] for words, label in zip(said, labels, strict=True))
        percent = "–" if each["percent"] is None else f"{each['percent']:.{digits}f} %"
        say(f"{cell}: {percent} ({each['low']:.{digits}f} to {each['high']:.{digits}f})")


def _file(release: Published, frame: pd.DataFrame, table: Columns, within: tuple[str, ...], suffix: str) -> bytes:
    """Return percentages as a workbook, or as CSV."""
    if suffix.lower() == ".xlsx":
        from dpengine.bundle.percentages_workbook import percentages_workbook
        from dpengine.percentages import decimals

        release_id = str(release.manifest["release_id"])
        with speaking(release.plan.language):
            return percentages_workbook(release.plan, table, within, frame, release_id, digits=decimals(frame))
    from dpengine import safe_csv

    return safe_csv.from_frame(frame)
