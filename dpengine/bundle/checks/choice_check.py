"""Check what ε was spent on beside tables: private choices and questions, the audit of a model, and trees of boxes.

Each has one of the purposes that versions of this program state, and the mechanism, the sensitivity and the number of
noisy numbers that go with it. How large its part of ε is depends on noisy numbers that are not in the file, and on
rules that a later version may improve; so only the limits of the audit's part are checked, which all versions keep.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from fractions import Fraction

from dpengine.bundle.checks.model_check import StatedError
from dpengine.bundle.estimator import Estimator, estimator, is_adaptive
from dpengine.bundle.read import Manifest, MeasurementEntry
from dpengine.estimate.model_intervals import POWERS
from dpengine.exact import rational
from dpengine.marginals.box_strata import fewest_boxes, most_answers, most_boxes
from dpengine.marginals.measurement import (
    AUDIT,
    AUDIT_EDGES,
    BOXES,
    BOXES_ASKED,
    DISCRETE_LAPLACE,
    GRAIN,
    PERMUTE_AND_FLIP,
    SEARCH,
    TABLES_OR_MODEL,
)
from dpengine.spec.plan import Plan

__all__ = ["has_early_audit", "is_choice", "stated_error", "wrong_audit", "wrong_purpose"]

SINCE = 7  # earlier versions may have written others
AUDIT_PART = Fraction("0.003"), Fraction("0.02")  # least and greatest share of the model's ε, in all versions
_CHOICES = {
    "up to [1-9][0-9]{0,9} pairs": PERMUTE_AND_FLIP,
    "whether tables of three columns and more follow latent classes": PERMUTE_AND_FLIP,
    "how wrong the model is on average": DISCRETE_LAPLACE,
    "how strongly columns depend on each other": DISCRETE_LAPLACE,
    TABLES_OR_MODEL: DISCRETE_LAPLACE,
}  # fmt: skip


def is_choice(entry: MeasurementEntry, plan: Plan) -> bool:
    """Return whether a measurement is no table: of an adaptive plan, or the one by which tables were chosen instead."""
    return entry.purpose is not None and (
        is_adaptive(plan) or (entry.purpose == TABLES_OR_MODEL and plan.strategy == "direct")
    )


def wrong_purpose(entry: MeasurementEntry, plan: Plan) -> list[str]:
    """Return what is wrong with a measurement of an adaptive plan that has a purpose, and is no search for cells."""
    purpose, rows = entry.purpose or "", plan.unit.rows
    mechanism = next((name for pattern, name in _CHOICES.items() if re.fullmatch(pattern, purpose)), None)
    if entry.merged_to is not None or entry.cells_per_person is not None:
        return [": a measurement for this purpose is not merged, or of persons"]
    if purpose in (BOXES, BOXES_ASKED):
        fits = entry.sensitivity == rows and entry.mechanism == DISCRETE_LAPLACE
        columns, asked = [plan.column(name) for name in entry.columns], purpose == BOXES_ASKED
        least, most = fewest_boxes(columns) + asked, most_boxes(columns) + most_answers(columns) * asked
        size_fits = least <= entry.cells <= most
    elif purpose == AUDIT:
        fits = entry.sensitivity % (GRAIN * rows) == 0 and entry.mechanism == DISCRETE_LAPLACE
        size_fits = entry.cells in AUDIT_EDGES and not entry.columns
    elif mechanism is None:
        return [": no version states this purpose"]
    else:
        is_score = purpose.startswith("up to")  # a score of a pair; else a sum of such scores
        fits = entry.mechanism == mechanism and entry.sensitivity % (GRAIN * rows) == 0
        fits &= not is_score or entry.sensitivity == GRAIN * rows
        size_fits = entry.cells == 0 and not entry.columns
    return [
        *([] if fits else [": mechanism or sensitivity does not fit this purpose"]),
        *([] if size_fits else [": the number of noisy numbers, or the columns, do not fit this purpose"]),
    ]


def has_early_audit(checked: Manifest) -> bool:
    """Return whether a model was audited by seven sizes or not at all: its intervals may be of an earlier form."""
    sizes = [entry.cells for entry in checked.measurements if entry.purpose == AUDIT]
    return not sizes or max(sizes) == max(AUDIT_EDGES)


def stated_error(checked: Manifest) -> StatedError | None:
    """Return the error that is stated for a model, and the noise of its audit; None in earlier versions."""
    audit, error = next((entry for entry in checked.measurements if entry.purpose == AUDIT), None), checked.model_error
    if audit is None or error is None or checked.schema_version < SINCE:
        return None
    return StatedError((error.factor, error.power), float(rational(audit.scale)) / GRAIN * math.sqrt(audit.cells))


def wrong_audit(checked: Manifest, plan: Plan) -> Iterator[str]:
    """Yield what is wrong with the audit of a model: it is measured once, and `model_error` follows from it."""
    audits = [entry for entry in checked.measurements if entry.purpose == AUDIT]
    if len(audits) > 1:
        yield "manifest.json: the tables of a model are audited once"
    if checked.schema_version >= 3 and bool(audits) != (checked.model_error is not None):
        yield "manifest.json: model_error is given if the tables of a model were audited, and only then"
    error = checked.model_error
    if error is not None and checked.schema_version >= SINCE and error.power not in POWERS:
        yield "manifest.json: the power of model_error is not one that versions try"
    if audits and estimator(plan) is Estimator.MODEL:
        of_model = sum(
            (rational(entry.epsilon) for entry in checked.measurements
             if entry.purpose != SEARCH and not plan.has_amount(entry.columns)), Fraction(0)
        )  # fmt: skip
        least, most = (part * of_model for part in AUDIT_PART)
        if not least <= rational(audits[0].epsilon) <= most:
            yield "manifest.json: the audit of a model has another part of ε than any version gives it"
