"""From an operator's database to a verified download: the table is chosen by name, and its rows stay where they are."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import duckdb
import psycopg
import pytest
from playwright.sync_api import Page, expect

import dpengine as dpe
from tests.browser.actions import BUY, choose, download, load_plan, press, publish
from tests.browser.conftest import NewPage
from tests.serving import Served, served

MADE = (
    "CREATE TABLE patients AS SELECT CAST(i % 90 AS INTEGER) AS age, "
    "CASE i % 3 WHEN 0 THEN 'North' WHEN 1 THEN 'South' ELSE 'Paris, TX' END AS region "
    "FROM generate_series(0, 899) AS s(i)"
)


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory, postgres: str) -> Iterator[Served]:
    """The app with the same table in two databases, one that is not there, and an empty one."""
    folder = tmp_path_factory.mktemp("databases")
    with psycopg.connect(postgres, autocommit=True) as connection:
        connection.execute("CREATE SCHEMA clinic")
        connection.execute("CREATE SCHEMA empty")
        for table in ("patients", "visitors"):
            connection.execute(MADE.replace("patients", f"clinic.{table}"))
        connection.execute("DELETE FROM clinic.visitors WHERE age = 89")
    with duckdb.connect(str(folder / "archive.duckdb")) as connection:
        connection.execute(MADE)
    secrets = f"""
        [connections_for_release.registry]
        url = "{postgres}"
        schema = "clinic"
        [connections_for_release.archive]
        url = "duckdb://{folder / "archive.duckdb"}"
        [connections_for_release.gone]
        url = "postgresql://reader:s3cret@127.0.0.1:1/gone"
        [connections_for_release.empty]
        url = "{postgres}"
        schema = "empty"
    """
    with served(folder, secrets) as running:
        yield running


@pytest.fixture(scope="module")
def address(app: Served) -> str:
    return app.address


def chosen(page: Page, database: str, table: str = "patients") -> Page:
    """A table of a database, opened and planned up to the bill."""
    press(page.get_by_text("A table of a database"))
    choose(page.get_by_role("combobox", name="Database"), database)
    choose(page.get_by_role("combobox", name="Table or view"), table)
    press(page.get_by_role("button", name="Open it"))
    expect(page.get_by_text("Columns that matter")).to_be_visible()
    load_plan(page, table)
    return page


@pytest.mark.nightly
def test_a_table_is_published_once_wherever_its_rows_are(new_page: NewPage, tmp_path: Path) -> None:
    first = chosen(new_page(), "registry")
    expect(first.get_by_text("registry: patients · 2 columns · 900 rows")).to_be_visible()
    publish(first)
    bundle = download(first, tmp_path, "first.zip")
    manifest = dpe.verify(bundle)
    assert (manifest["dataset"], manifest["guarantee"]["epsilon"]) == ("patients", "1")
    again = chosen(new_page(), "archive")
    expect(again.get_by_text("Already published: costs 0.")).to_be_visible()
    publish(again)
    assert download(again, tmp_path, "again.zip").read_bytes() == bundle.read_bytes()


@pytest.mark.nightly
def test_what_the_database_is_at_is_stopped_on_a_phone_and_nothing_is_spent(new_page: NewPage, postgres: str) -> None:
    page = chosen(new_page(width=390, height=844, dark=True), "registry", "visitors")
    with psycopg.connect(postgres) as lock:
        lock.execute("LOCK TABLE clinic.visitors IN ACCESS EXCLUSIVE MODE")  # now whoever reads it waits
        press(page.get_by_role("button", name=BUY))
        expect(page.get_by_text("You can visit other pages meanwhile")).to_be_visible()
        assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
        page.get_by_role("button", name="Stop").click()
        expect(page.get_by_text("Stopped before any noise was drawn. Nothing was spent.")).to_be_visible()


@pytest.mark.nightly
def test_a_missing_table_is_reported_and_another_can_be_chosen(new_page: NewPage) -> None:
    page = new_page()
    press(page.get_by_text("A table of a database"))
    database = page.get_by_role("combobox", name="Database")
    choose(database, "gone")
    expect(page.get_by_text("cannot be read just now")).to_be_visible()
    assert "s3cret" not in page.content()
    choose(database, "empty")
    expect(page.get_by_text("no table or view")).to_be_visible()
    choose(database, "archive")
    expect(page.get_by_role("combobox", name="Table or view")).to_be_visible()
