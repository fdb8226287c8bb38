"""A finished release as a value: what was measured, and everything that is computed from it."""

from __future__ import annotations

import platform
import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt

from dpengine.array_types import Bools, Columns, Floats, Ints
from dpengine.errors import ReleaseError
from dpengine.estimate.consistency import ConsistentTables
from dpengine.estimate.estimates import Estimates, derive_estimates
from dpengine.marginals.measurement import Measurement, Measurements
from dpengine.measure.strategy import MAX_SYNTHETIC
from dpengine.results import serialise
from dpengine.results.published_columns import published_name
from dpengine.spec.plan import Plan
from dpengine.synthesis import cell_values, resample
from dpengine.synthesis.generate_rows import SyntheticRows, realise
from dpengine.version import VERSION

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["EXACT", "Result", "conclude", "mostly_noise"]

EXACT = 0.5  # half-widths below it hold one whole number
MAX_KEPT = 100_000  # cells of a table whose frame is kept once made


def mostly_noise(counts: Ints, half_width: float | Floats) -> Bools:
    """Return which of `counts` cannot be told from 0: those no larger than the half-width of their interval.

    Below `EXACT` an interval holds one whole number, so that even a count of 0 is certain.

    >>> mostly_noise(np.array([0, 3, 8]), 3.0)
    array([ True,  True, False])
    """
    return (counts <= half_width) & (half_width >= EXACT)


def conclude(plan: Plan, measured: Measurements) -> Result:
    """Return the result of what was measured for `plan`, whose strategy is resolved, with a fresh name and the time."""
    model = realise(derive_estimates(plan, measured).fitted, max(map(len, plan.marginals)))
    software = {"private-release": VERSION, "python": platform.python_version()}
    software |= {name: version(name) for name in ("numpy", "duckdb", "cryptography")}
    created = datetime.now(UTC).isoformat(timespec="seconds")
    return Result(plan, measured, model, uuid.uuid4().hex, created, software)


