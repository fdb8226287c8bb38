"""Display a release, its bundle or a preview in a notebook."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from dpengine.array_types import Columns
from dpengine.exact import exactly
from dpengine.notebook import fragment, intervals
from dpengine.notebook.intervals import Interval
from dpengine.results.published_columns import ENDS, NUMBERS, number_columns
from dpengine.spec.counted_wording import noun, unit_in_words
from dpengine.spec.wording import name_of, people
from dpengine.translation.catalogue import _, number

if TYPE_CHECKING:
    from dpengine.results.views.published import PublishedTables

__all__ = ["render", "written"]

MAX_ROWS = 20
MAX_TABLES = 30
MAX_CELLS = 100_000  # rows of a table that are shown


def render(published: PublishedTables) -> str:
    """Return a fragment of HTML in the current language."""
    plan = published.plan
    table = next((each for each in plan.marginals if plan.cells(each) <= MAX_CELLS), ())
    cells = {name: values[:MAX_ROWS] for name, values in published.cells(table).items()}
    noisy = [low == 0 and high > 0 for low, high in zip(cells["low"], cells["high"], strict=True)]
    numbers = number_columns(plan, table)
    labels = [name for name in cells if name not in numbers]
    ends = {f"{name}{end}" for name in numbers for end in ENDS[1:]} - {*labels}
    shown = [name for name in cells if name not in ends]
    columns = [*(_column(cells, name) for name in shown), [_("mostly noise") if faint else "" for faint in noisy]]
    others = [each for each in plan.marginals if each != table]
    return fragment.render(
        "release",
        title=f"{_(published.what)}: {plan.title or plan.dataset}",
        facts=_facts(published),
        chart=_chart(published, table, cells, labels, noisy),
        head=[*((name, name in numbers) for name in shown), ("", False)],
        rows=[*zip(*columns, strict=True)],
        more_rows=plan.cells(table) - len(noisy),
        code=f".tables[{', '.join(map(repr, table))}]",
        others_head=[(_("Table"), False), (_("Cells"), True), (_("95 in 100 within ±"), True)],
        others=[
            [name_of(each), number(plan.cells(each)), people(published.half_width(each))]
            for each in islice(others, MAX_TABLES)
        ],
        others_in_all=len(others),
    )


def _column(cells: Mapping[str, npt.NDArray[Any]], name: str) -> list[str]:
    """Write a column of a table, with the intervals of a mean, a sum or the like in brackets."""
    ends = [cells[f"{name}{end}"] for end in ENDS[1:] if name not in NUMBERS and f"{name}{end}" in cells]
    texts = [*map(written, cells[name])]
    if not ends:
        return texts
    bounds = zip(texts, *(map(written, end) for end in ends), strict=True)
    return [_("{middle} ({low} to {high})", middle=middle, low=low, high=high) for middle, low, high in bounds]


def _facts(published: PublishedTables) -> list[str]:
    plan, total = published.plan, published.numbers(())
    count, low, high = (number(int(total[name][0])) for name in ("count", "low", "high"))
    return [
        f"ε = {exactly(plan.epsilon)}",
        _("protected: {unit}", unit=unit_in_words(plan)),
        _("{what} in all: {count} (95 %: {low} to {high})", what=noun(plan), count=count, low=low, high=high),
    ]


def _chart(
    published: PublishedTables,
    table: Columns,
    cells: Mapping[str, npt.NDArray[Any]],
    labels: list[str],
    noisy: list[bool],
) -> dict[str, Any]:
    """Return the chart of the counts in `cells`, the first ones of `table`, with their intervals."""
    names = [" · ".join(label) for label in zip(*(cells[name] for name in labels), strict=True)] or [_("total")]
    numbers = zip(names, cells["count"], cells["low"], cells["high"], noisy, strict=True)
    shown = [Interval(name, float(count), float(low), float(high), faint) for name, count, low, high, faint in numbers]
    plan = published.plan
    title = _("{table}: counts with their 95 % intervals", table=name_of(table))
    return intervals.chart(shown, title=title, axis=noun(plan, table))


def written(value: object) -> str:
    """Write a cell of a table: numbers with the digits that matter, texts as they are.

    >>> [written(each) for each in ("a", 1200, -3.14159, 123456.7, float("nan"))]
    ['a', '1,200', '−3.142', '123,457', '']
    """
    if isinstance(value, str):
        return value
    near = float(np.float64(value))  # type: ignore[arg-type]
    if np.isnan(near):
        return ""
    return number(near, ",.0f" if near == round(near) or abs(near) >= 10_000 else ",.4g").replace("-", "−")
