"""The key with which a ledger signs its release bundles: Ed25519, made on first use, one for all owners.

It never leaves the ledger, except into copies of the ledger itself. Who holds one of these can sign as its owner does.
A ledger whose key is gone is refused where it was seen with its key before: see `witness`.
"""

from __future__ import annotations

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from dpengine.accounting.ledger import Ledger

__all__ = ["keep_signing_key", "signing_key"]

_NAME = "signing"


def signing_key(ledger: Ledger) -> Ed25519PrivateKey | None:
    """Return the signing key of a ledger; None if it has none yet. Raises `LedgerError` if it was changed."""
    kept = ledger.named_key(_NAME)
    return None if kept is None else Ed25519PrivateKey.from_private_bytes(kept)


def keep_signing_key(ledger: Ledger) -> Ed25519PrivateKey:
    """Return the signing key of a ledger; make it and keep it for good if there is none yet.

    Of several processes that come here at once, one makes the key and all return it. Raises `LedgerError` if it was
    changed, or cannot be kept.
    """
    return Ed25519PrivateKey.from_private_bytes(
        ledger.keep_key(_NAME, lambda: Ed25519PrivateKey.generate().private_bytes_raw())
    )
