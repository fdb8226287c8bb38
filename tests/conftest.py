"""Shared by all tests: no test ever touches a person's own ledger."""

from __future__ import annotations

import gc
import logging
import os
import secrets
import signal
import tempfile
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psycopg
import pyarrow as pa
import pytest
from hypothesis import settings
from xdist.scheduler import LoadGroupScheduling

from dpengine import Plan, preview
from dpengine.bundle import report, write
from dpengine.results.result import Result
from tests import engines, serving
from tests.directories import pytest_collect_directory  # noqa: F401  (a hook)
from tests.earlier import ledgers
from tests.plans import CLINIC

if TYPE_CHECKING:
    from playwright.sync_api import Browser
    from pyspark.sql import SparkSession

# The same examples in each run, more of them by night; PRIVATE_RELEASE_EXAMPLES asks for yet more.
NIGHTLY = bool(os.environ.get("PRIVATE_RELEASE_NIGHTLY"))
EXAMPLES = int(os.environ.get("PRIVATE_RELEASE_EXAMPLES", "20" if NIGHTLY else "10"))
settings.register_profile("ci", max_examples=EXAMPLES, deadline=None, derandomize=True)
settings.load_profile("ci")


def examples(by_day: int, by_night: int) -> int:
    """Return the number of examples for a test whose examples take long."""
    return by_night if NIGHTLY else by_day


# What a shell runs in the background ignores Ctrl-C, and so would every process that the tests start.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

gc.disable()  # while modules are imported and tests are collected: hardly any of it is garbage


def pytest_collection_finish() -> None:
    """Look for garbage again, but not among modules and tests, and seldom; have all loggers pass on their records."""
    gc.collect()
    gc.freeze()
    gc.enable()
    gc.set_threshold(20_000)  # pages make many objects, of which hardly any are in cycles
    for logger in logging.root.manager.loggerDict.values():
        if isinstance(logger, logging.Logger):
            logger.propagate = True  # else pytest hangs its handlers on each one of Streamlit's, six times in each test


@pytest.hookimpl(optionalhook=True)  # so that the tests run without xdist, too
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Have the tests of a file run in one process, which makes once what they share; named groups stay whole."""
    if config.getoption("dist") != "loadgroup":
        return None
    config.option.loadscopereorder = False  # it would put last what has few tests, which are the longest ones
    scheduler = LoadGroupScheduling(config, log)
    group_of = scheduler._split_scope

    def group_or_file(nodeid: str) -> str:
        group: str = group_of(nodeid)
        return nodeid.partition("::")[0] if group == nodeid else group

    scheduler._split_scope = group_or_file
    return scheduler


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Skip slow tests, unless this is the nightly run or a mark was asked for; begin with named groups, the longest.

    Of a test with the mark `by_day(n)`, n of its cases run by day, evenly spread, and all of them by night. What needs
    heavy engines is left to the run that has them (tests/run.sh), where one that is missing is a failure.
    """
    apart = [] if os.environ.get("PRIVATE_RELEASE_ENGINES") else ["engines"]
    if not (os.environ.get("PRIVATE_RELEASE_NIGHTLY") or config.option.markexpr):
        apart.append("nightly")
    left = {item for item in items if any(item.get_closest_marker(mark) for mark in apart)}
    if "nightly" in apart:
        left |= set(_beyond_those_by_day([item for item in items if item not in left]))
    config.hook.pytest_deselected(items=[item for item in items if item in left])
    items[:] = [item for item in items if item not in left]
    items.sort(key=lambda item: item.get_closest_marker("xdist_group") is None)


