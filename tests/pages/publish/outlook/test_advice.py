"""If most cells of a plan would be noise, the page says so and offers remedies as buttons."""

from __future__ import annotations

import re

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from dpengine.array_types import Bools, Columns
from dpengine.exact import exact_text
from dpengine.marginals.graphs import maximal
from dpengine.results.alternatives import mostly_noise_shares
from dpengine.results.result import Result
from pages.parts.shared.epsilon_ladder import rungs
from tests.pages.visits import labelled, settled, texts, visit, visit_of


def planned(columns: int, **entries: object) -> AppTest:
    """A plan of columns of eight values each, up to the bill."""
    names = [f"c{k}" for k in range(columns)]
    page = visit()
    page.get("file_uploader")[0].upload("codes.csv", f"{','.join(names)}\n{','.join('1' * columns)}\n".encode()).run()
    here = visit_of(page)
    values = [str(k) for k in range(8)]
    declared = {name: {"name": name, "kind": "category", "values": values} for name in names}
    here.entries = here.entries.with_(
        chosen=tuple(names),
        declared=declared,
        several_rows=False,
        **({"strategy": "direct", "rows_about": 20_000} | entries),
    )
    here.settle("columns", "domain", "unit")
    return settled(page.run())


def test_a_plan_with_enough_epsilon_gets_no_advice() -> None:
    assert "asks for more detail" not in texts(planned(2))


def test_a_table_of_too_many_cells_is_reported_and_pairs_are_one_click_away() -> None:
    page = planned(4, rows_about=8_000)
    assert "of 4,096 cells would be mostly noise" in texts(page)
    labels = [button.label for button in page.button if "mostly noise" in button.label or "model" in button.label]
    assert labels[0].startswith("Publish every pair instead: ")
    assert any(label.startswith("Publish each column by itself: 0 of 32 cells") for label in labels)
    labelled(page.button, "Publish every pair").click().run()
    assert not page.exception
    assert visit_of(page).entries.layout == "pairs"
    assert "asks for more detail" not in texts(page)


def test_other_and_missing_values_are_expected_to_be_few_and_warn_of_nothing() -> None:
    page = visit()
    page.get("file_uploader")[0].upload("flags.csv", b"a,b,c\nyes,yes,yes\n").run()
    here = visit_of(page)
    declared = {name: {"name": name, "kind": "yesno"} for name in "abc"}
    here.entries = here.entries.with_(chosen=tuple("abc"), declared=declared, several_rows=False, rows_about=5_000)
    here.settle("columns", "domain", "unit")
    said = texts(settled(page.run()))
    assert "asks for more detail" not in said, "56 of 64 cells have (other) or (missing) in them"
    assert "*(other)* and *(missing)* are left aside here" in said


@pytest.mark.nightly
def test_without_a_stated_size_the_ways_out_say_which_size_they_assume() -> None:
    page = planned(4, rows_about=8_000)
    assert "What would help:" in texts(page)
    visit_of(page).change(rows_about=None)
    assert "What would help in a table of an assumed 10,000 rows:" in texts(settled(page.run()))


def test_a_table_of_a_few_people_is_told_that_no_plan_would_help() -> None:
    page = planned(1)
    visit_of(page).change(rows_about=8)
    assert "About 8 are too few for tables" in texts(settled(page.run()))
    assert "would be published as ±3" in texts(page)
    visit_of(page).change(rows_about=12)
    assert "too few for tables" not in texts(settled(page.run()))


@pytest.mark.nightly
def test_too_small_an_epsilon_is_reported_with_the_gain_of_a_larger_one() -> None:
    page = planned(1, epsilon="0.001")
    button = labelled(page.button, "Spend ε = ")
    assert button.label.startswith("Spend ε = 0.01 instead of 0.001: ")
    assert "can become at most 50.3 % sure, instead of at most 50.1 % sure" in button.help
    button.click().run()
    assert not page.exception
    assert (visit_of(page).entries.epsilon, page.metric[1].value) == ("0.01", "0.01")


@pytest.mark.nightly
def test_advice_and_preview_name_the_same_number_of_noisy_cells() -> None:
    page = planned(4, rows_about=8_000)
    here = visit_of(page)
    here.change(chosen=("c3", "c1", "c0", "c2"))
    here.settle("columns", "domain", "unit")
    numbers = re.findall(r"\*\*([\d,]+) of 4,096 cells", texts(settled(page.run())))
    assert len(numbers) > 1
    assert len(set(numbers)) == 1


@pytest.mark.by_day(1)
@pytest.mark.parametrize("epsilon", ["0.001", "0.02", "0.07"])
def test_the_smallest_step_of_epsilon_that_helps_is_offered(epsilon: str) -> None:
    page = planned(3, epsilon=epsilon)
    plan = visit_of(page).plan
    assert plan is not None
    (table,) = maximal(plan.marginals)
    shares = {step: mostly_noise_shares(plan.at(step), [table])[table] for step in (plan.epsilon, *rungs("0.01", "4"))}
    helping = [step for step in shares if shares[step] < shares[plan.epsilon] / 2]
    button = labelled(page.button, "Spend ε = ")
    assert button.label.startswith(f"Spend ε = {exact_text(min(helping))} instead of {epsilon}: ")
    assert f": {round(shares[min(helping)] * 512):,} of 512 cells mostly noise" in button.label


def test_a_small_table_whose_cells_hardly_exceed_their_noise_is_not_made_to_look_good() -> None:
    page = planned(3, layout="single")
    few = "half of the published cells are within ±20 % of their size only from about"
    assert few not in texts(page)
    visit_of(page).change(rows_about=140)
    text = texts(settled(page.run()))
    assert f"About 140 rows are few for this plan: at ε = 1, {few}" in text
    assert "asks for more detail" not in text


@pytest.mark.nightly
def test_ways_out_between_every_pair_and_single_columns_are_offered_for_an_adaptive_plan(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def all_noise(self: Result, table: Columns) -> Bools:  # by luck, a third of the cells may be none
        return np.ones([self.plan.column(name).size for name in table], bool)

    monkeypatch.setattr(Result, "mostly_noise", all_noise)
    page = planned(6, layout="pairs", strategy="adaptive", rows_about=500)
    assert "as tried out on made-up people" in texts(page), "at once, in the run that draws the made-up release"
    ways = [button for button in page.button if "cells mostly noise" in button.label]
    between = next(
        button for button in ways if button.label.startswith("Publish each column by c0 only, and spend ε = ")
    )
    assert "can become at most" in between.help
    between.click().run()
    assert not page.exception
    entries = visit_of(page).entries
    assert entries.own == tuple(("c0", f"c{k}") for k in range(1, 6))
    assert (entries.layout, entries.strategy) == ("own", "direct")
    assert f"and spend ε = {entries.epsilon} instead" in between.label
    assert "asks for more detail" not in texts(settled(page))
