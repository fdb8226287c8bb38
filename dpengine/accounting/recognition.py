"""Recognise near copies of tables that were charged for before.

Sketches are sealed under the owner's key before they are stored. They are as private as the table itself.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import sqlalchemy as sa
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from dpengine.accounting import hash_chain
from dpengine.accounting.entry import Resemblance
from dpengine.accounting.sketch import Sketch, resemblance
from dpengine.accounting.snapshot import Snapshot
from dpengine.errors import LedgerError
from dpengine.translation.catalogue import _

__all__ = ["resembling", "sealed", "stated"]


def resembling(
    connection: sa.Connection, snapshot: Snapshot, key: bytes, dataset: str, fingerprint: bytes, sketch: Sketch | None
) -> list[Resemblance]:
    """Return the charges whose tables resemble this data's `sketch`, one of each pool, the most alike first.

    Charges of the data's own pool are left out, and pools that the owner has stated, with an earlier charge, to be of
    other people.
    """
    if sketch is None:
        return []
    _, own_rows = snapshot.pool(dataset, fingerprint)
    known = {row.number for row in own_rows}
    resemblances: list[Resemblance] = []
    compared: set[bytes] = set()
    for row in snapshot.charges:
        if row.number in known or not row.sketch_sha256 or row.sketch_sha256 in compared:
            continue
        compared.add(row.sketch_sha256)
        overlap = resemblance(sketch, _opened(connection, key, row))
        if overlap is None:
            continue
        _, others = snapshot.pool(row.dataset, row.fingerprint)
        known |= {other.number for other in others}
        if not _are_others(snapshot, own_rows, others):
            resemblances.append(Resemblance(row.release_id, row.dataset, round(overlap, 3)))
    return sorted(resemblances, key=lambda each: -each.overlap)


def stated(snapshot: Snapshot, resemblances: Sequence[Resemblance], other_people: bool) -> str:
    """Return the recognised charges and the owner's statement about them, as the ledger stores them."""
    if not resemblances:
        return ""
    return json.dumps([
        {"number": row.number, "overlap": each.overlap, "other_people": other_people}
        for each in resemblances if (row := snapshot.named(each.release_id)) is not None
    ])  # fmt: skip


def sealed(key: bytes, release_id: str, sketch: Sketch | None) -> bytes:
    """Return the sketch encrypted for this charge alone; nothing for no sketch."""
    if sketch is None:
        return b""
    return AESGCM(_key(key, release_id)).encrypt(bytes(12), sketch.to_bytes(), None)  # one message for each key


def _opened(connection: sa.Connection, key: bytes, charge: sa.Row[Any]) -> Sketch:
    stored = hash_chain.sketch_of(connection, charge)
    assert stored is not None
    try:
        return Sketch.from_bytes(AESGCM(_key(key, charge.release_id)).decrypt(bytes(12), stored, None))
    except InvalidTag:
        raise LedgerError(_("A sketch in the ledger was changed from outside; restore an intact backup.")) from None


def _key(key: bytes, release_id: str) -> bytes:
    return hash_chain.keyed(key, "sketch", release_id)


def _are_others(snapshot: Snapshot, first_pool: Sequence[sa.Row[Any]], second_pool: Sequence[sa.Row[Any]]) -> bool:
    """Return whether a charge of one pool was stated to be of other people than a charge of the other pool."""
    ids = {row.release_id for row in first_pool}, {row.release_id for row in second_pool}
    return any(
        each.other_people and each.release_id in theirs
        for rows, theirs in ((first_pool, ids[1]), (second_pool, ids[0]))
        for row in rows
        for each in snapshot.recognised(row)
    )
