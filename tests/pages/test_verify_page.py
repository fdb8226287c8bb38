"""The page that verifies says what a release file promises, or calmly what is wrong with it."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path

import pandas as pd
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from streamlit.testing.v1 import AppTest

from dpengine.accounting.composition import posterior
from dpengine.accounting.ledger import Ledger
from dpengine.bundle import signature
from dpengine.bundle.write import pack
from dpengine.charts import figures
from dpengine.combine import combine
from dpengine.compare import decimals_of_changes
from dpengine.release import Release, release
from dpengine.results.interval_estimates import decimals_of
from dpengine.results.preview import preview
from dpengine.sources.open import open_table
from dpengine.spec.domain import YesNo
from dpengine.spec.plan import Plan
from dpengine.spec.wording import people, percent_at_most
from pages.parts.shared.figures import FigureOfDrawing
from tests.bundles import members_of, zipped
from tests.plans import PAY

ENTRY = Path(__file__).parents[2] / "app.py"


@pytest.fixture(scope="module")
def finished() -> Release:
    columns = [
        {"name": "sex", "kind": "yesno", "label": "Sex at birth"},
        {"name": "region", "kind": "category", "values": ["North", "South"]},
    ]
    plan = Plan(title="Small", dataset="d", epsilon="1/2", columns=columns, tables=[["sex", "region"]])
    rows = pd.DataFrame({"sex": ["yes", "no"] * 50, "region": ["North", "South", "South", "North"] * 25})
    return release(open_table(rows), plan)


def page(payload: bytes | None = None, name: str = "release.zip") -> AppTest:
    at = AppTest.from_file(str(ENTRY), default_timeout=30).run()
    at.switch_page("pages/verify.py").run()
    if payload is not None:
        at.file_uploader(key="verify_file").upload(name, payload).run()
    assert not at.exception
    return at


def words(at: AppTest) -> str:
    kinds = (at.markdown, at.caption, at.header, at.success, at.error)
    return "\n".join(element.value for kind in kinds for element in kind)


def changed(bundle: bytes, member: str, by: bytes) -> bytes:
    """The bundle with ``by`` put at the end of one of its files."""
    members = members_of(bundle)
    return zipped(members | {member: members[member] + by}, rehash=False)


def without(bundle: bytes, member: str) -> bytes:
    return zipped({name: content for name, content in members_of(bundle).items() if name != member}, rehash=False)


def test_before_a_file_is_dropped_the_page_promises_not_to_keep_it() -> None:
    assert "read here and not kept" in words(page())


def test_a_valid_release_is_confirmed_with_its_promise(finished: Release) -> None:
    shown = words(page(finished.bundle))
    assert "release.zip is complete and consistent" in shown
    assert "Small · dataset d · published on" in shown
    assert finished.release_id in shown
    assert "**ε = 0.5**" in shown
    assert percent_at_most(posterior(0.5, finished.plan.epsilon)) in shown
    assert "What it does not protect" in shown
    assert "What it promises" in shown


def test_tables_measurements_and_files_are_listed(finished: Release) -> None:
    tables, measured, files = (frame.value for frame in page(finished.bundle).dataframe)
    assert list(tables["table"]) == ["Sex at birth × region", "total"]
    assert list(tables["within"]) == [people(finished.half_width(table)) for table in (("sex", "region"), ())]
    assert list(measured["table"]) == ["region × Sex at birth"]
    assert measured.loc[0, ["epsilon", "scale", "sensitivity"]].tolist() == ["0.5", "2", 1]
    assert set(files["file"]) == set(finished.manifest["files"])
    assert files["SHA-256"].str.fullmatch("[0-9a-f]{64}").all()


def test_the_numbers_of_a_chosen_table_are_those_of_the_release(finished: Release) -> None:
    at = page(finished.bundle)
    box = at.selectbox(key=f"verify_table_{finished.release_id}")
    assert box.options == ["Sex at birth × region", "total"]
    before = len(at.dataframe)
    at = box.select_index(0).run()
    assert not at.exception
    shown = at.dataframe[1].value
    assert len(at.dataframe) == before + 1
    assert list(shown.columns) == ["Sex at birth", "region", "count", "estimate", "low", "high", "mostly noise"]
    of = finished.tables["sex", "region"]
    assert list(shown["region"]) == list(of["region"])
    for column in ("count", "low", "high"):
        assert list(shown[column]) == list(of[column])
    at.session_state["verify-percentages"] = True
    assert "percent" in at.run().dataframe[2].value


@pytest.mark.parametrize(
    "spoil",
    [
        pytest.param(lambda bundle: b"not a zip file", id="no zip"),
        pytest.param(lambda bundle: b"", id="empty"),
        pytest.param(lambda bundle: bundle[: len(bundle) // 2], id="cut off"),
        pytest.param(lambda bundle: without(bundle, "manifest.json"), id="no manifest"),
        pytest.param(lambda bundle: changed(bundle, "synthetic.csv", b"\n"), id="a changed file"),
        pytest.param(lambda bundle: changed(bundle, "manifest.json", b"]"), id="a damaged manifest"),
    ],
)
@pytest.mark.by_day(3)
def test_the_faults_of_an_invalid_release_are_listed_and_nothing_is_promised(finished: Release, spoil: object) -> None:
    at = page(spoil(finished.bundle))  # type: ignore[operator]
    shown = words(at)
    assert "is not a complete release" in at.error[0].value, "in red, and read out"
    assert "- " in shown
    assert "What it promises" not in shown


def verified(payload: bytes, key: str) -> str:
    at = page(payload)
    at.text_area(key="verify_key").set_value(key).run()
    assert not at.exception
    return words(at) + "".join(each.value for each in at.warning)


def test_the_four_outcomes_are_distinguished(finished: Release) -> None:
    own, unsigned = str(finished.signed_by), finished.bundle[: -signature.COMMENT_BYTES - 2] + b"\0\0"
    shown = words(accepted := page(finished.bundle))
    assert "is complete and consistent" in accepted.success[0].value
    assert f"Signed by the key `{own}`**, which was not compared" in shown
    assert "unknown key proves nothing by itself" in shown
    assert "Signed by the key that you expect" in verified(finished.bundle, own)
    other = verified(finished.bundle, "0" * 32)
    assert f"release.zip is signed by another key, `{own}`" in other
    assert "What it promises" not in other
    assert "Not signed." in words(page(unsigned))
    assert "release.zip is not signed" in (refused := verified(unsigned, own))
    assert "What it promises" not in refused
    changed = finished.bundle[:-1] + (b"1" if finished.bundle.endswith(b"0") else b"0")
    assert "was changed after it was signed" in words(page(changed))
    assert "The expected key cannot be read" in (unread := verified(finished.bundle, "my key"))
    assert "but the key that you typed was not checked" in unread
    assert "task_alt" not in unread


def test_a_release_says_which_charge_of_the_visitors_ledger_paid_for_it(finished: Release) -> None:
    assert "Your ledger" not in words(page(finished.bundle)), "a ledger of its own charged it"
    plan = Plan(dataset="d", epsilon="1/2", columns=finished.plan.columns[:1], tables=[["sex"]])
    charged = release(open_table(pd.DataFrame({"sex": ["yes"] * 20})), plan, ledger=Ledger())
    shown = words(page(charged.bundle))
    assert "**Your ledger has charged this release**, once, on " in shown
    assert "Signed by the key of your own ledger" in shown
    assert "That dataset has spent ε = 0.5 in all, and has no cap." in shown
    assert "Signed by the key that you expect" in verified(charged.bundle, str(charged.signed_by))
    release(open_table(pd.DataFrame({"sex": ["no"] * 20})), plan, ledger=Ledger())
    Ledger().set_cap("d", 3)
    shown = words(page(charged.bundle))
    assert "ε = 0.5 of the budget of d. That dataset has spent ε = 1 in all, of at most 3." in shown
    other = zipped(members_of(charged.bundle), rehash=False, key=Ed25519PrivateKey.from_private_bytes(bytes(32)))
    for by_none_or_another in (pack(charged), other):
        shown = words(page(by_none_or_another))
        assert "not signed by your ledger's key" in shown
        assert "has charged this release**, once" not in shown


def test_a_file_name_is_shown_as_it_is(finished: Release) -> None:
    assert "\\*my\\*\\_file" in words(page(finished.bundle, "*my*_file.zip"))


def test_two_releases_are_compared_table_by_table(finished: Release) -> None:
    later = release(
        open_table(pd.DataFrame({"sex": ["yes"] * 150, "region": ["North"] * 150})),
        finished.plan.model_copy(update={"dataset": "later", "epsilon": Fraction(50)}),
    )
    at = page(later.bundle)
    at.file_uploader(key="verify_earlier_file").upload("earlier.zip", finished.bundle).run()
    assert not at.exception
    at.selectbox(key="verify_changes").set_value(("sex", "region")).run()
    shown = next(each.value for each in at.dataframe if "beyond_noise" in each.value)
    assert list(shown.columns)[:4] == ["Sex at birth", "region", "before", "after"]
    assert shown["after"].tolist()[0] == 150
    assert shown["beyond_noise"].tolist()[0]
    beside = (shown["change"].abs() / (shown["high"] - shown["low"])).tolist()
    assert beside == sorted(beside, reverse=True), "the largest beside the noise come first"
    assert "From **Small**, published on " in words(at)
    assert "published later" not in words(at)
    assert f"{shown['beyond_noise'].sum()} of {len(shown)} changes are beyond the noise" in words(at)
    (chart,) = (each for each in at.get("plotly_chart") if "verify-changes" in each.proto.id)
    first = shown.iloc[0]
    assert f"{first['Sex at birth']}, {first['region']}" in chart.proto.spec


@pytest.mark.nightly
def test_the_change_of_several_cells_is_quoted_with_both_sources(finished: Release) -> None:
    later = preview(finished.plan.model_copy(update={"dataset": "later", "epsilon": Fraction(50)}))
    at = page(pack(later))
    at.file_uploader(key="verify_earlier_file").upload("earlier.zip", finished.bundle).run()
    at.selectbox(key="verify_changes").set_value(("sex", "region")).run()
    at.multiselect(key="verify-change-sex-region-region").set_value([0, 1]).run()
    region = {"region": finished.plan.column("region").labels[:2]}
    text = next(each.value for each in at.code if "published on" in each.value)
    change = combine(later, region, since=finished)
    assert f": {int(change.value):,} (95 % interval: {change.low:,.0f} to {change.high:,.0f})" in text
    assert all(each.release_id in text for each in (finished, later))
    at.toggle(key="verify-change-sex-region-relative").set_value(True).run()
    assert not at.exception
    assert any(", compared with Small, published on " in each.value for each in at.code)


@pytest.mark.nightly
def test_a_column_may_be_called_like_those_of_a_comparison() -> None:
    columns = [YesNo(name=name, other=False, missing=False) for name in ("change", "count")]
    plans = [Plan(dataset=each, epsilon=1, columns=columns, tables=[["change", "count"]]) for each in ("old", "new")]
    at = page(pack(preview(plans[1])))
    at.file_uploader(key="verify_earlier_file").upload("earlier.zip", pack(preview(plans[0]))).run()
    at.selectbox(key="verify_changes").set_value(("change", "count")).run()
    assert not at.exception
    shown = next(each.value for each in at.dataframe if "beyond_noise" in each.value)
    assert list(shown.columns)[:4] == ["change_", "count", "before", "after"]


def test_all_tables_are_offered_for_a_spreadsheet(finished: Release) -> None:
    at = page(finished.bundle)
    assert "All tables for a spreadsheet" in [each.label for each in at.get("download_button")]


@pytest.mark.nightly
def test_means_are_shown_by_their_headings_with_the_decimals_that_their_error_leaves() -> None:
    made = preview(Plan.loads(PAY))
    at = page(pack(made))
    box = next(each for each in at.selectbox if each.label == "Look at a table")
    box.set_value(("sex",)).run()
    assert not at.exception
    (shown,) = (each for each in at.dataframe if "mean_hours" in each.value)
    assert shown.value["mostly noise"].tolist() == made.mostly_noise(("sex",)).tolist()
    assert [*shown.value][:4] == ["sex", "mean_hours", "mean_hours_low", "mean_hours_high"], "beside its interval"
    columns = json.loads(shown.proto.columns)
    assert [columns[name]["label"] for name in ("mean_hours", "mean_hours_low")] == ["Mean hours", "Mean hours: low"]
    half = (shown.value["mean_hours_high"] - shown.value["mean_hours_low"]).median() / 2
    assert columns["mean_hours"]["type_config"]["format"] == f"%,.{decimals_of(half)}f"


@pytest.mark.nightly
def test_each_number_of_a_table_is_compared_by_itself_with_as_many_digits_as_it_needs() -> None:
    at = page(pack(preview(Plan.loads(PAY))))
    at.file_uploader(key="verify_earlier_file").upload("earlier.zip", pack(preview(Plan.loads(PAY)))).run()
    assert not at.exception
    shown = next(each.value for each in at.dataframe if "beyond_noise" in each.value)
    assert "number" not in shown
    assert shown["low"].tolist() == shown["low"].round().tolist()
    at.selectbox(key="verify_changes_of_state × sex").set_value("mean_pay").run()
    assert not at.exception
    shown = next(each.value for each in at.dataframe if "beyond_noise" in each.value)
    assert len(shown) == Plan.loads(PAY).cells(("state", "sex"))


def test_a_change_beyond_the_noise_has_no_end_that_looks_like_0() -> None:
    """The end of an interval that excludes 0 was printed as +0."""
    frame = pd.DataFrame(
        {"low": [-80.0, 0.3, -300.0], "high": [45.0, 125.4, 0.0], "beyond_noise": [False, True, False]}
    )
    assert decimals_of_changes(frame) == 1
    assert decimals_of_changes(frame.drop(1)) == 0


def test_what_is_not_compared_is_listed(finished: Release) -> None:
    later = Plan.model_validate(finished.plan.to_dict() | {"dataset": "later", "tables": [["sex"]]})
    at = page(pack(preview(later)))
    at.file_uploader(key="verify_earlier_file").upload("earlier.zip", finished.bundle).run()
    assert not at.exception
    assert "What is not compared" in words(at)
    assert "- **Sex at birth × region**: only in the earlier release" in words(at)


def test_what_only_the_earlier_release_has_is_in_its_words() -> None:
    both = [
        Plan(dataset=code, epsilon=1, tables=[["town"]],
             columns=[{"name": "town", "kind": "category", "values": ["1", code], "words": {code: word}}])
        for code, word in (("2", "Basel"), ("3", "Genf"))
    ]  # fmt: skip
    earlier, later = (pack(preview(each)) for each in both)
    at = page(later)
    at.file_uploader(key="verify_earlier_file").upload("earlier.zip", earlier).run()
    assert "- **town\\: Basel**: only in the earlier release" in words(at)
    assert "- **town\\: Genf**: only in the later release" in words(at)


def test_the_same_or_a_broken_release_is_not_compared(finished: Release) -> None:
    at = page(finished.bundle)
    at.file_uploader(key="verify_earlier_file").upload("same.zip", finished.bundle).run()
    assert "nothing to compare" in "".join(each.value for each in at.warning)
    at.file_uploader(key="verify_earlier_file").upload("broken.zip", finished.bundle[:100]).run()
    assert "broken.zip is not a complete release" in "".join(each.value for each in at.warning)


def test_the_chosen_table_is_drawn_as_its_publisher_drew_it(finished: Release) -> None:
    at = page(finished.bundle)
    at.selectbox(key=f"verify_table_{finished.release_id}").select_index(0).run()
    assert not at.exception
    (chart,) = at.get("plotly_chart")
    drawn = figures.release_drawing(finished, ("sex", "region"))
    assert json.loads(chart.proto.spec) == json.loads(FigureOfDrawing(drawn).to_json())
    assert chart.proto.alt == figures.alt_text(finished, ("sex", "region"))


def test_a_chart_of_a_table_offers_only_what_the_file_holds() -> None:
    columns = [{"name": name, "kind": "yesno"} for name in ("a", "b", "c")]
    plan = Plan(dataset="d", epsilon=1, columns=columns, tables=[["a", "b", "c"]])
    for more, offered in (([], ["yes", "no", "(other)"]), ([["a", "b"]], ["all", "yes", "no"])):
        made = preview(Plan.model_validate(plan.to_dict() | {"tables": [["a", "b", "c"], *more]}))
        at = page(pack(made))
        at.selectbox(key=f"verify_table_{made.release_id}").select_index(0).run()
        assert not at.exception
        ways = [each.options for each in at.get("button_group")]
        values = next(each for each in at.selectbox if each.label == "c")
        assert values.options[: len(offered)] == offered
        assert bool(ways) == bool(more), "side by side, the first chart is of all values together"


@pytest.mark.nightly
def test_hours_by_weekday_are_drawn_as_lines_or_as_a_grid() -> None:
    columns = [
        *({"name": part, "kind": "time", "of": "at", "by": part} for part in ("hour", "weekday")),
        {"name": "district", "kind": "category", "values": ["East", "West"]},
    ]
    made = preview(Plan(dataset="d", epsilon=1, columns=columns, tables=[["hour", "weekday", "district"]]))
    at = page(pack(made))
    at.selectbox(key=f"verify_table_{made.release_id}").select_index(0).run()
    kinds = []
    for way in ("Lines", "Grid"):
        at.get("button_group")[0].set_value(way).run()
        assert not at.exception
        kinds.append({each["type"] for each in json.loads(at.get("plotly_chart")[0].proto.spec)["data"]})
    assert "heatmap" not in kinds[0]
    assert "heatmap" in kinds[1]


def test_a_number_can_be_quoted_with_its_interval_and_its_source(finished: Release) -> None:
    at = page(finished.bundle)
    at.selectbox(key=f"verify_table_{finished.release_id}").select_index(0).run()
    at.session_state["verify-quote"] = True
    at.run()
    at.multiselect(key="verify-quote-sex-region-sex").set_value([0])
    at.multiselect(key="verify-quote-sex-region-region").set_value([1]).run()
    assert not at.exception
    first = finished.tables["sex", "region"].iloc[1]
    interval = f"(95 % interval: {first['low']} to {first['high']})"
    line, source = next(each.value for each in at.code if "interval" in each.value).split("\n")
    assert line == f"People, Sex at birth: yes, region: South: {first['count']} {interval}"
    assert source.startswith("Source: Small. Published with differential privacy (ε = 0.5) on ")
    assert source.endswith(f"release {finished.release_id}.")


def test_what_each_table_counts_is_said_if_some_count_rows_and_others_people() -> None:
    tables = [{"columns": ["sex"], "distinct": True}, ["region"]]
    columns = [{"name": "sex", "kind": "yesno"}, {"name": "region", "kind": "category", "values": ["North", "South"]}]
    plan = Plan(dataset="d", epsilon=1, columns=columns, tables=tables, unit={"id": "who", "rows": 3},
                nouns={"rows": "visits", "people": "patients"})  # fmt: skip
    listed = page(pack(preview(plan))).dataframe[0].value
    assert listed["counted"].tolist() == ["patients, each in one cell", "kept visits", "kept visits"]
