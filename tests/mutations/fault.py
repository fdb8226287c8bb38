"""One planted fault: a text in a file of the engine, what stands there instead, and the tests that must notice."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Fault"]


@dataclass(frozen=True)
class Fault:
    """`text` occurs in `file` exactly once; with `planted` in its place, one of `tests` (separated by blanks) fails.

    `quick` marks those that are tried whenever all tests run: the named tests take a second or two.
    """

    name: str
    file: str
    text: str
    planted: str
    tests: str
    quick: bool = False
