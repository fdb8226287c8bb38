"""Bundles taken apart and put together again, for the tests of those who write and who verify them."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import zipfile

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from dpengine.bundle import archive, signature

Members = dict[str, bytes]
AGE, VISIT, TOTAL = "tables/01-age-x-region.csv", "tables/02-region-x-visit.csv", "tables/total.csv"


def members_of(bundle: bytes) -> Members:
    with zipfile.ZipFile(io.BytesIO(bundle)) as opened:
        return {name: opened.read(name) for name in opened.namelist()}


def zipped(members: Members, *, rehash: bool = True, key: Ed25519PrivateKey | None = None) -> bytes:
    """A bundle of ``members``, signed by ``key``; with ``rehash`` the manifest vouches for them, as a forger would."""
    members = dict(members)
    if rehash:
        told = json.loads(members["manifest.json"])
        for name in told["files"]:
            if name in members:
                digest = hashlib.sha256(members[name]).hexdigest()
                told["files"][name] = {"sha256": digest, "bytes": len(members[name])}
        members["manifest.json"] = json.dumps(told).encode()
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as new:
        for name, content in members.items():
            archive.add(new, name, [content])
        if key is not None:
            new.comment = signature.reserve(key)
    if key is not None:
        signature.sign(buffer, key)
    return buffer.getvalue()


def rows_of(payload: bytes) -> list[list[str]]:
    return list(csv.reader(io.StringIO(payload.decode(), newline=""), strict=True))
