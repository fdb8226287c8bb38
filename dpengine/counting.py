"""Rows into exact integer tables: the one place where rows are read.

One pass over the table, whatever the number of marginals, in constant memory: DuckDB turns each used
column into cell codes (:mod:`dpengine.coding`) and these into cells of a few joint tables
(:mod:`dpengine.cover`), batches of which stream to numpy and are added up; the marginals are their sums.

With an ID column, each person keeps at most ``unit.rows`` rows. The rows of a person are put in order
by a keyed hash of (ID, cell codes, copy number), where the copy number tells rows apart that a person
has in the same cells, and the first ones are kept: a uniform choice among the person's countable rows,
since the hash takes no interest in what it is given, and the same choice each time. Given the key, what
is kept of a person is a fixed function of that person's rows alone (copies are interchangeable, so their
numbering does not matter). Adding or removing a person therefore changes each marginal by at most
``unit.rows`` in L1, whatever the others' rows and whatever the order of rows in the table.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from difflib import get_close_matches
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from dpengine import arrays
from dpengine.classes import Alone, Classes, cell, class_query, unique_query
from dpengine.coding import Coding, Family, code_of, family_of, identity
from dpengine.cover import covering
from dpengine.domain import Column, Date
from dpengine.draft import header_doubt
from dpengine.errors import PlanError, TableError
from dpengine.plan import Plan
from dpengine.relation import literal
from dpengine.table import LocalTable, Table

__all__ = ["check", "class_sizes", "count", "digest", "distinct_texts", "people_count", "row_count", "unique_people"]

_BATCH = 1 << 18
_CELLS = 1 << 16  # of a joint table: what fits in a processor's nearer caches
_USABLE: dict[str, tuple[Family, ...]] = {
    "number": ("text", "integer", "float", "decimal", "boolean"),
    "yesno": ("text", "integer", "float", "decimal", "boolean"),
    "date": ("text", "date", "timestamp"),
}


def check(table: Table, plan: Plan) -> None:
    """Raise :class:`TableError` with every reason why ``table`` cannot be counted by ``plan``; reads no row."""
    types = {column.name: column.type for column in table.columns}
    faults = []
    for name in (*plan.used, *(() if plan.unit.id is None else (plan.unit.id,))):
        if name not in types:
            faults.append(_lacking(name, list(types)))
        elif family_of(types[name]) is None:
            kind = types[name].split("(")[0].lower()
            faults.append(
                f"column {name!r} holds {kind} values, which cannot be counted; write them as text or numbers"
            )
        elif name in plan.used and (fault := _unfit(plan.column(name), family_of(types[name]))):
            faults.append(fault)
    faults += _bad_formats(table, [plan.column(name) for name in plan.used])
    if faults:
        raise TableError(faults)


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

    Raises :class:`TableError` as :func:`check` does, or where the table turns out damaged.
    """
    check(table, plan)
    tell = progress or (lambda part: None)
    place = {column.name: i for i, column in enumerate(table.columns)}
    names = sorted(plan.used)  # in an order of its own, for the codes decide which rows of a person are kept
    sizes = {name: plan.column(name).size for name in names}
    codings = [code_of(plan.column(name), place[name], table.columns[place[name]].type) for name in names]
    joints = covering(marginals, sizes, _CELLS)
    totals = [np.zeros(math.prod(sizes[name] for name in joint), dtype=np.int64) for joint in joints]
    person = None
    if plan.unit.id is not None:
        number = place[plan.unit.id]
        person = identity(number, family_of(table.columns[number].type) or "text")
    sql = _coded(codings, person)
    if person is not None:
        sql = _bounded(sql, len(codings), plan.unit.rows, truncation_key)
    sql = f"SELECT {', '.join(_cell(joint, sizes) for joint in joints)} FROM ({sql}) AS coded"
    here = _here(table)
    with here.connection() as connection, ExitStack() as scratch:
        for coding in codings:
            _make_known(connection, coding, scratch)
        done = 0
        tell(0.0)
        for batch in connection.sql(sql).to_arrow_reader(_BATCH):
            for total, cells in zip(totals, batch.columns, strict=True):
                _add(total, arrays.numbers(cells))
            done += batch.num_rows
            tell(min(1.0, done / here.rows) if here.rows else 0.0)
    tell(1.0)
    counted = {
        frozenset(joint): total.reshape([sizes[name] for name in joint])
        for joint, total in zip(joints, totals, strict=True)
    }
    return [_margin(counted, list(sizes), marginal) for marginal in marginals]


