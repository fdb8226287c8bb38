"""Folders of copies of rows: they go when they are discarded, and with the next start if a process was killed."""

import os
import signal
import stat
import subprocess
import sys
import tempfile

import pytest

from dpengine.isolation.scratch import ScratchFolder, sweep

HOLD = """
from dpengine.isolation.scratch import ScratchFolder
folder = ScratchFolder()
(folder.path / "rows.csv").write_text("private")
print(folder.path, flush=True)
input()
"""


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def holder(place):
    """Another process that holds a folder in `place`."""
    process = subprocess.Popen(
        [sys.executable, "-c", HOLD], env=os.environ | {"TMPDIR": str(place)}, stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )  # fmt: skip
    process.stdout.readline()
    return process


def test_a_folder_is_private_and_goes_when_it_is_discarded(place):
    folder = ScratchFolder()
    assert stat.S_IMODE(folder.path.stat().st_mode) == 0o700
    folder.discard()
    folder.discard()
    assert list(place.iterdir()) == []


def test_rows_of_a_killed_process_are_removed_by_the_next_one(place):
    with holder(place) as process:
        sweep()
        assert len(list(place.glob("*/rows.csv"))) == 1  # it is in use
        process.send_signal(signal.SIGKILL)
        process.wait()
        assert len(list(place.glob("*/rows.csv"))) == 1
    ScratchFolder().discard()  # the first one here
    assert list(place.iterdir()) == []


def test_own_folders_and_those_of_others_stay(place):
    (place / "private-release-without-a-lock").mkdir()
    (place / "another").mkdir()
    mine = ScratchFolder()
    sweep()
    assert len(list(place.iterdir())) == 3
    mine.discard()
