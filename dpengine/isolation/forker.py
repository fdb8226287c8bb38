"""The process that forks for each call of `isolation.run`, and the work of its forks.

It has one thread and opens nothing, so that each fork starts clean. If a signal, a limit, or an error that is not the
caller's ends a fork, there is no answer.
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import signal
import socket
import sys
import threading
from contextlib import suppress
from pathlib import Path
from typing import Any, NoReturn

from dpengine.errors import PrivateReleaseError
from dpengine.translation.catalogue import speaking

try:
    import resource
except ImportError:  # Windows has no such limits
    resource = None  # type: ignore[assignment]

__all__ = ["BEGUN", "answer_alone", "serve"]

BEGUN = b"!"  # the first byte of an answer: the process has started


def serve(address: str) -> NoReturn:
    """Fork for each call that arrives, and end once the other end of the socket is closed.

    `address` is the number of the socket, and the name of a module to load before the first call.
    """
    number, _, module = address.partition(":")
    gc.disable()  # loading makes no garbage, and looking for some takes a tenth of the time
    importlib.import_module(module)
    gc.enable()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for the forks
    with socket.socket(fileno=int(number)) as control:
        while True:
            message, handles, _, _ = socket.recv_fds(control, 1, 1)
            if not message:
                os._exit(0)  # its caller waits, and taking apart what was loaded takes 0.05 s
            if os.fork() == 0:
                _answer_and_end(control, handles[0])
            os.close(handles[0])


def answer_alone(_: str) -> None:
    """Answer the one call on standard input."""
    sys.stdout.buffer.write(BEGUN + _answer(sys.stdin.buffer.read()))


def _answer_and_end(control: socket.socket, handle: int) -> None:
    try:
        control.close()
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        with socket.socket(fileno=handle) as connection:
            connection.sendall(BEGUN)
            size = int.from_bytes(connection.recv(8, socket.MSG_WAITALL), "big")
            request = connection.recv(size, socket.MSG_WAITALL)
            threading.Thread(target=_end_with_caller, args=(connection,), daemon=True).start()
            connection.sendall(_answer(request))
    finally:
        os._exit(0)  # the forker's exit handlers must not run in this process


def _end_with_caller(connection: socket.socket) -> None:
    """End this process as soon as nobody waits for its answer."""
    with suppress(OSError):  # it was killed before it read what was sent, which is an error here
        connection.recv(1)
    os._exit(1)


def _answer(request: bytes) -> bytes:
    call = json.loads(request)
    module, _, function = call["function"].partition(":")
    work = getattr(importlib.import_module(module), function)
    with suppress(OSError):  # if memory runs short, Linux kills this process before those that wait for it
        Path("/proc/self/oom_score_adj").write_text("1000")
    with suppress(OSError):
        os.chdir(call["folder"])
    if resource is not None:
        _limit(**call["limits"])
    answer: dict[str, Any]
    try:
        with speaking(call["language"]):
            answer = {"result": work(**call["arguments"])}
    except PrivateReleaseError as error:
        answer = {"error": type(error).__name__, "faults": [(fault.path, fault.text) for fault in error.faults]}
    return json.dumps(answer).encode()


def _limit(memory: int, seconds: int, disk: int, files: int) -> None:
    for what, most in (
        (resource.RLIMIT_DATA, memory),
        (resource.RLIMIT_CPU, seconds),
        (resource.RLIMIT_FSIZE, disk),
        (resource.RLIMIT_NOFILE, files),
        (resource.RLIMIT_CORE, 0),  # a dump would hold rows
    ):
        _, hard = resource.getrlimit(what)
        most = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(what, (most, most))
