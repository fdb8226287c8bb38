"""A table that arrives is read first where it can do no harm."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dpengine.sources.files import isolated
from tests.pages.visits import held, settled, visit


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
