"""The percentages of a table are offered below it, for releases and for files of others."""

from __future__ import annotations

import numpy as np
import pytest

from pages.parts.release import percentages
from pages.parts.release.percentages import MAX_GROUPS, groups_of
from tests.pages.release.test_measures import SEX, STATE, opened
from tests.pages.visits import texts


def test_percentages_are_of_everybody_first_then_within_a_group() -> None:
    at = opened([["state", "sex"]], SEX, STATE)
    assert not at.dataframe, "nothing is computed before the box is opened"
    at.session_state["release-percentages"] = True
    at.run()
    shown = at.dataframe[0].value
    assert list(shown) == ["state", "sex", "count", "percent", "low", "high"]
    np.testing.assert_allclose(shown["percent"].sum(), 100)
    of = at.selectbox(key="release-percent-of-state-sex")
    assert of.options == ["all people", "each group of state", "each group of sex"]
    of.select_index(1).run()
    np.testing.assert_allclose(at.dataframe[0].value.groupby("state")["percent"].sum().loc[lambda sums: sums > 0], 100)
    assert "95 times in 100" in texts(at)
    shown_first = "state × sex: percent of each group of state. "
    assert [each for each in at.get("plotly_chart") if each.proto.alt.startswith(shown_first)]
    assert {button.label for button in at.get("download_button")} >= {"Download as CSV", "For a spreadsheet"}


def test_a_table_of_many_columns_offers_some_of_their_combinations() -> None:
    eight, many = (tuple(f"c{k}" for k in range(columns)) for columns in (8, 32))
    assert len(groups_of(eight)) == 2**8 - 1
    assert [*map(len, groups_of(many))] == [0, *[1] * 32, *[2] * (MAX_GROUPS - 33)]


def test_a_table_that_is_too_large_for_a_chart_is_not_laid_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(percentages, "MAX_BARS", 5)
    monkeypatch.setattr(percentages, "PercentCells", None)
    at = opened([["state", "sex"]], SEX, STATE)
    at.session_state["release-percentages"] = True
    at.run()
    assert not at.exception
    assert "too many for a chart" in texts(at)
    assert at.dataframe


@pytest.mark.nightly
def test_cells_without_a_value_can_be_left_out() -> None:
    at = opened([["state", "sex"]], SEX | {"missing": True}, STATE)
    at.session_state["release-percentages"] = True
    at.run()
    before = at.dataframe[0].value
    at.checkbox(key="release-percent-known-state-sex").check().run()
    left = at.dataframe[0].value
    assert len(left) < len(before)
    assert "(missing)" not in set(left["sex"])
    np.testing.assert_allclose(left["percent"].sum(), 100)


@pytest.mark.nightly
def test_tables_whose_cells_are_no_parts_of_a_whole_have_none() -> None:
    twice = {"columns": ["state"], "distinct": True, "cells_per_person": 2}
    at = opened([twice, ["sex"]], SEX, STATE, unit={"id": "who", "rows": 3})
    at.session_state["release-percentages"] = True
    at.run()
    assert not at.dataframe
    at.selectbox(key="release-table").select_index(1).run()
    assert "percent" in at.dataframe[0].value
