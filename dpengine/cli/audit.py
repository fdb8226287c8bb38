"""The command that audits the code that publishes."""

from __future__ import annotations

import json
from fractions import Fraction
from typing import Any

import click

from dpengine.cli.options import reporting
from dpengine.cli.output import REFUSED, finish, stages
from dpengine.exact import exact_text

__all__ = ["audit"]


@click.command()
@click.option("--epsilon", default="1", show_default=True, help="The ε that is claimed, from 0.01 to 10.")
@click.option("--runs", default=300, show_default=True, help="Releases with the person, and as many without.")
@click.option("--jobs", default=1, show_default=True, help="Processes to run them in.")
@click.option("--way", "ways", multiple=True, help="One way to publish, e.g. direct; may be repeated. Default: all.")
@reporting
def audit(epsilon: str, runs: int, jobs: int, ways: tuple[str, ...], as_json: bool) -> None:
    """Audit the code that publishes, on made-up tables.

    Prints exact checks, then a lower bound on ε from the outputs of each way to publish. Charges no budget. The status
    is 1 if any of these exceeds the claimed ε. A lower bound holds with 95 % confidence, so of twenty correct ways, one
    may seem to exceed it: then run it again.
    """
    from dpengine.audit import exact_checks, publications

    claimed = publications.claimed_epsilon(epsilon)
    lines: dict[str, list[dict[str, Any]]] = {"exact": [], "shown": []}
    for check in exact_checks.checks(claimed):
        cases = f"{check.cases:,} cases"
        lines["exact"].append(_line(check.what, claimed, check.largest, cases, holds=check.holds, as_json=as_json))
    for publication in ways or publications.PUBLICATIONS:
        with stages() as show:
            show(f"publishing {2 * runs:,} times, {publication}")
            bound = publications.audit_publications(publication, claimed, runs, jobs=jobs)
        seen = f"{bound.hits:,} of {runs:,} outputs speak for the person, and {bound.hits_without:,} without"
        what = f"{publication}: at least"
        lines["shown"].append(_line(what, claimed, bound.least_epsilon, seen, holds=bound.holds, as_json=as_json))
    if as_json:
        click.echo(json.dumps(lines))
    if broken := [line["what"] for line in (*lines["exact"], *lines["shown"]) if not line["kept"]]:
        finish([f"more than the ε that is claimed was found: {what}" for what in broken], REFUSED)


def _line(what: str, claimed: Fraction, epsilon: float, seen: str, *, holds: bool, as_json: bool) -> dict[str, Any]:
    """Print the result of an audit, and whether the claimed ε holds; return it for JSON."""
    if not as_json:
        click.echo(f"{'ok    ' if holds else 'BROKEN'}  {what} {epsilon:.4g} of {exact_text(claimed)}  ({seen})")
    return {"what": what, "claimed": exact_text(claimed), "found": epsilon, "seen": seen, "kept": holds}
