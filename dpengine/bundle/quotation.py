"""One published number as a reader would quote it: with its interval, and with its source."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dpengine.array_types import Columns
from dpengine.charts.cells import Cells
from dpengine.charts.drawable import Drawable
from dpengine.exact import exact_text
from dpengine.results.published_columns import Measure
from dpengine.spec.plan import Plan
from dpengine.translation.catalogue import _, day, localised

__all__ = ["citation", "quotation"]


def quotation(
    numbers: Drawable, table: Columns, cell: tuple[int, ...], measure: Measure | None = None, place: int = 0
) -> str:
    """Return the number of one cell of `table` with its interval, in words; `place` chooses one of several quantiles.

    >>> from dpengine import preview
    >>> made = preview(Plan(dataset="d", epsilon=1000, columns=[{"name": "sex", "kind": "yesno"}], tables=[["sex"]],
    ...                     rows_about=1000))
    >>> quotation(made, ("sex",), (3,)).partition(":")[0]
    'People, sex'
    """
    cells = Cells(numbers, table, table, {}, measure, place)
    named = (f"{heading}: {labels[k]}" for heading, labels, k in zip(cells.headings, cells.labels, cell, strict=True))
    what = ", ".join([cells.noun if measure is None else cells.name, *named])
    value, low, high = (cells.text(each[cell]) for each in (cells.value, cells.low, cells.high))
    written = {"what": what[:1].upper() + what[1:], "low": low, "high": high}
    if not cells.noisy[cell]:
        return _("{what}: {value} (95 % interval: {low} to {high})", value=value, **written)
    if measure is None:
        return _("{what}: too few to tell from none (95 % interval: {low} to {high})", **written)
    return _("{what}: too uncertain to quote (95 % interval: {low} to {high})", **written)


def citation(plan: Plan, manifest: Mapping[str, Any]) -> str:
    """Return the source of a release as its publisher wants it cited; otherwise who, what, when, and how protected."""
    if plan.about.cite_as:
        return plan.about.cite_as
    by = f"{plan.about.publisher}: " if plan.about.publisher else ""
    return _(
        "{by}{title}. Published with differential privacy (ε = {epsilon}) on {day}, release {id}.",
        by=by,
        title=plan.title or plan.dataset,
        epsilon=localised(exact_text(plan.epsilon)),
        day=day(manifest["created"][:10]),
        id=manifest["release_id"],
    )
