"""The Publish page from inside: what it says, what it spends, what it never shows."""

from __future__ import annotations

from io import BytesIO
from typing import Any

import pandas as pd
import pytest
from streamlit.testing.v1 import AppTest

import dpengine as dpe
from dpengine.accounting import hash_chain
from pages.parts.publish.outlook import advice, preview
from pages.parts.visit import strategy
from pages.parts.visit.plan import plan_form
from pages.parts.visit.plan.plan_form import from_plan, to_plan
from tests.pages.visits import ENTRY, labelled, ledger, metrics, settled, texts, visit, visit_of
from tests.plans import letters_plan

CANARY = "ZZ_CANARY_7f3a"


@pytest.fixture
def page() -> AppTest:
    return visit()


@pytest.fixture
def census(page: AppTest) -> AppTest:
    page.button(key="sample_census").click().run()
    assert not page.exception
    return settled(page)


def publish(page: AppTest) -> AppTest:
    return settled(next(button for button in page.button if button.label == "Publish once").click().run())


def test_a_first_visit_shows_what_the_page_is_for_and_a_living_example(page: AppTest) -> None:
    assert not page.exception
    assert "without exposing anyone" in texts(page)
    assert "Made-up numbers" in texts(page)
    assert not page.get("plotly_chart"), "what draws charts takes a browser longer than all else"
    grid, curve = (each.proto.body for each in page.get("html") if 'class="look-' in each.proto.body)
    assert grid.count('<th scope="row">') == 6
    assert grid.count("<td style=") == 30
    assert 'role="img" aria-label="95 in 100 counts are within, at ε = 1: age × region ±3' in curve
    page.button(key="redraw").click().run()
    assert grid not in [each.proto.body for each in page.get("html")], "drawn afresh"


def test_a_sample_settles_every_step(census: AppTest) -> None:
    shown = texts(census)
    assert "only you see this number" in shown
    assert "at most 73.2 % sure" in shown
    assert "50 % sure of one of their answers, can become at most 88.1 % sure of that" in shown, "that is e² to 1"
    assert "95 in 100 are within" in shown
    assert [metric.value for metric in census.metric] == ["0", "1", "no cap"]
    assert "No cap is set for census-1994" in shown
    assert "columns of the same names" not in shown


def test_moving_epsilon_moves_everything_and_spends_nothing(census: AppTest) -> None:
    census.select_slider[0].set_value("0.1").run()
    assert not census.exception
    assert "at most 52.5 % sure" in texts(census)
    assert "At ε = 0.1" in texts(census)
    assert census.metric[1].value == "0.1"
    assert ledger().spent("census-1994") == 0


def test_moving_epsilon_reads_the_ledger_once_and_going_back_predicts_nothing_again(
    census: AppTest, monkeypatch: pytest.MonkeyPatch
) -> None:
    done: list[str] = []

    def noted(where: Any, name: str) -> None:
        work = getattr(where, name)
        monkeypatch.setattr(where, name, lambda *those, **more: done.append(name) or work(*those, **more))

    noted(hash_chain, "read")
    for name in ("preview_table", "predict_table", "_curve"):
        noted(preview, name)
    noted(advice, "_looked_at")
    noted(strategy, "decide")
    noted(plan_form, "to_plan")
    census.select_slider[0].set_value("0.1").run()
    assert sorted(done) == ["_curve", "_looked_at", "decide", "predict_table", "preview_table", "read"]
    spec = census.get("plotly_chart")[0].proto.spec
    census.select_slider[0].set_value("0.2").run()
    done.clear()
    census.select_slider[0].set_value("0.1").run()
    assert done == ["read"]
    assert census.get("plotly_chart")[0].proto.spec == spec


@pytest.mark.parametrize("typed", ["0", "-1", "nan", "abc", "1e99", ""])
@pytest.mark.by_day(1)
def test_an_unusable_epsilon_is_explained_and_not_taken(census: AppTest, typed: str) -> None:
    census.segmented_control[0].set_value("Type it").run()
    box = next(box for box in census.text_input if "exactly" in box.label)
    labelled(census.button, "Publish once").click()  # a press that comes together with the text
    box.set_value(typed).run()
    assert not census.exception
    assert "still at 1" in texts(census)
    assert census.metric[1].value == "1"
    assert labelled(census.button, "Publish once").disabled, "nobody means to spend what the box does not say"
    assert ledger().datasets() == []
    labelled(census.text_input, "exactly").set_value("0.5").run()
    assert not labelled(census.button, "Publish once").disabled


@pytest.mark.parametrize(("typed", "caution"), [("0,5", ""), ("2", ""), ("3", "less than is usual"),
    ("10", "finding out almost surely"), ("10.5", "hardly limits")])  # fmt: skip
