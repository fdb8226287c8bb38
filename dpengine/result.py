"""What was measured and what follows from it: the value that is stored, shown, saved and verified."""

from __future__ import annotations

import io
import json
import platform
import uuid
from dataclasses import dataclass
from datetime import UTC, datetime
from fractions import Fraction
from functools import cached_property
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from dpengine import synthesis
from dpengine.accuracy import ErrorLaw, error_law, least_squares
from dpengine.consistency import Model, solve
from dpengine.errors import LedgerError
from dpengine.estimate import Columns
from dpengine.measure import Measurement
from dpengine.plan import Plan
from dpengine.strategy import Share
from dpengine.version import VERSION

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["EXACT", "NUMBERS", "Result", "conclude", "mostly_noise", "published_name"]

EXACT = 0.5
NUMBERS = ("count", "estimate", "low", "high")


def published_name(column: str) -> str:
    """Name of a label column in a published table: the column's own, unless a number column has it.

    >>> published_name("age"), published_name("count"), published_name("count_")
    ('age', 'count_', 'count__')
    """
    return f"{column}_" if column.rstrip("_") in NUMBERS else column


def mostly_noise(counts: npt.NDArray[np.int64], half_width: float) -> npt.NDArray[np.bool_]:
    """Which of ``counts`` cannot be told from 0: those no larger than the half-width of their interval.

    Below :data:`EXACT` an interval holds one whole number, so that a count of 0 is no guess either.
    """
    return (counts <= half_width) & (half_width >= EXACT)


def conclude(plan: Plan, measurements: tuple[Measurement, ...]) -> Result:
    """All that follows from the measurements of ``plan``, with a fresh name and the time of day."""
    squares = least_squares(plan, [measurement.share for measurement in measurements])
    model = solve(squares, [measurement.values for measurement in measurements])
    software = {"private-release": VERSION, "python": platform.python_version()}
    software |= {name: version(name) for name in ("numpy", "duckdb", "cryptography")}
    created = datetime.now(UTC).isoformat(timespec="seconds")
    return Result(plan, measurements, model, uuid.uuid4().hex, created, software)


@dataclass(frozen=True)
class Result:
    """A finished release: noisy measurements, the consistent model fitted to them, and their story.

    It holds no exact count and no table; whatever it gives is post-processing of what was paid for.
    """

    plan: Plan
    measurements: tuple[Measurement, ...]
    model: Model
    release_id: str
    created: str
    software: dict[str, str]

    @cached_property
    def tables(self) -> dict[Columns, pd.DataFrame]:
        """Each published table by its column names, and the total by ``()``, as :meth:`cells` gives them."""
        import pandas as pd  # only where frames are wanted: it takes longer to load than a release to make

        return {table: pd.DataFrame(self.cells(table)) for table in (*self.plan.marginals, ())}

    def cells(self, table: Columns) -> dict[str, npt.NDArray[Any]]:
        """The columns of a published table, one entry a cell of the declared cross-product in declared order.

        A label for each column; ``count`` (whole, never negative, agrees with every other table);
        ``estimate`` (unbiased, may be negative or fractional); ``low`` and ``high`` (hold the true count
        with probability 95 % at least).
        """
        squares = least_squares(self.plan, self._shares)
        estimate = squares.estimate(table, [measurement.values for measurement in self.measurements]).ravel()
        # Values a hair off a whole number come from the order of summation, not from the data.
        estimate = np.where(np.abs(estimate - np.rint(estimate)) < 1e-6, np.rint(estimate), estimate) + 0.0
        count = self.counts(table).ravel()
        reach = self.law(table).half_width()
        # True counts are whole and not negative, and a reader expects the published count inside.
        low = np.minimum(np.maximum(np.ceil(estimate - reach - 1e-6), 0), count).astype(np.int64)
        high = np.maximum(np.floor(estimate + reach + 1e-6), count).astype(np.int64)
        codes = np.unravel_index(np.arange(count.size), self.plan.shape(table)) if table else ()
        labels = {
            published_name(name): np.array(self.plan.column(name).labels, dtype=object)[code]
            for name, code in zip(table, codes, strict=True)
        }
        return labels | {"count": count, "estimate": estimate, "low": low, "high": high}

    def law(self, table: Columns) -> ErrorLaw:
        """The law of the error of ``estimate`` in each cell of ``table``."""
        return error_law(self.plan, self._shares, table)

    def counts(self, table: Columns) -> npt.NDArray[np.int64]:
        """The consistent counts of ``table``, one axis a column."""
        return self.model.table(table)

    def mostly_noise(self, table: Columns) -> npt.NDArray[np.bool_]:
        """Which cells are mostly noise, as :func:`mostly_noise` has it of their published counts."""
        return mostly_noise(self.counts(table), self.law(table).half_width())

    def synthetic(self) -> pd.DataFrame:
        """Rows of labels, one a synthetic person; counted, they give every published table exactly."""
        import pandas as pd

        rows = synthesis.deal(self.model)
        labels = {name: np.array(self.plan.column(name).labels, dtype=object) for name in self.plan.used}
        return pd.DataFrame({name: texts[rows[name]] for name, texts in labels.items()})

    @property
    def _shares(self) -> tuple[Share, ...]:
        return tuple(measurement.share for measurement in self.measurements)

    def to_bytes(self) -> bytes:
        """The release as the ledger keeps it: whole, and readable without running anything."""
        header = {
            "plan": self.plan.to_dict(),
            "release_id": self.release_id,
            "created": self.created,
            "software": self.software,
            "shares": [(m.share.columns, str(m.share.epsilon), m.share.sensitivity) for m in self.measurements],
            "cliques": self.model.cliques,
        }
        told = json.dumps(header, default=str).encode()
        arrays: dict[str, npt.NDArray[Any]] = {"header": np.frombuffer(told, dtype=np.uint8)}
        arrays |= {f"measured{k}": measurement.values for k, measurement in enumerate(self.measurements)}
        arrays |= {f"model{k}": counts for k, counts in enumerate(self.model.counts)}
        buffer = io.BytesIO()
        np.savez_compressed(buffer, allow_pickle=False, **arrays)
        return buffer.getvalue()

    @classmethod
    def from_bytes(cls, payload: bytes) -> Result:
        """Read what :meth:`to_bytes` wrote. Raises :class:`LedgerError` where it is damaged."""
        try:
            with np.load(io.BytesIO(payload), allow_pickle=False) as arrays:
                header: dict[str, Any] = json.loads(arrays["header"].tobytes())
                shares = [Share(tuple(c), Fraction(e), s) for c, e, s in header["shares"]]
                cliques = tuple(tuple(clique) for clique in header["cliques"])
                measurements = tuple(Measurement(s, arrays[f"measured{k}"]) for k, s in enumerate(shares))
                model = Model(cliques, tuple(arrays[f"model{k}"] for k in range(len(cliques))))
        except (ValueError, KeyError, OSError, EOFError) as error:
            raise LedgerError("a stored release cannot be read; restore the ledger from a backup") from error
        story = {key: header[key] for key in ("release_id", "created", "software")}
        return cls(Plan(**header["plan"]), measurements, model, **story)
