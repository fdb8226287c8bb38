"""Whether a text file was written in an encoding of old Macs or of DOS, since letters look wrong as it was read."""

from __future__ import annotations

import re

from dpengine.counting.sample_rows import first_texts
from dpengine.sources.table import Table

__all__ = ["encoding_found"]

# What umlauts of these encodings become as Windows-1252, where no word has it: *Ÿ*, *Š* or *§* amid small letters, a
# sign before them. A mere š is not among them: names have it.
_MISREAD = {
    "mac_roman": re.compile(r"[a-z]Ÿ|Ÿ[a-z]|[a-z][Š§][a-z]|\b[A-Z]Š[a-z]|(?<![\w.,])[€†][a-z]{3}"),
    "cp850": re.compile(r"[A-Za-z][„”\N{REPLACEMENT CHARACTER}][a-z]"),
}


def encoding_found(table: Table) -> str | None:
    """Return the encoding in which a text file seems to be written, from its names and first rows; None if as read.

    It is a guess for the owner to confirm.
    """
    texts = [field.name for field in table.columns]
    texts += [text for column in first_texts(table).values() for text in column]
    said = "\n".join(text for text in texts if not text.isascii())
    return next((encoding for encoding, pattern in _MISREAD.items() if pattern.search(said)), None)
