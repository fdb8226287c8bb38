"""What a release says of itself: its manifest.

Everything here is a function of the plan, of the shares that were measured, and of the release's name
and date: no noisy number enters it, and no exact one could.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from typing import Any

from dpengine.array_types import Columns
from dpengine.marginals.measurement import DISCRETE_LAPLACE, Allocation, Boxes, Measurements
from dpengine.measure.strategy import ADAPTIVE, why
from dpengine.results.result import Result
from dpengine.spec.plan import Plan, epsilon_text
from dpengine.synthesis.cell_values import HOW

__all__ = [
    "SCHEMA_VERSION",
    "coverage",
    "describe",
    "domain",
    "guarantee",
    "measurement",
    "measurements",
    "not_protected",
    "processing",
    "table_entries",
    "table_files",
]

SCHEMA_VERSION = 1
DEFINITION = "pure ε-differential privacy"
NEIGHBOURS = "add or remove one person (all their rows)"
TRUST_MODEL = "central: the data owner holds the rows and is trusted with them; readers see only this release"
INTERVALS = (
    "Each low to high holds the true count of its cell with a probability of 95 % at least, each for itself: among "
    "many cells, expect up to 1 in 20 outside."
)
POST_PROCESSING = (
    "estimate: weighted least squares over all measured marginals; unbiased, so it may be negative or fractional",
    "count: the estimates made non-negative, whole, and such that all tables agree on what they share",
    "low and high: a 95 % interval for the true count, from the exact law of the noise in the estimate",
    "synthetic.csv: rows dealt from the counts; counted again, they give every published table",
    HOW,
)
INTERVALS_MODELLED = (
    "The total and each cell of a single column: low to high holds the true count with a probability of 95 % at "
    "least, by the law of the noise. Cells of larger tables come from a model, and no law says how far a model is off: "
    "this was measured, privately, and their intervals are meant to hold 95 in 100 true counts of cells of their size."
)
POST_PROCESSING_MODELLED = (
    "estimate: the expected count of a model fitted to all measurements; never negative, and not unbiased",
    "count: counted from the synthetic rows, so that all tables agree on what they share",
    "low and high: an interval for the true count, from noise for single columns, from the measured error of the model "
    "for larger tables",
    "synthetic.csv: whole rows whose pairs of columns come as near to the model's as rows can; counted, they give "
    "every published table",
    HOW,
)
INTERVALS_BOXED = (
    "Each low to high holds the true count of its cell 95 times in 100 at least. A cell that was measured by itself is "
    "uncertain by noise alone; one that was measured in a box with others may hold anything from none to all of it."
)
POST_PROCESSING_BOXED = (
    "estimate: least squares over all boxes, made non-negative; a box that was not split shares evenly over its cells",
    "count: the estimates made whole, such that every box keeps its sum to within 1.5",
    "low and high: the least and greatest true count that the boxes allow, 95 times in 100",
    "synthetic.csv: rows dealt from the counts; counted again, they give every published table",
    HOW,
)
BOXES = "counts of boxes of cells within boxes; the shares of those that hold a cell add up to this one"
AUDIT = "how far off the tables are, by size of cell"


def describe(result: Result) -> dict[str, Any]:
    """The manifest of ``result``, but for the list of files."""
    plan = result.plan
    post_processing, intervals = processing(plan)
    return {
        "schema_version": SCHEMA_VERSION,
        "release_id": result.release_id,
        "created": result.created,
        "title": plan.title,
        "dataset": plan.dataset,
        "guarantee": guarantee(plan),
        "strategy": why(plan),
        "measurements": measurements(result.measured),
        "post_processing": list(post_processing),
        "intervals": intervals,
        "coverage": coverage(plan),
        "not_protected": not_protected(plan),
        "domain": domain(plan),
        "tables": table_entries(plan, {table: result.half_width(table) for table in table_files(plan)}),
        "software": dict(result.software),
    }


def processing(plan: Plan) -> tuple[tuple[str, ...], str]:
    """How the numbers of a release of ``plan``, a settled one, were made, and what its intervals say."""
    if plan.strategy != ADAPTIVE:
        return POST_PROCESSING, INTERVALS
    if plan.ranged is not None:
        return POST_PROCESSING_BOXED, INTERVALS_BOXED
    return POST_PROCESSING_MODELLED, INTERVALS_MODELLED


def guarantee(plan: Plan) -> dict[str, Any]:
    """The promise, in the words and exact numbers that a reader can hold it to."""
    unit: dict[str, Any] = {"rows": plan.unit.rows}
    if plan.unit.id is not None:
        unit["id"] = plan.unit.id
    return {
        "definition": DEFINITION,
        "epsilon": epsilon_text(plan.epsilon),
        "delta": "0",
        "unit": unit | {"text": unit_text(plan)},
        "neighbours": NEIGHBOURS,
        "trust_model": TRUST_MODEL,
    }


def unit_text(plan: Plan) -> str:
    """Whom the guarantee protects, in a sentence's part."""
    if plan.unit.id is None:
        return "one row, which stands for one person"
    rows = "one row" if plan.unit.rows == 1 else f"{plan.unit.rows} rows"
    return f"one person, named by the column {plan.unit.id}, with at most {rows}; rows beyond that were left out"


