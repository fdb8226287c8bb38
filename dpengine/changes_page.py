"""A page of what changed from one release to the next: a chart and a table for each number, as one HTML file."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from dpengine.array_types import Columns
from dpengine.bundle.quotation import citation, release_in_words
from dpengine.bundle.report import page_with_plotly
from dpengine.bundle.report_tables import script_json
from dpengine.charts.changes import changes_drawing
from dpengine.compare import beyond_in_words, decimals_of_changes, largest_first, not_compared, number_headings
from dpengine.export import Published
from dpengine.spec.plan import Plan
from dpengine.spec.wording import heading_of, shown_labels
from dpengine.translation.catalogue import number, speaking

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["changes_page"]

MAX_ROWS = 200  # of a table on the page: the largest changes beside their noise
SHOWN = ("before", "after", "change", "low", "high")


def changes_page(before: Published, after: Published, changes: Mapping[Columns, pd.DataFrame]) -> bytes:
    """Return a page of `changes`, as `compare` gives them, in the language of the later release; it loads nothing."""
    with speaking(after.plan.language):
        parts = [*_parts(after.plan, changes)]
        values = {
            "before": release_in_words(before.plan, before.manifest),
            "after": release_in_words(after.plan, after.manifest),
            "sources": [citation(each.plan, each.manifest) for each in (after, before)],
            "parts": parts,
            "left_out": [(str(each), each.reason) for each in not_compared(before, after)],
        }
        return b"".join(page_with_plotly("changes.html.j2", values))


def _parts(plan: Plan, changes: Mapping[Columns, pd.DataFrame]) -> Iterable[dict[str, Any]]:
    """Yield the values of the page for each number of each table."""
    place = 0
    for table, frame in changes.items():
        headings = number_headings(plan, table)
        for name, of_one in frame.groupby("number", sort=False):
            place += 1
            ordered = largest_first(of_one.drop(columns="number"))
            digits = 0 if name == "count" else decimals_of_changes(ordered)
            what = headings[str(name)]
            part = {
                "id": f"changes-{place}",
                "name": f"{heading_of(plan, table)}: {what}",
                "beyond": beyond_in_words(ordered),
                "header": [heading_of(plan, (each,)) for each in table],
                "whole": len(ordered) <= MAX_ROWS,
                "rows": [*_rows(plan, table, ordered.head(MAX_ROWS), digits)],
            }
            drawing, alt = changes_drawing(plan, table, ordered, what, digits=digits)
            yield part | {
                "alt": alt,
                "json": script_json(drawing.to_json()),
                "high": drawing.layout["height"],
            }


def _rows(plan: Plan, table: Columns, frame: pd.DataFrame, digits: int) -> Iterable[dict[str, Any]]:
    """Yield the labels and numbers of each change, written for readers."""
    words = [dict(zip(plan.column(name).labels, shown_labels(plan.column(name)), strict=True)) for name in table]
    numbers = frame[[*SHOWN]].to_numpy(float)
    labels = frame.iloc[:, : len(table)].to_numpy().tolist()
    for of_cell, values, beyond in zip(labels, numbers, frame["beyond_noise"], strict=True):
        forms = (f",.{digits}f",) * 2 + (f"+,.{digits}f",) * 3
        yield {
            "labels": [of[label] for of, label in zip(words, of_cell, strict=True)],
            "numbers": [number(each, form).replace("-", "−") for each, form in zip(values, forms, strict=True)],
            "beyond": bool(beyond),
        }
