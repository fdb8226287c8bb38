"""The manifest of a release: what its plan promises, then what was measured and published.

No noisy number enters it, and no exact count could: the functions here take none.
"""

from __future__ import annotations

from typing import Any

from dpengine.bundle.promises import promises, table_files
from dpengine.bundle.wording import SCHEMA_VERSION
from dpengine.exact import exact_text
from dpengine.marginals.measurement import DISCRETE_LAPLACE, Allocation, Choice, Measurements
from dpengine.measure.strategy import resolved
from dpengine.results.result import Result

__all__ = ["describe", "measurements"]

# Purposes of measurements that are no table of their own.
BOXES = "counts of boxes of cells within boxes; the shares of those that hold a cell add up to this one"
AUDIT = "how far off the tables are, by size of cell"


def describe(result: Result) -> dict[str, Any]:
    """Return the manifest of `result` without its list of files, which `write` adds."""
    plan = result.plan
    return {
        "schema_version": SCHEMA_VERSION,
        "release_id": result.release_id,
        "created": result.created,
        **promises(plan),
        "strategy": resolved(plan).why,
        "measurements": measurements(result.measured),
        "tables": [
            {
                "columns": list(table),
                "file": file,
                "cells": plan.cells(table),
                # The half-width of a cell at 95 %; of the widest, where they differ from cell to cell.
                "half_width_95": float(f"{result.half_width(table):.12g}"),
            }
            for table, file in table_files(plan).items()
        ],
        "software": dict(result.software),
    }


def measurements(measured: Measurements) -> list[dict[str, Any]]:
    """Describe everything that ε was spent on: what was measured, by which mechanism, at which exact price."""
    entries = [
        _marginal(one.allocation, one.values.size) | ({"merged_to": list(one.values.shape)} if one.merged else {})
        for one in measured.marginals
    ]
    entries += map(_choice, measured.choices)
    if (audit := measured.audit) is not None:
        allocation = Allocation((), audit.epsilon, audit.sensitivity)
        entries.append(_marginal(allocation, audit.sums.size) | {"purpose": AUDIT})
    if (boxes := measured.boxes) is not None:
        allocation = Allocation(boxes.columns, boxes.epsilon, boxes.sensitivity)
        entries.append(_marginal(allocation, boxes.values.size) | {"purpose": BOXES})
    return entries


def _marginal(allocation: Allocation, cells: int) -> dict[str, Any]:
    return {
        "columns": list(allocation.columns),
        "mechanism": DISCRETE_LAPLACE,
        "sensitivity": allocation.sensitivity,
        "epsilon": exact_text(allocation.epsilon),
        "scale": exact_text(allocation.scale),
        "cells": cells,
    }


def _choice(choice: Choice) -> dict[str, Any]:
    return {
        "columns": [],
        "purpose": choice.what,
        "mechanism": choice.mechanism,
        "sensitivity": choice.sensitivity,
        "epsilon": exact_text(choice.epsilon),
        "scale": exact_text(choice.sensitivity / choice.epsilon),
        "cells": 0,
    }
