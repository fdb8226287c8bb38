"""Private temporary folders that are removed soon after their process has ended.

A folder holds copies of rows, and is removed as soon as they are not needed. A signal that nothing can catch, or a
crash of the machine, leaves it behind; then the next process that makes one removes it. It knows abandoned folders by
the lock that each living process holds in its own.
"""

from __future__ import annotations

import shutil
import tempfile
from contextlib import suppress
from pathlib import Path

try:
    import fcntl
except ImportError:  # Windows does not remove open files, so an open file is a lock there
    fcntl = None  # type: ignore[assignment]

__all__ = ["ScratchFolder", "sweep"]

PREFIX = "private-release-"

_swept: set[str] = set()  # places already searched for abandoned folders


class ScratchFolder:
    """A new folder, locked until it is discarded, that only this account may enter.

    The first one of a process removes abandoned folders.
    """

    def __init__(self, prefix: str = PREFIX) -> None:
        folder = tempfile.gettempdir()
        if folder not in _swept:
            _swept.add(folder)
            sweep()
        self.path = Path(tempfile.mkdtemp(prefix=prefix))  # 0700
        self._lock = (self.path / ("lock" if fcntl is None else "starting")).open("wb")
        if fcntl is not None:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            (self.path / "starting").rename(self.path / "lock")  # it is locked before any other process can look

    def discard(self) -> None:
        """Remove the folder. Doing so twice is fine."""
        self._lock.close()
        shutil.rmtree(self.path, ignore_errors=True)


def sweep() -> None:
    """Remove the folders of processes that have ended without removing them."""
    for folder in Path(tempfile.gettempdir()).glob(f"{PREFIX}*"):
        with suppress(OSError):  # it is in use, belongs to another account, or was removed meanwhile
            if fcntl is None:
                (folder / "lock").unlink()
            else:
                with open(folder / "lock", "rb") as lock:
                    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(folder, ignore_errors=True)
