"""Two releases are compared in the cells that both have, with intervals that hold the true change."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime
from importlib.util import find_spec
from pathlib import Path
from unittest.mock import Mock

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

import dpengine as dpe
from dpengine.bundle.promises import table_files
from dpengine.bundle.write import pack
from dpengine.changes_page import changes_page
from dpengine.cli.commands import main
from dpengine.compare import beyond_in_words, compare, shared_tables
from dpengine.results import result
from tests.plans import PAY

PLOTLY = Path(str(find_spec("plotly").origin)).parent / "package_data" / "plotly.min.js"  # type: ignore[union-attr]
TOWN = dpe.Category(name="town", values=["A", "B", "C"])


def plan(epsilon: str | int = 1, town: dpe.Category = TOWN, dataset: str = "old", **fields: object) -> dpe.Plan:
    columns = [town, dpe.YesNo(name="change", other=False, missing=False)]
    return dpe.Plan.model_validate({"dataset": dataset, "epsilon": epsilon, "columns": columns,
                                    "tables": [["town", "change"], ["town"]], **fields})  # fmt: skip


def published(of: dpe.Plan, towns: str, changes: str) -> dpe.Published:
    rows = pd.DataFrame({"town": list(towns), "change": list(changes)})
    return dpe.published(dpe.release(rows, of, ledger=dpe.Ledger.in_memory()).bundle)


def test_without_noise_to_speak_of_changes_are_exact() -> None:
    exact = plan(900)
    both = compare(
        published(exact, "AAABBC", "yynnny"),
        published(exact.model_copy(update={"dataset": "new"}), "AABBBBC", "yynnnny"),
    )
    towns = both["town",]
    assert list(towns.columns) == ["town", "number", "before", "after", "change", "low", "high", "beyond_noise"]
    assert towns["town"].tolist() == ["A", "B", "C", "(other)", "(missing)"]
    assert towns["change"].tolist() == towns["low"].tolist() == towns["high"].tolist() == [-1, 2, 0, 0, 0]
    assert towns["beyond_noise"].tolist() == [True, True, False, False, False]
    assert both[()]["change"].tolist() == [1]
    assert list(both["town", "change"].columns)[:3] == ["town", "change_", "number"], "no label takes a number's name"


def test_only_cells_of_both_are_compared_in_the_order_of_the_later_one() -> None:
    other = dpe.Category(name="town", values=["C", "D", "A"])
    both = compare(published(plan(900), "AABC", "yyyy"), published(plan(900, other, "new"), "AACD", "yyyy"))
    assert both["town",]["town"].tolist() == ["C", "A", "(missing)"], "what is other differs"
    assert both["town",]["change"].tolist() == [0, 0, 0]


def test_a_table_is_the_same_whatever_the_order_of_its_columns() -> None:
    first = published(plan(900), "AAABBC", "yynnny")
    second = published(plan(900, dataset="new", tables=[["change", "town"], ["town"]]), "AABBBBC", "yynnnny")
    (frame,) = compare(first, second, [("change", "town")]).values()
    assert frame.loc[frame["town"] == "B", ["change_", "change"]].to_numpy().tolist() == [["yes", 0], ["no", 2]]
    assert list(compare(second, first)) == [("town", "change"), ("town",), ()], "as the later one names it"
    assert list(compare(first, second, [("town", "change")])) == [("change", "town")]
    assert dpe.not_compared(first, second) == []


@pytest.mark.nightly
def test_numbers_of_a_table_in_another_order_are_found() -> None:
    low = dpe.Plan.loads(PAY)
    turned = dpe.Plan.model_validate(low.to_dict() | {"tables": [
        {**table, "columns": table["columns"][::-1]} if isinstance(table, dict) else table[::-1]
        for table in low.to_dict()["tables"]
    ]})  # fmt: skip
    both = [pack(dpe.preview(each)) for each in (low, turned)]
    assert "mean_pay" in {*compare(*both)["sex", "state"]["number"]}
    assert dpe.not_compared(*both) == []


def test_the_interval_of_a_change_follows_from_both_intervals() -> None:
    first, second = published(plan(), "AAABBC", "yynnny"), published(plan(dataset="new"), "AABBBBC", "yynnnny")
    (frame,) = compare(first, second, [("town",)]).values()
    old, new = first.tables["town",], second.tables["town",]
    down = np.hypot(np.maximum(new["count"] - new["low"], 0), np.maximum(old["high"] - old["count"], 0))
    up = np.hypot(np.maximum(new["high"] - new["count"], 0), np.maximum(old["count"] - old["low"], 0))
    change = new["count"] - old["count"]
    assert frame["low"].tolist() == (change - np.ceil(np.maximum(down, 1))).tolist()
    assert frame["high"].tolist() == (change + np.ceil(np.maximum(up, 1))).tolist()


@pytest.mark.parametrize(("half_width", "reach"), [(0.1, 0), (0.2, 1)])
def test_a_change_is_within_one_where_each_count_may_be_off_by_one(
    half_width: float, reach: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dpe.Published, "half_width", lambda _release, _table: half_width)
    changes = compare(*(published(plan(900, dataset=each), "AB", "yn") for each in ("old", "new")))["town",]
    assert {*changes["change"]} == {0}
    assert {*changes["low"]} == {-reach}
    assert {*changes["high"]} == {reach}


def test_intervals_hold_the_true_change() -> None:
    """Of 95 % intervals of 400 changes, at least 88 % hold; fewer by chance with a probability below 1e-7."""
    columns = [dpe.Category(name="x", values=[str(k) for k in range(400)], other=False, missing=False)]
    one, two = (dpe.Plan(dataset=d, epsilon=1, columns=columns, tables=[["x"]], strategy="direct") for d in "ab")
    counts = np.random.default_rng(5).integers(20, 60, (2, 400))
    releases = [
        dpe.release(pd.DataFrame({"x": np.repeat(np.arange(400), each).astype(str)}), of, ledger=dpe.Ledger.in_memory())
        for of, each in zip((one, two), counts, strict=True)
    ]
    frame = compare(*(each.bundle for each in releases))["x",]
    true = counts[1] - counts[0]
    assert ((frame["low"] <= true) & (true <= frame["high"])).mean() >= 0.88
    assert frame["beyond_noise"].mean() > 0.5, "most of these changes are larger than the noise"


@pytest.mark.nightly
def test_statistics_of_amounts_are_compared_too() -> None:
    pay = dpe.Plan.loads(PAY)
    frame = compare(pack(dpe.preview(pay)), pack(dpe.preview(pay)))["state", "sex"]
    assert list(dict.fromkeys(frame["number"])) == [
        "count",
        "mean_pay",
        "quantile_0.25_pay",
        "quantile_0.5_pay",
        "sum_hours",
    ]
    assert (frame["low"] <= frame["change"]).all()
    assert (frame["change"] <= frame["high"]).all()


def test_each_bundle_is_opened_and_listed_once_however_many_tables_it_has(monkeypatch: pytest.MonkeyPatch) -> None:
    both = [published(plan(dataset=each), "AB", "yn") for each in ("old", "new")]
    opened: list[object] = []
    monkeypatch.setattr("dpengine.export.table_files", lambda *given: opened.append(given) or table_files(*given))
    assert len(compare(*both)) == 3
    assert len(opened) == 2


def test_releases_that_were_just_made_are_compared() -> None:
    rows = pd.DataFrame({"town": list("AB"), "change": list("yn")})
    both = [dpe.release(rows, plan(900, dataset=each), dpe.Ledger.in_memory()) for each in ("old", "new")]
    assert len(compare(*both)) == 3
    assert dpe.not_compared(*both) == []


def test_what_cannot_be_compared_is_refused() -> None:
    first = published(plan(), "AB", "yn")
    with pytest.raises(dpe.ReleaseError, match="same release"):
        compare(first, first)
    with pytest.raises(dpe.ReleaseError, match="bundle cannot be read"):
        compare("nowhere.zip", first)
    rows = pd.DataFrame({"town": list("AB"), "change": list("yn"), "who": [1, 2]})
    persons = plan(dataset="persons", unit={"id": "who", "rows": 2})
    second = dpe.published(dpe.release(rows, persons, ledger=dpe.Ledger.in_memory()).bundle)
    with pytest.raises(dpe.ReleaseError, match="no table with the same columns"):
        compare(first, second)


def test_labels_may_be_called_like_numbers() -> None:
    columns = [dpe.YesNo(name=name, other=False, missing=False) for name in ("count", "low_after")]
    both = [dpe.Plan(dataset=each, epsilon=9, columns=columns, tables=[["count", "low_after"]]) for each in "ab"]
    frame = compare(*(pack(dpe.preview(each)) for each in both))["count", "low_after"]
    assert list(frame.columns[:3]) == ["count", "low_after", "number"]


def test_what_has_the_same_name_but_stands_for_something_else_is_left_out() -> None:
    both = []
    for changed in ({}, {"a": {"missing": False}, "b": {"missing_as": ["?"]}, "c": {"values": ["B", "A"]}}):
        columns = [dpe.Category(**({"name": name, "values": ["A", "B"]} | changed.get(name, {}))) for name in "abc"]
        of = dpe.Plan(dataset="d", epsilon=9, columns=columns, tables=[["a"], ["b"], ["c"]])
        both.append(pack(dpe.preview(of)))
    changes = compare(*both)
    assert changes["a",]["a"].tolist() == ["A", "B"]
    assert changes["b",]["b"].tolist() == ["A", "B"]
    assert changes["c",]["c"].tolist() == ["B", "A", "(other)", "(missing)"]


def test_groups_of_other_values_are_not_compared() -> None:
    both = []
    for values in ({"X": ["A", "B"], "Y": ["C"], "Z": ["D"]}, {"X": ["A"], "Y": ["B", "C"], "Z": ["D"]}):
        town = dpe.Category(name="town", values=values, levels=["county", "town"])
        of = plan(900, town, f"of-{len(both)}", tables=[["town@county"], ["town"]])
        both.append(published(of, "ABCD", "yyyy"))
    changes = compare(*both)
    assert changes["town@county",].iloc[:, 0].tolist() == ["Z", "(other)", "(missing)"]
    assert changes["town",]["town"].tolist() == [*"ABCD", "(other)", "(missing)"]


def test_numbers_between_other_bounds_are_not_compared() -> None:
    pay = dpe.Plan.loads(PAY)
    higher = dpe.Plan.loads(PAY.replace("1000]", "1100]"))
    frame = compare(pack(dpe.preview(pay)), pack(dpe.preview(higher)))["state", "sex"]
    assert list(dict.fromkeys(frame["number"])) == ["count", "sum_hours"]


def test_people_with_more_rows_are_not_compared() -> None:
    both = [dpe.preview(plan(unit={"id": "who", "rows": most})) for most in (1, 2)]
    assert shared_tables(*both) == []
    assert len(shared_tables(both[0], both[0])) == 3


def test_tables_without_rows_that_lack_an_amount_are_not_compared_with_those_that_have_them() -> None:
    both = []
    for missing in (True, False):
        columns = [TOWN, dpe.Amount(name="pay", low=0, high=100, missing=missing)]
        both.append(dpe.preview(plan(columns=columns, tables=[{"columns": ["town"], "mean": ["pay"]}])))
    assert shared_tables(*both) == []
    assert shared_tables(both[0], both[0]) == [("town",), ()]


def test_the_command_line_shows_what_is_beyond_the_noise_and_writes_the_rest(tmp_path: Path) -> None:
    files = [tmp_path / "old.zip", tmp_path / "new.zip"]
    for file, dataset, towns in zip(files, ("old", "new"), ("AAABBC", "AABBBBC"), strict=True):
        file.write_bytes(published(plan(900, dataset=dataset), towns, "y" * len(towns)).content)
    names, run = [str(file) for file in files], CliRunner().invoke
    shown = run(main, ["compare", *names, "-o", str(tmp_path / "changes.csv")])
    assert shown.exit_code == 0, shown.output
    assert "town: 2 of 5 changes are beyond the noise\n  B: 2 to 4, a change of +2 (+2 to +2)\n" in shown.output
    written = pd.read_csv(tmp_path / "changes.csv")
    assert len(written) == 10 + 5 + 1
    assert written.loc[written["table"] == "town", "change"].tolist() == [-1, 2, 0, 0, 0]
    as_json = json.loads(run(main, ["compare", *names, "--json"]).stdout)
    assert as_json["tables"]["town"][1]["change"] == 2
    assert run(main, ["compare", names[0], names[0]]).exit_code == 1
    assert run(main, ["compare", *names, "-o", names[0]]).exit_code == 2, "a release is not overwritten"


def test_the_command_line_names_a_mean_as_readers_see_it(tmp_path: Path) -> None:
    """It said *mean_pay*, the name of a column in the files."""
    columns = [TOWN, dpe.Amount(name="pay", low=0, high=100)]
    for name, pay in (("old", 10), ("new", 90)):
        wanted = plan(900, dataset=name, columns=columns, tables=[{"columns": ["town"], "mean": ["pay"]}])
        rows = pd.DataFrame({"town": ["A"] * 50, "pay": [pay] * 50})
        (tmp_path / f"{name}.zip").write_bytes(dpe.release(rows, wanted, ledger=dpe.Ledger.in_memory()).bundle)
    done = CliRunner().invoke(main, ["compare", str(tmp_path / "old.zip"), str(tmp_path / "new.zip"), "town"])
    assert "  A, mean pay: 10 to 90" in done.stdout, done.output


def test_a_single_change_is_in_the_singular() -> None:
    frame = pd.DataFrame({"beyond_noise": [True, False, False]})
    assert beyond_in_words(frame) == "1 of 3 changes is beyond the noise."
    assert beyond_in_words(frame[1:]) == "0 of 2 changes are beyond the noise."


def test_releases_in_the_wrong_order_are_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    names = {}
    for year in (2024, 2025):
        monkeypatch.setattr(result, "datetime", Mock(now=lambda _zone, year=year: datetime(year, 5, 1, tzinfo=UTC)))
        names[year] = str(tmp_path / f"{year}.zip")
        Path(names[year]).write_bytes(published(plan(900, dataset=f"in {year}"), "AABC", "yyyy").content)
    run, warning = CliRunner().invoke, "are they swapped?"
    for right in (["compare", names[2024], names[2025]], ["combine", names[2025], "--since", names[2024]]):
        assert warning not in run(main, right).stderr
    for wrong in (["compare", names[2025], names[2024]], ["combine", names[2024], "--since", names[2025]]):
        done = run(main, wrong)
        assert warning in done.stderr
        assert done.exit_code == 0, "it may be meant"


def reasons(first: dpe.Published, second: dpe.Published) -> dict[str, str]:
    return {str(each): each.reason for each in dpe.not_compared(first, second)}


def test_what_is_left_out_is_listed_with_its_reason() -> None:
    other = dpe.Category(name="town", values=["C", "D", "A"])
    before = published(plan(900, tables=[["town"], ["change"]]), "AABC", "yyyy")
    after = published(plan(900, other, "new"), "AACD", "yyyy")
    assert reasons(before, after) == {
        "town × change": "only in the later release",
        "change": "only in the earlier release",
        "town = D": "only in the later release",
        "town = (other)": "other values are declared, or other texts count as missing",
        "town = B": "only in the earlier release",
    }
    assert reasons(before, before) == {}


@pytest.mark.nightly
def test_bounds_and_units_of_other_meaning_are_listed() -> None:
    low, high = (pack(dpe.preview(dpe.Plan.loads(text))) for text in (PAY, PAY.replace("1000]", "1100]")))
    listed = {str(each): each.reason for each in dpe.not_compared(low, high)}
    assert set(listed.values()) == {"its values have other bounds or another step, or other texts count as missing"}
    assert {f"{each} in state × sex" for each in ("mean_pay", "quantile_0.25_pay", "quantile_0.5_pay")} <= set(listed)
    one, two = (pack(dpe.preview(plan(unit={"id": "who", "rows": most}))) for most in (1, 2))
    with pytest.raises(
        dpe.ReleaseError,
        match="town: the earlier release counts at most 1 row of a person, the later one at most 2 rows of a person",
    ):
        compare(one, two)


def test_tables_without_a_common_value_are_listed() -> None:
    both = []
    for values in (["A", "B"], ["C", "D"]):
        town = dpe.Category(name="town", values=values, other=False, missing=False)
        both.append(pack(dpe.preview(plan(town=town, dataset="-".join(values)))))
    assert list(compare(*both)) == [()]
    listed = {str(each): each.reason for each in dpe.not_compared(*both)}
    assert listed == dict.fromkeys(("town × change", "town"), "the releases have no value of town in common")


@pytest.mark.parametrize("missing", [False, True])
def test_dates_of_another_year_are_not_compared_and_the_reason_says_what_can_be_done(missing: bool) -> None:
    """With *missing*, a table used to be compared in that one cell, and nothing said why not in the others."""
    made = []
    for year in (2024, 2025):
        day = {"name": "day", "kind": "date", "from": f"{year}-01-01", "to": f"{year}-12-31", "by": "month"}
        columns = [day | {"missing": missing}, {"name": "sex", "kind": "category", "values": ["f", "m"]}]
        of_year = dpe.Plan(dataset=f"d{year}", epsilon=1, columns=columns, tables=[["day", "sex"], ["sex"]])
        made.append(dpe.published(pack(dpe.preview(of_year))))
    said = "publish both with a column that says the month only"
    assert {each.table for each in dpe.not_compared(*made) if said in each.reason} == {("day", "sex")}
    assert set(dpe.compare(*made)) == {("sex",), ()}


def test_the_command_line_lists_what_is_not_compared(tmp_path: Path) -> None:
    files = [tmp_path / "old.zip", tmp_path / "new.zip"]
    for file, values in zip(files, (["A", "B"], ["B", "C"]), strict=True):
        town = dpe.Category(name="town", values=values)
        file.write_bytes(published(plan(900, town, "-".join(values)), "AABC", "yyyy").content)
    names, run = [str(file) for file in files], CliRunner().invoke
    shown = run(main, ["compare", *names, "-o", str(tmp_path / "changes.csv")])
    assert "not compared:\n  town = C: only in the later release\n" in shown.output
    written = pd.read_csv(tmp_path / "changes.csv", keep_default_na=False)
    left = written[written["not_compared"] != ""]
    assert left["cell"].tolist() == ["town = C", "town = (other)", "town = A"]
    assert set(left["change"]) == {""}
    as_json = json.loads(run(main, ["compare", *names, "--json"]).stdout)
    assert as_json["not_compared"][0] == {
        "reason": "only in the later release", "table": None, "number": "", "column": "town", "labels": ["C"]
    }  # fmt: skip
    assert list(as_json["tables"]) == ["town × change", "town", "total"]


@pytest.mark.nightly
def test_the_command_line_lists_the_largest_changes_first_and_names_both_releases(tmp_path: Path) -> None:
    for name, towns in (("old", "A" * 9 + "B" * 5), ("new", "A" * 10 + "B" * 20)):
        made = published(plan(900, dataset=name, title=f"Towns, {name}"), towns, "y" * len(towns))
        (tmp_path / f"{name}.zip").write_bytes(made.content)
    done = CliRunner().invoke(main, ["compare", str(tmp_path / "old.zip"), str(tmp_path / "new.zip")])
    lines = done.stdout.splitlines()
    assert lines[0].startswith("from Towns, old, ")
    assert " to Towns, new, " in lines[0]
    first = next(k for k, line in enumerate(lines) if line.startswith("town: "))
    assert lines[first + 1].startswith("  B: 5 to 20"), "the largest change comes first"
    assert lines[first + 2].startswith("  A: 9 to 10")


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    done = CliRunner().invoke(main, ["compare", str(tmp_path / "old.zip"), str(tmp_path / "new.zip")])
    assert done.exit_code == 1
    assert done.stderr == "private-release: old.zip: the bundle cannot be read (No such file or directory)\n"


@pytest.mark.usefixtures("plotly_in_reports")
def test_a_page_of_the_changes_has_a_chart_and_a_table_for_each_number_and_loads_nothing(tmp_path: Path) -> None:
    files = [tmp_path / "old.zip", tmp_path / "new.zip"]
    for file, values in zip(files, (["A", "B", "<i>"], ["A", "B", "<i>", "C"]), strict=True):
        town = dpe.Category(name="town", values=values)
        made = published(
            plan(900, town, file.stem, language="de"),
            "AAB" + "B" * 9 * (file.stem == "new"),
            "y" * (12 if file.stem == "new" else 3),
        )
        file.write_bytes(made.content)
    page = tmp_path / "changes.HTML"
    done = CliRunner().invoke(main, ["compare", *map(str, files), "-o", str(page)])
    assert done.exit_code == 0, done.output
    text = page.read_text("utf-8").replace(PLOTLY.read_text("utf-8"), "")
    assert '<html lang="de">' in text
    assert "old, veröffentlicht am " in text
    assert text.count('class="chart"') == text.count('<table class="numbers">') == 3
    assert re.search(
        r'<tr><td>B</td><td class="number">1</td><td class="number">10</td><td class="number">\+9</td>', text
    )
    assert "&lt;i&gt;" in text
    assert "<i>" not in text, "a label is no markup"
    assert "<strong>town = C</strong>: nur in der späteren Veröffentlichung" in text
    assert not re.search(r'(src|href)="(?!#)', text)


def test_a_page_of_the_changes_begins_with_the_largest() -> None:
    both = published(plan(900), "AAABBC", "yynnny"), published(plan(900, dataset="new"), "AABBBBBBC", "yynnnnnny")
    text = changes_page(*both, compare(*both, [("town",)])).decode()
    assert text.index("<td>B</td>") < text.index("<td>A</td>") < text.index("<td>C</td>")
