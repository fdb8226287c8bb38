"""The laws about the house itself: who may import whom, where chance may come from, what may not be left lying."""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import cache
from importlib.metadata import packages_distributions, requires
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from dpengine.version import VERSION

ROOT = Path(__file__).parent.parent
ENGINE = sorted((ROOT / "dpengine").rglob("*.py"))
LESSONS = [path for path in ENGINE if "lessons" in path.parts]  # they show what goes wrong, and publish nothing
SCREENS = [ROOT / "app.py", *sorted((ROOT / "pages").rglob("*.py"))]

Law = Callable[[ast.Module], Iterator[str]]  # what of a file is against it


@cache
def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


@cache
def nodes(file: ast.AST) -> list[ast.AST]:
    """All that is in a file, listed once for all laws."""
    return list(ast.walk(file))


@cache
def imports(file: ast.Module) -> list[tuple[str, str]]:
    """What each import binds here, and the whole name of what it brings."""
    names = []
    for node in nodes(file):
        if isinstance(node, ast.ImportFrom):
            origin = "." * node.level + (node.module or "")
            names += [(alias.asname or alias.name, f"{origin}.{alias.name}") for alias in node.names]
        elif isinstance(node, ast.Import):
            names += [(alias.asname or alias.name.partition(".")[0], alias.name) for alias in node.names]
    return names


@cache
def uses(file: ast.Module) -> dict[ast.AST, str]:
    """The whole name of all that is used: after ``import numpy as np``, np.random is numpy.random."""
    whole = {bound: bound if name.startswith(f"{bound}.") else name for bound, name in imports(file)}
    names: dict[ast.AST, str] = {}
    for node in nodes(file):
        if isinstance(node, ast.Attribute | ast.Name):
            first, dot, rest = ast.unparse(node).partition(".")
            names[node] = whole.get(first, f"({first})") + dot + rest
    return names


def unsafe_chance(file: ast.Module) -> Iterator[str]:
    """Noise comes from the operating system alone, and nothing can make it come twice."""
    for name in [*(name for _, name in imports(file)), *uses(file).values()]:
        if re.search(r"^(random|numpy\.random)(\.|$)|^uuid\.uuid1$|\.(rvs|seed)$", name):
            yield name
    for node in nodes(file):
        if isinstance(node, ast.arg | ast.keyword) and node.arg in ("seed", "random_state", "rng"):
            yield node.arg
        if isinstance(node, ast.Constant) and "setseed" in str(node.value):
            yield str(node.value)


def screens_in_the_engine(file: ast.Module) -> Iterator[str]:
    yield from (name for _, name in imports(file) if name.partition(".")[0] == "streamlit")


def caches_across_sessions(file: ast.Module) -> Iterator[str]:
    """One visitor's table must never be served to another."""
    calls = [node for node in nodes(file) if isinstance(node, ast.Call)]
    within = {call.func for call in calls if "scope='session'" in map(ast.unparse, call.keywords)}
    for node, name in uses(file).items():
        if re.search(r"^streamlit\..*cache|^functools\.(lru_)?cache$", name) and node not in within:
            yield name


def unescaped_html(file: ast.Module) -> Iterator[str]:
    words = (node.arg for node in nodes(file) if isinstance(node, ast.keyword))
    yield from (word for word in words if word == "unsafe_allow_html")


def hidden_errors(file: ast.Module) -> Iterator[str]:
    """What may go wrong is named; who catches all must raise it again."""
    used = uses(file)
    for node in nodes(file):
        if isinstance(node, ast.ExceptHandler) and not isinstance(node.body[-1], ast.Raise):
            caught = ast.unparse(node.type) if node.type else "Exception"
        elif isinstance(node, ast.Call) and used.get(node.func) == "contextlib.suppress":
            caught = ast.unparse(node)
        else:
            continue
        if re.search(r"\b(Base)?Exception\b", caught):
            yield caught


