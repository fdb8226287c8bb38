"""The input of a release's replicates, and of each of its parts if it was measured in parts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy.typing as npt

from dpengine.array_types import Columns, Floats
from dpengine.errors import ReleaseError
from dpengine.estimate.estimates import HierarchicalEstimates
from dpengine.estimate.model_intervals import mean_errors
from dpengine.estimate.parts import EstimatesOfParts
from dpengine.estimate.source_part import allocated_to, source_part
from dpengine.marginals.box_tree import BoxTree
from dpengine.marginals.measurement import Allocation
from dpengine.marginals.plan_model import modelled
from dpengine.results.result import Result
from dpengine.spec.plan import Plan
from dpengine.translation.catalogue import _

__all__ = ["Basis", "basis_of", "check_tallies"]


@dataclass(frozen=True)
class Basis:
    """The input of replicates: a release's plan, its name, its measurements, and its estimates.

    `allocations` are those of the measured marginals that were not merged. `numbers` gives the published numbers of a
    table with amounts, by the names of their columns. `mean_errors` gives a model's mean absolute error for cells of
    these expected counts, and `tree` the boxes, if either was measured. A plan that was measured in parts has a basis
    for each of them, by its kind and place, and `trees` for those that were measured in boxes.
    """

    plan: Plan
    release_id: str
    allocations: tuple[Allocation, ...]
    estimate: Callable[[Columns], Floats]
    numbers: Callable[[Columns], Mapping[str, npt.NDArray[Any]]]
    mean_errors: Callable[[Floats], Floats] | None = None
    tree: BoxTree | None = None
    trees: tuple[BoxTree, ...] = ()

    @cached_property
    def parts(self) -> dict[tuple[str, int], Basis]:
        """The basis of each part of a plan that was measured in parts, by kind and place."""
        plan, direct_basis = self.plan, replace(self, mean_errors=None, trees=())
        place = {each: allocated_to(plan, each.columns) for each in self.allocations}
        rest = tuple(each for each in self.allocations if place[each] is None)
        bases = {("boxes", k): replace(direct_basis, tree=tree) for k, tree in enumerate(self.trees)}
        for k, part in enumerate(plan.parts.levels):
            measured = tuple(each for each in self.allocations if place[each] == k)
            bases["levels", k] = replace(direct_basis, plan=part, allocations=measured)
        model = modelled(plan)
        amounts = tuple(each for each in rest if plan.has_amount(each.columns))
        bases["direct", 0] = replace(direct_basis, allocations=rest if model is None else amounts)
        if model is not None:
            counts = tuple(each for each in rest if each not in amounts)
            bases["model", 0] = replace(self, plan=model, allocations=counts, trees=())
        return bases

    def part_of(self, table: Columns) -> Basis:
        """Return the basis of the part from which a table is estimated."""
        if not self.plan.in_parts:
            return self
        if table:
            direct = [each.columns for each in self.parts["direct", 0].allocations]
            model = self.parts["model", 0].plan if ("model", 0) in self.parts else None
            return self.parts[source_part(self.plan, model, direct, table)]
        kinds = [kind for kind, part in self.parts.items() if part.tree is not None or part.allocations]
        order = ("direct", "levels", "model", "boxes")
        return self.parts[min(kinds, key=lambda kind: order.index(kind[0]))]


def basis_of(result: Result) -> Basis:
    """Return the input of the replicates of `result`."""
    check_tallies(result.plan)
    estimates = result.estimates
    allocations = tuple(one.allocation for one in result.measured.marginals if not one.merged)
    error = result.model_error
    errors = None if error is None else partial(mean_errors, factor=error[0], power=error[1])
    basis = Basis(result.plan, result.release_id, allocations, result.estimate, result.cells, mean_errors=errors)
    if isinstance(estimates, HierarchicalEstimates):
        return replace(basis, tree=estimates.tree)
    if isinstance(estimates, EstimatesOfParts):
        return replace(basis, trees=tuple(each.tree for each in estimates.boxes))
    return basis


def check_tallies(plan: Plan) -> None:
    """Raise `ReleaseError` for a plan that counts people beside rows, whose tables do not add up to one another."""
    if plan.has_distinct:
        raise ReleaseError(_("replicates are made of tables of rows only, and this release counts distinct people"))
