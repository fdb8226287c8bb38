"""Write a published table as Parquet, with the manifest's facts about it as metadata.

The numbers are those of the CSV file, to its 6 decimals: whole ones are 64-bit integers, others 64-bit floats. Labels
are texts as they were declared, without the guards that spreadsheets need.
"""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from dpengine import arrow, safe_csv
from dpengine.array_types import Columns
from dpengine.results.published_columns import cell_codes, header, number_columns, number_type
from dpengine.spec.plan import Plan

__all__ = ["KEY", "facts", "from_csv", "is_same_table", "to_bytes"]

KEY = b"private_release.manifest"  # key of the manifest's facts in the file's metadata


def facts(manifest: Mapping[str, Any]) -> Callable[[Columns], dict[str, Any]]:
    """Return a function that gives the manifest's facts about a table, by its columns.

    These are everything except other tables, columns and measurements, and the files.
    """
    common = {name: value for name, value in manifest.items() if name != "files"}
    of_table: dict[Columns, list[Any]] = {}
    for each in manifest["tables"]:
        of_table.setdefault(tuple(each["columns"]), []).append(each)
    of_first: dict[Columns, list[tuple[int, Any]]] = {}  # measurements by their first column, or none
    for place, each in enumerate(manifest["measurements"]):
        of_first.setdefault(tuple(each["columns"][:1]), []).append((place, each))

    def facts_of(table: Columns) -> dict[str, Any]:
        columns = {*table}
        near = [each for first in ((), *((name,) for name in columns)) for each in of_first.get(first, ())]
        within = ((place, each) for place, each in near if columns.issuperset(each["columns"]))
        return common | {
            "domain": {name: each for name, each in manifest["domain"].items() if name in columns},
            "measurements": [each for _, each in sorted(within, key=lambda indexed: indexed[0])],
            "tables": of_table.get(table, []),
        }

    return facts_of


def to_bytes(plan: Plan, table: Columns, table_facts: Mapping[str, Any], numbers: Sequence[Any]) -> bytes:
    """Return the Parquet file of a table.

    `table_facts` are its `facts`, and `numbers` its columns of numbers, as texts of the CSV file.
    """
    names = number_columns(plan, table)
    labels = [
        pa.DictionaryArray.from_arrays(
            arrow.from_numpy(at.astype(np.int32)), arrow.from_texts(plan.column(name).labels)
        )
        for name, at in zip(table, cell_codes(plan, table), strict=True)
    ]
    values = [column.cast(pa.from_numpy_dtype(number_type(name))) for name, column in zip(names, numbers, strict=True)]
    metadata = json.dumps(table_facts, ensure_ascii=False, separators=(",", ":"))
    fields = [pa.field(name, column.type, nullable=False)
              for name, column in zip(header(plan, table), [*labels, *values], strict=True)]  # fmt: skip
    file, schema = io.BytesIO(), pa.schema(fields)
    with pq.ParquetWriter(file, schema, compression="zstd", store_schema=False) as writer:
        writer.write_table(pa.Table.from_arrays([*labels, *values], schema=schema))
        writer.add_key_value_metadata({KEY: metadata.encode()})
    return file.getvalue()


def from_csv(plan: Plan, table: Columns, table_facts: Mapping[str, Any], pieces: Iterable[bytes]) -> bytes:
    """Return the same file as `to_bytes`, from the pieces of the CSV file; raise ValueError if that is invalid."""
    names = header(plan, table)
    blocks = [columns[len(table) :] for columns in safe_csv.read_blocks(pieces, names)]
    columns = [pa.chunked_array([chunk for part in parts for chunk in part.chunks]).combine_chunks()
               for parts in zip(*blocks, strict=True)]  # fmt: skip
    return to_bytes(plan, table, table_facts, columns)


def is_same_table(file: bytes, expected: bytes) -> bool:
    """Return whether two Parquet files hold the same table, with the same metadata; `file` may come from a stranger.

    Other versions of the writer may pack the same table into other bytes.
    """
    published = pq.ParquetFile(io.BytesIO(expected))
    try:
        actual = pq.ParquetFile(io.BytesIO(file))
        if (
            actual.metadata.num_rows != published.metadata.num_rows
            or actual.metadata.metadata != published.metadata.metadata
        ):
            return False
        if actual.schema_arrow != published.schema_arrow or _size(actual) > 2 * _size(published) + 10**6:
            return False
        return bool(actual.read().equals(published.read()))
    except (OSError, ValueError, pa.ArrowException):
        return False


def _size(file: Any) -> int:
    return sum(file.metadata.row_group(k).total_byte_size for k in range(file.metadata.num_row_groups))
