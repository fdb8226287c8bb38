"""The command that asks one private question: of a plan's columns or from a file, priced before, paid once."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest
from click.testing import CliRunner, Result

import dpengine as dpe
from dpengine.cli import main
from dpengine.spec.domain import Amount

PLAN = dpe.Plan(
    dataset="clinic",
    epsilon="500",
    columns=[
        dpe.Category(name="region", values=["North", "South"], other=False, missing=False),
        dpe.YesNo(name="a=b", other=False, missing=False),
        dpe.Number(name="age", edges=[0, 18, 65], other=False),
        Amount(name="wage", low=0, high=100, step=10),
    ],
    tables=[["region", "age"]],
)
ROWS = [("North", "yes", 20, 30)] * 40 + [("South", "no", 40, 70)] * 50 + [("North", "no", 64, 100)] * 30


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    PLAN.save("plan.yaml")
    pd.DataFrame(ROWS, columns=["region", "a=b", "age", "wage"]).to_csv("clinic.csv", index=False)
    return tmp_path


def ask(*options: str) -> Result:
    return CliRunner().invoke(main, ["ask", *options, *([] if "--dry-run" in options else ["--ledger", "sqlite:///l"])])


@pytest.mark.usefixtures("folder")
def test_a_question_is_priced_before_and_paid_once() -> None:
    arguments = ["plan.yaml", "clinic.csv", "--statistic", "count", "--where", "a=b=no", "--where", "age=18..50"]
    before = ask(*arguments, "--dry-run", "--epsilon", "1/2")
    assert before.stdout.splitlines() == [
        "number of rows, where a=b is no and age is from 18 to 50: ε = 0.5 from the budget of clinic",
        "off by about 1.9, 95 times in 100 by at most 6",
    ]
    assert not Path("l").exists(), "nothing was charged, and no ledger begun"
    arguments += ["--epsilon", "500"]
    first = ask(*arguments)
    assert "where a=b is no and age is from 18 to 50: 50, 95 % interval 50 to 50; ε = 500" in first.stdout
    assert "clinic: spent 500 in all, no cap is set" in first.stdout
    assert "the ledger is new" in first.stderr
    again = ask(*arguments)
    answer, spent, nothing = again.stdout.splitlines()
    assert [answer, spent] == first.stdout.splitlines()
    assert nothing.endswith("nothing was spent, since the same question of the same data was answered before")
    assert "the ledger is new" not in again.stderr, "it is not, although it has one entry only"
    stored, other = (json.loads(ask(*arguments, *more, "--json").stdout) for more in ((), ("--epsilon", "400")))
    assert (stored["spent"], stored["charged"]) == ("500", "0")
    assert (other["spent"], other["charged"]) == ("900", "400")


@pytest.mark.by_day(3)
@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["proportion", "--of", "region=North"], "share of rows with region is North: 58 %, 95 % interval 5"),
        (["sum", "--of", "age", "--from", "0", "--to", "50"], "sum of age: 4,300, 95 %"),
        (["mean", "--of", "wage", "--by", "region"], "  region=North: 60 ("),
        (["count", "--by", "region", "--by", "a=b"], "  region=South, a=b=no: 50 (50 to 50)"),
        (["variance", "--of", "wage"], "standard deviation 26.9"),
        (["quantile", "--of", "wage", "--level", "0.9"], "90 % quantile of wage: 100, within 0 ranks of the best"),
        (["mode", "--of", "region"], "most common value of region: North, within 0 rows"),
        (["count", "--where", "region=North", "--where", "region=South"], "region is North or South: 120"),
        (["count", "--where", "wage=..30"], "wage is at most 30: 40"),
    ],
)
def test_every_statistic_can_be_asked_of_the_columns_of_a_plan(options: list[str], said: str) -> None:
    done = ask("plan.yaml", "clinic.csv", "--statistic", *options, "--epsilon", "1000")
    assert said in done.stdout, done.output


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["mean", "--of", "wage"], "if about 1,000 rows are counted: off by at most about 0.1, 95 times in 100 by"),
        (["mean", "--of", "wage", "--where", "region=North"], "if about 1,000 rows meet the condition: off by"),
        (["proportion", "--of", "region=North"], "off by at most about 0.085 percentage points, 95 times in 100 by at"),
        (["variance", "--of", "wage", "--by", "region"], "are counted: each group of average size off by at most"),
        (["sum", "--of", "age", "--by", "region"], "\neach group off by about"),
    ],
)
def test_an_expected_error_says_for_how_many_rows_it_is(options: list[str], said: str) -> None:
    """An error that depends on the number of rows is larger if fewer of them meet the condition."""
    PLAN.model_copy(update={"rows_about": 1000}).save("plan.yaml")
    before = ask("plan.yaml", "--statistic", *options, "--epsilon", "1", "--dry-run")
    assert said in before.stdout, before.output


@pytest.mark.usefixtures("folder")
def test_a_question_may_stand_in_a_file() -> None:
    grid = dpe.Grid(name="wage", low=0, high=100)
    question = dpe.Question(dataset="clinic", epsilon="100", statistic=dpe.Mean(of=grid), by=[PLAN.column("region")])
    Path("question.yaml").write_text(question.dumps(), encoding="utf-8")
    answer = json.loads(ask("question.yaml", "clinic.csv", "--json").stdout)
    assert [group["labels"] for group in answer["groups"]] == [["North"], ["South"]]
    assert float(answer["groups"][1]["value"]) == pytest.approx(70, abs=1)
    assert (answer["spent"], answer["left"]) == ("100", None)
    assert "the question stands in the file" in ask("question.yaml", "clinic.csv", "--statistic", "count").stderr
    dpe.Ledger("sqlite:///l").set_cap("clinic", "101")
    refused = ask("question.yaml", "clinic.csv", "--epsilon", "2")
    assert (refused.exit_code, "does not allow" in refused.stderr) == (1, True)


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("options", "said"),
    [
        ([], "say what to ask with --statistic"),
        (["--statistic", "count", "--of", "age"], "a count is of no column"),
        (["--statistic", "mean"], "the one column that the mean is of"),
        (["--statistic", "mean", "--of", "height"], "give public bounds for height"),
        (["--statistic", "mode", "--of", "height"], "no column 'height'; it has region, a=b, age, wage"),
        (["--statistic", "count"], "say with --epsilon what the question may cost"),
        (["--statistic", "count", "--epsilon", "1", "--where", "height=3"], "such as region=North"),
        (["--statistic", "count", "--epsilon", "1", "--where", "region=West"], "'region' has no cell 'West'"),
        (["--statistic", "count", "--epsilon", "1", "--by", "wage"], "forms no groups"),
        (["--statistic", "count", "--epsilon", "much"], "ε must be"),
        (["--statistic", "count", "--epsilon", "1"], "name the table to ask"),
    ],
)
def test_a_question_that_cannot_be_asked_is_refused_in_one_line(options: list[str], said: str) -> None:
    done = ask("plan.yaml", *options)
    assert (done.exit_code, len(done.stderr.splitlines())) == (2, 1)
    assert said in done.stderr
    assert not Path("l").exists()


@pytest.mark.usefixtures("folder")
def test_a_near_copy_shares_the_budget_unless_other_people_are_stated() -> None:
    ages = pd.DataFrame({"region": ["North", "South"] * 150, "a=b": "no", "age": range(300), "wage": range(300)})
    spent = []
    for name, rows, options in (("clinic", 300, []), ("copy", 299, []), ("others", 298, ["--other-people"])):
        ages.head(rows).to_csv(f"{name}.csv", index=False)
        dpe.Plan(**PLAN.to_dict() | {"dataset": name}).save(f"{name}.yaml")
        done = ask(f"{name}.yaml", f"{name}.csv", "--statistic", "count", "--epsilon", "1", "--json", *options)
        spent.append(json.loads(done.stdout)["spent"])
    assert spent == ["1", "2", "1"]


@pytest.mark.usefixtures("folder")
def test_it_is_said_what_a_charge_leaves_under_the_cap() -> None:
    dpe.Ledger("sqlite:///l").set_cap("clinic", 3)
    arguments = ["plan.yaml", "clinic.csv", "--statistic", "count", "--epsilon", "1/2"]
    assert "clinic: spent 0.5 in all, left 2.5\n" in ask(*arguments).stdout
    assert json.loads(ask(*arguments, "--json").stdout)["left"] == "2.5"
