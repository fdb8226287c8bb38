"""The database of a ledger: its address, file and locks, and messages for its failures.

SQLite by default, PostgreSQL for several machines; any other database that SQLAlchemy reaches works the same way.
Writers take turns: on SQLite by `BEGIN IMMEDIATE`, elsewhere by the lock that a writer takes on one row
with `SELECT ... FOR UPDATE` (see `locked`).
"""

from __future__ import annotations

import os
import sqlite3
import tempfile
import threading
import weakref
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import cache, partial
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from sqlalchemy.pool import NullPool

from dpengine.errors import Fault, LedgerBusyError, LedgerError
from dpengine.translation.catalogue import _, mark

__all__ = ["Store", "address_of", "locked", "new_file", "open_copy", "plain_errors", "public_address"]

# How long a writer waits for those before it. On a busy machine a commit takes seconds to reach the disk, and several
# writers may be in the queue.
_BUSY_SECONDS = 60.0  # time that a process waits for another one to release the ledger
_WRITES = {"ledger_writes": True}
_SECRETS = ["password", "sslpassword"]  # options of an address that must not be shown

_UNUSABLE = mark("The ledger cannot be used")
_DAMAGED = mark("it is damaged; restore it from an intact backup")
_NO_LEDGER = mark("it is damaged, or is no ledger; restore it from an intact backup, or name another place")
_BUSY = mark(
    "another process has held it for too long; try again, and if that does not help, end the program that holds it"
)
_REASONS = {
    "SQLITE_BUSY": _BUSY,
    "SQLITE_LOCKED": _BUSY,
    "SQLITE_PROTOCOL": _BUSY,  # many attempts to lock it failed
    "SQLITE_FULL": mark("the disk is full; make room and try again"),
    "SQLITE_IOERR": mark("the disk failed to read or write it; make sure that there is room, then try again"),
    "SQLITE_READONLY": mark("it, or its folder, is read-only; allow this account to write to both"),
    "SQLITE_CANTOPEN": mark(
        "it cannot be opened; check that it is a file, and that this account may write to it and to its folder"
    ),
    "SQLITE_CORRUPT": _DAMAGED,
    "SQLITE_NOTADB": _NO_LEDGER,
    "SQLITE_ERROR": _NO_LEDGER,
}
# The same reasons by PostgreSQL's error codes (its manual, appendix A).
_REASONS |= {
    "55P03": _REASONS["SQLITE_BUSY"],
    "53100": _REASONS["SQLITE_FULL"],
    "58030": _REASONS["SQLITE_IOERR"],
    "25006": mark("its database is read-only; use the primary server"),
    "42501": mark("this account may not read and write it; grant it both rights"),
    "XX001": _DAMAGED,
    "XX002": _DAMAGED,
}
_BUILD_LOCK = 0x6C6564676572  # any number that no other program is likely to lock


Build = Callable[[sa.Connection, LedgerError | None], bool]
Begin = Callable[[], AbstractContextManager[sa.Connection]]


class Store:
    """An open database of one ledger.

    `build` makes the tables in a database that has none, or raises the `refusal` instead, and returns whether it made
    them; it must leave existing tables as they are. `begun` is whether this object made a new ledger.
    """

    def __init__(self, url: str | None, build: Build, refusal: LedgerError | None = None) -> None:
        self.begun = False
        self._begin_read: Begin
        self._begin_write: Begin
        # A database in memory is its one connection: threads take turns.
        self._turn: AbstractContextManager[Any] = nullcontext()
        with plain_errors():
            address = address_of(url)
            is_file = address.get_backend_name() == "sqlite" and not _in_memory(address)
            if is_file:
                self._open_file(Path(str(address.database)).absolute(), build, refusal)
            elif _in_memory(address):
                self._open_memory()
            else:
                self._open_server(address)
        if not is_file:
            with self.writing() as connection:
                if connection.dialect.name == "postgresql":  # of programs that start at once, one builds the tables
                    connection.execute(sa.select(sa.func.pg_advisory_xact_lock(_BUILD_LOCK)))
                self.begun = build(connection, refusal)

    def _open_file(self, path: Path, build: Build, refusal: LedgerError | None) -> None:
        if not path.exists():
            if refusal is not None:
                raise refusal
            self.begun = _create_file(path, build)
        engine = _file_engine(path)
        self._begin_read, self._begin_write = engine.begin, engine.execution_options(**_WRITES).begin

    def _open_memory(self) -> None:
        connection = _memory_engine().connect()
        self._begin_read = self._begin_write = partial(_begin, connection)
        self._turn = threading.Lock()
        weakref.finalize(self, connection.close)

    def _open_server(self, address: sa.URL) -> None:
        engine = sa.create_engine(address, pool_pre_ping=True)
        if address.get_backend_name() == "postgresql":
            _prepare_connections(engine)
        # A reader must see one snapshot in all its selects; a writer what the last one committed.
        self._begin_read = engine.execution_options(isolation_level="REPEATABLE READ").begin
        self._begin_write = engine.execution_options(isolation_level="READ COMMITTED", **_WRITES).begin
        weakref.finalize(self, engine.dispose)

    @contextmanager
    def reading(self) -> Iterator[sa.Connection]:
        """Yield a connection that sees one consistent snapshot of the database."""
        with plain_errors(), self._turn, self._begin_read() as connection:
            yield connection

    @contextmanager
    def writing(self) -> Iterator[sa.Connection]:
        """Yield a connection whose changes are committed together at the end, or not at all on an error."""
        with plain_errors(), self._turn, self._begin_write() as connection:
            yield connection


