"""A number of one cell, or of several together, is offered for quoting below a table."""

from __future__ import annotations

from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

import dpengine as dpe
from dpengine.combine import combine
from dpengine.results.interval_estimates import decimals_of
from tests.plans import PAY

PATIENCE = 60  # seconds


def script() -> None:
    import streamlit as st

    from pages.parts.release.quote import offer_quotation

    made = st.session_state["made"]
    manifest = {"created": "2026-11-27T02:00:00", "release_id": "5e1"}
    offer_quotation(made, ("state", "sex"), manifest, key="some")


@pytest.fixture
def at() -> AppTest:
    at = AppTest.from_function(script, default_timeout=PATIENCE)
    at.session_state["made"] = dpe.preview(dpe.Plan.loads(PAY))
    at.session_state["some-quote"] = True
    return at.run()


def quoted(at: AppTest) -> str:
    assert not at.exception
    return at.code[0].value.splitlines()[0]


def test_without_a_choice_all_people_are_quoted_and_several_cells_are_added_up(at: AppTest) -> None:
    made = at.session_state["made"]
    assert quoted(at).startswith("All people: ")
    at.multiselect[0].set_value([0, 1]).run()
    number = combine(made, {"state": ["CA", "TX"]})
    assert f"{int(number.value):,} (95 % interval: {number.low:,.0f} to {number.high:,.0f})" in quoted(at)
    at.multiselect[1].set_value([0]).run()
    at.multiselect[0].set_value([0]).run()
    cells = made.tables["state", "sex"].iloc[0]
    assert f"{cells['low']:,} to {cells['high']:,}" in quoted(at), "a single cell has the interval that was published"


def test_a_percentage_is_of_the_chosen_group(at: AppTest) -> None:
    made = at.session_state["made"]
    at.multiselect[0].set_value([0, 1])
    at.multiselect[1].set_value([0])
    at.selectbox[0].set_value("percent").run()
    at.selectbox[1].select_index(1).run()
    expected = combine(made, {"state": ["CA", "TX"], "sex": "f"}, of={"state": ["CA", "TX"]})
    decimals = decimals_of(expected.high - expected.low)
    assert f"{expected.value:.{decimals}f}" in quoted(at)
    assert "in percent of state: CA or TX" in quoted(at)


def test_a_difference_is_quoted_and_what_cannot_be_combined_says_so(at: AppTest) -> None:
    at.checkbox[0].check().run()
    at.multiselect[1].set_value([0])
    at.multiselect[3].set_value([1]).run()
    assert "sex: f, minus the same number for sex: m: " in quoted(at)
    at.toggle[0].set_value(True).run()
    assert "sex: f, compared with sex: m: " in quoted(at)
    assert "% less" in quoted(at) or "% more" in quoted(at)
    quantile = next(label for label in at.selectbox[0].options if "edian" in label)
    at.selectbox[0].select(quantile).run()
    assert not at.exception
    assert "choose one value of each column" in at.warning[0].value


def spans() -> None:
    import streamlit as st

    from pages.parts.release.quote import offer_quotation

    offer_quotation(st.session_state["made"], ("hour", "age"), {"created": "2026-11-27", "release_id": "5"}, key="some")


@pytest.fixture
def trips() -> AppTest:
    plan = dpe.Plan(
        dataset="trips", epsilon=10, rows_about=9000, tables=[["hour", "age"]],
        columns=[
            {"name": "hour", "of": "start", "kind": "time", "by": "hour", "other": False, "missing": False},
            {"name": "age", "kind": "number", "edges": [0, 18, 30, 45, 65, 120], "whole": True},
        ],
    )  # fmt: skip
    at = AppTest.from_function(spans, default_timeout=PATIENCE)
    at.session_state["made"] = dpe.preview(plan)
    at.session_state["some-quote"] = True
    return at.run()


def end(at: AppTest, label: str) -> Any:
    return next(box for box in at.selectbox if box.label == label)


def test_a_span_is_chosen_by_its_ends_beside_single_values(trips: AppTest) -> None:
    made = trips.session_state["made"]
    end(trips, "hour, from").select_index(7)
    end(trips, "hour, to").select_index(9)
    end(trips, "age, to").select_index(2).run()
    number = combine(made, {"hour": ["07:00", "08:00", "09:00"], "age": ["[0, 18)", "[18, 30)", "[30, 45)"]})
    assert quoted(trips).startswith(f"People, hour: 07:00–09:59, age: 0–44: {int(number.value):,} ")
    trips.multiselect[1].set_value([6]).run()
    assert "age: 0–44 or (missing)" in quoted(trips)


def test_a_night_goes_on_after_midnight_and_ages_in_the_other_order_are_the_same(trips: AppTest) -> None:
    end(trips, "hour, from").select_index(22)
    end(trips, "hour, to").select_index(4)
    end(trips, "age, from").select_index(3)
    end(trips, "age, to").select_index(1).run()
    assert "hour: 22:00–04:59, age: 18–64: " in quoted(trips)


def test_a_table_of_persons_is_quoted_in_persons_beside_tables_of_their_rows() -> None:
    """Nothing but single cells could be quoted, and then only those; and a reader took sums of visits for patients."""
    columns = [{"name": "state", "kind": "category", "values": ["CA", "TX"]}, {"name": "sex", "kind": "yesno"}]
    tables = [{"columns": ["state", "sex"], "distinct": True}, ["sex"]]
    plan = dpe.Plan(dataset="d", epsilon=2, columns=columns, tables=tables, unit={"id": "who", "rows": 4},
                    nouns={"rows": "visits", "people": "patients"}, rows_about=9000)  # fmt: skip
    at = AppTest.from_function(script, default_timeout=PATIENCE)
    at.session_state["made"] = made = dpe.preview(plan)
    at.session_state["some-quote"] = True
    assert quoted(at.run()).startswith("All patients: ")
    at.multiselect[1].set_value([0]).run()
    number = combine(made, {"sex": "yes"}, table=["state", "sex"])
    assert quoted(at).startswith("Patients, sex: yes: ")
    assert f"(95 % interval: {number.low:,.0f} to {number.high:,.0f})" in quoted(at)
