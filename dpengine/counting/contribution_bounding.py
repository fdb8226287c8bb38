"""The SQL that turns coded cells into the rows that count: those that meet what is asked, and only so many a person.

How a person's rows are chosen, and why that keeps one person's part bounded, is told in `counting.count`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from contextlib import ExitStack
from typing import Any

import numpy as np
import pyarrow as pa

from dpengine import arrow
from dpengine.counting.encode_numpy import Streamed
from dpengine.counting.encode_sql import Coding
from dpengine.sql import literal

__all__ = ["among", "bounded", "coded", "make_known"]


def coded(codings: Sequence[Coding], person: str | None, source: str = "rows", met: Sequence[str] | None = None) -> str:
    """A query with columns k0, k1, … of codes (and ``person``), without the rows that count nowhere.

    These are the rows that do not meet all of ``met``, by default those with a value that has no cell; and where
    there is a ``person``, rows without one. ``source`` has the columns that the codings read.
    """
    cells = [f"{sql} AS {alias}" for coding in codings for alias, sql in coding.cells.items()]
    codes = [f"{coding.code} AS k{k}" for k, coding in enumerate(codings)]
    where = [f"k{k} >= 0" for k, coding in enumerate(codings) if not coding.whole] if met is None else list(met)
    if person is not None:
        cells.append(f"{person} AS person")
        codes.append("person")
        where.append("person IS NOT NULL")
    inner = f"SELECT {', '.join(codes)} FROM (SELECT {', '.join(cells) or '1'} FROM {source}) AS cells"
    return f"SELECT * FROM ({inner}) AS coded WHERE {' AND '.join(where)}" if where else inner


def bounded(coded: str, width: int, rows: int, key: bytes) -> str:
    """The codes of at most ``rows`` rows of each person, chosen by ``key``."""
    codes = ", ".join(f"k{k}" for k in range(width))
    hashed = f"md5(concat_ws(',', {literal(hashlib.sha256(key).hexdigest())}, {codes}, copy, person))"
    return (
        f"SELECT {codes} FROM (SELECT {codes}, row_number() OVER (PARTITION BY person ORDER BY {hashed}) AS place "
        f"FROM (SELECT *, row_number() OVER (PARTITION BY person, {codes}) AS copy FROM ({coded}))) "
        f"WHERE place <= {rows}"
    )


def among(code: str, wanted: Sequence[int]) -> str:
    """Whether a code is one of ``wanted``, which increase: each run of them is one comparison."""
    runs = np.split(np.array(wanted), np.flatnonzero(np.diff(wanted) > 1) + 1)
    return "(" + " OR ".join(f"{code} BETWEEN {run[0]} AND {run[-1]}" for run in runs) + ")"


def make_known(connection: Any, coding: Coding | Streamed, scratch: ExitStack) -> None:
    """Make what a coding names known to the connection, until ``scratch`` is closed."""
    for name, texts in coding.lists.items():
        places = arrow.from_numpy(np.arange(len(texts), dtype=np.int64))
        connection.register(f"list_{name}", pa.table({"text": arrow.from_texts(texts), "place": places}))
        connection.execute(f"CREATE TEMP TYPE {name} AS ENUM (SELECT text FROM list_{name} ORDER BY place)")
        scratch.callback(connection.execute, f"DROP TYPE {name}")
        scratch.callback(connection.unregister, f"list_{name}")
    for name, function in coding.functions.items():
        connection.create_function(name, function, ["DOUBLE"], "BIGINT", type="arrow")
        scratch.callback(connection.remove_function, name)
