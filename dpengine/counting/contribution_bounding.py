"""Write the SQL that keeps only countable rows, and at most `k` of them for each person.

The rows of a person are ordered by a keyed hash of (cell codes, copy number, ID), and the first `k` are kept. The
copy number tells apart rows of one person in the same cells; these rows are interchangeable, so any numbering will do.
Two properties follow:

* The choice is uniform among the person's countable rows, because the hash is independent of what it is given.
  It is also reproducible: the same key keeps the same rows.
* Given the key, the rows kept of a person are a function of that person's rows alone. Adding or removing a person
  therefore changes each marginal by at most `k` in L1, whatever rows the others have and in whatever order.

A table of distinct persons counts a person once in each of the first `c` different cells in which the kept rows lie, in
the same order (`spec.tallies`). These cells too are a function of the key and the person's rows alone. So, for each
key, adding or removing a person changes at most `c` of its cells, each by one. The noise does not depend on the key:
the guarantee holds for each key, and so for a key drawn at random (the same key serves both neighbours, a coupling).

All engines hash the same text by MD5, so they keep the same rows. The weaknesses of MD5 do no harm: uniformity rests on
the secrecy of the key, and nothing is authenticated by it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dpengine.array_types import Columns
from dpengine.counting.encoding.coding import Coding
from dpengine.sources.databases.dialects import Dialect
from dpengine.spec.plan import Plan

__all__ = ["RowLimit", "bounded_rows", "coded_rows", "is_one_of", "marked_rows", "row_limit_of"]


@dataclass(frozen=True, slots=True)
class RowLimit:
    """Contribution bound: at most `rows` rows of each person are kept.

    With `cells`, only one row in each of at most `cells` different cells of the table of these `columns`.
    """

    rows: int
    cells: int | None = None
    columns: Columns = ()


def row_limit_of(plan: Plan, tally: int) -> RowLimit:
    """Return the contribution bound of one of the tallies of `plan`.

    With one cell per person it is the first row. This one row serves all such tables, so they agree.
    """
    counted = plan.tallies[tally]
    if counted.cells is None or counted.cells == 1:
        return RowLimit(counted.bound)
    return RowLimit(plan.unit.rows, counted.cells, counted.plan.marginals[0])


def coded_rows(
    codings: Sequence[Coding],
    person: str | None,
    source: str = "rows",
    conditions: Sequence[str] | None = None,
    *,
    fence: str = "",
) -> str:
    """Write a query with the codes k0, k1, … of all rows that count, and with `person` if it is given.

    A row counts if it meets all of `conditions`, by default that each of its values has a cell, and if its `person`
    is not null. `source` is a relation with the columns that the codings read; `fence` is the dialect's.
    """
    for level in range(max((len(coding.layers) for coding in codings), default=0)):
        layers = [coding.layers[level] for coding in codings if level < len(coding.layers)]
        added = [f"{sql} AS {alias}" for layer in layers for alias, sql in layer.items()]
        source = f"(SELECT *, {', '.join(added)} FROM {source}{fence}) AS cells"
    codes = [f"{coding.code} AS k{k}" for k, coding in enumerate(codings)]
    if conditions is None:
        conditions = [f"k{k} >= 0" for k, coding in enumerate(codings) if not coding.complete]
    if person is not None:
        codes.append(f"{person} AS person")
        conditions = [*conditions, "person IS NOT NULL"]
    query = f"SELECT {', '.join(codes)} FROM {source}{fence}"
    return f"SELECT * FROM ({query}) AS coded WHERE {' AND '.join(conditions)}" if conditions else query


def bounded_rows(
    coded: str, columns: int, limit: RowLimit, key: bytes, dialect: Dialect, axes: Sequence[int] = ()
) -> str:
    """Write a query with the codes of the rows of `coded` that are kept: by `limit` for each person, chosen by `key`.

    `columns` is the number of codes of a row; `axes` are the codes of ``limit.columns``.
    """
    codes = ", ".join(f"k{k}" for k in range(columns))
    fields = codes if limit.cells is None else f"{codes}, person, place"
    bounded = f"SELECT {fields} FROM ({_numbered(coded, columns, key, dialect)}) AS c WHERE place <= {limit.rows}"
    if limit.cells is None:
        return bounded
    cell = ", ".join(f"k{axis}" for axis in axes)
    numbered = (
        f"SELECT *, row_number() OVER (PARTITION BY person, {cell} ORDER BY place) AS again FROM ({bounded}) AS d"
    )
    turn = "row_number() OVER (PARTITION BY person ORDER BY place) AS turn"
    one_per_cell = f"SELECT {codes}, {turn} FROM ({numbered}) AS e WHERE again = 1"
    return f"SELECT {codes} FROM ({one_per_cell}) AS f WHERE turn <= {limit.cells}"


def marked_rows(coded: str, columns: int, rows: int, key: bytes, dialect: Dialect) -> str:
    """Write a query for all rows of `coded`, with codes, `h` and `times`: 1 for those of `bounded_rows`, 0 for others.

    `coded` also has `h`, which is passed through, and `lacks`: 1 for a row that does not count and uses up no place.
    """
    codes = ", ".join(f"k{k}" for k in range(columns))
    times = f"CASE WHEN lacks = 0 AND place <= {rows} THEN 1 ELSE 0 END AS times"
    return f"SELECT {codes}, h, {times} FROM ({_numbered(coded, columns, key, dialect, ('lacks',), ('h',))}) AS c"


def _numbered(
    coded: str, columns: int, key: bytes, dialect: Dialect, groups: Sequence[str] = (), extra: Sequence[str] = ()
) -> str:
    """Write a query for the codes, the `person` and the `place` of each row, chosen by `key`.

    The place is the number of a row in a random order of the person's rows.

    Rows that differ in a column of `groups` are numbered separately; these columns and `extra` are passed through.
    """
    codes = ", ".join(f"k{k}" for k in range(columns))
    parts = [dialect.literal(hashlib.sha256(key).hexdigest())]
    parts += [*(dialect.to_text(f"k{k}") for k in range(columns)), dialect.to_text("copy"), "person"]
    hashed = f"md5(concat_ws(',', {', '.join(parts)})){dialect.byte_order}"
    group = ", ".join([*groups, "person"])
    copies = f"SELECT *, row_number() OVER (PARTITION BY {group}, {codes} ORDER BY k0) AS copy FROM ({coded}) AS a"
    place = f"row_number() OVER (PARTITION BY {group} ORDER BY {hashed}) AS place"
    return f"SELECT {', '.join([codes, 'person', *groups, *extra])}, {place} FROM ({copies}) AS b"


def is_one_of(code: str, codes: Sequence[int]) -> str:
    """Write the condition that a code is one of `codes`, in increasing order; each run of numbers is one comparison.

    >>> is_one_of("k0", [1, 2, 3, 7])
    '(k0 BETWEEN 1 AND 3 OR k0 BETWEEN 7 AND 7)'
    """
    runs = np.split(np.array(codes), np.flatnonzero(np.diff(codes) > 1) + 1)
    return "(" + " OR ".join(f"{code} BETWEEN {run[0]} AND {run[-1]}" for run in runs) + ")"
