"""What undo and the history say of a change, also on a German page."""

from __future__ import annotations

from typing import Any

import pytest

from dpengine.translation.catalogue import speaking
from pages.parts.visit.plan.entries import Entries
from pages.parts.visit.project.changes import in_words


@pytest.mark.parametrize(
    ("fields", "english", "german"),
    [
        (
            {"kind": "amount", "from": "0", "to": "900", "step": "10", "upper": {"share": "0.1"}},
            "pay: 0 to 900 by 10, upper bound found",
            "pay: 0 bis 900 je 10, Obergrenze gefunden",
        ),
        (
            {"kind": "date", "from": "2020-01-01", "to": "2024-12-31", "by": "month", "format": ""},
            "pay: date, 2020 to 2024 by month",
            "pay: Datum, 2020 bis 2024 je Monat",
        ),
    ],
)
def test_spans_are_said_in_the_words_of_the_page(fields: dict[str, Any], english: str, german: str) -> None:
    blank = {"name": "pay", "kind": "amount", "from": "", "to": "", "step": "1"}
    before, after = (
        Entries(chosen=("pay",), declared={"pay": column}) for column in (blank, {"name": "pay", **fields})
    )
    assert in_words(before, after) == english
    with speaking("de"):
        assert in_words(before, after) == german
