"""The command that writes a release as a workbook, or in a form that another installed package adds."""

from __future__ import annotations

from pathlib import Path

import click

from dpengine.cli.options import PATH, check_ending, check_output, reporting
from dpengine.cli.output import show_result, writing

__all__ = ["export"]


@click.command()
@click.argument("bundle", type=PATH)
@click.option("--as", "form", required=True, metavar="FORM", help="xlsx, or the name that a package gives its form.")
@click.option("-o", "--output", type=PATH, required=True, help="What to write.")
@reporting
def export(bundle: Path, form: str, output: Path, as_json: bool) -> None:
    """Write BUNDLE as a workbook for spreadsheet programs.

    Installed packages may add other forms.

    A form gets what was published, and nothing else.
    """
    from dpengine.export import OWN
    from dpengine.export import export as write

    check_output(output, bundle)
    if form in OWN:  # what another package writes, it may call as it likes
        check_ending(output, [f".{form}"], "a workbook is written")
    with writing(output):
        write(bundle, form, output)
    show_result({"output": output.name, "form": form}, f"{output.name}: {bundle.name} as {form}", as_json=as_json)
