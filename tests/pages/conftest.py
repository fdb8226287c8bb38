"""Fixtures of the tests of the pages."""

from __future__ import annotations

import pytest

from pages.parts.visit import background_read


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have pages wait for their readings, so that a test sees the same on a busy machine."""
    monkeypatch.setattr(background_read, "QUICK", 60.0)
