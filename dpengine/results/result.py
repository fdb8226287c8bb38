"""A finished release as a value: its measurements, and everything that is computed from them."""

from __future__ import annotations

import platform
import uuid
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import cache, cached_property
from importlib.metadata import version
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from dpengine.array_types import Bools, Columns, Floats, Ints
from dpengine.errors import LedgerError
from dpengine.estimate.amounts import AmountTable, fit_amount
from dpengine.estimate.by_tally import EstimatesByTally
from dpengine.estimate.estimates import Estimates, ModelledEstimates, derive_estimates
from dpengine.estimate.parts import EstimatesOfParts
from dpengine.estimate.summed import SummedEstimates
from dpengine.marginals.measurement import Measurement, Measurements
from dpengine.results.interval_estimates import IntervalEstimates, association_intervals, interval_estimates
from dpengine.results.published_columns import ENDS, Measure, measures
from dpengine.results.serialise import Stored, pack, unpack
from dpengine.results.stated import ModelError, Stated, TableNumbers, state
from dpengine.results.views.published import MAX_KEPT, PublishedTables, no_table
from dpengine.results.views.synthetic import SyntheticView
from dpengine.spec.domain import zones_of
from dpengine.spec.plan import Plan
from dpengine.synthesis.generate_rows import WholeCounts, realise
from dpengine.translation.catalogue import _
from dpengine.version import VERSION

__all__ = ["EXACT", "Result", "conclude", "payload_of"]

EXACT = 0.5  # an interval with a smaller half-width holds one whole number
MAX_RECENT = 8  # tables whose numbers are kept once made


def conclude(plan: Plan, measured: Measurements) -> Result:
    """Return the result of the measurements of `plan`, whose strategy is resolved, with a fresh id and the time."""
    plan = measured.as_measured(plan)
    return Result._made(plan, measured, _provenance(plan))


def payload_of(plan: Plan, measured: Measurements) -> tuple[str, str, bytes]:
    """Return name and time of a new release, and the bytes to store.

    Measurements are stored even if tables cannot be made from them, for lack of memory or by a bug: noise was drawn, so
    the charge stands. `Result.from_bytes` then makes the tables.
    """
    plan = measured.as_measured(plan)
    provenance = _provenance(plan)
    try:
        made = Result._made(plan, measured, provenance)
        payload = replace(made, stated=state(plan, made.derive_numbers, made.model_error)).to_bytes()
    except _CAUSES:
        payload = pack(Stored(_as_stored(plan), measured, None, provenance))
    return provenance["release_id"], provenance["created"], payload


_CAUSES = (ArithmeticError, AssertionError, AttributeError, LookupError, MemoryError, TypeError, ValueError)


def _models(plan: Plan, measured: Measurements) -> list[WholeCounts]:
    """Return whole counts that agree within each tally of `plan`: a fixed function of its arguments."""
    estimates = derive_estimates(plan, measured)
    by_tally = estimates.by_tally if isinstance(estimates, EstimatesByTally) else (estimates,)
    return [
        realise(estimate.fitted, list(tally.plan.finest.marginals))
        for estimate, tally in zip(by_tally, plan.tallies, strict=True)
    ]


def _amounts(plan: Plan, measured: Measurements, model: WholeCounts) -> tuple[AmountTable, ...]:
    """Return the amounts of each table in whole numbers that agree with `model`: a fixed function of its arguments."""
    if not plan.amounts(()):
        return ()
    soft = derive_estimates(plan, measured).soft
    # The fit follows from the measurements, like the identity of the release, and not from the requested tables.
    tables = {
        name: [tuple(each for each in measured_table.allocation.columns if not plan.has_amount((each,)))
               for measured_table in measured.marginals if name in measured_table.allocation.columns]
        for name in sorted(plan.amounts(()))
    }  # fmt: skip

    def count(table: Columns) -> Ints:
        return model.table(table, plan.resolution)

    def ordered(name: str) -> int:
        return plan.column(name).declared_size

    fitted = (fit_amount(plan.amount(name), filter(None, of), count, soft, ordered) for name, of in tables.items())
    return tuple(table for group in fitted for table in group)


def _provenance(plan: Plan) -> dict[str, Any]:
    """Return a fresh name for a release, the time, and the versions of the software that makes it.

    Where times count by the clock of a zone, the package that says when clocks are set is part of it.
    """
    created = datetime.now(UTC).isoformat(timespec="seconds")
    clocks = {"tzdata": version("tzdata")} if zones_of(map(plan.column, plan.released)) else {}
    return {"release_id": uuid.uuid4().hex, "created": created, "software": _software() | clocks}


@cache
def _software() -> dict[str, str]:
    """Return the versions, which are read from the disk once."""
    software = {"private-release": VERSION, "python": platform.python_version()}
    return software | {name: version(name) for name in ("numpy", "duckdb", "cryptography")}


