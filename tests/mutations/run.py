"""Plant faults in the engine, one at a time, and see that the tests notice each.

    python tests/mutations/run.py                 every fault
    python tests/mutations/run.py ledger ranges   those whose name or file has one of these words
    python tests/mutations/run.py --quick         those that are tried whenever all tests run
    python tests/mutations/run.py --jobs 4        four at a time

Each fault is planted in a copy of the source tree in a temporary folder, and only the tests that are named with it run
there. A fault is *caught* if one of them fails; it is *missed* if all pass. Anything else (a text that is not there, a
test that does not exist, a fault that cannot be imported) is *broken*, and the list is to be mended: when code moves,
its faults move with it. Before, all named tests run once on a clean copy, since a test that always fails notices
nothing. Exit status 1 unless they pass there and every fault is caught.

The whole list takes some minutes; run it by hand before a release, or every night. To add a fault, write it into one
of the files beside this (`forging.py` to `spending.py`), see it missed, and write the test that catches it.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))  # when this is run as a script

from tests.mutations import forging, measuring, publishing, reading, showing, spending  # noqa: E402
from tests.mutations.fault import Fault  # noqa: E402

__all__ = ["FAULTS", "caught", "main", "misplaced", "plant"]

FAULTS: list[Fault] = [
    *forging.FAULTS,
    *measuring.FAULTS,
    *publishing.FAULTS,
    *reading.FAULTS,
    *showing.FAULTS,
    *spending.FAULTS,
]
COPIED = (
    "dpengine",
    "tests",
    "pages",
    "benchmarks",
    "data",
    "docs/plugins",
    "docs/plugins.md",
    "app.py",
    "pyproject.toml",
    "requirements.txt",
)
NOT_COPIED = shutil.ignore_patterns("output", "corpus", "browser", ".mypy_cache", ".ruff_cache", ".pytest_cache")
FAILED = 1  # pytest's exit status where a test failed; others mean that something could not be run at all
MAX_SECONDS = 900


def misplaced(fault: Fault, root: Path = ROOT) -> str:
    """Return what is wrong with a fault's place: nothing, if its text occurs exactly once in its file."""
    path = root / fault.file
    if not path.is_file():
        return f"there is no {fault.file}"
    times = path.read_text(encoding="utf-8").count(fault.text)
    return "" if times == 1 else f"its text occurs {times} times in {fault.file}"


def plant(fault: Fault, root: Path) -> None:
    """Write the fault into the tree at `root`."""
    path = root / fault.file
    path.write_text(path.read_text(encoding="utf-8").replace(fault.text, fault.planted), encoding="utf-8")


def copy_tree(root: Path) -> None:
    """Copy what the tests need into `root`, compiled files too, so that only what changes is compiled again."""
    for name in COPIED:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, root / name, ignore=NOT_COPIED)
        elif (ROOT / name).exists():
            shutil.copy2(ROOT / name, root / name)


def run_tests(tests: Sequence[str], root: Path) -> subprocess.CompletedProcess[str]:
    """Run the named tests in the tree at `root`, in one process, and stop at the first that fails."""
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-n", "0", "-p", "no:cacheprovider", "--tb", "line", *tests]
    every = {**os.environ, "PRIVATE_RELEASE_NIGHTLY": "1"}
    return subprocess.run(
        command, cwd=root, env=every, capture_output=True, text=True, timeout=MAX_SECONDS, check=False
    )


def caught(fault: Fault) -> tuple[str, str]:
    """Plant a fault and run its tests; return *caught*, *missed* or *broken*, and the first line that says why."""
    if wrong := misplaced(fault):
        return "broken", wrong
    with tempfile.TemporaryDirectory(prefix="private-release-fault-") as folder:
        root = Path(folder)
        copy_tree(root)
        plant(fault, root)
        try:
            done = run_tests(fault.tests.split(), root)
        except subprocess.TimeoutExpired:
            return "broken", f"its tests took more than {MAX_SECONDS} s"
    if done.returncode == 0:
        return "missed", "all of its tests pass"
    return "caught" if done.returncode == FAILED else "broken", _first_failure(done)


def _first_failure(done: subprocess.CompletedProcess[str]) -> str:
    """Return the line of a run's output that says what failed."""
    lines = re.findall(r"^(?:FAILED|ERROR) (\S.*)$", done.stdout, re.MULTILINE) or done.stdout.splitlines()[-1:]
    return lines[0] if lines else done.stderr[-200:]


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("words", nargs="*", help="only faults whose name or file has one of these")
    parser.add_argument("--quick", action="store_true", help="only those that are tried whenever all tests run")
    parser.add_argument("--jobs", type=int, default=1, help="how many at a time")
    chosen = parser.parse_args(arguments)
    faults = [fault for fault in FAULTS if fault.quick or not chosen.quick]
    if chosen.words:
        faults = [fault for fault in faults if any(word in f"{fault.name} {fault.file}" for word in chosen.words)]
    wrong = _failing_on_a_clean_copy(faults)
    print("The named tests on a clean copy:", f"FAIL, what it catches means nothing: {wrong}" if wrong else "pass")
    results = []
    with ThreadPoolExecutor(chosen.jobs) as pool:
        for fault, (result, seconds, why) in zip(faults, pool.map(_timed, faults), strict=True):
            results.append(result)
            print(f"{result:7} {seconds:5.1f} s  {fault.name} ({fault.file})\n{'':18}{why[:150]}", flush=True)
    counted = ", ".join(f"{results.count(result)} {result}" for result in ("caught", "missed", "broken"))
    print(f"{len(faults)} faults in {len({fault.file for fault in faults})} files: {counted}")
    return int(bool(wrong) or results.count("caught") < len(faults))


def _failing_on_a_clean_copy(faults: Sequence[Fault]) -> str:
    """Return the first of the named tests that fails where no fault is planted, or nothing."""
    tests = sorted({test for fault in faults for test in fault.tests.split()})
    with tempfile.TemporaryDirectory(prefix="private-release-clean-") as folder:
        copy_tree(Path(folder))
        done = run_tests(tests, Path(folder))
    return "" if done.returncode == 0 else _first_failure(done)


def _timed(fault: Fault) -> tuple[str, float, str]:
    start = time.monotonic()
    result, why = caught(fault)
    return result, time.monotonic() - start, why


if __name__ == "__main__":
    sys.exit(main())
