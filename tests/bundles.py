"""Bundles taken apart, changed and put together again, for the tests of those who write and who verify them."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from dpengine.bundle import archive, signature
from dpengine.bundle.portals import descriptions, parquet
from dpengine.bundle.promises import PORTALS, parquet_name, table_files
from dpengine.bundle.verify import verify
from dpengine.errors import ReleaseError
from dpengine.spec.plan import Plan

Members = dict[str, bytes]
HIGH, LOW, ESTIMATE, COUNT = 1, 2, 3, 4  # columns of numbers of a table, from the right
AGE, VISIT, TOTAL = "tables/01-age-x-region.csv", "tables/02-region-x-visit.csv", "tables/total.csv"


def members_of(bundle: bytes) -> Members:
    with zipfile.ZipFile(io.BytesIO(bundle)) as opened:
        return {name: opened.read(name) for name in opened.namelist()}


def zipped(members: Members, *, rehash: bool = True, key: Ed25519PrivateKey | None = None) -> bytes:
    """A bundle of ``members``, signed by ``key``; with ``rehash`` the manifest vouches for them, as a forger would.

    A manifest of a version without descriptions for portals gets none.
    """
    members = dict(members)
    if rehash:
        manifest = json.loads(members["manifest.json"])
        if isinstance(manifest, dict) and manifest["schema_version"] < 5:
            for name in [name for name in members if name in PORTALS or name.endswith(".parquet")]:
                del members[name]
                manifest["files"].pop(name, None)
        _vouch(manifest, members)
        members["manifest.json"] = json.dumps(manifest).encode()
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as new:
        for name, content in members.items():
            archive.add(new, name, [content])
        if key is not None:
            new.comment = signature.reserve(key)
    if key is not None:
        signature.sign(buffer, key)
    return buffer.getvalue()


def with_search(bundle: bytes, column: str, change: Callable[[Any], object] | None) -> bytes:
    """The bundle with a `change` to the stored search for the cells of `column`; without one, without all searches."""
    members = members_of(bundle)
    stored = json.loads(members.pop("found.json"))
    if change is not None:
        change(stored[column])
        members["found.json"] = json.dumps(stored).encode()
    return zipped(members)


def with_portals(members: Members) -> Members:
    """The same files, with the descriptions for portals and the Parquet tables that go with them."""
    members, manifest = dict(members), json.loads(members["manifest.json"])
    plan = Plan.loads(members["plan.yaml"].decode())
    for table, file in table_files(plan, manifest["schema_version"]).items():
        members[parquet_name(file)] = parquet.from_csv(plan, table, parquet.facts(manifest)(table), [members[file]])
    _vouch(manifest, members)
    earlier = {name: each for name, each in manifest["files"].items() if name not in PORTALS}
    return members | descriptions.texts(plan, {**manifest, "files": earlier})


def _vouch(manifest: dict[str, Any], members: Members) -> None:
    for name in manifest["files"] if isinstance(manifest, dict) else ():
        if name in members:
            digest = hashlib.sha256(members[name]).hexdigest()
            manifest["files"][name] = {"sha256": digest, "bytes": len(members[name])}


def table_of(rows: list[list[str]]) -> bytes:
    buffer = io.StringIO(newline="")
    csv.writer(buffer).writerows(rows)
    return buffer.getvalue().encode()


def rows_of(payload: bytes) -> list[list[str]]:
    return list(csv.reader(io.StringIO(payload.decode(), newline=""), strict=True))


@contextmanager
def manifest_in(members: Members) -> Iterator[dict[str, Any]]:
    """Yield the manifest among some files, to be changed."""
    manifest = json.loads(members["manifest.json"])
    yield manifest
    members["manifest.json"] = json.dumps(manifest).encode()


def faults_of(source: bytes) -> tuple[str, ...]:
    with pytest.raises(ReleaseError) as refused:
        verify(source)
    return tuple(map(str, refused.value.faults))


def stated_as(form: Callable[[Any], object], *path: str | int) -> Callable[[Members], None]:
    """Put the same value in another form at `path` of the manifest."""

    def edit(members: Members) -> None:
        with manifest_in(members) as manifest:
            at: Any = manifest
            for step in path[:-1]:
                at = at[step]
            at[path[-1]] = form(at[path[-1]])

    return edit


def stated(*path: str | int, value: object) -> Callable[[Members], None]:
    """Put another value at `path` of the manifest."""

    def edit(members: Members) -> None:
        with manifest_in(members) as manifest:
            at: Any = manifest
            for step in path[:-1]:
                at = at[step]
            assert not isinstance(at, dict) or at.get(path[-1]) != value
            at[path[-1]] = value

    return edit


def cell(name: str, line: int, place: int, change: Callable[[str], str]) -> Callable[[Members], None]:
    """Change one number of a table; `place` counts columns from the right, so 1 is `high`."""

    def edit(members: Members) -> None:
        rows = rows_of(members[name])
        rows[line][-place] = change(rows[line][-place])
        members[name] = table_of(rows)

    return edit


def plus(amount: float) -> Callable[[str], str]:
    return lambda text: f"{float(text) + amount:.12g}"
