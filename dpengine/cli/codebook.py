"""The command that converts public knowledge about columns to another format."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dpengine.cli.options import OUTPUT, PATH, check_output, reporting
from dpengine.cli.output import WRONG_USE, finish, show_result, warn, writing

if TYPE_CHECKING:
    from dpengine.spec.domain import Column

__all__ = ["codebook"]

ENDINGS = (".json", ".csv", ".xlsx")


@click.command()
@click.argument("source", type=PATH)
@click.option(
    "-o",
    "--output",
    type=OUTPUT,
    required=True,
    help="File to write: .json for CSVW-EO, .csv or .xlsx for a sheet to fill in.",
)
@reporting
def codebook(source: Path, output: Path, as_json: bool) -> None:
    """Write the public knowledge in SOURCE as a codebook.

    SOURCE is a plan or a codebook of any format. Nothing in the output was measured from rows. Facts about rows in a
    codebook are ignored, and listed on standard error.
    """
    from dpengine.sources import codebook_file
    from dpengine.spec import codebook_sheet
    from dpengine.spec.domain import plan_entry
    from dpengine.spec.exchange import csvw_eo

    if output.suffix.lower() not in ENDINGS:
        finish([f"{output.name}: the ending says what is written; it is one of {', '.join(ENDINGS)}"], WRONG_USE)
    check_output(output, source)
    columns, title, unit = _knowledge_in(source)
    entries = [plan_entry(column) for column in columns]
    match output.suffix.lower():
        case ".json":
            content = csvw_eo.write(columns, unit, title)
        case ".csv":
            content = codebook_sheet.csv_bytes(entries)
        case _:
            content = codebook_file.xlsx_bytes(entries)
    with writing(output):
        output.write_bytes(content)
    line = f"{output.name}: {len(columns)} {'column' if len(columns) == 1 else 'columns'}"
    show_result({"output": output.name, "columns": [column.name for column in columns]}, line, as_json=as_json)


def _knowledge_in(source: Path) -> tuple[Sequence[Column], str, dict[str, Any] | None]:
    """Return the columns and the title in a plan or a codebook, and the privacy unit of a plan."""
    from dpengine.errors import PlanError
    from dpengine.sources import codebook_file
    from dpengine.spec.plan import Plan

    if source.suffix.lower() in (".yaml", ".yml"):
        try:
            plan = Plan.load(source)
        except PlanError as error:
            if not any("tables" in fault.path or "epsilon" in fault.path for fault in error.faults):
                raise  # it is a plan, and has faults; a codebook has no ε and no tables
        else:
            return plan.columns, plan.title, plan.unit.model_dump()
    imported = codebook_file.load_codebook(source)
    for sentence in imported.refused:
        warn(f"not read: {sentence}")
    if imported.doubtful:
        warn("its values may have been made from the rows: take out what is not publicly known")
    return imported.codebook.columns, imported.codebook.title, None
