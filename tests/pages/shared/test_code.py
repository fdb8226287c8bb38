"""The texts that pages show of themselves run as they stand, and do what the page does."""

from __future__ import annotations

import ast
import json
import math
import runpy
import shlex
import shutil
from collections.abc import Callable
from contextlib import redirect_stdout
from fractions import Fraction
from io import StringIO
from pathlib import Path
from typing import Any

import jsonschema
import pandas as pd
import pytest
import yaml
from click.testing import CliRunner

import dpengine as dpe
from dpengine.cli import main
from dpengine.spec.wording import people
from pages.parts.shared.code import write
from pages.parts.visit.plan.plan_form import from_plan
from pages.parts.visit.state import STEPS
from tests.pages.publish.test_steps import CLINIC
from tests.pages.visits import labelled, ledger, metrics, settled, texts, visit, visit_of
from tests.plans import survey

ROOT = Path(__file__).parents[3]
NOTEBOOKS = ROOT / "docs" / "notebooks"
SCHEMA = yaml.safe_load(Path(__file__).with_name("nbformat-schema.yaml").read_text(encoding="utf-8"))

PLAINLY: dict[str, Any] = {"options": {}, "sample": False, "folder": "", "database": "", "schema": "", "owner": "",
                           "ledger": None, "other_people": False}  # fmt: skip
HOSTILE = "it's \"; import os; $(touch x) \\ {{ 7 * 7 }}\n# %%\nraise SystemExit.csv"


def run(text: str) -> tuple[dict[str, Any], str]:
    """Run a Python text; return what it leaves behind, and what it prints."""
    names: dict[str, Any] = {"__name__": "__main__"}
    with redirect_stdout(StringIO()) as printed:
        exec(compile(text, "shown", "exec"), names)
    return names, printed.getvalue()


def cells(text: str) -> str:
    """Return the code of a notebook, which must be one, cell after cell."""
    book = json.loads(text)
    jsonschema.validate(book, SCHEMA)
    return "\n\n".join("".join(cell["source"]) for cell in book["cells"] if cell["cell_type"] == "code")


def run_lines(text: str) -> str:
    """Run lines of the command line here; return what the last one prints."""
    output = ""
    for line in text.splitlines():
        command, *arguments = shlex.split(line, comments=True) or ["", ""]
        if command:
            assert command == "private-release"
            done = CliRunner().invoke(main, arguments)
            assert done.exit_code == 0, done.output
            output = done.output
    return output


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_what_publish_shows_makes_the_release_of_the_page_in_each_of_three_ways(folder: Path) -> None:
    (folder / "clinic.csv").write_text(CLINIC)
    page = visit()
    page.get("file_uploader")[0].upload("clinic.csv", CLINIC.encode()).run()
    plan = dpe.Plan(dataset="clinic", epsilon=1, columns=[{"name": "region", "kind": "category", "values": ["North"]}],
                    tables=[["region"]])  # fmt: skip
    visit_of(page).refresh(from_plan(plan))
    visit_of(page).settle(*STEPS)
    page.session_state["code-publish"] = True
    settled(page.run())
    plan.save("plan.yaml")
    as_python, as_lines = (code.value for code in page.get("code"))
    made, printed = run(as_python)
    release = made["release"]
    assert release.plan == visit_of(page).plan == plan
    assert ledger().spent("clinic") == 1
    assert "This release costs ε = 1 of the budget of clinic" in printed
    assert release.release_id in run_lines(as_lines)
    values = {"plan": "plan.yaml", "bundle": "again.zip", "table": "clinic.csv", **PLAINLY}
    assert run(cells(write.notebook("publish", **values)))[0]["release"].release_id == release.release_id
    assert dpe.verify("release.zip")["release_id"] == dpe.verify("again.zip")["release_id"]
    signer = dpe.signed_by("release.zip")
    assert f"signed by {signer}" in run(write.python("verify", bundle="release.zip", key=signer))[1]
    with pytest.raises(dpe.ReleaseError, match="signed by"):
        run(write.python("verify", bundle="release.zip", key="0" * 32))
    assert "Already published: costs 0" in texts(settled(page.run())), "the page would make no other"
    assert ledger().spent("clinic") == 1, "three times the same release, paid once"


