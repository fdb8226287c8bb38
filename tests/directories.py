"""A hook of pytest that makes the node of each directory once, whatever files are named in whatever order."""

from __future__ import annotations

from collections.abc import Generator
from pathlib import Path

import pytest

_nodes: dict[tuple[pytest.Collector, Path], pytest.Collector] = {}


@pytest.hookimpl(wrapper=True)
def pytest_collect_directory(
    path: Path, parent: pytest.Collector
) -> Generator[None, pytest.Collector | None, pytest.Collector | None]:
    """Return the node that the directory has already.

    pytest 9.1 binds the fixtures of a `conftest.py` to the first node of its directory, and makes another one for what
    is named after a file of the directory above, which then lacks them without a word (pytest's issue 14964).
    """
    node = yield
    return node and _nodes.setdefault((parent, path), node)
