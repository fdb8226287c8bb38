"""The grid of all columns: what is typed there is declared, and what cannot be read stays beside its fault."""

from __future__ import annotations

import json
from itertools import accumulate
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from dpengine.sources.codebook_file import xlsx_bytes
from dpengine.translation.catalogue import speaking
from pages.parts.publish.column_card import FOUND
from pages.parts.publish.grid import CELLS, CONFIRMED, KIND, MISSING, NAME, OTHER, PUBLISH, SOURCE, STATE, WIDTHS
from pages.parts.publish.grid import _columns as grid_columns
from pages.parts.visit import saved_draft
from pages.parts.visit.plan.entries import shareable
from tests.corpus import statistical
from tests.pages.visits import labelled, press, settled, texts, visit, visit_of

COLUMNS = ("age", "region", "visit_date", "smoker", "score")
TABLE = ",".join(COLUMNS) + "\n30,North,2024-01-01,yes,10\n40,ZZ_CANARY_7f3a,2024-02-01,no,20\n"


@pytest.fixture
def page() -> AppTest:
    page = visit()
    page.get("file_uploader")[0].upload("clinic.csv", TABLE.encode()).run()
    page.multiselect[0].set_value(list(COLUMNS)).run()
    page.radio[0].set_value("single").run()
    labelled(page.button, "Go on").click().run()
    assert not page.exception
    return page


def grid(page: AppTest) -> Any:
    frame = page.data_editor[0].value
    return frame.set_index(NAME)


def edit(page: AppTest, rows: dict[str, dict[str, Any]]) -> AppTest:
    """Type into the grid, as a browser would send it: all edits since it was drawn anew."""
    key, names = page.data_editor[0].key, list(page.data_editor[0].value[NAME])
    edits = {names.index(name): cells for name, cells in rows.items()}
    page.session_state[key] = {"edited_rows": edits, "added_rows": [], "deleted_rows": []}
    page.run()
    assert not page.exception
    return page


def declared(page: AppTest, name: str) -> dict[str, Any]:
    return visit_of(page).entries.declared[name]


def test_each_column_has_a_row_with_what_its_name_suggests_and_nothing_of_the_rows(page: AppTest) -> None:
    rows = grid(page)
    assert list(rows.index) == list(COLUMNS)
    assert rows[KIND].to_dict() == {"age": "number", "region": "category", "visit_date": "date",
                                    "smoker": "yes or no", "score": "number"}  # fmt: skip
    assert rows[CELLS]["age"] == "0, 18, 30, 45, 65, 120"
    assert "by year" in rows[CELLS]["visit_date"]
    assert rows[CELLS]["region"] == rows[CELLS]["score"] == ""
    assert not rows[CONFIRMED].any()
    assert rows[STATE]["age"] == "? suggested: 7 cells"
    assert "ZZ_CANARY_7f3a" not in str(page.main)
    assert labelled(page.button, "Go on").disabled


def test_a_suggestion_has_no_effect_until_it_is_confirmed(page: AppTest) -> None:
    press(page, "Confirm 2 suggestions")  # the date still waits for how it is written
    assert grid(page)[CONFIRMED].to_dict() == {"age": True, "region": False, "visit_date": False, "smoker": True,
                                               "score": False}  # fmt: skip
    assert "suggested" not in declared(page, "age")
    assert not [button for button in page.button if "suggestions" in button.label]


def test_no_suggestion_is_confirmed_by_looking_at_it() -> None:
    page = visit()
    page.get("file_uploader")[0].upload("staff.csv", b"age,wage,sex,hired\n30,2100,f,2020-01-31\n").run()
    settled(page)
    page.multiselect[0].set_value(["age", "wage", "sex", "hired"]).run()
    press(page, "Go on to what is known")
    suggested = {name for name, column in visit_of(page).entries.declared.items() if column.get("suggested")}
    assert {"age", "wage", "sex"} <= suggested
    for name in suggested:
        labelled(page.selectbox, "One column in detail").set_value(name).run()
        assert not page.exception
    assert {name for name, column in visit_of(page).entries.declared.items() if column.get("suggested")} == suggested


