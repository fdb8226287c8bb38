"""A plan says exactly what it says: read as text, checked as a whole, identified by what it measures."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations
from pathlib import Path

import pytest
import yaml
from hypothesis import given

from dpengine import Plan, PlanError
from dpengine.measure.strategy import decide
from dpengine.spec.domain import YesNo
from tests.calls_and_memory import peak_bytes
from tests.plans import CLINIC, letters_plan, plans


def test_the_example_of_the_contract_is_read() -> None:
    plan = Plan.loads(CLINIC)
    assert plan.epsilon == 1
    assert plan.marginals == (("age", "region"), ("region", "visit"))
    assert plan.shape(("age", "region")) == (7, 6)
    assert plan.column("region").labels == ("North", "South", "Paris, TX", "False", "(other)", "(missing)")


@given(plans())
def test_a_written_plan_reads_back(plan: Plan) -> None:
    again = Plan.loads(plan.dumps())
    assert again.to_dict() == plan.to_dict()
    assert again.key == plan.key


def test_plan_files_keep_texts_that_yaml_would_bend() -> None:
    text = CLINIC.replace('[North, South, "Paris, TX", "False"]', "[No, 012, 1e3, 2024-01-01, null, '~', =1]")
    values = ("No", "012", "1e3", "2024-01-01", "null", "~", "=1")
    plan = Plan.loads(text)
    assert plan.column("region").declared == values
    assert tuple(yaml.safe_load(plan.dumps())["columns"][1]["values"]) == values, "other readers see texts too"


@pytest.mark.parametrize("each", [1, 2, 3])
def test_each_lists_all_tables_of_that_many_columns(each: int) -> None:
    plan = letters_plan([2, 2, 2, 2], {"each": each})
    assert plan.marginals == tuple(combinations("abcd", each))


@pytest.mark.parametrize(
    ("old", "new", "fragment"),
    [
        ('epsilon: "1"', "epsilon: 0", "ε must be above 0"),
        ('epsilon: "1"', "epsilon: -1", "ε must be above 0"),
        ('epsilon: "1"', "epsilon: nan", "a decimal or a fraction"),
        ('epsilon: "1"', "epsilon: inf", "a decimal or a fraction"),
        ('epsilon: "1"', "epsilon: one", "a decimal or a fraction"),
        ('epsilon: "1"', "epsilon: 1e9", "between"),
        ('epsilon: "1"', "epsilon: 1/0", "a decimal or a fraction"),
        ("epsilon", "epsylon", "not known here; did you mean 'epsilon'"),
        ("kind: date", "kind: dat", r"columns → 3 \(visit\): kind must be one of number, category, yesno, date"),
        ("kind: date", "kind: dat", "kind must be one of .*; did you mean 'date'"),
        ("kind: date", "kind: Yes_No", "kind must be one of .*; did you mean 'yesno'"),
        ("kind: date", "kind: boolean", "kind must be one of .*; did you mean 'yesno'"),
        ("kind: date", "kind: float", "kind must be one of .*; did you mean 'number'"),
        ("kind: date", "kind: nothing_alike", "kind must be one of .*, amount$"),
        ("[age, region]", "[age, regoin]", "there is no column 'regoin' under 'columns'; did you mean 'region'"),
        ("[age, region]\n", "{columns: [age], median: [pay]}\n", r"a median is written quantiles: \{income: \[0.5\]\}"),
        ("[age, region]\n", "{columns: age}\n", "this must be a list, such as"),
        (
            "by: quarter",
            "by: quarter, value: [a]",
            "value: this key is not known here; there are name",
        ),  # no values in a date
        ("edges:", "bins:", "list bins that you know under edges"),
        ("[age, region]", "[age, age]", "named twice"),
        ("[region, visit]", "[region, age]", "listed twice"),
        ("name: region", "name: age", "declared 2 times"),
        ("rows: 1", "rows: 3", "needs 'id'"),
        ("{rows: 1}", "3", r"unit: this is stated by its parts, such as \{id: patient_id, rows: 3\}"),
        ("rows: 1", "rows: 0", "greater than or equal to 1"),
        ("rows: 1", "rows: 1, id: age", "cannot be published"),
        ("dataset: clinic-2026", "dataset: ' '", "name the dataset"),
        ("title:", "dataset: x\ntitle:", "occurs twice"),
        ("title: Clinic", "title: &a [*a] Clinic", "not readable YAML"),
        ("rows_about: 5000", "strategy: best", "auto"),
        ("edges: [0, 18, 30, 45, 65, 120]", "edges: {from: 0, to: 1000, bins: 900000}", "above the limit"),
    ],
)
def test_each_fault_says_what_is_wrong(old: str, new: str, fragment: str) -> None:
    assert old in CLINIC
    with pytest.raises(PlanError, match=fragment):
        Plan.loads(CLINIC.replace(old, new))


def test_every_fault_is_listed_at_once() -> None:
    text = CLINIC.replace('epsilon: "1"', "epsilon: 0").replace("[0, 18,", "[18, 0,").replace("by: quarter", "by: hour")
    with pytest.raises(PlanError) as caught:
        Plan.loads(text)
    assert len(caught.value.faults) == 3


@pytest.mark.parametrize("text", ["", "- a", "a: [", "\x00", "just words"])
def test_a_file_that_is_no_plan_is_refused(text: str) -> None:
    with pytest.raises(PlanError):
        Plan.loads(text)


def test_a_missing_file_is_named_without_its_folder(tmp_path: Path) -> None:
    with pytest.raises(PlanError, match="no-such") as caught:
        Plan.load(tmp_path / "no-such-plan.yaml")
    assert str(tmp_path) not in str(caught.value)


def test_a_codebook_beside_the_plan_gives_the_values(tmp_path: Path) -> None:
    (tmp_path / "regions.csv").write_text('value,about\nNorth,a\n"Paris, TX",b\n')
    (tmp_path / "regions.json").write_text('{"region": ["East", "007"]}')
    for name, values in [("regions.csv", ("North", "Paris, TX")), ("regions.json", ("East", "007"))]:
        (tmp_path / "plan.yaml").write_text(
            CLINIC.replace('values: [North, South, "Paris, TX", "False"]', f"codebook: {name}")
        )
        region = Plan.load(tmp_path / "plan.yaml").column("region")
        assert region.declared == values
        assert region.source == "codebook"


@pytest.mark.parametrize("codebook", ["regions.csv", "regions.csv, source: codebook", "months"])
def test_values_are_listed_or_come_from_a_codebook_and_not_both(codebook: str, tmp_path: Path) -> None:
    (tmp_path / "regions.csv").write_text("value\nEast\n")
    (tmp_path / "plan.yaml").write_text(CLINIC.replace("values: [North", f"codebook: {codebook}, values: [North"))
    with pytest.raises(PlanError, match=r"columns → 2 \(region\): 'values' and 'codebook' both list the values"):
        Plan.load(tmp_path / "plan.yaml")


@pytest.mark.parametrize("name", ["../secret.csv", "/etc/hostname.csv", "none.csv", "martian-months"])
def test_a_codebook_lies_beside_the_plan_or_is_standard(name: str, tmp_path: Path) -> None:
    (tmp_path / "secret.csv").write_text("value\nx\n")
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "plan.yaml").write_text(
        CLINIC.replace('values: [North, South, "Paris, TX", "False"]', f"codebook: {name}")
    )
    with pytest.raises(PlanError):
        Plan.load(tmp_path / "in" / "plan.yaml")


def test_a_standard_list_needs_no_file() -> None:
    plan = Plan.loads(CLINIC.replace('values: [North, South, "Paris, TX", "False"]', "codebook: months"))
    assert plan.column("region").declared[0] == "January"
    assert plan.column("region").source == "standard"


def test_the_key_changes_with_what_is_measured_and_with_nothing_else() -> None:
    key = Plan.loads(CLINIC).key
    for same in [
        ("title: Clinic survey 2026", "title: Another"),
        ("dataset: clinic-2026", "dataset: other-name"),
        ("rows_about: 5000", "rows_about: 7"),
        ("[age, region]", "[region, age]"),
        ('epsilon: "1"', "epsilon: 1.000"),
        ("rows_about", "nouns: {rows: visits}\nstrategy: auto\nrows_about"),
        ("{name: age, ", "{name: age, label: Age, description: in years, "),
        ("{name: region, ", "{name: region, words: {North: N}, "),
    ]:
        assert Plan.loads(CLINIC.replace(*same)).key == key, same
    for other in [('epsilon: "1"', "epsilon: 1.001"), ("18,", "19,"), ("North,", "Nord,"), ("by: quarter", "by: year"),
                  ("  - [region, visit]\n", ""), ("rows: 1", "rows: 2, id: pid"),
                  ("[age, region]", "{columns: [age, region], ranges: true}"),
                  ("rows_about", "strategy: adaptive\nrows_about"),
                  ("rows_about", "strategy: optimised\nrows_about")]:  # fmt: skip
        assert Plan.loads(CLINIC.replace(*other)).key != key, other
    of_persons = ("rows: 2, id: a", "rows: 3, id: a", "rows: 2, id: b")
    units = [Plan.loads(CLINIC.replace("rows: 1", each)) for each in of_persons]
    assert len({each.key for each in units} | {decide(each).plan_id for each in units}) == 6


@pytest.mark.parametrize("bad", ["1e99999999", "1e-99999999", "1_0", "١", "9" * 5000, "1/" + "9" * 5000, "1 / 3"])
def test_an_absurdly_large_epsilon_is_refused_without_being_computed(bad: str) -> None:
    def refused() -> None:
        with pytest.raises(PlanError, match="ε must be a number: a decimal or a fraction"):
            Plan.loads(CLINIC.replace('epsilon: "1"', f'epsilon: "{bad}"'))

    assert peak_bytes(refused) < 4_000_000, "10 to the power of 99,999,999 is never written out"
    assert Plan.loads(CLINIC.replace('epsilon: "1"', 'epsilon: "1e-3"')).epsilon == Fraction(1, 1000)


@pytest.mark.parametrize("control", ["\0", "\x1b", "\x85", "\ud800"], ids=ascii)
@pytest.mark.parametrize("where", ["title", "notes", "dataset", "id", "table", "column"])
def test_no_text_of_a_plan_holds_a_control_character(control: str, where: str) -> None:
    text = f"a{control}b"
    fields: dict[str, object] = {"dataset": "d", "epsilon": 1, "tables": [["x"]]}
    name = "x"
    match where:
        case "id":
            fields["unit"] = {"id": text}
        case "table":
            fields["tables"] = [[text]]
        case "column":
            name = text
        case _:
            fields[where] = text
    with pytest.raises(PlanError, match="control character"):
        Plan(columns=[{"name": name, "kind": "yesno"}], **fields)


def test_the_name_of_a_budget_is_one_line() -> None:
    columns, lines = [{"name": "x", "kind": "yesno"}], "one\n\ttwo"
    assert Plan(dataset="d", epsilon=1, tables=[["x"]], columns=columns, title=lines, notes=lines).notes == lines
    assert YesNo(name="a\nb", missing_as=["a\tb"]).name == "a\nb", "headers and cells of real tables hold them"
    with pytest.raises(PlanError, match="dataset: this text holds"):
        Plan(dataset=lines, epsilon=1, tables=[["x"]], columns=columns)


def test_a_plan_in_code_may_name_a_standard_list_and_no_other_codebook() -> None:
    def plan(codebook: str) -> Plan:
        columns = [{"name": "m", "kind": "category", "codebook": codebook, "values": []}]
        return Plan(dataset="d", epsilon=1, tables=[["m"]], columns=columns)

    assert plan("months").cells(("m",)) == 14
    for wanted in ["x.csv", "no-such-list"]:
        with pytest.raises(PlanError, match=r"columns → 1 \(m\): "):
            plan(wanted)


def test_the_same_edges_written_otherwise_give_the_same_key() -> None:
    keys = {Plan.loads(CLINIC.replace("0, 18,", f"{edge}, 18,")).key for edge in ("10", "1e1", "1E+1", "0.1e2")}
    assert len(keys) == 1


def test_a_repeated_list_in_a_plan_is_written_twice() -> None:
    from dpengine.spec import strict_yaml

    shared = ["a", "b"]
    text = strict_yaml.dump({"x": shared, "y": shared, "z": [{"v": shared}, {"v": shared}]})
    assert strict_yaml.mapping(text, "a plan") == {"x": shared, "y": shared, "z": [{"v": shared}, {"v": shared}]}


@pytest.mark.parametrize(
    ("text", "fragment"),
    [
        ("? [a, b]\n: c", "line 1: .*a key must be a plain text"),
        ("x:\n  {a: b}: c", "line 2: .*plain text"),
        ('title: "\\U99999999"', "line 1: .*invalid Unicode character"),
        ("title: a\0b", "control character"),
        ("title: \ud800", "half a character"),
    ],
)
def test_yaml_that_python_would_stumble_over_is_a_fault_of_the_plan(text: str, fragment: str) -> None:
    with pytest.raises(PlanError, match=fragment):
        Plan.loads(text)


def test_a_column_that_is_a_name_alone_is_refused_with_an_example() -> None:
    with pytest.raises(
        PlanError, match=r"columns → 1: a column is declared with its name.*\{name: smokes, kind: yesno"
    ):
        Plan(dataset="d", epsilon=1, columns=["age"], tables=[["age"]])


@pytest.mark.parametrize(
    "entry",
    [
        {"unit": {"rows": True}},
        {"unit": {"id": "person", "rows": True}},
        {"rows_about": True},
        {"tables": {"each": True}},
        {"tables": [{"columns": ["smokes"], "distinct": True, "cells_per_person": True}]},
        {"columns": [{"name": "smokes", "kind": "number", "from": 0, "to": 9, "step": 1, "bins": {"count": True}}]},
        {"columns": [{"name": "smokes", "kind": "category", "values": "found", "among": {"from": 1, "to": True}}]},
    ],
)
def test_yes_is_no_whole_number(entry: dict[str, object]) -> None:
    """In a file, `rows: yes` is the truth value."""
    plan = {"dataset": "demo", "epsilon": "1", "columns": [{"name": "smokes", "kind": "yesno"}], "tables": [["smokes"]]}
    with pytest.raises(PlanError, match="valid integer"):
        Plan(**{**plan, **entry})  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["", " ", "\t"])
def test_a_column_of_persons_has_a_name(name: str) -> None:
    with pytest.raises(PlanError, match="unit: a column needs its name"):
        Plan(dataset="demo", epsilon="1", columns=[{"name": "smokes", "kind": "yesno"}], tables=[["smokes"]],
             unit={"id": name, "rows": 2})  # fmt: skip
