"""Reading rows in a stream: messages about faults quote nothing of the rows."""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dpengine.counting.count import count, digest
from dpengine.errors import TableError
from dpengine.sources.open import open_table
from dpengine.spec.plan import Plan

CANARY = "ZZ_CANARY_7f3a"
PLAN = Plan(
    dataset="d", epsilon="1", tables=[["a"]], columns=[{"name": "a", "kind": "number", "edges": [0, 1, 2]}]
)  # fmt: skip


def read(source, change):
    """Read the rows after `change` has met the file; return the message."""
    with open_table(source) as table:
        change()
        with pytest.raises(TableError) as caught:
            digest(table)
        with pytest.raises(TableError) as again:
            count(table, PLAN, PLAN.marginals, truncation_key=b"")
    assert str(again.value) == str(caught.value)
    assert caught.value.__cause__ is None
    assert CANARY not in str(caught.value)
    assert str(source.parent) not in str(caught.value)
    return str(caught.value)


def test_a_bad_row_far_down_a_text_is_not_quoted(tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes(b"a,b\n1,2\n")
    message = read(path, lambda: path.write_bytes(b"a,b\n" + b"1,2\n" * 500_000 + f"7,{CANARY},9\n1,2\n".encode()))
    assert message.startswith("line 500,002 of the file does not have as many cells")


def test_pages_of_a_parquet_file_that_are_damaged_are_not_quoted(tmp_path):
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"a": range(300_000), "b": [CANARY] * 300_000}), path, row_group_size=50_000)
    whole = path.read_bytes()
    message = read(
        path, lambda: path.write_bytes(whole[: len(whole) // 2] + bytes(90_000) + whole[len(whole) // 2 + 90_000 :])
    )
    assert "damaged" in message


def test_a_file_that_is_cut_while_it_is_read_is_not_quoted(tmp_path):
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"a": range(300_000), "b": [CANARY] * 300_000}), path, row_group_size=50_000)
    whole = path.read_bytes()
    read(path, lambda: path.write_bytes(whole[: len(whole) // 2]))
