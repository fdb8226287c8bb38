"""Write the release bundle: a zip of everything a reader needs. Equal results and keys give equal bytes."""

from __future__ import annotations

import errno
import glob
import io
import json
import os
import shutil
import stat
import tempfile
import time
import zipfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from contextvars import copy_context
from pathlib import Path
from typing import Any, BinaryIO

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from dpengine import safe_csv
from dpengine.array_types import Columns
from dpengine.bundle import archive, found_file, registry, signature
from dpengine.bundle.archive import Piece
from dpengine.bundle.manifest import describe
from dpengine.bundle.portals.descriptions import json_text
from dpengine.bundle.promises import parquet_name, table_files
from dpengine.results.published_columns import cell_codes, header, number_columns
from dpengine.results.result import Result
from dpengine.spec.plan import Plan

__all__ = ["check_place", "pack", "save", "synthetic_csv", "try_out", "write"]

ABANDONED_AFTER = 3600  # seconds since a file was last written to: nothing takes so long between two pieces
COMPRESSION = 3  # at most a fifth larger than at the usual level 6; repeated rows take half the time of level 4


def pack(result: Result, key: Ed25519PrivateKey | None = None) -> bytes:
    """Return the bundle of `result`, a zip file, signed by `key`."""
    buffer = io.BytesIO()
    write(result, buffer, key)
    return buffer.getvalue()


def write(result: Result, file: BinaryIO, key: Ed25519PrivateKey | None = None) -> None:
    """Write the bundle of `result` to an open `file`, a table at a time: it is never in memory as a whole.

    The manifest comes last, since it holds the SHA-256 of every other file. With a `key`, the file is read again from
    its beginning to be signed.
    """
    manifest = describe(result)
    written: dict[str, Any] = {}
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=COMPRESSION) as bundle:
        for name, pieces in _contents(result, manifest, written):
            written[name] = archive.add(bundle, name, pieces)
        archive.add(bundle, "manifest.json", [json_text(manifest | {"files": written}, 2).encode()])
        if key is not None:
            bundle.comment = signature.reserve(key)
    if key is not None:
        signature.sign(file, key)


def try_out(result: Result) -> None:
    """Make every file of the bundle of `result` and keep none; an error in making one propagates."""
    manifest = describe(result)
    written: dict[str, Any] = {}
    for name, pieces in _contents(result, manifest, written):
        written[name] = {"sha256": "", "bytes": sum(len(piece) for piece in pieces)}
    json.dumps(manifest, ensure_ascii=False).encode()


def save(result: Result, path: Path, key: Ed25519PrivateKey | None = None) -> None:
    """Write the bundle of `result` to `path`, whole or not at all: an earlier file stays if writing fails.

    Raises OSError if it cannot be written.
    """
    if path.exists() and not path.is_file():  # such as a pipe, which cannot be replaced or read again
        with tempfile.TemporaryFile() as whole, path.open("wb") as pipe:
            write(result, whole, key)
            whole.seek(0)
            shutil.copyfileobj(whole, pipe)
        return
    path = path.resolve()  # not before: what standard output leads to may have no path
    _remove_abandoned(path)
    part = path.with_name(f".{path.name[:200]}.{result.release_id[:8]}.part")
    try:
        with part.open("w+b") as file:
            write(result, file, key)
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


def _remove_abandoned(path: Path) -> None:
    """Remove temporary files that killed processes left beside `path`, except the latest, which may be in use."""
    before = time.time() - ABANDONED_AFTER
    for part in path.parent.glob(f".{glob.escape(path.name[:200])}.????????.part"):
        with suppress(OSError):
            if part.stat().st_mtime < before:
                part.unlink()


def check_place(path: Path) -> None:
    """Raise OSError unless `save` can write to `path`, as far as can be known before writing."""
    try:
        mode = os.stat(path).st_mode
    except FileNotFoundError:
        mode = stat.S_IFREG
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, "it is a folder")
    if not stat.S_ISREG(mode) and not stat.S_ISFIFO(mode):
        raise OSError(errno.EINVAL, "it is neither a file nor a pipe")
    if stat.S_ISREG(mode):
        with tempfile.TemporaryFile(dir=path.resolve().parent):
            pass


def _contents(
    result: Result, manifest: dict[str, Any], written: Mapping[str, Any]
) -> Iterator[tuple[str, Iterable[Piece]]]:
    """Yield name and content of every file except the manifest, in the order of the bundle.

    The descriptions for portals give the SHA-256 of the files `written` so far.
    """
    # Drawing, templates and Parquet take a while to load, and only writing needs them.
    from dpengine.bundle import report
    from dpengine.bundle.portals import descriptions, parquet

    yield "README.txt", [report.read_me(result, manifest).encode()]
    yield "plan.yaml", [result.plan.dumps().encode()]
    if result.plan.found_columns:
        yield found_file.FILE, [found_file.to_text(result.plan, result.measured.searches).encode()]
    facts = parquet.facts(manifest)
    for table, name in table_files(result.plan).items():
        cells = result.numbers(table)
        numbers = [safe_csv.number_column(cells[each]) for each in number_columns(result.plan, table)]
        yield name, _table(result.plan, table, numbers)
        yield parquet_name(name), [parquet.to_bytes(result.plan, table, facts(table), numbers)]
    with ThreadPoolExecutor(1) as drawer:  # packing the rows leaves a processor free
        page = drawer.submit(copy_context().run, report.render, result, manifest)
        yield "synthetic.csv", _ahead(_synthetic(result))
        yield "report.html", page.result()
    yield "registry.yaml", [registry.draft_entry(result, manifest).encode()]
    for name, text in descriptions.texts(result.plan, manifest | {"files": dict(written)}).items():
        yield name, [text]


def _ahead(pieces: Iterable[Piece]) -> Iterator[Piece]:
    """Yield pieces, each made while the previous one is packed."""
    with ThreadPoolExecutor(1) as maker:
        source = iter(pieces)
        coming = maker.submit(next, source, None)
        while (piece := coming.result()) is not None:
            coming = maker.submit(next, source, None)
            yield piece


def _table(plan: Plan, table: Columns, numbers: Sequence[Any]) -> Iterator[Piece]:
    """Yield a published table as CSV; `numbers` are its columns of numbers as texts."""
    yield safe_csv.header_line(header(plan, table))
    codes = zip(table, cell_codes(plan, table), strict=True)
    texts = [safe_csv.label_column(plan.column(name).labels, at) for name, at in codes]
    yield safe_csv.write_rows([*texts, *numbers])


def synthetic_csv(result: Result, count: int | None = None) -> bytes:
    """Return the content of `synthetic.csv`, or of a file with `count` rows instead.

    Raises `ReleaseError` if `count` rows cannot be generated.
    """
    return b"".join(_synthetic(result, count))


def _synthetic(result: Result, count: int | None = None) -> Iterator[Piece]:
    """Yield the synthetic rows as CSV, a part at a time."""
    yield safe_csv.header_line(list(result.plan.of_rows.released))
    yield from result.line_blocks(count)