def locked(connection: sa.Connection, statement: sa.Select[Any]) -> sa.Select[Any]:
    """Return the statement with a lock on its rows until the commit if the connection writes; readers lock nothing."""
    writes = connection.get_execution_options().get("ledger_writes", False)
    return statement.with_for_update() if writes else statement


def address_of(url: str | None, *, lasting: bool = False) -> sa.URL:
    """Return the address of a ledger, by default the user's own; raise `LedgerError` if the text is not an address.

    A `lasting` one is in memory only if `:memory:` asks for it, and that of the settings never: what it spent would be
    forgotten.
    """
    text = url or _set_address()
    if not text:
        from dpengine.settings import own_ledger

        path = own_ledger()
        try:
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError:  # an account without a home, or with one that it may not write
            advice = _(
                "The folder of this account's ledger cannot be made; "
                "set PRIVATE_RELEASE_LEDGER to another place, such as sqlite:////srv/ledger.db"
            )
            raise LedgerError(Fault((str(path.parent),), advice)) from None
        return sa.URL.create("sqlite", database=str(path))
    try:
        address = sa.make_url(text)
        address.get_dialect()
    except (sa.exc.ArgumentError, ValueError):
        raise LedgerError(_("The ledger's address cannot be read; write it like sqlite:///ledger.db")) from None
    plain = address.drivername in ("sqlite", "sqlite+pysqlite") and not address.query
    if address.get_backend_name() == "sqlite" and not plain:
        # Ignoring a driver or option that was asked for, such as encryption, would be worse than refusing.
        raise LedgerError(_("A SQLite ledger takes no options; write its address like sqlite:///ledger.db"))
    if _in_memory(address) and (not url or (lasting and not address.database)):
        raise LedgerError(
            _("A ledger in memory forgets what was spent when the program ends; name a file, like sqlite:///ledger.db")
        )
    return address


def _in_memory(address: sa.URL) -> bool:
    return address.get_backend_name() == "sqlite" and address.database in (None, "", ":memory:")


def _set_address() -> str | None:
    from dpengine.settings import settings  # slow to load, and not needed if a ledger is named

    ledger = settings().ledger
    return None if ledger is None else ledger.get_secret_value()


def public_address(url: str | None) -> str | None:
    """Return the absolute address of a ledger, without its password; None if it lives in memory."""
    with plain_errors():
        address = address_of(url)
    if address.get_backend_name() == "sqlite":
        return None if _in_memory(address) else f"sqlite:///{os.path.abspath(str(address.database))}"
    return address.set(password=None).difference_update_query(_SECRETS).render_as_string()


@contextmanager
def open_copy(path: Path) -> Iterator[sa.Connection]:
    """Yield a connection that only reads a copy of a ledger in a file; nothing beside the file is needed or changed."""
    address = sa.URL.create("sqlite", database=path.absolute().as_uri(), query={"mode": "ro", "uri": "true"})
    engine = sa.create_engine(address, poolclass=NullPool)
    _take_over_begin(engine)
    with plain_errors(mark("The copy cannot be used")), engine.begin() as connection:
        yield connection


@contextmanager
def new_file(path: Path, journal: str = "WAL") -> Iterator[sa.Connection]:
    """Yield a connection to fill a new file, readable by its owner only; it appears at `path` on commit.

    Raises FileExistsError if something is at `path` by then; it is not changed.
    """
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=".ledger-")
    os.close(handle)
    fresh = Path(name)
    try:
        with _file_engine(fresh, journal).execution_options(**_WRITES).begin() as connection:
            yield connection
        os.link(fresh, path)
    finally:
        fresh.unlink()


