"""Count and digest rows in another engine: only counts and sums of hashes leave it."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise

import numpy as np
import pyarrow as pa

from dpengine import arrow
from dpengine.array_types import Bools, Ints
from dpengine.counting.contribution_bounding import RowLimit, bounded_rows, coded_rows, marked_rows
from dpengine.counting.encoding.coding import Coding
from dpengine.counting.encoding.remote_sql import code_of, identity, key_text
from dpengine.counting.joint_tables import JointTables
from dpengine.counting.text_digest import TEXT_SUMS, digest_of_text_sums, hash_words, hashed_rows, text_sums, word_sums
from dpengine.counting.universe_keys import counts_by_place, keys_query, universe_of
from dpengine.errors import TableError
from dpengine.sources.databases.remote import RemoteTable
from dpengine.spec.domain import Amount, Category, Column
from dpengine.spec.numeric.amount_steps import AmountAtSteps, AmountInCells
from dpengine.spec.numeric.grid import Grid
from dpengine.spec.plan import Plan, Unit
from dpengine.translation.catalogue import _

__all__ = ["RemoteRows"]


def _subsets(axes: Sequence[int]) -> list[tuple[int, ...]]:
    """Return all subsets of `axes`, the empty one first."""
    return [each for size in range(len(axes) + 1) for each in combinations(axes, size)]


def _copies(axes: Sequence[int], joints: JointTables) -> list[int]:
    """Return the amounts of a joint table, by their axes, each repeated as often as it is shared between cells."""
    return [axis for axis in axes if axis in joints.amounts for _copy in range(joints.amounts[axis].degree)]


def _alias(group: Sequence[int]) -> str:
    """Name the sum of the products of these amounts' units; without amounts, it is the number of countable rows."""
    return "_".join(["t", *map(str, group)])


def _cell(amount: Amount, axis: int) -> str:
    """Write the cell of a row's place: the lower of its two knots, or the cell of missing values (`Amount.split`)."""
    if isinstance(amount, AmountAtSteps):
        bins = f"CAST((k{axis} - k{axis} % {amount.width}) / {amount.width} AS BIGINT)"
        return f"CASE WHEN k{axis} > {amount.grid.steps} THEN {amount.declared_size} ELSE {bins} END AS j{axis}"
    inner = amount.knot_places[1:-1]
    whens = " ".join(f"WHEN k{axis} < {place} THEN {cell}" for cell, place in enumerate(inner))
    last = f"WHEN k{axis} > {amount.grid.steps} THEN {amount.declared_size} {whens} ELSE {len(inner)}"
    return f"CASE {last} END AS j{axis}"


