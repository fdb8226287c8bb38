"""Functions that the tests of isolation run in a separate process."""

from __future__ import annotations

import os
import resource
import signal
import time
from pathlib import Path

from dpengine.errors import Fault, TableError
from dpengine.translation.catalogue import language


def parent() -> int:
    return os.getppid()


def current_folder() -> str:
    return os.getcwd()


def refuse() -> None:
    raise TableError(["one", Fault(("columns", 2), "two")])


def fail() -> None:
    raise RuntimeError("no error of a caller")


def end_by(number: int) -> None:
    os.kill(os.getpid(), number)


def allocate(size: int) -> int:
    return len(bytearray(size))


def limit_of_dumps() -> tuple[int, int]:
    return resource.getrlimit(resource.RLIMIT_CORE)


def spoken() -> str:
    return language()


def compute() -> None:
    while True:
        pass


def write(path: str, size: int) -> None:
    Path(path).write_bytes(bytes(size))


def open_files(count: int) -> int:
    return len([os.open(os.devnull, os.O_RDONLY) for _ in range(count)])


def content(path: str) -> str:
    return Path(path).read_text()


def wait_for(path: str) -> str:
    while not Path(path).exists():
        time.sleep(0.01)
    return "waited"


def crash() -> None:
    end_by(signal.SIGSEGV)


def name_and_wait(place: str) -> None:
    Path(place, "named").write_text(str(os.getpid()))
    Path(place, "named").rename(Path(place, "begun"))
    wait_for(str(Path(place, "never")))
