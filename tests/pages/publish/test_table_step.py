"""A table that arrives is read first where it can do no harm."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dpengine.sources.files import isolated
from tests.pages.visits import held, press, settled, texts, visit


def _text() -> bytes:
    return b"a,b\n1,2\n"


def _parquet() -> bytes:
    file = io.BytesIO()
    pq.write_table(pa.table({"a": [1], "b": [2]}), file)
    return file.getvalue()


@pytest.mark.parametrize(("name", "content"), [("t.csv", _text), ("t.parquet", _parquet)])
def test_an_uploaded_table_of_any_size_is_read_in_full_elsewhere_first(
    name: str, content: Callable[[], bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[object] = []
    read = isolated.read

    def watched(*given: Any, **arguments: Any) -> Any:
        asked.append(arguments["in_full"])
        return read(*given, **arguments)

    monkeypatch.setattr(isolated, "read", watched)
    page = visit()
    page.get("file_uploader")[0].upload(name, content()).run()
    settled(page)
    assert held(page).table is not None
    assert asked == [True]


HEADLESS = b"Ann Smith,34,asthma\nBob Jones,51,diabetes\n"


def test_a_file_without_names_is_noticed_before_a_person_becomes_them() -> None:
    page = visit()
    page.get("file_uploader")[0].upload("people.csv", HEADLESS).run()
    settled(page)
    assert held(page).table is None, "nothing goes on before the question is answered"
    assert "The first line looks like data" in texts(page)
    assert "Ann Smith" not in texts(page)
    press(page, "It is a row: there are no names")
    settled(page)
    table = held(page).table
    assert table is not None
    assert [field.name for field in table.columns] == ["column_1", "column_2", "column_3"]


def test_names_that_look_like_data_can_be_confirmed() -> None:
    page = visit()
    page.get("file_uploader")[0].upload("odd.csv", b"1,2\n3,4\n").run()
    settled(page)
    press(page, "These are the names")
    settled(page)
    table = held(page).table
    assert table is not None
    assert [field.name for field in table.columns] == ["1", "2"]
