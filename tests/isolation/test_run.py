"""Functions in separate processes: what is returned, what ends them, and that nothing else is affected."""

import multiprocessing
import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from dpengine.errors import TableError
from dpengine.isolation.run import Limits, ProcessEnded, run
from dpengine.translation.catalogue import speaking
from tests.isolation.jobs import wait_for

PLENTY = Limits(memory=1 << 30, seconds=60, disk=1 << 20)


def call(function, limits=PLENTY, **arguments):
    return run(f"tests.isolation.jobs:{function}", arguments, limits)


def test_what_a_function_returns_comes_back():
    assert call("allocate", size=5) == 5
    assert call("parent") not in (os.getpid(), os.getppid())


def test_a_relative_path_is_that_of_the_caller(tmp_path, monkeypatch):
    assert call("current_folder") == os.getcwd()
    monkeypatch.chdir(tmp_path)
    assert call("current_folder") == str(tmp_path)


def test_an_error_of_the_caller_comes_back_with_all_its_faults():
    with pytest.raises(TableError) as caught:
        call("refuse")
    assert [(fault.path, fault.text) for fault in caught.value.faults] == [((), "one"), (("columns", 2), "two")]


@pytest.mark.parametrize(
    ("function", "arguments"),
    [
        ("end_by", {"number": signal.SIGSEGV}), ("end_by", {"number": signal.SIGBUS}),
        ("end_by", {"number": signal.SIGKILL}), ("end_by", {"number": signal.SIGABRT}), ("fail", {}),
    ],
)  # fmt: skip
def test_the_end_of_a_process_ends_one_call_only(function, arguments):
    with pytest.raises(ProcessEnded):
        call(function, **arguments)
    assert call("allocate", size=5) == 5


def test_calls_beside_a_crash_come_to_their_end(tmp_path):
    with ThreadPoolExecutor(1) as pool:
        beside = pool.submit(call, "wait_for", path=str(tmp_path / "go"))
        with pytest.raises(ProcessEnded):
            call("crash")
        (tmp_path / "go").touch()
        assert beside.result() == "waited"


LIMITED = {
    "memory": (Limits(200 << 20, 60, 1 << 20), "allocate", {"size": 100 << 20}, {"size": 300 << 20}),
    "disk": (Limits(1 << 30, 60, 1 << 20), "write", {"size": 1 << 20}, {"size": (1 << 20) + 1}),
    "files": (Limits(1 << 30, 60, 1 << 20, files=64), "open_files", {"count": 40}, {"count": 64}),
}


@pytest.mark.parametrize("what", LIMITED)
def test_a_limit_ends_the_call_that_passes_it_and_no_other(what, tmp_path):
    limits, function, within, beyond = LIMITED[what]
    place = {"path": str(tmp_path / "written")} if function == "write" else {}
    call(function, limits, **within, **place)
    with pytest.raises(ProcessEnded):
        call(function, limits, **beyond, **place)
    call(function, limits, **within, **place)


def test_a_crash_leaves_no_dump_of_the_memory_which_may_hold_rows():
    assert call("limit_of_dumps") == [0, 0]


@pytest.mark.parametrize("code", ["en", "de"])
def test_it_answers_in_the_language_of_its_caller(code):
    with speaking(code):
        assert call("spoken") == code


def test_processor_time_is_limited():
    with pytest.raises(ProcessEnded):
        call("compute", Limits(1 << 30, 1, 1 << 20))


def test_the_process_is_killed_first_if_memory_runs_short():
    assert call("content", path="/proc/self/oom_score_adj") == "1000\n"
    assert call("content", path=f"/proc/{call('parent')}/oom_score_adj") != "1000\n"


def test_another_forker_is_started_where_the_first_has_ended():
    first = call("parent")
    os.kill(first, signal.SIGKILL)
    assert call("parent") != first


def test_a_process_that_was_forked_has_a_forker_of_its_own():
    answers = multiprocessing.get_context("fork").SimpleQueue()
    here = call("parent")
    forked = multiprocessing.get_context("fork").Process(target=lambda: answers.put(call("parent")))
    forked.start()
    forked.join()
    assert answers.get() != here
    assert call("parent") == here


def test_nothing_stays_open():
    call("parent")
    before = os.listdir("/proc/self/fd")
    for _ in range(5):
        call("parent")
        with pytest.raises(ProcessEnded):
            call("crash")
    assert os.listdir("/proc/self/fd") == before


GIVEN_UP = """
import sys
from dpengine.isolation.run import Limits, run
run("tests.isolation.jobs:name_and_wait", {"place": sys.argv[1]}, Limits(1 << 30, 60, 1 << 20))
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_a_call_ends_with_the_process_that_waits_for_it(number, tmp_path):
    with subprocess.Popen([sys.executable, "-c", GIVEN_UP, str(tmp_path)], stderr=subprocess.DEVNULL) as caller:
        wait_for(str(tmp_path / "begun"))
        caller.send_signal(number)
        worker = int((tmp_path / "begun").read_text())
        try:
            caller.wait(60)
        except subprocess.TimeoutExpired:  # it waits for a worker that does not end
            os.kill(worker, signal.SIGKILL)
            pytest.fail("the call goes on though nobody waits for it")
    for _ in range(1000):  # it ends at once, or in a moment
        if not is_running(worker):
            return
        time.sleep(0.01)
    pytest.fail("the call goes on though nobody waits for it")


NOTHING_READ = """
import socket, sys, threading
from dpengine.isolation import forker
here, caller = socket.socketpair()
here.sendall(forker.BEGUN)
caller.close()
waiting = threading.Thread(target=forker._end_with_caller, args=(here,))
waiting.start()
waiting.join()
sys.exit(3)
"""


def test_a_call_ends_also_with_a_process_that_has_read_nothing_of_its_answer():
    ended = subprocess.run([sys.executable, "-c", NOTHING_READ], stderr=subprocess.DEVNULL, check=False)
    assert ended.returncode == 1


def is_running(process):
    """Return whether a process goes on; one that has ended may wait for long until its status is taken."""
    try:
        os.kill(process, 0)
        state = Path(f"/proc/{process}/stat")
        return not (state.exists() and state.read_text().rpartition(")")[2].split()[0] == "Z")
    except (ProcessLookupError, FileNotFoundError):
        return False
