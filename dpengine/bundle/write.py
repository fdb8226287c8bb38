"""The release bundle: a zip of everything a reader needs, written the same way each time."""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from dpengine import safe_csv
from dpengine.array_types import Columns
from dpengine.bundle import manifest, registry
from dpengine.bundle.verify import PROSE, verify
from dpengine.results.result import NUMBERS, Result, published_name
from dpengine.synthesis import cell_values

__all__ = ["PROSE", "manifest_of", "pack", "save", "synthetic_csv", "verify", "write"]

CHUNK_ROWS = 500_000
COMPRESSION = 4  # as small as the usual 6 to within a hundredth, in a third of the time

Piece = bytes | memoryview


def pack(result: Result) -> bytes:
    """The bundle of ``result``, a zip file; equal results give equal bytes."""
    buffer = io.BytesIO()
    write(result, buffer)
    return buffer.getvalue()


def write(result: Result, file: BinaryIO) -> None:
    """Write the same to an open ``file``, a table at a time: the bundle is never in memory as a whole.

    The manifest comes last, since it holds the SHA-256 of every other file.
    """
    told = manifest.describe(result)
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=COMPRESSION) as bundle:
        written = {name: _write(bundle, name, pieces) for name, pieces in _contents(result, told)}
        whole = json.dumps(told | {"files": written}, indent=2, ensure_ascii=False) + "\n"
        _write(bundle, "manifest.json", [whole.encode()])


def save(result: Result, path: Path) -> None:
    """Write the bundle to ``path``, at which nothing or the whole of it stands, whatever happens.

    Raises OSError where it cannot be written.
    """
    path = path.resolve()
    if path.exists() and not path.is_file():  # a pipe, say, that only takes what it is given
        with path.open("wb") as pipe:
            write(result, pipe)
        return
    part = path.with_name(f".{path.name[:200]}.{result.release_id[:8]}.part")
    try:
        with part.open("wb") as file:
            write(result, file)
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


def manifest_of(bundle: bytes) -> dict[str, Any]:
    """The manifest in the bytes of a bundle that `pack` wrote."""
    with zipfile.ZipFile(io.BytesIO(bundle)) as opened:
        told: dict[str, Any] = json.loads(opened.read("manifest.json"))
    return told


def _contents(result: Result, told: dict[str, Any]) -> Iterator[tuple[str, Iterable[Piece]]]:
    """Name and content of every file but the manifest, in the order of the bundle."""
    from dpengine.bundle import report  # drawing and templating take a while to load, and only writing needs them

    yield "README.txt", [report.read_me(result, told).encode()]
    yield "plan.yaml", [result.plan.dumps().encode()]
    for table, name in manifest.table_files(result.plan).items():
        yield name, _table(result, table)
    yield "synthetic.csv", _synthetic(result)
    yield "report.html", [report.render(result, told).encode()]
    yield "registry.yaml", [registry.draft_entry(result, told).encode()]


def _write(bundle: zipfile.ZipFile, name: str, pieces: Iterable[Piece]) -> dict[str, Any]:
    """Add a file to the bundle; its SHA-256 and size."""
    digest, size = hashlib.sha256(), 0
    with bundle.open(name, "w", force_zip64=True) as file:  # dated 1980, so that bytes are the same at any time
        for piece in pieces:
            file.write(piece)
            digest.update(piece)
            size += len(piece)
    entry = bundle.getinfo(name)
    entry.create_system = 3  # the same on every system: Unix, readable by all
    entry.external_attr = 0o644 << 16
    return {"sha256": digest.hexdigest(), "bytes": size}


def _table(result: Result, table: Columns) -> Iterator[Piece]:
    cells, plan = result.cells(table), result.plan
    yield safe_csv.header([*map(published_name, table), *NUMBERS])
    positions = np.unravel_index(np.arange(plan.cells(table)), plan.shape(table)) if table else ()
    texts = [safe_csv.labels(plan.column(name).labels, at) for name, at in zip(table, positions, strict=True)]
    yield safe_csv.rows([*texts, *(safe_csv.numbers(cells[name]) for name in NUMBERS)])


def synthetic_csv(result: Result, count: int | None = None) -> bytes:
    """What ``synthetic.csv`` holds, or the same with ``count`` rows. Raises `ReleaseError` for an odd number."""
    return b"".join(_synthetic(result, count))


def _synthetic(result: Result, count: int | None = None) -> Iterator[Piece]:
    rows, taken = result.taken(count)
    columns = [result.plan.column(name) for name in rows]
    values = [cell_values.values(column, rows[column.name][taken], salt) for salt, column in enumerate(columns)]
    yield safe_csv.header(list(rows))
    for start in range(0, len(taken), CHUNK_ROWS):
        part = slice(start, start + CHUNK_ROWS)
        texts = (
            cell_values.texts(column, found[part], rows[column.name][taken[part]])
            for column, found in zip(columns, values, strict=True)
        )
        yield safe_csv.rows([safe_csv.fields(text) for text in texts])
