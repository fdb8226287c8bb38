"""What the library raises speaks the language of whoever meets it; what is stored stays English."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from pydantic_core import PydanticKnownError

from dpengine import Ledger, Plan, PlanError, release
from dpengine.accounting.approval.request import Actor
from dpengine.ask import ask
from dpengine.errors import BudgetError, TableError
from dpengine.measure.strategy import decide
from dpengine.release import reopen
from dpengine.sources.open import open_table
from dpengine.spec import codebook_sheet, declared, notation
from dpengine.spec.numeric.grid import Grid
from dpengine.spec.query import Condition, Mean, Question
from dpengine.translation.catalogue import language, speaking
from pages.parts.ask.history import as_rows
from pages.parts.server import jobs

ROOT = Path(__file__).parent.parent.parent
# Modules whose texts Publish can show: all of these folders, but for what only programmers meet.
SHOWN = ("spec", "sources", "counting", "accounting", "measure")
FILES = [
    *sorted(file for folder in SHOWN for file in (ROOT / "dpengine" / folder).rglob("*.py")),
    *(ROOT / "dpengine" / name for name in ("exact.py", "shapes.py", "results/predict.py", "results/result.py")),
    ROOT / "dpengine" / "results" / "views" / "synthetic.py",
]
OURS = {"ValueError", "PlanError", "TableError", "BudgetError", "LedgerError", "ReleaseError", "PrivateReleaseError"}
# For whoever runs the command line: ledgers' upkeep, and composition, which Publish does not call.
COMMAND_LINE = {"accounting/upkeep.py", "accounting/composition.py"}

TRANSLATED = {"_", "mark", "plural", "number", "localised", "repr", "Fault"}

AGE = {"name": "age", "kind": "number", "edges": [0, 18]}


def bare(code: str) -> Iterator[str]:
    """Yield each text that is raised in English only.

    >>> list(bare("raise PlanError('no')")), list(bare("raise PlanError(_('no'))"))
    (['1: no'], [])
    >>> list(bare("raise PlanError(', '.join(['no']))"))
    ['1: , no']
    """
    for node in ast.walk(ast.parse(code)):
        name = node.func.id if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) else ""
        if not isinstance(node, ast.Call) or name not in OURS | {"Fault"}:
            continue
        for value in node.args[name == "Fault" :]:
            if re.search(r"\w{2,}", text := "".join(_untranslated(value))):
                yield f"{node.lineno}: {text}"


def _untranslated(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.value
    called = node.func.id if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) else ""
    if called not in TRANSLATED:
        for child in ast.iter_child_nodes(node):
            yield from _untranslated(child)


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.relative_to(ROOT / "dpengine")))
def test_no_message_is_raised_in_english_only(file: Path) -> None:
    if str(file.relative_to(ROOT / "dpengine")) not in COMMAND_LINE:
        assert not list(bare(file.read_text()))


def plan(**changed: Any) -> Plan:
    return Plan(**{"dataset": "klinik", "epsilon": "1", "columns": [AGE], "tables": [["age"]], **changed})


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"epsilon": "0"}, "epsilon: ε muss über 0 liegen"),
        ({"epsilon": "viel"},
         "epsilon: ε muss eine Zahl sein: eine Dezimalzahl mit Punkt oder ein Bruch, etwa 0.5 oder 1/3"),
        ({"tables": [["sex"]]}, "Tabelle sex: Es gibt keine Spalte 'sex'; geben Sie sie unter 'columns' an"),
        ({"tables": []}, "nennen Sie mindestens eine Tabelle"),
        ({"columns": [{**AGE, "edges": [18, 0]}]},
         "columns → 1 (age) → edges: Grenzen müssen steigen, aber 0 folgt auf 18"),
        ({"columns": [{**AGE, "edges": [0, "x"]}]},
         "columns → 1 (age) → edges: Grenze 2: das ist keine Zahl: Schreiben Sie etwa 18 oder 0.5"),
        ({"columns": [{**AGE, "other": "vielleicht"}]},
         "columns → 1 (age) → other: hier wird Ja oder Nein (true oder false) erwartet"),
        ({"columns": [{**AGE, "colour": "red"}]},
         "columns → 1 (age) → colour: diese Angabe ist hier nicht bekannt; es gibt name, low, high, step, missing_as, "
         "absent, format, affixes, kind, label, description, other, missing, source, edges, whole, from, to, bins, "
         "levels"),
        ({"columns": [{"name": "age", "kind": "number"}]},
         "columns → 1 (age) → edges: diese Angabe fehlt und wird gebraucht"),
        ({"columns": [{"name": "age", "kind": "date", "from": "2020-13-01", "to": "2021-01-01", "by": "eon"}]},
         "columns → 1 (age) → from: hier wird ein Datum wie 2024-12-31 erwartet "
         "(month value is outside expected range of 1-12)\n"
         "columns → 1 (age) → by: erlaubt ist hier 'day', 'week', 'month', 'quarter' oder 'year'"),
        ({"columns": [{**AGE, "edges": {"from": 0, "to": 1, "bins": 2_000_000}}]},
         "columns → 1 (age) → edges: 2.000.000 Zellen in einer Spalte sind zu viele (höchstens 1.000.000)"),
        ({"columns": [{**AGE, "kind": "date", "from": "2020-01-01T12:00", "to": "2021-01-01", "by": "day"}]},
         "columns → 1 (age) → from: hier wird ein Datum ohne Uhrzeit erwartet\n"
         "columns → 1 (age) → edges: diese Angabe ist hier nicht bekannt; es gibt name, label, description, other, "
         "missing, missing_as, source, kind, from, to, by, format, zone, levels"),
        ({"unit": {"rows": 0}}, "unit → rows: der Wert muss mindestens 1 sein"),
    ],
)  # fmt: skip
def test_faults_of_a_plan_come_in_german_with_their_place(changed: dict[str, Any], said: str) -> None:
    with speaking("de"), pytest.raises(PlanError) as caught:
        plan(**changed)
    assert str(caught.value) == said


def test_what_is_typed_and_what_is_uploaded_is_refused_in_german(tmp_path: Path) -> None:
    (tmp_path / "table.xlsx").write_bytes(b"PK\x03\x04 and no more")
    (tmp_path / "empty.csv").write_bytes(b"")
    with speaking("de"):
        with pytest.raises(ValueError, match=r"^schreiben Sie zuerst die kleinere Zahl"):
            notation.read("90 to 18 by 5", "number", strict=True)
        with pytest.raises(PlanError, match=r"^Zeile 2, age: Ja oder Nein hat keine weiteren Werte"):
            codebook_sheet.from_csv("column,kind,values or bins\nage,yes or no,vielleicht\n")
        with pytest.raises(PlanError, match=r"^Zeile 2: Das ist kein lesbares YAML"):
            Plan.loads("title: a\ntitle: b\n")
        with pytest.raises(TableError, match=r"^die Datei ist leer"):
            open_table(tmp_path / "empty.csv")
        with pytest.raises(TableError, match=r"^das ist keine vollständige Arbeitsmappe"):  # read by another process
            open_table(tmp_path / "table.xlsx")


def test_a_budget_is_refused_in_german_with_german_numbers() -> None:
    ledger = Ledger.in_memory()
    ledger.set_cap("klinik", "0.5")
    with speaking("de"), pytest.raises(BudgetError) as caught:
        ledger.check("klinik", b"f" * 32, Fraction(5, 4))
    assert "verlangt ε = 1,25, ausgegeben 0 von 0,5, übrig 0,5." in str(caught.value)
    with speaking("de"), pytest.raises(BudgetError, match="Ohne Anmeldung lässt sich nicht sagen, wer wer ist"):
        Ledger.in_memory().approvals.send(plan(), Actor(""))


def test_a_job_speaks_the_language_of_the_visitor_who_began_it() -> None:
    with speaking("de"):
        job = jobs.start(lambda _progress: language(), None)
    assert job.wait(30)
    assert job.result() == "de"


def test_what_is_stored_stays_english(tmp_path: Path) -> None:
    (tmp_path / "table.csv").write_text("age\n" + "5\n" * 30)
    ledger = Ledger.in_memory()
    with speaking("de"):
        assert decide(plan()).why.startswith("Direkt: Die Tabellen lassen sich messen")
        result = release(open_table(tmp_path / "table.csv"), plan(), ledger)
        stored, manifest = result.to_bytes(), result.manifest
        (entry,) = ledger.history("klinik")
    again = reopen(stored)
    assert (again.to_bytes(), again.manifest["strategy"]) == (stored, manifest["strategy"])
    assert manifest["strategy"].startswith("Direct: the tables can be measured")
    assert entry.summary == "age"


def test_a_question_is_stored_and_downloaded_in_english_and_shown_in_german() -> None:
    ledger, where = Ledger.in_memory(), [Condition.between("age", low="17.5")]
    question = Question(
        dataset="klinik", epsilon="0.1", statistic=Mean(of=Grid(name="age", low=0, high=9)), where=where
    )
    with speaking("de"):
        answer = ask(pd.DataFrame({"age": [20] * 30}), question, ledger)
        (row,) = as_rows([answer])
        assert question.in_words == "Mittelwert von age, nur Zeilen mit age mindestens 17,5"
    (entry,) = ledger.history("klinik")
    assert entry.title == row["question"] == question.description == "average of age, where age is at least 17.5"


def test_the_words_of_the_library_that_checks_types_are_those_that_are_translated() -> None:
    context = {"class_name": "Each", "error": "no month", "expected": "'day'", "ge": 1, "le": 2}
    for kind, text in declared._TYPES.items():
        wanted = {name: value for name, value in context.items() if f"{{{name}}}" in text}
        assert PydanticKnownError(kind, wanted or None).message_template == text  # type: ignore[arg-type]
