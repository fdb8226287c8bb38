"""The command line: from table to bundle, for scripts and schedules.

Results go to standard output; messages, one line for each fault, and progress to standard error. Exit statuses are
those of `MEANINGS`. Each command imports only what it needs.
"""

from __future__ import annotations

import json
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from io import TextIOWrapper
from pathlib import Path
from typing import Any

import click

from dpengine.cli.ask import ask
from dpengine.cli.audit import audit
from dpengine.cli.codebook import codebook
from dpengine.cli.combine import combine
from dpengine.cli.compare import compare
from dpengine.cli.export import export
from dpengine.cli.ledger import ledger
from dpengine.cli.options import PATH, reading_options, reporting
from dpengine.cli.output import MEANINGS, error_entries, faults, say, say_errors, stages, warn
from dpengine.cli.percentages import percentages
from dpengine.cli.release import release
from dpengine.cli.replicates import replicates
from dpengine.cli.rows_kept import rows_kept
from dpengine.cli.settings import settings
from dpengine.cli.tables import TABLE, Given, dataset_of, open_given
from dpengine.cli.verify import verify
from dpengine.errors import PlanError, TableError
from dpengine.exact import exact_text
from dpengine.version import VERSION

__all__ = ["main"]


FIRST_STEPS = """\b
First steps, on a sample:
  private-release samples DIR             copies the samples
  private-release predict DIR/rand.plan.yaml
  private-release release DIR/rand.plan.yaml DIR/rand.csv.gz -o rand.zip
  private-release verify rand.zip
For a table of your own, begin with `private-release columns TABLE > plan.yaml`.

"""
EPILOG = f"{FIRST_STEPS}\b\nExit status:\n" + "\n".join(f"  {code:<4} {meaning}" for code, meaning in MEANINGS.items())


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100}, epilog=EPILOG)
@click.version_option(VERSION, message="%(version)s")
@click.pass_context
def main(context: click.Context) -> None:
    """Publish differentially private tables: plan, predict, release, verify."""
    if context.invoked_subcommand != "app":
        context.with_resource(_clearing_up_on_signals())
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # a label that the terminal cannot show is escaped


for command in (ask, audit, codebook, combine, compare, export, ledger, percentages, release, replicates, rows_kept,
                settings, verify):  # fmt: skip
    main.add_command(command)


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
@click.argument("table", type=TABLE)
@click.option(
    "--codebook",
    "book",
    type=PATH,
    metavar="FILE",
    help="What is publicly known of columns: YAML, CSV, Excel, SPSS, CSVW-EO, Table Schema or DDI.",
)
@reading_options
@reporting
def columns(table: Given, book: Path | None, reading: dict[str, Any], as_json: bool) -> None:
    """Print a first plan for TABLE, with blanks to fill in.

    It has names and kinds of columns, and never a value from the rows.
    """
    from dpengine.isolation import run

    run.warm()  # another process imports the file readers while this one imports the rest
    from dpengine.sources.codebook_file import load_codebook
    from dpengine.sources.plan_template import DOUBT, first_plan, header_doubt

    codebook = None if book is None else load_codebook(book)
    for sentence in codebook.refused if codebook else ():
        warn(f"not read: {sentence}")
    try:
        opened = open_given(table, reading)
    except TableError as error:
        if any(fault.path[:1] == ("header",) for fault in error.faults):
            warn(DOUBT)
        raise
    with opened:
        if doubt := header_doubt(field.name for field in opened.columns):
            warn(doubt)
        text = first_plan(opened.columns, dataset=dataset_of(table, reading), book=codebook)
        if as_json:
            listed = [{"name": field.name, "kind": field.kind_hint} for field in opened.columns]
            click.echo(json.dumps({"columns": listed, "plan": text}))
            return
        click.echo(text, nl=False)


@main.command()
@click.argument("plan", type=PATH)
@click.option("--epsilon", "epsilons", multiple=True, help="Predict at this ε instead of the plan's; may be repeated.")
@reporting
def predict(plan: Path, epsilons: tuple[str, ...], as_json: bool) -> None:
    """Print the price of a release of PLAN and its expected errors. Reads no table.

    mean_abs_error is how far a number of a table is off on average. Of 100 numbers, about 95 are off by half_width_95
    at most. The total of a table is off by total_half_width_95 at most, 95 times in 100. All are numbers of people, or
    of rows; where some tables count people and others rows, counts says which.
    """
    from dpengine.measure.strategy import decide, decided_by_size
    from dpengine.results import predict as prediction
    from dpengine.spec.counted_wording import found_in_words
    from dpengine.spec.plan import Plan

    loaded = Plan.load(plan)
    with stages() as show:
        show("predicting")
        frame = prediction.predict(loaded, epsilons or None)
    try:
        decide(loaded).check()
    except PlanError as refused:
        warn(f"a release of this plan is refused: {refused}")
    modelled = [rows for rows, strategy in decided_by_size(loaded).items() if strategy == "adaptive"]
    if modelled:
        warn(
            f"the plan does not say how many rows there are: with about {max(modelled):,} or fewer, a model would be "
            "more accurate than measuring each table. State a public, rough number as rows_about: auto goes by it"
        )
    if as_json:
        finds = {name: exact_text(loaded.epsilon * loaded.column(name).share) for name in loaded.found_columns}
        price = {"dataset": loaded.dataset, "epsilon": exact_text(loaded.epsilon)} | ({"finds": finds} if finds else {})
        click.echo(json.dumps(price | {"tables": error_entries(frame)}))
        return
    budget = f"the budget of {loaded.dataset}"
    say(f"each ε from {budget}" if epsilons else f"ε = {exact_text(loaded.epsilon)} from {budget}")
    if loaded.found_columns:
        say(found_in_words(loaded))
    say_errors(frame)


@main.command(context_settings={"ignore_unknown_options": True})
@click.argument("options", nargs=-1, type=click.UNPROCESSED, metavar="[STREAMLIT OPTION]...")
@faults
def app(options: tuple[str, ...]) -> None:
    """Open the page in the browser.

    Options of Streamlit may follow, e.g. --server.port 8502.
    """
    from dpengine import installed

    installed.run_page(options)


@main.command(context_settings={"ignore_unknown_options": True})
@click.argument("options", nargs=-1, type=click.UNPROCESSED, metavar="[STREAMLIT OPTION]...")
@faults
def demo(options: tuple[str, ...]) -> None:
    """Open the page as a demonstration, with public samples only.

    Nobody can bring files, and each visitor has a ledger in memory. Options of Streamlit may follow, e.g. --server.port
    8502.
    """
    from dpengine import installed

    installed.run_page(options, demo=True)


@main.command()
@click.argument("folder", type=click.Path(path_type=Path, file_okay=False))
@reporting
def samples(folder: Path, as_json: bool) -> None:
    """Copy the sample tables and their plans into FOLDER."""
    from dpengine import installed

    names = [path.name for path in installed.copy_samples(folder)]
    click.echo(json.dumps({"files": names}) if as_json else "\n".join(names))