def unguarded_csv(file: ast.Module) -> Iterator[str]:
    """A spreadsheet runs what begins like a formula; `safe_csv` marks it."""
    yield from (name for name in uses(file).values() if name.endswith(".to_csv"))


ENGINE_LAWS: list[Law] = [unsafe_chance, screens_in_the_engine, hidden_errors]
SCREEN_LAWS: list[Law] = [caches_across_sessions, unescaped_html, hidden_errors, unguarded_csv]


def breaches(paths: list[Path], laws: list[Law]) -> dict[tuple[str, str], list[str]]:
    """Return what is against the laws, by file and law."""
    found = {(str(path.relative_to(ROOT)), law.__name__): list(law(tree(path))) for path in paths for law in laws}
    return {where: what for where, what in found.items() if what}


def test_the_engine_keeps_its_laws() -> None:
    assert not breaches([path for path in ENGINE if path not in LESSONS], ENGINE_LAWS)
    assert not breaches(LESSONS, [law for law in ENGINE_LAWS if law is not unsafe_chance])


def test_the_pages_keep_their_laws() -> None:
    assert not breaches(SCREENS, SCREEN_LAWS)


@pytest.mark.parametrize(
    ("law", "source"),
    [
        (unsafe_chance, "import random"),
        (unsafe_chance, "from random import randint"),
        (unsafe_chance, "import numpy as np\nnp.random.default_rng()"),
        (unsafe_chance, "import numpy.random"),
        (unsafe_chance, "from numpy import random as chance"),
        (unsafe_chance, "from scipy import stats\nstats.laplace(0, 1).rvs(10)"),
        (unsafe_chance, "from uuid import uuid1"),
        (unsafe_chance, "def release(table, *, seed=None): ..."),
        (unsafe_chance, "sample(table, random_state=1)"),
        (unsafe_chance, "connection.execute('SELECT setseed(0.5)')"),
        (screens_in_the_engine, "def late():\n    import streamlit as st"),
        (screens_in_the_engine, "from streamlit.runtime import caching"),
        (caches_across_sessions, "import streamlit as st\n@st.cache_data\ndef f(): ..."),
        (caches_across_sessions, "import streamlit as st\n@st.cache_resource(ttl=60)\ndef f(): ..."),
        (caches_across_sessions, "from streamlit import cache_data as keep\n@keep(scope='global')\ndef f(): ..."),
        (caches_across_sessions, "import streamlit as st\nkeep = st.cache_data"),
        (caches_across_sessions, "from functools import lru_cache\n@lru_cache\ndef f(): ..."),
        (unescaped_html, "import streamlit as st\nst.markdown(label, unsafe_allow_html=True)"),
        (unguarded_csv, "import pandas as pd\npd.DataFrame(rows).to_csv(index=False)"),
        (hidden_errors, "try:\n    f()\nexcept:\n    pass"),
        (hidden_errors, "try:\n    f()\nexcept (ValueError, Exception):\n    g()"),
        (hidden_errors, "from contextlib import suppress\nwith suppress(Exception):\n    f()"),
    ],
)
def test_each_law_notices_a_violation(law: Law, source: str) -> None:
    assert list(law(ast.parse(source)))


def test_laws_pass_code_that_keeps_them() -> None:
    code = ast.parse("import streamlit as st\n@st.cache_data(scope='session', max_entries=8)\ndef f(): ...")
    raised = ast.parse("try:\n    f()\nexcept BaseException:\n    g()\n    raise")
    drawn = ast.parse("import os\nimport numpy as np\nnp.frombuffer(os.urandom(8))")
    assert not [*caches_across_sessions(code), *hidden_errors(raised), *unsafe_chance(drawn)]


def test_files_are_short_and_hold_nothing_unfinished() -> None:
    sources = {str(path.relative_to(ROOT)): path.read_text(encoding="utf-8") for path in [*ENGINE, *SCREENS]}
    assert not [name for name, source in sources.items() if len(source.splitlines()) > 400]
    assert not [name for name, source in sources.items() if re.search(r"\b(TODO|FIXME|XXX)\b", source)]


