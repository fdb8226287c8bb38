"""The list of planted faults fits the source, and some of them are planted and caught whenever all tests run."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.mutations.fault import Fault
from tests.mutations.run import FAULTS, ROOT, caught, misplaced

QUICK = [fault for fault in FAULTS if fault.quick]
ROOMS = {"accounting", "bundle", "counting", "marginals", "measure", "mechanisms", "noise", "spec"}
pytestmark = pytest.mark.xdist_group("mutations")  # in one process: a copy of the tree and a pytest of its own each


def test_every_fault_has_its_place_and_its_tests() -> None:
    """A fault whose code or test has moved moves with it: see `tests/mutations/run.py`."""
    assert [wrong for fault in FAULTS if (wrong := misplaced(fault))] == []
    assert [test for fault in FAULTS for test in fault.tests.split() if not _exists(test)] == []


def _exists(test: str) -> bool:
    file, _, name = test.partition("::")
    path = ROOT / file
    return path.is_file() and (not name or f"def {name}(" in path.read_text(encoding="utf-8"))


def test_faults_are_many_and_in_every_room_that_touches_privacy() -> None:
    assert len(FAULTS) >= 40
    assert len({fault.name for fault in FAULTS}) == len(FAULTS)
    assert {Path(fault.file).parts[1] for fault in FAULTS} >= {*ROOMS, "ask.py", "choose.py", "release.py"}
    assert len(QUICK) >= 10


# By day every sixteenth one, from all over the list, since each has a Python of its own; by night all.
@pytest.mark.parametrize(
    "fault",
    [pytest.param(fault, marks=[pytest.mark.nightly] * (k % 16 > 0), id=fault.name) for k, fault in enumerate(QUICK)],
)
def test_a_planted_fault_is_caught(fault: Fault) -> None:
    result, why = caught(fault)
    assert result == "caught", why


@pytest.mark.nightly
def test_a_fault_without_effect_counts_as_missed_and_one_that_does_not_run_as_broken() -> None:
    """The control: what is caught is caught for what it does."""
    spare = QUICK[0]
    harmless = Fault("harmless", spare.file, spare.text, f"{spare.text}", spare.tests)
    assert caught(harmless)[0] == "missed"
    unreadable = Fault("unreadable", "dpengine/exact.py", "from __future__ import annotations", "(", spare.tests)
    assert caught(unreadable)[0] == "broken"
    assert caught(Fault("gone", spare.file, "no such text", "", spare.tests))[0] == "broken"
