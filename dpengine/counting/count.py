"""Rows into exact integer tables: the one place where rows are read.

One pass over the table, whatever the number of marginals, in constant memory: DuckDB turns each used
column into cell codes (`counting.encode_sql`) and these into cells of a few joint tables
(`counting.joint_tables`), batches of which stream to numpy and are added up; the marginals are their sums.

With an ID column, each person keeps at most ``unit.rows`` rows. The rows of a person are put in order
by a keyed hash of (ID, cell codes, copy number), where the copy number tells rows apart that a person
has in the same cells, and the first ones are kept: a uniform choice among the person's countable rows,
since the hash takes no interest in what it is given, and the same choice each time. Given the key, what
is kept of a person is a fixed function of that person's rows alone (copies are interchangeable, so their
numbering does not matter). Adding or removing a person therefore changes each marginal by at most
``unit.rows`` in L1, whatever the others' rows and whatever the order of rows in the table.

Rows of a table in another engine are coded, bounded and added up there (`sources.remote`), in the same
cells, and of each person the same rows are kept: all engines have the same hash (MD5 of the same text; secrecy of
the key makes its order a uniform one, not strength of the hash against who knows it).
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from dpengine import arrow
from dpengine.counting.compatibility import lacking, unfit
from dpengine.counting.contribution_bounding import among, bounded, coded
from dpengine.counting.encode_sql import Coding, code_of, family_of, grid_code_of, identity
from dpengine.counting.equivalence_classes import Alone, Classes, cell, class_query, unique_query
from dpengine.counting.fingerprint import Sums
from dpengine.counting.scan import Joints, counted, counted_and_summed, knowing, summed
from dpengine.errors import PlanError, TableError
from dpengine.sources import remote
from dpengine.sources.remote import RemoteTable
from dpengine.sources.table import LocalTable, Table
from dpengine.spec.domain import Column, Date
from dpengine.spec.numeric_grid import Grid
from dpengine.spec.plan import Plan, Unit
from dpengine.spec.query import Condition
from dpengine.sql import literal

__all__ = [
    "Asked", "check", "check_asked", "class_sizes", "count", "digest", "digest_of_texts", "distinct_texts", "histogram",
    "matching", "people_count", "row_count", "sums", "unique_people",
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Asked:
    """What a single question reads: the rows that meet all of ``where``, at most ``unit.rows`` of them a person's.

    Rows are chosen among those that meet it, by ``truncation_key``, as `count` chooses among all.
    """

    where: tuple[Condition, ...]
    unit: Unit
    truncation_key: bytes


def check(table: Table, plan: Plan) -> None:
    """Raise `TableError` with every reason why ``table`` cannot be counted by ``plan``; reads no row."""
    _check(table, [plan.column(name) for name in plan.used], plan.unit)


def check_asked(table: Table, columns: Sequence[Column | Grid], unit: Unit) -> None:
    """Raise `TableError` with every reason why a question about ``columns`` cannot be answered; reads no row."""
    if not isinstance(table, LocalTable):
        raise TableError(
            "a single question is not answered of rows that stay in their database; publish a table of them, or bring "
            "them here as a file"
        )
    _check(table, columns, unit)


def _check(table: Table, columns: Sequence[Column | Grid], unit: Unit) -> None:
    types = {column.name: column.type for column in table.columns}
    faults = []
    declared = [(column.name, column) for column in columns]
    for name, column in (*declared, *(() if unit.id is None else ((unit.id, None),))):
        if name not in types:
            faults.append(lacking(name, list(types)))
        elif family_of(types[name]) is None:
            kind = types[name].split("(")[0].lower()
            faults.append(
                f"column {name!r} holds {kind} values, which cannot be counted; write them as text or numbers"
            )
        elif column is not None and (fault := unfit(column, family_of(types[name]))):
            faults.append(fault)
    if isinstance(table, RemoteTable):
        faults += remote.beyond(table, [column for column in columns if not isinstance(column, Grid)])
    else:
        faults += _bad_formats(table, columns)
    if faults:
        raise TableError(list(dict.fromkeys(faults)))


def count(
    table: Table,
    plan: Plan,
    marginals: Sequence[tuple[str, ...]],
    *,
    truncation_key: bytes,
    progress: Callable[[float], None] | None = None,
) -> list[NDArray[np.int64]]:
    """Exact counts: for each of ``marginals`` an array of shape ``plan.shape(marginal)``.

    A row with a value that has no cell (``other: false``) in any used column counts nowhere, nor does,
    where persons have an ID, a row without one. ``truncation_key`` decides which rows are kept of
    persons with more than ``plan.unit.rows``; equal keys on equal tables keep equal rows. ``progress`` is
    told now and then which part is done, from 0 to 1; what it raises ends the counting.

    Raises `TableError` as `check` does, or where the table turns out damaged.
    """
    check(table, plan)
    tell = progress or (lambda part: None)
    tables = Joints(plan, marginals)
    tell(0.0)
    if isinstance(table, RemoteTable):
        totals = remote.count(table, plan, tables.joints, truncation_key)
    else:
        totals = counted(_here(table), plan, tables, truncation_key, tell)
    tell(1.0)
    return tables.margins(totals)


def recognise(
    table: Table, plan: Plan, marginals: Sequence[tuple[str, ...]]
) -> tuple[bytes, list[NDArray[np.int64]] | None]:
    """The table's `digest`, and the counts that `count` gives where they come with it, else None.

    They do where rows are read for the digest and no person's rows are to be chosen, which takes the digest.
    Raises `TableError` as `count` does.
    """
    fresh = isinstance(table, LocalTable) and table.recognised is None and table.frame is None
    if not fresh or plan.unit.id is not None:
        return digest(table), None
    check(table, plan)
    here, tables = _here(table), Joints(plan, marginals)
    totals, found = counted_and_summed(here, tables)
    here.recognised = _digest(here, found)
    return here.recognised, tables.margins(totals)


def matching(table: Table, asked: Asked, of: Sequence[Condition] = ()) -> tuple[int, int]:
    """Exact numbers of the rows asked for that meet all of ``of``, and that do not."""
    met = " AND ".join(["true", *(among(f"k{k}", condition.codes) for k, condition in enumerate(of))])
    select = f"SELECT count(*) FILTER ({met}), count(*) FILTER (NOT ({met}))"
    ((meeting, others),) = _answer(table, asked, [condition.column for condition in of], select, complete=False)
    return int(meeting), int(others)


def sums(table: Table, asked: Asked, grid: Grid) -> tuple[int, int]:
    """Exact number of the rows asked for whose value has a place on ``grid``, and the sum of these places."""
    ((rows, total),) = _answer(table, asked, [grid], "SELECT count(*), coalesce(sum(k0::HUGEINT), 0)")
    return int(rows), int(total)


def histogram(table: Table, asked: Asked, of: Column | Grid) -> NDArray[np.int64]:
    """Exact numbers of the rows asked for in each cell of a column, or at each point of a grid."""
    counts = np.zeros(of.steps + 1 if isinstance(of, Grid) else of.size, dtype=np.int64)
    for code, rows in _answer(table, asked, [of], "SELECT k0, count(*)", "GROUP BY k0"):
        counts[code] = rows
    return counts


def _answer(
    table: Table, asked: Asked, of: Sequence[Column | Grid], select: str, then: str = "", *, complete: bool = True
) -> list[tuple[Any, ...]]:
    """``select`` over the codes k0, k1, … of the columns ``of`` in the rows asked for; ``then`` ends the query.

    A column may stand in several places, so each place reads a column of its own. ``complete``: rows without a code
    in one of ``of`` are left out, before a person's rows are chosen.
    """
    columns = [*of, *(condition.column for condition in asked.where)]
    check_asked(table, columns, asked.unit)
    place = {column.name: i for i, column in enumerate(table.columns)}
    names = [column.name for column in columns] + ([] if asked.unit.id is None else [asked.unit.id])
    types = [table.columns[place[name]].type for name in names]
    codings = [
        grid_code_of(column, k, types[k]) if isinstance(column, Grid) else code_of(column, k, types[k])
        for k, column in enumerate(columns)
    ]
    met = [f"k{k} >= 0" for k in range(len(of))] if complete else []
    met += [among(f"k{k}", condition.codes) for k, condition in enumerate(asked.where, len(of))]
    codings = codings or [Coding({}, "0", True)]
    own = ", ".join(f"c{place[name]} AS c{k}" for k, name in enumerate(names)) or "1"
    person = None if asked.unit.id is None else identity(len(columns), family_of(types[-1]) or "text")
    sql = coded(codings, person, f"(SELECT {own} FROM rows) AS rows", met)
    if person is not None:
        sql = bounded(sql, len(codings), asked.unit.rows, asked.truncation_key)
    with knowing(_here(table), codings) as connection:
        found: list[tuple[Any, ...]] = connection.execute(f"{select} FROM ({sql}) AS asked {then}").fetchall()
    return found


def digest(table: Table) -> bytes:
    """32 bytes that identify the table's content: equal for equal rows in any order of rows or columns.

    How rows are told apart is said in `counting.fingerprint`; null and empty texts are alike, since both are
    missing. Files and frames of all formats agree where the texts of their cells do. An engine elsewhere hashes with
    what it has: there the same rows have another digest, which is their `digest_of_texts`.

    The rows of an open table are read for this once; `Table.check_unchanged` tells whether they still are
    what they were.
    """
    if isinstance(table, RemoteTable):
        return table.digest()
    here = _here(table)
    if here.recognised is None:
        here.recognised = _digest(here, summed(here))
    return here.recognised


def digest_of_texts(table: Table) -> bytes:
    """What engines elsewhere have as a table's digest: for rows here it takes several times as long.

    Each row is written as one text (cells by name of column, each led by its length; nothing for what is missing) and
    hashed by MD5; these are added up modulo 2¹²⁸, and hashed together with names and number of rows.
    """
    if isinstance(table, RemoteTable):
        return table.digest()
    here = _here(table)
    if here.recognised_by_texts is None:
        order = sorted(range(len(here.columns)), key=lambda i: here.columns[i].name)
        texts = ", ".join(f"coalesce(c{i}::VARCHAR, '') AS t{i}" for i in order)
        row = ", ".join(f"strlen(t{i}), ':', t{i}" for i in order)
        with here.connection() as connection:
            rows, high, low = connection.execute(
                "SELECT count(*), sum((h >> 64)::UBIGINT), sum((h & 18446744073709551615::UHUGEINT)::UBIGINT) "
                f"FROM (SELECT md5_number(concat({row})) AS h FROM (SELECT {texts} FROM rows))"
            ).fetchall()[0]
        added = (int(high or 0) * 2**64 + int(low or 0)) % 2**128
        told = json.dumps([[here.columns[i].name for i in order], rows, f"{added:032x}"])
        here.recognised_by_texts = hashlib.sha256(told.encode()).digest()
    return here.recognised_by_texts


def _digest(table: LocalTable, sums: Sums) -> bytes:
    names = sorted(column.name for column in table.columns)
    return hashlib.sha256(json.dumps([names, *sums.found]).encode()).digest()


def row_count(table: Table) -> int:
    """The exact number of rows, for the eyes of the table's owner only."""
    if isinstance(table, RemoteTable):
        return remote.row_count(table)
    with _here(table).connection() as connection:
        return int(connection.execute("SELECT count(*) FROM rows").fetchall()[0][0])


