"""Open a release file without trusting it: check names, sizes and the shape of its manifest.

The file may come from a stranger. Nothing is written to disk, and no more is unpacked than the zip's own list declares.
"""

from __future__ import annotations

import io
import json
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, BinaryIO, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from dpengine.errors import ReleaseError
from dpengine.spec.declared import readable_faults

__all__ = ["FIXED", "Manifest", "MeasurementEntry", "Members", "Source", "manifest_of", "read_manifest", "unpacked"]

Source = str | Path | bytes | BinaryIO

FIXED = ("README.txt", "manifest.json", "plan.yaml", "report.html", "registry.yaml", "synthetic.csv")
MAX_BYTES = 2 * 1024**3
MAX_FILES = 30_000
MAX_MANIFEST_BYTES = 200_000_000

# Bounded, so that a text such as 1e999999999 is never turned into a number.
ExactText = Annotated[str, Field(pattern=r"^\d{1,60}(\.\d{1,60}|/\d{1,60})?$")]


class _Shape(BaseModel):
    model_config = ConfigDict(strict=True, extra="allow", frozen=True)


class UnitEntry(_Shape):
    rows: int
    id: str | None = None
    text: str


class GuaranteeEntry(_Shape):
    definition: str
    epsilon: ExactText
    delta: ExactText
    unit: UnitEntry
    neighbours: str
    trust_model: str


class MeasurementEntry(_Shape):
    columns: list[str]
    mechanism: str
    sensitivity: int = Field(ge=1)
    epsilon: ExactText
    scale: ExactText
    cells: int
    purpose: str | None = None
    merged_to: list[int] | None = None


class TableEntry(_Shape):
    columns: list[str]
    file: str
    cells: int
    half_width_95: float = Field(ge=0, allow_inf_nan=False)


class FileEntry(_Shape):
    sha256: str = Field(pattern="^[0-9a-f]{64}$")
    bytes: int = Field(ge=0)


class Manifest(_Shape):
    """The entries that every manifest holds; it may hold more."""

    schema_version: Literal[1, 2]
    release_id: str = Field(pattern="^[0-9a-f]{32}$")
    created: str = Field(pattern=r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+00:00$")
    title: str
    dataset: str
    guarantee: GuaranteeEntry
    measurements: list[MeasurementEntry] = Field(min_length=1)
    post_processing: list[str] = Field(min_length=1)
    not_protected: list[str] = Field(min_length=1)
    intervals: str
    coverage: str
    domain: dict[str, dict[str, Any]]
    tables: list[TableEntry] = Field(min_length=1)
    software: dict[str, str]
    files: dict[str, FileEntry]


class Members(Mapping[str, bytes]):
    """The files of an open bundle by name, each unpacked when it is read."""

    def __init__(self, bundle: zipfile.ZipFile) -> None:
        """Take the list of files. Raises `ReleaseError` with every fault in it."""
        entries = bundle.infolist()
        # Checked before anything is unpacked: zipfile never reads more than the sizes that the entries declare.
        if len(entries) > MAX_FILES or sum(entry.file_size for entry in entries) > MAX_BYTES:
            raise ReleaseError(f"too much to unpack: more than {MAX_FILES:,} files or {MAX_BYTES // 1024**3} GB")
        faults = []
        self._bundle = bundle
        self._entries: dict[str, zipfile.ZipInfo] = {}
        for entry in entries:
            if not _is_plain(entry):
                faults.append(f"{entry.filename!r} is not a safe name, or not a plain file: do not unpack this bundle")
            elif entry.filename in self._entries:
                faults.append(f"{entry.filename} is in the bundle twice")
            else:
                self._entries[entry.filename] = entry
        if faults:
            raise ReleaseError(faults)

    def __getitem__(self, name: str) -> bytes:
        """Unpack a file. Raises KeyError if there is none of this name, `ReleaseError` if it is damaged."""
        entry = self._entries[name]
        try:
            return self._bundle.read(entry)
        except (zipfile.BadZipFile, zlib.error, EOFError, OSError, ValueError, NotImplementedError):
            raise ReleaseError(f"{name} is damaged") from None

    def __contains__(self, name: object) -> bool:
        return name in self._entries

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)


def manifest_of(bundle: bytes) -> dict[str, Any]:
    """Return the manifest in a bundle that this program wrote, without checking anything."""
    with zipfile.ZipFile(io.BytesIO(bundle)) as opened:
        manifest: dict[str, Any] = json.loads(opened.read("manifest.json"))
    return manifest


@contextmanager
def unpacked(source: Source) -> Iterator[Members]:
    """Open a bundle and yield its files. Raises `ReleaseError` if it is not a zip file, or not safe to unpack."""
    try:
        bundle = zipfile.ZipFile(io.BytesIO(source) if isinstance(source, bytes) else source)
    except OSError as error:
        raise ReleaseError(f"the release file cannot be read ({error.strerror or 'input error'})") from None
    except (zipfile.BadZipFile, NotImplementedError, EOFError, ValueError):
        raise ReleaseError("this is not a release file: it is not a zip file, or it is cut off or damaged") from None
    with bundle:
        yield Members(bundle)


def _is_plain(entry: zipfile.ZipInfo) -> bool:
    """Say whether this is an ordinary file, not encrypted, whose name stays within the folder it is unpacked to."""
    parts = entry.filename.split("/")
    safe = all(part not in ("", ".", "..") for part in parts) and not set(entry.filename) & set("\\:\0")
    kind = entry.external_attr >> 16 & 0o170000
    known = entry.compress_type in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
    return safe and entry.filename.isprintable() and kind in (0, 0o100000) and known and not entry.flag_bits & 1


def read_manifest(members: Mapping[str, bytes]) -> tuple[dict[str, Any], Manifest]:
    """Return the manifest as written and as checked. Raises `ReleaseError` with every fault of its shape."""
    if "manifest.json" not in members:
        raise ReleaseError("manifest.json is missing")
    try:
        if len(members["manifest.json"]) > MAX_MANIFEST_BYTES:
            raise ValueError
        manifest: dict[str, Any] = json.loads(members["manifest.json"], object_pairs_hook=_distinct)
    except (ValueError, RecursionError):
        raise ReleaseError("manifest.json is not readable JSON") from None
    try:
        return manifest, Manifest.model_validate(manifest)
    except ValidationError as error:
        raise ReleaseError([f"manifest.json: {fault}" for fault in readable_faults(error)]) from None


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Build an object, and refuse one with a key twice: two programs could read two different values."""
    if len(pairs) != len(dict(pairs)):
        raise ValueError
    return dict(pairs)
