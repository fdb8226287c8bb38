"""Functions that need no table load no module that could open one, by the modules of a fresh interpreter."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from dpengine import Plan, preview
from dpengine.bundle.write import save
from tests.plans import CLINIC

ROOT = Path(__file__).parent.parent
READERS = {"duckdb", "python_calamine", "pyreadstat", "ibis", "dpengine.counting", "dpengine.sources"}
LEDGERS = {"sqlalchemy", "dpengine.accounting.ledger", "dpengine.accounting.database"}

# What makes a release: nothing that strangers' files should meet.
MAKERS = {"plotly", "jinja2", "pandas", "scipy", "dpengine.measure", "dpengine.estimate.estimates", "dpengine.release"}
BUNDLES = sorted((ROOT / "tests" / "earlier").glob("*/bundles/*.zip"))

PLAN = f"import dpengine as dpe\nplan = dpe.Plan.loads({CLINIC!r})\n"
ADAPTIVE = PLAN + "plan = plan.model_copy(update={'strategy': 'adaptive'})\n"
QUESTION = "import dpengine as dpe\nquestion = dpe.Question(dataset='clinic', epsilon='1', statistic=dpe.Count())\n"
DOORS = {
    "predict": PLAN + "assert len(dpe.predict(plan, ['0.5', 1])) == 6",
    "predict, simulated": ADAPTIVE + "assert dpe.predict(plan).attrs['simulated']",
    "preview": PLAN + "assert len(dpe.preview(plan).synthetic()) > 0",
    "preview, adaptive": ADAPTIVE + "assert len(dpe.preview(plan).tables) == 3",
    "decide": PLAN + "assert dpe.decide(plan).why",
    "epsilon_for": PLAN + "assert dpe.epsilon_for(plan, half_width=10) > 0",
    "expect": QUESTION + "assert dpe.expect(question).half_width == 3",
}


def loaded(script: str) -> set[str]:
    """Return the modules that are loaded after `script` has run, each with the packages that it lies in."""
    script += "\nimport sys\nprint(*sys.modules)"
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, cwd=ROOT)
    parts = [name.split(".") for name in run.stdout.split()]
    return {".".join(part[:end]) for part in parts for end in range(1, len(part) + 1)}


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.by_day(3)
def test_what_needs_no_table_loads_no_reader_of_rows_and_no_ledger(door: str) -> None:
    assert not loaded(DOORS[door]) & (READERS | LEDGERS)


def test_verify_loads_no_reader_of_rows_no_ledger_and_nothing_that_makes_a_release(tmp_path: Path) -> None:
    """It reads files from strangers: here bundles of every strategy, and one with dates in a format of its own."""
    plan = CLINIC.replace("by: quarter", "by: quarter, format: '%d.%m.%Y'")
    assert plan != CLINIC
    save(preview(Plan.loads(plan)), tmp_path / "dates.zip")
    bundles = [str(bundle) for bundle in (*BUNDLES, tmp_path / "dates.zip")]
    script = f"import dpengine as dpe\nfor bundle in {bundles}: dpe.verify(bundle)"
    assert not loaded(script) & (READERS | LEDGERS | MAKERS)


def test_verify_on_the_command_line_loads_no_more() -> None:
    script = f"from dpengine.cli import main\nmain(['verify', {str(BUNDLES[0])!r}], standalone_mode=False)"
    assert not loaded(script) & (READERS | LEDGERS | MAKERS)


def test_verifying_a_release_loads_no_reader_of_rows_and_no_ledger(bundle: bytes, tmp_path: Path) -> None:
    (tmp_path / "release.zip").write_bytes(bundle)
    script = f"import dpengine as dpe\nassert dpe.verify({str(tmp_path / 'release.zip')!r})['dataset'] == 'clinic-2026'"
    assert not loaded(script) & (READERS | LEDGERS)


def test_the_command_line_begins_before_arrays_plans_or_readers_are_loaded() -> None:
    """The help needs none of them, and a release starts its other process first."""
    assert not loaded("import dpengine.cli") & (READERS | LEDGERS | MAKERS | {"numpy", "pyarrow", "pydantic", "yaml"})


@pytest.mark.nightly
def test_counting_a_table_does_load_a_reader() -> None:
    """The control: the modules are seen where they are loaded."""
    script = PLAN + "import pandas as pd\n"
    script += "dpe.release(pd.DataFrame({name: ['x'] for name in plan.used}).map(str), plan)"
    assert {"duckdb", "dpengine.sources", "dpengine.counting"} <= loaded(script)
