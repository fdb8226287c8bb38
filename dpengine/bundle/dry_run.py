"""Make an empty release of a plan before noise is drawn, to refuse at no cost what cannot be stored or written.

A release is made from measurements of zeros, stored and read back, and every file of its bundle is made. This is a
function of the plan alone, so a refusal says nothing about the data.
"""

from __future__ import annotations

import hashlib
import json
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import replace

from dpengine.accounting.drawing import check_reopens
from dpengine.array_types import Columns
from dpengine.bundle import write
from dpengine.errors import PlanError
from dpengine.estimate.found_cells import resolve
from dpengine.measure.search import blank_searches
from dpengine.measure.strategy import resolved
from dpengine.results.result import Result, conclude
from dpengine.spec.plan import Plan
from dpengine.translation.catalogue import _

__all__ = ["check_makeable"]

MAX_TABLES = 6  # of more tables, some are tried: one with most columns, and enough to include every column
MAX_KNOWN = 1000

_known: OrderedDict[bytes, None] = OrderedDict()  # plans that passed, so that a simulation tries its plan only once


def check_makeable(plan: Plan) -> None:
    """Raise `PlanError` unless a release of `plan`, whose strategy is resolved, can be stored, reopened and written.

    Of more than `MAX_TABLES` tables, only some are tried; they include each column and a table of most columns.
    """
    identity = hashlib.sha256(json.dumps([plan.to_dict(), plan.strategy], default=str).encode()).digest()
    if identity in _known:
        return
    _check_reads_back(plan)
    try:
        blank = _blank(_with_fewer_tables(plan))
        check_reopens(blank, blank.to_bytes(), Result.from_bytes)
        write.try_out(blank)
    except PlanError:
        raise
    except Exception as error:
        raise PlanError(
            _(
                "no release of this plan can be written: making one without data failed ({error}). Nothing was spent. "
                "This is a fault of the program: please report it with the plan",
                error=f"{type(error).__name__}: {error}",
            )
        ) from error
    _known[identity] = None
    if len(_known) > MAX_KNOWN:
        _known.popitem(last=False)


def _blank(plan: Plan) -> Result:
    """Return the release of a plan whose noisy numbers are all 0."""
    searches = blank_searches(plan)
    resolved_plan = resolve(plan, searches)
    return conclude(resolved_plan, replace(resolved(resolved_plan).blank(), searches=searches))


def _check_reads_back(plan: Plan) -> None:
    """Raise `PlanError` unless labels and plan file can be written and read back."""
    try:
        for name in plan.released:
            "".join((*plan.column(name).labels, *plan.column(name).shown)).encode()
        again = Plan.loads(plan.dumps()).key
    except (PlanError, UnicodeError) as error:
        raise PlanError(
            _("this plan cannot be read back from its own plan file ({error}); nothing was spent", error=error)
        ) from None
    if again != plan.key:
        raise PlanError(_("this plan reads back from its own plan file as another one; nothing was spent"))


def _with_fewer_tables(plan: Plan) -> Plan:
    """Return `plan`, with fewer tables if it has many; these have all columns and amounts of the others."""
    if len(plan.marginals) <= MAX_TABLES or plan.ranged:
        return plan
    smallest_first = sorted(plan.marginals, key=plan.cells)  # a large one fails as a small one of the same columns does
    chosen = set(_covering(smallest_first)) | {table for table in plan.marginals if plan.amounts(table)}
    fields, declared = plan.to_dict(), dict(zip(plan.marginals, plan.to_dict()["tables"], strict=False))
    tables = [declared[table] if plan.amounts(table) else list(table) for table in plan.marginals if table in chosen]
    return Plan(**fields | {"tables": tables, "strategy": plan.strategy})


def _covering(tables: Sequence[Columns]) -> list[Columns]:
    """Return the first table with most columns, then each further one that adds a column."""
    chosen = [max(tables, key=len)]
    seen = set(chosen[0])
    for table in tables:
        if not seen.issuperset(table):
            chosen.append(table)
            seen.update(table)
    return chosen
