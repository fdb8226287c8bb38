"""Read strangers' files in a separate process (`isolation`), by the functions of `untrusted`."""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from dpengine.errors import TableError
from dpengine.isolation.run import Limits, ProcessEnded, run
from dpengine.translation.catalogue import _

__all__ = ["read"]

_MEMORY, _MEMORY_PER_BYTE = 800 << 20, 32  # bytes, and for each byte of the file: a cell of a workbook takes about 100
_SECONDS, _BYTES_PER_SECOND = 9, 100_000  # of processor time; workbooks take longest
_SPARE = 256 << 20  # bytes of disk that are left free


def read(function: str, files: Sequence[Path], place: Path, /, **arguments: Any) -> Any:
    """Return what a function of `untrusted` returns for `arguments`; it reads `files`, and may write to `place`.

    It may use 800 MB of memory, or more for large files, but at most half of the machine's; some seconds of processor
    time, and more for large files; and all disk space except 256 MB. Raises `TableError`.
    """
    size = sum(path.stat().st_size for path in files)
    limits = Limits(
        memory=min(max(_MEMORY, _machine_memory() // 2), _MEMORY + _MEMORY_PER_BYTE * size),
        seconds=_SECONDS + size // _BYTES_PER_SECOND,
        disk=max(0, shutil.disk_usage(place).free - _SPARE),
    )
    try:
        return run(f"dpengine.sources.files.untrusted:{function}", arguments, limits)
    except ProcessEnded:
        raise TableError(
            _(
                "reading this file takes more memory or time than a file of its size may take, or breaks its "
                "reader: it is damaged or unusual (a workbook may have one cell far from all others); write it "
                "again as Parquet or CSV"
            )
        ) from None


def _machine_memory() -> int:
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):  # unknown on this system
        return 0