def distinct_texts(table: Table, column: str, *, most: int = 200) -> list[str]:
    """Up to ``most`` different texts of a column, in alphabetical order, for the eyes of the owner only.

    What they are is private until the owner says of each that it is publicly known.
    """
    place = next((i for i, field in enumerate(table.columns) if field.name == column), None)
    if place is None:
        raise TableError(lacking(column, [field.name for field in table.columns]))
    if isinstance(table, RemoteTable):
        return remote.distinct_texts(table, place, most)
    own = f"c{place}::VARCHAR"
    with _here(table).connection() as connection:
        found = connection.execute(
            f"SELECT DISTINCT {own} AS t FROM rows WHERE trim({own}) <> '' ORDER BY t LIMIT {most:d}"
        ).fetchall()
    return [text for (text,) in found]


def class_sizes(
    table: Table, columns: Sequence[str], sensitive: str | None = None, *, person: str | None = None
) -> Classes:
    """The people who look alike on ``columns``, and how many of them have which ``sensitive`` value.

    Exact, and for the eyes of the table's owner only. Each row is a person, or where the column ``person`` names
    them each person counts once in a class. Raises `TableError` for columns that are not there or cannot be
    grouped, `PlanError` where none is named.
    """
    cells, own = _cells(table, columns, person)
    extra = None if sensitive is None else _cells(table, [sensitive], None)[0][0]
    classes, values = class_query(cells, extra, own)
    with _here(table).connection() as connection:
        found = connection.sql(classes).to_arrow_table()
        texts = tuple(text for (text,) in connection.execute(values).fetchall())
    entries = found.column("entries").combine_chunks()
    if isinstance(entries, pa.ChunkedArray):  # of no rows, or of too many for one
        entries = pa.concat_arrays(entries.chunks) if entries.num_chunks else pa.array([], type=entries.type)
    sizes = np.asarray(arrow.to_numpy(found.column("size")), dtype=np.int64)
    if sensitive is None:
        none = np.zeros(0, dtype=np.int64)
        return Classes(sizes, none, none, none, ())
    flat = entries.flatten()
    lengths = arrow.to_numpy(pc.list_value_length(entries))
    of = np.repeat(np.arange(len(sizes), dtype=np.int64), lengths)
    return Classes(sizes, of, arrow.to_numpy(flat.field("value")), arrow.to_numpy(flat.field("count")), texts)


