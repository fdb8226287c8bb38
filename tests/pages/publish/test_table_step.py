"""An uploaded table is first read in an isolated process."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import xlsxwriter

from dpengine import PlanError
from dpengine.owner import distinct_texts, row_count
from dpengine.sources.files import isolated
from pages.parts.visit import saved_draft
from pages.parts.visit.plan import plan_form
from pages.parts.visit.plan.entries import Draft
from tests.corpus.statistical import written
from tests.pages.visits import labelled, press, settled, texts, visit, visit_of


def _text() -> bytes:
    return b"a,b\n1,2\n"


def _parquet() -> bytes:
    file = io.BytesIO()
    pq.write_table(pa.table({"a": [1], "b": [2]}), file)
    return file.getvalue()


@pytest.mark.parametrize(("name", "content", "readers"), [("t.csv", _text, 1), ("t.parquet", _parquet, 2)])
def test_an_uploaded_table_of_any_size_is_read_in_full_elsewhere_first(
    name: str, content: Callable[[], bytes], readers: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[object] = []
    read = isolated.read

    def watched(*given: Any, **arguments: Any) -> Any:
        asked.append(arguments["in_full"])
        return read(*given, **arguments)

    monkeypatch.setattr(isolated, "read", watched)
    page = visit()
    page.get("file_uploader")[0].upload(name, content()).run()
    settled(page)
    assert visit_of(page).table is not None
    assert asked == [True] * readers


HEADLESS = b"Ann Smith,34,asthma\nBob Jones,51,diabetes\n"


def test_a_file_without_names_is_noticed_before_a_person_becomes_them() -> None:
    page = visit()
    page.get("file_uploader")[0].upload("people.csv", HEADLESS).run()
    settled(page)
    assert visit_of(page).table is None, "nothing goes on before the question is answered"
    assert "The first line looks like data" in texts(page)
    assert "Ann Smith" not in texts(page)
    press(page, "It is a row: there are no names")
    settled(page)
    table = visit_of(page).table
    assert table is not None
    assert [field.name for field in table.columns] == ["column_1", "column_2", "column_3"]


def test_titles_above_the_names_are_skipped_by_a_click_each() -> None:
    page = visit()
    page.get("file_uploader")[0].upload("residents.csv", b"Residents in 2025;\n;\ntown;age\nNorth;34\n").run()
    for complaint in ("column 2 has no name", "2 columns have no name (1, 2)"):
        settled(page)
        assert [complaint in each.value for each in page.warning] == [True]
        assert "header" not in page.warning[0].value, "the place is no word for a visitor"
        press(page, "A title stands above the names: skip a row")
    settled(page)
    table = visit_of(page).table
    assert table is not None
    assert [field.name for field in table.columns] == ["town", "age"]


def test_two_columns_of_one_name_are_no_title_above_the_names() -> None:
    page = visit()
    page.get("file_uploader")[0].upload("twice.csv", b"name,age,age\nAnn,34,35\n").run()
    settled(page)
    assert [each.value for each in page.warning] == ["2 columns are named 'age'; rename all but one"]
    assert "A title stands above the names: skip a row" not in [button.label for button in page.button]
    press(page, "Number them in their order: name, name (2), …")
    settled(page)
    table = visit_of(page).table
    assert table is not None
    assert [field.name for field in table.columns] == ["name", "age", "age (2)"]
    assert visit_of(page).read_as == {"number_names": True}


def test_a_parquet_file_in_place_of_one_with_numbered_names_is_read_plainly() -> None:
    page = visit()
    page.get("file_uploader")[0].upload("2025.csv", b"age,age\n34,35\n").run()
    press(settled(page), "Number them in their order: name, name (2), …")
    here = visit_of(settled(page))
    here.open_step("table")
    settled(page.run())
    file = io.BytesIO()
    pd.DataFrame({"age": [34, 35]}).to_parquet(file)
    page.get("file_uploader")[0].upload("2026.parquet", file.getvalue()).run()
    settled(page)
    assert (here.table_name, here.read_as) == ("2026.parquet", {})


def _sheets(**rows: list[list[object]]) -> bytes:
    file = io.BytesIO()
    with xlsxwriter.Workbook(file) as book:
        for name, lines in rows.items():
            sheet = book.add_worksheet(name)
            for place, line in enumerate(lines):
                sheet.write_row(place, 0, line)
    return file.getvalue()


@pytest.mark.nightly
def test_a_new_file_in_place_of_one_like_it_is_read_from_the_same_rows_and_sheet() -> None:
    page = visit()
    titled: list[list[object]] = [["Residents"], ["town", "age"], ["North", 34]]
    page.get("file_uploader")[0].upload("2025.xlsx", _sheets(notes=[["x"]], data=titled)).run()
    settled(page)
    labelled(page.selectbox, "Which sheet of").select("data").run()
    settled(page)
    press(page, "A title stands above the names: skip a row")
    settled(page)
    here = visit_of(page)
    assert here.read_as == {"sheet": "data", "skip_rows": 1}
    here.open_step("table")
    settled(page.run())
    assert not [button for button in page.button if button.label == "Read the file again"], "nothing else is stated"
    newer = [*titled, ["South", 50], ["West", 1]]
    page.get("file_uploader")[0].upload("2026.xlsx", _sheets(notes=[["x"]], data=newer)).run()
    settled(page)
    assert here.table_name == "2026.xlsx"
    assert here.read_as == {"sheet": "data", "skip_rows": 1}
    assert row_count(here.table) == 3
    assert "read like the table before: sheet data, 1 row above the names left out" in texts(page)


def test_a_new_file_that_is_not_like_the_one_before_is_read_plainly() -> None:
    page = visit()
    page.get("file_uploader")[0].upload("2025.csv", b"Residents;\n;\ntown;age\nNorth;34\n").run()
    for _row in range(2):
        press(settled(page), "A title stands above the names: skip a row")
    here = visit_of(settled(page))
    assert here.read_as == {"skip_rows": 2}
    here.open_step("table")
    settled(page.run())
    page.get("file_uploader")[0].upload("pupils.csv", b"class;days\n7a;3\n7b;4\n7c;5\n").run()
    settled(page)
    assert (here.table_name, here.read_as) == ("pupils.csv", {})
    assert row_count(here.table) == 3
    assert "read like the table before" not in texts(page)


@pytest.mark.parametrize(
    ("encoding", "system", "towns"),
    [("mac_roman", "Mac OS", ["Köln", "Gütersloh"]), ("mac_roman", "Mac OS", ["Straße", "Öffentlich"]),
     ("cp850", "DOS", ["Köln", "Lübeck"]), ("cp850", "DOS", ["Märkischer Kreis"])],
)  # fmt: skip
def test_letters_of_an_old_mac_or_of_dos_are_read_right_by_a_click(
    encoding: str, system: str, towns: list[str]
) -> None:
    page = visit()
    content = "town;age\n" + "".join(f"{town};3{k}\n" for k, town in enumerate(towns))
    page.get("file_uploader")[0].upload("towns.csv", content.encode(encoding)).run()
    settled(page)
    assert visit_of(page).table is None, "nothing goes on before the question is answered"
    press(page, f"Read it as a file of {system}")
    here = visit_of(settled(page))
    assert here.read_as == {"encoding": encoding}
    assert distinct_texts(here.table, "town", limit=9) == sorted(towns)


@pytest.mark.parametrize("encoding", ["utf-8", "cp1252"])
def test_letters_of_other_languages_and_signs_raise_no_question(encoding: str) -> None:
    page = visit()
    towns = ["Šibenik", "Brašov 5 €", "L’Haÿ “x” – §5", "VŠEM ŸX", "Niš", "50€", "€5", "Köln"]
    content = "town\tage\n" + "".join(f"{town}\t3{k}\n" for k, town in enumerate(towns))
    page.get("file_uploader")[0].upload("towns.tsv", content.encode(encoding)).run()
    assert visit_of(settled(page)).table is not None


TOTAL = b"class;days\n7a;3\n7b;4\nTotal;77001\n", "The last row looks like a total", "77001"
SUMMARY = b"class;Count\n7a;3001\n7b;999\n", "the column Count says how many", "3001"


@pytest.mark.by_day(2)
@pytest.mark.parametrize(("file", "answer", "rows", "read_as"), [
    (TOTAL, "It stands for nobody: leave it out", 2, {"skip_last": 1}),
    (TOTAL, "It is a row of the table", 3, {}),
    (SUMMARY, "Count that many people", 4000, {"frequency": "Count"}),
    (SUMMARY, "Each row is one person", 2, {}),
])  # fmt: skip
def test_what_a_row_stands_for_is_what_its_owner_says(
    file: tuple[bytes, str, str], answer: str, rows: int, read_as: dict[str, object]
) -> None:
    page, (content, doubt, private) = visit(), file
    page.get("file_uploader")[0].upload("pupils.csv", content).run()
    settled(page)
    assert visit_of(page).table is None, "nothing goes on before the question is answered"
    assert doubt in texts(page)
    assert private not in texts(page)
    press(page, answer)
    settled(page)
    table = visit_of(page).table
    assert table is not None
    assert row_count(table) == rows
    assert visit_of(page).read_as == read_as
    visit_of(page).open_step("unit")
    assert ("as many people as Count says" in texts(settled(page.run()))) == ("frequency" in read_as)


def test_several_rows_below_a_table_are_left_out_by_one_click() -> None:
    page = visit()
    content = b"class;sex;days\n7a;f;3\n7b;m;4\nTotal;;7\n;;\nSource: school;;\n"
    page.get("file_uploader")[0].upload("pupils.csv", content).run()
    settled(page)
    assert "The last 3 rows look like totals" in texts(page)
    press(page, "They stand for nobody: leave them out")
    settled(page)
    table = visit_of(page).table
    assert table is not None
    assert row_count(table) == 2
    assert visit_of(page).read_as == {"skip_last": 3}


def test_a_summary_with_a_total_below_is_asked_about_both() -> None:
    page = visit()
    page.get("file_uploader")[0].upload("pupils.csv", b"class;Count\n7a;3001\n7b;999\nTotal;4000\n").run()
    settled(page)
    press(page, "It stands for nobody: leave it out")
    settled(page)
    press(page, "Count that many people")
    settled(page)
    table = visit_of(page).table
    assert table is not None
    assert row_count(table) == 4000
    assert visit_of(page).read_as == {"skip_last": 1, "frequency": "Count"}


TONGUES = [[each for i, each in enumerate(("German", "Arabic", "Urdu", "Thai")) if (k % 15 + 1) >> i & 1]
           for k in range(60)]  # fmt: skip


@pytest.mark.by_day(1)
@pytest.mark.parametrize("listed", [True, False])
def test_several_answers_in_a_cell_become_columns_once_their_owner_lists_them(listed: bool) -> None:
    page, lines = visit(), [f"{k};{', '.join(each)}" for k, each in enumerate(TONGUES)]
    page.get("file_uploader")[0].upload("pupils.csv", "\n".join(["pupil;speaks", *lines]).encode()).run()
    settled(page)
    assert visit_of(page).table is None, "nothing goes on before the question is answered"
    assert "The column speaks seems to hold several answers" in texts(page)
    assert "Urdu" not in texts(page), "the owner lists what is public"
    if listed:
        box = next(each for each in page.text_area if each.label == "Possible answers, one a line")
        box.input("German\nUrdu\n").run()
    press(page, "Make a column of each answer" if listed else "Leave it as it is")
    settled(page)
    table = visit_of(page).table
    assert table is not None
    made = ["speaks: German", "speaks: Urdu"] if listed else []
    assert [field.name for field in table.columns] == ["pupil", "speaks", *made]
    assert visit_of(page).read_as == ({"answers": {"speaks": ["German", "Urdu"]}} if listed else {})


def test_answers_in_another_form_are_refused_with_an_example() -> None:
    page = visit()
    next(each for each in page.text_area if "several answers" in each.label).input("speaks: German").run()
    assert "languages = German; Turkish" in texts(page)


def test_names_that_look_like_data_can_be_confirmed() -> None:
    page = visit()
    page.get("file_uploader")[0].upload("odd.csv", b"1,2\n3,4\n").run()
    settled(page)
    press(page, "These are the names")
    settled(page)
    table = visit_of(page).table
    assert table is not None
    assert [field.name for field in table.columns] == ["1", "2"]


def test_what_a_file_says_of_its_codes_waits_for_a_person_and_then_tells_readers() -> None:
    labels = {"sex": "Sex at birth", "smokes": ""}
    content = written(
        "sav", {"sex": [1.0, 2.0], "smokes": [1.0, 3.0]}, column_labels=labels,
        variable_value_labels={"sex": {1: "male", 2: "female"}, "smokes": {1: "yes", 2: "no", 3: "no answer"}},
        missing_ranges={"smokes": [3]},
    )  # fmt: skip
    page = visit()
    page.get("file_uploader")[0].upload("survey.sav", content).run()
    settled(page)
    page.multiselect[0].set_value(["sex", "smokes"]).run()
    press(page, "Go on to what is known")
    assert "some programs make it from the rows" in texts(page)
    declared = visit_of(page).entries.declared
    assert [declared[name]["values"] for name in ("sex", "smokes")] == [["1", "2"], ["1", "2"]]
    entries, table = visit_of(page).entries, visit_of(page).table
    kept = saved_draft.from_text(saved_draft.to_text(Draft("survey.sav", "", (), entries)) or "")
    assert kept is not None
    assert table is not None
    assert kept.entries.declared["sex"]["values"] == [], "what nobody confirmed is not kept elsewhere"
    assert saved_draft._with_lists_of(table, kept.entries) == entries, "and comes back with the file"
    with pytest.raises(PlanError, match="confirm the suggestion"):
        plan_form.to_plan(visit_of(page).entries.with_(several_rows=False))
    press(page, "Confirm 2 suggestions")
    plan = plan_form.to_plan(visit_of(page).entries.with_(several_rows=False))
    sex, smokes = plan.columns
    assert (sex.heading, sex.shown[:2], sex.source) == ("Sex at birth", ("male", "female"), "codebook")
    assert smokes.shown[:2] == ("yes", "no")
    assert "some programs make it from the rows" not in texts(page)
