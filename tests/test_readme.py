"""What the README tells a newcomer to type works as written, and figures in all documents can be measured again."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from dpengine.bundle.verify import verify
from tests.documents import Reader

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", README, re.DOTALL)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with the samples in it, and nothing else."""
    (tmp_path / "data").symlink_to(ROOT / "data")
    return tmp_path


def run(folder: Path, *command: str) -> subprocess.CompletedProcess[str]:
    paths = {"PYTHONPATH": str(ROOT), "PYTHONIOENCODING": "utf-8"}
    return subprocess.run(command, cwd=folder, env=os.environ | paths, capture_output=True, text=True, timeout=120)


def test_what_takes_a_minute_works(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In one process; by night each command has its own, as on a shell."""
    monkeypatch.chdir(folder)
    (minute,) = re.findall(r"(?ms)^## In a minute$(.*?)^## ", README)
    Reader().follow(minute)
    assert verify(folder / "release.zip")["dataset"] == "rand-hie"
    assert (folder / "census.zip").is_file()
    assert "columns:" in (folder / "plan.yaml").read_text(encoding="utf-8")


@pytest.mark.nightly
def test_the_library_in_a_minute(folder: Path) -> None:
    (code,) = blocks("python")
    for _ in range(2):  # also a second time, when the release is there already
        done = run(folder, sys.executable, "-W", "error", "-c", code)
        assert done.returncode == 0, done.stderr
    assert "half_width_95" in done.stdout
    assert verify(folder / "release.zip")["dataset"] == "rand-hie"


@pytest.mark.nightly
def test_the_command_line_in_a_minute(folder: Path) -> None:
    (lines,) = [block.splitlines() for block in blocks("sh") if "dpengine release" in block]
    for line in lines:
        command, _, output = line.partition(" > ")
        done = run(folder, sys.executable, *shlex.split(command, comments=True)[1:])
        assert done.returncode == 0, f"{line}: {done.stderr}"
        if output:
            (folder / output.split()[0]).write_text(done.stdout, encoding="utf-8")
    assert (folder / "census.zip").is_file()
    assert "columns:" in (folder / "plan.yaml").read_text(encoding="utf-8")


def test_it_fits_on_one_screen_and_a_half() -> None:
    assert len(README.splitlines()) <= 105


def test_its_first_picture_is_small() -> None:
    assert (ROOT / "data" / "screenshot.png").stat().st_size < 300_000


@pytest.mark.nightly
def test_every_figure_can_be_measured_again() -> None:
    documents = [README, *(path.read_text(encoding="utf-8") for path in (ROOT / "docs").rglob("*.md"))]
    scripts = set(re.findall(r"python (benchmarks/\w+\.py)", "\n".join(documents)))
    files = (path for path in (ROOT / "benchmarks").glob("*.py") if "__main__" in path.read_text(encoding="utf-8"))
    assert scripts == {f"benchmarks/{path.name}" for path in files}
    for script in scripts:  # isolated, so that the script itself must find the engine
        code = f"import runpy; runpy.run_path({script!r}, run_name='tried')"
        done = run(ROOT, sys.executable, "-I", "-c", code)
        assert done.returncode == 0, done.stderr
