"""The manifest of a release: what its plan promises, then what was measured and published.

It holds no noisy number, and cannot hold an exact count: no function here takes one.
"""

from __future__ import annotations

from typing import Any

from dpengine.bundle.manifest_wording import SCHEMA_VERSION
from dpengine.bundle.promises import promises, table_files
from dpengine.exact import exact_text
from dpengine.marginals.measurement import (
    AUDIT,
    BOXES,
    BOXES_ASKED,
    DISCRETE_LAPLACE,
    PERMUTE_AND_FLIP,
    QUANTILES,
    SEARCH,
    Allocation,
    FoundKeys,
    Measurements,
)
from dpengine.measure.strategy import resolved
from dpengine.results.result import Result
from dpengine.spec.plan import Plan
from dpengine.translation.catalogue import ENGLISH, speaking

__all__ = ["describe", "measurements"]


@speaking(ENGLISH)  # what is signed and compared is the same in every language
def describe(result: Result) -> dict[str, Any]:
    """Return the manifest of `result` without its list of files, which `write` adds."""
    plan = result.plan
    return {
        "schema_version": SCHEMA_VERSION,
        "release_id": result.release_id,
        "created": result.created,
        **promises(plan),
        **_model_error(result),
        "strategy": resolved(plan, result.measured).why,
        "measurements": measurements(result.measured, plan),
        "tables": [
            {
                "columns": list(table),
                "file": file,
                "cells": plan.cells(table),
                **_persons(plan, plan.tally_index(table)),
                # If half-widths differ from cell to cell, this is the largest; of a model, that of 95 in 100 cells.
                "half_width_95": float(f"{result.half_width(table):.12g}"),
            }
            for table, file in table_files(plan).items()
        ],
        "software": dict(result.software),
    }


def _model_error(result: Result) -> dict[str, Any]:
    """Return the measured error of a model, which depends on the size of a cell; nothing without a model."""
    if result.model_error is None:
        return {}
    factor, power = result.model_error
    return {"model_error": {"factor": factor, "power": power}}


def measurements(measured: Measurements, plan: Plan) -> list[dict[str, Any]]:
    """Describe everything that ε was spent on: what was measured, by which mechanism, at what exact cost."""
    entries = [
        _marginal(each.allocation, each.values.size)
        | ({"merged_to": list(each.values.shape)} if each.merged else {})
        | _persons(plan, each.allocation.tally)
        for each in measured.marginals
    ]
    entries += [
        {"columns": [], "purpose": choice.what}
        | _marginal(Allocation((), choice.epsilon, choice.sensitivity), 0)
        | {"mechanism": choice.mechanism}
        for choice in measured.choices
    ]
    if audit := measured.audit:
        allocation = Allocation((), audit.epsilon, audit.sensitivity)
        entries.append(_marginal(allocation, audit.sums.size) | {"purpose": AUDIT})
    for quantiles in measured.quantiles:
        share = quantiles.share
        allocation = Allocation((*share.columns, share.amount), share.epsilon, share.sensitivity)
        chosen = {"mechanism": PERMUTE_AND_FLIP, "purpose": QUANTILES}
        entries.append(_marginal(allocation, quantiles.places.size) | chosen)
    for boxes in measured.trees:
        allocation = Allocation(boxes.columns, boxes.epsilon, boxes.sensitivity)
        answers = 0 if boxes.unevenness is None else boxes.unevenness.values.size
        entries.append(
            _marginal(allocation, boxes.values.size + answers) | {"purpose": BOXES_ASKED if answers else BOXES}
        )
    for each in measured.searches:
        allocation = Allocation(each.columns, each.epsilon, each.sensitivity)
        if isinstance(each, FoundKeys):  # all keys of the universe are measured, and those with large counts shown
            entry = _marginal(allocation, each.universe) | {"shown_from": each.least}
        else:
            entry = _marginal(allocation, each.values.size)
        entries.append(entry | {"purpose": SEARCH})
    return entries


def _persons(plan: Plan, tally: int) -> dict[str, int]:
    """Return the maximum number of cells in which a person counts, if persons are counted instead of rows."""
    cells = plan.tallies[tally].cells
    return {} if cells is None else {"cells_per_person": cells}


def _marginal(allocation: Allocation, cells: int) -> dict[str, Any]:
    """Describe `cells` noisy numbers that were drawn with an allocation."""
    entry = {
        "columns": list(allocation.columns),
        "mechanism": DISCRETE_LAPLACE,
        "sensitivity": allocation.sensitivity,
        "epsilon": exact_text(allocation.epsilon),
        "scale": exact_text(allocation.scale),
        "cells": cells,
    }
    # Amounts share a row among cells: noise is whole in these units, and scales are in rows.
    return entry | ({"units_per_row": allocation.grain} if allocation.grain > 1 else {})
