"""The command that shows the percentages of a published table."""

from __future__ import annotations

import json
from pathlib import Path

import click

from dpengine.cli.common import check_output, faults, json_option, say, writing

__all__ = ["percentages"]


@click.command()
@click.argument("bundle", type=click.Path(path_type=Path))
@click.argument("columns", nargs=-1, required=True, metavar="COLUMN...")
@click.option(
    "--within", multiple=True, metavar="COLUMN", help="Percentages add up to 100 for each value of it; may be repeated."
)
@click.option("--without-missing", is_flag=True, help="Leave out cells without a value; the others add up to 100.")
@click.option("-o", "--output", type=click.Path(path_type=Path, dir_okay=False), help="CSV file to write.")
@json_option
@faults
def percentages(
    bundle: Path, columns: tuple[str, ...], within: tuple[str, ...], without_missing: bool, output: Path | None,
    as_json: bool,
) -> None:  # fmt: skip
    """Show which percentage each cell of a table in BUNDLE holds, with a 95 % interval.

    The table is named by its columns, in any order. The bundle is verified first. Nothing is spent: only published
    numbers are used.
    """
    from dpengine import safe_csv
    from dpengine.percentages import COLUMNS, decimals
    from dpengine.percentages import percentages as computed

    if output is not None:
        check_output(output, bundle)
    frame = computed(bundle, columns, within=within, missing=not without_missing)
    if output is not None:
        with writing(output):
            output.write_bytes(safe_csv.from_frame(frame))
    if as_json:
        click.echo(frame.to_json(orient="records", force_ascii=False))
        return
    digits = decimals(frame)
    for each in json.loads(frame.to_json(orient="records")):
        cell = " × ".join(str(label) for name, label in each.items() if name not in COLUMNS)
        percent = "–" if each["percent"] is None else f"{each['percent']:.{digits}f} %"
        say(f"{cell}: {percent} ({each['low']:.{digits}f} to {each['high']:.{digits}f})")
