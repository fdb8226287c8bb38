"""The command that compares two releases."""

from __future__ import annotations

import json
from pathlib import Path

import click

from dpengine.cli.common import check_output, faults, json_option, say, writing

__all__ = ["compare"]

MAX_SHOWN = 10  # changes that are printed for each table


@click.command()
@click.argument("before", type=click.Path(path_type=Path))
@click.argument("after", type=click.Path(path_type=Path))
@click.option(
    "-o", "--output", type=click.Path(path_type=Path, dir_okay=False), help="CSV file to write, of all cells."
)
@json_option
@faults
def compare(before: Path, after: Path, output: Path | None, as_json: bool) -> None:
    """Show what changed from one release file to a later one, beyond the noise of both.

    Both files are verified first. Nothing is spent: only published numbers are used.
    """
    import pandas as pd

    from dpengine import safe_csv
    from dpengine.compare import COLUMNS
    from dpengine.compare import compare as compared
    from dpengine.spec.wording import name_of

    if output is not None:
        check_output(output, before)
        check_output(output, after)
    tables = {}
    for table, frame in compared(before, after).items():
        cells = [" × ".join(row) or "total" for row in frame.iloc[:, : len(table)].to_numpy().tolist()]
        tables[name_of(table)] = frame[[*COLUMNS]].assign(table=name_of(table), cell=cells)[["table", "cell", *COLUMNS]]
    if output is not None:
        with writing(output):
            output.write_bytes(safe_csv.from_frame(pd.concat(tables.values(), ignore_index=True)))
    if as_json:
        click.echo(json.dumps({name: json.loads(frame.to_json(orient="records")) for name, frame in tables.items()}))
        return
    for name, frame in tables.items():
        changed = frame[frame["beyond_noise"]]
        say(f"{name}: {len(changed):,} of {len(frame):,} changes are beyond the noise")
        for each in changed.head(MAX_SHOWN).itertuples():
            number = "" if each.number == "count" else f", {each.number}"
            say(f"  {each.cell}{number}: {each.before:,.10g} to {each.after:,.10g}, a change of {each.change:+,.10g} "
                f"({each.low:+,.10g} to {each.high:+,.10g})")  # fmt: skip
        if len(changed) > MAX_SHOWN:
            say(f"  and {len(changed) - MAX_SHOWN:,} more")
    say("of cells that did not change, about one in 20 is beyond the noise by chance")
