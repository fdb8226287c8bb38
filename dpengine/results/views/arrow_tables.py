"""Published tables in Arrow, made from arrays without pandas: one table, or all of them as a stream of batches."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from dpengine import arrow
from dpengine.array_types import Columns, Ints
from dpengine.results.published_columns import NUMBERS, number_columns, number_type, published_name
from dpengine.spec.wording import name_of

if TYPE_CHECKING:
    from dpengine.results.views.published import PublishedTables

__all__ = ["arrow_table", "stream"]

TABLE = "table"  # the column of the stream that names the table
MAX_BATCH = 2**20  # cells of a batch of the stream
LABELS = pa.dictionary(pa.int32(), pa.large_string())


def arrow_table(published: PublishedTables, table: Columns) -> Any:
    """Return a published table as a `pyarrow.Table`, with the columns that its data frame has."""
    plan = published.plan
    names, numbers = number_columns(plan, table), published.numbers(table)
    labels = {published_name(name, names): _labels(published, table, name, ...) for name in table}
    columns = labels | {name: arrow.from_numpy(numbers[name].astype(number_type(name), copy=False)) for name in names}
    return pa.Table.from_arrays(list(columns.values()), names=list(columns))


def stream(published: PublishedTables) -> Any:
    """Return all published tables as a `pyarrow.RecordBatchReader`: see `PublishedTables.__arrow_c_stream__`.

    One table at a time is in memory. A reader must read it from its beginning; each call starts a new one.
    """
    plan = published.plan
    tables = [*plan.published]
    numbers = list(dict.fromkeys(name for table in tables for name in number_columns(plan, table)))
    numbers.sort(key=lambda name: name not in NUMBERS)  # those of all tables first, then in order
    labels = {name: published_name(name, (*numbers, TABLE)) for name in plan.counted}
    fields = [(TABLE, LABELS), *((name, LABELS) for name in labels.values())]
    schema = pa.schema([*fields, *((name, pa.from_numpy_dtype(number_type(name))) for name in numbers)])
    table_names = arrow.from_texts([name_of(table) for table in tables])

    def batches() -> Iterator[Any]:
        for index, table in enumerate(tables):
            values = published.numbers(table)
            for start in range(0, plan.cells(table), MAX_BATCH):
                part = slice(start, min(start + MAX_BATCH, plan.cells(table)))
                rows = part.stop - part.start
                columns = [_encoded(np.full(rows, index), table_names)]
                columns += [
                    _labels(published, table, name, part) if name in table else _nulls(published, name, rows)
                    for name in labels
                ]
                columns += [
                    arrow.from_numpy(values[name][part].astype(number_type(name), copy=False))
                    if name in values
                    else pa.nulls(rows, pa.from_numpy_dtype(number_type(name)))
                    for name in numbers
                ]
                yield pa.record_batch(columns, schema=schema)

    return pa.RecordBatchReader.from_batches(schema, batches())


def _labels(published: PublishedTables, table: Columns, name: str, part: Any) -> Any:
    """Return the labels of a column in the cells of `table`, or in a part of them."""
    plan = published.plan
    shape, axis = plan.shape(table), table.index(name)
    cells = np.arange(plan.cells(table))[part]
    below = int(np.prod(shape[axis + 1 :], dtype=np.int64))
    return _encoded(cells // below % shape[axis], arrow.from_texts(plan.column(name).labels))


def _nulls(published: PublishedTables, name: str, rows: int) -> Any:
    """Return that many nulls, with the dictionary that the column has in other tables."""
    dictionary = arrow.from_texts(published.plan.column(name).labels)
    return pa.DictionaryArray.from_arrays(pa.nulls(rows, pa.int32()), dictionary)


def _encoded(codes: Ints, dictionary: Any) -> Any:
    return pa.DictionaryArray.from_arrays(arrow.from_numpy(codes.astype(np.int32)), dictionary)
