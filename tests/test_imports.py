"""The contracts on imports in pyproject.toml: kept here, and broken where a fault is planted."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
CONTRACTS = {
    contract["id"]: contract["name"]
    for contract in tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
}

# For each contract, an import that breaks it and no other: the file that gets it, and the line.
PLANTED = {
    "rooms": ("dpengine/spec/plan.py", "from dpengine.accounting import composition"),
    "pages": ("pages/parts/server/jobs.py", "from pages.parts.visit.plan import plan_form"),
    "noisy": ("dpengine/results/preview.py", "from dpengine.counting import count"),
    "rows": ("dpengine/cli/commands.py", "from dpengine.counting import count"),
    "noise": ("dpengine/release.py", "from dpengine.noise.laplace import perturb"),
    "ledger": ("dpengine/release.py", "from dpengine.accounting import database"),
    "owner": ("dpengine/cli/commands.py", "from dpengine import owner"),
    "verbs": ("pages/verify.py", "from dpengine.measure.strategy import decide"),
}


def verdicts(folder: Path) -> dict[str, bool]:
    """Check the contracts on the packages in `folder`; return for each contract whether it is kept."""
    lint = "import sys; from importlinter.cli import lint_imports; sys.exit(lint_imports(no_cache=True))"
    done = subprocess.run([sys.executable, "-c", lint], cwd=folder, capture_output=True, text=True, check=False)
    verdicts = dict(re.findall(r"(?m)^(.+?) (KEPT|BROKEN)\b", done.stdout))
    assert verdicts, done.stdout + done.stderr
    return {name: verdicts[title] == "KEPT" for name, title in CONTRACTS.items()}


def test_every_contract_is_kept() -> None:
    assert verdicts(ROOT) == dict.fromkeys(CONTRACTS, True)


def test_every_contract_has_a_planted_fault() -> None:
    assert PLANTED.keys() == CONTRACTS.keys()


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The packages and their contracts, free to be broken."""
    folder = tmp_path_factory.mktemp("house")
    for package in ("dpengine", "pages"):
        shutil.copytree(ROOT / package, folder / package, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", folder)
    return folder


@pytest.mark.by_day(3)
@pytest.mark.parametrize("contract", PLANTED)
def test_a_planted_import_breaks_its_contract(contract: str, copy: Path) -> None:
    file, line = PLANTED[contract]
    sound = (copy / file).read_text(encoding="utf-8")
    (copy / file).write_text(f"{sound}\n{line}\n", encoding="utf-8")
    try:
        broken = {name for name, verdict in verdicts(copy).items() if not verdict}
    finally:
        (copy / file).write_text(sound, encoding="utf-8")
    assert contract in broken
