"""Run a command that can write to some folders only, as in a container with a read-only file system.

    python tests/read_only.py FOLDER... -- COMMAND...

Linux's Landlock (version 3, since 6.2) does it without any rights; the restriction ends with the command. Without
Landlock the command is not run.
"""

from __future__ import annotations

import ctypes
import os
import struct
import sys
from pathlib import Path

CREATE, ADD, RESTRICT = 444, 445, 446  # system calls, the same on all processors
NO_NEW_PRIVILEGES = 38
# Write files, remove and make every kind of entry, rename between folders, and truncate.
WRITES = sum(1 << bit for bit in (1, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14))
ALWAYS = ("/dev", "/proc")


def restrict(folders: list[str]) -> None:
    """Let this process, and those that it starts, write nowhere else."""
    system = ctypes.CDLL(None, use_errno=True)
    rules = system.syscall(CREATE, struct.pack("Q", WRITES), 8, 0)
    for folder in (*ALWAYS, *folders):
        place = os.open(folder, os.O_PATH | os.O_CLOEXEC)
        _check(system.syscall(ADD, rules, 1, struct.pack("=Qi", WRITES, place), 0))
        os.close(place)
    _check(system.prctl(NO_NEW_PRIVILEGES, 1, 0, 0, 0))
    _check(system.syscall(RESTRICT, rules, 0))


def _check(status: int) -> None:
    if status < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


if __name__ == "__main__":
    end = sys.argv.index("--")
    restrict([str(Path(folder).resolve()) for folder in sys.argv[1:end]])
    os.execvp(sys.argv[end + 1], sys.argv[end + 1 :])
