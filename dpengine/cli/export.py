"""The command that writes a release as a workbook, or in a form that another installed package adds."""

from __future__ import annotations

import json
from pathlib import Path

import click

from dpengine.cli.common import check_output, faults, json_option, say, writing

__all__ = ["export"]


@click.command()
@click.argument("bundle", type=click.Path(path_type=Path))
@click.option("--as", "form", required=True, metavar="FORM", help="xlsx, or the name that a package gives its form.")
@click.option("-o", "--output", type=click.Path(path_type=Path), required=True, help="What to write.")
@json_option
@faults
def export(bundle: Path, form: str, output: Path, as_json: bool) -> None:
    """Write BUNDLE as a workbook for spreadsheet programs.

    Installed packages may add other forms.

    A form gets what was published, and nothing else.
    """
    from dpengine.export import export as write

    check_output(output, bundle)
    with writing(output):
        write(bundle, form, output)
    if as_json:
        click.echo(json.dumps({"output": output.name, "form": form}))
        return
    say(f"{output.name}: {bundle.name} as {form}")