def tracked() -> Iterator[tuple[str, bytes]]:
    """Name and content of each file that is kept; a checkout may belong to another user than the one who tests."""
    command = ["git", "-c", "safe.directory=*", "ls-files", "-z"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    yield from ((name, (ROOT / name).read_bytes()) for name in listed.split("\0") if (ROOT / name).is_file())


def test_no_path_of_one_machine_is_kept() -> None:
    assert not [name for name, content in tracked() if re.search(rb"/(work|tmp|root|home|farm)/", content)]


def test_requirements_are_pinned_and_name_no_place() -> None:
    files = {name: content.decode() for name, content in tracked() if name.endswith("requirements.txt")}
    assert files.keys() >= {"requirements.txt", "tests/requirements.txt"}
    for name, text in files.items():
        hashes = "" if name.startswith("benchmarks/") else r"(?:\s+--hash=sha256:[0-9a-f]{64})+"
        for line in filter(None, (line.partition("#")[0].strip() for line in text.replace("\\\n", "").splitlines())):
            pinned = re.fullmatch(rf"[a-z0-9-]+==[0-9.]+(?: ; [^/]+?)?{hashes}", line)
            assert pinned or (name, line) == ("tests/requirements.txt", "-r ../requirements.txt"), f"{name}: {line}"


def pins(file: str) -> dict[str, Requirement]:
    lines = (ROOT / file).read_text(encoding="utf-8").splitlines()
    requirements = [Requirement(line.removesuffix("\\")) for line in lines if line and line[0].isalnum()]
    return {each.name: each for each in requirements}


@pytest.mark.parametrize("files", [["requirements.txt"], ["requirements.txt", "tests/requirements.txt"]])
def test_indirect_requirements_are_pinned_too(files: list[str]) -> None:
    """Where hashes are compared, a package that is not listed ends the installation."""
    pinned = {name: pin for file in files for name, pin in pins(file).items()}
    here = [name for name, pin in pinned.items() if pin.marker is None or pin.marker.evaluate()]
    asked = [(name, Requirement(text)) for name in here for text in requires(name) or ()]
    needed = {(name, canonicalize_name(each.name)) for name, each in asked
              if each.marker is None or each.marker.evaluate({"extra": ""})}  # fmt: skip
    assert len(needed) > 50
    assert {(name, other) for name, other in needed if other not in pinned} == set()


def test_the_bill_of_materials_lists_what_is_required() -> None:
    """After a change of `requirements.txt`, `.ci/lock.py` writes it anew."""
    required = (ROOT / "requirements.txt").read_text(encoding="utf-8")
    wanted = {
        (name, version): set(re.findall(r"sha256:(\w+)", hashes))
        for name, version, hashes in re.findall(r"(?m)^([\w-]+)==(\S+)((?:.*\\\n)*.*)", required)
    }
    bill = json.loads((ROOT / "docs" / "private-release.cdx.json").read_text(encoding="utf-8"))
    listed = {
        (re.sub(r"[-_.]+", "-", each["name"]).lower(), each["version"]): {
            digest["content"] for reference in each["externalReferences"] for digest in reference.get("hashes", ())
        }
        for each in bill["components"]
    }
    assert listed == wanted
    assert all(wanted.values())
    assert bill["metadata"]["component"]["version"] == VERSION
    assert (bill["bomFormat"], bill["specVersion"]) == ("CycloneDX", "1.6")
    assert len([each for each in bill["components"] if each.get("licenses")]) >= len(wanted) - 3  # some declare none


def test_every_imported_package_is_required() -> None:
    required = set(re.findall(r"(?m)^[a-z0-9-]+", (ROOT / "requirements.txt").read_text(encoding="utf-8")))
    used = {name.partition(".")[0] for path in [*ENGINE, *SCREENS] for _, name in imports(tree(path))}
    providers = packages_distributions()
    for name in used - {"", "dpengine", "pages"} - sys.stdlib_module_names:
        assert {re.sub(r"[-_.]+", "-", each).lower() for each in providers[name]} & required, name
