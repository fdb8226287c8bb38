"""Digests of rows in another engine, in SQL that all engines have: equal for equal rows, in any order.

Each row is written as one text and hashed by MD5, and the hashes are added up modulo 2¹²⁸. Local rows can be digested
in this way too, several times slower than by `fingerprint.RowSums`. Null and empty texts are equal, since both are
missing. Like that of `fingerprint`, the digest is not cryptographic.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence

from dpengine.sources.databases.dialects import Dialect
from dpengine.sources.mixed import member_types, text_of
from dpengine.sources.table import Field

__all__ = ["TEXT_SUMS", "digest_of_text_sums", "hash_words", "hashed_rows", "text_sums", "word_sums"]

TEXT_SUMS = {"n": "int64", **{f"s{w}": "string" for w in range(4)}}  # columns of `text_sums`, in Ibis's types


def text_sums(columns: Sequence[Field], rows: str, dialect: Dialect) -> str:
    """Write a query for the number `n` of rows, and the sums `s0` to `s3` of the 32-bit words of their MD5.

    A row is written as its cells in the order of the columns' names, each after its length in bytes; a missing cell is
    an empty text. Column i of `columns` is ``c{i}`` of the relation `rows`.
    """
    hashed = hashed_rows(columns, rows, dialect)
    return f"SELECT {', '.join(word_sums(dialect))} FROM ({hashed}{dialect.fence}) AS hashed"


def hashed_rows(columns: Sequence[Field], rows: str, dialect: Dialect, *, keep: bool = False) -> str:
    """Write a query for the MD5 `h` of each row; with `keep`, with the columns of `rows`. See `text_sums`."""
    order = sorted(range(len(columns)), key=lambda i: columns[i].name)
    utc = {i: dialect.utc.format(x=f"c{i}") for i in order if columns[i].type == "TIMESTAMP WITH TIME ZONE"}
    mixed = {i: text_of(f"c{i}", columns[i].type) for i in order if member_types(columns[i].type)}
    texts = [f"coalesce({mixed.get(i, dialect.to_text(utc.get(i, f'c{i}')))}, '') AS t{i}" for i in order]
    lengths = {i: dialect.to_text(dialect.byte_length.format(x=f"t{i}")) for i in order}
    row = dialect.joined([part for i in order for part in (lengths[i], "':'", f"t{i}")])
    cells = [f"c{i}" for i in range(len(columns))] if keep else []
    texts_of_rows = f"SELECT {', '.join([*cells, *texts])} FROM {rows}"
    return f"SELECT {', '.join([*cells, f'{dialect.hash.format(x=row)} AS h'])} FROM ({texts_of_rows}) AS texts"


def word_sums(dialect: Dialect, sums: Sequence[str] | None = None) -> list[str]:
    """Write the number of rows and the sums of the 32-bit words of their `h`, named as in `TEXT_SUMS`.

    `sums` are other expressions for the sums of the words.
    """
    sums = sums or [f"sum({word})" for word in hash_words(dialect)]
    return ["count(*) AS n", *(f"{dialect.to_text(each)} AS s{k}" for k, each in enumerate(sums))]


def hash_words(dialect: Dialect) -> list[str]:
    """Write the 32-bit words of an MD5 `h` as numbers, the lowest first."""
    words = []
    for word in range(4):
        digits = " || ".join(f"substr(h, {8 * word + 2 * byte + 1}, 2)" for byte in (3, 2, 1, 0))
        words.append(dialect.hash_word.format(shift=32 * word, hex=f"({digits})"))
    return words


def digest_of_text_sums(names: Iterable[str], rows: int, sums: Sequence[Sequence[str | None]]) -> bytes:
    """Return the digest of a table whose columns have these names, from the answer to `text_sums`.

    `sums` holds the sums of each word, over parts of the rows.
    """
    words = [sum(int((text or "0").partition(".")[0]) for text in parts) for parts in sums]
    total = sum(words_sum << 32 * word for word, words_sum in enumerate(words)) % 2**128
    return hashlib.sha256(json.dumps([sorted(names), rows, f"{total:032x}"]).encode()).digest()