def _as_stored(plan: Plan) -> dict[str, Any]:
    """Return a plan in the form that the ledger stores."""
    return plan.to_dict() | {"strategy": plan.strategy}


@dataclass(frozen=True, repr=False)
class Result(SyntheticView, PublishedTables):
    """A finished release: noisy measurements, the consistent tables or rows fitted to them, and where they come from.

    It holds no exact count and no table of people; everything computed from it is post-processing.
    """

    plan: Plan
    measured: Measurements
    model: WholeCounts
    release_id: str
    created: str
    software: dict[str, str]
    amounts: tuple[AmountTable, ...] = ()
    further_models: tuple[WholeCounts, ...] = ()  # the tables of further tallies of the plan
    stated: Stated = field(default_factory=Stated)  # numbers that stay as they were first stated
    legacy_quantiles: bool = False  # whether quantiles are by the rule of earlier releases, and so stay as they were

    @classmethod
    def _made(cls, plan: Plan, measured: Measurements, provenance: Mapping[str, Any]) -> Self:
        """Make whole counts and amounts of the measurements: a fixed function of its arguments."""
        model, *further_models = _models(plan, measured)
        amounts = _amounts(plan, measured, model)
        return cls(plan, measured, model, amounts=amounts, further_models=tuple(further_models), **provenance)

    @property
    def key(self) -> str:
        """Identity of the plan."""
        return self.plan.key

    @property
    def measurements(self) -> tuple[Measurement, ...]:
        """The noisy marginals, each with its share of ε."""
        return self.measured.marginals

    @cached_property
    def estimates(self) -> Estimates:
        """Estimates and intervals of each table."""
        return derive_estimates(self.plan, self.measured)

    @cached_property
    def model_error(self) -> ModelError | None:
        """How far cells of a model are off on average: factor × (expected count) ^ power, from its audit."""
        if self.stated.model_error is not None:
            return self.stated.model_error
        estimates = self.estimates
        model = estimates.model if isinstance(estimates, EstimatesOfParts | SummedEstimates) else estimates
        if self.measured.audit is None or not isinstance(model, ModelledEstimates):
            return None
        return model.error_by_size

    def of_tally(self, tally: int) -> Result:
        """Return the release restricted to the tables of one of the plan's tallies: all of it, if there is only one."""
        if not self.plan.has_distinct:
            return self
        measured = tuple(each for each in self.measured.marginals if each.allocation.tally == tally)
        model, provenance = (self.model, *self.further_models)[tally], (self.release_id, self.created, self.software)
        return Result(self.plan.tallies[tally].plan, Measurements(measured), model, *provenance, self.amounts)

    def numbers(self, table: Columns) -> dict[str, npt.NDArray[Any]]:
        """Return the columns of numbers of a published table by name, one entry a cell in declared order."""
        counted = self._numbers_of(table)
        numbers: dict[str, npt.NDArray[Any]] = {
            "count": self.counts(table), "estimate": counted.estimate, "low": counted.low, "high": counted.high,
        }  # fmt: skip
        published = measures(self.plan, table)
        for name in self.plan.amounts(table):
            people = self.amount_table(table, name).known
            numbers |= {f"known_{name}": people} if self.plan.amount(name).missing else {}
            of_amount = (measure for measure in published if measure.amount == name and not measure.on)
            numbers |= self._intervals_by_name(table, of_amount)
        numbers |= self._intervals_by_name(table, (each for each in published if each.on))
        return {name: np.ravel(values) for name, values in numbers.items()}

    def _intervals_by_name(self, table: Columns, published: Iterable[Measure]) -> dict[str, Floats]:
        """Return the numbers of some measures and the ends of their intervals, by the names of their columns."""
        return {
            f"{label}{end}": values
            for measure in published
            for label, interval in zip(measure.names, self.interval_estimates(table, measure), strict=True)
            for end, values in zip(ENDS, interval.numbers, strict=True)
        }

    def estimate(self, table: Columns) -> Floats:
        """Return the expected count of each cell of `table`, one axis a column."""
        stated = self.stated.of(table)
        with self._naming_published(table):
            return self.estimates.estimate(table) if stated is None else stated.estimate

    def _numbers_of(self, table: Columns) -> TableNumbers:
        if (numbers := self._recent.get(table)) is None:
            with self._naming_published(table):
                numbers = self.stated.of(table) or self.derive_numbers(table)
            if len(self._recent) >= MAX_RECENT:
                self._recent.clear()
            if self.plan.cells(table) <= MAX_KEPT:
                self._recent[table] = numbers
        return numbers

    @cached_property
    def _recent(self) -> dict[Columns, TableNumbers]:
        return {}  # a figure, its description and its rows follow each other

    def derive_numbers(self, table: Columns) -> TableNumbers:
        """Return estimates and intervals of `table` by the rules of this version."""
        count = self.counts(table)
        middle, half_width = self.estimates.intervals(table)
        # True counts are whole and not negative, and a reader expects the published count inside.
        low = np.minimum(np.maximum(np.ceil(middle - half_width - 1e-6), 0), count).astype(np.int64)
        high = np.maximum(np.floor(middle + half_width + 1e-6), count).astype(np.int64)
        # Below `EXACT` an interval holds one whole number, so that even a count of 0 is certain.
        noisy: Bools = (low == 0) & (half_width >= EXACT)
        return TableNumbers(self.estimates.estimate(table), low, high, noisy, self.estimates.half_width(table))

    def interval_estimates(self, table: Columns, measure: Measure) -> tuple[IntervalEstimates, ...]:
        """Return the numbers of a measure with their intervals: one for each quantile, and otherwise one.

        `table` is a published table that has it, or one of fewer of its columns.
        """
        key = (table, measure)
        if key in self._intervals:
            return self._intervals[key]
        if measure.association is not None:
            made: tuple[IntervalEstimates, ...] = (
                association_intervals(self.plan, table, measure.association, self.estimates.soft),
            )
        else:
            everybody, cells = (self.amount_table(each, measure.amount) for each in ((), table))
            chosen = self.measured.chosen(table, measure.amount, measure.parts)
            soft, legacy = self.estimates.soft, self.legacy_quantiles
            made = interval_estimates(self.plan, measure, cells, everybody, soft, chosen, legacy=legacy)
        if self.plan.cells(table) <= MAX_KEPT:
            self._intervals[key] = made
        return made

    @cached_property
    def _intervals(self) -> dict[tuple[Columns, Measure], tuple[IntervalEstimates, ...]]:
        return {}  # a page draws and lists the same numbers again and again

    def amount_table(self, table: Columns, name: str) -> AmountTable:
        """Return the people whose amount `name` is known, and its sum in steps, in each cell of `table`."""
        return next(each.project(table) for each in self.amounts if each.amount == name and {*table} <= {*each.columns})

    def offers(self, table: Columns, measure: Measure | None = None) -> bool:
        """Whether the numbers of `table` can be computed: here those of any published table, and all their sums."""
        return True

    def half_width(self, table: Columns) -> float:
        """Return the 95 % half-width of a cell of `table`; if they differ, as `Estimates.half_width` does."""
        stated = self.stated.of(table)
        with self._naming_published(table):
            for name in table:
                self.plan.column(name)  # all tables may have the same half-width, and so may one that there is not
            return self.estimates.half_width(table) if stated is None else stated.half_width

    def counts(self, table: Columns) -> Ints:
        with self._naming_published(table):
            model = (self.model, *self.further_models)[self.plan.tally_index(table)]
            return model.table(table, self.plan.resolution)  # coarser levels are sums of the finest

    @contextmanager
    def _naming_published(self, table: Columns) -> Iterator[None]:
        """Turn the error for a table that does not follow from the published ones into a KeyError that names these."""
        try:
            if isinstance(table, str):
                raise KeyError(table)
            yield
        except (KeyError, ValueError) as error:
            if table in self.plan.marginals:
                raise
            raise no_table(table, self.plan.marginals) from error

    def mostly_noise(self, table: Columns) -> Bools:
        """Return which cells of `table` cannot be distinguished from empty ones: those whose interval reaches 0."""
        return self._numbers_of(table).mostly_noise

    def to_bytes(self) -> bytes:
        """Return the release as the ledger stores it: complete, and readable without running code."""
        provenance = {"release_id": self.release_id, "created": self.created, "software": self.software}
        plan = _as_stored(self.plan)
        kept = self.amounts, self.further_models, self.stated, self.legacy_quantiles
        return pack(Stored(plan, self.measured, self.model, provenance, *kept))

    @classmethod
    def from_bytes(cls, payload: bytes) -> Self:
        """Read what `to_bytes` or `payload_of` wrote. Raises `LedgerError` if it is damaged, or cannot be finished."""
        stored = unpack(payload)
        plan = Plan(**stored.plan)
        try:
            if stored.model is None:
                return cls._made(plan, stored.measured, stored.provenance)
            kept: dict[str, Any] = {
                "amounts": stored.amounts,
                "further_models": stored.further_models,
                "stated": stored.stated,
            }
            legacy = stored.legacy_quantiles
            return cls(plan, stored.measured, stored.model, **stored.provenance, **kept, legacy_quantiles=legacy)
        except _CAUSES as error:
            raise LedgerError(
                _(
                    "The release {id} is recorded and paid for, but its tables cannot be made here. Ask for it again, "
                    "at no cost, on a machine with more memory or with a version in which this is fixed.",
                    id=stored.provenance["release_id"],
                )
            ) from error