@cache
def _memory_engine() -> sa.Engine:
    """Return the engine of all databases in memory; each connection that it opens is a database of its own.

    They share it since an engine compiles each statement once.
    """
    engine = sa.create_engine("sqlite://", poolclass=NullPool, connect_args={"check_same_thread": False})
    _take_over_begin(engine)
    return engine


@contextmanager
def _begin(connection: sa.Connection) -> Iterator[sa.Connection]:
    """Yield an open connection, whose changes are committed at the end, or not at all on an error."""
    with connection.begin():
        yield connection


def _file_engine(path: Path, journal: str = "WAL") -> sa.Engine:
    """Return an engine that opens the file for each connection: safe across forks, nothing kept open."""
    engine = sa.create_engine(
        # mode=rw: a ledger that has gone missing is an error, never a new one with all its budget.
        sa.URL.create("sqlite", database=path.as_uri(), query={"mode": "rw", "uri": "true"}),
        poolclass=NullPool,
        connect_args={"timeout": _BUSY_SECONDS},
    )

    @sa.event.listens_for(engine, "connect")
    def prepare(connection: sqlite3.Connection, _record: object) -> None:
        try:
            connection.execute(f"PRAGMA journal_mode = {journal}")
            connection.execute("PRAGMA synchronous = FULL")
            # Each commit reaches the file itself before it returns: a lost -wal takes no release along.
            connection.execute("PRAGMA wal_autocheckpoint = 1")
        except sqlite3.Error:
            connection.close()
            raise

    _take_over_begin(engine)
    return engine


def _prepare_connections(engine: sa.Engine) -> None:
    """Set a timeout for waiting writers, and make a commit return only when it is on the disk.

    A server may be configured to report a commit before it is on disk; a release shown by then could be lost.
    """

    @sa.event.listens_for(engine, "connect")
    def prepare(connection: Any, _record: object) -> None:
        connection.execute(f"SET lock_timeout = {round(_BUSY_SECONDS * 1000)}")
        connection.execute(
            "SELECT set_config('synchronous_commit', 'on', false) WHERE current_setting('synchronous_commit') = 'off'"
        )
        connection.commit()


def _take_over_begin(engine: sa.Engine) -> None:
    """Issue BEGIN here, since the driver would read before it locks."""

    @sa.event.listens_for(engine, "connect")
    def silence_driver(connection: sqlite3.Connection, _record: object) -> None:
        connection.isolation_level = None

    @sa.event.listens_for(engine, "begin")
    def begin(connection: sa.Connection) -> None:
        writes = connection.get_execution_options().get("ledger_writes", False)
        connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")


def _create_file(path: Path, build: Build) -> bool:
    """Create a whole ledger or none; return False if another process was first, and keep that process's ledger.

    So an empty file is never a new ledger, only a truncated one.
    """
    try:
        with new_file(path) as connection:
            return build(connection, None)
    except FileExistsError:
        return False


@contextmanager
def plain_errors(what: str = _UNUSABLE) -> Iterator[None]:
    """Turn every failure of a database into a `LedgerError` that names no path; `LedgerBusyError` if it may pass."""
    kind = LedgerError
    try:
        yield
    except sa.exc.DBAPIError as error:
        reason, passes = _reason(error.orig)
        kind = LedgerBusyError if passes else LedgerError
    except ImportError:
        reason = _("the driver for its kind of database is not installed")
    except (OSError, sa.exc.SQLAlchemyError):
        reason = _("its folder does not exist, or this account may not write to it")
    except (ValueError, TypeError, ArithmeticError):
        reason = _(_DAMAGED)
    else:
        return
    raise kind(_("{what}: {reason}. Nothing was released.", what=_(what), reason=reason)) from None


def _reason(error: object) -> tuple[str, bool]:
    """Return why a database failed, and whether that may pass by itself."""
    code = str(getattr(error, "sqlstate", None) or getattr(error, "sqlite_errorname", ""))
    code = "_".join(code.split("_")[:2])  # SQLITE_IOERR_WRITE is a kind of SQLITE_IOERR
    unreachable = not code or code.startswith(("08", "57P"))
    if code in _REASONS:
        return _(_REASONS[code]), _REASONS[code] is _BUSY
    if unreachable:
        # Without a code, PostgreSQL does not let programs tell a wrong password from a server that is down.
        return _("its database cannot be reached; check that it runs and has room on its disk, and that its name, "
                 "account and password are right"), True  # fmt: skip
    return _("its database refused; check that it is running, is intact, and has room on its disk"), False
