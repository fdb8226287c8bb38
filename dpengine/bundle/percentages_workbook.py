"""Write the percentages of a table as a workbook: a sheet that says what they are, and a sheet with the numbers."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import TYPE_CHECKING

from dpengine.array_types import Columns
from dpengine.bundle.workbook import (
    MAX_CELLS,
    NUMBER_WIDTH,
    finish,
    new_workbook,
    notes_on_release,
    write_labels,
    write_notes,
)
from dpengine.charts.percentages import group_in_words
from dpengine.errors import ReleaseError
from dpengine.spec.plan import Plan
from dpengine.translation.catalogue import _, mark

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["MEANING", "percentages_workbook"]

MEANING = mark(
    "Each interval is meant to hold the true percentage 95 times in 100. From 0 to 100 means that the noise hides the "
    "whole group. What chance did in a survey's sample comes on top."
)


def percentages_workbook(
    plan: Plan, table: Columns, within: Sequence[str], frame: pd.DataFrame, release_id: str, *, digits: int
) -> bytes:
    """Return percentages, as `percentages_of` returns them, as a workbook (.xlsx) in the current language.

    They are shown with this number of `digits`, and stored in full. Raises `ReleaseError` if there are too many for a
    workbook.
    """
    if len(frame) > MAX_CELLS:
        raise ReleaseError(_("these percentages are too many for a workbook: use the CSV file"))
    numbers = ("count", "percent", "low", "high")
    heads: list[str] = []
    widths: list[int] = []
    words = [_(name) for name in numbers]
    file = io.BytesIO()
    with new_workbook(file, plan) as book:
        notes = [(_("Percentages"), group_in_words(plan, table, within)), (_("Intervals"), _(MEANING))]
        write_notes(book, plan.title or plan.dataset, [*notes, *notes_on_release(plan, release_id)])
        sheet = book.add_worksheet(_("Percentages"))
        forms = ("#,##0", f"0{'.' * (digits > 0)}{'0' * digits} %")
        whole, percent = (book.add_format({"num_format": form}) for form in forms)
        for place, name in enumerate(table):
            heading, width = write_labels(sheet, place, plan, name, frame.iloc[:, place], words)
            heads.append(heading)
            widths.append(width)
        for place, (name, word) in enumerate(zip(numbers, words, strict=True), len(table)):
            values = frame[name] if name == "count" else frame[name] / 100
            for row, value in enumerate(values.tolist(), 1):
                if value == value:  # a group whose count is 0 has no percentages
                    sheet.write_number(row, place, value, whole if name == "count" else percent)
            heads.append(word)
            widths.append(NUMBER_WIDTH)
        finish(book, sheet, heads, widths, labels=len(table), rows=len(frame))
    return file.getvalue()
