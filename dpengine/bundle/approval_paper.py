"""A page to print for a person who approves a plan: what would be published, about whom, at what price, how exactly.

It is made from the plan and the ledger, never from a table, and costs nothing.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from dpengine.accounting.approval.request import Request, plan_digest
from dpengine.accounting.entry import Entry
from dpengine.bundle.report import about, promise, provenance, templates
from dpengine.exact import exactly
from dpengine.measure.strategy import decide
from dpengine.results.interval_estimates import decimals_of
from dpengine.results.published_columns import measures
from dpengine.spec.counted_wording import counting_in_words
from dpengine.spec.plan import Plan
from dpengine.spec.wording import headings_of, name_of, people
from dpengine.translation.catalogue import day, number

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Budget", "approval_paper"]

MAX_TABLES, MAX_EARLIER = 60, 20  # that are listed


@dataclass(frozen=True, slots=True)
class Budget:
    """The ε that a dataset has spent, the rest under its cap (None without a cap), and its charges, the latest last."""

    spent: Fraction
    left: Fraction | None
    history: Sequence[Entry] = ()


def approval_paper(plan: Plan, expected: pd.DataFrame, budget: Budget, request: Request | None = None) -> bytes:
    """Return a page to print, in the current language, that says what publishing `plan` would mean.

    `expected` are its errors, as `predict` returns them. With the `request` for its approval, the page also says who
    sent it.
    """
    of = decide(plan).plan
    left = budget.left
    too_much = left is not None and left < plan.epsilon
    page = about(of) | promise(of) | {
        "dataset": plan.dataset,
        "request": request and _sent(request),
        "epsilon": exactly(plan.epsilon),
        "spent": exactly(budget.spent),
        "left": None if left is None else exactly(left if too_much else left - plan.epsilon),
        "too_much": too_much,
        "earlier": [*map(_entry, budget.history[: -MAX_EARLIER - 1 : -1])],
        "more_earlier": max(0, len(budget.history) - MAX_EARLIER),
        "simulated": bool(expected.attrs.get("simulated")),
        "measures": _measures(of, expected),
        "rows": _rows(of, expected),
        "more_rows": max(0, len(of.marginals) - MAX_TABLES),
        "columns": [provenance(of, name) for name in of.released],
        "digest": plan_digest(plan).hex(),
    }  # fmt: skip
    return templates().get_template("approval.html.j2").render(page).encode()


def _sent(request: Request) -> dict[str, Any]:
    return {
        "id": request.request_id,
        "by": request.asked_by.name or request.asked_by.identity,
        "on": day(request.asked[:10]),
        "note": request.note,
        "other_people": request.other_people,
    }


def _entry(entry: Entry) -> tuple[str, str, str]:
    return day(entry.created[:10]), entry.title or entry.summary, exactly(entry.epsilon)


def _measures(plan: Plan, expected: pd.DataFrame) -> dict[str, str]:
    """Return the columns of `expected` that hold errors of means, sums and quantiles, with their headings."""
    named = {
        f"{name}_half_width_95": heading
        for measure in measures(plan, ())
        for name, heading in zip(measure.names, measure.headings(plan), strict=True)
    }
    return {column: heading for column, heading in named.items() if column in expected}


def _rows(plan: Plan, expected: pd.DataFrame) -> list[dict[str, Any]]:
    """Return the tables that would be published with their expected errors, and the total last."""
    by_name: dict[Any, Any] = expected.set_index("table").to_dict(orient="index")
    heading = headings_of(plan)
    rows = []
    for table in (*plan.marginals[:MAX_TABLES], ()):
        found = by_name[name_of(table)]
        widths = (found[column] for column in _measures(plan, expected))
        rows.append({
            "name": heading(table),
            "how": counting_in_words(plan, table),
            "cells": number(int(found["cells"])),
            "typical": people(found["mean_abs_error"]),
            "within": people(found["half_width_95"]),
            "measures": [*map(_width, widths)],
        })  # fmt: skip
    return rows


def _width(width: float) -> str:
    return "–" if math.isnan(width) else f"±{number(width, f',.{decimals_of(width)}f')}"
