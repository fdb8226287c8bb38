"""Texts and names written into SQL, quoted as the standard says."""

from __future__ import annotations

__all__ = ["identifier", "literal"]


def literal(text: str) -> str:
    """Write a text as an SQL literal.

    >>> literal("O'Hara")
    "'O''Hara'"
    """
    return "'" + text.replace("'", "''") + "'"


def identifier(name: str) -> str:
    """Write a name as an SQL identifier.

    >>> print(identifier('a "large" size'))
    "a ""large"" size"
    """
    return '"' + name.replace('"', '""') + '"'