@pytest.mark.nightly
def test_a_high_epsilon_is_cautioned_against_more_and_more(census: AppTest, typed: str, caution: str) -> None:
    census.segmented_control[0].set_value("Type it").run()
    next(box for box in census.text_input if "exactly" in box.label).set_value(typed).run()
    assert not census.exception
    assert census.metric[1].value == typed.replace(",", ".")
    assert [bool(caution) and caution in warning.value for warning in census.warning] == [True] * bool(caution)


@pytest.mark.nightly
def test_epsilon_from_a_wanted_error(census: AppTest) -> None:
    census.segmented_control[0].set_value("From an error").run()
    button = next(button for button in census.button if button.label.startswith("Use ε = "))
    assert "The table that needs the largest ε: " in texts(census)
    wanted = button.label.removeprefix("Use ε = ")
    button.click().run()
    assert census.metric[1].value == wanted
    plan = visit_of(census).plan
    assert dpe.predict(plan)["half_width_95"][:-1].max() <= 10


@pytest.mark.nightly
def test_the_single_columns_are_named_where_they_need_the_most(census: AppTest) -> None:
    plan = letters_plan([30, 30], [["a", "b"], ["a"], ["b"]], epsilon="1", strategy="direct")
    visit_of(census).refresh(from_plan(plan))
    census.run()
    census.segmented_control[0].set_value("From an error").run()
    assert not census.exception
    said = next(caption.value for caption in census.caption if "needs the largest ε" in caption.value)
    button = next(button for button in census.button if button.label.startswith("Use ε = "))
    wanted, alone = (float(text.split("ε = ")[1].split()[0]) for text in (button.label, said))
    assert "a × b would be within ±" in said
    assert alone < wanted


def test_publishing_charges_once_and_shows_the_release(census: AppTest) -> None:
    publish(census)
    assert not census.exception
    assert "is spent; looking and downloading cost nothing" in texts(census)
    assert ledger().spent("census-1994") == 1
    first = visit_of(census).release
    census.run()
    assert visit_of(census).release is first
    again = AppTest.from_file(str(ENTRY), default_timeout=60)
    again.query_params["release"] = first.release_id
    again.run()
    assert visit_of(again).release.bundle == first.bundle
    assert ledger().spent("census-1994") == 1


def test_a_table_like_an_earlier_one_is_asked_about_before_the_charge(census: AppTest) -> None:
    sample = pd.read_parquet(ENTRY.parent / "data" / "census.parquet").iloc[10:].drop(columns="industry")
    held_plan = visit_of(census).plan
    assert held_plan is not None
    dpe.release(sample, held_plan.model_copy(update={"dataset": "an earlier *name*", "strategy": "direct"}), ledger())
    spent_so_far = settled(census.run()).metric[0]
    assert (spent_so_far.label, spent_so_far.value) == ("Spent so far", "1")
    asked = labelled(census.radio, "looks like")
    assert "about 100 % alike" in asked.label
    assert "no cap notices it" not in texts(census)
    asked.set_value(asked.options[1]).run()
    assert census.metric[0].value == "0"
    assert "under another name" not in texts(census), "nothing of it counts"
    assert "no cap notices it" in texts(census)

    publish(census)
    assert not census.exception
    (stated,) = ledger().history("census-1994")[-1].recognised
    assert (stated.dataset, stated.other_people) == ("an earlier *name*", True)
    assert ledger().spent("census-1994") == 1
    census.switch_page("pages/budget.py").run()
    for dataset in ("census-1994", "an earlier *name*"):  # each account says what the statement hides
        census.selectbox(key="budget_dataset").select(dataset).run()
        assert "stated to be other people" in texts(census)
        assert "(about 100 % alike). The account below does not count" in texts(census)
        assert "ε = 2 was spent on them in all" in texts(census)
        assert "can become at most 88.1 % sure" in texts(census)


def test_a_refusal_says_why_and_offers_ways_out(census: AppTest) -> None:
    ledger().set_cap("census-1994", "0.25")
    before = ledger().history()
    publish(census)
    assert "does not allow this" in texts(census)
    assert "Nothing was spent" in texts(census)
    assert ("Left now", "0.25") in {(metric.label, metric.value) for metric in census.metric}
    next(button for button in census.button if button.label == "Use what is left: ε = 0.25").click().run()
    publish(census)
    assert not census.exception
    assert ledger().left("census-1994") == 0
    assert len(ledger().history()) == len(before) + 1


