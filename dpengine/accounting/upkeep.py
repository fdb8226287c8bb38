"""Back up and restore a ledger, or deliberately continue after a loss.

A backup is a ledger in a SQLite file, whatever database the original lives in, upgraded to today's layout. It is read
in one transaction, so it is consistent while others write. It holds the ledger's keys.
"""

from __future__ import annotations

from pathlib import Path

import sqlalchemy as sa

from dpengine.accounting import hash_chain, schema, witness
from dpengine.accounting.database import Store, new_file, open_copy, plain_errors, public_address
from dpengine.accounting.upgrade import upgrade
from dpengine.accounting.witness import Seen
from dpengine.errors import Fault, LedgerError
from dpengine.translation.catalogue import mark

__all__ = ["accept", "backup", "begin", "check", "restore"]

_AT_ONCE = 16  # rows that are copied at once; a stored result may have several MB


def check(url: str | None) -> int:
    """Check every entry, stored result and key of a ledger, of all owners; return the number of entries.

    Raises `LedgerError` naming what is broken, or if the ledger is missing or not the one that was used here.
    """
    address, seen, store = _opened(url)
    with store.reading() as connection:
        entries = hash_chain.verify(connection).entries
        hash_chain.check_continues(connection, seen, address)
    return entries


def backup(url: str | None, to: Path) -> int:
    """Write a copy of a ledger to a new file, readable by its owner only; return the number of its entries.

    The copy is checked as in `check`. Raises `LedgerError` if the ledger cannot be used or copied, or
    if something is at `to` already; it is not changed.
    """
    if to.exists():
        raise _exists_already(to)
    address, seen, store = _opened(url)
    with store.reading() as connection:
        hash_chain.check_continues(connection, seen, address)
        with plain_errors(mark("The backup cannot be written")):
            try:
                with new_file(to, journal="DELETE") as copy:  # one file, with nothing beside it
                    schema.all_tables.create_all(copy, checkfirst=False)
                    _copy(connection, copy)
            except FileExistsError:
                raise _exists_already(to) from None
    try:
        with open_copy(to) as copy:  # from the disk
            return hash_chain.verify(copy).entries
    except LedgerError:
        to.unlink()
        raise


def restore(source: Path, url: str | None, *, forget: bool = False) -> int:
    """Replace a ledger by a backup, in one transaction; return the number of its entries.

    The backup is checked first. Raises `LedgerError` if it is damaged, and if entries would be lost: if the present
    ledger, or the one that this account has seen there, has entries that the backup lacks. Their ε could then be
    spent again; `forget` accepts that.
    """
    address = public_address(url)
    with open_copy(source) as copy:
        state = hash_chain.verify(copy)
        seen = witness.seen(address)
        if seen is not None and not forget:
            _refuse_loss(copy, seen)
        store = Store(url, lambda connection, _: _fill(copy, connection, forget=forget))
        if not store.begun:
            with store.writing() as connection:
                _fill(copy, connection, forget=forget)
    witness.note(address, state)
    return state.entries


def begin(url: str | None) -> str | None:
    """Create a new ledger where there is none, whatever was seen there before; return its address.

    Raises `LedgerError` if there is a ledger.
    """
    address, store = public_address(url), Store(url, hash_chain.build)
    if not store.begun:
        raise LedgerError(Fault((address or "",), "There is a ledger here. No new one was begun."))
    _note(address, store)
    return address


def accept(url: str | None) -> int:
    """Accept the present ledger, whatever was seen there before; return the number of its entries.

    Raises `LedgerError` if there is none, or if it is damaged.
    """
    address, _, store = _opened(url)
    return _note(address, store).entries


def _opened(url: str | None) -> tuple[str | None, Seen | None, Store]:
    address = public_address(url)
    seen = witness.seen(address)
    return address, seen, Store(url, hash_chain.build, witness.missing(address, seen))


def _note(address: str | None, store: Store) -> Seen:
    with store.reading() as connection:
        state = hash_chain.verify(connection)
    witness.note(address, state)
    return state


def _fill(copy: sa.Connection, ledger: sa.Connection, *, forget: bool) -> bool:
    """Replace the content of a ledger, which may lack rows or tables, by the copy's."""
    used = sa.inspect(ledger).has_table(schema.charges.name)
    if used:
        upgrade(ledger, schema.version_of(ledger))
    schema.all_tables.create_all(ledger)
    if used and not forget:
        _refuse_loss(copy, _remains(ledger))
    for table in reversed(schema.all_tables.sorted_tables):
        if table is not schema.meta:  # writers lock its row
            ledger.execute(sa.delete(table))
    _copy(copy, ledger)
    return True


def _remains(ledger: sa.Connection) -> Seen:
    """Return the state of a ledger; if its meta row is missing, the state that its remaining charges show."""
    if schema.has_meta(ledger):
        return hash_chain.state_of(ledger)
    charges = schema.charges.c
    last = ledger.execute(sa.select(charges.number, charges.hash).order_by(charges.number.desc())).first()
    return Seen(b"", 0, b"") if last is None else Seen(b"", int(last.number), bytes(last.hash))


def _copy(source: sa.Connection, target: sa.Connection) -> None:
    """Copy the rows of a ledger of any version into today's tables; missing columns are filled as by `upgrade`."""
    inspector = sa.inspect(source)
    stored = set(inspector.get_table_names())
    for table in (each for each in schema.all_tables.sorted_tables if each.name in stored):
        known = {column["name"] for column in inspector.get_columns(table.name)}
        selected = sa.select(*(column for column in table.columns if column.name in known))
        if table is schema.meta:
            row = {**source.execute(selected).mappings().one(), "version": schema.VERSION}
            replaced = target.execute(sa.update(table).values(**row)).rowcount
            if not replaced:
                target.execute(sa.insert(table).values(**row))
            continue
        for rows in source.execute(selected, execution_options={"yield_per": _AT_ONCE}).mappings().partitions():
            target.execute(sa.insert(table), [dict(row) for row in rows])


def _refuse_loss(copy: sa.Connection, seen: Seen) -> None:
    if loss := hash_chain.lost(copy, hash_chain.state_of(copy), seen):
        raise LedgerError(
            f"The backup is not restored, since something would be lost: {loss}. Keep a backup of what is there, and "
            "restore with --forget if that is meant."
        )


def _exists_already(to: Path) -> LedgerError:
    return LedgerError(f"{to.name} is there already, and was not overwritten. Nothing was copied.")