@pytest.mark.nightly
def test_a_question_shows_how_it_is_asked_of_a_sample_that_is_fetched_first(folder: Path) -> None:
    page = visit()
    page.button(key="sample_rand").click().run()
    page.session_state["code-ask"] = True
    settled(page.switch_page("pages/ask.py").run())
    assert not page.exception
    as_python, as_lines = (code.value for code in page.get("code"))
    names, printed = run(as_python)
    answer = names["answer"]
    assert (folder / "data" / "rand.plan.yaml").is_file()
    shutil.rmtree(folder / "data")
    Path("question.yaml").write_text(answer.question.dumps(), encoding="utf-8")
    assert "private-release ask question.yaml --dry-run" in as_lines
    assert "rand-hie: spent 0.1 in all" in run_lines(as_lines), "the same answer, paid once"
    assert str(answer.value) in printed
    assert "Answered: seeing it again costs 0" in texts(settled(page.run()))
    assert ledger().history("rand-hie")[-1].release_id == answer.answer_id
    assert (folder / "data" / "rand.plan.yaml").is_file()


@pytest.mark.nightly
def test_a_table_is_read_as_on_the_page_and_for_the_same_owner(folder: Path) -> None:
    text = "A title\npeople|place|ways|ways\n30|M\u00fcnchen|bus; tram|\n41|Ulm|tram|\nTotal|Ulm||\n"
    Path("visits.csv").write_text(text, encoding="latin-1")
    options = {"encoding": "latin-1", "delimiter": "|", "skip_rows": 1, "skip_last": 1, "number_names": True,
               "rename": {"place": "town", "ways (2)": "it's=no"}, "frequency": "people",
               "answers": {"ways": ["bus", "it's a tram", "foot; bike"]}}  # fmt: skip
    town = {"name": "town", "kind": "category", "values": ["München"]}
    ways = ("ways: bus", "ways: it's a tram", "ways: foot; bike")
    columns = [town, *({"name": way, "kind": "yesno"} for way in ways)]
    plan = dpe.Plan(dataset="visits", epsilon=50, columns=columns, tables=[["town", "ways: bus"]])
    plan.save("plan.yaml")
    values = {"plan": "plan.yaml", "bundle": "release.zip", "table": "visits.csv", **PLAINLY, "options": options,
              "owner": "group:clinic", "other_people": True}  # fmt: skip
    release = run(write.python("publish", **values))[0]["release"]
    assert release.counts(("town", "ways: bus"))[:2, :2].tolist() == [[30, 0], [0, 41]]
    assert release.release_id in run_lines(write.shell("publish", **values))
    assert ledger().for_owner("group:clinic").spent("visits") == 50
    assert ledger().spent("visits") == 0
    own = values | {"owner": "", "personal": True}
    for text in (write.python("publish", **own), write.shell("publish", **own)):
        assert "with your identity there; it is left out" in text
        assert "group:clinic" not in text


def test_a_sheet_is_read_by_its_name(folder: Path) -> None:
    with pd.ExcelWriter("book.xlsx") as book:
        for name in ("first", "the second"):
            pd.DataFrame({name: ["x"]}).to_excel(book, sheet_name=name, index=False)
    text = write.shell("publish", plan="plan.yaml", bundle="b.zip", table="book.xlsx",
                       **PLAINLY | {"options": {"sheet": "the second"}})  # fmt: skip
    assert "--sheet 'the second'" in text
    assert '"the second"' in run_lines("private-release columns book.xlsx --sheet 'the second'")


@pytest.mark.nightly
def test_accuracy_asks_the_same_prediction(folder: Path) -> None:
    page = visit()
    own = survey()
    visit_of(page).plan = own
    page.session_state["code-accuracy"] = True
    page.switch_page("pages/accuracy.py").run()
    assert not page.exception
    own.save("plan.yaml")
    as_python, as_lines = (code.value for code in page.get("code"))
    errors: pd.DataFrame = run(as_python)[0]["errors"]
    assert people(errors["mean_abs_error"].iloc[0]) == metrics(page)["Typically off by"]
    assert "half_width_95" in run_lines(as_lines)


def test_a_choice_has_the_chances_of_the_page() -> None:
    page = visit()
    page.session_state["code-choose"] = True
    page.switch_page("pages/labs/choose.py").run()
    assert not page.exception
    chances = run(page.get("code")[0].value)[0]["chances"]
    best = labelled(page.metric, "The best is drawn").value
    assert math.isclose(max(chances), float(best.split()[0].rstrip("%")) / 100, abs_tol=0.01)


