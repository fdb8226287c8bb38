"""Fixtures of the tests of the pages."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

import pytest
from streamlit.components.v2 import manifest_scanner

from pages.parts.visit import background_read


@pytest.fixture(scope="session", autouse=True)
def components() -> Iterator[None]:
    """Search the installed packages for components once, and not for each visitor, which takes a fifth of a second."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(manifest_scanner, "scan_component_manifests", cache(manifest_scanner.scan_component_manifests))
        yield


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have pages wait for their readings, so that a test sees the same on a busy machine."""
    monkeypatch.setattr(background_read, "QUICK", 60.0)
