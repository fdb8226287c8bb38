"""The way into a ledger: opened for one owner, read as a snapshot, and written in one transaction."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from copy import copy
from dataclasses import replace
from typing import Self

import sqlalchemy as sa

from dpengine.accounting import hash_chain, witness
from dpengine.accounting.amount import check_texts
from dpengine.accounting.database import Store, public_address
from dpengine.accounting.snapshot import Snapshot
from dpengine.accounting.upgrade import upgrade
from dpengine.accounting.witness import Seen

__all__ = ["LedgerAccess", "crash_point"]


def crash_point(name: str) -> None:
    """Do nothing; tests of faults replace this by a crash."""


class LedgerAccess:
    """An open ledger, as one owner sees it; `accounting.ledger.Ledger` says what its parameters mean."""

    def __init__(self, url: str | None = None, owner: str = "", *, begin: bool = True) -> None:
        self._address = public_address(url)
        seen = witness.seen(self._address)
        self._store = Store(
            url, hash_chain.build, None if begin and seen is None else witness.missing(self._address, seen)
        )
        with self._store.reading() as connection:
            hash_chain.check_continues(connection, seen, self._address)
            self._secret = hash_chain.secret_of(connection)
            if self._store.begun:
                witness.note(self._address, hash_chain.state_of(connection))
        self._recorded: set[str] = set()  # ids of what this object charged
        self._see(owner)

    def _see(self, owner: str) -> None:
        check_texts(owner=owner)
        self._owner = owner
        self._snapshot: Snapshot | None = None  # what `snapshot` has read
        self._key = self._secret if owner == "" else hash_chain.keyed(self._secret, "owner", owner)

    def __repr__(self) -> str:
        return f"<Ledger {self._address or 'in memory'}, owner {self._owner!r}>"

    @property
    def owner(self) -> str:
        """The owner of this part of the ledger; "" is the local owner."""
        return self._owner

    @property
    def address(self) -> str | None:
        """The ledger's absolute address, without a password; None if it lives in memory. Never shown on the page."""
        return self._address

    @property
    def begun(self) -> bool:
        """Whether this object created the ledger, since there was none."""
        return self._store.begun

    def has_recorded(self, release_id: str) -> bool:
        """Return whether this object charged this release; False if another one did, also at the same moment."""
        return release_id in self._recorded

    @property
    def copied(self) -> bool:
        """Whether a copy of this ledger was used at another address by this account, and holds charges that this lacks.

        A ledger that was only moved, or is reached by a link, lacks nothing that was seen at its former address.
        """
        with self._reading() as (connection, _):
            now = hash_chain.state_of(connection)
            others = witness.seen_elsewhere(self._address, now.identity)
            return any(hash_chain.lost(connection, now, replace(each, keys=frozenset())) for each in others)

    def for_owner(self, owner: str) -> Self:
        """Return the part of this ledger that belongs to `owner`, in the same database."""
        view = copy(self)
        view._see(owner)
        return view

    @classmethod
    def in_memory(cls) -> Self:
        """Return a fresh ledger that lives as long as the object: for experiments and simulations.

        >>> from dpengine import Ledger
        >>> ledger = Ledger.in_memory()
        >>> ledger.set_cap("clinic-2026", "2.5")
        >>> ledger.spent("clinic-2026"), ledger.left("clinic-2026")
        (Fraction(0, 1), Fraction(5, 2))
        """
        return cls("sqlite://")

    def snapshot(self) -> Self:
        """Return a snapshot of this ledger, which answers from one reading until it is written to.

        For callers with many questions at once. A charge is still decided by the ledger's state when it is made.
        """
        view = copy(self)
        view._snapshot = self._read()
        return view

    def fingerprint(self, digest: bytes) -> bytes:
        """Return the fingerprint of data: HMAC-SHA256 of its content digest under the ledger's key for this owner.

        Without that key a fingerprint confirms no guess about the data.
        """
        return hash_chain.keyed(self._key, "fingerprint", digest)

    def derive_key(self, purpose: str, *parts: bytes) -> bytes:
        """Return 32 bytes that are always the same for this ledger, owner, purpose and parts, and secret to it."""
        return hash_chain.keyed(self._key, "derive", purpose, *parts)

    def named_key(self, name: str) -> bytes | None:
        """Return the key that the ledger keeps under `name`, for all owners; None if there is none yet."""
        with self._reading() as (connection, _):
            return hash_chain.named_key(connection, self._secret, name, None)

    def keep_key(self, name: str, make: Callable[[], bytes]) -> bytes:
        """Return the key that the ledger keeps under `name`; if there is none yet, make it and keep it for good."""
        check_texts(name=name)
        known = self.named_key(name)
        if known is not None:
            return known
        with self._writing() as (connection, _):
            key = hash_chain.named_key(connection, self._secret, name, make)
        assert key is not None
        return key

    def _read(self) -> Snapshot:
        if self._snapshot is not None:
            return self._snapshot
        with self._reading() as (_, snapshot):
            return snapshot

    @contextmanager
    def _reading(self) -> Iterator[tuple[sa.Connection, Snapshot]]:
        """Yield a connection that sees one snapshot, and the ledger's state in it."""
        seen = witness.seen(self._address)
        with self._store.reading() as connection:
            yield connection, self._snapshot or self._snapshot_in(connection, seen)

    @contextmanager
    def _writing(self) -> Iterator[tuple[sa.Connection, Snapshot]]:
        """Yield a connection and the ledger's state, locked until the changes are committed, all or none."""
        seen, self._snapshot = witness.seen(self._address), None
        with self._store.writing() as connection:
            crash_point("after_begin")
            snapshot = self._snapshot_in(connection, seen)
            upgrade(connection, snapshot.version)
            crash_point("after_upgrade")
            yield connection, snapshot
            written = hash_chain.state_of(connection)
        crash_point("after_commit")
        witness.note(self._address, written)
        crash_point("after_note")

    def _snapshot_in(self, connection: sa.Connection, seen: Seen | None) -> Snapshot:
        snapshot = hash_chain.read(connection, self._secret, self._owner)
        if self._address is not None:  # nothing is noted of a ledger in memory
            witness.note_growth(self._address, seen, hash_chain.check_continues(connection, seen, self._address))
        return snapshot
