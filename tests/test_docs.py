"""Every file, heading and test that the documents name exists. Each attack has a test, or says that it has none."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from tests import count

ROOT = Path(__file__).parent.parent
DOCUMENTS = [
    *(ROOT / f"{name}.md" for name in ("README", "SECURITY", "CHANGELOG")),
    *sorted((ROOT / "docs").rglob("*.md")),
]
THREATS = (ROOT / "docs" / "threats.md").read_text(encoding="utf-8")

PLACE = re.compile(r"(?<![\w./-])((?:\.streamlit|benchmarks|data|docs|dpengine|pages|tests)/[\w./-]*[\w/])")
LINK = re.compile(r"\]\((?!https?:)([^()#\s]*)(?:#([\w-]+))?\)")
TEST = re.compile(r"`(tests/[\w./-]+\.py)::(\w+)`")
OPERATORS_OWN = {".streamlit/config.toml", ".streamlit/secrets.toml"}  # the second one holds passwords, and is not kept


def missing_files(text: str, folder: Path) -> list[str]:
    """Return the files that `text` names or links to, in a document in `folder`, and that are not there."""
    named = {place: ROOT / place for place in PLACE.findall(text) if place not in OPERATORS_OWN}
    linked = {place: folder / place for place, _ in LINK.findall(text) if place}
    return sorted(place for place, path in (named | linked).items() if not path.exists())


def missing_headings(text: str, document: Path) -> list[str]:
    """Return the headings that `text` links to and that are not there."""
    links = [(document if not place else document.parent / place, heading) for place, heading in LINK.findall(text)]
    return sorted(heading for path, heading in links if heading and heading not in headings(path, text, document))


def headings(path: Path, text: str, document: Path) -> set[str]:
    """Return the headings of a document as links name them."""
    content = text if path == document else path.read_text(encoding="utf-8")
    titles = re.findall(r"(?m)^#+ (.+)$", content)
    return {re.sub(r"[^\w -]", "", title).strip().lower().replace(" ", "-") for title in titles}


@cache
def functions(path: Path) -> frozenset[str]:
    nodes = ast.walk(ast.parse(path.read_text(encoding="utf-8"))) if path.is_file() else ()
    return frozenset(node.name for node in nodes if isinstance(node, ast.FunctionDef))


def missing_tests(text: str) -> list[str]:
    """Return the tests that `text` names and that do not exist."""
    return sorted(f"{file}::{name}" for file, name in TEST.findall(text) if name not in functions(ROOT / file))


def rows(text: str, heading: str) -> Iterator[list[str]]:
    """Return the cells of each row, in all tables whose first column has this heading."""
    for table in re.findall(rf"(?m)^\| {heading} \|.*\n\|[-|]+\|\n((?:\|.*\n)+)", text):
        yield from ([cell.strip() for cell in line.strip("|").split(" | ")] for line in table.splitlines())


def unbacked(text: str) -> list[str]:
    """Return the attacks without a test, that do not say so, or without the file that stands against them."""
    return [
        attack
        for attack, defence, tests in rows(text, "attack")
        if tests != "no test" and not (TEST.search(tests) and re.search("`[^`]+`", defence))
    ]


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_file_heading_and_test_that_a_document_names_exists(document: Path) -> None:
    text = document.read_text(encoding="utf-8")
    assert missing_files(text, document.parent) == []
    assert missing_headings(text, document) == []
    assert missing_tests(text) == []


def test_the_readme_leads_to_the_documentation() -> None:
    """From its first page, the navigation leads to every other (tests/test_site.py)."""
    linked = {place for place, _ in LINK.findall(DOCUMENTS[0].read_text(encoding="utf-8"))}
    assert linked >= {"SECURITY.md", "CHANGELOG.md", "docs/index.md", "docs/threats.md"}
    assert len([place for place in linked if place.startswith("docs/howto/")]) >= 6


def test_each_attack_has_its_defence_and_its_test_or_says_that_there_is_none() -> None:
    assert len(list(rows(THREATS, "attack"))) > 30
    assert unbacked(THREATS) == []


def test_each_hazard_names_where_it_is_handled() -> None:
    hazards = list(rows((ROOT / "docs" / "hazards.md").read_text(encoding="utf-8"), "hazard"))
    assert len(hazards) > 20
    assert not [hazard for hazard, _, where in hazards if not re.search("`|nowhere", where)]


def test_every_number_that_is_counted_is_explained(request: pytest.FixtureRequest) -> None:
    counted = count.counted(request.session.items)
    assert counted["tests"] + counted["docstrings with examples"] == len(request.session.items)
    explained = {line for line, _ in rows(THREATS, "line")}
    assert {what.partition(",")[0] for what in counted} == explained


def test_a_missing_name_is_noticed() -> None:
    """Without this, a pattern that finds nothing would find no fault."""
    text = "`dpengine/gone.py`, [a](gone.md), [b](#gone), [c](deploy.md#gone), `tests/test_docs.py::test_gone`"
    document = ROOT / "docs" / "threats.md"
    assert missing_files(text, document.parent) == ["dpengine/gone.py", "gone.md"]
    assert missing_headings(text, document) == ["gone", "gone"]
    assert missing_tests(text) == ["tests/test_docs.py::test_gone"]
    lines = ["| **x** | `a` | |", "| **y** | b | `tests/a.py::test_b` |", "| z | c | no test |"]
    table = "\n".join(["| attack | what | tests |", "|---|---|---|", *lines, ""])
    assert unbacked(table) == ["**x**", "**y**"]
