"""The command line: from table to bundle, for scripts and schedules.

Results go to standard output; messages, one line for each fault, and progress to standard error. Exit statuses are
those of `MEANINGS`. Each command imports only what it needs.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from io import TextIOWrapper
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dpengine.cli.ask import ask
from dpengine.cli.codebook import codebook
from dpengine.cli.common import (
    MEANINGS,
    REFUSED,
    WRONG_USE,
    announce_new,
    faults,
    finish,
    json_option,
    ledger_option,
    likeness,
    open_ledger,
    option,
    other_people_option,
    owner_option,
    printable,
    reading_options,
    say,
    stages,
    warn,
)
from dpengine.cli.export import export
from dpengine.cli.ledger import ledger
from dpengine.cli.replicates import replicates
from dpengine.cli.rows_kept import rows_kept
from dpengine.cli.settings import settings
from dpengine.errors import PlanError, TableError
from dpengine.exact import exact_text

if TYPE_CHECKING:
    from fractions import Fraction

__all__ = ["main"]


EPILOG = "\b\nExit status:\n" + "\n".join(f"  {status:<4} {meaning}" for status, meaning in MEANINGS.items())


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100}, epilog=EPILOG)
@click.pass_context
def main(context: click.Context) -> None:
    """Publish differentially private tables: plan, predict, release, verify."""
    if context.invoked_subcommand != "app":
        context.with_resource(_clearing_up_on_signals())
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # a label that the terminal cannot show is escaped


main.add_command(ask)
main.add_command(codebook)
main.add_command(export)
main.add_command(ledger)
main.add_command(replicates)
main.add_command(rows_kept)
main.add_command(settings)


@contextmanager
def _clearing_up_on_signals() -> Iterator[None]:
    """Exit as after an error when the system sends a signal, so that no copy of rows is left behind."""
    if threading.current_thread() is not threading.main_thread():  # signals are for the main one
        yield
        return
    numbers = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
    before = {number: signal.signal(number, lambda number, _: sys.exit(128 + number)) for number in numbers}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@main.command()
@click.argument("table", type=click.Path(path_type=Path))
@click.option(
    "--codebook",
    "book",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="What is publicly known of columns: YAML, CSV, Excel, SPSS, CSVW-EO, Table Schema or DDI.",
)
@reading_options
@json_option
@faults
def columns(table: Path, book: Path | None, reading: dict[str, Any], as_json: bool) -> None:
    """Print a first plan for TABLE, with blanks to fill in.

    It has names and kinds of columns, and never a value from the rows.
    """
    from dpengine.isolation import run

    run.warm()  # it loads the readers of files while this process loads the rest
    from dpengine.sources.codebook_file import load_codebook
    from dpengine.sources.open import open_table
    from dpengine.sources.plan_template import DOUBT, first_plan, header_doubt

    codebook = None if book is None else load_codebook(book)
    for sentence in codebook.refused if codebook else ():
        warn(f"not read: {sentence}")
    try:
        opened = open_table(table, **reading)
    except TableError as error:
        if any(fault.path == ("header",) for fault in error.faults):
            warn(DOUBT)
        raise
    with opened:
        if doubt := header_doubt(field.name for field in opened.columns):
            warn(doubt)
        text = first_plan(opened.columns, dataset=table.name.split(".")[0], book=codebook)
        if as_json:
            listed = [{"name": field.name, "kind": field.kind_hint} for field in opened.columns]
            click.echo(json.dumps({"columns": listed, "plan": text}))
            return
        click.echo(text, nl=False)


@main.command()
@click.argument("plan", type=click.Path(path_type=Path))
@click.option("--epsilon", "epsilons", multiple=True, help="Predict at this ε as well; may be repeated.")
@json_option
@faults
def predict(plan: Path, epsilons: tuple[str, ...], as_json: bool) -> None:
    """Print the price of a release of PLAN and its expected errors. Reads no table."""
    from dpengine.measure.strategy import decide
    from dpengine.results import predict as prediction
    from dpengine.spec.plan import Plan
    from dpengine.spec.wording import found_in_words

    loaded = Plan.load(plan)
    with stages() as show:
        show("predicting")
        frame = prediction.predict(loaded, epsilons or None)
    try:
        decide(loaded).check()
    except PlanError as refused:
        warn(f"a release of this plan is refused: {refused}")
    if as_json:
        rows = frame.astype(object).where(frame.notna(), None).to_dict(orient="records")
        finds = {name: exact_text(loaded.epsilon * loaded.column(name).share) for name in loaded.finds}
        price = {"dataset": loaded.dataset, "epsilon": exact_text(loaded.epsilon)} | ({"finds": finds} if finds else {})
        click.echo(json.dumps(price | {"tables": rows}))
        return
    say(f"ε = {exact_text(loaded.epsilon)} from the budget of {loaded.dataset}")
    if loaded.finds:
        say(found_in_words(loaded))
    frame["table"] = frame["table"].map(printable)
    click.echo(frame.to_string(index=False, float_format=lambda number: f"{number:.4g}"))


@main.command()
@click.argument("plan", type=click.Path(path_type=Path))
@click.argument("table", type=click.Path(path_type=Path))
@click.option("-o", "--output", type=click.Path(path_type=Path, dir_okay=False), required=True,
              help="Bundle to write: a file, or a pipe such as /dev/stdout.")  # fmt: skip
@reading_options
@ledger_option
@owner_option
@other_people_option
@json_option
@faults
def release(  # click hands over one parameter for each argument and option
    plan: Path,
    table: Path,
    output: Path,
    reading: dict[str, Any],
    url: str | None,
    owner: str,
    other_people: bool,
    as_json: bool,
) -> None:
    """Publish PLAN of TABLE once, and charge the ledger.

    Writes the release bundle. Where a second person has to approve, send PLAN with `ledger approval send` first.
    """
    from dpengine.isolation import run

    run.warm()  # it imports the file readers while this process imports the rest
    from dpengine.accounting.drawing import LAST_STAGE
    from dpengine.accounting.entry import same_name
    from dpengine.bundle.write import check_place
    from dpengine.release import is_recorded
    from dpengine.release import release as publish
    from dpengine.results.mostly_other import mostly_other
    from dpengine.sources.open import open_table
    from dpengine.spec.plan import Plan

    loaded = Plan.load(plan)
    try:
        check_place(output)
    except OSError as error:
        finish([f"{output.name} cannot be written ({error.strerror}); nothing was spent"], WRONG_USE)
    beside = _is_standard_output(output)  # then the summary goes to standard error: nothing may follow a bundle
    ledger = open_ledger(url, owner)
    again = "the release is recorded, and running this again writes it at no cost"
    reached: list[str] = []
    unwritten: OSError | None = None
    with stages() as show, open_table(table, **reading) as opened:
        try:
            progress = _both(reached.append, show)
            finished = publish(opened, loaded, ledger, progress=progress, other_people=other_people)
            try:
                finished.save(output)
            except OSError as error:
                unwritten = error
        except (KeyboardInterrupt, SystemExit):
            if LAST_STAGE in reached and is_recorded(opened, loaded, ledger):
                warn(f"stopped, but {again}")
            raise
    if unwritten is not None:
        finish([f"{output.name} could not be written ({unwritten.strerror}); {again}"], WRONG_USE)
    announce_new(ledger)
    entry = ledger.entry(finished.release_id)
    assert entry is not None
    dataset = entry.dataset  # the charged dataset: the same data may have been published before under another name
    left = ledger.left(dataset)
    in_other = mostly_other(finished)
    summary = {
        "release_id": finished.release_id,
        "epsilon": exact_text(loaded.epsilon),
        "dataset": dataset,
        "spent": exact_text(ledger.spent(dataset)),
        "left": None if left is None else exact_text(left),
        "output": output.name,
        "recognised": [asdict(each) for each in entry.recognised],
        "mostly_other": in_other,
    }
    if as_json:
        click.echo(json.dumps(summary), err=beside)
        return
    rest = "no cap is set" if left is None else f"left {summary['left']}"
    lines = [
        f"{output.name}: release {summary['release_id']}, ε = {summary['epsilon']}",
        f"{dataset}: spent {summary['spent']} in all, {rest}",
        *(f"{dataset}: {likeness(**asdict(each))}" for each in entry.recognised),
    ]
    if same_name(dataset) != same_name(loaded.dataset):
        lines.append(
            f"{loaded.dataset}: nothing was spent, since the same tables of the same data were published before"
        )
    for line in lines:
        say(line, err=beside)
    for name in in_other:
        warn(f"{name}: more than half of the rows are in (other), as published; if that is not meant, its values are "
             "written in another way than the plan says")  # fmt: skip


def _both(first: Callable[[str], None], second: Callable[[str], None]) -> Callable[[str], None]:
    def call(stage: str) -> None:
        first(stage)
        second(stage)

    return call


def _is_standard_output(path: Path) -> bool:
    try:
        return os.path.samestat(path.stat(), os.fstat(1))
    except OSError:  # there is nothing at the path yet, or no standard output
        return False


@main.command()
@click.argument("bundle", type=click.Path(path_type=Path))
@click.option(
    "--key",
    metavar="FILE|TEXT",
    help="The key that must have signed BUNDLE: its fingerprint, or a file with what `ledger key` prints.",
)
@json_option
@faults
def verify(bundle: Path, key: str | None, as_json: bool) -> None:
    """Check that BUNDLE is whole and consistent, and who signed it."""
    from dpengine.bundle.signature import MEANING, read_key
    from dpengine.bundle.verify import PROSE, examine

    expected = None if key is None else option(read_key, _key_text(key))
    manifest, signer, _ = examine(bundle, expected)
    if as_json:
        click.echo(json.dumps({"release_id": manifest["release_id"], "guarantee": manifest["guarantee"], "faults": [],
                               "not_read": PROSE, "signed_by": signer, "expected_key": expected}))  # fmt: skip
        return
    epsilon = manifest["guarantee"]["epsilon"]
    say(f"{bundle.name}: whole and consistent; release {manifest['release_id']}, ε = {epsilon}")
    click.echo(f"not read: the text of {', '.join(PROSE)}; only their checksums are compared with the manifest")
    if signer is None:
        click.echo("unsigned: an earlier version made this file, or its signature was taken away; anyone may have "
                   "changed it. If you expect a signature, give its key with --key")  # fmt: skip
        return
    click.echo(f"signed by {signer}, {'which is not compared with any key' if expected is None else 'as expected'}")
    click.echo(MEANING)


def _key_text(given: str) -> str | bytes:
    """Return the text of a key: the beginning of a file of this name, or else the name itself."""
    try:
        with open(given, "rb") as file:
            return file.read(10_000)
    except (OSError, ValueError):
        return given


@main.command()
@click.option("--epsilon", default="1", show_default=True, help="The ε that is claimed, from 0.01 to 10.")
@click.option("--runs", default=300, show_default=True, help="Publications with the person, and as many without.")
@click.option("--jobs", default=1, show_default=True, help="Processes to run them in.")
@click.option("--way", "ways", multiple=True, help="One way to publish, e.g. direct; may be repeated. Default: all.")
@json_option
@faults
def audit(epsilon: str, runs: int, jobs: int, ways: tuple[str, ...], as_json: bool) -> None:
    """Audit the code that publishes, on made-up tables.

    Exact checks come first, then the ε that its outputs show. Charges no budget. The status is 1 if more is found than
    is claimed. What outputs show holds with 95 % confidence, so of twenty ways that keep their promise, one may seem to
    break it: run it again.
    """
    from dpengine.audit import exact_checks, publications

    claimed = publications.claimed_epsilon(epsilon)
    lines: dict[str, list[dict[str, Any]]] = {"exact": [], "shown": []}
    for check in exact_checks.checks(claimed):
        lines["exact"].append(_audited(check.what, claimed, check.largest, f"{check.cases:,} cases", as_json=as_json))
    for way in ways or publications.WAYS:
        with stages() as show:
            show(f"publishing {2 * runs:,} times, {way}")
            bound = publications.audit_publications(way, claimed, runs, jobs=jobs)
        seen = f"{bound.hits:,} of {runs:,} outputs speak for the person, and {bound.hits_without:,} without"
        lines["shown"].append(_audited(f"{way}: at least", claimed, bound.least_epsilon, seen, as_json=as_json))
    if as_json:
        click.echo(json.dumps(lines))
    if broken := [line["what"] for line in (*lines["exact"], *lines["shown"]) if not line["kept"]]:
        finish([f"more than the ε that is claimed was found: {what}" for what in broken], REFUSED)


@main.command(context_settings={"ignore_unknown_options": True})
@click.argument("options", nargs=-1, type=click.UNPROCESSED)
@faults
def app(options: tuple[str, ...]) -> None:
    """Open the page in the browser. OPTIONS go to Streamlit, e.g. --server.port 8502."""
    from dpengine import installed

    installed.run_page(options)


@main.command(context_settings={"ignore_unknown_options": True})
@click.argument("options", nargs=-1, type=click.UNPROCESSED)
@faults
def demo(options: tuple[str, ...]) -> None:
    """Open the page as a demonstration, with public samples only.

    Nobody can bring files, and each visitor has a ledger in memory. OPTIONS go to Streamlit, e.g. --server.port 8502.
    """
    from dpengine import installed

    installed.run_page(options, demo=True)


@main.command()
@click.argument("folder", type=click.Path(path_type=Path, file_okay=False))
@json_option
@faults
def samples(folder: Path, as_json: bool) -> None:
    """Copy the sample tables and their plans into FOLDER."""
    from dpengine import installed

    names = [path.name for path in installed.copy_samples(folder)]
    click.echo(json.dumps({"files": names}) if as_json else "\n".join(names))


def _audited(what: str, claimed: Fraction, epsilon: float, seen: str, *, as_json: bool) -> dict[str, Any]:
    """Print the result of an audit, and whether the claimed ε holds; floats may be off in the ninth digit."""
    holds = epsilon <= float(claimed) * (1 + 1e-9) + 1e-9
    if not as_json:
        click.echo(f"{'ok    ' if holds else 'BROKEN'}  {what} {epsilon:.4g} of {exact_text(claimed)}  ({seen})")
    return {"what": what, "claimed": exact_text(claimed), "found": epsilon, "seen": seen, "kept": holds}
