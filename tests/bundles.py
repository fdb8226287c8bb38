"""Bundles taken apart and put together again, for the tests of those who write and who verify them."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import zipfile
from collections.abc import Callable
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from dpengine.bundle import archive, signature
from dpengine.bundle.portals import descriptions, parquet
from dpengine.bundle.promises import PORTALS, parquet_name, table_files
from dpengine.spec.plan import Plan

Members = dict[str, bytes]
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
