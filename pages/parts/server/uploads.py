"""Places for files on their way from a browser to this server, each with a token that nobody can guess.

No file is held in memory. A place belongs to one session and takes one file at a time. The file is in a folder of its
own that no other account may enter. It is removed when its place is closed, and also when the place is forgotten
without being closed, as happens when Streamlit's sessions expire. A file that did not arrive whole is removed at once.
"""

from __future__ import annotations

import os
import secrets
import shutil
import tempfile
import threading
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from dpengine.settings import settings

__all__ = ["KINDS", "Busy", "Closed", "Place", "ending", "find", "limit"]

KINDS = [
    "csv", "tsv", "tab", "txt", "gz", "parquet", "pq", "xlsx", "xls", "ods", "arrow", "feather", "ipc",
    "sav", "zsav", "por", "dta", "sas7bdat", "xpt",
]  # fmt: skip

_places: weakref.WeakValueDictionary[str, Place] = weakref.WeakValueDictionary()


class Busy(Exception):
    """Another file is arriving at the same place."""


class Closed(Exception):
    """The place was closed while a file was arriving: its visitor has left, or has chosen another table."""


class Place:
    """A place for one file of one session; whoever knows its token may put a file there."""

    def __init__(self, session: str) -> None:
        self.token = secrets.token_urlsafe(32)
        self.session = session
        self.name = ""
        self.arrivals = 0  # how many files have arrived whole
        self._path: Path | None = None
        self._remove: Callable[[], object] = lambda: None  # removes the file that has arrived
        self._busy = self._closed = False
        self._lock = threading.Lock()
        _places[self.token] = self

    @property
    def path(self) -> Path | None:
        """The file, once it has arrived whole."""
        return self._path

    @contextmanager
    def receiving(self, name: str) -> Iterator[BinaryIO]:
        """Open a file for what arrives, after removing the one before.

        Raises `Busy` if another file is arriving, and `Closed`, even at the end, if nobody waits for it any longer.
        """
        with self._lock:
            if self._closed:
                raise Closed
            if self._busy:
                raise Busy
            self._busy = True
            self._forget()
        folder = Path(tempfile.mkdtemp(prefix="private-release-"))  # 0700
        path = folder / f"table{ending(name)}"
        remove = weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)
        try:
            with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
                yield file
            with self._lock:
                if self._closed:
                    raise Closed
                self._path, self._remove = path, remove
                self.name, self.arrivals = name, self.arrivals + 1
        except BaseException:
            remove()
            raise
        finally:
            self._busy = False

    def seal(self) -> None:
        """Keep the file that has arrived, and take no other one."""
        _places.pop(self.token, None)

    @property
    def closed(self) -> bool:
        """Whether this place takes no more files, and has none."""
        return self._closed

    def close(self) -> None:
        """Take no more files, and remove the one that has arrived. Closing twice is fine."""
        with self._lock:
            self._closed = True
            self._forget()
        _places.pop(self.token, None)

    def _forget(self) -> None:
        self._remove()
        self._path, self._remove = None, lambda: None


def find(token: str) -> Place | None:
    """Return the open place with this token."""
    return _places.get(token)


def limit() -> int:
    """Return the largest size of a file in bytes."""
    return settings().max_upload_mb * 10**6


def ending(name: str) -> str:
    """Return the file ending that says what kind of table it is; "" for an unknown kind.

    Nothing else of the name that a sender gives becomes part of a path.

    >>> ending("clinic.2026.CSV.GZ"), ending("../backup.gz"), ending("run.py")
    ('.csv.gz', '.gz', '')
    """
    inner, last = ["", "", *(part.lower() for part in name.split(".")[1:])][-2:]
    if last not in KINDS:
        return ""
    return f".{inner}.{last}" if last == "gz" and inner in KINDS else f".{last}"
