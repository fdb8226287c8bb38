"""Count and digest rows in another engine: only counts and sums of hashes leave it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from dpengine import arrow
from dpengine.array_types import Ints
from dpengine.counting.contribution_bounding import bounded_rows, coded_rows
from dpengine.counting.encoding.remote_sql import code_of, identity
from dpengine.counting.fingerprint import TEXT_SUMS, digest_of_text_sums, text_sums
from dpengine.counting.joint_tables import JointTables
from dpengine.errors import TableError
from dpengine.sources.databases.remote import RemoteTable
from dpengine.spec.domain import Column
from dpengine.spec.numeric_grid import Grid
from dpengine.spec.plan import Plan

__all__ = ["RemoteRows"]


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

    def count(self, plan: Plan, joints: JointTables, key: bytes, progress: Callable[[float], None]) -> list[Ints]:
        """Count the joint tables exactly, in one statement that groups by all of them (``GROUPING SETS``).

        At most ``plan.unit.rows`` rows of each person count, chosen by `key`: the same ones as in `scan`.
        """
        dialect = self.table.dialect
        cells = {column.name: (f"c{i}", column.type) for i, column in enumerate(self.table.columns)}
        codings = [code_of(each, *cells[each.name], dialect, str(k)) for k, each in enumerate(joints.columns)]
        person = None if plan.unit.id is None else identity(*cells[plan.unit.id], dialect)
        rows = coded_rows(codings, person, self.table.rows, fence=dialect.fence)
        if person is not None:
            rows = bounded_rows(rows, len(codings), plan.unit.rows, key, dialect)
        used = sorted({axis for axes in joints.axes for axis in axes})
        sets = ", ".join(f"({', '.join(f'k{axis}' for axis in axes)})" for axes in joints.axes)
        outputs = [f"coalesce(CAST(k{axis} AS BIGINT), -1) AS g{axis}" for axis in used] + ["count(*) AS n"]
        answer = self.table.ask(
            f"SELECT {', '.join(outputs)} FROM ({rows}) AS d GROUP BY GROUPING SETS ({sets})",
            {**{f"g{axis}": "int64" for axis in used}, "n": "int64"},
        )
        columns = {name: arrow.to_numpy(answer.column(name)).astype(np.int64) for name in answer.column_names}
        return [self._of_joint(columns, axes, used, joints) for axes in joints.axes]

    @staticmethod
    def _of_joint(columns: dict[str, Ints], axes: Sequence[int], used: Sequence[int], joints: JointTables) -> Ints:
        in_set = np.ones(len(columns["n"]), dtype=bool)  # the rows of the answer in this grouping set
        for axis in used:
            in_set &= (columns[f"g{axis}"] >= 0) == (axis in axes)
        counts = np.zeros(joints.shape(axes), dtype=np.int64)
        counts[tuple(columns[f"g{axis}"][in_set] for axis in axes)] = columns["n"][in_set]
        return counts

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
        raise TableError("the table has changed since it was recognised; try again when nobody writes to it")
