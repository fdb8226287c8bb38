"""The Risk lab: the owner's table for the owner alone, a textbook's patients for everyone, and attacks measured."""

from __future__ import annotations

import json
from collections.abc import Callable

import pandas as pd
import pytest
from streamlit.testing.v1 import AppTest

from dpengine import open_table
from dpengine.counting.equivalence_classes import class_sizes
from dpengine.lessons import linkage, syntactic, textbook_patients
from dpengine.sources.table import Table
from dpengine.spec.wording import percent
from pages.parts.visit.plan.entries import Entries
from tests.pages.visits import labelled, metrics, texts, visit, visit_of, whole

ROWS = pd.DataFrame(
    {
        "zip": ["90210", "90210", "90211", "90211", "90211", None],
        "age": [28, 28, 29, 29, 29, 61],
        "ill": ["gout", "gout", "scurvy", "gout", "scurvy", "scurvy"],
        "who": ["a", "a", "b", "c", "d", "e"],
    }
)

K, L = "Smallest class, k", "Fewest values in a class, ℓ"


def page(table: Table | None = None, entries: Entries | None = None) -> AppTest:
    at = visit()
    if table is not None:
        visit_of(at).table = table
        visit_of(at).entries = entries or Entries()
    return whole(at.switch_page("pages/labs/risk.py").run())


def lesson(name: str) -> AppTest:
    at = page()
    at.session_state["risk_lesson"] = name
    return whole(at.run())


def choose(at: AppTest, columns: list[str], sensitive: str | None = None) -> AppTest:
    whole(at.multiselect[0].set_value(columns).run())
    if sensitive:
        whole(at.selectbox[0].set_value(sensitive).run())
    return whole(labelled(at.toggle, "Show them").set_value(True).run())


def test_nothing_of_the_owners_table_is_shown_before_it_is_asked_for() -> None:
    with open_table(ROWS) as table:
        at = page(table, Entries(chosen=("zip", "age")))
        assert at.multiselect[0].value == ["zip", "age"]
        assert not {K, "Alone"} & set(metrics(at))
        assert not [frame for frame in at.dataframe if "alone" in frame.value]


@pytest.mark.by_day(1)
@pytest.mark.parametrize(
    ("form", "table"),
    [
        ("4-anonymous", textbook_patients.FOUR_ANONYMOUS),
        ("3-diverse", textbook_patients.THREE_DIVERSE),
        ("original", textbook_patients.PATIENTS),
    ],
)
def test_the_textbooks_patients_have_the_numbers_of_the_library(form: str, table: textbook_patients.Published) -> None:
    at = whole(page().segmented_control(key="risk_form").set_value(form).run())
    found = syntactic.profile(textbook_patients.classes(table))
    shown = metrics(at)
    assert [shown[name] for name in ("Alone", K, L)] == [str(found.unique), str(found.k), str(found.distinct)]
    assert "Machanavajjhala" in texts(at)


def test_without_a_table_the_page_links_to_publish() -> None:
    assert "Bring a table of yours" in "".join(link.proto.label for link in page().get("page_link"))


def test_the_owners_table_is_shown_for_the_owners_eyes_only() -> None:
    with open_table(ROWS) as table:
        at = choose(page(table), ["zip", "age"], "ill")
        expected = syntactic.profile(class_sizes(table, ["zip", "age"], "ill"))
        assert "For your eyes only" in texts(at)
        shown = metrics(at)
        assert [shown[name] for name in ("Alone", K, L)] == ["1", "1", str(expected.distinct)]
        assert "1 of 6 people is alone; 3 classes" in texts(at)


def test_nothing_of_the_owners_table_can_be_downloaded() -> None:
    with open_table(ROWS) as table:
        at = choose(page(table), ["zip", "age"])
        assert not at.get("download_button")
        assert [json.loads(each.proto.config)["displayModeBar"] for each in at.get("plotly_chart")] == [False, False]


def test_no_value_of_the_owners_table_is_shown() -> None:
    with open_table(ROWS) as table:
        at = choose(page(table), ["zip", "age"], "ill")
        everything = texts(at) + "".join(frame.value.to_csv() for frame in at.dataframe)
        assert "alone" in everything
        assert not [value for value in ("90210", "90211", "scurvy", "gout") if value in everything]


