"""What a case of the corpus is: a file that is odd, damaged or hostile, and what is to become of it."""

from __future__ import annotations

import gzip
import io
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

CANARY = "ZZ_CANARY_7f3a"  # a value that no message may quote

Counts = tuple[int, int, int, int]


@dataclass(frozen=True, slots=True)
class Case:
    """A file by name and content, and what is to become of it.

    `refused` is part of the message, if the file is not read. `counts` are the rows with 1, with 2, with another value
    and with none in column ``a``, if it is. A case with neither may be read or refused, but nothing worse.
    """

    file: str
    content: bytes | Callable[[], bytes]
    refused: str = ""
    counts: Counts | None = None
    options: Mapping[str, Any] = field(default_factory=dict)

    def bytes(self) -> bytes:
        """Make the content."""
        return self.content if isinstance(self.content, bytes) else self.content()


def text(content: str | bytes, refused: str = "", counts: Counts | None = None, **options: str) -> Case:
    """Return a case of a text table."""
    return Case("t.csv", content.encode() if isinstance(content, str) else content, refused, counts, options)


def packed(content: bytes | Callable[[], bytes], refused: str = "", counts: Counts | None = None) -> Case:
    """Return a case of a gzipped text table whose archive is `content`."""
    return Case("t.csv.gz", content, refused, counts)


def members(piece: bytes, times: int, first: bytes = b"") -> bytes:
    """Return an archive that unpacks to `first`, and then to `piece` very often, made in no time."""
    return gzip.compress(first) + gzip.compress(piece) * times


def changed(archive: bytes, change: Callable[[str, bytes], bytes | None]) -> bytes:
    """Return a zip archive with the content of its members changed; those for which that is None are left out."""
    file = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(archive)) as old, zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as new:
        for name in old.namelist():
            if (content := change(name, old.read(name))) is not None:
                new.writestr(name, content)
    return file.getvalue()
