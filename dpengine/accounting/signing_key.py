"""The key with which a ledger signs its release bundles: Ed25519, made on first use, one for all owners.

It never leaves the ledger, except in copies of the ledger itself. Anyone who holds such a copy can sign as its owner. A
ledger without its key is refused by accounts that have seen it with its key: see `witness`.
"""

from __future__ import annotations

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from dpengine.accounting.ledger import Ledger

__all__ = ["keep_signing_key", "signing_key"]

_NAME = "signing"


def signing_key(ledger: Ledger) -> Ed25519PrivateKey | None:
    """Return the signing key of a ledger; None if it has none yet. Raises `LedgerError` if it was changed."""
    key = ledger.named_key(_NAME)
    return None if key is None else Ed25519PrivateKey.from_private_bytes(key)


def keep_signing_key(ledger: Ledger) -> Ed25519PrivateKey:
    """Return the signing key of a ledger; make it and keep it for good if there is none yet.

    If several processes call this at once, one makes the key and all return it. Raises `LedgerError` if it was
    changed, or cannot be stored.
    """
    return Ed25519PrivateKey.from_private_bytes(
        ledger.keep_key(_NAME, lambda: Ed25519PrivateKey.generate().private_bytes_raw())
    )