@pytest.mark.by_day(1)
@pytest.mark.parametrize("page", ["definition", "attacks", "risk", "survey", "learn"])
def test_each_lab_shows_a_text_that_runs(page: str) -> None:
    at = visit()
    at.session_state[f"code-{page}"] = True
    at.session_state["survey_people"] = 100
    at.switch_page(f"pages/labs/{page}.py").run()
    assert not at.exception
    text = at.get("code")[-1].value
    if page in ("definition", "risk"):
        assert run(text)[1]
    else:  # the same text as of the notebook, which is run below, with other numbers
        compile(text, page, "exec")


@pytest.mark.nightly
def test_budget_and_verify_show_their_texts() -> None:
    page = visit()
    for name in ("budget", "verify"):
        page.session_state[f"code-{name}"] = True
    plan = dpe.Plan(dataset="clinic", epsilon=1, columns=[dpe.YesNo(name="smokes")], tables=[["smokes"]])
    dpe.release(pd.DataFrame({"smokes": ["yes"]}), plan, ledger())
    page.switch_page("pages/budget.py").run()
    assert not page.exception
    as_python, as_lines = (next(code.value for code in page.get("code") if code.language == language)
                           for language in ("python", "bash"))  # fmt: skip
    assert "spent 1" in run(as_python)[1]
    assert "spent 1" in run_lines(as_lines)
    page.switch_page("pages/verify.py").run()
    assert not page.exception
    assert [code.value.strip().splitlines()[-1] for code in page.get("code")] == [
        'print("signed by", dpe.signed_by("release.zip"))', "private-release verify release.zip",
    ]  # fmt: skip


def test_names_that_people_give_are_texts_and_never_code(folder: Path) -> None:
    values = {"plan": HOSTILE, "bundle": HOSTILE, "table": HOSTILE, **PLAINLY, "options": {"sheet": HOSTILE},
              "owner": HOSTILE, "ledger": HOSTILE}  # fmt: skip
    for database in ("", HOSTILE):
        text = write.python("publish", **(values | {"database": database}))
        compile(text, "shown", "exec")
        assert repr(HOSTILE) in text
        assert compile(cells(write.notebook("publish", **(values | {"database": database}))), "cells", "exec")
    first, *words = shlex.split(write.shell("publish", **values), comments=True)
    assert first == "private-release"
    assert [word for word in words if "import os" in word] == [HOSTILE] * 7
    assert not Path("x").exists()


@pytest.mark.nightly
def test_every_page_has_its_notebook_in_the_documents_and_each_runs(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: Callable[[], dict[str, str]] = runpy.run_path(str(NOTEBOOKS / "make.py"))["made"]
    texts = made()
    assert set(texts) == {path.name for path in NOTEBOOKS.glob("*.ipynb")}
    pages = {template.name.removesuffix(".py.j2") for template in write.TEMPLATES.glob("*.py.j2")}
    assert set(texts) >= {f"{page}.ipynb" for page in pages}
    (folder / "data").symlink_to(ROOT / "data")
    there = folder / "docs" / "notebooks"
    there.mkdir(parents=True)
    monkeypatch.chdir(there)
    for name, made_anew in texts.items():
        text = (NOTEBOOKS / name).read_text(encoding="utf-8")
        assert text == made_anew, "run docs/notebooks/make.py"
        if name.removesuffix(".ipynb") in pages:
            assert run(cells(text))[1], name
    assert dpe.Ledger("sqlite:///notebooks-ledger.db").spent("rand-hie") == Fraction(11, 10), "each was paid once"
    assert not ledger().datasets(), "notebooks spend no budget but their own"


@pytest.mark.by_day(1)
@pytest.mark.parametrize(
    "name", ["from_pandas", "analyse_release", pytest.param("simulate_first", marks=pytest.mark.nightly)]
)
def test_each_worked_notebook_runs_and_shows_what_each_cell_ends_with(
    name: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "data").symlink_to(ROOT / "data")
    there = folder / "docs" / "notebooks"
    there.mkdir(parents=True)
    monkeypatch.chdir(there)
    book = json.loads((NOTEBOOKS / f"{name}.ipynb").read_text(encoding="utf-8"))
    names: dict[str, Any] = {"__name__": "__main__"}
    shown = []
    for cell in book["cells"]:
        if cell["cell_type"] != "code":
            continue
        steps = ast.parse("".join(cell["source"]))
        last = steps.body.pop() if isinstance(steps.body[-1], ast.Expr) else None
        with redirect_stdout(StringIO()):
            exec(compile(steps, name, "exec"), names)
            value = eval(compile(ast.Expression(last.value), name, "eval"), names) if last else None
        shown += [] if value is None else [value._repr_html_()]
    assert len(shown) >= 3
    assert all(shown)
    assert not ledger().datasets(), "notebooks spend no budget but their own"
