"""Run a function in a separate process, with limits on memory, processor time, disk and open files.

A damaged or hostile file may make a native reader crash, or ask for more memory than there is. Here that ends the
process that reads it, and `run` raises `ProcessEnded`; nobody else notices.

Starting Python and its readers takes about 0.2 s. Therefore one process, the forker (`isolation.forker`), loads them
once and forks for every call, which takes a few milliseconds. It is started by the first call or by `warm`, has no
other work, and ends with this process. Functions are named as ``module:function``, take JSON values and return them,
so that nothing but plain data comes back from a process that may have read something hostile.

Linux enforces all limits, other Unix systems some of them; Windows enforces none, and starts Python for each call.
"""

from __future__ import annotations

import atexit
import json
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from typing import Any

from dpengine import errors
from dpengine.errors import Fault, PrivateReleaseError
from dpengine.isolation.forker import BEGUN
from dpengine.translation.catalogue import language

__all__ = ["Limits", "ProcessEnded", "run", "warm"]

_HAS_FORK = hasattr(os, "fork") and hasattr(socket, "send_fds")
_PRELOADED = "dpengine.sources.files.untrusted"  # imports all readers of tables
_START = "import sys; sys.path[:] = sys.argv[2:]; from dpengine.isolation import forker; forker.{0}(sys.argv[1])"
_ALONE = {"OPENBLAS_NUM_THREADS": "1", "ARROW_DEFAULT_MEMORY_POOL": "system"}  # no idle threads or reserves to fork
_MAX_AT_ONCE = max(2, os.cpu_count() or 2)


class ProcessEnded(Exception):
    """The process ended without an answer: it crashed, or a limit ended it."""


@dataclass(frozen=True, slots=True)
class Limits:
    """The resources that one call may use; beyond them, the process fails or is ended.

    `memory` is in bytes of allocated memory (mapped files are free), `seconds` are of processor time, `disk` is in
    bytes of any one file that is written, `files` is the number of files that are open at a time.
    """

    memory: int
    seconds: int
    disk: int
    files: int = 256


def run(function: str, arguments: Mapping[str, Any], limits: Limits) -> Any:
    """Return what ``function(**arguments)`` returns in a process of its own.

    At most two calls, or one for each processor, are under way at a time; others wait.

    Raises `ProcessEnded`, or the `PrivateReleaseError` that the function raises.
    """
    call = {
        "function": function, "arguments": dict(arguments), "limits": asdict(limits), "folder": _current_folder(),
        "language": language(),
    }  # fmt: skip
    request = json.dumps(call).encode()
    with _slots:
        reply = _ask_forker(request) if _HAS_FORK else _ask_alone(request)
    if not reply:
        raise ProcessEnded
    answer = json.loads(reply)
    if "error" in answer:
        error: type[PrivateReleaseError] = getattr(errors, answer["error"])
        raise error([Fault(tuple(path), text) for path, text in answer["faults"]])
    return answer["result"]


def _current_folder() -> str:
    """Return the current folder, which a notebook may have changed since the forker started."""
    try:
        return os.getcwd()
    except FileNotFoundError:  # it was removed
        return ""


def warm() -> None:
    """Start the forker, if there is none, so that the first call need not wait for it."""
    if _HAS_FORK:
        with _lock:
            _forker_socket()


def _ask_alone(request: bytes) -> bytes:
    done = subprocess.run(
        _command("answer_alone", "-"), input=request, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False
    )
    return done.stdout.removeprefix(BEGUN)


def _ask_forker(request: bytes) -> bytes:
    """Return the answer of a fork; nothing if it ended without one."""
    for _ in range(3):
        caller_end, fork_end = socket.socketpair()
        with caller_end:
            with fork_end, _lock, suppress(OSError):  # the forker has ended: the next round starts another
                socket.send_fds(_forker_socket(), [b"f"], [fork_end.fileno()])
            try:
                with suppress(OSError):
                    caller_end.sendall(len(request).to_bytes(8, "big") + request)
                if answer := _read(caller_end):
                    return answer.removeprefix(BEGUN)
            except BaseException:  # nobody waits any more, and the folder that it writes to may be removed
                with suppress(OSError):
                    caller_end.shutdown(socket.SHUT_WR)
                _read(caller_end)
                raise
        _discard()
    return b""


def _read(connection: socket.socket) -> bytes:
    parts = []
    with suppress(ConnectionError):  # it ended before it read all of the request
        while part := connection.recv(1 << 16):
            parts.append(part)
    return b"".join(parts)


def _command(entry: str, argument: str) -> Sequence[str]:
    return [sys.executable, "-c", _START.format(entry), argument, *sys.path]


def _forker_socket() -> socket.socket:
    """Return the socket of the forker, which is started if there is none; the caller holds the lock."""
    global _forker
    if _forker is None:
        caller_end, forker_end = socket.socketpair()
        with forker_end:
            process = subprocess.Popen(
                [*_command("serve", f"{forker_end.fileno()}:{_PRELOADED}")],
                pass_fds=(forker_end.fileno(),),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,  # readers quote rows and paths there
                env={**os.environ, **_ALONE},
                start_new_session=True,  # Ctrl-C in a terminal is for this process
            )
        _forker = process, caller_end
    return _forker[1]


def _discard() -> None:
    """End the forker, if there is one. Running calls finish."""
    global _forker
    with _lock:
        if _forker is not None:
            process, caller_end = _forker
            caller_end.close()
            with suppress(subprocess.TimeoutExpired):
                process.wait(timeout=2)
            _forker = None


def _forget() -> None:
    """Forget the forker in a forked process, since it belongs to the parent."""
    global _forker, _lock, _slots
    if _forker is not None:
        process, caller_end = _forker
        caller_end.close()
        process.returncode = 0  # this process must not wait for it
    _forker, _lock, _slots = None, threading.Lock(), threading.BoundedSemaphore(_MAX_AT_ONCE)


_forker: tuple[subprocess.Popen[bytes], socket.socket] | None = None
_lock = threading.Lock()
_slots = threading.BoundedSemaphore(_MAX_AT_ONCE)
atexit.register(_discard)
if _HAS_FORK:
    os.register_at_fork(after_in_child=_forget)
