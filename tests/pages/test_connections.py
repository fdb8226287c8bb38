"""Tables of the operator's databases: by name, and with nothing told of where they are."""

from __future__ import annotations

import os
from pathlib import Path

import duckdb
import psycopg
import pytest
from streamlit.testing.v1 import AppTest

import dpengine as dpe
from tests.pages.following import settled
from tests.pages.test_publishing import press, texts

ROOT = Path(__file__).parent.parent.parent


def visit(**urls: str) -> AppTest:
    page = AppTest.from_file(str(ROOT / "app.py"), default_timeout=60)
    if urls:
        page.secrets["connections_for_release"] = {name: {"url": url} for name, url in urls.items()}
    return page.run()


def choose(page: AppTest, label: str, option: str) -> AppTest:
    next(box for box in page.selectbox if box.label == label).select(option).run()
    assert not page.exception
    return page


def options(page: AppTest, label: str) -> list[str]:
    return list(next(box for box in page.selectbox if box.label == label).options)


@pytest.fixture
def archive(tmp_path: Path) -> str:
    path = tmp_path / "archive-at-hidden-place.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute("CREATE TABLE people AS SELECT i % 90 AS age, i % 2 = 0 AS smokes FROM range(3000) t(i)")
        connection.execute("CREATE VIEW adults AS SELECT * FROM people WHERE age >= 18")
        connection.execute("CREATE SCHEMA old; CREATE TABLE old.people AS SELECT * FROM people")
    return f"duckdb://{path}"


def test_without_an_operators_list_there_is_nothing_to_choose() -> None:
    page = visit()
    assert not page.exception
    assert not any(box.label == "Database" for box in page.selectbox)


def test_a_table_or_view_of_a_file_is_chosen_by_name_and_published(archive: str) -> None:
    page = choose(visit(archive=archive), "Database", "archive")
    assert options(page, "Table or view") == ["adults", "old.people", "people"]
    press(choose(page, "Table or view", "adults"), "Open it")
    assert "adults · 2 columns · 2,388 rows" in texts(page)
    assert page.session_state["entries"].dataset == "adults"
    page.multiselect[0].set_value(["age", "smokes"]).run()
    for _ in range(2):
        next(button for button in page.button if "Go on" in button.label).click().run()
    page.radio[0].set_value(False).run()
    next(button for button in page.button if "Go on" in button.label).click().run()
    settled(press(settled(page), "Publish once"))
    assert "What it says" in texts(page)
    assert len(dpe.Ledger(os.environ["PRIVATE_RELEASE_LEDGER"]).history()) == 1


def test_the_tables_of_postgresql_are_listed(postgres: str) -> None:
    with psycopg.connect(postgres, autocommit=True) as connection:
        connection.execute("CREATE TABLE visitors AS SELECT i % 90 AS age FROM generate_series(1, 1000) AS s(i)")
        connection.execute("CREATE VIEW grown AS SELECT * FROM visitors WHERE age >= 18")
    page = choose(visit(registry=postgres), "Database", "registry")
    assert {"visitors", "grown"} <= set(options(page, "Table or view"))


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://reader:s3cret@127.0.0.1:1/registry",
        "duckdb:///nowhere/at-hidden-place.duckdb",
        "nonsense://s3cret",
        "s3cret",
    ],
)
def test_what_cannot_be_reached_is_said_without_its_address(url: str) -> None:
    page = choose(visit(registry=url), "Database", "registry")
    assert "cannot be read just now" in texts(page)
    for hidden in ("s3cret", "127.0.0.1", "nowhere", "hidden", "reader"):
        assert hidden not in str(page.main)
    assert not any(box.label == "Table or view" for box in page.selectbox)
