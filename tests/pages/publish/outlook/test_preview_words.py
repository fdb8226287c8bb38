"""What the preview says about the error of a typical cell."""

from __future__ import annotations

import re
from unittest.mock import patch

import pytest

from dpengine.charts.error_curve import curve_drawing
from dpengine.results.alternatives import predict_table
from dpengine.spec.wording import name_of
from pages.parts.publish.outlook import preview
from tests.plans import letters_plan


@pytest.mark.parametrize(
    ("error", "words"), [(0.03, "off by **less than 0.1** people"), (0.1, "off by about **0.1** people")]
)
def test_an_error_too_small_to_write_is_no_about(error: float, words: str) -> None:
    assert words in preview._typical_error(error, epsilon="1", table="age", unit="people")


def test_what_a_table_of_persons_counts_is_named_and_its_rough_size_is_of_rows() -> None:
    """A table of patients was said to be off by so many visits."""
    plan = letters_plan(
        [2, 2],
        [{"columns": ["a", "b"], "distinct": True}, ["a"]],
        unit={"id": "who", "rows": 5},
        nouns={"rows": "visits", "people": "patients"},
        rows_about=3000,
    )
    table = ("a", "b")
    predicted = predict_table(plan, table).assign(table=name_of(table))
    with patch.object(preview, "_table_to_show", lambda _plan: table):
        words = preview._facts(plan, predicted)
    assert re.search(r"a typical cell of a × b is off by about \*\*[\d.]+\*\* patients", words)
    assert "The number of all visits is within" in words
    assert "in a table of about 3,000 visits" in words
    axis = curve_drawing(plan).layout["yaxis"]["title"]["text"]
    assert axis == "patients / visits, ± (95 in 100 counts)"
