"""What to publish: people by some columns, averages and totals of others, and levels of a column."""

from __future__ import annotations

from decimal import Decimal
from itertools import combinations

import pytest
from streamlit.testing.v1 import AppTest

from dpengine.spec.published_table import PublishedTable
from pages.parts.publish import columns_step
from pages.parts.visit.plan.plan_form import from_plan, to_plan
from pages.parts.visit.plan.tables import published
from tests.pages.visits import labelled, press, settled, texts, visit, visit_of
from tests.plans import PAY, Plan, geography_plan

PEOPLE = "county,sex,income,age,seen_on\n" + "".join(
    f"{county},{('female', 'male')[k % 2]},{20_000 + 900 * k},{20 + k},2024-0{1 + k % 9}-01\n"
    for k, county in enumerate(("Kern", "Napa", "Travis") * 13)
)
LEVELS = b"county,state\nKern,CA\nNapa,CA\nTravis,TX\n"


@pytest.fixture
def people() -> AppTest:
    page = visit()
    page.get("file_uploader")[0].upload("people.csv", PEOPLE.encode()).run()
    page.multiselect[0].set_value(["county", "sex", "income"]).run()
    assert not page.exception
    return page


def test_the_names_of_tables_are_apart_although_they_hold_commas() -> None:
    tables = [PublishedTable(columns=("age, in years", "sex")), PublishedTable(columns=("ward",))]
    assert columns_step._in_short(tables) == "age, in years × sex; ward"


def test_the_columns_of_a_table_wrap_where_they_do_not_fit(people: AppTest) -> None:
    labelled(people.radio, "Published as").set_value("own").run()
    assert labelled(people.multiselect, "counts by").proto.wrap


def shown_weights(people: AppTest) -> None:
    people.session_state[visit_of(people).key("weights")] = True
    people.run()


def test_a_column_that_is_named_like_an_amount_is_averaged_and_can_be_crossed_instead(people: AppTest) -> None:
    assert "county × sex (average of income)" in texts(people)
    labelled(people.get("button_group"), "Published of them").set_value(["sum", "median"]).run()
    assert "county × sex (total, median of income)" in texts(people)
    labelled(people.multiselect, "Averaged or added up").set_value([]).run()
    assert not people.exception
    assert visit_of(people).entries.declared["income"]["kind"] == "number"
    assert "county × sex × income" in texts(people)
    people.multiselect[0].set_value(["county", "sex", "age"]).run()
    labelled(people.multiselect, "Averaged or added up").set_value(["age"]).run()
    assert visit_of(people).entries.declared["age"]["kind"] == "amount", "any number can be averaged"
    assert "county × sex (total, median of age)" in texts(people)


def test_measures_that_exclude_each_other_are_told_where_they_are_picked(people: AppTest) -> None:
    measures = labelled(people.get("button_group"), "Published of them")
    measures.set_value(["mean", "standard_deviation"]).run()
    assert "county × sex (average, standard deviation of income)" in texts(people)
    assert "cannot stand beside a median" not in texts(people)
    measures.set_value(["standard_deviation", "quartiles"]).run()
    assert "cannot stand beside a median or quartiles of the same column (income)" in texts(people)


def test_averages_are_offered_of_columns_that_can_hold_numbers(people: AppTest) -> None:
    people.multiselect[0].set_value(["county", "sex", "income", "age"]).run()
    settled(people)
    assert labelled(people.multiselect, "Averaged or added up").options == ["income", "age"]


@pytest.mark.nightly
def test_what_bounds_the_intervals_of_a_median_is_said_beside_its_range(people: AppTest) -> None:
    labelled(people.multiselect, "Averaged or added up").set_value(["income"]).run()
    labelled(people.button, "Go on").click().run()
    labelled(people.selectbox, "One column in detail").set_value("income").run()
    assert "parts of this range" not in texts(people), "an average has no parts"
    visit_of(people).change(of_amounts=("mean", "median"))
    people.run()
    assert "end where the 20 parts of this range do" in texts(people)
    assert "write `0 to 200000 by 100 in 40 parts` in the grid" in texts(people)
    press(people, "Divide it into 40 parts")
    assert "end where the 40 parts of this range do" in texts(people)
    labelled(people.text_input, "Rounded to").set_value("9000").run()
    assert not people.exception
    assert "parts of this range" not in texts(people), "22 steps have no 40 parts"