def test_true_counts_stay_behind_their_switch(census: AppTest) -> None:
    publish(census)
    assert not any("true (private)" in frame.value.columns for frame in census.dataframe)
    next(toggle for toggle in census.toggle if "true counts" in toggle.label).set_value(True).run()
    assert not census.exception
    assert any("true (private)" in frame.value.columns for frame in census.dataframe)


def test_an_upload_shows_names_and_no_value(page: AppTest) -> None:
    page.get("file_uploader")[0].upload("clinic.csv", f"age,region\n30,{CANARY}\n40,North\n".encode()).run()
    assert not page.exception
    assert page.multiselect[0].options == ["age", "region"]
    page.multiselect[0].set_value(["age", "region"]).run()
    next(button for button in page.button if button.label == "Go on to what is known").click().run()
    assert not page.exception
    assert CANARY not in str(page.main), "values are not shown, nor suggested"
    assert "Still to fill in: age, region" in texts(page)


def test_a_workbook_of_two_sheets_asks_for_one_by_name(page: AppTest) -> None:
    file = BytesIO()
    with pd.ExcelWriter(file) as workbook:
        for name in ("About", "Pupils"):
            pd.DataFrame({"age": [7]}).to_excel(workbook, sheet_name=name, index=False)
    page.get("file_uploader")[0].upload("school.xlsx", file.getvalue()).run()
    sheet = labelled(page.selectbox, "Which sheet of school.xlsx?")
    assert sheet.options == ["About", "Pupils"]
    sheet.set_value("Pupils").run()
    assert page.multiselect[0].options == ["age"]


@pytest.mark.by_day(2)
@pytest.mark.parametrize(
    ("name", "content", "fragment"),
    [
        ("a.csv", b"", "empty"),
        ("a.csv", b"x,x\n1,2\n", "named 'x'"),
        ("a.csv", b"x,y\n1,2,3\n" + CANARY.encode() + b",2\n", "line 2"),
        ("a.parquet", b"PAR1nonsense", "Parquet"),
        ("a.xlsx", b"PK\x03\x04nonsense", "workbook"),
    ],
)
def test_an_unreadable_file_is_explained_and_none_of_it_is_shown(
    page: AppTest, name: str, content: bytes, fragment: str
) -> None:
    page.get("file_uploader")[0].upload(name, content).run()
    assert not page.exception
    assert fragment.lower() in texts(page).lower()
    assert CANARY not in str(page.main)


def test_an_unknown_release_in_the_address_is_reported(page: AppTest) -> None:
    page.query_params["release"] = "0" * 32
    page.run()
    assert not page.exception
    assert "no release with this address" in texts(page)


@pytest.mark.nightly
def test_a_plan_that_cannot_be_measured_at_this_epsilon_is_refused_beside_the_slider(census: AppTest) -> None:
    entries = visit_of(census).entries
    visit_of(census).entries = entries.with_(strategy="adaptive", epsilon="0.0005")
    census.run()
    assert not census.exception
    assert any("too small to choose" in warning.value for warning in census.warning)
    assert not any(button.label == "Publish once" for button in census.button)
    visit_of(census).entries = entries
    census.run()
    assert any(button.label == "Publish once" for button in census.button)


@pytest.mark.nightly
def test_a_title_typed_just_before_the_click_is_the_one_that_is_published(census: AppTest) -> None:
    census.text_input(key=visit_of(census).key("title")).set_value("Adults of 1994")
    published = visit_of(publish(census)).release
    assert published is not None, "one click, not two"
    assert published.plan.title == "Adults of 1994"


def test_the_name_of_the_owners_file_goes_to_readers_only_with_a_word_about_it(census: AppTest) -> None:
    assert "is the name of your file" not in texts(census), "the name of a sample is no secret"
    visit_of(census).sample, visit_of(census).table_name = "", "ward 7, Dr Ives.csv"
    title = census.text_input(key=visit_of(census).key("title"))
    assert "“ward 7, Dr Ives” is the name of your file. Readers will see it" in texts(
        title.set_value("ward 7, Dr Ives").run()
    )
    assert "is the name of your file" not in texts(title.set_value("Visits").run())


def test_another_dataset_with_these_columns_is_named_before_a_first_charge(census: AppTest) -> None:
    plan = to_plan(visit_of(census).entries)
    changed = plan.model_copy(update={"dataset": "adults"})
    with dpe.open_table(pd.DataFrame({name: ["x"] for name in plan.used})) as table:
        dpe.release(table, changed, ledger())
    census.run()
    assert "**adults** was published with columns of the same names" in texts(census)
    next(button for button in census.button if button.label == "Use the name adults").click().run()
    assert visit_of(census).entries.dataset == "adults"
    assert metrics(census)["Spent so far"] == "1"
    assert "No cap is set" not in texts(census), "it is asked for at the first charge"
