"""The command that makes replicates of a release from its bundle."""

from __future__ import annotations

import json
from pathlib import Path

import click

from dpengine.cli.common import check_output, faults, json_option, say, stages, writing

__all__ = ["replicates"]


@click.command()
@click.argument("bundle", type=click.Path(path_type=Path))
@click.option("-o", "--output", type=click.Path(path_type=Path, dir_okay=False), required=True,
              help="Zip file to write.")  # fmt: skip
@json_option
@faults
def replicates(bundle: Path, output: Path, as_json: bool) -> None:
    """Draw the tables of BUNDLE 50 times with fresh errors.

    They give intervals of your own sums and regressions. They are made from the published numbers alone and cost no
    privacy. The same bundle gives the same file everywhere.
    """
    from dpengine.replicates import DRAWS, pack

    check_output(output, bundle)
    with stages() as show:
        show("drawing")
        packed = pack(bundle)
    with writing(output):
        output.write_bytes(packed)
    if as_json:
        click.echo(json.dumps({"output": output.name, "replicates": DRAWS}))
        return
    say(f"{output.name}: {DRAWS} replicates of every table; README.txt in it says how to use them")