def unique_people(
    table: Table, sets: Sequence[Sequence[str]], *, person: str | None = None
) -> dict[tuple[str, ...], Alone]:
    """For each of ``sets`` of columns, how many people no other is like on them; for the owner's eyes only.

    All sets are counted in one pass. Errors are those of `class_sizes`.
    """
    columns = list(dict.fromkeys(name for names in sets for name in names))
    cells, own = _cells(table, columns, person)
    wanted = {tuple(dict.fromkeys(names)): [columns.index(name) for name in dict.fromkeys(names)] for names in sets}
    with _here(table).connection() as connection:
        found = connection.execute(unique_query(cells, list(wanted.values()), own)).fetchall()
    counted = {place: Alone(*map(int, numbers)) for place, *numbers in found}
    whole = (1 << len(columns)) - 1
    ids = {
        names: whole - sum(1 << (len(columns) - 1 - place) for place in set(chosen)) for names, chosen in wanted.items()
    }
    return {names: counted.get(place, Alone(0, 0)) for names, place in ids.items()}


def people_count(table: Table, person: str | None) -> int:
    """The exact number of people, each named by the column ``person``; for the owner's eyes only."""
    if person is None:
        return row_count(table)
    with _here(table).connection() as connection:
        own = _cells(table, [person], person)[1]
        return int(connection.execute(f"SELECT count(DISTINCT {own}) FROM rows").fetchall()[0][0])


