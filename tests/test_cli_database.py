"""Tables of databases on the command line, by an address in place of a file."""

from __future__ import annotations

from pathlib import Path

import duckdb
import psycopg
import pytest

from dpengine import verify
from tests.plans import CLINIC
from tests.test_cli import run

ROWS = "CREATE TABLE {name} AS SELECT 1 AS age, 'North' AS region, DATE '2024-01-01' AS visit"


@pytest.fixture
def plan(tmp_path: Path) -> Path:
    path = tmp_path / "plan.yaml"
    path.write_text(CLINIC, encoding="utf-8")
    return path


@pytest.fixture
def options(tmp_path: Path) -> list[object]:
    return ["-o", tmp_path / "r.zip", "--ledger", f"sqlite:///{tmp_path}/l.db"]


def test_a_table_in_postgresql_is_published_by_its_address(
    postgres: str, plan: Path, options: list[object], tmp_path: Path
) -> None:
    with psycopg.connect(postgres, autocommit=True) as connection:
        connection.execute("CREATE SCHEMA IF NOT EXISTS registry")
        connection.execute(ROWS.format(name="registry.cli_visits"))
    try:
        template = run("columns", postgres, "--table", "registry.cli_visits")
        assert '"cli_visits"' in template.stdout
        done = run("release", plan, postgres, "--table", "registry.cli_visits", *options)
        assert done.exit_code == 0, done.stderr
        verify(tmp_path / "r.zip")
    finally:
        with psycopg.connect(postgres, autocommit=True) as connection:
            connection.execute("DROP SCHEMA registry CASCADE")


def test_an_address_needs_a_table_and_takes_no_options_of_files(
    plan: Path, options: list[object], tmp_path: Path
) -> None:
    with duckdb.connect(str(tmp_path / "c.duckdb")) as database:
        database.execute(ROWS.format(name="visits"))
    address = f"duckdb://{tmp_path}/c.duckdb"
    assert run("release", plan, address, "--table", "visits", *options).exit_code == 0
    unnamed = run("release", plan, address, *options)
    assert (unnamed.exit_code, "--table NAME or --table SCHEMA.NAME" in unnamed.stderr) == (2, True)
    weighted = run("release", plan, address, "--table", "visits", "--frequency", "age", *options)
    assert (weighted.exit_code, "is counted as it is" in weighted.stderr) == (2, True)


def test_what_a_driver_says_is_told_without_the_password(
    plan: Path, options: list[object], caplog: pytest.LogCaptureFixture
) -> None:
    address = "postgresql://reader:pass-canary@127.0.0.1:1/registry?connect_timeout=2"
    done = run("release", plan, address, "--table", "visits", *options)
    assert done.exit_code != 0
    assert "the database 'postgresql' cannot be read just now" in done.stderr
    assert "pass-canary" not in done.stdout + done.stderr + caplog.text
