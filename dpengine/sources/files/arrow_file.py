"""Arrow and Feather files: validated in full, and copied to a new file that can be mapped into memory safely.

Only Arrow's full validation finds wrong offsets, lengths, indices and bytes that are not UTF-8; opening does not. A
copy holds nothing but rows, in columns ``c0``, ``c1``, …
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

import pyarrow as pa

from dpengine.sources.relation import check_names, plain_arrow

__all__ = ["copy_valid", "read_copy", "write_copy"]


def copy_valid(path: Path, copy: Path) -> list[str]:
    """Copy the rows of an Arrow file, batch by batch, and return the names of its columns.

    Raises `TableError`, and Arrow's own errors if the file is damaged.
    """
    memory = pa.memory_map(str(path))
    schema, batches = _open(memory)
    names = list(schema.names)
    check_names(names)

    def tables() -> Iterator[pa.Table]:
        for batch in batches:
            batch.validate(full=True)
            yield plain_arrow(pa.Table.from_batches([batch]))[1]

    write_copy(copy, plain_arrow(schema.empty_table())[1].schema, tables())
    return names


def _open(memory: pa.MemoryMappedFile) -> tuple[pa.Schema, Iterable[pa.RecordBatch]]:
    with suppress(pa.ArrowInvalid):
        file = pa.ipc.open_file(memory)
        return file.schema, (file.get_batch(i) for i in range(file.num_record_batches))
    memory.seek(0)
    stream = pa.ipc.open_stream(memory)
    return stream.schema, stream


def write_copy(copy: Path, schema: pa.Schema, tables: Iterable[pa.Table | pa.RecordBatch]) -> None:
    """Write rows to a file that `read_copy` reads."""
    with pa.OSFile(str(copy), "wb") as file, pa.ipc.new_stream(file, schema) as writer:
        for table in tables:
            writer.write(table)


def read_copy(copy: Path) -> pa.Table:
    """Return the rows of a copy; they stay on the disk until they are used."""
    with pa.memory_map(str(copy)) as memory:
        return pa.ipc.open_stream(memory).read_all()