def test_cells_that_a_release_finds_are_said_to_be_found_and_by_no_choice_of_a_source(page: AppTest) -> None:
    edit(page, {"region": {CELLS: "found among @##"}, "score": {CELLS: "0 to 100 by 1 in 20 found bins"}})
    for name in ("region", "score"):
        assert grid(page)[SOURCE][name] == FOUND
        page.selectbox(key=visit_of(page).key("detail")).set_value(name).run()
        card = next(box for box in page.selectbox if box.label == "How you know")
        assert card.disabled
        assert card.options == [FOUND]
    assert [grid(page)[STATE][name] for name in ("region", "score")] == ["✓ up to 1,002 cells", "✓ up to 22 cells"]
    assert grid(page)[SOURCE]["age"] == "a standard list"
    before = page.data_editor[0].key
    edit(page, {"age": {SOURCE: FOUND}, "region": {SOURCE: "I typed it"}})
    assert page.data_editor[0].key != before, "drawn anew, without what cannot be chosen"
    assert grid(page)[SOURCE][["age", "region"]].to_list() == ["a standard list", FOUND]
    assert declared(page, "region")["values"] == "found"


def test_values_that_were_seen_in_the_data_stay_so_when_another_is_typed(page: AppTest) -> None:
    here = visit_of(page)
    seen = here.entries.declared["region"] | {"values": ["North"], "source": "confirmed"}
    here.refresh(here.entries.with_(declared=here.entries.declared | {"region": seen}))
    page.run()
    edit(page, {"region": {CELLS: "North, South"}})
    assert (declared(page, "region")["values"], declared(page, "region")["source"]) == (["North", "South"], "confirmed")
    edit(page, {"region": {CELLS: "East, West"}})
    assert declared(page, "region")["source"] == "typed", "none of these was taken from the data"


def test_one_suggestion_is_confirmed_by_its_tick_or_by_the_source(page: AppTest) -> None:
    edit(page, {"age": {CONFIRMED: True}, "smoker": {SOURCE: "a codebook"}})
    assert grid(page)[STATE]["age"] == "✓ 7 cells"
    assert declared(page, "smoker") == {"name": "smoker", "kind": "yesno", "source": "codebook"}
    assert declared(page, "age")["source"] == "standard", "what was suggested was not typed by a person"


def test_several_rows_are_filled_at_once_and_make_a_plan(page: AppTest) -> None:
    edit(page, {
        "age": {CELLS: "18 to 90 by 5", MISSING: False},
        "region": {CELLS: 'North, South, "Paris, TX"'},
        "visit_date": {CELLS: "2024 to 2025 by quarter, written 2024-12-31", OTHER: False},
        "smoker": {CONFIRMED: True},
        "score": {CELLS: "us-states"},
    })  # fmt: skip
    assert not labelled(page.button, "Go on").disabled
    labelled(page.button, "Go on").click().run()
    page.radio[0].set_value("one").run()
    labelled(page.button, "Go on").click().run()
    assert not page.exception
    plan = visit_of(page).plan
    assert plan is not None
    assert [len(plan.column(name).declared) for name in COLUMNS] == [15, 3, 8, 2, 51]
    assert not plan.column("age").missing
    assert not plan.column("visit_date").other
    assert plan.column("score").kind == "category"
    assert plan.column("score").source == "standard"


def test_a_wrong_cell_is_named_with_what_to_do_and_stays_as_typed(page: AppTest) -> None:
    edit(page, {"age": {CELLS: "18 to 90"}})
    assert "say how wide the bins are" in texts(page)
    assert "18 to 90" in grid(page)[CELLS]["age"]
    assert "Still to fill in: age" in texts(page)
    press(page, "Confirm 1 suggestion")
    assert grid(page)[CELLS]["age"] == "18 to 90"
    draft = saved_draft.from_text(saved_draft.to_text(saved_draft.Draft("t", "", (), visit_of(page).entries)) or "")
    assert draft is not None
    assert draft.entries.declared["age"]["written"] == "18 to 90", "a reload keeps it too"
    edit(page, {"age": {CELLS: "18 to 90 by 9"}})
    assert "written" not in declared(page, "age")
    assert len(declared(page, "age")["edges"]) == 9


@pytest.mark.nightly
def test_a_text_of_another_kind_changes_the_kind_unless_it_was_chosen(page: AppTest) -> None:
    edit(page, {"region": {CELLS: "0 to 10 by 5"}, "score": {KIND: "date", CELLS: "0 to 10 by 5"}})
    assert grid(page)[KIND]["region"] == "number"
    assert declared(page, "score")["kind"] == "date"
    assert "first and last day" in texts(page)


@pytest.mark.nightly
def test_a_kind_alone_can_be_changed_for_several_rows(page: AppTest) -> None:
    edit(page, {"region": {KIND: "yes or no"}, "score": {KIND: "yes or no"}})
    assert declared(page, "region")["kind"] == declared(page, "score")["kind"] == "yesno"
    edit(page, {})  # as a browser says of cells that are by now what was typed into them
    assert declared(page, "region")["kind"] == "yesno"