def _cells(table: Table, columns: Sequence[str], person: str | None) -> tuple[list[str], str | None]:
    """SQL for the values of ``columns`` and for the person's ID."""
    if not columns:
        raise PlanError("name at least one column")
    place = {column.name: i for i, column in enumerate(table.columns)}
    faults, cells = [], {}
    for name in (*columns, *(() if person is None else (person,))):
        family = family_of(table.columns[place[name]].type) if name in place else None
        if name not in place:
            faults.append(lacking(name, list(place)))
        elif family is None:
            faults.append(f"column {name!r} holds values that cannot be grouped; write them as text or numbers")
        else:
            cells[name] = place[name], family
    if faults:
        raise TableError(faults)
    return [cell(*cells[name]) for name in columns], None if person is None else identity(*cells[person])


def _here(table: Table) -> LocalTable:
    """The table, whose rows can be read on this machine."""
    if not isinstance(table, LocalTable):
        raise TableError("the rows of this table stay where they are; this needs a table that is opened from a file")
    return table


def _bad_formats(table: Table, columns: Sequence[Column | Grid]) -> list[str]:
    faults = []
    for column in columns:
        if isinstance(column, Date) and column.format is not None:
            with _here(table).connection() as connection:
                try:
                    connection.execute(f"SELECT try_strptime('', {literal(column.format)})").fetchall()
                except duckdb.Error:
                    faults.append(
                        f"column {column.name!r}: the format {column.format!r} is not one of dates; try %d/%m/%Y"
                    )
    return faults
