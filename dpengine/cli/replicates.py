"""The command that makes replicates of a release from its bundle."""

from __future__ import annotations

from pathlib import Path

import click

from dpengine.cli.options import OUTPUT, PATH, check_ending, check_output, reporting
from dpengine.cli.output import show_result, stages, writing

__all__ = ["replicates"]


@click.command()
@click.argument("bundle", type=PATH)
@click.option("-o", "--output", type=OUTPUT, required=True, help="Zip file to write.")
@reporting
def replicates(bundle: Path, output: Path, as_json: bool) -> None:
    """Draw the tables of BUNDLE 50 times with fresh errors.

    They give intervals of your own sums and regressions. They are made from the published numbers alone and cost no
    privacy. The same bundle gives the same file everywhere.
    """
    from dpengine.replicates import DRAWS, pack

    check_output(output, bundle)
    check_ending(output, [".zip"], "replicates are many tables in a zip file")
    with stages() as show:
        show("drawing")
        packed = pack(bundle)
    with writing(output):
        output.write_bytes(packed)
    line = f"{output.name}: {DRAWS} replicates of every table; README.txt in it says how to use them"
    show_result({"output": output.name, "replicates": DRAWS}, line, as_json=as_json)
