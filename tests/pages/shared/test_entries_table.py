"""Files of ledger entries: nothing that people typed runs as a formula, and nothing is lost."""

from __future__ import annotations

import csv
import io
import json

from pages.parts.shared.entries_table import content

ROWS = [{"title": '=HYPERLINK("http://x")', "epsilon": "-1/2"}, {"title": "Größe", "epsilon": "3"}]


def test_a_title_is_no_formula_in_a_spreadsheet() -> None:
    read = csv.DictReader(io.StringIO(content("csv", ROWS).decode(), newline=""))
    assert [row["title"] for row in read] == ['\'=HYPERLINK("http://x")', "Größe"]


def test_json_has_texts_as_they_are_and_details_beside_them() -> None:
    found = json.loads(content("json", ROWS, [{"k": 1}, {"k": 2}]))
    assert found == [{**ROWS[0], "details": {"k": 1}}, {**ROWS[1], "details": {"k": 2}}]