def test_a_column_that_names_people_is_warned_of_before_it_is_published() -> None:
    page = visit()
    page.get("file_uploader")[0].upload("answers.csv", b"ResponseId,answer\nR_1,yes\n").run()
    page.multiselect[0].set_value(["answer"]).run()
    assert "may say who a person is" not in "".join(each.value for each in page.warning)
    page.multiselect[0].set_value(["answer", "ResponseId"]).run()
    assert "ResponseId may say who a person is" in "".join(each.value for each in page.warning)


def test_a_column_whose_name_says_nothing_can_be_averaged_until_its_values_are_told() -> None:
    page = visit()
    page.get("file_uploader")[0].upload("people.csv", PEOPLE.replace(",age,", ",q7,").encode()).run()
    settled(page)
    page.multiselect[0].set_value(["county", "q7", "income"]).run()
    settled(page)
    box = labelled(page.multiselect, "Averaged or added up")
    assert box.options == ["income", "q7"], "a text file states no types; what looks like an amount is first"
    box.set_value(["income", "q7"]).run()
    assert visit_of(page).entries.declared["q7"]["kind"] == "amount"
    labelled(page.multiselect, "Averaged or added up").set_value(["income"]).run()
    answer = visit_of(page).entries.declared["q7"]
    assert answer["kind"] == "category", "as its name suggests"
    told = visit_of(page).entries.declared | {"q7": answer | {"values": ["20", "21", "22"]}}
    visit_of(page).entries = visit_of(page).entries.with_(declared=told)
    assert labelled(page.run().multiselect, "Averaged or added up").options == ["income"]
    assert not page.exception


def test_own_tables_can_have_averages_and_weights_and_can_be_removed(people: AppTest) -> None:
    people.radio[0].set_value("own").run()
    labelled(people.multiselect, "First table: also").set_value([("mean", "income")]).run()
    assert "Pick the columns by which this is shown" in texts(people)
    labelled(people.multiselect, "Table 1: counts by").set_value(["sex"]).run()
    labelled(people.multiselect, "Another table: counts by").set_value(["county"]).run()
    assert "income" not in labelled(people.multiselect, "Table 2: counts by").options, "it is averaged"
    assert not people.exception
    shown_weights(people)
    labelled(people.number_input, "sex (average of income)").set_value(3.0).run()
    (table,) = visit_of(people).entries.more
    assert (table.columns, table.mean, table.weight) == (("sex",), ("income",), Decimal(3))
    assert "In no table" not in texts(people)
    people.button(key=visit_of(people).key("own-remove-0")).click().run()
    assert not people.exception
    assert visit_of(people).entries.own == (("county",),)
    assert visit_of(people).entries.more == ()
    assert "In no table: sex, income" in texts(people)
    visit_of(people).undo()
    people.run()
    assert visit_of(people).entries.own == (("sex",), ("county",))
    assert labelled(people.multiselect, "Table 1: also").value == [("mean", "income")]
    shown_weights(people)
    assert labelled(people.number_input, "sex (average of income)").value == 3


def test_a_list_begins_with_the_pairs_and_can_add_one_column_for_ranges(people: AppTest) -> None:
    people.multiselect[0].set_value(["county", "sex", "age"]).run()
    people.radio[0].set_value("pairs").run()
    before = visit_of(people).entries
    people.radio[0].set_value("own").run()
    assert not people.exception
    assert visit_of(people).entries.own == (("county", "sex"), ("county", "age"), ("sex", "age"))
    labelled(people.multiselect, "Another table: counts by").set_value(["age"]).run()
    labelled(people.multiselect, "Table 4: also").set_value([("ranges",)]).run()
    assert not people.exception
    assert "age (sums over ranges" in texts(people)
    (table,) = visit_of(people).entries.more
    assert (table.columns, table.ranges) == (("age",), True)
    people.radio[0].set_value("pairs").run()
    assert published(visit_of(people).entries) == published(before)