def _cell(joint: tuple[str, ...], sizes: Mapping[str, int]) -> str:
    """SQL for the number of a row's cell in the flat joint table."""
    place = {name: f"k{k}" for k, name in enumerate(sizes)}
    sql = "0::BIGINT"
    for name in joint:
        sql = f"({sql} * {sizes[name]} + {place[name]})"
    return sql


def _margin(
    counted: Mapping[frozenset[str], NDArray[np.int64]], order: Sequence[str], marginal: tuple[str, ...]
) -> NDArray[np.int64]:
    """The table of ``marginal``, its columns in the order asked for, from the smallest joint that holds it."""
    joint = min((joint for joint in counted if joint >= set(marginal)), key=lambda joint: counted[joint].size)
    held = [name for name in order if name in joint]
    summed = counted[joint].sum(axis=tuple(k for k, name in enumerate(held) if name not in marginal), dtype=np.int64)
    left = [name for name in held if name in marginal]
    return np.array(summed.transpose([left.index(name) for name in marginal]), dtype=np.int64, order="C")


def digest(table: Table) -> bytes:
    """32 bytes that identify the table's content: equal for equal rows in any order of rows or columns.

    Each row is written as one text (cells by name of column, each led by its length; null and empty
    text alike, since both are missing) and hashed to 128 bits; these are added up modulo 2¹²⁸, so that
    repeated rows count, and hashed together with names and number of rows. Files of different formats
    agree where the texts of their cells do.
    """
    order = sorted(range(len(table.columns)), key=lambda i: table.columns[i].name)
    texts = ", ".join(f"coalesce(c{i}::VARCHAR, '') AS t{i}" for i in order)
    row = ", ".join(f"strlen(t{i}), ':', t{i}" for i in order)
    with _here(table).connection() as connection:
        rows, high, low = connection.execute(
            "SELECT count(*), sum((h >> 64)::UBIGINT), sum((h & 18446744073709551615::UHUGEINT)::UBIGINT) "
            f"FROM (SELECT md5_number(concat({row})) AS h FROM (SELECT {texts} FROM rows))"
        ).fetchall()[0]
    added = (int(high or 0) * 2**64 + int(low or 0)) % 2**128
    names = [table.columns[i].name for i in order]
    return hashlib.sha256(json.dumps([names, rows, f"{added:032x}"]).encode()).digest()


def row_count(table: Table) -> int:
    """The exact number of rows, for the eyes of the table's owner only."""
    with _here(table).connection() as connection:
        return int(connection.execute("SELECT count(*) FROM rows").fetchall()[0][0])


def distinct_texts(table: Table, column: str, *, most: int = 200) -> list[str]:
    """Up to ``most`` different texts of a column, in alphabetical order, for the eyes of the owner only.

    What they are is private until the owner says of each that it is publicly known.
    """
    place = next((i for i, field in enumerate(table.columns) if field.name == column), None)
    if place is None:
        raise TableError(_lacking(column, [field.name for field in table.columns]))
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
    them each person counts once in a class. Raises :class:`TableError` for columns that are not there or cannot be
    grouped, :class:`PlanError` where none is named.
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
    sizes = np.asarray(arrays.numbers(found.column("size")), dtype=np.int64)
    if sensitive is None:
        none = np.zeros(0, dtype=np.int64)
        return Classes(sizes, none, none, none, ())
    flat = entries.flatten()
    lengths = arrays.numbers(pc.list_value_length(entries))
    of = np.repeat(np.arange(len(sizes), dtype=np.int64), lengths)
    return Classes(sizes, of, arrays.numbers(flat.field("value")), arrays.numbers(flat.field("count")), texts)