@dataclass(frozen=True)
class Result:
    """A finished release: noisy measurements, the consistent tables or rows fitted to them, and where they come from.

    It holds no exact count and no table of people; all that it gives is post-processing of what was paid for.
    """

    plan: Plan
    measured: Measurements
    model: ConsistentTables | SyntheticRows
    release_id: str
    created: str
    software: dict[str, str]

    @property
    def measurements(self) -> tuple[Measurement, ...]:
        """The noisy marginals, each with its part of ε."""
        return self.measured.marginals

    @cached_property
    def estimates(self) -> Estimates:
        """Estimates and intervals of each table."""
        return derive_estimates(self.plan, self.measured)

    @cached_property
    def tables(self) -> Mapping[Columns, pd.DataFrame]:
        """Each published table by its column names, and the total by `()`, with the columns of `cells`."""
        return _Tables(self)

    def cells(self, table: Columns) -> dict[str, npt.NDArray[Any]]:
        """Return the columns of a published table, one entry a cell of the declared cross-product in declared order.

        A label for each column; `count` (whole, never negative, agrees with every other table); `estimate` (unbiased,
        may be negative or fractional; in an adaptive release the expected count of its model); `low` and `high`, which
        hold the true count with a probability of 95 % at least (in an adaptive release, as its audit of cells of that
        size says).
        """
        estimate = self.estimates.estimate(table)
        count = self.counts(table)
        middle, half_width = self.estimates.intervals(table)
        # True counts are whole and not negative, and a reader expects the published count inside.
        low = np.minimum(np.maximum(np.ceil(middle - half_width - 1e-6), 0), count).astype(np.int64)
        high = np.maximum(np.floor(middle + half_width + 1e-6), count).astype(np.int64)
        codes = np.unravel_index(np.arange(count.size), self.plan.shape(table)) if table else ()
        labels = {
            published_name(name): np.array(self.plan.column(name).labels, dtype=object)[code]
            for name, code in zip(table, codes, strict=True)
        }
        numbers = {"count": count, "estimate": estimate, "low": low, "high": high}
        return labels | {name: np.ravel(values) for name, values in numbers.items()}

    def half_width(self, table: Columns) -> float:
        """Return the 95 % half-width of a cell of `table`, the widest if they differ."""
        return self.estimates.half_width(table)

    def counts(self, table: Columns) -> Ints:
        """Return the consistent counts of `table`, one axis a column."""
        return self.model.table(table)

    def mostly_noise(self, table: Columns) -> Bools:
        """Return which cells of `table` are mostly noise, going by their published counts."""
        return mostly_noise(self.counts(table), self.estimates.intervals(table)[1])

    def rows(self, count: int | None = None) -> dict[str, Ints]:
        """Return synthetic rows as cells of each used column: counted, they give every published table exactly.

        With `count`, that number of rows, whose tables are the published ones scaled and rounded
        (`synthesis.resample`). Raises `ReleaseError` if there are no rows to scale, or too many are asked for.
        """
        unique, index = self.unique_rows(count)
        return {name: codes[index] for name, codes in unique.items()}

    def unique_rows(self, count: int | None = None) -> tuple[dict[str, Ints], Ints]:
        """Like `rows`, as unique rows and one index per output row: less memory."""
        plan = self.plan
        rows, times = resample.unique_rows(self.model)
        if count is not None:
            if isinstance(count, bool) or not isinstance(count, int | np.integer) or not 0 <= count <= MAX_SYNTHETIC:
                raise ReleaseError(f"a number of synthetic rows is whole, from 0 to {MAX_SYNTHETIC:,}")
            if count and not times.size:
                raise ReleaseError("the published total is 0: there are no synthetic rows to scale")
            sizes = {name: plan.column(name).size for name in plan.used}
            times = resample.rescale(rows, times, int(count), plan.marginals, sizes) if count else 0 * times
        return {name: rows[name] for name in plan.used}, resample.expand(times)

    def synthetic(self, rows: int | None = None) -> pd.DataFrame:
        """Return synthetic rows typed like the declared columns; counted, they give every published table exactly.

        Whole numbers are Int64, other numbers float64, dates datetime64, categories texts; missing values are NA, and a
        column in which `(other)` occurs holds Python objects. `synthesis.cell_values.HOW` says how values are spread
        within cells. With `rows`, that number of rows: see the method `rows`.
        """
        import pandas as pd

        columns = map(self.plan.column, self.plan.used)
        made = self.rows(rows)
        return pd.DataFrame({
            column.name: cell_values.series(column, made[column.name], salt) for salt, column in enumerate(columns)
        })  # fmt: skip

    def to_bytes(self) -> bytes:
        """Return the release as the ledger keeps it: whole, and readable without running code."""
        story = {"release_id": self.release_id, "created": self.created, "software": self.software}
        return serialise.pack(self.plan.to_dict() | {"strategy": self.plan.strategy}, self.measured, self.model, story)

    @classmethod
    def from_bytes(cls, payload: bytes) -> Self:
        """Read what `to_bytes` wrote. Raises `LedgerError` if it is damaged."""
        plan, measured, model, story = serialise.unpack(payload)
        return cls(Plan(**plan), measured, model, **story)


class _Tables(Mapping[Columns, "pd.DataFrame"]):
    """Frames of all published tables, each made when it is asked for: together they may be too large to hold."""

    def __init__(self, result: Result) -> None:
        self._result = result
        self._kept: dict[Columns, pd.DataFrame] = {}
        self._names = dict.fromkeys((*result.plan.marginals, ()))

    def __getitem__(self, table: Columns) -> pd.DataFrame:
        import pandas as pd  # only where frames are wanted: it takes longer to load than a release to make

        if table not in self._names:
            raise KeyError(table)
        if table in self._kept:
            return self._kept[table]
        frame = pd.DataFrame(self._result.cells(table))
        if len(frame) <= MAX_KEPT:
            self._kept[table] = frame
        return frame

    def __contains__(self, table: object) -> bool:
        return table in self._names

    def __iter__(self) -> Iterator[Columns]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)

    def __repr__(self) -> str:
        return f"<tables {list(self._names)}>"