@pytest.mark.nightly
def test_levels_come_from_a_file_and_a_table_names_one(people: AppTest) -> None:
    people.radio[0].set_value("own").run()
    people.session_state[visit_of(people).key("levels-box")] = True
    people.run()
    box = labelled(people.get("file_uploader"), "a CSV file with a column for each level")
    box.upload("levels.csv", LEVELS.replace(b"Napa,CA", b"Kern,TX")).run()
    assert "has two parents" in texts(people)
    assert "levels" not in visit_of(people).entries.declared["county"]
    labelled(people.get("file_uploader"), "a CSV file with").upload("places.csv", LEVELS).run()
    assert not people.exception
    assert visit_of(people).entries.declared["county"]["levels"] == ["state", "county"]
    assert "Tables can also count by state (of county)." in texts(people)
    by = labelled(people.multiselect, "First table: counts by")
    assert by.options == ["state (of county)", "county", "sex", "income"]
    by.set_value(["county@state", "sex"]).run()
    labelled(people.multiselect, "Another table: counts by").set_value(["county"]).run()
    assert "state (of county) × sex: 16 cells" in texts(people)
    labelled(people.button, "Go on").click().run()
    assert not people.exception
    labelled(people.button, "Confirm 1 suggestion").click().run()
    assert people.data_editor[0].value["Gives"][0] == "✓ 5 cells · 1 coarser level"
    labelled(people.button, "Go on").click().run()
    people.radio[0].set_value("one").run()
    labelled(people.button, "Go on").click().run()
    assert not people.exception
    plan = visit_of(people).plan
    assert plan is not None
    assert plan.marginals[:2] == (("county@state", "sex"), ("county",))
    assert plan.column("county@state").declared == ("CA", "TX")


@pytest.mark.nightly
def test_levels_of_numbers_and_dates_are_declared_and_asked_for(people: AppTest) -> None:
    people.multiselect[0].set_value(["sex", "age", "seen_on"]).run()
    people.radio[0].set_value("own").run()
    people.session_state[visit_of(people).key("levels-box")] = True
    people.run()
    labelled(people.text_input, "age: also in wider bins").set_value("twenty").run()
    assert "twenty: write the width of wider bins" in texts(people)
    labelled(people.text_input, "age: also in wider bins").set_value("20").run()
    labelled(people.selectbox, ": counted by").set_value("month").run()
    labelled(people.get("button_group"), ": also by longer periods").set_value(["quarter", "year"]).run()
    by = labelled(people.multiselect, "First table: counts by")
    assert by.options == [
        "sex",
        "20-year (of age)",
        "age",
        "year (of seen_on)",
        "quarter (of seen_on)",
        "seen_on",
    ]
    by.set_value(["age@20-year", "seen_on@quarter"]).run()
    labelled(people.multiselect, "Another table: counts by").set_value(["age", "sex"]).run()
    labelled(people.button, "Go on").click().run()
    declared = visit_of(people).entries.declared
    bins = {"kind": "number", "edges": [str(edge) for edge in range(0, 91, 5)], "source": "typed"}
    days = {"from": "2024-01-01", "to": "2025-12-31", "by": "month", "format": "", "source": "typed"}
    told = {"age": declared["age"] | bins, "seen_on": declared["seen_on"] | days}
    confirmed = {name: column | {"suggested": False} for name, column in (declared | told).items()}
    visit_of(people).refresh(visit_of(people).entries.with_(declared=confirmed))
    people.run()
    shown = people.data_editor[0].value["Gives"].tolist()
    assert shown[1:] == ["✓ 20 cells · 1 coarser level", "✓ 26 cells · 2 coarser levels"]
    labelled(people.selectbox, "One column in detail").set_value("age").run()
    labelled(people.text_input, "age: also in wider bins").set_value("20; 0, 20, 65, 90").run()
    assert "do not nest" in texts(people)
    labelled(people.text_input, "age: also in wider bins").set_value("20").run()
    labelled(people.button, "Go on").click().run()
    people.radio[0].set_value("one").run()
    labelled(people.button, "Go on").click().run()
    assert not people.exception
    plan = visit_of(people).plan
    assert plan is not None
    assert plan.marginals[:2] == (("age@20-year", "seen_on@quarter"), ("age", "sex"))
    assert plan.column("age@20-year").declared[-1] == "[80, 90]"
    assert plan.column("seen_on@quarter").declared[0] == "2024-Q1"
    assert to_plan(from_plan(plan)).key == plan.key


