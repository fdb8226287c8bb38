"""What engines call things: the few pieces of SQL that differ, for rows that stay where they are.

All else that counting says to an engine is plain comparison, CASE and grouping, which engines agree on.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Context

from dpengine import sql

__all__ = ["DIALECTS", "Dialect"]


@dataclass(frozen=True, slots=True)
class Dialect:
    """Templates of SQL; ``{x}`` is a text, ``{p}`` a pattern that is to match all of it, ``{n}`` a number."""

    double: str = "DOUBLE PRECISION"
    text: str = "VARCHAR"
    quote: str = '"'
    escape: bool = False  # whether a backslash in a literal stands for more than itself
    binary: str = ""  # what makes a comparison of texts one of their bytes
    nan: str = "lower(CAST({x} AS VARCHAR)) = 'nan'"
    trim: str = "trim({x}, {chars})"
    matches: str = "regexp_like({x}, {p})"
    extract: str = "regexp_substr({x}, {p}, 1, 1, 'e', 1)"
    cast: str = "CAST"  # of what may not be of the type, where the engine has a name for that
    number: str = "CAST({x} AS DOUBLE PRECISION)"
    huge: str = "CAST({x} AS DOUBLE PRECISION)"  # of a numeral with an exponent or of hundreds of digits
    divide: str = "floor({a} / {b})"
    days: str = "({a} - {b})"
    utc: str = "CAST({x} AS TIMESTAMP)"  # the clock in UTC of a moment with a zone
    normal: str = "{x}"
    hexadecimal: str = ""
    fence: str = ""  # what keeps a subquery from being written out at each use of its columns
    bytes: str = "octet_length({x})"

    def literal(self, text: str) -> str:
        """A text as SQL."""
        if self.escape:
            text = text.replace("\\", "\\\\").replace("'", "\\'")
            return f"'{text}'"
        return sql.literal(text)

    def listed(self, texts: Iterable[str]) -> str:
        """Texts as a list in brackets."""
        return f"({', '.join(self.literal(text) for text in texts)})"

    def name(self, name: str) -> str:
        """A name of our own choosing, which holds no quote."""
        return f"{self.quote}{name}{self.quote}"


# The first number that 64 bits round to infinity, and the largest that they round to zero.
_HUGE, _TINY = 2**1024 - 2**970, Context(prec=800).power(2, -1075)
_POSTGRES = Dialect(
    text="TEXT",
    binary=' COLLATE "C"',
    nan="{x} = 'NaN'",
    trim="btrim({x}, {chars})",
    matches="{x} ~ {p}",
    extract="substring({x} from {p})",
    huge=(
        f"CASE WHEN abs(CAST({{x}} AS NUMERIC)) >= {_HUGE} THEN NULL "
        f"WHEN abs(CAST({{x}} AS NUMERIC)) <= {_TINY} THEN 0 ELSE CAST({{x}} AS DOUBLE PRECISION) END"
    ),
    divide="({a}) / {b}",
    utc="({x} AT TIME ZONE 'UTC')",
    normal="normalize({x}, NFC)",
    fence=" OFFSET 0",
    hexadecimal="CAST(CAST('x' || {x} AS BIT(32)) AS BIGINT)",
)
_SPARK = Dialect(
    double="DOUBLE",
    text="STRING",
    quote="`",
    escape=True,
    nan="isnan({x})",
    trim="btrim({x}, {chars})",
    matches="{x} RLIKE {p}",
    extract="regexp_extract({x}, {p}, 1)",
    cast="TRY_CAST",
    number="TRY_CAST({x} AS DOUBLE)",
    huge="TRY_CAST({x} AS DOUBLE)",
    divide="({a}) div {b}",
    days="datediff({a}, {b})",
    hexadecimal="CAST(conv({x}, 16, 10) AS BIGINT)",
)
_DUCKDB = Dialect(
    double="DOUBLE",
    # The engine may infer from statistics, which leave NaN out, that there is none; it infers nothing of texts.
    nan="CAST({x} AS VARCHAR) = 'nan'",
    matches="regexp_matches({x}, {p})",
    extract="regexp_extract({x}, {p}, 1)",
    cast="TRY_CAST",
    number="TRY_CAST({x} AS DOUBLE)",
    huge="TRY_CAST({x} AS DOUBLE)",
    divide="({a}) // {b}",
    utc="CAST({x} AT TIME ZONE 'UTC' AS TIMESTAMP)",
    normal="nfc_normalize({x})",
    hexadecimal="CAST('0x' || {x} AS BIGINT)",
    bytes="strlen({x})",
)
DIALECTS = {"postgres": _POSTGRES, "pyspark": _SPARK, "duckdb": _DUCKDB}
