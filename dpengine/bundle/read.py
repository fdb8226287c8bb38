"""Read the manifest of a release file without trusting it: its size, its shape, and no key that is not known."""

from __future__ import annotations

import io
import json
import re
import zipfile
from datetime import datetime
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from dpengine.errors import ReleaseError
from dpengine.spec.declared import readable_faults
from dpengine.translation.catalogue import _

__all__ = ["Manifest", "MeasurementEntry", "TableEntry", "count_values", "manifest_of", "read_manifest"]

_TEXT = re.compile(rb'"(?:[^"\\]|\\.)*+"', re.DOTALL)

# Bounded, so that a text such as 1e999999999 is never turned into a number.
ExactText = Annotated[str, Field(pattern=r"^[0-9]{1,60}(\.[0-9]{1,60}|/[0-9]{1,60})?$")]

# Bounded like exact texts; far above every number of cells and units.
Whole = Annotated[int, Field(ge=-(2**200), le=2**200)]
Natural = Annotated[int, Field(ge=0, le=2**200)]
Positive = Annotated[int, Field(ge=1, le=2**200)]  # bounds beside an annotated type would give way to its own


def _check_time(text: str) -> str:
    datetime.fromisoformat(text)
    return text


Time = Annotated[
    str, Field(pattern=r"^[0-9]{4}(-[0-9]{2}){2}T([0-9]{2}:){2}[0-9]{2}\+00:00$"), AfterValidator(_check_time)
]
ShortName = Annotated[str, Field(pattern=r"^[A-Za-z0-9._+!-]{1,60}$")]


class _Shape(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)


class UnitEntry(_Shape):
    rows: Whole
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
    sensitivity: Positive
    epsilon: ExactText
    scale: ExactText
    cells: Natural
    purpose: str | None = None
    merged_to: list[Whole] | None = None
    units_per_row: Whole = 1
    cells_per_person: Whole | None = None  # where persons are counted, and not rows
    shown_from: Whole | None = None  # of keys of a universe: the least noisy number that is shown


class TableEntry(_Shape):
    columns: list[str]
    file: str
    cells: Whole
    cells_per_person: Whole | None = None
    half_width_95: float = Field(ge=0, allow_inf_nan=False)


class CountedEntry(_Shape):
    what: str
    rows_per_person: Whole | None = None
    text: str


class ModelErrorEntry(_Shape):
    factor: float = Field(ge=0, le=1e18, allow_inf_nan=False)  # up to 1e17 for few people, by earlier versions
    power: float = Field(ge=0, le=1, allow_inf_nan=False)


class FileEntry(_Shape):
    sha256: str = Field(pattern="^[0-9a-f]{64}$")
    bytes: Natural


class Manifest(_Shape):
    """The entries that every manifest holds, and no other: `counted` and `model_error` since version 3."""

    schema_version: int = Field(ge=1, le=8)
    release_id: str = Field(pattern="^[0-9a-f]{32}$")
    created: Time
    title: str
    dataset: str
    guarantee: GuaranteeEntry
    strategy: str
    measurements: list[MeasurementEntry] = Field(min_length=1)
    post_processing: list[str] = Field(min_length=1)
    not_protected: list[str] = Field(min_length=1)
    intervals: str
    coverage: str
    counted: CountedEntry | None = None
    model_error: ModelErrorEntry | None = None
    domain: dict[str, dict[str, Any]]
    tables: list[TableEntry] = Field(min_length=1)
    software: dict[ShortName, ShortName] = Field(max_length=30)
    files: dict[str, FileEntry]


def manifest_of(bundle: bytes) -> dict[str, Any]:
    """Return the manifest in a bundle that this program wrote, without checking anything."""
    with zipfile.ZipFile(io.BytesIO(bundle)) as opened:
        manifest: dict[str, Any] = json.loads(opened.read("manifest.json"))
    return manifest


def read_manifest(text: bytes) -> tuple[dict[str, Any], Manifest]:
    """Return the manifest as written and as checked. Raises `ReleaseError` with every fault of its shape."""
    try:
        manifest: dict[str, Any] = json.loads(text, object_pairs_hook=_distinct)
    except (ValueError, RecursionError):
        raise ReleaseError(_("manifest.json is not readable JSON")) from None
    try:
        return manifest, Manifest.model_validate(manifest)
    except ValidationError as error:
        raise ReleaseError([f"manifest.json: {fault}" for fault in readable_faults(error)]) from None


def count_values(text: bytes) -> int:
    """Return an upper bound on the number of values in a JSON text, without parsing it.

    >>> count_values(b'{"a, b": [1, {"c": []}, "x"]}')
    7
    """
    return 1 + sum(map(_TEXT.sub(b"", text).count, (b"[", b"{", b",")))


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Build an object, and refuse one with a key twice: two programs could read two different values."""
    if len(pairs) != len(dict(pairs)):
        raise ValueError
    return dict(pairs)
