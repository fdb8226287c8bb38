"""The command line holds to its exit statuses and its streams, whatever the labels, the terminal or the options."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from dpengine import Ledger, Plan, errors, predict
from dpengine.cli import MEANINGS, STATUSES, main
from dpengine.version import VERSION
from tests.charges import charge
from tests.command import run
from tests.plans import CLINIC, letters_plan


def on_an_old_terminal(*arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "dpengine", *map(str, arguments)]
    odd = os.environ | {"PYTHONIOENCODING": "cp1252"}
    return subprocess.run(command, capture_output=True, encoding="cp1252", check=False, env=odd)


def test_labels_that_the_terminal_cannot_show_stop_nothing(tmp_path: Path) -> None:
    (tmp_path / "plan.yaml").write_text(CLINIC.replace("region", "Περιοχή"), encoding="utf-8")
    done = on_an_old_terminal("predict", tmp_path / "plan.yaml")
    assert done.returncode == 0, done.stderr
    assert "\\u03b5 = 1" in done.stdout


def test_json_is_json_on_any_terminal(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'l.db'}"
    done = on_an_old_terminal("ledger", "κλινική", "--cap", "1", "--json", "--ledger", url)
    assert json.loads(done.stdout)[0]["dataset"] == "κλινική"


@pytest.mark.parametrize("url", ["budget.db", "nosuch://x", "sqlite://host:port/x", "sqlite:///x.db?mode=ro", "://"])
def test_a_malformed_ledger_address_is_wrong_use(url: str) -> None:
    for done in (run("ledger", "--ledger", url), run("ledger", PRIVATE_RELEASE_LEDGER=url)):
        assert (done.exit_code, done.stdout) == (2, "")
        assert len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize("cap", ["", "two", "-1", "0", "1/0", "1_0", "1e99999999"])
def test_a_malformed_cap_is_wrong_use(cap: str, tmp_path: Path) -> None:
    done = run("ledger", "clinic", f"--cap={cap}", "--ledger", f"sqlite:///{tmp_path / 'l.db'}")
    assert (done.exit_code, done.stdout) == (2, "")
    assert not (tmp_path / "l.db").exists()


def test_an_output_that_cannot_be_written_is_wrong_use(tmp_path: Path) -> None:
    (plan := tmp_path / "plan.yaml").write_text(CLINIC, encoding="utf-8")
    done = CliRunner().invoke(main, ["codebook", str(plan), "-o", str(tmp_path / "missing" / "book.csv")])
    expected = (
        "private-release: book.csv cannot be written: its folder does not exist; make it first, or name another\n"
    )
    assert (done.exit_code, done.stderr) == (2, expected)


def test_the_version_is_that_which_releases_record() -> None:
    assert run("--version").stdout == f"{VERSION}\n"


@pytest.mark.parametrize(("argument", "status"), [("--version-of-nothing", 2), ("--help", 0)])
def test_the_process_ends_early_after_its_exit_handlers_have_run(argument: str, status: int) -> None:
    """What is registered for the end is done, all lines are written, and the status is that of the command."""
    script = f"import atexit, dpengine.cli\natexit.register(print, 'cleared up')\ndpengine.cli.run(args=['{argument}'])"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode == status
    assert done.stdout.endswith("cleared up\n")
    assert "Usage:" in done.stdout + done.stderr


def test_every_kind_of_error_has_an_exit_status() -> None:
    kinds = [errors.PrivateReleaseError]
    for kind in kinds:
        kinds += kind.__subclasses__()
    assert STATUSES.keys() == set(kinds[1:])
    assert set(STATUSES.values()) == {1, 2, 75}
    assert set(STATUSES.values()) < set(MEANINGS)


def test_a_ledger_that_cannot_be_used_has_status_1(tmp_path: Path) -> None:
    (tmp_path / "l.db").write_bytes(b"no ledger")
    done = run("ledger", "--ledger", f"sqlite:///{tmp_path / 'l.db'}")
    assert (done.exit_code, done.stdout) == (1, "")
    assert len(done.stderr.splitlines()) == 1
    assert str(tmp_path) not in done.stderr


def test_a_refusal_over_the_cap_has_status_1(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'l.db'}"
    (tmp_path / "plan.yaml").write_text(CLINIC, encoding="utf-8")
    (tmp_path / "t.csv").write_text("age,region,visit\n1,North,2024-01-01\n", encoding="utf-8")
    assert run("ledger", "CLINIC-2026", "--cap", "1/2", "--ledger", url).exit_code == 0
    done = run("release", tmp_path / "plan.yaml", tmp_path / "t.csv", "-o", tmp_path / "r.zip", "--ledger", url)
    assert (done.exit_code, done.stdout) == (1, "")
    assert "does not allow" in done.stderr


@pytest.mark.parametrize(
    ("line", "doubted"),
    [("34,Zanzibar", True), ("name,1.5e3", True), ("2024-05-01,x", True), ("Zanzibar,Zanzibar", True),
     ("zanzibar,Zanzibar ", True), ("age,region", False), ("region,2019,2020", False), ("q1,q2,v2.1", False)],
)  # fmt: skip
def test_a_first_line_that_looks_like_data_gives_a_warning(line: str, doubted: bool, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text(f"{line}\n{line}\n", encoding="utf-8")
    done = run("columns", tmp_path / "t.csv")
    warnings = [line for line in done.stderr.splitlines() if "looks like data" in line]
    assert len(warnings) == doubted
    assert "anzibar" not in "".join(warnings)


def test_a_near_copy_shares_the_budget_unless_other_people_are_stated(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'l.db'}"
    lines = [f"{k * 7 % 90},North,2024-0{k % 9 + 1}-01,{k}" for k in range(60)]
    outputs = []
    for name, first, options in (("clinic", 0, []), ("copy", 1, []), ("others", 2, ["--other-people"])):
        (tmp_path / "plan.yaml").write_text(CLINIC.replace("clinic-2026", name), encoding="utf-8")
        (tmp_path / "t.csv").write_text("\n".join(["age,region,visit,number", *lines[first:]]), encoding="utf-8")
        saved = ["-o", tmp_path / "r.zip", "--ledger", url]
        outputs.append(run("release", tmp_path / "plan.yaml", tmp_path / "t.csv", *saved, *options).stdout)
    assert [output.splitlines()[1] for output in outputs] == [
        "clinic: spent 1 in all, no cap is set",
        "copy: spent 2 in all, no cap is set",
        "others: spent 1 in all, no cap is set",
    ]
    assert "the table looks like that of clinic" in outputs[1]
    assert outputs[1].rstrip().endswith("the same people, who share one budget")
    assert outputs[2].rstrip().endswith("other people, as stated")
    listed = run("ledger", "others", "--ledger", url)
    assert "other people, as stated" in listed.stdout
    (entry,) = json.loads(run("ledger", "copy", "--ledger", url, "--json").stdout)
    assert [each["dataset"] for each in entry["releases"][1]["recognised"]] == ["clinic"]


def test_a_release_published_under_another_name_says_whose_budget_paid(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'l.db'}"
    (tmp_path / "t.csv").write_text("age,region,visit\n1,North,2024-01-01\n", encoding="utf-8")
    outputs = []
    for name in ("clinic-2026", "Clinic-2026", "another"):
        (tmp_path / "plan.yaml").write_text(CLINIC.replace("clinic-2026", name), encoding="utf-8")
        options = ["-o", tmp_path / "r.zip", "--ledger", url]
        outputs.append(run("release", tmp_path / "plan.yaml", tmp_path / "t.csv", *options).stdout.splitlines())
        as_json = json.loads(run("release", tmp_path / "plan.yaml", tmp_path / "t.csv", *options, "--json").stdout)
        assert (as_json["dataset"], as_json["spent"]) == ("clinic-2026", "1")
    assert [lines[1] for lines in outputs] == ["clinic-2026: spent 1 in all, no cap is set"] * 3
    assert [lines[2:] for lines in outputs] == [
        [],
        ["Clinic-2026: nothing was spent, since the same tables of the same data were published before"],
        ["another: nothing was spent, since the same tables of the same data were published before"],
    ]


def test_a_name_forges_no_line_and_sends_the_terminal_no_control_codes(tmp_path: Path, ledger_url: str) -> None:
    forged = "age\n  2026-01-01T00:00:00Z  ε        0  forged  nothing\x1b[2J\u202e"
    charge(Ledger(ledger_url), "plan", f"clinic\r\n{forged}", summary=forged)
    done = run("ledger", "--ledger", ledger_url)
    assert len(done.stdout.splitlines()) == 2
    assert not set("\r\x1b\u202e") & set(done.stdout)
    assert json.loads(run("ledger", "--ledger", ledger_url, "--json").stdout)[0]["releases"][0]["summary"] == forged
    name = "age\n  forged \u202e"
    column = {"name": name, "kind": "yesno"}
    Plan(dataset="clinic \u202e", epsilon=1, columns=[column], tables=[[name]]).save(tmp_path / "plan.yaml")
    lines = run("predict", tmp_path / "plan.yaml").stdout.splitlines()
    assert len(lines) == 1 + 1 + 2, "the price, the header, a table and the total"
    assert not set("\x1b\u202e") & set("".join(lines))


@pytest.mark.by_day(1)
@pytest.mark.parametrize("form", [[], ["--json"]])
def test_a_prediction_says_if_the_plan_is_refused(form: list[str], tmp_path: Path) -> None:
    """Predicted errors alone would promise a release that the plan cannot have."""
    plan = tmp_path / "plan.yaml"
    for epsilon, refused in (("'0.000001'", True), ("'1'", False)):
        plan.write_text(CLINIC.replace('epsilon: "1"', f"epsilon: {epsilon}") + "strategy: adaptive\n")
        done = run("predict", plan, *form)
        assert done.exit_code == 0
        assert ("a release of this plan is refused: epsilon is too small" in done.stderr) == refused


def test_a_prediction_says_if_the_size_of_the_table_would_decide(tmp_path: Path) -> None:
    """At ε = 0.1, three overlapping tables of 64 cells get a model where rows are few."""
    plan = tmp_path / "plan.yaml"
    chain = letters_plan([8, 8, 8, 8], [["a", "b"], ["b", "c"], ["c", "d"]], epsilon="0.1", rows_about=None)
    for state, warned in ((None, True), (1_000, False), (10**6, False)):
        chain.model_copy(update={"rows_about": state}).save(plan)
        assert ("with about 1,000 or fewer, a model would be more accurate" in run("predict", plan).stderr) == warned
    chain.at(1).save(plan)
    assert run("predict", plan).stderr == "", "at every size, the tables are measured"


def test_a_prediction_says_which_tables_count_persons_and_which_rows(tmp_path: Path) -> None:
    plan = tmp_path / "plan.yaml"
    columns = [{"name": "a", "kind": "yesno"}, {"name": "b", "kind": "yesno"}]
    tables = [["a"], {"columns": ["b"], "distinct": True}]
    Plan(dataset="d", epsilon=1, unit={"id": "who", "rows": 3}, columns=columns, tables=tables).save(plan)
    listed = json.loads(run("predict", plan, "--json").stdout)["tables"]
    assert [each["counts"] for each in listed] == ["kept rows", "people, each in one cell", "kept rows"]
    assert "people, each in one cell" in run("predict", plan).stdout
    assert "people, each in one cell" in str(predict(Plan.load(plan), [1, 2])._repr_html_())  # type: ignore[operator]


def test_a_prediction_at_other_prices_does_not_state_that_of_the_plan(tmp_path: Path) -> None:
    (tmp_path / "plan.yaml").write_text(CLINIC, encoding="utf-8")
    assert run("predict", tmp_path / "plan.yaml").stdout.startswith("ε = 1 from the budget of clinic-2026\n")
    done = run("predict", tmp_path / "plan.yaml", "--epsilon", "0.2")
    assert done.stdout.startswith("each ε from the budget of clinic-2026\n")


def test_every_command_is_listed_with_a_whole_sentence() -> None:
    listed = run("--help").stdout
    assert "..." not in listed.partition("Commands:")[2]
    assert "private-release columns TABLE > plan.yaml" in listed


def test_no_progress_bar_is_drawn_on_standard_output() -> None:
    # DuckDB would draw one after two seconds where Python runs no file, as here.
    statement = "SELECT current_setting('enable_progress_bar')"
    code = f"from dpengine.sources.engine import Engine; print(Engine().connection().execute({statement!r}).fetchone())"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "(False,)\n"


def test_verify_says_what_it_does_not_read(tmp_path: Path) -> None:
    (tmp_path / "plan.yaml").write_text(CLINIC, encoding="utf-8")
    (tmp_path / "t.csv").write_text("age,region,visit\n1,North,2024-01-01\n", encoding="utf-8")
    run("release", tmp_path / "plan.yaml", tmp_path / "t.csv", "-o", tmp_path / "r.zip")
    prose = ["README.txt", "report.html", "registry.yaml"]
    assert all(name in run("verify", tmp_path / "r.zip").stdout for name in prose)
    assert json.loads(run("verify", tmp_path / "r.zip", "--json").stdout)["not_read"] == prose


@pytest.mark.parametrize("form", ["csv", "parquet", "feather"])
@pytest.mark.nightly
def test_a_release_loads_no_pandas_which_takes_longer_than_the_rest(form: str, tmp_path: Path) -> None:
    (tmp_path / "plan.yaml").write_text(CLINIC, encoding="utf-8")
    (tmp_path / "t.csv").write_text("age,region,visit\n1,North,2024-01-01\n", encoding="utf-8")
    seen = pa.array([2**62, None, 0], pa.timestamp("ms"))  # of which no reader but Arrow can make anything
    table = pa.table({"age": [1.5, None, 70], "region": ["North", None, "?"], "visit": seen})
    pq.write_table(table, tmp_path / "t.parquet")
    feather.write_feather(table, tmp_path / "t.feather")
    options = ["release", tmp_path / "plan.yaml", tmp_path / f"t.{form}", "-o", tmp_path / "r.zip"]
    command = [sys.executable, "-X", "importtime", "-m", "dpengine", *map(str, options)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    loaded = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
    assert {"dpengine.release", "pyarrow"} <= loaded
    assert "pandas" not in loaded


HOLD = """
import time
from pathlib import Path
import click
from dpengine import cli, open_table

@cli.main.command()
@click.argument("path", type=click.Path(path_type=Path))
def hold(path):
    with open_table(path):
        print("held", flush=True)
        time.sleep(60)

cli.main()
"""


@pytest.mark.parametrize("name", ["SIGTERM", "SIGHUP"])
def test_no_copy_of_rows_stays_when_the_system_ends_a_command(name: str, tmp_path: Path) -> None:
    (scratch := tmp_path / "scratch").mkdir()
    (tmp_path / "t.csv").write_bytes(b"a,b\r\n1,2\r\n")
    command = [sys.executable, "-c", HOLD, "hold", str(tmp_path / "t.csv")]
    with subprocess.Popen(command, env=os.environ | {"TMPDIR": str(scratch)}, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        assert len(list(scratch.rglob("plain.csv"))) == 1
        process.send_signal(getattr(signal, name))
    assert process.returncode == 128 + getattr(signal, name)
    assert list(scratch.iterdir()) == []
