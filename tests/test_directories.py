"""The fixtures of a directory hold for each of its tests, however these are selected."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

from tests import directories

HAS_IT = "def test_it(request):\n    assert 'of_all' in request.fixturenames\n"


def test_fixtures_of_a_directory_hold_for_files_named_in_any_order(tmp_path: Path) -> None:
    inner = tmp_path / "tests" / "pages"
    inner.mkdir(parents=True)
    (tmp_path / "pytest.ini").touch()
    shutil.copy(directories.__file__, tmp_path / "tests" / "conftest.py")
    (inner / "conftest.py").write_text("import pytest\n\n\n@pytest.fixture(autouse=True)\ndef of_all(): pass\n")
    for name in ("test_first.py", "test_last.py"):
        (inner / name).write_text(HAS_IT)
    (tmp_path / "tests" / "test_between.py").write_text("def test_it(): pass\n")
    named = ["tests/pages/test_first.py", "tests/test_between.py", "tests/pages/test_last.py"]
    options = ["-q", "--import-mode=importlib", "-p", "no:xdist", "-p", "no:cacheprovider"]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *options, *named], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert "3 passed" in done.stdout
