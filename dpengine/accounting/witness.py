"""The last seen state of each ledger, noted outside of it, so that the loss of a ledger is noticed.

A deleted ledger leaves no trace, and an old copy of it is consistent in itself. So each account notes for every address
which ledger was there, how many entries it had, the hash of the last one, and a hash of each of its keys. If less is
found later, the ledger is refused until somebody brings it back, or deliberately accepts the loss (`upkeep`).

A note is a small file, readable by its owner only, in the folder that the setting `state` names, or else in the user's
state folder. Its name is a hash of the address, and it holds nothing about data. If no file can be written, a note
lasts as long as the process. Ledger files in the system's temporary folder are not meant to last: nothing is noted
about them unless that setting is made. Failing to write a note never loses a result that was paid for.
"""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from platformdirs import user_state_path

from dpengine.errors import Fault, LedgerError
from dpengine.settings import settings, variable
from dpengine.translation.catalogue import _, mark, number, plural

__all__ = [
    "COPIED",
    "Seen",
    "entries",
    "lost_entries",
    "missing",
    "note",
    "note_growth",
    "replaced",
    "seen",
    "seen_elsewhere",
    "unwritten",
]

COPIED = mark(
    "a copy of this ledger was used at another address, and what was spent there is not counted here: go on with one "
    "of the two, and spend nothing more from the other"
)

_noted: dict[Path, Seen] = {}  # notes of this process, in case no file can be written
_unwritten: set[Path] = set()  # files of notes that could not be written


@dataclass(frozen=True, slots=True)
class Seen:
    """The last seen state of a ledger: its identity, number of entries, hash of the last entry, hashes of its keys."""

    identity: bytes
    entries: int
    head: bytes
    keys: frozenset[bytes] = frozenset()


_UNKNOWN = Seen(b"", 0, b"")  # some ledger was there


def seen(address: str | None) -> Seen | None:
    """Return the last seen state of the ledger at an address; None if none was ever seen there.

    Call this before reading the ledger: otherwise entries that others add meanwhile seem to be missing from it.
    """
    if address is None or _is_temporary(address):
        return None
    path = _path(address)
    try:
        return _stored(path)
    except OSError:
        return _noted.get(path)
    except (ValueError, TypeError, KeyError, AttributeError):
        return _noted.get(path, _UNKNOWN)


def seen_elsewhere(address: str | None, identity: bytes) -> list[Seen]:
    """Return what was seen of the ledger of this identity at other addresses than `address`."""
    if address is None or _is_temporary(address):
        return []
    own, states = _path(address), []
    for path in own.parent.glob("*.json"):
        with suppress(OSError, ValueError, TypeError, KeyError, AttributeError):
            state = _stored(path)
            if path != own and state.identity == identity:
                states.append(state)
    return states


def note(address: str | None, state: Seen) -> None:
    """Note the state of the ledger at an address, replacing the earlier note."""
    if address is None or _is_temporary(address):
        return
    path = _path(address)
    _noted[path] = state
    keys = sorted(each.hex() for each in state.keys)
    fields = {"identity": state.identity.hex(), "entries": state.entries, "head": state.head.hex(), "keys": keys}
    _unwritten.add(path)
    with suppress(OSError):
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        handle, fresh = tempfile.mkstemp(dir=path.parent, prefix=".note-")
        try:
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                json.dump(fields, file)
            os.replace(fresh, path)
            _unwritten.discard(path)
        except OSError:
            os.unlink(fresh)


def unwritten(address: str | None) -> str | None:
    """Return a warning for the operator if the note of a ledger ends with this process; None if it does not."""
    if address is None or _is_temporary(address) or (path := _path(address)) not in _unwritten:
        return None
    return (
        f"what was seen of the ledger cannot be noted in {path.parent}, so its loss would not be noticed later: "
        f"let this account write there, or set {variable('state')}"
    )


def note_growth(address: str | None, known: Seen | None, state: Seen) -> None:
    """Note the state of the ledger at an address if it has grown."""
    if known is None or known.entries < state.entries or known.keys < state.keys:
        note(address, state)


def entries(state: Seen) -> str:
    """Return the number of entries in words, such as "1 entry"."""
    return plural("{n} entry", "{n} entries", state.entries)


def lost_entries(now: Seen, seen: Seen, there: bytes | None) -> str | None:
    """Say which entries of the ledger `seen` are missing from its state `now`; None if none.

    `there` is the present hash of the entry that was the last one seen; None if there is no such entry.
    """
    if seen.entries == 0:
        return None  # nothing was spent that could be forgotten
    if seen.identity and now.identity != seen.identity:
        return _("it is another one than that of {entries} which was seen there", entries=entries(seen))
    if now.entries < seen.entries:
        return _(
            "it has {entries}, but {seen} were seen there, and what was spent since would be forgotten",
            entries=entries(now),
            seen=number(seen.entries),
        )
    if there != seen.head:
        return _(
            "its entry {seen} is not the one that was seen there, and what was spent since would be forgotten",
            seen=number(seen.entries),
        )
    return None


def missing(address: str | None, known: Seen | None) -> LedgerError:
    """Return the error to raise if there is no ledger although one was seen, or if none may be created."""
    if known is None:
        return _at(address, _("There is no ledger here. Nothing was released. Check the address, or begin a new "
                              "ledger: private-release ledger begin"))  # fmt: skip
    return _at(address, _("The ledger that was used here, of {entries}, is gone. Nothing was released. "
               "Bring it back: mount its disk, start its database, or restore a backup (private-release ledger "
               "restore). Or, if what it spent may be forgotten, deliberately begin a new one: private-release ledger "
               "begin", entries=entries(known)))  # fmt: skip


def replaced(address: str | None, loss: str) -> LedgerError:
    """Return the error to raise if the ledger lacks something of the one that was seen."""
    return _at(address, _("The ledger is not as it was left here: {loss}. Nothing was released. Bring the right one "
               "back (private-release ledger restore). Or, if what is missing may be forgotten, deliberately go on "
               "with this one: private-release ledger accept", loss=loss))  # fmt: skip


def _at(address: str | None, text: str) -> LedgerError:
    """Return an error that names the address as its place; the page does not show places."""
    return LedgerError(Fault((address,) if address else (), text))


def _stored(path: Path) -> Seen:
    stored = json.loads(path.read_bytes())
    keys = frozenset(map(bytes.fromhex, stored.get("keys", ())))  # notes of earlier versions name none
    return Seen(bytes.fromhex(stored["identity"]), int(stored["entries"]), bytes.fromhex(stored["head"]), keys)


def _is_temporary(address: str) -> bool:
    file = address.removeprefix("sqlite:///")
    temporary = file != address and Path(os.path.realpath(file)).is_relative_to(os.path.realpath(tempfile.gettempdir()))
    return temporary and not settings().state


def folder_of_notes() -> Path:
    """Return the folder of notes of what was seen of ledgers: that of the settings, otherwise the account's own."""
    return Path(settings().state or user_state_path("private-release")).absolute()


def _path(address: str) -> Path:
    return folder_of_notes() / "ledgers" / f"{hashlib.sha256(address.encode()).hexdigest()[:32]}.json"
