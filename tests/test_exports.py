"""What `import dpengine as dpe` offers: every name that one needs to ask for something, and every type of an answer."""

from __future__ import annotations

import ast
import importlib
import subprocess
import sys
from pathlib import Path

import pytest

import dpengine as dpe
from dpengine.version import VERSION


def for_type_checkers() -> dict[str, str]:
    """The names that type checkers see, and the module that each comes from."""
    file = ast.parse(Path(dpe.__file__).read_text(encoding="utf-8"))
    imports = [node for node in ast.walk(file) if isinstance(node, ast.ImportFrom) and node.module]
    return {
        alias.asname or alias.name: str(node.module)
        for node in imports
        for alias in node.names
        if str(node.module).startswith("dpengine")
    }


def test_what_is_listed_is_what_type_checkers_see() -> None:
    assert set(dpe.__all__) == set(for_type_checkers())
    assert len(dpe.__all__) == len(set(dpe.__all__))


@pytest.mark.parametrize("name", dpe.__all__)
def test_each_name_is_what_its_module_defines(name: str) -> None:
    home = importlib.import_module(for_type_checkers()[name])
    expected = VERSION if name == "__version__" else getattr(home, name)
    assert getattr(dpe, name) is expected
    assert name in dir(dpe)


def test_completion_offers_what_is_public_and_nothing_else() -> None:
    assert {name for name in dir(dpe) if not name.startswith("__")} == {*dpe.__all__} - {"__version__"}


def test_a_name_that_is_not_there_is_said_to_be_missing() -> None:
    with pytest.raises(AttributeError, match="no attribute 'Plam'"):
        dpe.Plam  # noqa: B018


def test_the_import_alone_loads_no_library() -> None:
    script = "import sys, dpengine; print(*{name.partition('.')[0] for name in sys.modules})"
    loaded = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout.split()
    assert not {"numpy", "pandas", "pyarrow", "duckdb", "sqlalchemy", "pydantic", "scipy", "plotly"} & set(loaded)