@pytest.mark.nightly
def test_an_unticked_column_is_left_out_and_comes_back(page: AppTest) -> None:
    edit(page, {"region": {PUBLISH: False}, "score": {PUBLISH: False}})
    assert visit_of(page).entries.chosen == ("age", "visit_date", "smoker")
    assert grid(page)[STATE]["region"] == "left out"
    assert "Still to fill in: age, visit\\_date, smoker".replace("\\", "") in texts(page)
    edit(page, {"region": {PUBLISH: True}, "score": {PUBLISH: False}})
    assert visit_of(page).entries.chosen == ("age", "region", "visit_date", "smoker")


def test_the_card_and_the_grid_show_the_same(page: AppTest) -> None:
    labelled(page.selectbox, "in detail").set_value("score").run()
    edit(page, {"score": {CELLS: "0 to 30 by 10"}})
    assert labelled(page.text_input, "Edges").value == "0, 10, 20, 30"
    labelled(page.text_input, "Edges").set_value("0, 5, 15").run()
    assert grid(page)[CELLS]["score"] == "0, 5, 15"
    edit(page, {"score": {CELLS: "0, 7"}})
    assert labelled(page.text_input, "Edges").value == "0, 7"
    assert declared(page, "score")["edges"] == ["0", "7"]


@pytest.mark.nightly
def test_the_grid_is_drawn_anew_only_where_it_would_hide_a_change(page: AppTest) -> None:
    key = page.data_editor[0].key
    edit(page, {"region": {CELLS: "North, South"}})
    press(page, "Confirm 2 suggestions")
    labelled(page.selectbox, "in detail").set_value("score").run()
    labelled(page.text_input, "Edges").set_value("0, 5, 15").run()
    assert page.data_editor[0].key == key, "what a browser is about to send is not lost"
    labelled(page.selectbox, "in detail").set_value("region").run()
    labelled(page.text_area, "Values").set_value("East").run()
    assert page.data_editor[0].key != key
    assert grid(page)[CELLS]["region"] == "East"


@pytest.mark.nightly
def test_a_codebook_sheet_is_filled_in_and_brought_back(page: AppTest) -> None:
    sheet = b"column;kind;values or bins;other\nregion;;North, South;no\nscore;number;0 to 30 by 10;\nelsewhere;;A;\n"
    labelled(page.get("file_uploader"), "Bring a codebook").upload("codebook.csv", sheet).run()
    assert not page.exception
    assert declared(page, "region")["source"] == "codebook"
    assert grid(page)[STATE].to_dict()["region"] == "✓ 3 cells"
    assert grid(page)[STATE].to_dict()["score"] == "✓ 5 cells"
    written = visit_of(page).entries
    workbook = xlsx_bytes(written.declared.values(), {"region": {"label": "Area", "words": {"North": "up"}}})
    labelled(page.get("file_uploader"), "Bring a codebook").upload("codebook.xlsx", workbook).run()
    assert not page.exception
    assert declared(page, "region") == written.declared["region"]
    assert visit_of(page).entries.texts["region"] == {"label": "Area", "words": {"North": "up"}}


@pytest.mark.nightly
def test_a_refused_codebook_is_named_and_does_not_stop_the_next_one(page: AppTest) -> None:
    box = labelled(page.get("file_uploader"), "Bring a codebook")
    box.upload("broken.yaml", b"columns: [").run()
    assert not page.exception
    assert [warning.value for warning in page.warning if "**broken.yaml**: " in warning.value]
    sheet = b"column;kind;values or bins\nregion;;North, South\n"
    box = labelled(page.get("file_uploader"), "Bring a codebook")
    box.set_value([("broken.yaml", b"columns: [", "text/yaml"), ("codebook.csv", sheet, "text/csv")]).run()
    assert not page.exception
    assert declared(page, "region")["source"] == "codebook"
    assert [toast.value for toast in page.toast if "Not read: broken.yaml" in toast.value.replace("\\:", ":")]
    assert not [warning.value for warning in page.warning if "broken.yaml" in warning.value]


@pytest.mark.nightly
def test_what_a_data_file_says_as_a_codebook_waits_to_be_confirmed(page: AppTest) -> None:
    content = statistical.written(
        "sav", {"region": [1.0], "score": [1.0]}, column_labels={"region": "", "score": "Income a year"},
        variable_value_labels={"region": {1: "North", 2: "South"}},
    )  # fmt: skip
    labelled(page.get("file_uploader"), "Bring a codebook").upload("survey.sav", content).run()
    assert not page.exception
    assert grid(page)[STATE].to_dict()["region"] == "? suggested: 4 cells"
    known = visit_of(page).entries.texts
    assert (known["region"]["words"], known["score"]["description"]) == ({"1": "North", "2": "South"}, "Income a year")


