"""SQL dialects of the engines to which counting is pushed down.

A dialect holds only what differs between engines. All other SQL of counting is comparison, CASE and grouping, on which
engines agree.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from decimal import Context

from dpengine.sql import literal

__all__ = ["DIALECTS", "LOCAL", "Dialect"]


@dataclass(frozen=True, slots=True)
class Dialect:
    """Templates of SQL: ``{x}`` is an expression, ``{p}`` a regular expression."""

    float64: str = "DOUBLE PRECISION"
    text: str = "VARCHAR"
    backslash_escapes: bool = False  # whether a backslash in a literal begins an escape
    byte_order: str = ""  # suffix by which texts are compared byte by byte
    is_nan: str = "lower(CAST({x} AS VARCHAR)) = 'nan'"
    trim: str = "trim({x}, {chars})"
    matches: str = "regexp_like({x}, {p})"
    extract: str = "regexp_substr({x}, {p}, 1, 1, 'e', 1)"
    try_cast: str = "CAST"  # a cast that gives null on failure, if the engine has one
    to_float64: str = "CAST({x} AS DOUBLE PRECISION)"
    long_to_float64: str = "CAST({x} AS DOUBLE PRECISION)"  # of a numeral with an exponent or of hundreds of digits
    integer_divide: str = "floor({a} / {b})"
    days_between: str = "({a} - {b})"
    utc: str = "CAST({x} AS TIMESTAMP)"  # a zoned timestamp as UTC
    add_seconds: str = "({x} + ({n}) * INTERVAL '1' SECOND)"
    compose: str = "{x}"  # composed Unicode (NFC), if the engine can compose
    keeps_rows: bool = True  # whether what is MATERIALIZED in a statement is computed once
    fence: str = ""  # suffix by which a subquery is not inlined at each use of its columns
    byte_length: str = "octet_length({x})"
    concat: bool = False  # whether concat() takes any number of texts (100 in PostgreSQL); it is faster than many ||
    hash: str = "md5({x})"
    # 32 bits of a hash `h` as a number whose sum cannot overflow: from bit {shift} on, or from hex digits {hex}.
    hash_word: str = ""

    def literal(self, text: str) -> str:
        """Write a text as an SQL literal."""
        if self.backslash_escapes:
            text = text.replace("\\", "\\\\").replace("'", "\\'")
            return f"'{text}'"
        return literal(text)

    def listed(self, texts: Iterable[str]) -> str:
        """Write texts as a list in parentheses."""
        return f"({', '.join(self.literal(text) for text in texts)})"

    def joined(self, texts: Sequence[str]) -> str:
        """Write the concatenation of texts."""
        return f"concat({', '.join(texts)})" if self.concat else " || ".join(texts)

    def to_text(self, expression: str) -> str:
        """Write the cast of an expression to text."""
        return f"CAST({expression} AS {self.text})"


# The smallest number that 64 bits round to infinity, and the largest that they round to zero.
_OVERFLOW, _UNDERFLOW = 2**1024 - 2**970, Context(prec=800).power(2, -1075)
_POSTGRES = Dialect(
    text="TEXT",
    byte_order=' COLLATE "C"',
    is_nan="{x} = 'NaN'",
    trim="btrim({x}, {chars})",
    matches="{x} ~ {p}",
    extract="substring({x} from {p})",
    long_to_float64=(
        f"CASE WHEN abs(CAST({{x}} AS NUMERIC)) >= {_OVERFLOW} THEN NULL "
        f"WHEN abs(CAST({{x}} AS NUMERIC)) <= {_UNDERFLOW} THEN 0 ELSE CAST({{x}} AS DOUBLE PRECISION) END"
    ),
    integer_divide="({a}) / {b}",
    utc="({x} AT TIME ZONE 'UTC')",
    compose="normalize({x}, NFC)",
    fence=" OFFSET 0",
    hash_word="CAST(CAST('x' || {hex} AS BIT(32)) AS BIGINT)",
)
_TRIES_CASTS = Dialect(
    float64="DOUBLE",
    try_cast="TRY_CAST",
    to_float64="TRY_CAST({x} AS DOUBLE)",
    long_to_float64="TRY_CAST({x} AS DOUBLE)",
    extract="regexp_extract({x}, {p}, 1)",
)
_SPARK = replace(
    _TRIES_CASTS,
    text="STRING",
    backslash_escapes=True,
    is_nan="isnan({x})",
    trim="btrim({x}, {chars})",
    matches="{x} RLIKE {p}",
    integer_divide="({a}) div {b}",
    days_between="datediff({a}, {b})",
    keeps_rows=False,
    hash_word="CAST(conv({hex}, 16, 10) AS DECIMAL(38, 0))",
)
_DUCKDB = replace(
    _TRIES_CASTS,
    # Statistics omit NaN, and the engine may infer from them that there is none; it infers nothing for texts.
    is_nan="CAST({x} AS VARCHAR) = 'nan'",
    matches="regexp_matches({x}, {p})",
    integer_divide="({a}) // {b}",
    utc="CAST({x} AT TIME ZONE 'UTC' AS TIMESTAMP)",
    add_seconds="({x} + to_seconds({n}))",
    compose="nfc_normalize({x})",
    byte_length="strlen({x})",
    concat=True,
    hash="md5_number({x})",
    hash_word="CAST((h >> {shift}) & 4294967295 AS BIGINT)",
)
DIALECTS = {"postgres": _POSTGRES, "pyspark": _SPARK, "duckdb": _DUCKDB}
# The engine of files and frames, which are opened so that it does not trust statistics about NaN.
LOCAL = replace(_DUCKDB, is_nan="isnan({x})")
