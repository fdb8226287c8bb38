"""Strategies for a plan that is measured in parts: ranges tables, tables at levels, and the rest.

ε is divided between the parts as it is between tables: by the cube roots of weighted cells (`measure.allocation`). A
ranges table is measured in boxes with its share (`measure.box_measurement`); its cells get more weight, since a range
has the noise of many cells. Tables at several levels of a column are measured as levels (`measure.levels`). A model
(`measure.adaptive`) draws on the rest, unless this is measured directly beside ranges tables (`marginals.plan_model`).
Tables with amounts are always measured directly. A row spends the share of each part once, and the shares add up to ε
exactly.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cached_property

from dpengine.array_types import Columns, Ints
from dpengine.errors import PlanError
from dpengine.marginals.division import root_of_cells, shares_of_parts, weight_within
from dpengine.marginals.graphs import maximal
from dpengine.marginals.measurement import Allocation, Measurements
from dpengine.marginals.nested import in_one, tree_order
from dpengine.marginals.plan_model import agreeing, measured_directly, modelled
from dpengine.measure.adaptive import measure_adaptively
from dpengine.measure.allocation import allocate, check_rings
from dpengine.measure.box_measurement import blank_boxes
from dpengine.measure.box_strategy import boxes_of
from dpengine.measure.levels import allocate_levels, cells_of_levels, variances_of_levels
from dpengine.measure.measure import add_noise
from dpengine.measure.model_error import blank_audit
from dpengine.measure.strategy_base import MAX_ADAPTIVE_SCALE, DataDependent
from dpengine.measure.workload import Workload
from dpengine.noise import moments
from dpengine.noise.moments import MAX_SCALE
from dpengine.spec.limits import MAX_JOINT_CELLS
from dpengine.spec.plan import Plan
from dpengine.translation.catalogue import _, number

__all__ = ["InParts", "variances_of_parts"]


class InParts(DataDependent):
    """Measure tables for ranges in boxes, tables at several levels as levels, and the rest, each with its share."""

    @property
    def why(self) -> str:
        columns = _(" and ").join(str(part.resolution.column) for part in self._levels)
        if self.workload is not None and not self._ranged:
            return _(
                "Adaptive: levels of {columns} are measured; of the other columns, which pairs to measure is chosen "
                "privately.",
                columns=columns,
            )
        if not self._ranged:
            return _("Adaptive: levels of {columns} are measured, those of each column by themselves.", columns=columns)
        sentences = [
            _(
                "Adaptive, since ranges of {table} matter: it is measured in boxes of neighbouring cells, which are "
                "split where noisy counts show that there are enough people.",
                table=" × ".join(self._ranged[0]),
            ),
            *(_("So is {table}.", table=" × ".join(table)) for table in self._ranged[1:]),
            *([_("Levels of {columns} are measured, each with a share.", columns=columns)] if columns else []),
            *([_("Of the other tables, which pairs to measure is chosen privately.")] if self.workload else []),
            *([_("The other tables are measured as they are.")] if self._direct and not self.workload else []),
        ]
        return " ".join(sentences)

    @property
    def _ranged(self) -> tuple[Columns, ...]:
        return self.plan.parts.ranged

    @property
    def _levels(self) -> tuple[Plan, ...]:
        return self.plan.parts.levels

    @cached_property
    def model(self) -> Plan | None:
        """The plan of the tables that a model covers; None if all of the rest is measured directly."""
        return modelled(self.plan)

    @cached_property
    def _direct(self) -> list[Columns]:
        return measured_directly(self.plan, self.model)

    @cached_property
    def workload(self) -> Workload | None:
        """The workload of the model, if there is one."""
        return None if self.model is None else Workload.of(self.model)

    @cached_property
    def shares(self) -> list[Fraction]:
        """The shares of ε of each ranges table, each set of levels, each direct table, and the model."""
        return shares_of_parts(self.plan, [*map(cells_of_levels, self._levels)], self._direct, self.model)

    @cached_property
    def _parts(self) -> tuple[list[Allocation], list[Allocation], Fraction]:
        """The allocations of boxes and of directly measured marginals, and the rest of ε for the model."""
        shares = iter(self.shares)
        boxes = [allocate(self.plan, table, next(shares)) for table in self._ranged]
        of_levels = [one for part in self._levels for one in allocate_levels(part, next(shares))]
        direct = [allocate(self.plan, table, next(shares)) for table in self._direct]
        return boxes, [*of_levels, *direct], next(shares, Fraction(0))

    @property
    def marginals(self) -> Sequence[Columns]:
        boxes, direct, _rest = self._parts
        return [*(each.columns for each in (*boxes, *direct)), *(self.workload.marginals if self.workload else ())]

    @property
    def plan_id(self) -> str:
        """The identity follows from the cost of each table: sums of these are free, and pairs are chosen later."""
        boxes, direct, _rest = self._parts
        if len(boxes) == 1 and not self._levels and self.model is None:
            return self.plan.identity(
                "ranges", self._ranged[0], *((each.columns, str(each.epsilon)) for each in direct)
            )
        of_model = [] if self.model is None else ["adaptive", *maximal(self.model.marginals)]
        ranges = (("ranges", each.columns, str(each.epsilon)) for each in boxes)
        levels = (["levels", *sorted(map(sorted, part.marginals))] for part in self._levels)
        each = ((each.columns, str(each.epsilon)) for each in direct)
        return self.plan.identity(*ranges, *levels, *each, of_model, *self.plan.weights_payload)

    def _check_tables(self) -> None:
        boxes, direct, rest = self._parts
        rows = self.plan.unit.rows
        if any(
            rows / share > MAX_ADAPTIVE_SCALE for share in (self.plan.epsilon_for_tables, *([rest] if rest else []))
        ):
            raise PlanError(_("epsilon is too small to choose what to measure: raise it, or use strategy: direct"))
        if any(rows / each.epsilon > MAX_ADAPTIVE_SCALE for each in boxes):
            raise PlanError(_("epsilon is too small for ranges beside other tables: raise it, or ask for fewer tables"))
        if any(each.scale_in_units > MAX_SCALE for each in direct):
            raise PlanError(_("epsilon is too small for means at this step: raise it, or choose a larger step"))
        check_rings(self.plan)
        self._check_agreement()

    def _check_agreement(self) -> None:
        """Refuse tables that could agree only through a too large table, or not at all."""
        plan, resolution = self.plan, self.plan.resolution
        earlier, direct = agreeing(plan, self.model)
        if tree_order(resolution, [*earlier, *direct]) is not None:
            return
        joint = in_one(resolution, earlier, direct)
        if joint is not None and not self._levels:
            return  # rows agree with all of them
        names = {name for table in (*earlier, *direct) for name in table}
        if joint is None and (self.model is not None or {*resolution.finest_columns(sorted(names))} != names):
            raise PlanError(
                _(
                    "these tables overlap in a ring through levels of {columns}, so they cannot be made to agree: put "
                    "the tables at several levels, or those for ranges, into a plan of their own",
                    columns=", ".join(resolution.chains),
                )
            )
        cells = plan.cells(tuple(names) if joint is None else joint)
        if cells <= MAX_JOINT_CELLS:
            return
        raise PlanError(
            _(
                "these tables overlap in a ring, so beside a table for ranges they can agree only through one "
                "table of {cells} cells (at most {most}): put the table for ranges into a plan of its own, or "
                "use fewer columns or wider bins",
                cells=number(cells, ".2g"),
                most=number(MAX_JOINT_CELLS),
            )
        )

    def _measure(self, counts: Sequence[Ints]) -> Measurements:
        exact = iter(counts)
        boxes, direct, rest = self._parts
        trees = [boxes_of(self.plan, next(exact), each) for each in boxes]
        marginals = tuple(add_noise(next(exact), each) for each in direct)
        if self.workload is None:
            return Measurements(marginals, boxes=trees[0] if trees else None, more_boxes=tuple(trees[1:]))
        of_model = dict(zip(self.workload.marginals, exact, strict=True))
        measured = measure_adaptively(self.workload, of_model, rest, self.plan.unit.rows)
        return replace(
            measured,
            marginals=(*marginals, *measured.marginals),
            boxes=trees[0] if trees else None,
            more_boxes=tuple(trees[1:]),
        )

    def blank(self) -> Measurements:
        boxes, direct, rest = self._parts
        trees = [
            blank_boxes(each.columns, self.plan.shape(each.columns), each.epsilon, each.sensitivity) for each in boxes
        ]
        marginals = tuple(self._zeros(each.columns, each.epsilon) for each in direct)
        if self.workload is None:
            return Measurements(marginals, boxes=trees[0] if trees else None, more_boxes=tuple(trees[1:]))
        columns = [(), *((name,) for name in self.workload.sizes), *filter(None, [self.workload.whole])]
        audit = blank_audit(self.workload, rest, self.plan.unit.rows) if self.workload.audited else None
        return Measurements(
            (*marginals, *(self._zeros(each, rest) for each in columns)),
            (),
            audit,
            boxes=trees[0] if trees else None,
            more_boxes=tuple(trees[1:]),
        )


def variances_of_parts(plan: Plan) -> dict[Columns, float]:
    """Return the mean variance of a cell of each table of counts, if measured in parts.

    Tables of a model count as if each was measured with its part of the model's share. Ranges tables are left out.
    """
    parts, variances = InParts(plan), dict[Columns, float]()
    for part, share in zip(plan.parts.levels, parts.shares[len(plan.ranged) :], strict=False):
        variances |= variances_of_levels(part, share)
    model = parts.model
    if model is None:
        return variances
    tables = maximal(model.marginals)
    roots = [root_of_cells(weight_within(plan, table) * plan.cells(table)) for table in tables]
    scales = [plan.unit.rows * sum(roots) / (parts.shares[-1] * root) for root in roots]
    summed = {table: plan.cells(table) * moments.variance(scale) for table, scale in zip(tables, scales, strict=True)}
    return variances | {
        table: min(summed[each] for each in tables if {*table} <= {*each}) / plan.cells(table)
        for table in model.marginals
    }