def _units(amount: Amount, axis: int) -> str:
    """Write the units of a value that belong to the next cell."""
    if isinstance(amount, AmountInCells):
        return f"CAST(0 AS BIGINT) AS u{axis}"
    pieces = [(low, high, amount.parts // (high - low)) for low, high in pairwise(amount.knot_places)]
    whens = " ".join(f"WHEN k{axis} < {high} THEN (k{axis} - {low}) * {part}" for low, high, part in pieces[:-1])
    low, _, part = pieces[-1]
    value = f"CASE WHEN k{axis} > {amount.grid.steps} THEN 0 {whens} ELSE (k{axis} - {low}) * {part} END"
    return f"CAST({value} AS BIGINT) AS u{axis}"  # products of units pass 32 bits


@dataclass(frozen=True, slots=True)
class RemoteRows:
    """The rows of a table in another engine: counts, digests and checks. `scan.LocalRows` has the same methods."""

    table: RemoteTable

    def faults(self, columns: Sequence[Column | Grid]) -> list[str]:
        """Return a sentence for each column that cannot be encoded in the engine."""
        types = {field.name: field.type for field in self.table.columns}
        faults: list[str] = []
        for column in (each for each in columns if not isinstance(each, Grid)):
            try:
                code_of(column, "c", types.get(column.table_column, "VARCHAR"), self.table.dialect)
            except TableError as error:
                faults += map(str, error.faults)
        return faults

    def count(
        self, plan: Plan, joints: JointTables, limit: RowLimit, key: bytes, progress: Callable[[float], None]
    ) -> list[Ints]:
        """Count the joint tables exactly, in one statement that groups by all of them (``GROUPING SETS``).

        `limit` bounds the rows of each person, which `key` chooses: the same rows as in `scan`.
        """
        dialect, codings = self.table.dialect, self._codings(joints)
        person = None if plan.unit.id is None else identity(*self._cells()[plan.unit.id], dialect)
        rows = coded_rows(codings, person, self.table.rows, fence=dialect.fence)
        if person is not None:
            rows = bounded_rows(rows, len(codings), limit, key, dialect, joints.places(limit.columns))
        query, types = self._grouped(rows, joints)
        return _counts_of(self.table.ask(query, types), joints)

    def digest_and_count(self, joints: JointTables) -> tuple[bytes, list[Ints]]:
        """Return the digest and the counts of the joint tables, for a unit of one row.

        One statement computes both and reads the rows once, so they are of the same rows even if others write to the
        table. The sums of hashes are in the groups of the first joint table, which hold every row.
        """
        return self._digest_and_count(joints, None, 0, b"")

    def count_unchanged(self, plan: Plan, joints: JointTables, limit: RowLimit, key: bytes) -> list[Ints] | None:
        """Return the result of `count` for the rows with the known digest, by one statement that reads them once.

        Return None if there is no such statement. Raises `TableError` if the digest is another one.
        """
        if plan.unit.id is None or limit.cells is not None or self.table.digest is None:
            return None
        person = identity(*self._cells()[plan.unit.id], self.table.dialect)
        digest, counts = self._digest_and_count(joints, person, limit.rows, key)
        self._check_same(digest)
        return counts

    def _digest_and_count(
        self, joints: JointTables, person: str | None, max_rows: int, key: bytes
    ) -> tuple[bytes, list[Ints]]:
        """Return the digest of all rows and the counts of those that are kept: at most `max_rows` of each `person`."""
        dialect, codings = self.table.dialect, self._codings(joints)
        source = f"({hashed_rows(self.table.columns, self.table.rows, dialect, keep=True)}) AS hashed"
        carried = {"h": "h"} | ({"person": person} if person is not None else {})  # they are passed through like codes
        coded = coded_rows(
            [*codings, *(Coding((), sql, True) for sql in carried.values())], None, source, [], fence=dialect.fence
        )
        names = [f"k{k}" for k in range(len(codings))]
        names += [f"k{k} AS {name}" for k, name in enumerate(carried, len(codings))]
        coded = f"SELECT {', '.join(names)} FROM ({coded}) AS whole"
        conditions = [f"k{k} < 0" for k, coding in enumerate(codings) if not coding.complete]
        conditions += ["person IS NULL"] if person is not None else []
        lacks = " OR ".join(conditions) or "1 = 0"
        if dialect.keeps_rows:
            columns = [f"k{k}" for k in range(len(codings))] + (["person"] if person is not None else [])
            counted = f"SELECT {', '.join(columns) or '*'} FROM coded WHERE NOT ({lacks})"
            if person is not None:
                counted = bounded_rows(counted, len(codings), RowLimit(max_rows), key, dialect)
            query, types = self._materialised(coded, counted, joints)
        else:
            if person is not None:
                whole = f"SELECT *, CASE WHEN {lacks} THEN 1 ELSE 0 END AS lacks FROM ({coded}) AS whole"
                coded, lacks = marked_rows(whole, len(codings), max_rows, key, dialect), "times = 0"
            query, types = self._summed_in_groups(coded, lacks, joints)
        answer = self.table.ask(query, types)
        in_first = arrow.from_numpy(np.flatnonzero(_in_set(answer, joints, joints.axes[0])))
        rows, *sums = (answer.column(name).take(in_first).to_pylist() for name in TEXT_SUMS)
        return digest_of_text_sums(self.table.places, sum(filter(None, rows)), sums), _counts_of(answer, joints)

    def _materialised(self, coded: str, counted: str, joints: JointTables) -> tuple[str, dict[str, str]]:
        """Write a query that materialises the codes and hashes of all rows, and then adds them up and groups them.

        `counted` is a query over `coded` for the rows that are grouped. The sums are in a separate row of the result,
        as if of a group that has no rows.
        """
        grouped, types = self._grouped(counted, joints)
        group = {f"g{axis}": 0 if axis in joints.axes[0] else -1 for axis in _used(joints)}
        line = [f"CAST({group.get(name, 0)} AS BIGINT) AS {name}" for name in types]
        sums = f"SELECT {', '.join([*line, *word_sums(self.table.dialect)])} FROM coded"
        nulls = ", ".join("NULL" for _name in TEXT_SUMS)
        query = f"WITH coded AS MATERIALIZED ({coded}) {sums} UNION ALL SELECT *, {nulls} FROM ({grouped}) AS grouped"
        return query, types | TEXT_SUMS

    def _summed_in_groups(self, coded: str, lacks: str, joints: JointTables) -> tuple[str, dict[str, str]]:
        """Write a query that adds up the hashes within groups, for an engine that would otherwise read the rows twice.

        A row that lacks a cell is in the first group of each table, where it does not count as a row. The engine copies
        each row for each table, so the words of its hash are computed before. They are added up in halves of 16 bits,
        which fit 64 bits for 2⁴⁷ rows: sums of decimals take many times as long.
        """
        dialect = self.table.dialect
        codes = [f"CASE WHEN {lacks} THEN 0 ELSE k{k} END AS k{k}" for k in range(len(joints.columns))]
        times = f"CASE WHEN {lacks} THEN 0 ELSE 1 END AS times"
        words = [f"CAST({word} AS BIGINT) AS w{k}" for k, word in enumerate(hash_words(dialect))]
        rows = f"SELECT {', '.join([*codes, times, *words])} FROM ({coded}) AS coded"
        upper = [dialect.integer_divide.format(a=f"w{k}", b=2**16) for k in range(len(words))]
        sums = word_sums(
            dialect,
            [f"CAST(sum({half}) AS DECIMAL(38, 0)) * {2**16} + sum(w{k} % {2**16})" for k, half in enumerate(upper)],
        )
        query, types = self._grouped(rows, joints, "coalesce(CAST(sum(times) AS BIGINT), 0)", sums)
        return query, types | TEXT_SUMS

    def _grouped(
        self, rows: str, joints: JointTables, times: str = "count(*)", sums: Sequence[str] = ()
    ) -> tuple[str, dict[str, str]]:
        """Group `rows`, a query with the codes k0, k1, …, by all joint tables; return the query and its types.

        `times` is the number of rows of a group; `sums` are further sums.
        """
        used = _used(joints)
        amounts = {axis: joints.amounts[axis] for axis in used if axis in joints.amounts}
        cell = {axis: f"j{axis}" if axis in amounts else f"k{axis}" for axis in used}
        if amounts:
            split = ", ".join(f"{_cell(amount, axis)}, {_units(amount, axis)}" for axis, amount in amounts.items())
            rows = f"SELECT *, {split} FROM ({rows}) AS whole"
        sets = ", ".join(f"({', '.join(cell[axis] for axis in axes)})" for axes in joints.axes)
        # The sets of amounts, by their axes, whose products of units have to be summed.
        products = sorted({each for axes in joints.axes for each in _subsets(_copies(axes, joints)) if each})
        outputs = [f"coalesce(CAST({cell[axis]} AS BIGINT), -1) AS g{axis}" for axis in used]
        outputs += [f"{times} AS {_alias(())}"]
        outputs += [
            f"CAST(sum({' * '.join(f'u{axis}' for axis in group)}) AS BIGINT) AS {_alias(group)}" for group in products
        ]
        query = f"SELECT {', '.join([*outputs, *sums])} FROM ({rows}) AS d GROUP BY GROUPING SETS ({sets})"
        return query, dict.fromkeys([*(f"g{axis}" for axis in used), *map(_alias, [(), *products])], "int64")

    def _cells(self) -> dict[str, tuple[str, str]]:
        return {column.name: (f"c{i}", column.type) for i, column in enumerate(self.table.columns)}

    def _codings(self, joints: JointTables) -> list[Coding]:
        cells = [self._cells()[each.table_column] for each in joints.columns]
        return [code_of(column, *cells[k], self.table.dialect, str(k)) for k, column in enumerate(joints.columns)]

    def count_keys(self, column: Category, unit: Unit, key: bytes) -> tuple[Ints, Ints]:
        """Return the places of the keys that people have in the column's universe, in order, and their counts."""
        dialect, points = self.table.dialect, universe_of(column).has_points
        cells = self._cells()
        text = key_text(*cells[column.name], dialect, points=points)
        person = None if unit.id is None else identity(*cells[unit.id], dialect)
        coded = coded_rows([Coding((), text, True)], person, self.table.rows, [], fence=dialect.fence)
        query = keys_query(column, coded, None if person is None else RowLimit(unit.rows), key, dialect)
        answer = self.table.ask(query, {"k": "string", "n": "int64"})
        return counts_by_place(column, zip(*(answer.column(name).to_pylist() for name in "kn"), strict=True))

    def digest(self) -> bytes:
        """Return the digest of the content, computed where the rows are (`text_digest.text_sums`)."""
        answer = self.table.ask(text_sums(self.table.columns, self.table.rows, self.table.dialect), TEXT_SUMS)
        rows, *sums = (answer.column(name).to_pylist()[0] for name in TEXT_SUMS)
        return digest_of_text_sums(self.table.places, rows, [[each] for each in sums])

    def digest_of_texts(self) -> bytes:
        """Return `digest`, which an engine always computes from texts; an earlier result is used again."""
        return self.table.digest or self.digest()

    def row_count(self) -> int:
        """Return the exact number of rows."""
        answer = self.table.ask(f"SELECT count(*) AS n FROM {self.table.rows}", {"n": "int64"})
        return int(answer.column("n").to_pylist()[0])

    def distinct_texts(self, place: int, limit: int) -> list[str]:
        """Return up to `limit` different texts of a column, in the engine's order."""
        text = self.table.dialect.to_text(f"c{place}")
        texts = f"SELECT DISTINCT {text} AS v FROM {self.table.rows} WHERE trim({text}) <> ''"
        answer = self.table.ask(f"{texts} ORDER BY v LIMIT {limit:d}", {"v": "string"})
        return [str(value) for value in answer.column("v").to_pylist()]

    def check_unchanged(self) -> None:
        """Raise `TableError` if the digest, computed again, differs from the one that is known."""
        if self.table.digest is not None:
            self._check_same(self.digest())

    def _check_same(self, digest: bytes) -> None:
        if digest == self.table.digest:
            return
        self.table.digest = None
        raise TableError(_("the table has changed since it was recognised; try again when nobody writes to it"))


def _used(joints: JointTables) -> list[int]:
    """Return the axes of all columns that are in a joint table, in order."""
    return sorted({axis for axes in joints.axes for axis in axes})


def _in_set(answer: pa.Table, joints: JointTables, axes: Sequence[int]) -> Bools:
    """Return which rows of a result belong to the grouping set of a joint table, given by its axes."""
    in_set = np.ones(answer.num_rows, dtype=bool)
    for axis in _used(joints):
        in_set &= (arrow.to_numpy(answer.column(f"g{axis}")) >= 0) == (axis in axes)
    return in_set


def _counts_of(answer: pa.Table, joints: JointTables) -> list[Ints]:
    return [_count_of_joint(answer, axes, joints) for axes in joints.axes]


def _count_of_joint(answer: pa.Table, axes: Sequence[int], joints: JointTables) -> Ints:
    """Return the counts of one joint table, in the units of its amounts, from the sums of products of units."""
    in_set = _in_set(answer, joints, axes)
    numbers = [name for name in answer.column_names if name not in TEXT_SUMS]
    columns = {name: arrow.to_numpy(answer.column(name)).astype(np.int64)[in_set] for name in numbers}
    counts = np.zeros(joints.shape(axes), dtype=np.int64)
    copies = _copies(axes, joints)
    indices = range(len(copies))
    for upper in _subsets(indices):
        # Π parts (upper) · Π (rest) (others), multiplied out into the sums of products that were asked for
        weights = np.zeros(len(columns[_alias(())]), dtype=np.int64)
        for added in _subsets([copy for copy in indices if copy not in upper]):
            group = [copies[copy] for copy in indices if copy in (*upper, *added)]
            factor = math.prod(joints.amounts[copies[copy]].parts for copy in indices if copy not in (*upper, *added))
            weights += (-1) ** len(added) * factor * columns[_alias(group)]
        nonzero = weights != 0
        upper_axes = [copies[copy] for copy in upper]
        places = tuple(columns[f"g{axis}"][nonzero] + upper_axes.count(axis) for axis in axes)
        np.add.at(counts, places, weights[nonzero])
    return counts
