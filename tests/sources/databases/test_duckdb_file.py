"""DuckDB database files: the table that is opened, and no access to other files through a view."""

import duckdb
import pytest

from dpengine.errors import TableError
from dpengine.sources.open import open_table


def database(path, *statements):
    with duckdb.connect(str(path)) as connection:
        for statement in statements:
            connection.execute(statement)
    return path


def content(table):
    with table.connection() as connection:
        return [column.name for column in table.columns], connection.execute("SELECT * FROM rows").fetchall()


TWO = (
    "CREATE TABLE people AS SELECT 1 AS id, 'x' AS region",
    "CREATE SCHEMA old",
    """CREATE VIEW old."the dead" AS SELECT id AS who, 2.5::FLOAT AS x FROM people""",
)


def test_the_only_table_needs_no_name(tmp_path):
    with open_table(database(tmp_path / "c.duckdb", TWO[0])) as table:
        assert content(table) == (["id", "region"], [(1, "x")])
        assert [column.kind_hint for column in table.columns] == ["number", "category"]


def test_one_of_several_is_named_views_and_schemas_included(tmp_path):
    path = database(tmp_path / "c [1]*.duckdb", *TWO)
    with open_table(path, table="old.the dead") as table, open_table(str(path), table="people") as other:
        assert content(table) == (["who", "x"], [(1, 2.5)])
        assert content(other)[0] == ["id", "region"]


@pytest.mark.parametrize("table", [None, "nobody", "the dead", "people; DROP TABLE people"])
def test_an_error_lists_the_tables(tmp_path, table):
    with pytest.raises(TableError, match=r"it has: people, old\.the dead"):
        open_table(database(tmp_path / "c.duckdb", *TWO), table=table)


def test_a_database_without_tables_says_so(tmp_path):
    with pytest.raises(TableError, match="it has: no tables"):
        open_table(database(tmp_path / "c.duckdb"))


@pytest.mark.parametrize("reader", ["read_csv", "read_text", "read_blob", "glob"])
def test_a_view_cannot_read_other_files_of_the_machine(tmp_path, reader):
    secret = tmp_path / "secret.csv"
    secret.write_text("a,b\n1,2\n")
    path = database(tmp_path / "c.duckdb", f"CREATE VIEW v AS SELECT * FROM {reader}('{secret}')")
    with pytest.raises(TableError, match="needs more than this file") as caught:
        open_table(path)
    assert str(tmp_path) not in str(caught.value)


def test_a_file_that_is_no_database_or_is_being_written_is_refused(tmp_path):
    (tmp_path / "t.duckdb").write_bytes(b"not a database" * 1000)
    with pytest.raises(TableError, match="not a DuckDB database"):
        open_table(tmp_path / "t.duckdb")


def test_a_damaged_database_is_not_reported_as_in_use(tmp_path):
    path = database(tmp_path / "c.duckdb", "CREATE TABLE t AS SELECT range AS n FROM range(100000)")
    content = bytearray(path.read_bytes())
    content[4096 * 2 + 100 : 4096 * 3] = bytes(4096 - 100)  # in a block with a checksum
    content[4096 + 8 : 8192] = bytes(4096 - 8)
    path.write_bytes(content)
    with pytest.raises(TableError, match="not a DuckDB database"):
        open_table(path)


def test_a_view_that_needs_another_file_is_named(tmp_path):
    (tmp_path / "other.csv").write_text("a\n1\n")
    path = database(tmp_path / "c.duckdb", f"CREATE VIEW lent AS SELECT * FROM read_csv('{tmp_path}/other.csv')")
    with pytest.raises(TableError, match="'lent'"):
        open_table(path)


def test_the_database_is_left_as_it_was(tmp_path):
    path = database(tmp_path / "c.duckdb", *TWO)
    before = path.read_bytes()
    with open_table(path, table="people") as table:
        assert content(table)[1] == [(1, "x")]
        table.check_unchanged()
    assert path.read_bytes() == before
    assert [file.name for file in tmp_path.iterdir()] == [path.name]
