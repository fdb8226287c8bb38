"""Previews and releases on the page: facts one by one, the right unit, private numbers only where they belong."""

from __future__ import annotations

import io
import os
import re
import struct
import zipfile
from pathlib import Path

import pandas as pd
import pytest
from streamlit.testing.v1 import AppTest

import dpengine as dpe
from dpengine import replicates
from dpengine.measure.strategy import decide
from dpengine.spec.plan import Plan
from pages.parts.publish.outlook import preview
from pages.parts.release import chart
from pages.parts.visit import strategy
from tests.pages.visits import released, settled, texts, visit, visit_of
from tests.plans import CLINIC, letters_plan


def words(plan: Plan) -> str:
    """Return what the preview says of `plan`, outside of any visit."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(strategy, "strategy_of", decide)  # it is remembered in the visit
        return preview.in_words(plan)


def shown(plan: Plan, *, alike: bool = True) -> AppTest:
    """Open a release of `plan`, of 60 equal rows, or of ten rows in each cell of all columns."""
    labels = {name: plan.column(name).labels[: 1 if alike else None] for name in plan.used}
    rows = pd.MultiIndex.from_product(labels.values(), names=labels).repeat(60 if alike else 10).to_frame(index=False)
    return released(rows.assign(who=range(len(rows))), plan)[0]


def test_rows_are_not_called_people() -> None:
    several = letters_plan([2, 3], [["a", "b"]], unit={"id": "who", "rows": 3})
    said = texts(shown(several))
    assert " rows in all" in said
    assert "people in all" not in said
    assert "Of each person (column who), at most 3 rows were kept, chosen at random." in said
    assert " rows." in words(several)
    assert "people" not in words(several)


def test_people_are_called_people() -> None:
    assert " people in all" in texts(shown(letters_plan([2, 3], [["a", "b"]])))


@pytest.mark.nightly
def test_a_chart_that_a_phone_has_no_room_for_is_moved_sideways() -> None:
    hint = "Move the chart sideways"
    assert hint in texts(shown(letters_plan([2, 12], [["a", "b"]])))
    assert hint not in texts(shown(letters_plan([12, 2], [["a", "b"]])))


def test_an_almost_exact_release_is_called_almost_certain_to_be_exact() -> None:
    said = words(Plan.loads(CLINIC).at(100))
    assert "a cell of age × region is **almost certain** to be exact" in said
    assert "The total is **almost certain** to be exact." in said
    assert "No cell would be mostly noise" in said
    assert "Noise would hardly matter in it." in words(
        Plan.loads(CLINIC).at(100).model_copy(update={"rows_about": None})
    )
    assert "±0" not in said


def test_a_belief_is_rounded_up_and_never_down() -> None:
    assert "can become almost certain." in texts(shown(letters_plan([2], [["a"]], epsilon="20")))
    assert "can become at most 73.2 % sure." in texts(shown(letters_plan([2], [["a"]])))


def test_without_a_stated_size_the_preview_says_from_which_size_on_the_table_is_of_use() -> None:
    plan = Plan.loads(CLINIC)
    assert "in a table of about 5,000 people." in words(plan)
    unsized = words(plan.model_copy(update={"rows_about": None}))
    assert "in the table, most of its cells would be mostly noise; the picture assumes 10,000." in unsized
    assert "No cell" not in unsized


def test_all_tables_are_offered_for_a_spreadsheet() -> None:
    at = shown(letters_plan([2, 3], [["a", "b"]]))
    box = at.selectbox(key="single-file")
    assert "tables.xlsx, all tables for a spreadsheet" in box.options
    box.set_value("tables.xlsx").run()
    assert not at.exception
    assert "Download tables.xlsx" in [each.label for each in at.get("download_button")]


def test_the_single_file_offered_first_is_the_report() -> None:
    at = shown(letters_plan([2], [["a"]]))
    assert at.selectbox(key="single-file").value == "report.html"
    assert [button.label for button in at.get("download_button")] == ["Download everything", "Download report.html"]


@pytest.mark.by_day(1)
@pytest.mark.parametrize("sizes", [[3, 4, 2], [2, 2, 20], [2, 3, 2, 2]])
def test_columns_past_the_second_are_shown_one_value_at_a_time(sizes: list[int]) -> None:
    names = list("abcd"[: len(sizes)])
    at = shown(letters_plan(sizes, [names]))
    assert at.selectbox(key="release-c").options == ["all", *(f"c{k}" for k in range(sizes[2]))]
    at.selectbox(key="release-c").select("c1").run()
    assert not at.exception
    roomy = sizes[2] <= 12
    assert bool(at.segmented_control) is roomy
    if roomy:
        at.segmented_control(key="release-layout").set_value("Side by side").run()
        assert not at.exception
        assert ["release-c" in (box.key or "") for box in at.selectbox].count(True) == 0


def test_true_counts_come_with_their_difference_numbers_first() -> None:
    at = shown(letters_plan([2, 3], [["a", "b"]]))
    assert "Only you see this; never share it" in texts(at)
    assert not at.metric
    at.toggle(key="compare").set_value(True).run()
    assert not at.exception
    frame = next(each.value for each in at.dataframe if "true (private)" in each.value)
    assert (frame["off by"] == frame["count"] - frame["true (private)"]).all()
    assert [metric.label for metric in at.metric] == ["Off by, on average", "Off by, at most", "Within their interval"]
    assert at.metric[2].value.endswith(" of 6")
    tables = next(each.value for each in at.dataframe if "like a sample of" in each.value)
    assert set(tables["table"]) == {"a × b", "total"}
    assert tables["like a sample of"].is_monotonic_increasing, "the worst first"
    assert re.search(r"This table is (\*\*as far off as|\*\*as exact as|farther off than|\*\*exact)", texts(at))


@pytest.mark.nightly
def test_a_coefficient_of_0_has_no_sign_that_a_release_could_turn() -> None:
    """Least squares gives some 1e-14 instead, whose sign is one of rounding."""
    plan = Plan(
        dataset="clinic", epsilon=1, tables=[["age", "region"]],
        columns=[
            {"name": "age", "kind": "number", "edges": [0, 18, 30, 45, 65, 120], "other": False, "missing": False},
            {"name": "region", "kind": "category", "values": ["North", "South"], "other": False, "missing": False},
        ],
    )  # fmt: skip
    ages = [k % 90 for k in range(300)]
    rows = pd.DataFrame({"age": 2 * ages, "region": ["North"] * 300 + ["South"] * 300})
    at, _ = released(rows, plan)
    at.toggle(key="compare").set_value(True).run()
    settled(at)
    terms = next(each.value for each in at.dataframe if "term" in each.value)
    assert terms["term"].tolist() == ["(constant)", "region = South"]
    assert terms["true (private)"][1] == 0
    assert "none has the opposite sign" in texts(at)


def test_means_and_a_regression_are_compared_and_nothing_of_it_is_kept(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """The canary is a mean of the real rows, in digits and in bytes."""
    plan = Plan(
        dataset="clinic", epsilon="0.5", tables=[["region", "age"], ["smokes"]],
        columns=[
            {"name": "age", "kind": "number", "edges": [0, 20, 62, 104], "other": False, "missing": False},
            {"name": "region", "kind": "category", "values": ["North", "South"], "other": False, "missing": False},
            {"name": "smokes", "kind": "yesno", "other": False, "missing": False},
        ],
    )  # fmt: skip
    rows = pd.DataFrame({
        "age": [10] * 137 + [50] * 619 + [70] * 101, "region": ["North"] * 857, "smokes": ["yes", *["no"] * 856],
    })  # fmt: skip
    at, finished = released(rows, plan)
    mean = (10 * 137 + 41 * 619 + 83 * 101) / 857
    canaries = [f"{mean:.6f}".encode(), struct.pack("<d", mean)]
    at.toggle(key="compare").set_value(True).run()
    settled(at)
    means = next(each.value for each in at.dataframe if "rows (private)" in each.value)
    assert means["rows (private)"].tolist() == [857, 0]
    assert means["true (private)"][0] == pytest.approx(mean)
    assert means["off by"][0] == means["published"][0] - means["true (private)"][0] != 0
    columns = next(each.value for each in at.dataframe if "column" in each.value)
    assert set(columns["column"]) == {"age", "region", "smokes"}
    assert columns["like a sample of"].is_monotonic_increasing
    at.selectbox(key="compare-also").select("smokes").run()
    settled(at)
    assert not at.exception
    assert {"(constant)", "smokes"} <= {
        term for each in at.dataframe if "term" in each.value for term in each.value["term"]
    } or "no one solution" in texts(at)
    ledger = Path(os.environ["PRIVATE_RELEASE_LEDGER"].removeprefix("sqlite:///"))
    stored = [
        path.read_bytes() for path in (*tmp_path.rglob("*"), *ledger.parent.glob(f"{ledger.name}*")) if path.is_file()
    ]
    assert stored, "the ledger at least"
    with zipfile.ZipFile(io.BytesIO(finished.bundle)) as bundle:
        stored += map(bundle.read, bundle.namelist())
    stored += [caplog.text.encode(), str(at.query_params).encode(), replicates.pack(finished)]
    assert not [canary for canary in canaries for content in stored if canary in content]
    at.toggle(key="compare").set_value(False).run()
    assert not [each for each in at.dataframe if "true (private)" in each.value]


def test_both_charts_beside_the_steps_have_their_numbers_as_tables() -> None:
    at = visit()
    assert not at.get("plotly_chart"), "the example loads nothing that draws charts"
    drawn = " ".join(each.proto.body for each in at.get("html"))
    assert [drawn.count(f'class="look-{kind}"') for kind in ("grid", "curve")] == [1, 1]
    assert len(at.dataframe) == 0, "what is folded is not drawn"
    at.session_state["preview-twin"] = at.session_state["curve-numbers"] = True
    at.run()
    assert [list(frame.value.columns)[:1] for frame in at.dataframe] == [["age"], ["table"], ["ε"]]
    assert at.dataframe[2].value["ε"][0] == 0.02


def test_synthetic_rows_are_counted_on_request_and_reported_exact() -> None:
    at = shown(letters_plan([3, 4], [["a", "b"]]), alike=False)
    assert "**exactly**" not in texts(at)
    at.button(key="rows-compare").click().run()
    assert "give **exactly** the published counts: no cell of 1 table differs." in texts(at)
    at.number_input(key="rows-asked").set_value(37).run()
    assert "**exactly**" not in texts(at), "another number is counted when it is asked for"
    at.button(key="rows-compare").click().run()
    assert "37 rows give the published counts, scaled by" in texts(at)
    assert "a count c becomes a count between 0 × c and 1 × c" in texts(at)
    assert "Download 37 rows" in [button.label for button in at.get("download_button")]
    assert not at.exception


def test_a_release_says_what_the_cap_of_its_dataset_leaves() -> None:
    plan = letters_plan([2], [["a"]])
    assert "Under its cap" not in texts(shown(plan))
    dpe.Ledger(os.environ["PRIVATE_RELEASE_LEDGER"]).set_cap(plan.dataset, "1.5")
    assert "cost nothing. Under its cap, ε = 0.5 is left." in texts(shown(plan))


def test_a_release_says_by_which_key_it_is_signed() -> None:
    at = shown(letters_plan([2, 3], [["a", "b"]]))
    assert f"Signed with key `{visit_of(at).release.signed_by}`" in texts(at)


@pytest.mark.nightly
def test_the_preview_says_at_once_what_readers_are_told_and_draws_their_map() -> None:
    at = visit()
    at.button(key="sample_census").click().run()
    entries = visit_of(at).entries
    shapes = {"Female": "POLYGON ((0 0, 1 0, 1 1, 0 0))", "Male": "POLYGON ((2 0, 3 0, 3 1, 2 0))"}
    visit_of(at).change(texts=entries.texts | {"sex": {"label": "Sex at birth", "shapes": shapes}})
    at.run()
    assert not at.exception
    assert "Sex at birth" in at.get("plotly_chart")[0].proto.spec
    (way,) = (box for box in at.segmented_control if "Map" in box.options)
    way.set_value("Map").run()
    assert not at.exception
    assert '"hoveron":"fills"' in at.get("plotly_chart")[0].proto.spec
    assert at.selectbox(key="preview-age").options[0] == "all"


def test_the_numbers_beside_a_chart_name_cells_as_the_chart_does() -> None:
    fields = Plan.loads(CLINIC).to_dict()
    age, *others = fields["columns"]
    plan = Plan(**fields | {"columns": [age | {"label": "Age", "whole": True}, *others]})
    frame, _ = chart.numbers_of(dpe.preview(plan), ("age", "region"), None)
    assert list(frame.columns) == ["Age", "region", "count", "estimate", "low", "high", "mostly noise"]
    assert frame["Age"].unique().tolist() == list(plan.column("age").shown)
    taken = Plan(**fields | {"columns": [age | {"label": "count"}, *others]})
    columns = chart.numbers_of(dpe.preview(taken), ("age", "region"), None)[0].columns
    assert list(columns)[:3] == ["age", "region", "count"]


@pytest.mark.nightly
def test_tables_are_chosen_by_the_names_that_readers_see() -> None:
    plan = letters_plan([2, 2, 2], [["a", "b"], ["b", "c"]])
    labels = {"a": "Sex", "b": "Group", "c": "Group"}
    fields = plan.to_dict()
    named = Plan(**fields | {"columns": [c | {"label": labels[c["name"]]} for c in fields["columns"]]})
    at = shown(named)
    assert at.selectbox(key="release-table").options == ["Sex × Group (b)", "Group (b) × Group (c)"]
    at.get_by_key("compare").set_value(True).run()
    settled(at)
    assert any("Sex × Group (b)" in str(frame.value) for frame in at.dataframe)
    at.session_state["accuracy_view"] = "Every table"
    visit_of(at).plan = named
    at.switch_page("pages/accuracy.py").run()
    assert at.selectbox(key="accuracy_table").options == ["Sex × Group (b)", "Group (b) × Group (c)"]
    assert any("Sex × Group (b)" in str(frame.value) for frame in at.dataframe)
