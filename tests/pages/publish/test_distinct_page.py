"""A plan that counts distinct persons, opened on the page: nothing of it is lost, and each such table says so."""

from __future__ import annotations

import pytest

from pages.parts.visit.plan.plan_form import from_plan
from tests.pages.visits import held, press, settled, texts, visit
from tests.plans import letters_plan


@pytest.mark.nightly  # what the page does with such a plan is tested in tests/pages/visit/test_plan_form.py
def test_tables_of_distinct_persons_stay_so_when_the_columns_are_changed() -> None:
    page = visit()
    rows = "".join(f"p{k // 2},a{k % 2},b{k % 2}\n" for k in range(40))
    page.get("file_uploader")[0].upload("letters.csv", f"who,a,b\n{rows}".encode()).run()
    several = {"columns": ["a", "b"], "distinct": True, "cells_per_person": 2}
    plan = letters_plan([2, 2], [["a"], several], unit={"id": "who", "rows": 3})
    held(page).refresh(from_plan(plan))
    held(page).settle("table", "columns", "domain")
    settled(page.run())
    press(page, "Change the columns")
    assert not page.exception
    assert "a × b, from your plan file, counts people, each in at most 2 cells." in texts(page)
    assert held(page).plan.key == plan.key
