"""Count and digest rows in another engine: only counts and sums of hashes leave it."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise

import numpy as np

from dpengine import arrow
from dpengine.array_types import Ints
from dpengine.counting.contribution_bounding import Kept, bounded_rows, coded_rows
from dpengine.counting.encoding.remote_sql import code_of, identity, key_text
from dpengine.counting.fingerprint import TEXT_SUMS, digest_of_text_sums, text_sums
from dpengine.counting.joint_tables import JointTables
from dpengine.counting.universe_keys import counts_by_place, held_keys, universe_of
from dpengine.errors import TableError
from dpengine.sources.databases.remote import RemoteTable
from dpengine.spec.domain import Amount, Category, Column
from dpengine.spec.numeric.grid import Grid
from dpengine.spec.numeric.steps import AmountAtSteps
from dpengine.spec.plan import Plan, Unit
from dpengine.translation.catalogue import _

__all__ = ["RemoteRows"]


def _subsets(axes: Sequence[int]) -> list[tuple[int, ...]]:
    return [each for size in range(len(axes) + 1) for each in combinations(axes, size)]


def _copies(axes: Sequence[int], joints: JointTables) -> list[int]:
    """Return the amounts of a joint table, by their axes, each as often as it is shared between cells."""
    return [axis for axis in axes if axis in joints.amounts for _copy in range(joints.amounts[axis].degree)]


def _products(groups: Sequence[Sequence[int]]) -> list[tuple[int, ...]]:
    """Return the sets of amounts, by their axes, of which sums of products of units are needed."""
    return sorted({each for group in groups for each in _subsets(group) if each})


def _name(group: Sequence[int]) -> str:
    return "_".join(["n", *map(str, group)])


def _cell(amount: Amount, axis: int) -> str:
    """Write the cell of a row's place, the lower of its two knots or that for missing values (`Amount.split`)."""
    if isinstance(amount, AmountAtSteps):
        bins = f"CAST((k{axis} - k{axis} % {amount.width}) / {amount.width} AS BIGINT)"
        return f"CASE WHEN k{axis} > {amount.grid.steps} THEN {amount.declared_size} ELSE {bins} END AS j{axis}"
    inner = amount.knot_places[1:-1]
    whens = " ".join(f"WHEN k{axis} < {place} THEN {cell}" for cell, place in enumerate(inner))
    last = f"WHEN k{axis} > {amount.grid.steps} THEN {amount.declared_size} {whens} ELSE {len(inner)}"
    return f"CASE {last} END AS j{axis}"