@pytest.mark.by_day(1)
@pytest.mark.parametrize("plan", [Plan.loads(PAY), geography_plan(3)])
def test_a_plan_with_amounts_or_levels_opens_and_is_previewed(plan: Plan) -> None:
    page = visit()
    names = [column.name for column in plan.columns]
    table = ",".join(names) + "\n" + ",".join("1" for _name in names) + "\n"
    page.get("file_uploader")[0].upload("t.csv", table.encode()).run()
    here = visit_of(page)
    here.refresh(from_plan(plan))
    here.settle("columns", "domain", "unit")
    settled(page.run())
    assert not page.exception
    assert visit_of(page).plan == to_plan(from_plan(plan))
    assert page.selectbox(key="preview-table").value == plan.marginals[0]
    assert ("In a group of typical size: mean " in texts(page)) == bool(plan.amounts(()))
    page.button(key="change-columns").click().run()
    assert not page.exception
    assert to_plan(visit_of(page).entries).key == plan.key, "looking at the tables changes nothing"


@pytest.mark.nightly
def test_of_many_tables_some_are_drawn_and_the_others_stay_as_they_are() -> None:
    names = [f"q{k}" for k in range(9)]
    pairs = [list(pair) for pair in combinations(names, 2)][:30]
    columns = [{"name": name, "kind": "category", "values": ["a", "b"]} for name in names]
    page = visit()
    page.get("file_uploader")[0].upload("t.csv", f"{','.join(names)}\n{'a,' * 8}b\n".encode()).run()
    visit_of(page).refresh(from_plan(Plan(dataset="t", epsilon=1, columns=columns, tables=pairs)))
    visit_of(page).settle("domain", "unit")
    visit_of(page).open_step("columns")
    page.run()

    def drawn() -> list[str]:
        return [box.label.partition(":")[0] for box in page.multiselect if "counts by" in box.label]

    assert drawn() == [*(f"Table {k}" for k in range(6, 31)), "Another table"]
    labelled(page.multiselect, "Another table").set_value(["q8"]).run()
    assert drawn() == [*(f"Table {k}" for k in range(7, 32)), "Another table"], "what is just picked stays in sight"
    pairs = [*map(tuple, pairs), ("q8",)]
    assert visit_of(page).entries.own == tuple(pairs)
    labelled(page.selectbox, "Tables to change").set_value(0).run()
    assert drawn() == [f"Table {k}" for k in range(1, 26)]
    labelled(page.multiselect, "Table 1: counts by").set_value(["q3"]).run()
    page.button(key=visit_of(page).key("own-remove-1")).click().run()
    pairs = [("q3",), *pairs[2:]]
    assert visit_of(page).entries.own == tuple(pairs)
    labelled(page.button, "Go on").click().run()
    page.button(key="change-columns").click().run()
    assert visit_of(page).entries.own == tuple(pairs), "they are read from the plan again"
    labelled(page.multiselect, "Table 30").set_value([]).run()
    assert visit_of(page).entries.own == tuple(pairs[:-1])
    assert not page.exception


@pytest.mark.by_day(2)
@pytest.mark.parametrize(
    ("name", "told"),
    [("weight", True), ("pweight", True), ("Gewicht", True), ("final_weight_2", True), ("weighted_score", False)],
)
def test_a_survey_weight_is_told_to_be_left_out_of_counts_and_how_to_use_it(name: str, told: bool) -> None:
    page = visit()
    page.get("file_uploader")[0].upload("t.csv", f"answer,{name}\nyes,1.25\nno,0.75\n".encode()).run()
    assert not page.exception
    assert ("If **" in texts(page) and "is a survey weight" in texts(page)) == told


def test_only_the_sizes_that_are_shown_are_put_into_words(people: AppTest, monkeypatch: pytest.MonkeyPatch) -> None:
    said, size = [], columns_step._size
    monkeypatch.setattr(columns_step, "_size", lambda *given: said.append(given) or size(*given))
    people.multiselect[0].set_value(["county", "sex", "age", "seen_on"]).run()
    said.clear()
    people.radio[0].set_value("pairs").run()
    assert "… 2 more tables" in texts(people)
    assert len(said) == columns_step.MAX_SHOWN
