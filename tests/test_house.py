"""The laws about the house itself: who may import whom, where chance may come from, what may not be left lying."""

from __future__ import annotations

import ast
import re
import subprocess
from pathlib import Path

import pytest

import dpengine

ROOT = Path(__file__).parent.parent
ENGINE = sorted((ROOT / "dpengine").rglob("*.py"))
SCREENS = [ROOT / "app.py", *sorted((ROOT / "pages").rglob("*.py"))]
# Each room may import from rooms in lines above its own, and from none beside or below.
FLOORS = [
    {"errors", "version"},
    {"domain", "strictyaml"},
    {"codebook"},
    {"plan"},
    {"estimate", "noise", "ledger_store", "textfile", "csvtext", "unpacking", "words"},
    {"strategy", "ledger_book", "workbook"},
    {"accuracy", "sources", "ledger", "measure"},
    {"coding", "draft"},
    {"counting"},
    {"consistency"},
    {"synthesis"},
    {"result"},
    {"standin", "charts", "manifest"},
    {"report", "registry", "verification"},
    {"files"},
    {"release"},
    {"cli"},
]


def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def imported(path: Path) -> set[str]:
    names = set()
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.ImportFrom):
            names |= {f"{node.module}.{alias.name}" for alias in node.names} | {str(node.module)}
        elif isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
    return names


@pytest.mark.parametrize("path", ENGINE, ids=lambda path: path.stem)
def test_imports_point_one_way(path: Path) -> None:
    if path.stem in ("__init__", "__main__"):
        return
    level = next((k for k, floor in enumerate(FLOORS) if path.stem in floor), None)
    assert level is not None, f"{path.stem} has no place in the house yet: give it one in FLOORS"
    below = {room for floor in FLOORS[:level] for room in floor}
    used = {name.split(".")[1] for name in imported(path) if name.startswith("dpengine.")}
    used &= {room for floor in FLOORS for room in floor}
    assert used <= below, f"{path.stem} imports {used - below}"


def test_every_room_on_a_floor_exists() -> None:
    assert {room for floor in FLOORS for room in floor} <= {path.stem for path in ENGINE}


@pytest.mark.parametrize("path", ENGINE, ids=lambda path: path.stem)
def test_the_engine_knows_no_page_and_no_unsafe_chance(path: Path) -> None:
    for name in imported(path):
        assert not name.startswith("streamlit")
        assert name.split(".")[0] != "random"
        assert not name.startswith("numpy.random")
    source = path.read_text(encoding="utf-8")
    assert not re.search(r"np\.random|default_rng|\.rvs\(|uuid1|seed\(", source)


@pytest.mark.parametrize("path", SCREENS, ids=lambda path: path.stem)
def test_nothing_is_cached_across_sessions(path: Path) -> None:
    source = path.read_text(encoding="utf-8")
    for use in re.finditer(r"st\.cache_(data|resource)", source):
        assert 'scope="session"' in source[use.start() : use.start() + 200]
    assert "unsafe_allow_html" not in source


@pytest.mark.parametrize("path", [*ENGINE, *SCREENS], ids=lambda path: path.stem)
def test_files_fit_in_the_head_and_hold_nothing_unfinished(path: Path) -> None:
    source = path.read_text(encoding="utf-8")
    assert len(source.splitlines()) <= 400
    assert not re.search(r"\b(TODO|FIXME|XXX)\b", source)
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.ExceptHandler):
            assert node.type is not None, "a bare except hides what went wrong"
            assert ast.unparse(node.type) not in ("Exception", "BaseException") or not isinstance(
                node.body[0], ast.Pass
            )


def test_all_that_is_exported_is_there_and_listed() -> None:
    assert dpengine.__all__ == sorted(dpengine.__all__)
    assert all(hasattr(dpengine, name) for name in dpengine.__all__)


def test_no_path_of_one_machine_is_kept() -> None:
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
    for name in listed:
        if name.endswith((".py", ".md", ".toml", ".yaml", ".sh", ".txt", ".j2")) and not name.startswith("tests/"):
            text = (ROOT / name).read_text(encoding="utf-8")
            assert not re.search(r"/(work|tmp|root|home|farm)/", text), name
