"""The command that compares two releases."""

from __future__ import annotations

import json
from collections.abc import Hashable, Iterable, Iterator, Mapping
from dataclasses import asdict
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dpengine.cli.options import OUTPUT, PATH, check_ending, check_output, read_file, reporting, warn_of_order
from dpengine.cli.output import say, writing

if TYPE_CHECKING:
    import pandas as pd

    from dpengine.array_types import Columns
    from dpengine.compare import NotCompared
    from dpengine.export import Published
    from dpengine.spec.plan import Plan

__all__ = ["compare"]

MAX_SHOWN = 10  # changes that are printed for each table


@click.command()
@click.argument("before", type=PATH)
@click.argument("after", type=PATH)
@click.argument("columns", nargs=-1, metavar="[COLUMN]...")
@click.option(
    "-o", "--output", type=OUTPUT, help="CSV file to write, of all cells, or a page with charts if it ends in .html."
)
@reporting
def compare(before: Path, after: Path, columns: tuple[str, ...], output: Path | None, as_json: bool) -> None:
    """Show what changed from one bundle to a later one.

    Changes beyond the noise of both are listed, those that are largest beside it first, and what is not compared: of
    all tables that both have, or of the one with the given columns, named as in the files or in the report. Both files
    are verified first. Nothing is spent: only published numbers are used.
    """
    import pandas as pd

    from dpengine import safe_csv
    from dpengine.compare import COLUMNS, not_compared, number_headings
    from dpengine.compare import compare as compared
    from dpengine.spec.typed_names import table_typed
    from dpengine.spec.wording import name_of

    if output is not None:
        check_output(output, before)
        check_output(output, after)
        check_ending(output, [".csv", ".html"], "changes are written as CSV, or as a page with charts")
    both = read_file(before), read_file(after)
    wanted = [table_typed(both[1].plan, columns)] if columns else None
    tables, said, headings, changes = {}, {}, {}, compared(*both, wanted)
    for table, frame in changes.items():
        cells = [" × ".join(row) or "total" for row in frame.iloc[:, : len(table)].to_numpy().tolist()]
        said[name_of(table)] = _cells_in_words(both[1].plan, table, frame)
        headings[name_of(table)] = frame["number"].map(number_headings(both[1].plan, table))
        tables[name_of(table)] = frame[[*COLUMNS]].assign(table=name_of(table), cell=cells)[["table", "cell", *COLUMNS]]
    left_out = [each for each in not_compared(*both) if wanted is None or _is_of(each, wanted[0])]
    if output is not None:
        with writing(output):
            if output.suffix.lower() == ".html":
                from dpengine.changes_page import changes_page  # charts take a while to load

                output.write_bytes(changes_page(*both, changes))
            else:
                listed = pd.DataFrame(_rows(left_out), columns=["table", "cell", "number", "not_compared"])
                output.write_bytes(safe_csv.from_frame(pd.concat((*tables.values(), listed), ignore_index=True)))
    if as_json:
        numbers = {name: json.loads(frame.to_json(orient="records")) for name, frame in tables.items()}
        click.echo(json.dumps({"tables": numbers, "not_compared": [_payload(each) for each in left_out]}))
        return
    say(f"from {_release_in_words(both[0])} to {_release_in_words(both[1])}")
    warn_of_order(*both)
    for name, frame in tables.items():
        _say_changes(name, frame.assign(said=said[name], heading=headings[name]))
    if left_out:
        say("not compared:")
        _say_first((f"{missed}: {missed.reason}" for missed in left_out), len(left_out))
    say("of cells that did not change, about one in 20 is beyond the noise by chance")


def _say_changes(name: str, changes: pd.DataFrame) -> None:
    """Print the changes of a table that are beyond the noise."""
    from dpengine.compare import largest_first

    beyond = largest_first(changes[changes["beyond_noise"]])
    first = "; those that are largest beside their noise:" if len(beyond) > MAX_SHOWN else ""
    verb = "is" if len(beyond) == 1 else "are"
    say(f"{name}: {len(beyond):,} of {len(changes):,} changes {verb} beyond the noise{first}")
    _say_first(map(_change_in_words, beyond.head(MAX_SHOWN).to_dict("records")), len(beyond))


def _say_first(lines: Iterable[str], total: int) -> None:
    """Print the first lines, and how many more there are."""
    for line in islice(lines, MAX_SHOWN):
        say(f"  {line}")
    if total > MAX_SHOWN:
        say(f"  and {total - MAX_SHOWN:,} more")


def _change_in_words(each: Mapping[Hashable, Any]) -> str:
    """Say how one number of a cell changed."""
    from dpengine.compare import decimals

    counted = each["number"] == "count"
    form = f",.{0 if counted else decimals(each['low'], each['high'])}f"
    old, new = (format(each[name], form) for name in ("before", "after"))
    change, low, high = (format(each[name], f"+{form}") for name in ("change", "low", "high"))
    what = each["said"] if counted else f"{each['said']}, {each['heading']}"
    return f"{what}: {old} to {new}, a change of {change} ({low} to {high})"


def _release_in_words(release: Published) -> str:
    manifest = release.manifest
    return (
        f"{release.plan.title or manifest['dataset']}, {manifest['created'][:10]}, release {manifest['release_id'][:8]}"
    )


def _cells_in_words(plan: Plan, table: Columns, changes: pd.DataFrame) -> list[str]:
    """Name the cells of changes by the words for readers."""
    from dpengine.spec.wording import label_words

    words = [label_words(column) for column in map(plan.column, table)]
    rows = changes.iloc[:, : len(table)].to_numpy().tolist()
    return [" × ".join(known[label] for known, label in zip(words, row, strict=True)) or "total" for row in rows]


def _is_of(left_out: NotCompared, table: Columns) -> bool:
    """Return whether what is not compared is of this table."""
    return left_out.column in table if left_out.table is None else {*left_out.table} == {*table}


def _rows(left_out: Iterable[NotCompared]) -> Iterator[tuple[str, str, str, str]]:
    """Yield the lines of a CSV file about what is not compared: a line for each table, label and number."""
    from dpengine.spec.wording import name_of

    for each in left_out:
        table = "" if each.table is None else name_of(each.table)
        for cell in [f"{each.column} = {label}" for label in each.labels] or [""]:
            yield table, cell, each.number, each.reason


def _payload(each: NotCompared) -> dict[str, Any]:
    """Return what is not compared in JSON, its table by the name that it has among those that are."""
    from dpengine.spec.wording import name_of

    return asdict(each) | {"table": None if each.table is None else name_of(each.table)}