def unique_people(
    table: Table, sets: Sequence[Sequence[str]], *, person: str | None = None
) -> dict[tuple[str, ...], Alone]:
    """For each of ``sets`` of columns, how many people no other is like on them; for the owner's eyes only.

    All sets are counted in one pass. Errors are those of :func:`class_sizes`.
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
            faults.append(_lacking(name, list(place)))
        elif family is None:
            faults.append(f"column {name!r} holds values that cannot be grouped; write them as text or numbers")
        else:
            cells[name] = place[name], family
    if faults:
        raise TableError(faults)
    return [cell(*cells[name]) for name in columns], None if person is None else identity(*cells[person])


def _coded(codings: Sequence[Coding], person: str | None) -> str:
    """A query with columns k0, k1, … of codes (and ``person``), without the rows that count nowhere."""
    cells = [f"{sql} AS {alias}" for coding in codings for alias, sql in coding.cells.items()]
    codes = [f"{coding.code} AS k{k}" for k, coding in enumerate(codings)]
    where = [f"k{k} >= 0" for k, coding in enumerate(codings) if not coding.whole]
    if person is not None:
        cells.append(f"{person} AS person")
        codes.append("person")
        where.append("person IS NOT NULL")
    coded = f"SELECT {', '.join(codes)} FROM (SELECT {', '.join(cells)} FROM rows) AS cells"
    return f"SELECT * FROM ({coded}) AS coded WHERE {' AND '.join(where)}" if where else coded


def _bounded(coded: str, width: int, rows: int, key: bytes) -> str:
    codes = ", ".join(f"k{k}" for k in range(width))
    hashed = f"md5_number(concat_ws(',', {literal(hashlib.sha256(key).hexdigest())}, {codes}, copy, person))"
    return (
        f"SELECT {codes} FROM (SELECT {codes}, row_number() OVER (PARTITION BY person ORDER BY {hashed}) AS place "
        f"FROM (SELECT *, row_number() OVER (PARTITION BY person, {codes}) AS copy FROM ({coded}))) "
        f"WHERE place <= {rows}"
    )


def _make_known(connection: Any, coding: Coding, scratch: ExitStack) -> None:
    for name, texts in coding.lists.items():
        places = arrays.of_numbers(np.arange(len(texts), dtype=np.int64))
        connection.register(f"list_{name}", pa.table({"text": arrays.of_texts(texts), "place": places}))
        connection.execute(f"CREATE TEMP TYPE {name} AS ENUM (SELECT text FROM list_{name} ORDER BY place)")
        scratch.callback(connection.execute, f"DROP TYPE {name}")
        scratch.callback(connection.unregister, f"list_{name}")
    for name, function in coding.functions.items():
        connection.create_function(name, function, ["DOUBLE"], "BIGINT", type="arrow")
        scratch.callback(connection.remove_function, name)


def _add(total: NDArray[np.int64], cells: NDArray[np.int64]) -> None:
    """Add a batch of rows to the flat cells of a table."""
    if total.size <= cells.size:
        total += np.bincount(cells, minlength=total.size)
    else:
        np.add.at(total, cells, 1)


def _here(table: Table) -> LocalTable:
    """The table, whose rows can be read on this machine."""
    if not isinstance(table, LocalTable):
        raise TableError("the rows of this table are elsewhere")
    return table


def _lacking(name: str, names: list[str]) -> str:
    if header_doubt(names):  # they may be a person's row, which no message may quote
        return f"the table has no column {name!r}, and its first line looks like data: add a line with the names"
    near = [other for other in names if other.strip().lower() == name.strip().lower()]
    near = near or get_close_matches(name, names, n=3)
    shown = ", ".join(repr(other) for other in names[:50]) + (", …" if len(names) > 50 else "")
    hint = f"did you mean {' or '.join(repr(other) for other in near)}? " if near else ""
    return f"the table has no column {name!r}; {hint}it has {shown}"


def _unfit(column: Column, family: Family | None) -> str | None:
    usable = _USABLE.get(column.kind)
    if usable is None or family in usable or (isinstance(column, Date) and column.format is not None):
        return None
    held = {"date": "dates", "timestamp": "times", "boolean": "yes and no"}.get(str(family), "numbers")
    advice = "; a format tells how to read numbers as dates" if column.kind == "date" else ""
    return f"column {column.name!r} holds {held} and cannot be read as {column.kind}; declare another kind{advice}"


def _bad_formats(table: Table, columns: Sequence[Column]) -> list[str]:
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
