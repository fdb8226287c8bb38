"""Count what the tests try, from the tests themselves. What each line means: docs/threats.md.

python tests/count.py
"""

from __future__ import annotations

import inspect
import io
import re
import sys
from collections import Counter
from collections.abc import Sequence
from contextlib import chdir, redirect_stdout
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))  # when this is run as a script

from tests.mutations.run import FAULTS  # noqa: E402

__all__ = ["counted"]

WORDS = 2**16  # that a sampler can be given at its first step
EVERY_WORD = "test_every_16_bits_give_the_value_of_their_interval_or_ask_for_more"
KILLS = re.compile(r'run\("kill", \w+, (\d+)\)')


def counted(items: Sequence[pytest.Item]) -> dict[str, int]:
    """Return how many there are of each kind, among tests that were collected."""
    tests = [item for item in items if isinstance(item, pytest.Function)]
    inputs = _hostile_inputs(tests)
    return {
        "tests": len(tests),
        "test functions": len({(test.path, test.originalname) for test in tests}),
        "docstrings with examples": len(items) - len(tests),
        "properties": sum(getattr(test.obj, "is_hypothesis_test", False) for test in tests),
        "tests in a browser": sum("browser" in test.path.parts for test in tests),
        "replays": sum("replay" in test.path.name for test in tests),
        "words of 16 bits": WORDS * sum(test.originalname == EVERY_WORD for test in tests),
        "processes killed": sum(map(_kills, tests)),
        "planted faults": len(FAULTS),
        "planted faults, tried whenever all tests run": sum(fault.quick for fault in FAULTS),
        "hostile inputs": sum(inputs.values()),
    } | {f"hostile inputs, {kind}": number for kind, number in sorted(inputs.items())}


def _kills(test: pytest.Function) -> int:
    """Return how many processes a test kills while they charge."""
    if "death" not in test.name:
        return 0
    return sum(map(int, KILLS.findall(inspect.getsource(test.obj)))) or 1


def _hostile_inputs(tests: Sequence[pytest.Function]) -> Counter[str]:
    """Return how many different files the corpus has, by kind: the first word of the name of a case."""
    named = {
        str(test.callspec.params["name"])
        for test in tests
        if "corpus" in test.path.parts and "name" in getattr(getattr(test, "callspec", None), "params", {})
    }
    return Counter(name.replace(":", " ").split()[0].lower() for name in named)


class _Collected:
    def __init__(self) -> None:
        self.items: list[pytest.Item] = []

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        self.items = session.items


def main() -> int:
    collected, output = _Collected(), io.StringIO()
    with chdir(ROOT), redirect_stdout(output):
        status = pytest.main(["--collect-only", "-qq"], plugins=[collected])
    if status != pytest.ExitCode.OK:
        print(output.getvalue(), file=sys.stderr)
        return int(status)
    for what, number in counted(collected.items).items():
        print(f"{number:>12,}  {what}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