def _units(amount: Amount, axis: int) -> str:
    """Write the parts of a value that belong to the next cell."""
    if isinstance(amount, AmountAtSteps):
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
        for column in columns:
            if not isinstance(column, Grid):
                try:
                    code_of(column, "c", types.get(column.name, "VARCHAR"), self.table.dialect)
                except TableError as error:
                    faults += map(str, error.faults)
        return faults

    def count(
        self, plan: Plan, joints: JointTables, kept: Kept, key: bytes, progress: Callable[[float], None]
    ) -> list[Ints]:
        """Count the joint tables exactly, in one statement that groups by all of them (``GROUPING SETS``).

        `key` chooses what is `kept` of each person: the same rows as in `scan`.
        """
        dialect = self.table.dialect
        cells = {column.name: (f"c{i}", column.type) for i, column in enumerate(self.table.columns)}
        codings = [code_of(each, *cells[each.name], dialect, str(k)) for k, each in enumerate(joints.columns)]
        person = None if plan.unit.id is None else identity(*cells[plan.unit.id], dialect)
        rows = coded_rows(codings, person, self.table.rows, fence=dialect.fence)
        if person is not None:
            places = joints.places(kept.columns)
            rows = bounded_rows(rows, len(codings), kept.rows, key, dialect, kept.cells, places)
        used = sorted({axis for axes in joints.axes for axis in axes})
        amounts = {axis: joints.amounts[axis] for axis in used if axis in joints.amounts}
        cell = {axis: f"j{axis}" if axis in amounts else f"k{axis}" for axis in used}
        if amounts:
            split = ", ".join(f"{_cell(amount, axis)}, {_units(amount, axis)}" for axis, amount in amounts.items())
            rows = f"SELECT *, {split} FROM ({rows}) AS whole"
        sets = ", ".join(f"({', '.join(cell[axis] for axis in axes)})" for axes in joints.axes)
        products = _products([_copies(axes, joints) for axes in joints.axes])
        outputs = [f"coalesce(CAST({cell[axis]} AS BIGINT), -1) AS g{axis}" for axis in used] + ["count(*) AS n"]
        outputs += [
            f"CAST(sum({' * '.join(f'u{axis}' for axis in group)}) AS BIGINT) AS {_name(group)}" for group in products
        ]
        numbers = ["n", *map(_name, products)]
        answer = self.table.ask(
            f"SELECT {', '.join(outputs)} FROM ({rows}) AS d GROUP BY GROUPING SETS ({sets})",
            {**{f"g{axis}": "int64" for axis in used}, **dict.fromkeys(numbers, "int64")},
        )
        columns = {name: arrow.to_numpy(answer.column(name)).astype(np.int64) for name in answer.column_names}
        return [self._of_joint(columns, axes, used, joints) for axes in joints.axes]

    @staticmethod
    def _of_joint(columns: dict[str, Ints], axes: Sequence[int], used: Sequence[int], joints: JointTables) -> Ints:
        in_set = np.ones(len(columns["n"]), dtype=bool)  # the rows of the answer in this grouping set
        for axis in used:
            in_set &= (columns[f"g{axis}"] >= 0) == (axis in axes)
        counts = np.zeros(joints.shape(axes), dtype=np.int64)
        found = {name: values[in_set] for name, values in columns.items()}
        copies = _copies(axes, joints)
        every = range(len(copies))
        for upper in _subsets(every):
            # Π parts (upper) · Π (rest) (others), multiplied out into the sums of products that were asked for
            weights = np.zeros(len(found["n"]), dtype=np.int64)
            for more in _subsets([copy for copy in every if copy not in upper]):
                group = [copies[copy] for copy in every if copy in (*upper, *more)]
                rest = math.prod(joints.amounts[copies[copy]].parts for copy in every if copy not in (*upper, *more))
                weights += (-1) ** len(more) * rest * found[_name(group)]
            some = weights != 0
            moved = [copies[copy] for copy in upper]
            places = tuple(found[f"g{axis}"][some] + moved.count(axis) for axis in axes)
            np.add.at(counts, places, weights[some])
        return counts

    def count_keys(self, column: Category, unit: Unit, key: bytes) -> tuple[Ints, Ints]:
        """Return the places of the keys that people have in the column's universe, in order, and their counts."""
        dialect, points = self.table.dialect, universe_of(column).has_points
        cells = {field.name: (f"c{i}", field.type) for i, field in enumerate(self.table.columns)}
        text = key_text(*cells[column.name], dialect, points=points)
        person = None if unit.id is None else identity(*cells[unit.id], dialect)
        query = held_keys(column, text, person, unit, key, dialect, self.table.rows)
        answer = self.table.ask(query, {"k": "string", "n": "int64"})
        return counts_by_place(column, zip(*(answer.column(name).to_pylist() for name in "kn"), strict=True))

    def digest(self) -> bytes:
        """Return the digest of the content, computed where the rows are (`fingerprint.text_sums`)."""
        answer = self.table.ask(text_sums(self.table.columns, self.table.rows, self.table.dialect), TEXT_SUMS)
        rows, *sums = (answer.column(name).to_pylist()[0] for name in TEXT_SUMS)
        return digest_of_text_sums([column.name for column in self.table.columns], rows, sums)

    def digest_of_texts(self) -> bytes:
        """Return the same as `digest`; it is computed once."""
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
        if self.table.digest is None or self.digest() == self.table.digest:
            return
        self.table.digest = None
        raise TableError(_("the table has changed since it was recognised; try again when nobody writes to it"))
