"""Tables of the operator's databases: chosen by name, with nothing revealed of where they are."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING

import duckdb
import psycopg
import pytest
from streamlit.testing.v1 import AppTest

from dpengine.sources import connections
from pages.parts.visit import background_read
from tests.pages.visits import ENTRY, ledger, press, settled, texts, visit_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def visit(**urls: str) -> AppTest:
    page = AppTest.from_file(str(ENTRY), default_timeout=60)
    if urls:
        page.secrets["connections_for_release"] = {name: {"url": url} for name, url in urls.items()}
    return page.run()


def choose(page: AppTest, label: str, option: str) -> AppTest:
    next(box for box in page.selectbox if box.label == label).select(option).run()
    assert not page.exception
    return page


def options(page: AppTest, label: str) -> list[str]:
    return list(next(box for box in page.selectbox if box.label == label).options)


def plan(page: AppTest, *columns: str) -> AppTest:
    """From the opened table to the bill, each row a person."""
    page.multiselect[0].set_value(list(columns)).run()
    for label in ("Go on", "Confirm", "Go on"):
        for button in [button for button in page.button if label in button.label][:1]:
            button.click().run()
    page.radio[0].set_value("one").run()
    next(button for button in page.button if "Go on" in button.label).click().run()
    return settled(page)


@pytest.fixture
def archive(tmp_path: Path) -> str:
    path = tmp_path / "archive-at-hidden-place.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute("CREATE TABLE people AS SELECT i % 90 AS age, i % 2 = 0 AS smokes FROM range(3000) t(i)")
        connection.execute("CREATE VIEW adults AS SELECT * FROM people WHERE age >= 18")
        connection.execute("CREATE SCHEMA old; CREATE TABLE old.people AS SELECT * FROM people")
    return f"duckdb://{path}"


def test_no_database_is_offered_unless_the_operator_lists_one() -> None:
    page = visit()
    assert not page.exception
    assert not any(box.label == "Database" for box in page.selectbox)


def test_a_table_or_view_of_a_file_is_chosen_by_name_and_published(archive: str) -> None:
    page = choose(visit(archive=archive), "Database", "archive")
    assert options(page, "Table or view") == ["adults", "old.people", "people"]
    press(choose(page, "Table or view", "adults"), "Open it")
    assert "adults · 2 columns · 2,388 rows" in texts(page)
    assert visit_of(page).entries.dataset == "adults"
    settled(press(plan(page, "age", "smokes"), "Publish once"))
    assert "What it says" in texts(page)
    assert len(ledger().history()) == 1


def test_the_tables_of_postgresql_are_listed(postgres: str) -> None:
    with psycopg.connect(postgres, autocommit=True) as connection:
        connection.execute("CREATE TABLE visitors AS SELECT i % 90 AS age FROM generate_series(1, 1000) AS s(i)")
        connection.execute("CREATE VIEW grown AS SELECT * FROM visitors WHERE age >= 18")
        connection.execute("CREATE MATERIALIZED VIEW stored AS SELECT * FROM grown")
    page = choose(visit(registry=postgres), "Database", "registry")
    assert {"visitors", "grown", "stored"} <= set(options(page, "Table or view"))


def test_a_stop_interrupts_the_database_and_the_connection_can_still_be_used(postgres: str) -> None:
    with psycopg.connect(postgres) as other:
        other.execute("CREATE TABLE busy AS SELECT i % 90 AS age FROM generate_series(1, 1000) AS s(i)")
        other.commit()
        page = choose(visit(registry=postgres), "Database", "registry")
        press(choose(page, "Table or view", "busy"), "Open it")
        assert "1,000 rows" in texts(page)
        plan(page, "age")
        other.execute("LOCK TABLE busy IN ACCESS EXCLUSIVE MODE")  # now whoever reads it waits
        press(page, "Publish once")
        assert "Recognising the data" in texts(page)
        press(page, "Stop")
        settled(page)
        assert "Stopped before any noise was drawn. Nothing was spent." in texts(page)
        assert ledger().history() == []
    settled(press(page, "Publish once"))
    assert "What it says" in texts(page)
    assert len(ledger().history()) == 1


def test_a_database_that_counts_slowly_does_not_delay_the_page(postgres: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(background_read, "QUICK", 8.0)
    with psycopg.connect(postgres) as other:
        other.execute("CREATE TABLE slow AS SELECT i % 90 AS age FROM generate_series(1, 1000) AS s(i)")
        other.commit()
        other.execute("LOCK TABLE slow IN ACCESS EXCLUSIVE MODE")
        page = choose(visit(registry=postgres), "Database", "registry")
        press(choose(page, "Table or view", "slow"), "Open it")
        assert "its rows are being counted" in texts(page)
        page.multiselect[0].set_value(["age"]).run()
        assert not page.exception
    assert visit_of(page).readings["rows"][1].wait(20)
    assert "1,000 rows" in texts(page.run())


def test_a_question_about_rows_in_a_database_is_refused_before_it_is_entered(postgres: str) -> None:
    with psycopg.connect(postgres, autocommit=True) as connection:
        connection.execute("CREATE TABLE asked AS SELECT i % 90 AS age FROM generate_series(1, 1000) AS s(i)")
    page = choose(visit(registry=postgres), "Database", "registry")
    plan(press(choose(page, "Table or view", "asked"), "Open it"), "age")
    page.switch_page("pages/ask.py").run()
    assert not page.exception
    assert "cannot be asked about rows that stay in their database" in texts(page)
    assert not any(button.label.startswith("Ask") for button in page.button)


def test_a_connection_ends_with_its_table(postgres: str) -> None:
    def visitors() -> set[int]:
        with psycopg.connect(postgres) as own:
            found = own.execute("SELECT pid FROM pg_stat_activity WHERE backend_type = 'client backend'")
            return {pid for (pid,) in found} - {own.info.backend_pid}

    with psycopg.connect(postgres, autocommit=True) as own:
        own.execute("CREATE TABLE once AS SELECT 1 AS age")
    gone_or_known = visitors()  # connections of earlier tests may end at any time
    page = choose(visit(registry=postgres), "Database", "registry")
    press(choose(page, "Table or view", "once"), "Open it")
    (opened,) = visitors() - gone_or_known
    visit_of(page).table.close()
    patient_until = time.monotonic() + 20
    while opened in visitors() and time.monotonic() < patient_until:
        time.sleep(0.1)
    assert opened not in visitors()


@pytest.mark.by_day(2)
@pytest.mark.parametrize(
    "url",
    [
        "postgresql://reader:s3cret@127.0.0.1:1/registry",
        "duckdb:///nowhere/at-hidden-place.duckdb",
        "nonsense://s3cret",
        "s3cret",
    ],
)
def test_an_unreachable_database_is_reported_without_its_address(url: str) -> None:
    page = choose(visit(registry=url), "Database", "registry")
    assert "cannot be read just now" in texts(page)
    for hidden in ("s3cret", "127.0.0.1", "nowhere", "hidden", "reader"):
        assert hidden not in str(page.main)
    assert not any(box.label == "Table or view" for box in page.selectbox)


def test_the_operators_log_has_the_reason_and_no_password(caplog: pytest.LogCaptureFixture) -> None:
    choose(visit(registry="postgresql://reader:s3cret@127.0.0.1:1/registry"), "Database", "registry")
    assert "'registry' cannot be read (OperationalError)" in caplog.text
    assert (
        connections._without_password("no driver for oracle://reader:s3cr:et@db/x\nmore")
        == "no driver for oracle://reader:…@db/x"
    )
    assert "s3cret" not in caplog.text


@pytest.mark.nightly
def test_an_unreachable_database_is_tried_again_on_request(archive: str, tmp_path: Path) -> None:
    path = tmp_path / "late.duckdb"
    page = choose(visit(late=f"duckdb://{path}"), "Database", "late")
    assert "cannot be read just now" in texts(page)
    with duckdb.connect(str(path)):
        pass
    assert "cannot be read just now" in texts(page.run()), "each try may take long"
    press(page, "Try again")
    assert "no table or view" in texts(page)
    with duckdb.connect(str(path)) as connection:
        connection.execute("CREATE TABLE people AS SELECT 1 AS age")
    assert options(press(page, "Look again"), "Table or view") == ["people"]


@pytest.mark.xdist_group("spark")
@pytest.mark.filterwarnings("ignore::ResourceWarning")
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_the_tables_of_sparks_catalogue_are_listed_by_the_documented_address(spark: SparkSession) -> None:
    spark.range(1000).selectExpr("id % 90 AS age").createOrReplaceTempView("riders")
    page = choose(visit(lake="pyspark://?spark.master=local[2]&spark.ui.enabled=false"), "Database", "lake")
    assert "riders" in options(page, "Table or view")
    press(choose(page, "Table or view", "riders"), "Open it")
    assert "riders · 1 column · 1,000 rows" in texts(page)