def _beyond_those_by_day(items: list[pytest.Item]) -> list[pytest.Item]:
    """Return the cases that are left to the nightly run, of tests with the mark `by_day(n)`."""
    cases: dict[str, list[pytest.Item]] = {}
    for item in items:
        if item.get_closest_marker("by_day"):
            cases.setdefault(item.nodeid.partition("[")[0], []).append(item)
    left = []
    for of_one in cases.values():
        marker = of_one[0].get_closest_marker("by_day")
        most = min(marker.args[0] if marker else len(of_one), len(of_one))
        places = {k * len(of_one) // most for k in range(most)}
        left += [item for k, item in enumerate(of_one) if k not in places]
    return left


# Of the 5 MB of a bundle, 4.9 are this script: most of the work of packing and of verifying one. Tests in which a
# browser draws a report, or that read the script, have it (`plotly_in_reports`), and so has what other processes pack.
_script_of_plotly = report._script_of_plotly
report._script_of_plotly = lambda: b"/* Plotly, left out */"

_folder = tempfile.TemporaryDirectory(prefix="private-release-tests-")
_numbers = count()
os.environ["PRIVATE_RELEASE_LEDGER"] = f"sqlite:///{_folder.name}/ledger.db"
os.environ["PRIVATE_RELEASE_STATE"] = f"{_folder.name}/state"
os.environ["PRIVATE_RELEASE_SETTINGS"] = os.devnull  # no test reads a person's own settings


@pytest.fixture(scope="module")
def result() -> Result:
    """A finished release of a made-up clinic."""
    return preview(Plan.loads(CLINIC))


@pytest.fixture(scope="module")
def bundle(result: Result) -> bytes:
    return write.pack(result)


@pytest.fixture(scope="module")
def plotly_in_reports() -> Iterator[None]:
    """Reports hold the script that draws their figures, as outside of tests."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(report, "_script_of_plotly", _script_of_plotly)
        yield


@pytest.fixture
def ledger_url(tmp_path: Path) -> str:
    """A ledger of its own for one test."""
    return f"sqlite:///{tmp_path / 'ledger.db'}"


@pytest.fixture(scope="session")
def postgres() -> Iterator[str]:
    """The address of a PostgreSQL server that all tests of this process share."""
    with engines.postgres() as address:
        yield address


@pytest.fixture(scope="session")
def spark_session() -> Iterator[SparkSession]:
    """Spark; tests that use it are in one group, so that one process starts it."""
    with engines.spark() as session:
        yield session


@pytest.fixture
def spark(spark_session: SparkSession) -> Iterator[SparkSession]:
    """The same for one test, which closes what PySpark leaves to the collector: another test would fail of it."""
    yield spark_session
    gc.collect()


SPARK = pytest.mark.xdist_group("spark")


@pytest.fixture(scope="session")
def chromium() -> Iterator[Browser]:
    """One browser, whose tabs share a process: it then reads only once what all pages share.

    A worker drives no second one, which Playwright refuses.
    """
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        arguments = [*serving.QUIET, "--process-per-site"]
        browser = playwright.chromium.launch(executable_path=serving.chromium(), args=arguments)
        yield browser
        browser.close()


@pytest.fixture(params=["duckdb", "postgres", pytest.param("spark", marks=SPARK)])
def in_any_engine(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Callable[[pa.Table], Any]]:
    """A function from an Arrow table to an Ibis table in another engine."""
    yield from _in_engine(request, tmp_path)


@pytest.fixture(params=["duckdb", "postgres", pytest.param("spark", marks=(SPARK, pytest.mark.nightly))])
def in_engine(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Callable[[pa.Table], Any]]:
    """The same, Spark by night: that it starts, counts, recognises and keeps rows, `in_any_engine` shows by day."""
    yield from _in_engine(request, tmp_path)


def _in_engine(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Callable[[pa.Table], Any]]:
    from tests import ibis_tables  # Ibis takes long to load

    tables: list[Any] = []

    def put(table: pa.Table) -> Any:
        match request.param:
            case "duckdb":
                tables.append(ibis_tables.in_duckdb(table))
            case "postgres":
                tables.append(ibis_tables.in_postgres(table, request.getfixturevalue("postgres")))
            case "spark":
                return ibis_tables.in_spark(table, request.getfixturevalue("spark"), tmp_path)
        return tables[-1]

    yield put
    for table in tables:
        table.get_backend().disconnect()


@pytest.fixture(params=["sqlite", "postgres"])
def stored_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Where a ledger of this test's own may live: in a file, and on a server."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'ledger.db'}"
    return empty_schema(request.getfixturevalue("postgres"))


def empty_schema(postgres: str) -> str:
    """The address of a schema that nothing is in yet."""
    name = f"s{secrets.token_hex(8)}"
    with psycopg.connect(postgres, autocommit=True) as connection:
        connection.execute(f"CREATE SCHEMA {name}")
    return f"{postgres}?options=-csearch_path%3D{name}"


@pytest.fixture(params=["sqlite", "postgres"])
def old_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The address of a ledger that version 0.1.0 wrote, in a file and on a server."""
    if request.param == "sqlite":
        return ledgers.in_a_file(tmp_path)
    return ledgers.on_a_server(request.getfixturevalue("postgres"))


@pytest.fixture(autouse=True)
def own_ledger(monkeypatch: pytest.MonkeyPatch) -> None:
    """The default ledger is a fresh one in each test; few need it, so it has no folder made for it."""
    monkeypatch.setenv("PRIVATE_RELEASE_LEDGER", f"sqlite:///{_folder.name}/{next(_numbers)}.db")
