"""Keep the numbers of a model as they were first stated.

The ledger stores noisy measurements, whole counts and rows. If tables were measured directly, their estimates follow
from the measurements by least squares in every version. A model, or boxes of cells, are fitted by rules that later
versions improve: the same measurements would then give other estimates. A release must not change after it was
published, so the ledger also stores its estimates and intervals.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from dpengine.array_types import Bools, Columns, Floats, Ints
from dpengine.measure.strategy import resolved
from dpengine.spec.plan import Plan

__all__ = ["ModelError", "Stated", "TableNumbers", "state"]

MAX_STATED = 2**18  # cells of all tables of a release whose numbers are kept: 7 MB before compression

ModelError = tuple[float, float]


@dataclass(frozen=True)
class TableNumbers:
    """Estimates and intervals of one table, one axis a column, and its 95 % half-width."""

    estimate: Floats
    low: Ints
    high: Ints
    mostly_noise: Bools
    half_width: float


@dataclass(frozen=True)
class Stated:
    """The first stated numbers of tables, with columns in the order of their names, and the error of the model.

    `model_error` is the factor and the power by which errors of the model grow with the count.
    """

    tables: Mapping[Columns, TableNumbers] = field(default_factory=dict)
    model_error: ModelError | None = None

    def of(self, table: Columns) -> TableNumbers | None:
        """Return the numbers of `table`, or None if none were kept."""
        columns = tuple(sorted(table))
        if columns not in self.tables:
            return None
        axes, numbers = tuple(columns.index(name) for name in table), self.tables[columns]
        return TableNumbers(
            numbers.estimate.transpose(axes), numbers.low.transpose(axes), numbers.high.transpose(axes),
            numbers.mostly_noise.transpose(axes), numbers.half_width,
        )  # fmt: skip


def state(plan: Plan, numbers: Callable[[Columns], TableNumbers], model_error: ModelError | None) -> Stated:
    """Return what a release of `plan` must keep of its `numbers` of each table.

    It is empty if they follow from the measurements in every version, or if the published tables have more than
    `MAX_STATED` cells.
    """
    tables = sorted({tuple(sorted(table)) for table in plan.published})
    if resolved(plan).closed_form or sum(map(plan.cells, tables)) > MAX_STATED:
        return Stated()
    return Stated({table: numbers(table) for table in tables}, model_error)