def measurements(measured: Measurements) -> list[dict[str, Any]]:
    """Everything that ε was spent on: what was asked, by which mechanism, at which exact price."""
    told = [
        measurement(one.allocation, one.values.size) | ({"merged_to": list(one.values.shape)} if one.merged else {})
        for one in measured.marginals
    ]
    told += [
        {
            "columns": [],
            "purpose": choice.what,
            "mechanism": choice.mechanism,
            "sensitivity": choice.sensitivity,
            "epsilon": epsilon_text(choice.epsilon),
            "scale": epsilon_text(choice.sensitivity / choice.epsilon),
            "cells": 0,
        }
        for choice in measured.choices
    ]
    if (audit := measured.audit) is not None:
        allocation = Allocation((), audit.epsilon, audit.sensitivity)
        told.append(measurement(allocation, audit.sums.size) | {"purpose": AUDIT})
    return told + ([] if measured.boxes is None else [_boxes(measured.boxes)])


def _boxes(boxes: Boxes) -> dict[str, Any]:
    allocation = Allocation(boxes.columns, boxes.epsilon, boxes.sensitivity)
    return measurement(allocation, boxes.values.size) | {"purpose": BOXES}


def measurement(allocation: Allocation, cells: int) -> dict[str, Any]:
    """One noisy marginal."""
    return {
        "columns": list(allocation.columns),
        "mechanism": DISCRETE_LAPLACE,
        "sensitivity": allocation.sensitivity,
        "epsilon": epsilon_text(allocation.epsilon),
        "scale": epsilon_text(allocation.scale),
        "cells": cells,
    }


def not_protected(plan: Plan) -> list[str]:
    """What the guarantee does not cover, said plainly."""
    several = (
        "A person with more than one row: the guarantee is for each row, and weakens with every further one."
        if plan.unit.id is None
        else f"A person with more than one value in {plan.unit.id}: the guarantee is for each of them."
    )
    return [
        "What the plan says: title, notes, rough size, columns, categories, bins, tables, ε. People wrote it, and it "
        "is public.",
        "That the release exists, when it was made, by whom, and with which software.",
        "What is true of groups. Learning that a group is large or small is what the tables are for, and it may let "
        "readers guess at someone in that group, whether or not that person is in the table.",
        "Groups of people who stand or fall together, such as a family: for k people, read k × ε in place of ε.",
        several,
        "Other releases about the same people: their ε adds to this one.",
        "The rows before publication: whoever holds them sees them as they are.",
        "Time and resources used by the computation, to someone who watched it run.",
    ]


def coverage(plan: Plan) -> str:
    """Which rows are counted: the same in every table."""
    left_out = [
        f"rows whose {column.name} is {'not a declared cell' if column.missing else 'missing or not a declared cell'}"
        for column in map(plan.column, plan.used)
        if not column.other
    ]
    if plan.unit.id is not None:
        left_out += [f"rows without {plan.unit.id}", f"rows of a person beyond {plan.unit.rows}"]
    return f"Left out of every table and of the total: {'; '.join(left_out)}." if left_out else "All rows are counted."


def domain(plan: Plan) -> dict[str, Any]:
    """Each used column's cells in published order, and where that knowledge comes from."""
    described = {}
    for name in plan.used:
        column = plan.column(name)
        described[name] = {
            "kind": column.kind,
            "source": column.source,
            "cells": column.size,
            "labels": list(column.labels),
            "other": column.other,
            "missing": column.missing,
        }
    return described


def table_entries(plan: Plan, half_widths: Mapping[Columns, float]) -> list[dict[str, Any]]:
    """Each published table, the total last: its columns, file, cells and the 95 % half-width of a cell.

    Where half-widths differ from cell to cell, that of the widest.
    """
    return [
        {
            "columns": list(table),
            "file": file,
            "cells": plan.cells(table),
            "half_width_95": float(f"{half_widths[table]:.12g}"),
        }
        for table, file in table_files(plan).items()
    ]


def table_files(plan: Plan) -> dict[Columns, str]:
    """The file of each published table, by number and plain letters, and of the total."""
    digits = max(2, len(str(len(plan.marginals))))
    names: dict[Columns, str] = {}
    for number, table in enumerate(plan.marginals, start=1):
        slug = "-x-".join(filter(None, map(_slug, table)))[:80].strip("-")
        names[table] = f"tables/{number:0{digits}}{'-' if slug else ''}{slug}.csv"
    return names | {(): "tables/total.csv"}


def _slug(name: str) -> str:
    plain = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode().lower()
    return re.sub("[^a-z0-9]+", "-", plain).strip("-")