@pytest.mark.nightly
def test_every_combination_of_columns_is_ranked_by_who_is_alone() -> None:
    with open_table(ROWS) as table:
        at = choose(page(table), ["zip", "age", "ill"])
        twin = next(frame.value for frame in at.dataframe if "columns" in frame.value)
        assert len(twin) == 7
        assert twin["alone"].is_monotonic_decreasing
        assert twin.set_index("columns").loc["zip × age × ill", "alone"] == 2


def test_people_with_several_rows_are_counted_once() -> None:
    with open_table(ROWS) as table:
        at = choose(page(table, Entries(several_rows=True, id_column="who")), ["zip"])
        assert metrics(at)["Alone"] == "2", "the two rows of 90210 are one person's"
        assert "one person by who" in texts(at)
        assert "who" not in at.multiselect[0].options


def test_no_column_and_an_empty_table_are_explained() -> None:
    with open_table(ROWS) as table:
        assert "Choose at least one column" in texts(page(table))
    with open_table(ROWS[:0]) as empty:
        assert "nobody in this table" in texts(choose(page(empty), ["zip"]))


def test_a_closed_table_gives_a_warning() -> None:
    table = open_table(ROWS)
    at = page(table)
    table.close()
    assert "the table is closed" in texts(choose(at, ["zip"]))


def test_homogeneity_and_background_knowledge_name_the_condition() -> None:
    at = lesson("All the same")
    assert "All four have **cancer**" in texts(at)
    whole(at.segmented_control(key="risk_story").set_value("Background knowledge").run())
    assert "only **viral infection** is left" in texts(at)


@pytest.mark.nightly
def test_two_tables_reveal_more_than_one() -> None:
    at = lesson("Two tables")
    one, two = linkage.composition_attack(linkage.made_up_town(seed=0), 3)
    shown = metrics(at)
    assert (shown["By one table"], shown["By both together"]) == (percent(one.share), percent(two.share))
    assert two.share > one.share + 0.1


def test_the_difference_of_two_days_is_one_persons_condition() -> None:
    at = lesson("One more patient")
    twin = next(frame.value for frame in at.dataframe if "difference" in frame.value)
    assert list(twin.loc[twin["difference"] != 0].iloc[0]) == ["Cancer", 1, 2, 1]


@pytest.mark.nightly
def test_names_come_back_and_coarser_dates_stop_that() -> None:
    at = lesson("Names come back")
    assert metrics(at)["Names found"] == percent(linkage.link_names(linkage.made_up_town()).rate.share)
    whole(at.segmented_control(key="risk_birth").set_value("year").run())
    assert metrics(at)["Names found"] in ("0 %", "under 0.1 %")


def test_who_knows_all_others_wins_against_k_anonymity_but_not_against_a_release() -> None:
    at = lesson("Names come back")
    whole(at.segmented_control(key="risk_knows").set_value("everyone else's condition too").run())
    assert "Right for 100 % of the people in the 5-anonymous table" in texts(at)
    twin = next(frame.value for frame in at.dataframe if "without the person" in frame.value).set_index("published")
    assert twin.loc["ours, ε = 0.1", "with the person"].split(" %")[0] < "30"
    assert "at most 1.106 times as likely" in texts(at)


@pytest.mark.nightly
def test_run_it_again_takes_other_people() -> None:
    at = lesson("Names come back")
    before = metrics(at)
    whole(at.button(key="risk_again_names").click().run())
    assert metrics(at) != before


@pytest.mark.nightly
@pytest.mark.parametrize("known", [4, 8])
def test_a_few_films_find_people_in_ratings_and_nobody_in_a_release(known: int) -> None:
    at = whole(lesson("A few films").select_slider(key="risk_known").set_value(known).run())
    shown: Callable[[str], str] = metrics(at).__getitem__
    assert float(shown("Names removed").split()[0]) > 80
    assert float(shown("Our release").split()[0]) < 5