@pytest.mark.nightly
def test_a_codebook_of_another_tool_is_read_without_measured_entries(page: AppTest) -> None:
    columns: list[dict[str, Any]] = [
        {"name": "region", "datatype": "string", "keyValues": ["North", "South"]},
        {"name": "score", "datatype": "integer", "minimum": 0, "maximum": 30},
    ]
    box = labelled(page.get("file_uploader"), "Bring a codebook")
    box.upload("public.json", json.dumps({"tableSchema": {"columns": columns}}).encode()).run()
    assert not page.exception
    assert declared(page, "region")["source"] == "codebook"
    assert [str(edge) for edge in declared(page, "score")["edges"]] == ["0", "30"]
    columns[0] |= {"nullableProportion": 0.25, "keyValues": ["North", "South", "East"]}
    bins = [{"predicate": {"lowerBound": low, "upperBound": low + 15}} for low in (0, 15)]
    columns[1] |= {"partitions": bins}
    measured = json.dumps({"publicLength": 344, "tableSchema": {"columns": columns}}).encode()
    labelled(page.get("file_uploader"), "Bring a codebook").upload("measured.json", measured).run()
    assert not page.exception
    assert grid(page)[STATE].to_dict()["region"] == "? suggested: 5 cells"
    said = [toast.value.replace("\\:", ":") for toast in page.toast if "Not read" in toast.value]
    assert said[0] == "Not read: table: the number of rows, which only the rows can tell"
    assert len(said) == 3
    assert not [number for number in ("344", "0.25") if number in str(said)]
    assert len(declared(page, "score")["edges"]) == 3
    leaving = shareable(visit_of(page).entries).declared
    assert (leaving["region"]["values"], leaving["score"]["edges"]) == ([], [])


@pytest.mark.nightly
def test_shapes_of_regions_are_brought_for_the_column_that_they_fit(page: AppTest) -> None:
    sheet = b"column,kind,values or bins\nregion,,North; South\nscore,number,0 to 30 by 10\n"
    labelled(page.get("file_uploader"), "Bring a codebook").upload("codebook.csv", sheet).run()
    square = {"type": "Polygon", "coordinates": [[[0, 0], [1, 0], [1, 1], [0, 0]]]}
    features = [{"type": "Feature", "properties": {"name": name}, "geometry": square} for name in ("North", "Sea")]
    text = json.dumps({"type": "FeatureCollection", "features": features}).encode()
    labelled(page.get("file_uploader"), "Bring a codebook").upload("lands.geojson", text).run()
    assert not page.exception
    assert set(visit_of(page).entries.texts["region"]["shapes"]) == {"North"}
    labelled(page.get("file_uploader"), "Bring a codebook").upload("other.geojson", b"{}").run()
    assert "not GeoJSON" in page.warning[0].value


@pytest.mark.parametrize("letters", [6, 16])
def test_the_edge_of_the_grid_cuts_no_heading_in_two_on_screens_of_usual_widths(letters: int) -> None:
    ends = list(accumulate(column["width"] for column in in_order(letters)))
    assert 718 in ends, "on a screen of 1440"
    assert letters > 10 or 620 in ends, "on a screen of 1280"


def test_what_a_column_gives_is_not_cut() -> None:
    """Neither "✗ how are dates written?" nor "? vorgeschlagen: 5 Zellen", at 6 pixels a letter and 16 around."""
    assert grid_columns(6)[STATE]["width"] >= 6 * len("✗ how are dates written?") + 16
    assert grid_columns(6)[STATE]["width"] >= 165


def in_order(letters: int) -> list[Any]:
    """The columns of the grid from left to right, if the longest name of a column has so many letters."""
    columns = grid_columns(letters)
    return [columns[name] for name in WIDTHS]


def test_a_german_page_writes_spans_in_german_words_and_reads_them() -> None:
    page = visit(language="de")
    with speaking("de"):  # in which AppTest looks for what each box has chosen
        page.get("file_uploader")[0].upload("clinic.csv", TABLE.encode()).run()
        page.multiselect[0].set_value(list(COLUMNS)).run()
        labelled(page.button, "Weiter").click().run()
        shown = grid(page)[CELLS]["visit_date"]
        assert shown.endswith(" je Jahr")
        before = declared(page, "visit_date")
        edit(page, {"visit_date": {CELLS: f"{shown}, geschrieben 31.12.2024"}})
        assert declared(page, "visit_date")["format"] == "%d.%m.%Y"
        assert declared(page, "visit_date")["from"] == before["from"]
        edit(page, {"score": {CELLS: "0 bis 10 je 5"}})
        assert declared(page, "score")["edges"] == ["0", "5", "10"]
